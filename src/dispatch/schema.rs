//! A tool's input schema, compiled once, and what is wrong with arguments that do not fit it.

use std::{fmt::Write as _, iter, ops::Range};

use jsonschema::{ValidationError, Validator, error::ValidationErrorKind};
use serde_json::Value;

use super::{expansion::Expansion, message::plain, patterns};

#[cfg(test)]
mod hostile;
#[cfg(test)]
mod properties;

/// The longest schema: real ones are a few KiB, and what a schema compiles to is many times its text.
const MAX_SCHEMA_BYTES: usize = 64 * 1_024;

/// The most levels of a schema, references followed: its compiler and its checker recurse.
const MAX_SCHEMA_LEVELS: u64 = 64;

/// The most values of a schema, every reference followed once: checking visits all of them for each value of the arguments.
const MAX_SCHEMA_VALUES: u64 = 10_000;

/// The most values of a schema that are visited to say where arguments do not fit. Finding out that they do not is linear, as the checker
/// remembers what it has visited; saying where is not.
const MAX_FAULT_SEARCH_VALUES: u64 = 1_000;

/// The deepest that arguments can be (R1).
const MAX_ARGS_DEPTH: usize = 100;

/// How many faults one message lists: a model repairs a few at a time.
const MAX_FAULTS: usize = 4;

/// The most bytes of a fault's place, and of its words: all faults together stay near 1 KiB, and fit into the 2 KiB that an event
/// keeps (R6).
const MAX_PLACE_BYTES: usize = 100;
const MAX_FAULT_BYTES: usize = 160;

/// The longest arguments whose faults are all looked for: the checker keeps every one of them, up to one for each two bytes.
const ALL_FAULTS_MAX_ARGS_BYTES: usize = 64 * 1_024;

/// How many decimal digits tell every `f64` apart: a number of more is rounded.
const F64_DIGITS: usize = 17;

/// What a tool takes.
#[derive(Debug)]
pub(super) enum Schema {
    /// Any object.
    Any,
    /// What fits.
    Compiled(Box<Compiled>),
    /// The schema itself is wrong, so nothing can be checked against it.
    Faulty(String),
}

/// A schema that arguments can be checked against.
#[derive(Debug)]
pub(super) struct Compiled {
    validator: Validator,
    /// Arguments of up to this depth are told where they do not fit.
    explained_depth: usize,
}

impl Schema {
    /// Compiles a schema's text. References lead nowhere but into the schema itself; patterns match in linear time.
    pub(super) fn compile(text: &str) -> Self {
        if text.trim().is_empty() {
            return Self::Any;
        }
        match compile(text) {
            Ok(compiled) => Self::Compiled(Box::new(compiled)),
            Err(fault) => Self::Faulty(plain(&fault, MAX_FAULT_BYTES)),
        }
    }
}

fn compile(text: &str) -> Result<Compiled, String> {
    if text.len() > MAX_SCHEMA_BYTES {
        return Err(format!("{} bytes long; expected at most {MAX_SCHEMA_BYTES}", text.len()));
    }
    let schema: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let expansion = Expansion::of(&schema);
    let (values, levels) = expansion.once();
    if levels > MAX_SCHEMA_LEVELS {
        return Err(format!("more than {MAX_SCHEMA_LEVELS} levels deep with its references followed"));
    }
    if values > MAX_SCHEMA_VALUES {
        return Err(format!("more than {MAX_SCHEMA_VALUES} values with its references followed"));
    }
    let validator = jsonschema::options()
        .with_pattern_options(patterns::options(&schema)?)
        // Whether a text is a regular expression is left to the tool: the checker compares each named group with every other, and
        // 1 MiB of text holds a hundred thousand.
        .with_format("regex", |_| true)
        .build(&schema)
        .map_err(|error| error.to_string())?;
    Ok(Compiled { validator, explained_depth: expansion.depth_within(MAX_FAULT_SEARCH_VALUES, MAX_ARGS_DEPTH) })
}

impl Compiled {
    /// Checks `args` (a JSON object as text), or says where they do not fit and what was expected there.
    pub(super) fn check(&self, args: &str) -> Result<(), String> {
        let value = parse(args)?;
        if self.validator.is_valid(&value) {
            return Ok(());
        }
        if depth(&value) > self.explained_depth {
            return Err("they are too deep for this schema to say where; compare them with it".to_owned());
        }
        let rounded = numbers(args).any(|number| is_rounded(&args[number]));
        let counts = |fault: &ValidationError<'_>| !(rounded && is_rounding(fault));
        let faults: Vec<_> = if args.len() <= ALL_FAULTS_MAX_ARGS_BYTES {
            self.validator.iter_errors(&value).filter(counts).take(MAX_FAULTS + 1).collect()
        } else {
            self.validator.validate(&value).err().into_iter().filter(counts).collect()
        };
        if faults.is_empty() { Ok(()) } else { Err(describe(&faults)) }
    }
}

/// Levels of objects and arrays. The parser bounds them, and so this.
fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

/// Parses without refusing any number: one beyond the range of `f64` becomes the largest that there is. The value is for this
/// check only; what is sent is the text.
fn parse(args: &str) -> Result<Value, String> {
    serde_json::from_str(args)
        .or_else(|_| serde_json::from_str(&clamp_numbers(args)))
        .map_err(|error| format!("expected one JSON object: {error}"))
}

fn clamp_numbers(text: &str) -> String {
    let mut clamped = String::with_capacity(text.len());
    let mut copied = 0;
    for number in numbers(text) {
        if text[number.clone()].parse::<f64>().is_ok_and(f64::is_infinite) {
            clamped.push_str(&text[copied..number.start]);
            clamped.push_str(if text[number.clone()].starts_with('-') { "-" } else { "" });
            clamped.push_str("1.7976931348623157e308");
            copied = number.end;
        }
    }
    clamped.push_str(&text[copied..]);
    clamped
}

/// Where the numbers of a JSON text stand.
fn numbers(text: &str) -> impl Iterator<Item = Range<usize>> {
    let bytes = text.as_bytes();
    let mut at = 0;
    let mut in_string = false;
    iter::from_fn(move || {
        while let Some(&byte) = bytes.get(at) {
            let start = at;
            at += 1;
            match byte {
                b'"' => in_string = !in_string,
                b'\\' if in_string => at += 1,
                b'-' | b'0'..=b'9' if !in_string => {
                    let is_part = |byte: &&u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
                    at += bytes[at..].iter().take_while(is_part).count();
                    return Some(start..at);
                }
                _ => {}
            }
        }
        None
    })
}

/// Whether a number is too large, too small or too precise for the checker to know it from its neighbours.
fn is_rounded(number: &str) -> bool {
    let mantissa = number.split(['e', 'E']).next().unwrap_or(number);
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let digits = digits.trim_matches('0');
    digits.len() > F64_DIGITS
        || number.parse::<f64>().is_ok_and(|value| value.is_infinite() || (value == 0.0 && !digits.is_empty()))
}

/// Whether rounding alone can have made this fault, in arguments that hold a rounded number. Where in doubt the tool decides: it
/// has the number as it was written. A fault inside an `anyOf` or `oneOf` is not looked into.
#[allow(clippy::wildcard_enum_match_arm, reason = "another crate's enum, of forty kinds that do not compare numbers")]
fn is_rounding(fault: &ValidationError<'_>) -> bool {
    let instance = fault.instance();
    let is_integer = instance.is_i64() || instance.is_u64();
    match fault.kind() {
        ValidationErrorKind::UniqueItems => true,
        ValidationErrorKind::MultipleOf { .. } => !is_integer,
        ValidationErrorKind::Minimum { limit }
        | ValidationErrorKind::Maximum { limit }
        | ValidationErrorKind::ExclusiveMinimum { limit }
        | ValidationErrorKind::ExclusiveMaximum { limit } => !is_integer && instance.as_f64() == limit.as_f64(),
        _ => false,
    }
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

/// What kind of value arrived. The value itself may be a secret, and the message is kept and listed.
fn found(value: &Value) -> &'static str {
    match value {
        Value::Object(_) => "",
        Value::Array(_) => " (found an array)",
        Value::Null => " (found null)",
        Value::Bool(_) => " (found a boolean)",
        Value::Number(_) => " (found a number)",
        Value::String(_) => " (found a string)",
    }
}

#[cfg(test)]
mod tests {
    use super::{Schema, plain};

    pub(super) fn checked(schema: &str, args: &str) -> Result<(), String> {
        match Schema::compile(schema) {
            Schema::Compiled(compiled) => compiled.check(args),
            Schema::Any | Schema::Faulty(_) => panic!("{schema} did not compile"),
        }
    }

    pub(super) fn fault(schema: &str) -> String {
        match Schema::compile(schema) {
            Schema::Faulty(fault) => fault,
            Schema::Any | Schema::Compiled(_) => panic!("{} was taken", plain(schema, 400)),
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
    fn rounding_alone_refuses_nothing() {
        let schema =
            r#"{"properties":{"a":{"exclusiveMinimum":0},"b":{"exclusiveMaximum":1},"c":{"uniqueItems":true}}}"#;
        assert_eq!(checked(schema, r#"{"a":1e-400}"#), Ok(()));
        assert_eq!(checked(schema, r#"{"b":0.99999999999999999999}"#), Ok(()));
        assert_eq!(checked(schema, r#"{"c":[12345678901234567890123,12345678901234567890124]}"#), Ok(()));
        for args in [r#"{"a":0.0}"#, r#"{"b":1.0}"#, r#"{"c":[1.5,1.5]}"#, r#"{"a":-1,"z":1e400}"#] {
            assert!(checked(schema, args).is_err(), "{args}");
        }
    }

    #[test]
    fn deep_arguments_of_a_branching_schema_are_refused_without_a_search() {
        let schema = r##"{"type":"object","properties":{"a":{"anyOf":[{"$ref":"#"},{"$ref":"#"}]}}}"##;
        let nested = |levels: usize, leaf: &str| format!("{}{leaf}{}", r#"{"a":"#.repeat(levels), "}".repeat(levels));
        assert_eq!(checked(schema, &nested(99, "{}")), Ok(()));
        assert!(checked(schema, &nested(99, "1")).expect_err("a number").contains("too deep"));
        assert!(checked(schema, &nested(2, "1")).expect_err("a number").contains("/a: "));
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
        assert_eq!(
            checked(schema, r#"{"id":7}"#),
            Err(r#"/id: value is not of type "string" (found a number)"#.to_owned())
        );
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
        let wide: Vec<String> = (0..12)
            .map(|i| format!(r##""a{i}":{{"anyOf":[{{"$ref":"#/$defs/a{0}"}},{{"$ref":"#/$defs/a{0}"}}]}}"##, i + 1))
            .collect();
        let wide = format!(r##"{{"$ref":"#/$defs/a0","$defs":{{{},"a12":false}}}}"##, wide.join(","));
        assert!(fault(&wide).contains("10000 values"));
    }

    #[test]
    fn no_schema_takes_any_object() {
        assert!(matches!(Schema::compile(" \n"), Schema::Any));
    }
}
