//! What fits and what does not.

use super::*;

fn json(text: &str) -> Json {
    Json::parse(text).unwrap()
}

fn names() -> Names {
    Names::new("/g".into(), "u".into())
}

fn fits(expected: &str, came: &str) -> bool {
    check(&json(expected), &json(came), "it", &mut names()).is_ok()
}

fn events(expected: &str, came: &str, order: Order) -> anyhow::Result<Names> {
    let (Json::Array(expected), Json::Array(came)) = (json(expected), json(came)) else { panic!("arrays") };
    let mut names = names();
    check_events(&expected, &came, order, &mut names).map(|()| names)
}

#[test]
fn an_object_has_to_be_contained() {
    assert!(fits(r#"{"a":1}"#, r#"{"b":2,"a":1.0}"#));
    assert!(fits(r#"{"a":{"b":"x"}}"#, r#"{"a":{"b":"x","c":[]}}"#));
    assert!(!fits(r#"{"a":1}"#, r#"{"a":"1"}"#));
    assert!(!fits(r#"{"a":{"b":1}}"#, r#"{"a":[1]}"#));
}

#[test]
fn absent_is_empty() {
    assert!(fits(r#"{"a":0,"b":[],"c":false,"d":null,"e":"","f":{"g":0}}"#, "{}"));
    assert!(fits(r#"{"a":null}"#, r#"{"a":[]}"#));
    assert!(!fits(r#"{"a":0}"#, r#"{"a":1}"#));
    assert!(!fits(r#"{"a":[]}"#, r#"{"a":[0]}"#));
    assert!(!fits(r#"{"a":{"b":1}}"#, "{}"));
}

#[test]
fn arrays_are_as_long() {
    assert!(fits("[1,{}]", r#"[1,{"a":1}]"#));
    assert!(!fits("[1]", "[1,2]"));
    assert!(!fits("[1,2]", "[2,1]"));
}

#[test]
fn words_stand_for_many_values() {
    assert!(fits(r#"{"a":"$any","b":{"$contains":"ell"}}"#, r#"{"a":[1],"b":"hello"}"#));
    assert!(!fits(r#"{"a":"$any"}"#, "{}"));
    assert!(!fits(r#"{"a":{"$contains":"x"}}"#, r#"{"a":"hello"}"#));
    assert!(!fits(r#"{"a":{"$contains":"x"}}"#, "{}"));
}

#[test]
fn a_json_text_is_the_same_but_for_blanks() {
    assert!(fits(r#"{"$json":"{\"a\": 1.10, \"b\": []}"}"#, r#""{\"a\":1.10,\"b\":[]}""#));
    assert!(!fits(r#"{"$json":"{\"a\":1.10}"}"#, r#""{\"a\":1.1}""#));
    assert!(!fits(r#"{"$json":"{\"a\":1,\"b\":2}"}"#, r#""{\"b\":2,\"a\":1}""#));
    assert!(!fits(r#"{"$json":"1"}"#, r#""no json""#));
}

#[test]
fn what_is_bound_has_to_come_again() {
    let expected = r#"[{"step":"$bind:s"},{"step":"${s}"}]"#;
    assert!(fits(expected, r#"[{"step":"a"},{"step":"a"}]"#));
    assert!(!fits(expected, r#"[{"step":"a"},{"step":"b"}]"#));
    assert!(!fits(r#"[{"step":"$bind:s"}]"#, "[{}]"));
}

#[test]
fn an_error_says_what_was_expected_what_came_and_where() {
    let error = check(&json(r#"{"a":[{"b":1}]}"#), &json(r#"{"a":[{"b":2}]}"#), "end", &mut names()).unwrap_err();
    assert_eq!(error.to_string(), "end.a[0].b: expected 1, came 2");
}

#[test]
fn events_come_in_their_order() {
    let order = Order::default();
    assert!(events(r#"[{"k":1},{"k":2}]"#, r#"[{"k":1},{"k":2}]"#, order).is_ok());
    let error = |expected, came| events(expected, came, order).unwrap_err().to_string();
    assert_eq!(error(r#"[{"k":1},{"k":2}]"#, r#"[{"k":2},{"k":1}]"#), "events[0].k: expected 1, came 2");
    assert_eq!(error(r#"[{"k":1},{"k":2}]"#, r#"[{"k":1}]"#), r#"events[1]: expected {"k":2}, came no more"#);
    assert_eq!(error("[]", r#"[{"k":1}]"#), r#"events[0]: expected no more, came {"k":1}"#);
}

#[test]
fn events_in_any_order_have_a_place_each() {
    let order = Order { any: true, some: false };
    // The first fits both: only the second place leaves one for the other.
    assert!(events(r#"[{"k":"$any"},{"k":1}]"#, r#"[{"k":1},{"k":2}]"#, order).is_ok());
    assert!(events(r#"[{"k":1},{"k":1}]"#, r#"[{"k":1},{"k":2}]"#, order).is_err());
    assert!(events(r#"[{"k":1}]"#, r#"[{"k":1},{"k":2}]"#, order).is_err());
    // What is bound at one place holds at the other.
    let came = r#"[{"s":"a","n":1},{"s":"b","n":2},{"s":"b"}]"#;
    let names = events(r#"[{"s":"$bind:s","n":"$any"},{"s":"${s}"},{"n":1}]"#, came, order).unwrap();
    assert_eq!(names.fill_text("${s}"), Json::Text("b".into()));
}

#[test]
fn some_events_leave_room_for_others() {
    let order = Order { any: false, some: true };
    assert!(events(r#"[{"k":1},{"k":3}]"#, r#"[{"k":0},{"k":1},{"k":2},{"k":3},{"k":4}]"#, order).is_ok());
    let error = events(r#"[{"k":3},{"k":1}]"#, r#"[{"k":1},{"k":3}]"#, order).unwrap_err().to_string();
    assert_eq!(error, r#"events: expected[1] does not come after those before it: {"k":1}"#);
    let both = Order { any: true, some: true };
    assert!(events(r#"[{"k":3},{"k":1}]"#, r#"[{"k":1},{"k":2},{"k":3}]"#, both).is_ok());
}

#[test]
fn a_search_ends() {
    let (expected, came) = (vec![r#"{"k":"$any"}"#; 30].join(","), vec![r#"{"k":1}"#; 30].join(","));
    let order = Order { any: true, some: false };
    assert!(events(&format!("[{expected},{{\"j\":1}}]"), &format!("[{came},{{}}]"), order).is_err());
}
