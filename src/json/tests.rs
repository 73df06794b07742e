//! The cases by name, then properties over generated texts.

use proptest::{collection::vec, prelude::*, sample::Index};

use super::{oracle, *};

fn args_fault(text: &str) -> String {
    check_args(text).unwrap_err().to_string()
}

fn result_fault(text: &str) -> String {
    check_result(text).unwrap_err().to_string()
}

fn lane_at(path: &str, args: &str) -> Option<String> {
    check_args(args).unwrap();
    lane(args, &Path::parse(path).unwrap())
}

fn lane_of(value: &str) -> Option<String> {
    lane_at("doc", &format!("{{\"n\": [1, {{\"doc\": 0}}], \"doc\": {value} , \"x\":null}}"))
}

/// `levels` objects in one another.
fn nested(levels: usize) -> String {
    format!("{}0{}", "{\"a\":".repeat(levels), "}".repeat(levels))
}

#[test]
fn c14_only_an_object_is_arguments() {
    for text in ["{}", " {} ", "\r\n\t{\"a\":1}\n"] {
        assert_eq!(check_args(text), Ok(()), "{text:?}");
    }
    for (text, fault) in [
        ("null", "expected one JSON object, found null"),
        ("5", "expected one JSON object, found a number"),
        ("[]", "expected one JSON object, found an array"),
        ("\"text\"", "expected one JSON object, found a string"),
        ("true", "expected one JSON object, found a boolean"),
        ("", "line 1, column 1: expected a value, found the end of the text"),
        (" \n ", "line 2, column 2: expected a value, found the end of the text"),
        ("{} {}", "line 1, column 4: expected the end of the text, found \"{\""),
        ("{},", "line 1, column 3: expected the end of the text, found \",\""),
        ("\u{feff}{}", "line 1, column 1: expected a value, found \"\\u{feff}\""),
        ("\u{a0}{}", "line 1, column 1: expected a value, found \"\\u{a0}\""),
    ] {
        assert_eq!(args_fault(text), fault, "{text:?}");
    }
}

#[test]
fn c17_numbers_of_any_size_and_precision_pass() {
    let text =
        r#"{"z":1,"a":12345678901234567890123,"b":9007199254740993,"c":117.63331139400017,"d":1e400,"e":1.10,"f":-0}"#;
    assert_eq!(check_args(text), Ok(()));
    assert_eq!(check_result(text), Ok(()));
    let of = |number: &str| digest(&format!("{{\"a\":{number}}}"));
    assert_ne!(of("9007199254740993"), of("9007199254740992"));
    assert_ne!(of("1e400"), of("1e401"));
    assert_eq!(of("1.10"), of("11e-1"));
    assert_eq!(of("-0"), of("0.00"));
    assert_eq!(of("1e400"), of(&format!("1{}", "0".repeat(400))));
}

#[test]
fn c18_a_result_that_is_no_json_is_told_where() {
    for (text, fault) in [
        (r#"{"mean":NaN}"#, r#"line 1, column 9: expected a value, found "NaN""#),
        (r#"{"mean":-Infinity}"#, r#"line 1, column 10: expected a digit, found "Infinity""#),
        ("{\"ü\":\n[1, +2]}", r#"line 2, column 5: expected a value, found "+2""#),
        (r#"{"a":1} {"b":2}"#, r#"line 1, column 9: expected the end of the text, found "{""#),
        ("[1,]", r#"line 1, column 4: expected a value, found "]""#),
        ("[", "line 1, column 2: expected a value, or \"]\", found the end of the text"),
        ("[1 2]", r#"line 1, column 4: expected "," or "]", found "2""#),
        ("{\"a\" 1}", r#"line 1, column 6: expected ":", found "1""#),
        ("{\"a\":1 \"b\"}", r#"line 1, column 8: expected "," or "}", found "\"""#),
        ("{\"a\":1,}", r#"line 1, column 8: expected a member name in quotes, found "}""#),
        ("{a:1}", r#"line 1, column 2: expected a member name in quotes, or "}", found "a""#),
        ("[1}", r#"line 1, column 3: expected "," or "]", found "}""#),
        ("007", r#"line 1, column 2: expected no digit after a leading zero, found "07""#),
        ("1.", "line 1, column 3: expected a digit, found the end of the text"),
        ("nul", r#"line 1, column 1: expected a value, found "nul""#),
        ("\"a", "line 1, column 3: expected the string's closing quote, found the end of the text"),
        ("\"a\nb\"", r#"line 1, column 3: expected an escape for this control character, found "\n""#),
        ("\"\\x\"", r#"line 1, column 3: expected one of " \ / b f n r t u after the backslash, found "x""#),
        ("\"\\u12é4\"", r#"line 1, column 6: expected four hex digits after \u, found "é4""#),
        ("// no", r#"line 1, column 1: expected a value, found "//""#),
        ("", "line 1, column 1: expected a value, found the end of the text"),
    ] {
        assert_eq!(result_fault(text), fault, "{text:?}");
        assert!(!oracle::is_json(text), "{text:?}");
    }
}

#[test]
fn a_fault_shows_a_word_of_what_it_found() {
    let fault = result_fault(&"x".repeat(10_000));
    assert_eq!(fault, format!("line 1, column 1: expected a value, found \"{}\"", "x".repeat(32)));
}

#[test]
fn r6_a_result_may_repeat_members_nest_without_end_and_hold_lone_surrogates() {
    for text in ["null", "0", "\"\"", r#"{"a":1,"a":2}"#, r#""\ud800""#, r#"{"\udc00":1}"#, "  []\n"] {
        assert_eq!(check_result(text), Ok(()), "{text:?}");
    }
    let depth = 3_000_000;
    let text = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(check_result(&text), Ok(()));
    assert_eq!(result_fault(&text[..text.len() - 1]), {
        format!("line 1, column {}: expected \",\" or \"]\", found the end of the text", 2 * depth)
    });
    let mixed = format!("{}1{}", "[{\"a\":".repeat(1000), "}]".repeat(1000));
    assert_eq!(check_result(&mixed), Ok(()));
    assert!(check_result(&mixed.replacen("}]", "]}", 1)).is_err());
}

#[test]
fn c20_the_same_member_twice_is_refused_by_name_and_place() {
    assert_eq!(
        args_fault(r#"{"doc":"A","doc":"B","n":1,"ms":300}"#),
        "member \"doc\" stands twice in one object, at line 1, column 12"
    );
    assert_eq!(
        args_fault(r#"{"doc":"A","\u0064oc":"B"}"#),
        "member \"doc\" stands twice in one object, at line 1, column 12",
        "names are compared unescaped"
    );
    assert_eq!(
        args_fault("{\"x\":[{\n\"\":1, \"\":2}]}"),
        "member \"\" stands twice in one object, at line 2, column 7"
    );
    assert_eq!(
        args_fault(r#"{"b":1,"a":1,"a":2,"b":3,"a":4}"#),
        "member \"a\" stands twice in one object, at line 1, column 14",
        "the first repetition is the one named"
    );
    for text in [r#"{"a":{"a":1},"b":{"a":1}}"#, r#"{"a":1,"A":2,"a ":3}"#, r#"{"x":[{"a":1},{"a":1}],"a":1}"#] {
        assert_eq!(check_args(text), Ok(()), "{text}");
    }
}

#[test]
fn r1_a_lone_surrogate_is_refused_in_names_and_strings() {
    for (text, escape, column) in [
        (r#"{"a":"\ud800"}"#, r"\ud800", 7),
        (r#"{"a":"x\uDFFFy"}"#, r"\uDFFF", 8),
        (r#"{"\ud83d":1}"#, r"\ud83d", 3),
        (r#"{"a":["\ud83d\ud83d\ude00"]}"#, r"\ud83d", 8),
        (r#"{"a":"\ude00\ud83d"}"#, r"\ude00", 7),
        (r#"{"a":"\ud83d\n"}"#, r"\ud83d", 7),
    ] {
        assert_eq!(
            args_fault(text),
            format!(
                "{escape} is a lone surrogate, half of a character, at line 1, column {column}; expected both halves"
            )
        );
        assert_eq!(check_result(text), Ok(()));
    }
    assert_eq!(check_args(r#"{"\ud83d\ude00":"\uD83D\uDE00"}"#), Ok(()));
    assert_eq!(check_args(r#"{"a":"\\ud800"}"#), Ok(()), "an escaped backslash starts no escape");
}

#[test]
fn r1_a_hundred_levels_pass_and_one_more_does_not() {
    assert_eq!(check_args(&nested(100)), Ok(()));
    assert_eq!(
        args_fault(&nested(101)),
        "more than 100 levels of objects and arrays, at line 1, column 501; expected at most 100"
    );
    let arrays = |levels| format!("{{\"a\":{}{}}}", "[".repeat(levels), "]".repeat(levels));
    assert_eq!(check_args(&arrays(99)), Ok(()));
    assert!(matches!(check_args(&arrays(100)), Err(Fault::TooDeep { .. })));
}

#[test]
fn r1_a_million_values_pass_and_one_more_does_not() {
    // The object, the array, and what is in it.
    let text = |zeros: usize| format!("{{\"a\":[{}0]}}", "0,".repeat(zeros - 1));
    assert_eq!(check_args(&text(MAX_NODES - 2)), Ok(()));
    assert!(matches!(check_args(&text(MAX_NODES - 1)), Err(Fault::TooManyNodes { .. })));
}

#[test]
fn c34_one_scalar_text_is_one_lane() {
    let lane = lane_of("4711");
    assert_eq!(lane.as_deref(), Some("4711"));
    for same in ["\"4711\"", r#""\u0034711""#, "4711.0", "4.711e3", "\"4711.0\"", "\"4.711E+3\"", "47110e-1"] {
        assert_eq!(lane_of(same), lane, "{same}");
    }
    for other in ["\"0000004711\"", "\" 4711\"", "\"+4711\"", "-4711", "\"4711 \"", "4712"] {
        assert_ne!(lane_of(other), lane, "{other}");
        assert!(lane_of(other).is_some());
    }
    assert_eq!(lane_of("\"0000004711\"").as_deref(), Some("0000004711"));
    assert_eq!(lane_of("true").as_deref(), Some("true"));
    assert_eq!(lane_of("\"true\""), lane_of("true"));
    assert_eq!(lane_of("\"false\""), lane_of("false"));
    assert_eq!(lane_of("\"null\"").as_deref(), Some("null"));
    for none in ["null", r#"{"id":1}"#, "[4711]", "{}", "[]"] {
        assert_eq!(lane_of(none), None, "{none}");
    }
    assert_eq!(lane_at("doc", r#"{"dock":1}"#), None);
    assert_ne!(lane_of("9007199254740993"), lane_of("9007199254740992"));
}

#[test]
fn c34_a_dot_in_a_name_is_reached_by_a_pointer_only() {
    let flat = r#"{"a.b":"x"}"#;
    let deep = r#"{"a":{"b":"x"}}"#;
    assert_eq!(lane_at("a.b", flat), None);
    assert_eq!(lane_at("a.b", deep).as_deref(), Some("x"));
    assert_eq!(lane_at("/a.b", flat).as_deref(), Some("x"));
    assert_eq!(lane_at("/a.b", deep), None);
    assert_eq!(lane_at("/a/b", deep).as_deref(), Some("x"));
    assert_eq!(lane_at("/a~1b/c~0d", r#"{"a/b":{"c~d":1}}"#).as_deref(), Some("1"));
    assert_eq!(lane_at("/", r#"{"":7}"#).as_deref(), Some("7"));
}

#[test]
fn r4_a_path_goes_through_objects_only() {
    assert_eq!(lane_at("a.0", r#"{"a":[5]}"#), None);
    assert_eq!(lane_at("a.0", r#"{"a":{"0":5}}"#).as_deref(), Some("5"));
    assert_eq!(lane_at("a.b", r#"{"a":5,"b":6}"#), None);
    assert_eq!(lane_at("a.b", r#"{"a":{"c":1},"b":6}"#), None, "it does not go on behind the object it went into");
    assert_eq!(lane_at("a.b.c", r#"{"x":{"b":{"c":1}},"a":{"a":[{}],"b":{"x":{},"c":2}}}"#).as_deref(), Some("2"));
    assert_eq!(lane_at("größe", r#"{"gr\u00f6\u00DFe":1}"#).as_deref(), Some("1"), "names are compared unescaped");
}

#[test]
fn r4_a_lane_is_never_empty_and_never_long() {
    assert_eq!(lane_of("\"\"").as_deref(), Some("\"\""));
    let longest = "é".repeat(128);
    assert_eq!(lane_of(&format!("\"{longest}\"")), Some(longest.clone()));
    let short = lane_of(&format!("\"{longest}x\"")).unwrap();
    assert_eq!(short.len(), 95 * 2 + 65, "the cut is at a character border");
    assert!(short.starts_with(&format!("{}#", "é".repeat(95))), "{short}");
    assert_ne!(lane_of(&format!("\"{longest}y\"")), Some(short.clone()), "the cut part still counts");
    assert_eq!(lane_of(&format!("\"{longest}\\u0078\"")), Some(short));
}

#[test]
fn r4_an_exponent_costs_its_own_length_at_most() {
    let nines = "9".repeat(500_000);
    let power = format!("1{}", "0".repeat(500_000));
    assert_eq!(lane_of(&format!("10e{nines}")), lane_of(&format!("1e{power}")));
    assert_eq!(lane_of("1e99999999999999999999999").as_deref(), Some("1e99999999999999999999999"));
    assert_eq!(lane_of("\"-0e99999999999999999999999\"").as_deref(), Some("0"));
}

#[test]
fn r5_the_digest_is_of_the_value() {
    let original = digest(r#"{"a":1,"b":[true,null,"x"],"c":{"d":{},"e":[]}}"#);
    assert_eq!(
        digest("{ \"c\": {\"e\" : [ ], \"\\u0064\":{}},\n\"b\":[true , null,\"\\u0078\"], \"a\":10e-1}"),
        original
    );
    let values = [
        "1",
        "\"1\"",
        "true",
        "\"true\"",
        "false",
        "null",
        "\"null\"",
        "\"\"",
        "[]",
        "{}",
        "[[]]",
        "[{}]",
        "[1]",
        "[1,1]",
        "[[1],1]",
        "[1,[1]]",
        "[[1,1]]",
        "\"[]\"",
        "{\"a\":1}",
        "{\"a\":\"1\"}",
        "{\"a\":{}}",
        "{\"1\":\"a\"}",
        "-1",
        "1e1",
        "[\"a\",\"b\"]",
        "[\"ab\"]",
        "[\"\",\"ab\"]",
        "{\"a\":1,\"b\":2}",
        "{\"a\":2,\"b\":1}",
        "{\"a\":{\"b\":2}}",
        "[2,1]",
        "[1,2]",
    ];
    for (i, a) in values.iter().enumerate() {
        for b in &values[..i] {
            let of = |value: &str| digest(&format!("{{\"v\":{value}}}"));
            assert_ne!(of(a), of(b), "{a} {b}");
        }
    }
}

#[test]
fn r5_the_digest_is_the_same_in_every_version() {
    // Computed by another program. It is kept with a key on disk and compared by later servers: a changed encoding would call unchanged args changed.
    let hex: String =
        digest(r#"{"id":4711,"s":"x","l":[1.5,true,null],"o":{}}"#).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hex, "c13de8835c97b0f8cfae2ced76ddb7f20b78e93ee07d4bda7c7cde3715c3d520");
}

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
    let mut exponent = i64::from(exponent) - zeros as i64;
    // Move the point into the digits, or before them.
    let point = choices.of(all.len() + 1);
    exponent += (all.len() - point) as i64;
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
                    out.push_str(&if choices.of(2) == 0 { format!("\\u{unit:04x}") } else { format!("\\u{unit:04X}") });
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
        Value::String(_) => lane_of(&spelled(doc, &[0])),
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
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn damaged_text_never_panics_and_is_judged_as_by_serde_json(
        value in an_object(), style in vec(any::<u8>(), 1..24), damage in vec((any::<Index>(), any::<u8>(), any::<u8>()), 0..4),
    ) {
        agrees_with_the_oracle(&damaged(spelled(&value, &style).into_bytes(), &damage))?;
    }

    #[test]
    fn any_sequence_of_marks_is_judged_as_by_serde_json(
        text in r#"([\[\]{},: ]|"[ab]?"|"\\u[dD][89abcdef]00(\\uDC00)?"|-?[01][.]?[05]?([eE][+-]?[09]{1,3})?|true|null|\\|"|\n|é){0,16}"#,
    ) {
        agrees_with_the_oracle(&text)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

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
        let pointer: String = names.iter().map(|name| format!("/{}", name.replace('~', "~0").replace('/', "~1"))).collect();
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
