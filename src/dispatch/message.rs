//! Foreign text made fit for a message: short, on one line, in whole characters.

use std::fmt::Write as _;

pub(super) use crate::json::cut;

/// What a message quotes of a foreign text: enough for a sentence or two, small against the 2 KiB that an event keeps (R6).
pub(super) const QUOTE_MAX_BYTES: usize = 1_024;

/// `text` with its control characters escaped; where that is over `max_bytes`, what fits, and a `…`.
pub(super) fn plain(text: &str, max_bytes: usize) -> String {
    let mut plain = String::with_capacity(text.len().min(max_bytes));
    for character in text.chars() {
        let length = if character.is_control() { character.escape_default().len() } else { character.len_utf8() };
        if plain.len() + length > max_bytes {
            plain.push('…');
            break;
        }
        if character.is_control() {
            plain.extend(character.escape_default());
        } else {
            plain.push(character);
        }
    }
    plain
}

/// An error with its causes, outermost first, as one bounded line.
pub(super) fn causes(error: &(dyn std::error::Error + 'static)) -> String {
    let mut line = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let cause = error.to_string();
        // Many errors print their source themselves.
        if !line.ends_with(&cause) && line.len() < QUOTE_MAX_BYTES {
            // Writing to a `String` cannot fail.
            let _ = write!(line, ": {cause}");
        }
        source = error.source();
    }
    plain(&line, QUOTE_MAX_BYTES)
}

#[cfg(test)]
mod tests {
    use super::{cut, plain};

    #[test]
    fn text_is_cut_between_characters() {
        assert_eq!(cut("a中b", 2), "a");
        assert_eq!(cut("a中b", 4), "a中");
        assert_eq!(plain("a中b", 2), "a…");
    }

    #[test]
    fn control_characters_do_not_reach_a_message() {
        assert_eq!(plain("a\nb\u{1b}[31m", 100), "a\\nb\\u{1b}[31m");
        assert_eq!(plain("a\u{1b}\u{1b}b", 12), "a\\u{1b}…", "escapes count as long as they are");
    }
}
