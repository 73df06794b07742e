use serde_json::{Value, json};

use super::*;
use crate::{
    batch_json::{Dialect, read, read_invocations},
    service::check,
};

fn schema(tool: &Tool) -> jsonschema::Validator {
    let schema: Value = serde_json::from_str(&tool.input_schema_json).unwrap();
    assert_eq!(schema["type"], "object", "the APIs of models want it so");
    assert!(["oneOf", "anyOf", "allOf"].iter().all(|word| schema.get(word).is_none()), "nor these at the top");
    jsonschema::draft202012::meta::validate(&schema).unwrap();
    jsonschema::validator_for(&schema).unwrap()
}

/// Whether the server would run it.
fn is_taken(tool: &Tool, args: &Value) -> bool {
    let text = args.to_string();
    let draft = if tool.name == EXECUTE_TOOL_BATCH { read(&text, Dialect::Model) } else { read_invocations(&text) };
    let draft = draft.unwrap();
    let request = crate::proto::ExecuteBatchRequest { task_id: "T".into(), ..draft.request };
    let by_reference = request.source.as_ref().is_some_and(|source| {
        let crate::proto::execute_batch_request::Source::CallsRef(text) = source else { return false };
        check::named_output(text).is_some()
    });
    draft.problems.is_empty() && (by_reference || check::check(&request).is_ok())
}

fn call() -> Value {
    json!({"tool": "t", "args": {"a": [1, null]}, "key": "k"})
}

#[test]
fn what_is_accepted_fits_the_schema() {
    let [execute, invocations] = batch_tools();
    for args in [
        json!({"calls": [call()]}),
        json!({"calls": [{"tool": "t"}, {"tool": "t", "key": ""}]}),
        json!({"calls": vec![json!({"tool": "t"}); 200]}),
        json!({"calls": "${VAR_1}.calls"}),
        json!({"calls": "${_x}[2].a-b.中"}),
        json!({"calls": [call()], "mode": "sequential", "max_concurrency": 0}),
        json!({"calls": [call()], "mode": "parallel", "max_concurrency": 16, "serialize_on": "/a~1b/c"}),
        json!({"calls": [call()], "stop_on_error": false, "include_results": false}),
    ] {
        assert!(is_taken(&execute, &args), "{args}");
        assert!(schema(&execute).is_valid(&args), "{args}");
    }
    for args in [
        json!({"invocations": [{"name": "t"}]}),
        json!({"invocations": [{"name": "t", "arguments": ""}, {"name": "t", "arguments": "{\"a\": 1}"}]}),
        json!({"invocations": [{"name": "t", "arguments": {"a": 1}}]}),
    ] {
        assert!(is_taken(&invocations, &args), "{args}");
        assert!(schema(&invocations).is_valid(&args), "{args}");
    }
}

#[test]
fn what_is_refused_does_not() {
    let [execute, invocations] = batch_tools();
    for args in [
        json!({}),
        json!([]),
        json!({"calls": []}),
        json!({"calls": null}),
        json!({"calls": vec![json!({"tool": "t"}); 201]}),
        json!({"calls": "[{\"tool\": \"t\"}]"}),
        json!({"calls": "run ${VAR_1}.calls"}),
        json!({"calls": "${VAR_1}.calls "}),
        json!({"calls": "${1}"}),
        json!({"calls": ""}),
        json!({"calls": ["t"]}),
        json!({"calls": [{"args": {}}]}),
        json!({"calls": [{"tool": ""}]}),
        json!({"calls": [{"tool": "t".repeat(257)}]}),
        json!({"calls": [{"tool": "t", "key": "k".repeat(513)}]}),
        json!({"calls": [{"tool": "t", "args": "{}"}]}),
        json!({"calls": [{"tool": "t", "args": null}]}),
        json!({"calls": [{"tool": "t", "args": []}]}),
        json!({"calls": [{"tool": "t", "arguments": {}}]}),
        json!({"calls": [{"tool": "t", "mode": "parallel"}]}),
        json!({"calls": [call()], "mode": "PARALLEL"}),
        json!({"calls": [call()], "max_concurrency": 17}),
        json!({"calls": [call()], "max_concurrency": "4"}),
        json!({"calls": [call()], "max_concurrency": 1.5}),
        json!({"calls": [call()], "mode": "parallel", "serialize_on": ["a"]}),
        json!({"calls": [call()], "stop_on_error": "false"}),
        json!({"calls": [call()], "options": {"mode": "parallel"}}),
        json!({"calls": [call()], "call_timeout": "5m"}),
    ] {
        assert!(!is_taken(&execute, &args), "{args}");
        assert!(!schema(&execute).is_valid(&args), "{args}");
    }
    for args in [
        json!({}),
        json!({"invocations": []}),
        json!({"invocations": {}}),
        json!({"invocations": [{"arguments": "{}"}]}),
        json!({"invocations": [{"name": "t", "arguments": null}]}),
        json!({"invocations": [{"name": "t", "arguments": 5}]}),
        json!({"invocations": [{"name": "t", "arguments": []}]}),
        json!({"invocations": [{"tool": "t", "args": {}}]}),
        json!({"invocations": [{"name": "t"}], "mode": "parallel"}),
    ] {
        assert!(!is_taken(&invocations, &args), "{args}");
        assert!(!schema(&invocations).is_valid(&args), "{args}");
    }
}

#[test]
fn a_compact_schema_says_the_same() {
    for (tool, text) in batch_tools().iter().zip([EXECUTE_SCHEMA, INVOCATIONS_SCHEMA]) {
        let (short, long): (Value, Value) =
            (serde_json::from_str(&tool.input_schema_json).unwrap(), serde_json::from_str(text).unwrap());
        assert_eq!(short, long);
        assert!(!tool.input_schema_json.contains(['\n', '\t']));
    }
    assert_eq!(compact(" { \"a \\\" \\\\\" : [ 1 , \" \" ] }\n"), "{\"a \\\" \\\\\":[1,\" \"]}");
}

/// A longer one is refused by OpenAI's older models.
#[test]
fn descriptions_are_short_enough_for_every_api() {
    for tool in batch_tools() {
        assert!((100..=1_024).contains(&tool.description.chars().count()), "{}", tool.description);
    }
}
