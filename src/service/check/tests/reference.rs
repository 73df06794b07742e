//! R2: a list by reference.

use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::Value;

use super::{super::reference::Reference, *};
use crate::fuzz::at_least;

const LIST: &str = r#"[{"tool":"a","args":{"n":1.10},"key":"k"},{"tool":"b"}]"#;

fn output(value: &str) -> Output {
    Output { value: Some(value.to_owned()), others: Vec::new() }
}

fn by_reference(text: &str) -> ExecuteBatchRequest {
    ExecuteBatchRequest { source: Some(Source::CallsRef(text.to_owned())), ..one_call() }
}

/// What a reference is refused with, each violation with its field.
fn refused_with(text: &str, output: &Output) -> Vec<String> {
    let refusal = check_with_output(&by_reference(text), output).unwrap_err();
    refusal.violations().map(|violation| format!("{}: {}", violation.field, violation.description)).collect()
}

/// The one thing that a reference is refused with.
fn refusal_of(text: &str, output: &Output) -> String {
    let all = refused_with(text, output);
    assert_eq!(all.len(), 1, "{all:?}");
    all[0].clone()
}

#[test]
fn a_reference_to_nothing_names_the_output_and_those_that_are_there() {
    for text in ["${VAR_3}", "${VAR_3}.calls", "${VAR_3}[2].größe-1[0]", "${VAR_3}.$"] {
        let missing = format!(
            "calls_ref: \"{text}\": missing step output VAR_3; expected the name of an output that this task has"
        );
        assert_eq!(refusal_of(text, &Output::default()), format!("{missing}: it has none"));
        let others = ["VAR_1", "VAR_2"].map(str::to_owned).to_vec();
        assert_eq!(refusal_of(text, &Output { value: None, others }), format!("{missing}: such as VAR_1, VAR_2"));
    }
}

#[test]
fn what_is_no_reference_alone_is_refused() {
    let with_ref = |text: &str| refusal_of(text, &output(LIST));
    for text in [
        "run ${VAR_1}",
        "${VAR_1}.calls now",
        "${VAR_1}[x]",
        "${VAR_1}[]",
        "${VAR_1}[-1]",
        "${VAR_1}[1",
        "${VAR_1}..a",
        "${VAR_1}.",
        " ${VAR_1}",
        "${VAR_1}.calls ",
        "${VAR_1}${VAR_2}",
        "\"${VAR_1}\"",
    ] {
        let refused = with_ref(text);
        let larger = format!("calls_ref: {text:?} holds a reference inside a larger text");
        assert!(refused.starts_with(&larger) && refused.contains("${VAR_1}.calls"), "{refused}");
    }
    for text in ["VAR_1", "${1VAR}", "${}", "${VAR-1}", "${VÄR}", "${VAR_1", "[{\"tool\":1}]", "$VAR_1", " ", LIST] {
        let refused = with_ref(text);
        assert!(refused.contains(" is no reference; expected one reference and nothing else"), "{refused}");
        assert_eq!(refused.contains("not as its text"), text.starts_with(['[', '{']), "{refused}");
    }
    assert!(with_ref("").contains("there is no list to run"));
    assert!(refusal_of(&format!("${{{}}}", "V".repeat(1 << 20)), &Output::default()).len() < 400);
}

#[test]
fn an_accessor_that_leads_nowhere_is_told_what_is_there() {
    let there = output(r#"{"calls":[{"tool":"a"}],"plan":{"name":"x","none":[],"o":{}}}"#);
    for (text, told) in [
        ("${V}.cals", "${V} is an object without this field; expected one of \"calls\", \"plan\""),
        ("${V}.plan.calls", "${V}.plan is an object without this field; expected one of \"name\", \"none\", \"o\""),
        ("${V}.plan.o.x", "${V}.plan.o is an empty object; expected an array"),
        ("${V}.calls[1]", "${V}.calls is an array of 1; expected an index from [0] to [0], or no more than ${V}.calls"),
        ("${V}.calls.tool", "${V}.calls is an array of 1; expected an index"),
        ("${V}.calls[99999999999999999999999]", "${V}.calls is an array of 1; expected an index"),
        ("${V}.plan.none[0]", "${V}.plan.none is an empty array; expected an array"),
        ("${V}[0]", "${V} is an object, which has no element; expected a field"),
        ("${V}.plan.name.x", "${V}.plan.name is a string, which holds nothing further; expected an array"),
    ] {
        let refused = refusal_of(text, &there);
        assert!(refused.starts_with(&format!("calls_ref: {text:?} leads nowhere: {told}")), "{refused}");
    }
}

#[test]
fn what_is_no_list_is_told_where_one_is() {
    for (value, text, told) in [
        (r#"{"calls":[]}"#, "${V}", "an object, whose field calls holds a list; expected the list: ${V}.calls"),
        (r#"{"r":{"deep":[1]}}"#, "${V}", "an object, whose field r.deep holds a list; expected the list: ${V}.r.deep"),
        (
            r#"{"r":{"deep":[]},"a":[],"b c":[],"b":[]}"#,
            "${V}",
            "an object, whose fields a, b, r.deep hold lists; expected one of these: ${V}.a, ${V}.b, ${V}.r.deep",
        ),
        (
            r#"{"calls":[{"tool":"a"}]}"#,
            "${V}.calls[0]",
            "an object, one element of a list; expected the list: ${V}.calls",
        ),
        (r#"{"a":{"b":1}}"#, "${V}.a", "an object, in which no field holds a list; expected an array of {"),
        (r#""[{\"tool\":\"effect\"}]""#, "${V}", "a string; expected an array of {"),
        ("7", "${V}", "a number; expected an array of {"),
        ("null", "${V}", "null; expected an array of {"),
        ("true", "${V}", "a boolean; expected an array of {"),
    ] {
        let refused = refusal_of(text, &output(value));
        assert!(refused.starts_with(&format!("calls_ref: {text:?} leads to {told}")), "{refused}");
    }
    assert!(
        refusal_of("${V}", &output("\"[]\""))
            .ends_with("text is not parsed: let the output be the list itself, not its text")
    );
}

#[test]
fn a_list_is_taken_over_byte_for_byte() {
    let args = r#"{ "z" : 1.10, "a":[1e400,-0.0,"\u00e9\/"],"b":{} }"#;
    let value =
        format!(r#"{{"r":[null,{{"calls": [ {{"args":{args},"tool":"t\u00e9"}},{{"tool":"u","key":null}} ]}}]}}"#);
    let spec = check_with_output(&by_reference("${V}.r[1].calls"), &output(&value)).unwrap();
    let calls: Vec<_> = spec.calls.iter().map(|call| (&*call.tool, &*call.args, call.key.as_deref())).collect();
    assert_eq!(calls, [("té", args, None), ("u", "{}", None)]);
    assert_eq!(spec.content_digest, content_digest(&by_reference("${V}.r[1].calls")), "a reference counts as text");
}

#[test]
fn a_list_found_elsewhere_is_checked_under_its_own_name() {
    let request = ExecuteBatchRequest {
        options: Some(BatchOptions { mode: 9, ..BatchOptions::default() }),
        ..by_reference("${V}")
    };
    let fields = |value: &str| -> Vec<String> {
        let refusal = check_with_output(&request, &output(value)).unwrap_err();
        refusal.violations().map(|violation| violation.field.clone()).collect()
    };
    let twice = r#"[{"tool":"","key":"k"},{"tool":"a","args":{"a":1,"a":2},"key":"k"}]"#;
    let of_calls = ["calls_ref[0].tool", "calls_ref[1].args_json", "calls_ref[1].key"];
    assert_eq!(fields(twice), [&of_calls[..], &["options.mode"]].concat());
    let shapeless = r#"[{"name":"a","args":"{}"},5,{"tool":"a","args":null}]"#;
    let of_shape = ["calls_ref[0].name", "calls_ref[0].tool", "calls_ref[0].args", "calls_ref[1]", "calls_ref[2].args"];
    assert_eq!(fields(shapeless), [&of_shape[..], &["options.mode"]].concat());
    assert_eq!(fields("[]"), ["calls_ref", "options.mode"]);
    assert_eq!(fields("7"), ["calls_ref", "options.mode"]);
}

#[test]
fn a_list_by_reference_has_1_to_200_calls() {
    let list = |calls: usize| output(&format!("[{}]", vec![r#"{"tool":"a"}"#; calls].join(",")));
    assert_eq!(check_with_output(&by_reference("${V}"), &list(200)).unwrap().calls.len(), 200);
    assert_eq!(refusal_of("${V}", &list(0)), "calls_ref: 0 calls arrived; expected 1 to 200");
    assert_eq!(refusal_of("${V}", &list(201)), "calls_ref: expected at most 200 calls, found 201; split the list");
    let faulty = output(&format!("[{}]", vec!["1"; 100].join(",")));
    assert_eq!(refused_with("${V}", &faulty).last().unwrap(), "calls_ref: and 50 more");
}

/// A value of few names, so that accessors often lead somewhere.
fn a_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a${}\\[.]{0,3}".prop_map(Value::from)
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let names = select(vec!["a", "b", "tool", "args", "key", "größe"]).prop_map(str::to_owned);
        let call = ("[a-c]{0,2}", inner.clone())
            .prop_map(|(tool, args)| serde_json::json!({"tool": tool, "args": {"a": args}}));
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec(call, 1..3).prop_map(Value::from),
            proptest::collection::btree_map(names, inner, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// The value that accessors lead to, by a reader of its own.
fn led_to<'a>(value: &'a Value, steps: &[Result<&str, usize>]) -> Option<&'a Value> {
    steps.iter().try_fold(value, |value, step| match step {
        Ok(name) => value.as_object()?.get(*name),
        Err(index) => value.as_array()?.get(*index),
    })
}

/// Each refusal of R2 says exactly one of these.
const REFUSALS: [&str; 6] = [
    "there is no list to run",
    "inside a larger text",
    " is no reference;",
    ": missing step output ",
    " leads nowhere: ",
    " leads to ",
];

fn said(violations: &[String]) -> Vec<&'static str> {
    let says = |mark: &&str| {
        violations.iter().any(|violation| violation.starts_with("calls_ref: ") && violation.contains(*mark))
    };
    REFUSALS.into_iter().filter(says).collect()
}

proptest! {
    #![proptest_config(at_least(20_000))]

    #[test]
    fn any_text_is_one_refusal_or_leads_to_a_list(
        text in prop_oneof!["\\PC{0,12}", "([$][{]|[A_9é]|[}]|[.]|\\[|\\]|[0-9]| |calls){0,9}", any::<String>()], there in any::<bool>(),
    ) {
        let output = if there { output(LIST) } else { Output::default() };
        if let Ok(reference) = Reference::parse(&text) {
            // Nothing of a text that is taken for a reference is passed over, but outer zeros of an index.
            prop_assert!(reference.to_string() == text || text.contains("[0"), "{text:?}");
        }
        if let Ok(spec) = check_with_output(&by_reference(&text), &output) {
            prop_assert!(spec.calls.len() == 2 && there && text.starts_with("${") && text.ends_with('}'), "{text:?}");
            return Ok(());
        }
        let all = refused_with(&text, &output);
        // A text from outside stands in the message, and may hold the words that another refusal says.
        prop_assert!(all.len() == 1 && !said(&all).is_empty(), "{text:?}: {all:?}");
    }

}

proptest! {
    #![proptest_config(at_least(4_000))]

    #[test]
    fn a_reference_leads_where_another_reader_finds_it(
        value in a_value(), steps in vec(prop_oneof![3 => select(vec!["a", "b", "args", "größe"]).prop_map(Ok), 1 => (0_usize..3).prop_map(Err)], 0..4),
        name in "[A-Za-z_][A-Za-z0-9_]{0,9}",
    ) {
        let accessors = steps.iter().map(|step| match step { Ok(name) => format!(".{name}"), Err(index) => format!("[{index}]") });
        let text = format!("${{{name}}}{}", accessors.collect::<String>());
        prop_assert_eq!(named_output(&text), Some(name.as_str()));
        let found = led_to(&value, &steps);
        let output = output(&value.to_string());
        let Ok(spec) = check_with_output(&by_reference(&text), &output) else {
            let all = refused_with(&text, &output);
            match found {
                None => prop_assert_eq!(said(&all), [" leads nowhere: "]),
                Some(Value::Array(_)) => prop_assert!(said(&all).is_empty(), "{:?}", all),
                Some(_) => prop_assert_eq!(said(&all), [" leads to "]),
            }
            return Ok(());
        };
        let list = found.and_then(Value::as_array).expect("only a list is run");
        prop_assert_eq!(spec.calls.len(), list.len());
        for (call, listed) in spec.calls.iter().zip(list) {
            prop_assert_eq!(Some(&*call.tool), listed["tool"].as_str());
            let args = listed.get("args").map_or("{}".to_owned(), Value::to_string);
            prop_assert_eq!(&*call.args, args.as_str());
        }
    }
}
