//! Properties over generated texts: any spelling of a value, damaged spellings, and any run of marks.

use std::fmt::Write as _;

use proptest::{collection::vec, prelude::*, sample::Index};

use super::{oracle, *};
use crate::fuzz::at_least;

/// A JSON value with numbers as digits times a power of ten, so that it can be spelled in many ways.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Value {
    Null,
    Bool(bool),
    /// Sign, digits without outer zeros (0 has none, and no sign), exponent.
    Number(bool, String, i32),
    String(String),
    Array(Vec<Value>),
    /// Sorted by name, no name twice.
    Object(Vec<(String, Value)>),
}

fn a_number() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Number(false, String::new(), 0)),
        (any::<bool>(), "[1-9]([0-9]{0,2}[1-9])?", -3..4)
            .prop_map(|(minus, digits, e)| Value::Number(minus, digits, e)),
        (any::<bool>(), "[1-9][0-9]{0,30}[1-9]", any::<i32>()).prop_map(|(minus, digits, e)| Value::Number(
            minus,
            digits,
            e / 2
        )),
    ]
}

/// Few names and short texts, so that two generated values are often equal or nearly so.
fn a_value() -> impl Strategy<Value = Value> {
    let text = prop_oneof!["[ab]{0,2}", "[0-9]{1,3}", "\\PC{0,6}", any::<String>(), Just("😀\u{0}\u{2028}".to_owned())];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        a_number(),
        text.clone().prop_map(Value::String),
    ];
    leaf.prop_recursive(4, 24, 4, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::Array),
            proptest::collection::btree_map(text.clone(), inner, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// An object that may have a member `doc`.
fn an_object() -> impl Strategy<Value = Value> {
    (a_value(), a_value())
        .prop_map(|(other, doc)| Value::Object(vec![("a".to_owned(), other), ("doc".to_owned(), doc)]))
}

/// Answers "which of n" from a list of random bytes, over and over.
struct Choices<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Choices<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    fn of(&mut self, n: usize) -> usize {
        self.at += 1;
        (usize::from(self.bytes[self.at % self.bytes.len()]) + self.at / self.bytes.len()) % n
    }

    fn blanks(&mut self, out: &mut String) {
        out.push_str(["", "", " ", "\n", "\t\r\n "][self.of(5)]);
    }
}

/// Spells a value in one of its many ways.
fn render(value: &Value, choices: &mut Choices<'_>, out: &mut String) {
    choices.blanks(out);
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(value) => out.push_str(&value.to_string()),
        Value::Number(minus, digits, exponent) => out.push_str(&render_number(*minus, digits, *exponent, choices)),
        Value::String(text) => render_string(text, choices, out),
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                out.push_str(if i > 0 { "," } else { "" });
                render(item, choices, out);
            }
            choices.blanks(out);
            out.push(']');
        }
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            if !members.is_empty() {
                let turn = choices.of(members.len());
                members.rotate_left(turn);
            }
            out.push('{');
            for (i, (name, value)) in members.into_iter().enumerate() {
                out.push_str(if i > 0 { "," } else { "" });
                choices.blanks(out);
                render_string(name, choices, out);
                choices.blanks(out);
                out.push(':');
                render(value, choices, out);
            }
            choices.blanks(out);
            out.push('}');
        }
    }
    choices.blanks(out);
}

fn render_number(minus: bool, digits: &str, exponent: i32, choices: &mut Choices<'_>) -> String {
    if digits.is_empty() {
        return ["0", "-0", "0.0", "0e7", "-0.00E-9999999999999999999999999"][choices.of(5)].to_owned();
    }
    let sign = if minus { "-" } else { "" };
    let zeros = choices.of(4);
    let all = format!("{digits}{}", "0".repeat(zeros));
    let mut exponent = i64::from(exponent) - i64::try_from(zeros).unwrap();
    // Move the point into the digits, or before them.
    let point = choices.of(all.len() + 1);
    exponent += i64::try_from(all.len() - point).unwrap();
    let mantissa = match (&all[..point], &all[point..]) {
        ("", fraction) => format!("0.{fraction}"),
        (whole, "") => whole.to_owned(),
        (whole, fraction) => format!("{whole}.{fraction}"),
    };
    match choices.of(4) {
        _ if exponent == 0 => format!("{sign}{mantissa}"),
        0 if exponent > 0 => format!("{sign}{mantissa}E+{exponent}"),
        1 if exponent > 0 => format!("{sign}{mantissa}e000{exponent}"),
        _ => format!("{sign}{mantissa}e{exponent}"),
    }
}

fn render_string(text: &str, choices: &mut Choices<'_>, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        let must = c < ' ' || c == '"' || c == '\\';
        match (choices.of(4), c) {
            (0, '\n') => out.push_str("\\n"),
            (0, '/') => out.push_str("\\/"),
            (1..=3, '"' | '\\') => out.extend(['\\', c]),
            (2.., _) if !must => out.push(c),
            _ => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    if choices.of(2) == 0 { write!(out, "\\u{unit:04x}") } else { write!(out, "\\u{unit:04X}") }
                        .unwrap();
                }
            }
        }
    }
    out.push('"');
}

fn spelled(value: &Value, choices: &[u8]) -> String {
    let mut text = String::new();
    render(value, &mut Choices::new(choices), &mut text);
    text
}

/// The lane by R4, from the value instead of its text.
fn expected_lane(doc: &Value) -> Option<String> {
    match doc {
        Value::Null | Value::Array(_) | Value::Object(_) => None,
        Value::Bool(value) => Some(value.to_string()),
        Value::Number(minus, digits, exponent) => Some(match (*minus, digits.as_str(), *exponent) {
            (_, "", _) => "0".to_owned(),
            (minus, digits, 0) => format!("{}{digits}", if minus { "-" } else { "" }),
            (minus, digits, exponent) => format!("{}{digits}e{exponent}", if minus { "-" } else { "" }),
        }),
        Value::String(text) if text.is_empty() => Some("\"\"".to_owned()),
        Value::String(text)
            if text == "0" || (text.starts_with(|c: char| ('1'..='9').contains(&c)) && all_digits(text)) =>
        {
            let digits = text.trim_end_matches('0');
            let zeros = text.len() - digits.len();
            Some(if text == "0" || zeros == 0 { text.clone() } else { format!("{digits}e{zeros}") })
        }
        Value::String(text) if text.len() <= MAX_LANE_BYTES => Some(text.clone()),
        Value::String(_) => unreachable!("no generated text is that long"),
    }
}

fn all_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// What was a valid text, with a few of its bytes replaced, dropped, doubled or cut off.
fn damaged(mut bytes: Vec<u8>, damage: &[(Index, u8, u8)]) -> String {
    const MARKS: &[u8] = b"[]{}:,\"\\u0dD8e.-+ \nntf\x00\x7f\xc3\xff";
    for (index, kind, mark) in damage {
        if bytes.is_empty() {
            break;
        }
        let at = index.index(bytes.len());
        match kind % 5 {
            0 => bytes[at] = MARKS[usize::from(*mark) % MARKS.len()],
            1 => drop(bytes.remove(at)),
            2 => bytes.insert(at, MARKS[usize::from(*mark) % MARKS.len()]),
            3 => bytes.extend_from_within(at..bytes.len().min(at + 9)),
            _ => bytes.truncate(at.max(1)),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn agrees_with_the_oracle(text: &str) -> Result<(), TestCaseError> {
    prop_assert_eq!(check_result(text).is_ok(), oracle::is_json(text), "{:?}: {:?}", text, check_result(text));
    prop_assert_eq!(check_args(text).is_ok(), oracle::is_args(text), "{:?}: {:?}", text, check_args(text));
    prop_assert_eq!(check_value(text).is_ok(), oracle::is_value(text), "{:?}: {:?}", text, check_value(text));
    let _ = digest(text);
    for path in ["doc", "a.doc", "/", "/a/b"] {
        let lane = lane(text, &Path::parse(path).unwrap());
        prop_assert!(lane.is_none_or(|lane| !lane.is_empty() && lane.len() <= MAX_LANE_BYTES));
    }
    if let Err(fault) = check_args(text) {
        prop_assert!(fault.to_string().len() < 600, "{}", fault);
    }
    Ok(())
}

proptest! {
    #![proptest_config(at_least(20_000))]

    #[test]
    fn damaged_text_never_panics_and_is_judged_as_by_serde_json(
        value in an_object(), style in vec(any::<u8>(), 1..24), damage in vec((any::<Index>(), any::<u8>(), any::<u8>()), 0..4),
    ) {
        agrees_with_the_oracle(&damaged(spelled(&value, &style).into_bytes(), &damage))?;
    }
}

proptest! {
    #![proptest_config(at_least(4_000))]

    #[test]
    fn any_sequence_of_marks_is_judged_as_by_serde_json(
        text in r#"([\[\]{},: ]|"[ab]?"|"\\u[dD][89abcdef]00(\\uDC00)?"|-?[01][.]?[05]?([eE][+-]?[09]{1,3})?|true|null|\\|"|\n|é){0,16}"#,
    ) {
        agrees_with_the_oracle(&text)?;
    }

    #[test]
    fn any_spelling_keeps_digest_and_lane(
        value in an_object(), one in vec(any::<u8>(), 1..24), other in vec(any::<u8>(), 1..24),
    ) {
        let (one, other) = (spelled(&value, &one), spelled(&value, &other));
        prop_assert_eq!(check_args(&one), Ok(()), "{}", &one);
        prop_assert_eq!(digest(&one), digest(&other), "{} {}", &one, &other);
        let Value::Object(members) = &value else { unreachable!() };
        let path = Path::parse("doc").unwrap();
        prop_assert_eq!(lane(&one, &path), expected_lane(&members[1].1), "{}", &one);
        prop_assert_eq!(lane(&one, &path), lane(&other, &path));
    }

    #[test]
    fn digests_are_equal_exactly_where_values_are(
        a in a_value(), b in a_value(), styles in (vec(any::<u8>(), 1..9), vec(any::<u8>(), 1..9)),
    ) {
        prop_assert_eq!(digest(&spelled(&a, &styles.0)) == digest(&spelled(&b, &styles.1)), a == b);
    }

    #[test]
    fn a_path_never_panics_and_a_pointer_to_any_name_reaches_it(text in any::<String>(), names in vec("\\PC{0,4}|[~/.01]{0,3}", 1..4)) {
        let _ = Path::parse(&text);
        let escaped = names.iter().map(|name| name.replace('~', "~0").replace('/', "~1"));
        let pointer = std::iter::once(String::new()).chain(escaped).collect::<Vec<_>>().join("/");
        let value = names.iter().rev().fold(Value::Bool(true), |inner, name| Value::Object(vec![(name.clone(), inner)]));
        prop_assert_eq!(lane(&spelled(&value, &[1, 2, 3]), &Path::parse(&pointer).unwrap()), Some("true".to_owned()));
    }

    #[test]
    fn a_cut_is_the_longest_prefix_that_fits(text in any::<String>(), max in 0_usize..40) {
        let kept = cut(&text, max);
        prop_assert!(text.starts_with(kept) && kept.len() <= max);
        let next = text[kept.len()..].chars().next();
        prop_assert!(next.is_none_or(|next| kept.len() + next.len_utf8() > max));
    }
}
