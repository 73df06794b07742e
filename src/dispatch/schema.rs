//! A tool's input schema, compiled once, and what is wrong with arguments that do not fit it.

use std::{borrow::Cow, fmt::Write as _};

use jsonschema::{PatternOptions, ValidationError, Validator, error::ValidationErrorKind};
use serde_json::Value;

use super::message::plain;

/// The longest schema: real ones are a few KiB, and what a schema compiles to is many times its text.
const MAX_SCHEMA_BYTES: usize = 64 * 1_024;

/// The most levels of a schema's text: its compiler recurses.
const MAX_SCHEMA_DEPTH: usize = 64;

/// The most bytes that one `pattern` compiles to.
const MAX_PATTERN_BYTES: usize = 2 * 1_024 * 1_024;

/// How many faults one message lists: a model repairs a few at a time.
const MAX_FAULTS: usize = 4;

/// The most bytes of a fault's place, and of its words: all faults together stay near 1 KiB, and fit into the 2 KiB that an event
/// keeps (R6).
const MAX_PLACE_BYTES: usize = 100;
const MAX_FAULT_BYTES: usize = 160;

/// The longest scalar that a fault shows as it arrived.
const MAX_SHOWN_BYTES: usize = 40;

/// The longest arguments whose faults are all looked for: the checker keeps every one of them, up to one for each two bytes.
const ALL_FAULTS_MAX_ARGS_BYTES: usize = 64 * 1_024;

/// From here on two integers share one `f64`, and a remainder means nothing.
const F64_EXACT_INTEGERS: f64 = 9_007_199_254_740_992.0;

/// What a tool takes.
#[derive(Debug)]
pub(super) enum Schema {
    /// Any object.
    Any,
    /// What fits.
    Compiled(Box<Validator>),
    /// The schema itself is wrong, so nothing can be checked against it.
    Faulty(String),
}

impl Schema {
    /// Compiles a schema's text. References lead nowhere but into the schema itself; patterns match in linear time.
    pub(super) fn compile(text: &str) -> Self {
        if text.trim().is_empty() {
            return Self::Any;
        }
        match compile(text) {
            Ok(validator) => Self::Compiled(Box::new(validator)),
            Err(fault) => Self::Faulty(plain(&fault, MAX_FAULT_BYTES)),
        }
    }
}

fn compile(text: &str) -> Result<Validator, String> {
    if text.len() > MAX_SCHEMA_BYTES {
        return Err(format!("{} bytes long; expected at most {MAX_SCHEMA_BYTES}", text.len()));
    }
    let schema: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if depth_exceeds(&schema, MAX_SCHEMA_DEPTH) {
        return Err(format!("more than {MAX_SCHEMA_DEPTH} levels deep"));
    }
    jsonschema::options()
        .with_pattern_options(PatternOptions::regex().size_limit(MAX_PATTERN_BYTES))
        .build(&schema)
        .map_err(|error| error.to_string())
}

fn depth_exceeds(value: &Value, levels: usize) -> bool {
    match value {
        Value::Array(items) => levels == 0 || items.iter().any(|item| depth_exceeds(item, levels - 1)),
        Value::Object(members) => levels == 0 || members.values().any(|member| depth_exceeds(member, levels - 1)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Checks `args` (a JSON object as text), or says where they do not fit and what was expected there.
pub(super) fn check(validator: &Validator, args: &str) -> Result<(), String> {
    let args_value = parse(args)?;
    if validator.is_valid(&args_value) {
        return Ok(());
    }
    let faults: Vec<_> = if args.len() <= ALL_FAULTS_MAX_ARGS_BYTES {
        validator.iter_errors(&args_value).filter(|fault| !is_rounding(fault)).take(MAX_FAULTS + 1).collect()
    } else {
        validator.validate(&args_value).err().into_iter().filter(|fault| !is_rounding(fault)).collect()
    };
    if faults.is_empty() { Ok(()) } else { Err(describe(&faults)) }
}

/// Parses without refusing any number: one beyond the range of `f64` becomes the largest that there is. The value is for this
/// check only; what is sent is the text.
fn parse(args: &str) -> Result<Value, String> {
    serde_json::from_str(args)
        .or_else(|_| serde_json::from_str(&clamp_numbers(args)))
        .map_err(|error| format!("expected one JSON object: {error}"))
}

fn clamp_numbers(text: &str) -> Cow<'_, str> {
    let mut clamped = String::new();
    let mut copied = 0;
    let mut in_string = false;
    let mut at = 0;
    let bytes = text.as_bytes();
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => in_string = !in_string,
            b'\\' if in_string => at += 1,
            b'-' | b'0'..=b'9' if !in_string => {
                let rest = &bytes[at..];
                let is_part = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
                let end = at + rest.iter().position(|byte| !is_part(byte)).unwrap_or(rest.len());
                if text[at..end].parse::<f64>().is_ok_and(f64::is_infinite) {
                    clamped.push_str(&text[copied..at]);
                    clamped.push_str(if byte == b'-' { "-1.7976931348623157e308" } else { "1.7976931348623157e308" });
                    copied = end;
                }
                at = end;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    clamped.push_str(&text[copied..]);
    Cow::Owned(clamped)
}

/// A remainder of a number that `f64` could not hold exactly says nothing about the number that the tool will read.
fn is_rounding(fault: &ValidationError<'_>) -> bool {
    matches!(fault.kind(), ValidationErrorKind::MultipleOf { .. })
        && fault.instance().as_i64().is_none()
        && fault.instance().as_u64().is_none()
        && fault.instance().as_f64().is_some_and(|number| number.abs() >= F64_EXACT_INTEGERS)
}

fn describe(faults: &[ValidationError<'_>]) -> String {
    let mut text = String::new();
    for (index, fault) in faults.iter().take(MAX_FAULTS).enumerate() {
        let separator = if index == 0 { "" } else { "; " };
        let pointer = fault.instance_path().as_str();
        let place = if pointer.is_empty() { "the arguments" } else { pointer };
        let place = plain(place, MAX_PLACE_BYTES);
        let expected = plain(&fault.masked().to_string(), MAX_FAULT_BYTES);
        // Writing to a `String` cannot fail.
        let _ = write!(text, "{separator}{place}: {expected}{}", found(fault.instance()));
    }
    if faults.len() > MAX_FAULTS {
        text.push_str("; and more");
    }
    text
}

/// What arrived, in a few words.
fn found(value: &Value) -> String {
    let kind = match value {
        Value::Object(_) => return String::new(),
        Value::Array(_) => "an array",
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
    };
    let text = if value.is_array() { String::new() } else { value.to_string() };
    if text.is_empty() || text.len() > MAX_SHOWN_BYTES || value.is_null() {
        format!(" (found {kind})")
    } else {
        format!(" (found {})", plain(&text, MAX_SHOWN_BYTES))
    }
}

#[cfg(test)]
mod tests {
    use super::{Schema, check};

    fn checked(schema: &str, args: &str) -> Result<(), String> {
        match Schema::compile(schema) {
            Schema::Compiled(validator) => check(&validator, args),
            Schema::Any | Schema::Faulty(_) => panic!("{schema} did not compile"),
        }
    }

    fn fault(schema: &str) -> String {
        match Schema::compile(schema) {
            Schema::Faulty(fault) => fault,
            Schema::Any | Schema::Compiled(_) => panic!("{schema} was taken"),
        }
    }

    #[test]
    fn numbers_of_any_size_pass_the_check() {
        let schema = r#"{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer","multipleOf":10},
            "d":{"type":"number"},"f":{"type":"number","minimum":-1}}}"#;
        let args = r#"{"z":1,"a":12345678901234567890123,"b":123456789012345678901234567890,"d":1e400,"e":1.10,"f":-0,"g":-1e999,
            "s":"1e400 \" 1e400"}"#;
        assert_eq!(checked(schema, args), Ok(()));
        assert_eq!(checked(r#"{"properties":{"b":{"const":9007199254740993}}}"#, r#"{"b":9007199254740993}"#), Ok(()));
    }

    #[test]
    fn a_number_beyond_f64_is_still_compared() {
        let fault = checked(r#"{"properties":{"d":{"maximum":100}}}"#, r#"{"d":1e400}"#).expect_err("too large");
        assert!(fault.starts_with("/d: "), "{fault}");
        assert!(checked(r#"{"properties":{"d":{"multipleOf":10}}}"#, r#"{"d":15}"#).is_err());
    }

    #[test]
    fn a_fault_names_its_place_what_was_expected_and_what_arrived() {
        let schema =
            r#"{"type":"object","required":["id"],"properties":{"id":{"type":"string"},"ms":{"type":"integer"}}}"#;
        assert_eq!(checked(schema, r#"{"id":7}"#), Err(r#"/id: value is not of type "string" (found 7)"#.to_owned()));
        assert_eq!(checked(schema, "{}"), Err(r#"the arguments: "id" is a required property"#.to_owned()));
        let two = checked(schema, r#"{"id":[],"ms":null}"#).expect_err("two faults");
        assert!(two.contains("/id: ") && two.contains("found an array") && two.contains("/ms: "), "{two}");
    }

    #[test]
    fn a_message_is_short_whatever_arrived() {
        let schema = r#"{"type":"object","additionalProperties":{"type":"integer"}}"#;
        let args: Vec<String> =
            (0..500).map(|i| format!("\"{}{i}\":\"{}\"", "k".repeat(300), "v".repeat(300))).collect();
        for count in [1, 500] {
            let fault = checked(schema, &format!("{{{}}}", args[..count].join(","))).expect_err("no integers");
            assert!(fault.len() <= 1_300 && !fault.contains("vvv"), "{} bytes: {fault}", fault.len());
        }
    }

    #[test]
    fn a_schema_that_cannot_be_used_says_why() {
        assert!(fault("{").contains("line 1 column 1"));
        assert!(fault(r#"{"type":"strng"}"#).contains("strng"));
        assert!(fault(r#"{"$ref":"http://127.0.0.1:1/x"}"#).contains("127.0.0.1"));
        assert!(fault(r#"{"$ref":"file:///etc/passwd"}"#).contains("/etc/passwd"));
        assert!(fault(r#"{"pattern":"(?=a)"}"#).contains("(?=a)"));
        assert!(fault(&format!("{{\"title\":\"{}\"}}", "x".repeat(65_536))).contains("expected at most 65536"));
        let deep = format!("{}{{}}{}", r#"{"not":"#.repeat(65), "}".repeat(65));
        assert!(fault(&deep).contains("64 levels"));
    }

    #[test]
    fn no_schema_takes_any_object() {
        assert!(matches!(Schema::compile(" \n"), Schema::Any));
    }
}
