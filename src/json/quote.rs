//! Foreign text in our own messages: bounded, and harmless to a terminal or a log.

/// What of a foreign text stands in a message: enough to recognise it, small enough for dozens of messages in one status.
const MAX_QUOTE_BYTES: usize = 80;

/// The longest prefix of `text` that has at most `max_bytes` bytes and ends at a character border.
#[must_use]
pub fn cut(text: &str, max_bytes: usize) -> &str {
    &text[..text.floor_char_boundary(max_bytes)]
}

/// `text` in quotes, at most 80 bytes of it, then `…`; control characters, line ends and bidi marks are escaped.
#[must_use]
pub fn quote(text: &str) -> String {
    let kept = cut(text, MAX_QUOTE_BYTES);
    let more = if kept.len() < text.len() { "…" } else { "" };
    format!("{kept:?}{more}")
}

#[cfg(test)]
mod tests {
    use super::{cut, quote};

    #[test]
    fn a_cut_ends_at_a_character_border() {
        assert_eq!(cut("aé", 3), "aé");
        assert_eq!(cut("aé", 2), "a");
        assert_eq!(cut("é", 1), "");
        assert_eq!(cut("abc", 100), "abc");
        assert_eq!(cut("", 0), "");
    }

    #[test]
    fn a_quote_is_bounded_and_escapes_what_could_forge_a_line() {
        assert_eq!(quote("plain"), "\"plain\"");
        assert_eq!(quote("a\nb\u{1b}\u{202e}\u{85}"), r#""a\nb\u{1b}\u{202e}\u{85}""#);
        assert_eq!(quote(&"x".repeat(80)), format!("\"{}\"", "x".repeat(80)));
        assert_eq!(quote(&"x".repeat(81)), format!("\"{}\"…", "x".repeat(80)));
    }
}
