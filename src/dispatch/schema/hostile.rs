//! Schemas and arguments that are made to cost time or memory. Each test names the row of SECURITY.md that it stands for; where a
//! bound is gone, it takes minutes instead of milliseconds.

use super::{
    MAX_SCHEMA_BYTES, Schema,
    tests::{checked, fault},
};

/// `count` of one text, told apart by their number.
fn each(count: usize, text: impl Fn(usize) -> String) -> String {
    (0..count).map(text).collect::<Vec<_>>().join(",")
}

#[test]
fn row_schema_bounds_hold_exactly() {
    let bytes = |bytes: usize| format!("{{\"title\":\"{}\"}}", "x".repeat(bytes - 12));
    let levels = |levels: usize| format!("{}true{}", "{\"not\":".repeat(levels - 1), "}".repeat(levels - 1));
    // The whole, the array, and each value in it.
    let values = |values: usize| format!("{{\"enum\":[{}]}}", each(values - 2, |n| n.to_string()));
    for largest in [bytes(MAX_SCHEMA_BYTES), levels(64), values(10_000)] {
        assert!(matches!(Schema::compile(&largest), Schema::Compiled(_)), "{} bytes", largest.len());
    }
    assert!(fault(&bytes(MAX_SCHEMA_BYTES + 1)).contains("65537 bytes long; expected at most 65536"));
    assert!(fault(&levels(65)).contains("more than 64 levels deep"));
    assert!(fault(&values(10_001)).contains("more than 10000 values"));
}

#[test]
fn row_references_out_of_the_schema_are_refused() {
    for target in [
        "http://127.0.0.1:1/x.json",
        "https://example.com/x.json#/a",
        "file:///etc/passwd",
        "../x.json",
        "//host/x",
        "urn:x:y",
        "ftp://h/x",
        "data:application/json,{}",
    ] {
        for schema in [
            format!(r#"{{"$ref":"{target}"}}"#),
            format!(r#"{{"properties":{{"a":{{"items":{{"$ref":"{target}"}}}}}}}}"#),
            format!(r#"{{"$schema":"{target}"}}"#),
            format!(r#"{{"$id":"http://127.0.0.1:1/","$ref":"{target}"}}"#),
        ] {
            assert!(!fault(&schema).is_empty(), "{schema}");
        }
    }
}

#[test]
fn row_a_pattern_matches_in_time_linear_in_the_text() {
    for pattern in ["^(a+)+$", "^(a|a)*$", "^(a|aa)+$", "^(.*a){20}$", "([a-z]+)*\\\\d"] {
        let schema = format!(r#"{{"additionalProperties":{{"pattern":"{pattern}"}}}}"#);
        let args = format!(r#"{{"a":"{}!"}}"#, "a".repeat(20_000));
        assert!(checked(&schema, &args).is_err(), "{pattern}");
        let names = format!(r#"{{"patternProperties":{{"{pattern}":false}}}}"#);
        assert_eq!(checked(&names, &format!(r#"{{"{}!":1}}"#, "a".repeat(20_000))), Ok(()), "{pattern}");
    }
    for pattern in ["(?=a)a", "(?<!a)b", r"(a)\\1", "((((a{100}){100}){100}){100})"] {
        assert!(!fault(&format!(r#"{{"pattern":"{pattern}"}}"#)).is_empty(), "{pattern}");
    }
}

#[test]
fn row_a_pattern_of_escapes_is_refused_before_it_is_read() {
    let schema = |count: usize| format!(r#"{{"pattern":"{}"}}"#, r"\\cA".repeat(count));
    assert!(matches!(Schema::compile(&schema(16)), Schema::Compiled(_)));
    for count in [16_000, 17] {
        assert!(fault(&schema(count)).contains("more than 16 escapes"), "{count}");
    }
}

#[test]
fn row_all_patterns_of_a_schema_share_one_bound() {
    let schema = |count: usize| {
        let patterns = each(count, |n| format!(r#""{n}":{{"pattern":"x{n}(\\p{{L}}{{30}}y)+"}}"#));
        format!(r#"{{"properties":{{{patterns}}}}}"#)
    };
    assert!(matches!(Schema::compile(&schema(2)), Schema::Compiled(_)));
    assert!(fault(&schema(1_200)).contains("{L}{30}y)+"));
}

#[test]
fn row_a_format_never_costs_more_than_the_texts_length() {
    const FORMATS: &str = "regex date date-time time duration email idn-email hostname idn-hostname ipv4 ipv6 uri uri-reference iri \
        iri-reference uri-template json-pointer relative-json-pointer uuid";
    let named_groups = (0..60_000).map(|n| format!("(?<a{n}>)")).collect::<Vec<_>>().concat();
    let texts = ["a", "a.", "xn--", "%41", "/~0", ":", "(", "{a}", "é.", "@", "-", "1"].map(|text| text.repeat(30_000));
    let taken =
        checked(r#"{"$schema":"http://json-schema.org/draft-07/schema#","items":{"format":"regex"}}"#, r#"["("]"#);
    assert_eq!(taken, Ok(()), "whether it is a regular expression, the tool finds out");
    for format in FORMATS.split_whitespace() {
        let draft = "http://json-schema.org/draft-07/schema#";
        let schema = format!(r#"{{"$schema":"{draft}","properties":{{"a":{{"format":"{format}"}}}}}}"#);
        for text in texts.iter().chain([&named_groups]) {
            if let Err(fault) = checked(&schema, &format!(r#"{{"a":"{text}"}}"#)) {
                assert!(fault.len() < 1_300, "{fault}");
            }
        }
    }
}
