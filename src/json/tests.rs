//! The cases by name, and each rule at its bound.

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
fn a_fault_can_be_told_without_the_text() {
    let told = |text: &str| check_args(text).unwrap_err().without_text();
    assert_eq!(told(r#"{"a":secret}"#), "line 1, column 6: expected a value");
    assert_eq!(told(r#"{"secret":1,"secret":2}"#), "a member stands twice in one object, at line 1, column 13");
    assert_eq!(told("5"), "expected one JSON object, found a number");
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
        "member \"doc\" stands twice in one object, at line 1, column 12; expected each name once"
    );
    assert_eq!(
        args_fault(r#"{"doc":"A","\u0064oc":"B"}"#),
        "member \"doc\" stands twice in one object, at line 1, column 12; expected each name once",
        "names are compared unescaped"
    );
    assert_eq!(
        args_fault("{\"x\":[{\n\"\":1, \"\":2}]}"),
        "member \"\" stands twice in one object, at line 2, column 7; expected each name once"
    );
    assert_eq!(
        args_fault(r#"{"b":1,"a":1,"a":2,"b":3,"a":4}"#),
        "member \"a\" stands twice in one object, at line 1, column 14; expected each name once",
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
    for (escape, character) in [
        (r"\ud800\udc00", "\u{10000}"),
        (r"\udbff\udfff", "\u{10ffff}"),
        (r"\ud7ff", "\u{d7ff}"),
        (r"\ue000", "\u{e000}"),
    ] {
        assert_eq!(lane_of(&format!("\"{escape}\"")).as_deref(), Some(character), "{escape}");
    }
    assert!(args_fault(r#"{"a":"\udbff\ue000"}"#).starts_with(r"\udbff is a lone surrogate"));
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
    let args = r#"{"id":4711,"s":"x","l":[1.5,true,null],"o":{}}"#;
    let hex = digest(args).map(|byte| format!("{byte:02x}")).concat();
    assert_eq!(hex, "c13de8835c97b0f8cfae2ced76ddb7f20b78e93ee07d4bda7c7cde3715c3d520");
}

#[test]
fn a_strings_end_and_faults_are_found_wherever_they_stand() {
    for at in 0..200 {
        let (before, after) = ("x".repeat(at), "y".repeat(200 - at));
        assert_eq!(check_result(&format!("\"{before}\\n{after}\"")), Ok(()), "{at}");
        assert_eq!(check_result(&format!("\"{before}é{after}\"")), Ok(()), "{at}");
        for wrong in ["\n", "\"", "\\x"] {
            assert!(check_result(&format!("\"{before}{wrong}{after}\"")).is_err(), "{wrong:?} at {at}");
        }
        assert!(check_result(&format!("\"{before}")).is_err(), "{at}");
    }
}
