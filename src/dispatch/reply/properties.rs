//! Any answer at all: exactly one outcome, within the bounds of R6.

use proptest::prelude::*;
use prost::Message as _;
use tonic::{Code, Status};

use super::*;
use crate::{
    fuzz::{at_least, bytes_like},
    json::oracle,
    proto::{LookupCallResponse, ToolAwaiting, ToolFailure, lookup_call_response::Fate},
};

/// The longest that is said of an answer: a quotation with words around it.
const MAX_SAID: usize = 2 * QUOTE_MAX_BYTES;

fn answers() -> Vec<CallToolResponse> {
    let usage = |quantity| vec![proto::UsageItem { unit: "pages".into(), quantity }];
    let result = |text: &str| Some(call_tool_response::Outcome::ResultJson(text.into()));
    let failure = ToolFailure { message: "no\n\u{1b}[31m".into(), code: "E1".into(), retryable: true };
    let awaiting = ToolAwaiting { await_id: "r".into(), result_json: r#"{"a":[1.10,"\ud800"]}"#.into() };
    vec![
        CallToolResponse { outcome: result(r#"{"a":[1e400,null,"é"]}"#), usage: usage(2.5), ..Default::default() },
        CallToolResponse { outcome: result("[1,2]"), usage: usage(f64::NAN), ..Default::default() },
        CallToolResponse { outcome: result(""), usage: usage(1e308), ..Default::default() },
        CallToolResponse { outcome: Some(call_tool_response::Outcome::Failure(failure)), ..Default::default() },
        CallToolResponse { outcome: Some(call_tool_response::Outcome::Awaiting(awaiting)), ..Default::default() },
        CallToolResponse::default(),
    ]
}

fn is_short(said: &str) -> Result<(), TestCaseError> {
    let plain = !said.is_empty() && said.len() <= MAX_SAID && !said.contains(char::is_control);
    prop_assert!(plain, "{} bytes: {:?}", said.len(), said);
    Ok(())
}

fn is_within_bounds(reply: Reply) -> Result<(), TestCaseError> {
    let is_json = |result: &Bytes| std::str::from_utf8(result).is_ok_and(oracle::is_json);
    let usage = match reply {
        Outcome::Completed { result, usage } => {
            prop_assert!(is_json(&result), "{:?}", result);
            usage
        }
        Outcome::Awaiting { await_id, result, usage } => {
            prop_assert!(is_json(&result) && (1..=MAX_AWAIT_ID_BYTES).contains(&await_id.len()), "{:?}", result);
            usage
        }
        Outcome::Failed { message, code, usage, .. } => {
            prop_assert!(message.len() <= MAX_FAILURE_BYTES && code.len() <= MAX_CODE_BYTES);
            usage
        }
        Outcome::Unknown { reason, message } => {
            prop_assert_eq!(reason, Reason::BadResponse);
            return is_short(&message);
        }
        Outcome::NotSent { message, .. } => return Err(TestCaseError::fail(message)),
    };
    prop_assert!(usage.len() <= MAX_USAGE_ITEMS);
    prop_assert!(usage.iter().all(|item| item.quantity.is_finite() && item.quantity >= 0.0), "{:?}", usage);
    Ok(())
}

fn read_now(response: CallToolResponse) -> Reply {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(read(response))
}

proptest! {
    #![proptest_config(at_least(20_000))]

    #[test]
    fn any_bytes_are_an_outcome_or_no_message(bytes in bytes_like(answers().iter().map(prost::Message::encode_to_vec).collect())) {
        if let Ok(response) = CallToolResponse::decode(bytes.as_slice()) {
            is_within_bounds(read_now(response))?;
        }
        if let Ok(LookupCallResponse { fate: Some(Fate::Landed(response)) }) = LookupCallResponse::decode(bytes.as_slice()) {
            is_within_bounds(read_now(response))?;
        }
    }

    #[test]
    fn any_status_is_one_outcome_in_a_few_words(
        code in -1..20, text in "\\PC{0,9}|[a\u{1b}\n\u{9b}é]{0,9}", times in prop_oneof![Just(1), 1_usize..2_000], late in any::<bool>(),
    ) {
        match of_status("stub", &Status::new(Code::from_i32(code), text.repeat(times)), late) {
            Outcome::Unknown { message, .. } | Outcome::NotSent { message, .. } => is_short(&message)?,
            known @ (Outcome::Completed { .. } | Outcome::Awaiting { .. } | Outcome::Failed { .. }) => {
                return Err(TestCaseError::fail(format!("{known:?}")));
            }
        }
    }
}

#[test]
fn row_usage_that_is_no_amount_is_refused_and_a_large_one_is_kept() {
    let of = |quantity| CallToolResponse {
        usage: vec![proto::UsageItem { unit: "pages".into(), quantity }],
        outcome: Some(call_tool_response::Outcome::ResultJson("1".into())),
        ..Default::default()
    };
    for quantity in [f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, -f64::MIN_POSITIVE] {
        assert!(matches!(read_now(of(quantity)), Outcome::Unknown { reason: Reason::BadResponse, .. }), "{quantity}");
    }
    for quantity in [0.0, -0.0, f64::MIN_POSITIVE, 1e308, f64::MAX] {
        assert!(matches!(read_now(of(quantity)), Outcome::Completed { .. }), "{quantity}");
    }
}
