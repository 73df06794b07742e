//! Whether two requests are the same batch.

use prost_types::Duration as Wire;
use sha2::{Digest as _, Sha256};

use super::{calls, options};
use crate::{
    batch::spec::RetryPolicy,
    proto::{self, execute_batch_request::Source},
};

/// SHA-256 of what a request asks for, with R1's defaults filled in: an unset option and its default are the same content, `batch_id`
/// and `validate_only` are none of it, and a reference counts as text. It is defined for every request, valid or not, since a known
/// `batch_id` is looked at before any rule is; numbers that no rule allows count as they came.
#[must_use]
pub fn content_digest(request: &proto::ExecuteBatchRequest) -> [u8; 32] {
    let mut content = Content(Sha256::new());
    content.text("toolbatch.v1.content");
    content.text(&request.task_id);
    content.text(&request.agent_id);
    match &request.source {
        None => content.bytes(&[0]),
        Some(Source::CallList(list)) => {
            content.bytes(&[1]);
            content.bytes(&(list.calls.len() as u64).to_be_bytes());
            for call in &list.calls {
                content.text(&call.tool);
                content.text(calls::args_or_empty(&call.args_json));
                content.text(&call.key);
            }
        }
        Some(Source::CallsRef(reference)) => {
            content.bytes(&[2]);
            content.text(reference);
        }
    }
    let unset = proto::BatchOptions::default();
    content.options(request.options.as_ref().unwrap_or(&unset));
    content.0.finalize().into()
}

/// Every part has a fixed size or its length before it, and the order is fixed, so that no two contents are one text.
struct Content(Sha256);

impl Content {
    fn options(&mut self, options: &proto::BatchOptions) {
        self.number_or(options.mode, proto::BatchMode::Sequential.into());
        self.bytes(&match options.max_concurrency {
            0 => options::DEFAULT_CONCURRENCY.to_be_bytes(),
            sent => sent.to_be_bytes(),
        });
        self.text(&options.serialize_on);
        self.bytes(&[options.stop_on_error.unwrap_or(true).into(), options.include_results.unwrap_or(true).into()]);
        match &options.call_timeout {
            None => self.bytes(&[0]),
            Some(timeout) => {
                self.bytes(&[1]);
                self.duration(timeout);
            }
        }
        let unset = proto::RetryPolicy::default();
        self.retry(options.retry.as_ref().unwrap_or(&unset));
        self.number_or(options.in_doubt, proto::InDoubtPolicy::Rerun.into());
    }

    fn retry(&mut self, retry: &proto::RetryPolicy) {
        let default = RetryPolicy::default();
        self.bytes(&options::attempts_or_default(retry.max_attempts).to_be_bytes());
        for (sent, default) in
            [(&retry.initial_backoff, default.initial_backoff), (&retry.max_backoff, default.max_backoff)]
        {
            match sent {
                Some(sent) => self.duration(sent),
                None => self.duration(&Wire {
                    seconds: default.as_secs().try_into().expect("the defaults are seconds"),
                    nanos: default
                        .subsec_nanos()
                        .try_into()
                        .expect("below a second there are fewer than 2^31 nanoseconds"),
                }),
            }
        }
        self.bytes(&options::multiplier_or_default(retry.backoff_multiplier).to_bits().to_be_bytes());
    }

    /// An enum's number, known or not; 0 is its default.
    fn number_or(&mut self, sent: i32, default: i32) {
        self.bytes(&if sent == 0 { default } else { sent }.to_be_bytes());
    }

    fn duration(&mut self, duration: &Wire) {
        self.bytes(&duration.seconds.to_be_bytes());
        self.bytes(&duration.nanos.to_be_bytes());
    }

    fn text(&mut self, text: &str) {
        self.bytes(&(text.len() as u64).to_be_bytes());
        self.bytes(text.as_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }
}
