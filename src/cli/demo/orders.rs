//! The list of orders that the demo runs.

use crate::proto::{BatchMode, BatchOptions, CallList, ExecuteBatchRequest, ToolCall, execute_batch_request::Source};

/// Calls at once.
pub(super) const WIDTH: u32 = 4;

/// How many calls there are.
pub(super) const COUNT: u32 = 12;

/// Twelve calls over three contracts, grouped by contract as a planning step writes them: tool, key, args. The first of
/// each contract takes longest, so that in a fan-out the others of its contract meet its lock.
const CALLS: [(&str, &str, &str); COUNT as usize] = [
    ("create_sales_order", "so-1", r#"{"contract":"40040343","item":"pump P-100","quantity":6}"#),
    ("create_sales_order", "so-2", r#"{"contract":"40040343","item":"valve V-20","quantity":3}"#),
    ("create_sales_order", "so-3", r#"{"contract":"40040343","item":"seal S-8","quantity":10}"#),
    ("create_sales_order", "so-4", r#"{"contract":"40040343","item":"motor M-3","quantity":4}"#),
    ("change_order", "co-1", r#"{"contract":"40040343","order":"450001","quantity":9}"#),
    ("create_sales_order", "so-5", r#"{"contract":"40040344","item":"pump P-200","quantity":12}"#),
    ("create_sales_order", "so-6", r#"{"contract":"40040344","item":"valve V-25","quantity":3}"#),
    ("create_sales_order", "so-7", r#"{"contract":"40040344","item":"seal S-9","quantity":5}"#),
    ("change_order", "co-2", r#"{"contract":"40040344","order":"450002","quantity":2}"#),
    ("create_sales_order", "so-8", r#"{"contract":"40051017","item":"pump P-300","quantity":18}"#),
    ("create_sales_order", "so-9", r#"{"contract":"40051017","item":"valve V-30","quantity":15}"#),
    ("change_order", "co-3", r#"{"contract":"40051017","order":"450003","quantity":8}"#),
];

/// The list as a batch of the task `demo`; `serialize_on` may be empty.
pub(super) fn batch(batch_id: &str, serialize_on: &str) -> ExecuteBatchRequest {
    let calls = CALLS
        .iter()
        .map(|&(tool, key, args)| ToolCall { tool: tool.into(), args_json: args.into(), key: key.into() })
        .collect();
    ExecuteBatchRequest {
        task_id: "demo".into(),
        batch_id: batch_id.into(),
        source: Some(Source::CallList(CallList { calls })),
        options: Some(BatchOptions {
            mode: BatchMode::Parallel.into(),
            max_concurrency: WIDTH,
            serialize_on: serialize_on.into(),
            stop_on_error: Some(false),
            ..BatchOptions::default()
        }),
        ..ExecuteBatchRequest::default()
    }
}
