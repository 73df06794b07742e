//! The strings of a JSON text: escapes, and the surrogates that may stand in them alone.

use std::borrow::Cow;

/// A string or member name as it stands between its quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct JsonStr<'a> {
    /// Between the quotes; its escapes are known to be sound.
    pub(super) raw: &'a str,
    /// It holds at least one escape.
    pub(super) escaped: bool,
    /// The offset in the whole text of the first escape that is half a character.
    pub(super) lone_surrogate: Option<usize>,
}

impl<'a> JsonStr<'a> {
    /// The text it means; a lone surrogate reads as U+FFFD. Allocates only where there are escapes.
    pub(super) fn unescape(self) -> Cow<'a, str> {
        if !self.escaped {
            return Cow::Borrowed(self.raw);
        }
        let mut text = String::with_capacity(self.raw.len());
        let mut rest = self.raw;
        while let Some(at) = rest.find('\\') {
            text.push_str(&rest[..at]);
            let Ok(escape) = Escape::read(rest.as_bytes(), at) else { break };
            text.push(escape.character.unwrap_or(char::REPLACEMENT_CHARACTER));
            rest = &rest[escape.end..];
        }
        text.push_str(rest);
        Cow::Owned(text)
    }
}

/// A JSON text with U+FFFD in the place of each lone surrogate, otherwise byte for byte: strict readers refuse them (R6). The text is one
/// JSON value.
#[must_use]
pub fn whole_characters(text: &str) -> Cow<'_, str> {
    // In JSON a backslash stands nowhere but in a string, at the start of an escape.
    let (mut whole, mut kept, mut at) = (String::new(), 0, 0);
    while let Some(found) = text[at..].find('\\') {
        let Ok(escape) = Escape::read(text.as_bytes(), at + found) else { break };
        if escape.character.is_none() {
            whole.push_str(&text[kept..at + found]);
            whole.push_str("\\ufffd");
            kept = escape.end;
        }
        at = escape.end;
    }
    if kept == 0 {
        return Cow::Borrowed(text);
    }
    whole.push_str(&text[kept..]);
    Cow::Owned(whole)
}

/// One escape, or the two that make up a character beyond the first 65,536.
pub(super) struct Escape {
    /// Where it ends.
    pub(super) end: usize,
    /// `None`: a lone surrogate.
    pub(super) character: Option<char>,
}

/// An escape that RFC 8259 does not have: where, and what was expected there.
pub(super) struct BadEscape {
    pub(super) at: usize,
    pub(super) expected: &'static str,
}

impl Escape {
    /// Reads the escape whose backslash is at `at`.
    pub(super) fn read(text: &[u8], at: usize) -> Result<Self, BadEscape> {
        let character = match text.get(at + 1) {
            Some(mark @ (b'"' | b'\\' | b'/')) => char::from(*mark),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return Self::read_units(text, at),
            Some(_) | None => {
                return Err(BadEscape { at: at + 1, expected: "one of \" \\ / b f n r t u after the backslash" });
            }
        };
        Ok(Self { end: at + 2, character: Some(character) })
    }

    fn read_units(text: &[u8], at: usize) -> Result<Self, BadEscape> {
        let unit = hex_unit(text, at + 2)?;
        // A high half takes the escape behind it only where that is a low half; else it stands alone, and what follows is
        // read for itself.
        let low = match (unit, text.get(at + 6..at + 8)) {
            (0xD800..=0xDBFF, Some(b"\\u")) => {
                hex_unit(text, at + 8).ok().filter(|low| (0xDC00..=0xDFFF).contains(low))
            }
            _ => None,
        };
        Ok(match low {
            Some(low) => {
                let scalar = 0x1_0000 + ((u32::from(unit) - 0xD800) << 10) + (u32::from(low) - 0xDC00);
                Self { end: at + 12, character: char::from_u32(scalar) }
            }
            None => Self { end: at + 6, character: char::from_u32(u32::from(unit)) },
        })
    }
}

fn hex_unit(text: &[u8], from: usize) -> Result<u16, BadEscape> {
    let mut unit = 0;
    for at in from..from + 4 {
        let digit = match text.get(at) {
            Some(digit @ b'0'..=b'9') => digit - b'0',
            Some(digit @ b'a'..=b'f') => digit - b'a' + 10,
            Some(digit @ b'A'..=b'F') => digit - b'A' + 10,
            Some(_) | None => return Err(BadEscape { at, expected: "four hex digits after \\u" }),
        };
        unit = unit << 4 | u16::from(digit);
    }
    Ok(unit)
}

#[cfg(test)]
mod tests {
    use super::whole_characters;

    #[test]
    fn only_lone_surrogates_are_replaced() {
        for same in [r#"{"a":"\ud83d\ude00 \\ud800 \u0041\n","n":1.10}"#, "1e400", r#""""#, r#""\\""#] {
            assert_eq!(whole_characters(same), same);
        }
        for (text, expected) in [
            (r#""\ud800""#, r#""\ufffd""#),
            (r#"{"\uDFFFé":["\ud800\ud800\udc00x", 1.0]}"#, r#"{"\ufffdé":["\ufffd\ud800\udc00x", 1.0]}"#),
            (r#""\udc00\ud800\n""#, r#""\ufffd\ufffd\n""#),
        ] {
            assert_eq!(whole_characters(text), expected);
            assert!(serde_json::from_str::<serde_json::Value>(expected).is_ok());
        }
        for broken in ["\"\\", "\"\\u12", "\\ud8", "\"\\ud800\\u"] {
            let _ = whole_characters(broken);
        }
    }
}
