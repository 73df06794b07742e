//! Text that came from tools, clients or servers, made harmless for a terminal.
//!
//! A tool's error message may hold escape sequences that retitle the window, clear the screen or rewrite the lines above, and
//! bidirectional controls that make a line read as another. They are shown as `\u001b`.

use std::{borrow::Cow, fmt::Write as _};

/// C0, DEL, C1; the bidirectional controls and marks; the separators that some terminals break lines at.
fn is_harmful(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// `text` on one line, harmful characters written as `\n`, `\t`, `\r` or `\u001b`.
pub(crate) fn line(text: &str) -> Cow<'_, str> {
    escaped(text, |_| false)
}

/// JSON text whose harmful characters are written as JSON escapes: the same value, as they can stand in strings only. Line
/// breaks and tabs between tokens stay.
pub(crate) fn json(text: &str) -> Cow<'_, str> {
    escaped(text, |c| matches!(c, '\n' | '\r' | '\t'))
}

/// Several lines, each made harmless by itself.
pub(crate) fn lines(text: &str) -> Cow<'_, str> {
    escaped(text, |c| c == '\n')
}

fn escaped(text: &str, keep: impl Fn(char) -> bool) -> Cow<'_, str> {
    let harmful = |c: char| is_harmful(c) && !keep(c);
    if !text.contains(harmful) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            _ if !harmful(c) => out.push(c),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            _ => write!(out, "\\u{:04x}", u32::from(c)).expect("a String takes all that is written"),
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_and_bidi_characters_become_visible() {
        assert_eq!(line("a\u{1b}[2Jb\u{7f}\u{9b}31m"), r"a\u001b[2Jb\u007f\u009b31m");
        assert_eq!(line("x\u{202e}y\u{2066}z\u{200f}\u{61c}\u{2028}"), r"x\u202ey\u2066z\u200f\u061c\u2028");
        assert_eq!(line("one\r\n\ttwo\0"), r"one\r\n\ttwo\u0000");
    }

    #[test]
    fn other_text_stays_as_it_is() {
        for text in ["plain", "Größe 中文 👩‍💻", r"C:\path"] {
            assert!(matches!(line(text), Cow::Borrowed(same) if same == text));
        }
    }

    #[test]
    fn json_keeps_its_value_and_its_blanks() {
        let text = "{\n\t\"a\": \"x\u{202e}\u{9b}\"\r\n}";
        let shown = json(text);
        assert_eq!(shown, "{\n\t\"a\": \"x\\u202e\\u009b\"\r\n}");
        let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(value(&shown), value(text));
    }

    #[test]
    fn several_lines_stay_several() {
        assert_eq!(lines("a\nb\u{1b}"), "a\nb\\u001b");
    }
}
