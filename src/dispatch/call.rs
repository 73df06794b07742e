//! One attempt of one call: it waits for its backend, leaves at most once, and ends with exactly one reply.

use std::{error::Error as _, sync::Arc, time::Duration};

use tokio::time::{Instant, sleep, timeout_at};
use tonic::{Code, Request, Status, metadata::MetadataValue};

use super::{
    Backends,
    backend::MIN_PAUSE,
    catalog::BackendNo,
    connection::Sender,
    departure::{Departure, was_unreadable},
    hops::Instance,
    message::{causes, cut},
    reply::{self, Reply, describe, unknown},
};
use crate::{
    batch::{
        event::{Reason, StepId},
        outcome::{Fate, Outcome},
        trace::{Trace, span_of},
    },
    proto::{
        CallContext, CallToolRequest, CallToolResponse, CallToolWithProgressRequest, LookupCallRequest,
        LookupCallResponse, call_tool_with_progress_response::Event, lookup_call_response,
        tool_service_client::ToolServiceClient,
    },
    seeded::{self, Bug},
};

/// Bound on asking a backend what became of a call: it looks something up, it does not work.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(10);

/// How far from the deadline a backend's CANCELLED or UNAVAILABLE still reads as its own timer's end: a server rounds the timeout that it is
/// told to its own precision.
const DEADLINE_SLACK: Duration = Duration::from_millis(100);

/// How long a progress stream may take to end after its outcome: it ends at once, or it is reset.
const STREAM_END: Duration = Duration::from_millis(100);

/// What is kept of a progress message: a line on a screen.
const MAX_PROGRESS_MESSAGE_BYTES: usize = 1_024;

/// One attempt of one call.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// The backend's name, as [`super::Backends`] resolved it.
    pub backend: String,
    /// The tool by the name that its backend knows.
    pub tool: String,
    /// The arguments, byte for byte.
    pub args: Arc<str>,
    /// The task that the call belongs to.
    pub task_id: String,
    /// The agent that calls; may be empty.
    pub agent_id: String,
    /// The call's key; empty where it has none.
    pub key: String,
    /// The batch; empty for a direct step.
    pub batch_id: String,
    /// The call's step.
    pub step_id: StepId,
    /// The call's place in its batch.
    pub index: u32,
    /// 1 for the first.
    pub attempt: u32,
    /// The same for every attempt of the call.
    pub idempotency_key: String,
    /// An earlier attempt may have taken effect.
    pub in_doubt: bool,
    /// The trace that it belongs to.
    pub trace: Trace,
    /// Bound on the attempt, waiting for the backend included; above 0.
    pub timeout: Duration,
    /// How long the backend may take to be reachable: 5 s, 60 s for a resumed call (R8). At most `timeout` counts.
    pub connect_wait: Duration,
}

impl Attempt {
    fn context(&self) -> CallContext {
        CallContext {
            task_id: self.task_id.clone(),
            agent_id: self.agent_id.clone(),
            key: self.key.clone(),
            batch_id: self.batch_id.clone(),
            step_id: self.step_id.to_string(),
            index: self.index,
            attempt: self.attempt,
            idempotency_key: self.idempotency_key.clone(),
            in_doubt: self.in_doubt && !seeded::has(Bug::DoubtNotTold),
        }
    }

    fn request(&self) -> CallToolRequest {
        CallToolRequest { tool: self.tool.clone(), args_json: self.args.to_string(), context: Some(self.context()) }
    }

    /// A request of this attempt that is to be answered within `left`, under the attempt's own span (W3C Trace Context).
    fn timed<T>(&self, instance: &Instance, message: T, left: Duration) -> Request<T> {
        let mut request = Request::new(message);
        request.set_timeout(left);
        instance.sign(&self.trace.via, request.metadata_mut());
        let Some(parent) = self.trace.parent_of(span_of(self.step_id, self.attempt)) else { return request };
        let headers = [("traceparent", parent), ("tracestate", self.trace.state.clone())];
        for (name, text) in headers {
            if let (false, Ok(mut value)) = (text.is_empty(), MetadataValue::try_from(text)) {
                // No other request has it, so it is kept out of the connection's table of headers (HPACK).
                value.set_sensitive(true);
                request.metadata_mut().insert(name, value);
            }
        }
        request
    }
}

/// How far a tool has got, by its own account.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// How much is done; finite.
    pub progress: f64,
    /// Of how much; finite, 0 where the tool does not know.
    pub total: f64,
    /// For people; at most 1 KiB.
    pub message: String,
}

/// What came of sending one request.
enum Undelivered {
    /// It never left.
    NeverLeft(String),
    /// It left, and the time is up.
    TimedOut,
    /// It left, and the connection was cut.
    Cut(String),
    /// It left, and HTTP/2 could not read what came back.
    Unreadable(String),
    /// It left, and this came back.
    Status { status: Status, late: bool },
}

/// Carries out an attempt.
pub(super) async fn call(backends: &Backends, attempt: &Attempt, progress: &(dyn Fn(Progress) + Sync)) -> Reply {
    let delivered =
        deliver(backends, attempt, Instant::now(), attempt.timeout, |backend, mut client, left| async move {
            let (request, through) = (attempt.request(), &backends.instance);
            if backends.catalog.reports_progress(backend, &attempt.tool) {
                follow(
                    client,
                    attempt.timed(through, CallToolWithProgressRequest { call: Some(request) }, left),
                    progress,
                )
                .await
            } else {
                Ok(client.call_tool(attempt.timed(through, request, left)).await?.into_inner())
            }
        });
    let name = &attempt.backend;
    match delivered.await {
        Ok(response) => reply::read(response).await,
        Err(Undelivered::NeverLeft(cause)) => {
            let message = format!("backend `{name}` could not be reached, and nothing was sent: {cause}");
            Outcome::NotSent { reason: Reason::BackendUnavailable, message }
        }
        Err(Undelivered::TimedOut) => unknown(
            Reason::TimedOut,
            format!("backend `{name}` had the request and did not answer within {:?}", attempt.timeout),
        ),
        Err(Undelivered::Cut(cause)) => {
            let message = format!("the connection to backend `{name}` was cut after the request had left: {cause}");
            unknown(Reason::BackendUnavailable, message)
        }
        Err(Undelivered::Unreadable(cause)) => unknown(
            Reason::BadResponse,
            format!(
                "the tool may have run, but the answer of backend `{name}` cannot be read: {cause}; expected at most 16 KiB of headers, a status's message among them"
            ),
        ),
        Err(Undelivered::Status { status, late }) => reply::of_status(name, &status, late),
    }
}

/// Asks what became of an earlier attempt. A question whose connection is cut is asked again as long as one that never left: it changes
/// nothing, and a backend that just died takes it as often as not.
pub(super) async fn lookup(backends: &Backends, attempt: &Attempt) -> Fate<bytes::Bytes> {
    let begin = Instant::now();
    let delivered = loop {
        let delivered = ask(backends, attempt, begin).await;
        let again = Instant::now() + MIN_PAUSE < begin + attempt.connect_wait;
        if !again || !matches!(delivered, Err(Undelivered::Cut(_))) {
            break delivered;
        }
        sleep(MIN_PAUSE).await;
    };
    let cause = match delivered {
        Ok(response) => match response.fate {
            Some(lookup_call_response::Fate::Landed(response)) => match reply::read(response).await {
                Outcome::Unknown { message, .. } => message,
                landed @ (Outcome::Completed { .. }
                | Outcome::Awaiting { .. }
                | Outcome::Failed { .. }
                | Outcome::NotSent { .. }) => return Fate::Landed(landed),
            },
            Some(lookup_call_response::Fate::NotLanded(_)) => return Fate::NotLanded,
            Some(lookup_call_response::Fate::Unknown(_)) => "it does not know".to_owned(),
            None => "its answer is empty; expected landed, not_landed or unknown".to_owned(),
        },
        Err(Undelivered::NeverLeft(cause)) => format!("it could not be reached: {cause}"),
        Err(Undelivered::TimedOut) => format!("it did not answer within {LOOKUP_TIMEOUT:?}"),
        Err(Undelivered::Cut(cause)) => format!("the connection was cut: {cause}"),
        Err(Undelivered::Unreadable(cause)) => format!("its answer cannot be read: {cause}"),
        Err(Undelivered::Status { status, .. }) if status.code() == Code::Unimplemented => {
            "it does not serve LookupCall (UNIMPLEMENTED)".to_owned()
        }
        Err(Undelivered::Status { status, .. }) => format!("it answered {}", describe(&status)),
    };
    Fate::Unknown { message: format!("backend `{}` was asked what became of the call: {cause}", attempt.backend) }
}

async fn ask(backends: &Backends, attempt: &Attempt, begin: Instant) -> Result<LookupCallResponse, Undelivered> {
    let timeout = LOOKUP_TIMEOUT.saturating_add(attempt.connect_wait);
    let delivered = deliver(backends, attempt, begin, timeout, |_, mut client, left| async move {
        let CallToolRequest { tool, args_json, context } = attempt.request();
        let message = LookupCallRequest { tool, args_json, context };
        let request = attempt.timed(&backends.instance, message, left.min(LOOKUP_TIMEOUT));
        let answer = tokio::time::timeout(LOOKUP_TIMEOUT, client.lookup_call(request)).await;
        let answer =
            answer.unwrap_or_else(|_| Err(Status::deadline_exceeded(format!("no answer within {LOOKUP_TIMEOUT:?}"))));
        Ok(answer?.into_inner())
    });
    delivered.await
}

/// Sends one request with `exchange`, again and again while it has not left and `connect_wait` since `begin` is not over. A backend that is
/// replaced meanwhile leaves it to the one in its place.
async fn deliver<T, F: Future<Output = Result<T, Status>>>(
    backends: &Backends,
    attempt: &Attempt,
    begin: Instant,
    timeout: Duration,
    exchange: impl Fn(BackendNo, ToolServiceClient<Sender>, Duration) -> F,
) -> Result<T, Undelivered> {
    let deadline = begin + timeout;
    let connect_by = begin + attempt.connect_wait.min(timeout);
    let mut stood_in_the_way = None;
    loop {
        let Some(backend) = backends.find(&attempt.backend) else {
            return Err(Undelivered::NeverLeft("no backend of that name is there any more".to_owned()));
        };
        let connection = match timeout_at(connect_by, backend.connection()).await {
            Ok(Some(connection)) => connection,
            Ok(None) => continue,
            Err(_) => return Err(Undelivered::NeverLeft(stood_in_the_way.unwrap_or_else(|| backend.cause()))),
        };
        // A backend that died a moment ago has closed its socket, but nobody may have read that yet. This lets the connection read
        // first (on a current-thread runtime for certain), so that the request is kept back instead of lost: it costs one poll.
        tokio::task::yield_now().await;
        let departure = Arc::new(Departure::default());
        let left = deadline.saturating_duration_since(Instant::now());
        let trouble = match timeout_at(deadline, exchange(backend.no, connection.client(&departure), left)).await {
            Ok(Ok(message)) => return Ok(message),
            Ok(Err(status)) => Some(status),
            Err(_) => None,
        };
        let cause = trouble.as_ref().map_or_else(
            || format!("the connection took no request within {timeout:?}"),
            |status| status.source().map_or_else(|| describe(status), causes),
        );
        if !departure.call_back() {
            let late = Instant::now() + DEADLINE_SLACK >= deadline;
            return Err(match trouble {
                Some(status) if status.source().is_some_and(was_unreadable) => Undelivered::Unreadable(cause),
                Some(status) if status.source().is_some() => Undelivered::Cut(cause),
                Some(status) => Undelivered::Status { status, late },
                None => Undelivered::TimedOut,
            });
        }
        let cause = format!("{}: {cause}", connection.address());
        if Instant::now() + MIN_PAUSE >= connect_by {
            return Err(Undelivered::NeverLeft(cause));
        }
        stood_in_the_way = Some(cause);
        sleep(MIN_PAUSE).await;
    }
}

/// Reads a progress stream to its outcome.
async fn follow(
    mut client: ToolServiceClient<Sender>,
    request: Request<CallToolWithProgressRequest>,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<CallToolResponse, Status> {
    let mut stream = client.call_tool_with_progress(request).await?.into_inner();
    let mut heard = false;
    loop {
        let message = match stream.message().await {
            Ok(Some(message)) => message,
            Ok(None) => return Err(Status::internal("the stream ended without an outcome")),
            // It serves the method, whatever it says later.
            Err(status) if heard && status.code() == Code::Unimplemented => {
                return Err(Status::internal(format!("{} after progress", describe(&status))));
            }
            Err(status) => return Err(status),
        };
        heard = true;
        match message.event {
            Some(Event::Progress(report)) if report.progress.is_finite() && report.total.is_finite() => {
                let message = cut(&report.message, MAX_PROGRESS_MESSAGE_BYTES).to_owned();
                progress(Progress { progress: report.progress, total: report.total, message });
            }
            Some(Event::Response(response)) => {
                // Lets the backend end the stream itself. Whatever it says now, the outcome is known.
                let _ = tokio::time::timeout(STREAM_END, stream.message()).await;
                return Ok(response);
            }
            // Numbers that nobody can show, or an event of a newer contract.
            Some(Event::Progress(_)) | None => {}
        }
    }
}
