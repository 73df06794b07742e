use super::*;

fn parsed(text: &str) -> ExecuteBatchRequest {
    parse(text, Dialect::File).unwrap()
}

fn calls(request: &ExecuteBatchRequest) -> &[ToolCall] {
    match request.source.as_ref().unwrap() {
        Source::CallList(list) => &list.calls,
        Source::CallsRef(reference) => panic!("a reference: {reference}"),
    }
}

fn message(text: &str) -> String {
    parse(text, Dialect::File).unwrap_err().to_string()
}

#[test]
fn every_field_arrives() {
    let request = parsed(
        r#"{"calls": [{"tool": "t", "args": {"a": 1}, "key": "k"}], "mode": "parallel", "max_concurrency": 3,
            "serialize_on": "a.b", "stop_on_error": false, "include_results": false, "call_timeout": "1500ms",
            "retry": {"max_attempts": 3, "initial_backoff": "2s", "max_backoff": "1m", "backoff_multiplier": 1.5},
            "in_doubt": "lookup"}"#,
    );
    let duration = |seconds, nanos| Some(prost_types::Duration { seconds, nanos });
    assert_eq!(
        request,
        ExecuteBatchRequest {
            source: Some(Source::CallList(CallList {
                calls: vec![ToolCall { tool: "t".into(), args_json: "{\"a\": 1}".into(), key: "k".into() }]
            })),
            options: Some(BatchOptions {
                mode: BatchMode::Parallel.into(),
                max_concurrency: 3,
                serialize_on: "a.b".into(),
                stop_on_error: Some(false),
                include_results: Some(false),
                call_timeout: duration(1, 500_000_000),
                retry: Some(RetryPolicy {
                    max_attempts: 3,
                    initial_backoff: duration(2, 0),
                    max_backoff: duration(60, 0),
                    backoff_multiplier: 1.5,
                }),
                in_doubt: InDoubtPolicy::Lookup.into(),
            }),
            ..ExecuteBatchRequest::default()
        }
    );
}

#[test]
fn args_keep_every_byte() {
    for args in [
        r#"{"a": 1.10,  "b":1e400}"#,
        "{ \"z\" :\t1,\n\"a\":\"\\u0041\\/é\", \"n\": 12345678901234567890123456789.0e-3 }",
        r#"{"same":1,"same":2}"#,
        r#"{"s":"\ud800"}"#,
    ] {
        let request = parsed(&format!(r#"{{"calls":[ {{"tool":"t","args": {args} }} ]}}"#));
        assert_eq!(calls(&request)[0].args_json, args);
    }
}

#[test]
fn absent_args_are_an_empty_object_and_null_options_are_absent() {
    let request = parsed(
        r#"{"calls":[{"tool":"t"},{"tool":"t","key":null}],"mode":null,"max_concurrency":null,"serialize_on":null,
            "stop_on_error":null,"include_results":null,"call_timeout":null,"retry":null,"in_doubt":null}"#,
    );
    let call = ToolCall { tool: "t".into(), args_json: "{}".into(), key: String::new() };
    assert_eq!(calls(&request), [call.clone(), call]);
    assert_eq!(request.options, Some(BatchOptions::default()));
}

#[test]
fn a_string_in_place_of_the_list_is_a_reference() {
    for reference in ["${VAR_1}.calls", "run ${VAR_1}", ""] {
        let request = parsed(&format!(r#"{{"calls":"{reference}"}}"#));
        assert_eq!(request.source, Some(Source::CallsRef(reference.into())));
    }
}

#[test]
fn whole_numbers_may_be_written_as_any_number() {
    for text in ["4", "4.0", "4e0", "0.4e1"] {
        assert_eq!(parsed(&format!(r#"{{"calls":[],"max_concurrency":{text}}}"#)).options.unwrap().max_concurrency, 4);
    }
}

#[test]
fn each_wrong_type_of_a_call_is_named_with_what_came() {
    let cases = [
        (r"[]", r#"the batch: expected an object with "calls", found an array"#),
        (
            r"{}",
            r#"calls: missing: expected an array of {"tool", "args", "key"} objects, or a reference such as "${VAR_1}.calls""#,
        ),
        (
            r#"{"calls":null}"#,
            r#"calls: expected an array of {"tool", "args", "key"} objects, or a reference such as "${VAR_1}.calls", found null"#,
        ),
        (r#"{"calls":["t"]}"#, r#"calls[0]: expected an object {"tool", "args", "key"}, found the string "t""#),
        (r#"{"calls":[{}]}"#, "calls[0].tool: missing: expected a tool's name as a string"),
        (r#"{"calls":[{"tool":5}]}"#, "calls[0].tool: expected a tool's name as a string, found the number 5"),
        (r#"{"calls":[{"tool":"t","key":7}]}"#, "calls[0].key: expected a string, found the number 7"),
        (
            r#"{"calls":[{"tool":"t","args":"{\"a\":1}"}]}"#,
            r#"calls[0].args: expected an object, found the string "{\"a\":1}"; write the object itself, not its text"#,
        ),
        (
            r#"{"calls":[{"tool":"t","args":""}]}"#,
            r#"calls[0].args: expected an object, found the string ""; write the object itself, not its text"#,
        ),
        (r#"{"calls":[{"tool":"t","args":null}]}"#, "calls[0].args: expected an object, found null"),
        (r#"{"calls":[{"tool":"t","args":[1]}]}"#, "calls[0].args: expected an object, found an array"),
        (r#"{"calls":[{"tool":"t","args":5}]}"#, "calls[0].args: expected an object, found the number 5"),
        (
            r#"{"calls":[{"tool":"\ud800"}]}"#,
            r#"calls[0].tool: the string "\ud800" holds a lone surrogate (\ud800 to \udfff)"#,
        ),
        (
            r#"{"calls":[{"tool":"t","\ud800":1}]}"#,
            r"calls[0]: a member's name holds a lone surrogate (\ud800 to \udfff)",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(message(text), expected, "for {text}");
    }
}

#[test]
fn each_wrong_type_of_an_option_is_named_with_what_came() {
    let cases = [
        (
            r#"{"calls":[],"mode":"paralel"}"#,
            r#"mode: expected "sequential" or "parallel", found the string "paralel"; did you mean "parallel"?"#,
        ),
        (r#"{"calls":[],"mode":1}"#, r#"mode: expected "sequential" or "parallel", found the number 1"#),
        (
            r#"{"calls":[],"max_concurrency":"4"}"#,
            r#"max_concurrency: expected a whole number from 0 to 16, found the string "4""#,
        ),
        (
            r#"{"calls":[],"max_concurrency":1.5}"#,
            "max_concurrency: expected a whole number from 0 to 16, found the number 1.5",
        ),
        (
            r#"{"calls":[],"max_concurrency":4294967296}"#,
            "max_concurrency: expected a whole number from 0 to 16, found the number 4294967296",
        ),
        (
            r#"{"calls":[],"max_concurrency":-1}"#,
            "max_concurrency: expected a whole number from 0 to 16, found the number -1",
        ),
        (
            r#"{"calls":[],"serialize_on":["a"]}"#,
            r#"serialize_on: expected a path as a string, such as "contract" or "/order/contract", found an array"#,
        ),
        (r#"{"calls":[],"stop_on_error":"true"}"#, r#"stop_on_error: expected true or false, found the string "true""#),
        (r#"{"calls":[],"include_results":0}"#, "include_results: expected true or false, found the number 0"),
        (
            r#"{"calls":[],"call_timeout":30}"#,
            r#"call_timeout: expected a duration as a string, such as "500ms", "30s", "5m" or "1h", found the number 30"#,
        ),
        (
            r#"{"calls":[],"call_timeout":"30 s"}"#,
            r#"call_timeout: expected a duration as a string, such as "500ms", "30s", "5m" or "1h", found the string "30 s""#,
        ),
        (
            r#"{"calls":[],"call_timeout":"9223372036854775807h"}"#,
            r#"call_timeout: expected a duration as a string, such as "500ms", "30s", "5m" or "1h", found the string "9223372036854775807h""#,
        ),
        (r#"{"calls":[],"retry":3}"#, r#"retry: expected an object with "max_attempts", found the number 3"#),
        (
            r#"{"calls":[],"retry":{"max_attempts":"3"}}"#,
            r#"retry.max_attempts: expected a whole number from 1 to 10, found the string "3""#,
        ),
        (
            r#"{"calls":[],"retry":{"backoff_multiplier":1e999}}"#,
            "retry.backoff_multiplier: expected a number from 1 to 10, found the number 1e999",
        ),
        (
            r#"{"calls":[],"in_doubt":"retry"}"#,
            r#"in_doubt: expected "rerun" or "lookup" or "fail", found the string "retry""#,
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(message(text), expected, "for {text}");
    }
}

#[test]
fn unknown_and_repeated_names_are_named_with_the_nearest_known() {
    let all =
        "calls, mode, max_concurrency, serialize_on, stop_on_error, include_results, call_timeout, retry, in_doubt";
    let cases = [
        (r#"{"calls":[],"max_concurency":4}"#, format!("max_concurency: unknown field; did you mean max_concurrency? Known are {all}")),
        (r#"{"calls":[],"maxConcurrency":4}"#, format!("maxConcurrency: unknown field; did you mean max_concurrency? Known are {all}")),
        (r#"{"calls":[],"zzz":4}"#, format!("zzz: unknown field; known are {all}")),
        (
            r#"{"calls":[{"tool":"t","arguments":{}}]}"#,
            "calls[0].arguments: unknown field; did you mean args? Known are tool, args, key".into(),
        ),
        (r#"{"calls":[{"tool":"t","name":"x"}]}"#, "calls[0].name: unknown field; did you mean tool? Known are tool, args, key".into()),
        (
            r#"{"calls":[],"retry":{"attempts":2}}"#,
            "retry.attempts: unknown field; did you mean max_attempts? Known are max_attempts, initial_backoff, max_backoff, backoff_multiplier".into(),
        ),
        (r#"{"calls":[],"calls":[]}"#, "calls: given twice".into()),
        (r#"{"calls":[{"tool":"a","tool":"b"}]}"#, "calls[0].tool: given twice".into()),
    ];
    for (text, expected) in cases {
        assert_eq!(message(text), expected, "for {text}");
    }
}

#[test]
fn what_only_a_file_may_say_is_unknown_to_a_model() {
    let text = r#"{"calls":[],"call_timeout":"1s"}"#;
    assert!(parse(text, Dialect::File).is_ok());
    assert_eq!(
        parse(text, Dialect::Model).unwrap_err().to_string(),
        "call_timeout: unknown field; known are calls, mode, max_concurrency, serialize_on, stop_on_error, include_results"
    );
}

#[test]
fn all_problems_are_told_at_once_in_order() {
    let text = r#"{"mod":1,"calls":[{"tool":"a","args":"x"},{"args":{}},3]}"#;
    let Error::Invalid(problems) = parse(text, Dialect::Model).unwrap_err() else { panic!("another error") };
    let paths: Vec<&str> = problems.told.iter().map(|problem| problem.path.as_str()).collect();
    assert_eq!(paths, ["mod", "calls[0].args", "calls[1].tool", "calls[2]"]);
    assert_eq!(problems.more, 0);
}

#[test]
fn problems_beyond_the_bound_are_counted() {
    let text = format!(r#"{{"calls":[{}0]}}"#, "0,".repeat(199));
    let Error::Invalid(problems) = parse(&text, Dialect::Model).unwrap_err() else { panic!("another error") };
    assert_eq!((problems.told.len(), problems.more), (50, 150));
    assert!(problems.to_string().ends_with("\nand 150 more"));
}

#[test]
fn long_lists_and_objects_are_counted_and_not_kept() {
    let text = format!(r#"{{"calls":[{}{{"tool":"t"}}]}}"#, r#"{"tool":"t"},"#.repeat(200));
    assert_eq!(message(&text), "calls: expected at most 200 calls, found 201; split the list");
    let names: Vec<String> = (0..65).map(|n| format!("\"n{n}\":0")).collect();
    let text = format!(r#"{{"calls":[],{}}}"#, names.join(","));
    let Error::Invalid(problems) = parse(&text, Dialect::Model).unwrap_err() else { panic!("another error") };
    assert_eq!(problems.told.len() + problems.more, 63 + 1);
}

#[test]
fn broken_json_is_told_with_its_place() {
    assert_eq!(message("{\"calls\":\n[}"), "not valid JSON: expected value at line 2 column 2");
    assert_eq!(message(""), "not valid JSON: EOF while parsing a value at line 1 column 0");
    assert!(message(r#"{"calls":[]} x"#).starts_with("not valid JSON: trailing characters at line 1"));
}

#[test]
fn too_long_a_text_is_refused_by_its_length() {
    let text = " ".repeat(MAX_BYTES + 1);
    assert_eq!(parse(&text, Dialect::File).unwrap_err(), Error::TooLarge { bytes: MAX_BYTES + 1 });
}

#[test]
fn depth_costs_no_stack() {
    let deep = format!("{}1{}", "{\"a\":".repeat(1_000_000), "}".repeat(1_000_000));
    let request = parsed(&format!(r#"{{"calls":[{{"tool":"t","args":{deep}}}]}}"#));
    assert_eq!(calls(&request)[0].args_json, deep);
    assert!(message(&"[".repeat(1_000_000)).starts_with("not valid JSON: EOF"));
}

#[test]
fn long_values_and_names_are_quoted_in_part() {
    let long = "中".repeat(100);
    assert_eq!(
        message(&format!(r#"{{"calls":[{{"tool":"t","args":"{long}"}}]}}"#)),
        format!(
            "calls[0].args: expected an object, found the string \"{}…\"; write the object itself, not its text",
            "中".repeat(59)
        )
    );
    assert!(message(&format!(r#"{{"calls":[],"{long}":1}}"#)).starts_with(&format!("{}…: unknown", "中".repeat(60))));
}

#[test]
fn what_stands_at_the_wrong_level_is_told_where_it_belongs() {
    let model = |text: &str| parse(text, Dialect::Model).unwrap_err().to_string();
    let fields = "calls, mode, max_concurrency, serialize_on, stop_on_error, include_results";
    assert_eq!(
        model(r#"{"calls":[],"options":{"mode":"parallel","x":1,"stop_on_error":false}}"#),
        format!("options: unknown field; write what is in it (mode, stop_on_error) one level up. Known are {fields}")
    );
    let wrapped = model(r#"{"name":"execute_tool_batch","arguments":{"calls":[]}}"#);
    assert_eq!(
        wrapped.lines().collect::<Vec<_>>(),
        [
            format!("name: unknown field; known are {fields}"),
            format!("arguments: unknown field; write what is in it (calls) one level up. Known are {fields}"),
            format!("calls: missing: expected {LIST_EXPECTED}"),
        ]
    );
    assert_eq!(
        model(r#"{"calls":[{"tool":"t","stop_on_error":false}]}"#),
        "calls[0].stop_on_error: unknown field here; it belongs beside calls, not in a call. Known here are tool, args, key"
    );
    assert!(
        model(r#"{"tool":"t","args":{}}"#).starts_with("tool: unknown field here; it belongs in an element of calls.")
    );
    assert_eq!(
        model(r#""{\"calls\":[]}""#),
        r#"the batch: expected an object with "calls", found the string "{\"calls\":[]}"; write the value itself, not its text"#
    );
}

#[test]
fn a_draft_keeps_the_places_of_what_could_not_be_read() {
    let draft = read(r#"{"calls":[5,{"args":null},{"tool":"t","key":"k"}],"mode":"both"}"#, Dialect::Model).unwrap();
    let paths: Vec<&str> = draft.problems.told.iter().map(|problem| problem.path.as_str()).collect();
    assert_eq!(paths, ["calls[0]", "calls[1].tool", "calls[1].args", "mode"]);
    let keys: Vec<&str> = calls(&draft.request).iter().map(|call| call.key.as_str()).collect();
    assert_eq!(keys, ["", "", "k"]);
    assert_eq!(draft.request.options.unwrap().mode, UNREAD_MODE);
}

#[test]
fn invocations_run_at_once_with_the_text_of_their_arguments() {
    let args = r#"{ "n":1.10,"big":12345678901234567890123,"t":"\u00e9\\n" }"#;
    let encoded = serde_json::to_string(args).unwrap();
    let text = format!(
        r#"{{"invocations":[{{"name":"a","arguments":{encoded}}},{{"name":"b","arguments":{args}}},
            {{"name":"c"}},{{"name":"d","arguments":""}},{{"name":"e","arguments":"\u007b\u007D"}}]}}"#
    );
    let Draft { request, problems } = read_invocations(&text).unwrap();
    assert!(problems.is_empty(), "{problems}");
    let sent: Vec<&str> = calls(&request).iter().map(|call| call.args_json.as_str()).collect();
    assert_eq!(sent, [args, args, "", "", "{}"]);
    let options = request.options.unwrap();
    assert_eq!((options.mode, options.max_concurrency), (BatchMode::Parallel.into(), 16));
    assert_eq!(options.stop_on_error, Some(false));
}

#[test]
fn each_wrong_invocation_is_named_with_what_came() {
    let told = |text: &str| read_invocations(text).unwrap().problems.to_string();
    let one = |member: &str| told(&format!(r#"{{"invocations":[{{"name":"t",{member}}}]}}"#));
    let arguments =
        r#"invocations[0].arguments: expected one JSON object, as text such as "{\"id\": 1}", or as the object itself"#;
    for (member, expected) in [
        (r#""arguments":null"#, format!("{arguments}, found null")),
        (r#""arguments":[{}]"#, format!("{arguments}, found an array")),
        (r#""arguments":5"#, format!("{arguments}, found the number 5")),
        (
            r#""args":{}"#,
            "invocations[0].args: unknown field; did you mean arguments? Known are name, arguments".to_owned(),
        ),
        (
            r#""parameters":{}"#,
            "invocations[0].parameters: unknown field; did you mean arguments? Known are name, arguments".to_owned(),
        ),
        (
            r#""arguments":"\ud800""#,
            r#"invocations[0].arguments: the string "\ud800" holds a lone surrogate (\ud800 to \udfff)"#.to_owned(),
        ),
    ] {
        assert_eq!(one(member), expected);
    }
    for (text, expected) in [
        (r"[]", r#"the batch: expected an object with "invocations", found an array"#),
        (r"{}", r#"invocations: missing: expected an array of {"name", "arguments"} objects"#),
        (
            r#"{"invocations":"[{}]"}"#,
            r#"invocations: expected an array of {"name", "arguments"} objects, found the string "[{}]"; write the value itself, not its text"#,
        ),
        (
            r#"{"invocations":[{"tool":"t"}]}"#,
            "invocations[0].tool: unknown field; did you mean name? Known are name, arguments\n\
             invocations[0].name: missing: expected a tool's name as a string",
        ),
        (
            r#"{"invocations":[],"mode":"parallel"}"#,
            "mode: unknown field here; it belongs to execute_tool_batch; batch_tool has no options. Known here are invocations",
        ),
    ] {
        assert_eq!(told(text), expected, "for {text}");
    }
    assert!(told(r#"{"calls":[]}"#).starts_with("calls: unknown field; did you mean invocations?"));
    let long = format!(r#"{{"invocations":[{}{{"name":"t"}}]}}"#, r#"{"name":"t"},"#.repeat(200));
    assert_eq!(told(&long), "invocations: expected at most 200, found 201; split the list");
}
