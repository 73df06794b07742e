//! What sets a variable.

use super::*;
use crate::proto::SetVariableRequest;

fn set(name: &str, value_json: &str) -> SetVariableRequest {
    SetVariableRequest { task_id: "T".to_owned(), name: name.to_owned(), value_json: value_json.to_owned() }
}

fn faults(request: SetVariableRequest) -> Vec<String> {
    let refusal = check_variable(request).unwrap_err();
    refusal.violations().map(|violation| format!("{}: {}", violation.field, violation.description)).collect()
}

#[test]
fn names_are_those_that_references_have() {
    for name in ["VAR_1", "_", "a", "Z9", &"x".repeat(256)] {
        assert_eq!(check_variable(set(name, "1")).unwrap().name.as_deref(), Some(name));
    }
    assert_eq!(check_variable(set("", "1")).unwrap().name, None);
    for name in ["1", "9a", "VAR-1", "a b", "é", "${a}", "a.b", "a\n", " "] {
        let fault =
            format!("name: {} arrived; expected A to Z, a to z, digits and _, no digit first", json::quote(name));
        assert!(faults(set(name, "1"))[0].starts_with(&fault), "{name:?}");
    }
    assert!(faults(set(&"x".repeat(257), "1"))[0].starts_with("name: 257 bytes arrived: \"xxx"));
}

#[test]
fn a_value_is_any_json_that_arguments_could_hold() {
    for value in ["null", " 1.10 ", r#""x""#, "[1e999]", "[]", r#"{"a":[{}]}"#, &("[".repeat(100) + &"]".repeat(100))] {
        assert_eq!(check_variable(set("a", value)).unwrap().value, value, "byte for byte");
    }
    for (value, told) in [
        ("", "expected a value, found the end of the text"),
        ("{", "expected a member name in quotes"),
        ("1 2", "expected the end of the text"),
        (r#"[{"a":1,"\u0061":2}]"#, "member \"a\" stands twice in one object"),
        (r#""\ud800""#, "is a lone surrogate"),
        (&("[".repeat(101) + &"]".repeat(101)), "more than 100 levels"),
    ] {
        let fault = &faults(set("a", value))[0];
        assert!(
            fault.starts_with("value_json: ") && fault.contains(told) && fault.ends_with("expected one JSON value"),
            "{fault}"
        );
    }
    let sized = |bytes: usize| set("a", &format!("\"{}\"", "x".repeat(bytes - 2)));
    assert_eq!(check_variable(sized(MAX_VALUE_BYTES)).unwrap().value.len(), MAX_VALUE_BYTES);
    let large = "value_json: 16777217 bytes arrived; expected at most 16777216 (16 MiB)";
    assert_eq!(faults(sized(MAX_VALUE_BYTES + 1)), [large]);
}

#[test]
fn all_that_is_wrong_is_told_at_once() {
    let all = faults(SetVariableRequest { task_id: "T".repeat(257), name: "1".to_owned(), value_json: "x".to_owned() });
    let fields: Vec<_> = all.iter().map(|fault| fault.split_once(": ").unwrap().0).collect();
    assert_eq!(fields, ["task_id", "name", "value_json"]);
    assert!(faults(SetVariableRequest::default())[0].starts_with("task_id: nothing arrived"));
}
