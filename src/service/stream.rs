//! A watch as a gRPC stream, pulled at the client's speed, up to the client's own deadline.

use std::{pin::Pin, sync::Arc, time::Duration};

use futures_util::stream;
use http::HeaderMap;
use tokio::time::{Instant, sleep_until};
use tokio_stream::Stream;
use tonic::{Status, metadata::MetadataMap};

use super::{convert, status};
use crate::{
    batch::event::Event,
    engine::{
        Engine,
        read::LogLine,
        watch::{Told, Watch},
    },
    proto::{BatchEvent, BatchSummary},
};

/// What the server-streaming RPCs answer with.
pub(super) type Events<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

/// The header that carries a client's deadline: up to 8 digits and a unit (gRPC over HTTP/2).
const TIMEOUT_HEADER: &str = "grpc-timeout";
/// What a client whose deadline has passed can do.
const WATCH_AGAIN: &str = "the batch goes on: watch it from the last event received";

struct Source {
    engine: Engine,
    batch_id: Arc<str>,
    watch: Watch,
    deadline: Option<Instant>,
    over: bool,
}

/// The events of a watch, each in its response message.
pub(super) fn events<T: 'static>(
    engine: Engine,
    batch_id: Arc<str>,
    watch: Watch,
    deadline: Option<Instant>,
    wrap: fn(BatchEvent) -> T,
) -> Events<T> {
    let source = Source { engine, batch_id, watch, deadline, over: false };
    Box::pin(stream::unfold(source, move |mut source| async move {
        if source.over {
            return None;
        }
        let item = source.next().await?;
        source.over = item.is_err();
        Some((item.map(wrap), source))
    }))
}

impl Source {
    async fn next(&mut self) -> Option<Result<BatchEvent, Status>> {
        let told = match self.deadline {
            None => self.watch.next().await,
            Some(deadline) => tokio::select! {
                biased;
                () = sleep_until(deadline) => return Some(Err(status::deadline(WATCH_AGAIN))),
                told = self.watch.next() => told,
            },
        };
        let event = match told? {
            Ok(Told::Line(line)) => match self.summary(&line).await {
                Ok(summary) => convert::event(&line, &self.watch.outline, summary),
                Err(status) => return Some(Err(status)),
            },
            Ok(Told::Progress(news)) => convert::progress(news),
            Err(error) => return Some(Err(status::engine(error))),
        };
        Some(Ok(BatchEvent { batch_id: self.batch_id.to_string(), ..event }))
    }

    /// The summary that the last event shows.
    async fn summary(&self, line: &LogLine) -> Result<Option<BatchSummary>, Status> {
        if !matches!(line.entry.event, Event::BatchFinished { .. }) {
            return Ok(None);
        }
        let at = self.watch.located();
        let view = self.engine.read(move |reader| reader.batch(at)).await.map_err(status::engine)?;
        Ok(Some(convert::summary(&view)))
    }
}

/// What a client can do whose call goes on without it.
const CALL_AGAIN: &str = "what was called goes on; the same request with the same context.key comes back to it";

/// What `work` gives, where the client still waits for it by then.
pub(super) async fn within<T>(
    deadline: Option<Instant>,
    work: impl Future<Output = Result<T, Status>>,
) -> Result<T, Status> {
    match deadline {
        None => work.await,
        Some(deadline) => tokio::select! {
            biased;
            () = sleep_until(deadline) => Err(status::deadline(CALL_AGAIN)),
            done = work => done,
        },
    }
}

/// When the client's deadline passes, where it set one.
pub(super) fn deadline(metadata: &MetadataMap) -> Option<Instant> {
    let text = metadata.get(TIMEOUT_HEADER)?.to_str().ok()?;
    Some(Instant::now() + timeout(text)?)
}

/// How long the client waits, where it says so.
pub(super) fn timeout_in(headers: &HeaderMap) -> Option<Duration> {
    timeout(headers.get(TIMEOUT_HEADER)?.to_str().ok()?)
}

fn timeout(text: &str) -> Option<Duration> {
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    if digits.is_empty() || digits.len() > 8 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let count: u64 = digits.parse().ok()?;
    match unit {
        "H" => Some(Duration::from_secs(count * 3_600)),
        "M" => Some(Duration::from_secs(count * 60)),
        "S" => Some(Duration::from_secs(count)),
        "m" => Some(Duration::from_millis(count)),
        "u" => Some(Duration::from_micros(count)),
        "n" => Some(Duration::from_nanos(count)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_are_read_as_grpc_writes_them() {
        assert_eq!(timeout("500m"), Some(Duration::from_millis(500)));
        assert_eq!(timeout("99999999H"), Some(Duration::from_hours(99_999_999)));
        for wrong in ["", "5", "m", "123456789S", "-1S", "1é", "5x"] {
            assert_eq!(timeout(wrong), None, "{wrong}");
        }
    }
}
