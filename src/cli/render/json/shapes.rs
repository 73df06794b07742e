//! The objects that are written, field by field. What is empty or false is left out, but for the counts.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;

/// A JSON value as it was written.
pub(super) type Raw<'a> = Cow<'a, RawValue>;

#[derive(Serialize)]
pub(super) struct EventLine<'a> {
    pub(super) event: &'static str,
    pub(super) batch_id: &'a str,
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) sequence: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) time: Option<String>,
    #[serde(flatten)]
    pub(super) body: Body<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Body<'a> {
    Planned {
        calls: Vec<PlannedLine<'a>>,
    },
    Started {
        task_id: &'a str,
        #[serde(skip_serializing_if = "str::is_empty")]
        agent_id: &'a str,
        total: u32,
        #[serde(skip_serializing_if = "Option::is_none")]
        options: Option<OptionsLine<'a>>,
    },
    CallStarted {
        index: u32,
        tool: &'a str,
        #[serde(skip_serializing_if = "str::is_empty")]
        key: &'a str,
        step_id: &'a str,
        attempt: u32,
    },
    Retrying {
        index: u32,
        step_id: &'a str,
        attempt: u32,
        #[serde(flatten)]
        error: Option<ErrorLine<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        retry_time: Option<String>,
    },
    Progress {
        index: u32,
        step_id: &'a str,
        progress: f64,
        #[serde(skip_serializing_if = "Option::is_none")]
        total: Option<f64>,
        #[serde(skip_serializing_if = "str::is_empty")]
        message: &'a str,
    },
    Finished(Option<ResultLine<'a>>),
    Resumed {
        in_doubt: &'a [u32],
    },
    BatchFinished(Option<SummaryLine<'a>>),
    Unknown {},
}

#[derive(Serialize)]
pub(super) struct PlannedLine<'a> {
    pub(super) index: u32,
    pub(super) tool: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) base_tool: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) backend: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) key: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) lane: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) skipped_step_id: &'a str,
    #[serde(flatten)]
    pub(super) error: Option<ErrorLine<'a>>,
}

#[derive(Serialize)]
pub(super) struct OptionsLine<'a> {
    pub(super) mode: Cow<'static, str>,
    pub(super) max_concurrency: u32,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) serialize_on: &'a str,
    pub(super) stop_on_error: bool,
    pub(super) include_results: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) call_timeout_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) retry: Option<RetryLine>,
    pub(super) in_doubt: Cow<'static, str>,
}

#[derive(Serialize)]
pub(super) struct RetryLine {
    pub(super) max_attempts: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) initial_backoff_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) max_backoff_ms: Option<u64>,
    pub(super) backoff_multiplier: f64,
}

#[derive(Serialize)]
pub(super) struct ErrorLine<'a> {
    pub(super) error: &'a str,
    pub(super) error_reason: Cow<'static, str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) error_code: &'a str,
    #[serde(skip_serializing_if = "is_false")]
    pub(super) outcome_unknown: bool,
    #[serde(skip_serializing_if = "is_false")]
    pub(super) retryable: bool,
}

#[derive(Serialize)]
pub(super) struct ResultLine<'a> {
    pub(super) index: u32,
    pub(super) tool: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) key: &'a str,
    pub(super) status: Cow<'static, str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) step_id: &'a str,
    #[serde(skip_serializing_if = "is_zero_32")]
    pub(super) attempts: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) duration_ms: Option<u64>,
    #[serde(flatten)]
    pub(super) result: ResultPart<'a>,
    #[serde(skip_serializing_if = "is_false")]
    pub(super) result_omitted: bool,
    #[serde(flatten)]
    pub(super) error: Option<ErrorLine<'a>>,
    #[serde(skip_serializing_if = "is_false")]
    pub(super) args_changed: bool,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) await_id: &'a str,
}

/// A result is JSON by R6. Where a server breaks that, its text is still shown, under another name.
#[derive(Serialize)]
pub(super) struct ResultPart<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) result: Option<Raw<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) result_text: Option<&'a str>,
}

#[derive(Serialize)]
pub(super) struct SummaryLine<'a> {
    pub(super) status: Cow<'static, str>,
    pub(super) total: u32,
    pub(super) succeeded: u32,
    pub(super) failed: u32,
    pub(super) skipped: u32,
    pub(super) awaiting: u32,
    pub(super) not_run: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stop_reason: Option<Cow<'static, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) results: Option<Vec<ResultLine<'a>>>,
}

#[derive(Serialize)]
pub(super) struct BatchLine<'a> {
    pub(super) batch_id: &'a str,
    pub(super) task_id: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) agent_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) start_time: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) end_time: Option<String>,
    pub(super) last_sequence: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) options: Option<OptionsLine<'a>>,
    #[serde(flatten)]
    pub(super) summary: Option<SummaryLine<'a>>,
}

#[derive(Serialize)]
pub(super) struct StepLine<'a> {
    pub(super) step_id: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) parent_step_id: &'a str,
    pub(super) task_id: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) agent_id: &'a str,
    pub(super) tool: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) base_tool: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) backend: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) key: &'a str,
    pub(super) index: u32,
    pub(super) status: Cow<'static, str>,
    pub(super) attempts: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) start_time: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) end_time: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) args: Option<Raw<'a>>,
    pub(super) result_bytes: u64,
    #[serde(flatten)]
    pub(super) result: ResultPart<'a>,
    #[serde(flatten)]
    pub(super) error: Option<ErrorLine<'a>>,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) await_id: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) trace_id: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) usage: Vec<UsageLine<'a>>,
}

#[derive(Serialize)]
pub(super) struct UsageLine<'a> {
    pub(super) unit: &'a str,
    pub(super) quantity: f64,
    pub(super) cost_nanos: i64,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) currency: &'a str,
}

#[derive(Serialize)]
pub(super) struct CardLine<'a> {
    pub(super) step_id: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) parent_step_id: &'a str,
    pub(super) title: &'a str,
    pub(super) status: Cow<'static, str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) detail: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) update_time: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) summary: Option<SummaryLine<'a>>,
    pub(super) resume_token: &'a str,
}

#[derive(Serialize)]
pub(super) struct UsageRowLine<'a> {
    pub(super) step_id: &'a str,
    pub(super) tool: &'a str,
    #[serde(flatten)]
    pub(super) usage: UsageLine<'a>,
}

#[derive(Serialize)]
pub(super) struct UsageTotalsLine<'a> {
    pub(super) totals: Vec<UsageTotalLine<'a>>,
    pub(super) costs: Vec<CostLine<'a>>,
}

#[derive(Serialize)]
pub(super) struct UsageTotalLine<'a> {
    pub(super) tool: &'a str,
    pub(super) unit: &'a str,
    pub(super) steps: u64,
    pub(super) quantity: f64,
    #[serde(flatten)]
    pub(super) cost: CostLine<'a>,
}

#[derive(Serialize)]
pub(super) struct CostLine<'a> {
    pub(super) cost_nanos: i128,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) currency: &'a str,
}

#[derive(Serialize)]
pub(super) struct KeyLine<'a> {
    pub(super) key: &'a str,
    pub(super) state: Cow<'static, str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) step_id: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) base_tool: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) idempotency_key: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) update_time: Option<String>,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) settled_by: &'a str,
}

#[derive(Serialize)]
pub(super) struct EndedTaskLine<'a> {
    pub(super) task_id: &'a str,
    pub(super) ended: bool,
}

#[derive(Serialize)]
pub(super) struct BackendLine<'a> {
    pub(super) name: &'a str,
    pub(super) addresses: &'a [String],
    pub(super) health: Cow<'static, str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) health_detail: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) health_time: Option<String>,
    #[serde(skip_serializing_if = "is_zero_32")]
    pub(super) max_concurrency: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) max_calls_per_second: Option<f64>,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) credential: &'a str,
    pub(super) tools: Vec<&'a str>,
    #[serde(skip_serializing_if = "is_false")]
    pub(super) configured: bool,
}

#[derive(Serialize)]
pub(super) struct RemovedBackendLine<'a> {
    pub(super) name: &'a str,
    pub(super) removed: bool,
}

#[derive(Serialize)]
pub(super) struct ToolLine<'a> {
    pub(super) name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) description: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) input_schema: Option<Raw<'a>>,
    #[serde(skip_serializing_if = "is_false")]
    pub(super) pauses: bool,
    #[serde(skip_serializing_if = "is_false")]
    pub(super) reports_progress: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) timeout_ms: Option<u64>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(value: &u64) -> bool {
    *value == 0
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero_32(value: &u32) -> bool {
    *value == 0
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_false(value: &bool) -> bool {
    !*value
}
