//! What the backend declares.

use serde_json::{Value, json};
use toolbatch::proto::Tool;

/// Every tool, in the order that they are listed in.
pub(super) fn declared() -> Vec<Tool> {
    let text = || json!({"type": "string"});
    let count = || json!({"type": "integer", "minimum": 0});
    let any = || json!({"type": "object"});
    let order = json!({
        "type": "object",
        "properties": {"contract": text(), "quantity": {"type": "integer", "minimum": 1}},
        "required": ["contract"],
        "additionalProperties": false,
    });
    let failure = json!({"message": text(), "code": text(), "retryable": {"type": "boolean"}, "times": count()});
    let usage = json!({"unit": text(), "quantity": {"type": "number", "minimum": 0}});
    vec![
        tool("echo", "Answers with its arguments, byte for byte", &any()),
        tool("native", "Answers with its arguments, through a native value", &any()),
        tool("post_order", "Posts an order for a contract", &order),
        tool("fail", "Fails as it is told", &object(&failure, &["message"])),
        tool("crash", "Breaks down without saying what happened", &object(&json!({}), &[])),
        tool("review", "Waits for a review", &object(&json!({"await_id": text()}), &["await_id"])),
        Tool {
            reports_progress: true,
            ..tool("count", "Counts, and tells how far it is", &object(&json!({"to": count()}), &["to"]))
        },
        tool("meter", "Reports usage", &object(&usage, &["unit", "quantity"])),
        tool("large", "Answers with a text of so many bytes", &object(&json!({"bytes": count()}), &["bytes"])),
        tool("context", "Answers with the context of its call", &any()),
        tool("hold", "Waits until its gate is open", &object(&json!({"gate": text()}), &["gate"])),
        tool("ledger", "Notes an entry once", &object(&json!({"entry": text(), "gate": text()}), &["entry"])),
        Tool {
            pauses: true,
            ..tool(
                "wait",
                "Waits until its gate is open, as no batch may",
                &object(&json!({"gate": text()}), &["gate"]),
            )
        },
    ]
}

fn tool(name: &str, description: &str, schema: &Value) -> Tool {
    Tool {
        name: name.into(),
        description: description.into(),
        input_schema_json: schema.to_string(),
        ..Tool::default()
    }
}

fn object(properties: &Value, required: &[&str]) -> Value {
    json!({"type": "object", "properties": properties, "required": required})
}
