//! R1 once more, as one yes or no: written from the rules and not from the code, for the property test to compare with.

use std::collections::BTreeSet;

use crate::{
    json::oracle,
    proto::{BatchOptions, ExecuteBatchRequest, RetryPolicy, ToolCall, execute_batch_request::Source},
};

pub(super) fn accepts(request: &ExecuteBatchRequest) -> bool {
    let Some(Source::CallList(list)) = &request.source else { return false };
    is_text(&request.task_id, 1..=256)
        && is_text(&request.agent_id, 0..=256)
        && is_text(&request.batch_id, 0..=128)
        && accepts_calls(&list.calls)
        && request.options.as_ref().is_none_or(accepts_options)
}

fn accepts_calls(calls: &[ToolCall]) -> bool {
    let keys: Vec<&str> = calls.iter().map(|call| call.key.as_str()).filter(|key| !key.is_empty()).collect();
    (1..=200).contains(&calls.len())
        && keys.iter().collect::<BTreeSet<_>>().len() == keys.len()
        && calls.iter().all(|call| {
            let blank = call.args_json.chars().all(|c| [' ', '\t', '\n', '\r'].contains(&c));
            is_text(&call.tool, 1..=256)
                && is_text(&call.key, 0..=512)
                && call.args_json.len() <= 1 << 20
                && (blank || oracle::is_args(&call.args_json))
        })
}

fn accepts_options(options: &BatchOptions) -> bool {
    let parallel = options.mode == 2;
    let path = options.serialize_on.as_str();
    (0..=2).contains(&options.mode)
        && (0..=3).contains(&options.in_doubt)
        && options.max_concurrency <= 16
        && (path.is_empty() || (parallel && is_path(path)))
        && options.call_timeout.as_ref().is_none_or(|timeout| is_between(timeout, 1, 86_400_000_000_000))
        && options.retry.as_ref().is_none_or(accepts_retry)
}

fn accepts_retry(retry: &RetryPolicy) -> bool {
    let is_backoff =
        |backoff: &Option<_>| backoff.as_ref().is_none_or(|backoff| is_between(backoff, 0, 600_000_000_000));
    retry.max_attempts <= 10
        && is_backoff(&retry.initial_backoff)
        && is_backoff(&retry.max_backoff)
        && (retry.backoff_multiplier == 0.0 || (retry.backoff_multiplier >= 1.0 && retry.backoff_multiplier <= 10.0))
}

fn is_between(duration: &prost_types::Duration, least: i128, most: i128) -> bool {
    let nanos = i128::from(duration.seconds) * 1_000_000_000 + i128::from(duration.nanos);
    let valid =
        duration.nanos.abs_diff(0) < 1_000_000_000 && i64::from(duration.nanos) * duration.seconds.signum() >= 0;
    valid && least <= nanos && nanos <= most
}

fn is_text(text: &str, bytes: std::ops::RangeInclusive<usize>) -> bool {
    let is_control = |c: char| matches!(u32::from(c), 0..=0x1f | 0x7f..=0x9f);
    bytes.contains(&text.len()) && !text.contains(is_control)
}

fn is_path(path: &str) -> bool {
    if path.len() > 1024 {
        return false;
    }
    if path.starts_with('/') {
        return !path.replace("~0", "").replace("~1", "").contains('~');
    }
    !path.contains(['[', ']', '/', '*'])
        && path.split('.').all(|name| !name.is_empty() && name != "$" && name.trim() == name)
}
