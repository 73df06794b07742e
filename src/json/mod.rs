//! JSON text without loss: it is checked, compared and searched as text, never rounded or re-ordered.
//!
//! One scanner (`scan`) reads the text; everything else here is a loop over its tokens. Nothing recurses over the input, so
//! that a result of 64 MiB of brackets costs a bit for each open one and no stack.

mod check;
mod digest;
mod fault;
mod lane;
mod number;
mod path;
mod quote;
mod scan;
mod string;
mod walk;

#[cfg(test)]
pub(crate) mod oracle;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

pub use check::{MAX_DEPTH, MAX_NODES, check_args, check_result, check_value};
pub use digest::digest;
pub use fault::{Fault, Kind, Place};
pub use lane::{MAX_LANE_BYTES, lane};
pub use path::{MAX_PATH_BYTES, Path, PathFault};
pub use quote::{cut, quote};
pub use string::whole_characters;
pub use walk::{DeadEnd, Holder, Step, arrays, kind, walk};

/// What RFC 8259 calls white space, and nothing else.
pub(crate) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}
