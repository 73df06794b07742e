//! What a model would say. It goes by what the tools answered, as a real one does, and by nothing else.

use serde_json::{Value, json};

/// The next message of the assistant.
pub(crate) fn answer(messages: &[Value]) -> Value {
    let results: Vec<&Value> = messages
        .iter()
        .flat_map(|message| message["content"].as_array().into_iter().flatten())
        .filter(|block| block["type"] == "tool_result")
        .collect();
    let id = format!("toolu_{:02}", results.len() + 1);
    let call = |name: &str, input: Value| json!({"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": name, "input": input}]});
    let Some(last) = results.last().and_then(|result| result["content"].as_str()) else {
        return call("plan_orders", json!({}));
    };
    // The plan is some kilobytes in life; its name is all that has to be written again.
    let plan = results[0]["content"].as_str().and_then(|text| text.rsplit_once("(kept as "));
    let run_plan = |name: &str| call("execute_tool_batch", json!({"calls": format!("${{{name}}}.calls")}));
    let plan = plan.map_or("VAR_1", |(_, name)| name.trim_end_matches(')'));
    let told: Value = last.lines().next().and_then(|line| serde_json::from_str(line).ok()).unwrap_or_default();
    match told["status"].as_str() {
        Some("completed") => {
            let (total, before) = (&told["total"], &told["skipped"]);
            let text = format!("All {total} orders are posted; {before} of them had been before.");
            json!({"role": "assistant", "content": [{"type": "text", "text": text}]})
        }
        Some("partial" | "failed") => {
            let mut errors =
                told["results"].as_array().into_iter().flatten().filter_map(|result| result["error"].as_str());
            let locked = errors.find_map(|error| error.strip_prefix("contract ")?.split(' ').next());
            call("release_contract", json!({"contract": locked}))
        }
        Some(_) | None => run_plan(plan),
    }
}
