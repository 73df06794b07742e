//! What stands in for a native value: JSON text, whose strings are read and written anew while numbers keep their digits and members
//! their order.

use serde_json::Value;

/// A JSON text as it is after a way through a native value: without blanks, and without an escape that JSON does not ask for. The text
/// is one JSON value.
pub(crate) fn rewritten(text: &str) -> String {
    let mut whole = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find('"') {
        whole.extend(rest[..open].split_ascii_whitespace());
        let end = open + 1 + string_length(&rest[open + 1..]);
        let string = &rest[open..end];
        match serde_json::from_str::<String>(string) {
            Ok(read) => whole.push_str(&Value::from(read).to_string()),
            // Half a character is no text of ours; it goes on as it came.
            Err(_) => whole.push_str(string),
        }
        rest = &rest[end..];
    }
    whole.extend(rest.split_ascii_whitespace());
    whole
}

/// How far it is from behind the opening quote to behind the closing one.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'"' if !escaped => return at + 1,
            _ => escaped = byte == b'\\' && !escaped,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_written_plainly_and_all_else_stays() {
        for (text, whole) in [
            (r#"{ "z" : 1.10 , "a" : [ -0, 1e400 ] }"#, r#"{"z":1.10,"a":[-0,1e400]}"#),
            (r#""Gr\u00fc\u00dfe \ud83d\ude00 \/ \"q\" \\""#, r#""Grüße 😀 / \"q\" \\""#),
            (r#"["\\", "\n \u0000", "<&>"]"#, r#"["\\","\n \u0000","<&>"]"#),
            (r#""\ud800 half""#, r#""\ud800 half""#),
            (" null ", "null"),
            ("", ""),
        ] {
            assert_eq!(rewritten(text), whole, "{text}");
        }
    }
}
