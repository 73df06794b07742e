//! Which calls must not meet: the scalar that their arguments hold at one path (R4).

use std::{borrow::Cow, fmt::Write as _};

use sha2::{Digest as _, Sha256};

use super::{
    number,
    path::Path,
    quote::cut,
    scan::{Scanner, Token},
};

/// The longest lane: document numbers and the like are far shorter, and 200 of these in one plan stay under 64 KiB.
pub const MAX_LANE_BYTES: usize = 256;

/// `#` and a SHA-256 in hex, behind what is left of a longer lane.
const SHORT_FORM_BYTES: usize = 1 + 64;

/// The canonical text of the scalar at `path`, at most [`MAX_LANE_BYTES`] and never empty; `None` where there is nothing, null, an
/// object or an array. A number is its sign, digits and exponent; a string that is a JSON number is that number; every other string
/// is its own text, so that `true` and `"true"` are one lane; an empty one is `""`. Longer text is shortened to a
/// prefix and its SHA-256. `args` passed `check_args`; other text has no lane, or that of what could be read.
#[must_use]
pub fn lane(args: &str, path: &Path) -> Option<String> {
    let text = match value_at(args, path)? {
        Token::Number(number) => number::canonical(number),
        Token::String(string) => match string.unescape() {
            text if text.is_empty() => Cow::Borrowed("\"\""),
            text if number::is_number(&text) => Cow::Owned(number::canonical(&text).into_owned()),
            text => text,
        },
        Token::Bool(true) => Cow::Borrowed("true"),
        Token::Bool(false) => Cow::Borrowed("false"),
        Token::ObjectStart | Token::ObjectEnd | Token::ArrayStart | Token::ArrayEnd | Token::Name(_) | Token::Null => {
            return None;
        }
    };
    Some(if text.len() > MAX_LANE_BYTES { shortened(&text) } else { text.into_owned() })
}

/// The first token of the value at `path`.
fn value_at<'a>(args: &'a str, path: &Path) -> Option<Token<'a>> {
    let mut scanner = Scanner::new(args);
    let mut wanted = &path.first;
    let mut rest = path.rest.iter();
    let mut value = scanner.token().ok()??;
    while value == Token::ObjectStart {
        loop {
            // Anything but a name is the object's end: what the path names is not there.
            let Token::Name(name) = scanner.token().ok()?? else { return None };
            if name.unescape() == wanted.as_str() {
                break;
            }
            scanner.skip_value().ok()?;
        }
        value = scanner.token().ok()??;
        match rest.next() {
            Some(next) => wanted = next,
            None => return Some(value),
        }
    }
    None
}

fn shortened(text: &str) -> String {
    let mut lane = cut(text, MAX_LANE_BYTES - SHORT_FORM_BYTES).to_owned();
    lane.push('#');
    for byte in Sha256::digest(text) {
        // Writing to a string cannot fail.
        let _ = write!(lane, "{byte:02x}");
    }
    lane
}
