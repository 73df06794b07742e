//! A task's feed: entries of its batches' logs as cards, and places in it as tokens.

use std::sync::Arc;

use prost::encoding::{decode_varint, encode_varint};
use tokio::time::{Instant, sleep_until};
use tonic::Status;

use super::{convert, page, status, stream::Events};
use crate::{
    batch::{
        core::{BatchNo, TaskNo},
        event::{CallFinished, Ending, Event},
    },
    engine::{
        Engine,
        feed::{Feed, FeedBatch, News, OPEN_MAX, Place},
    },
    json,
    proto::{self, BatchStatus, BatchSummary, CallStatus, FeedCard, WatchTaskResponse},
};

/// What of an error's message stands on a card: a line.
const DETAIL_BYTES: usize = 256;
/// What a client whose deadline has passed can do.
const WATCH_AGAIN: &str = "the task goes on: watch it with the last resume_token received";

struct Source {
    engine: Engine,
    feed: Feed,
    /// What its tokens are bound to.
    list: [String; 4],
    deadline: Option<Instant>,
    over: bool,
}

/// The cards of a task, each with a token of the place behind it.
pub(super) async fn watch(
    engine: &Engine,
    tenant: Arc<str>,
    request: proto::WatchTaskRequest,
    deadline: Option<Instant>,
) -> Result<Events<WatchTaskResponse>, Status> {
    let proto::WatchTaskRequest { task_id, resume_token } = request;
    if task_id.is_empty() {
        return Err(status::invalid("task_id", "is empty; expected a task's id"));
    }
    let (owner, wanted) = (Arc::clone(&tenant), task_id.clone());
    let task = engine.read(move |reader| reader.known_task(&owner, &wanted)).await.map_err(status::engine)?;
    let list = tokens_of(&tenant, &task_id, task);
    let place = read(&list, &resume_token).ok_or_else(|| {
        status::invalid(
            "resume_token",
            "is not a token of this task's feed; expected the resume_token of a message of it, or nothing",
        )
    })?;
    let feed = engine.feed(&tenant, &task_id, task, place).await.map_err(status::engine)?;
    let source = Source { engine: engine.clone(), feed, list, deadline, over: false };
    Ok(Box::pin(futures_util::stream::unfold(source, |mut source| async move {
        if source.over {
            return None;
        }
        let item = source.next().await?;
        source.over = item.is_err();
        Some((item, source))
    })))
}

impl Source {
    async fn next(&mut self) -> Option<Result<WatchTaskResponse, Status>> {
        loop {
            let news = match self.deadline {
                None => self.feed.next().await,
                Some(deadline) => tokio::select! {
                    biased;
                    () = sleep_until(deadline) => return Some(Err(status::deadline(WATCH_AGAIN))),
                    news = self.feed.next() => news,
                },
            };
            let news = match news? {
                Ok(news) => news,
                Err(error) => return Some(Err(status::engine(error))),
            };
            match self.card(&news).await {
                Ok(None) => {}
                Ok(card) => {
                    let resume_token = write(&self.list, &self.feed.place());
                    return Some(Ok(WatchTaskResponse { card, resume_token }));
                }
                Err(status) => return Some(Err(status)),
            }
        }
    }

    /// The card that an entry brings, if it brings one.
    async fn card(&self, News { batch, entry }: &News) -> Result<Option<FeedCard>, Status> {
        let card = match &entry.event {
            Event::BatchStarted | Event::BatchFinished { .. } if batch.direct => return Ok(None),
            Event::BatchStarted => batch_card(
                batch,
                CallStatus::Running,
                BatchSummary { status: BatchStatus::Running.into(), total: count(batch), ..BatchSummary::default() },
            ),
            Event::BatchFinished { .. } => {
                let at = batch.at;
                let view = self.engine.read(move |reader| reader.batch(at)).await.map_err(status::engine)?;
                batch_card(batch, CallStatus::Completed, convert::summary(&view))
            }
            Event::CallStarted { index, step_id, attempt: 1, .. } => FeedCard {
                step_id: step_id.to_string(),
                status: CallStatus::Running.into(),
                ..call_card(batch, *index)
            },
            // The step that a skipped call names is another's, and has its cards.
            Event::CallFinished(CallFinished { ending: Ending::Skipped { .. }, .. })
            | Event::CallStarted { .. }
            | Event::CallRetrying { .. }
            | Event::BatchResumed { .. } => return Ok(None),
            Event::CallFinished(finished) => FeedCard {
                step_id: finished.step_id.to_string(),
                status: convert::call_status(&finished.ending).into(),
                detail: call_detail(finished),
                ..call_card(batch, finished.index)
            },
        };
        Ok(Some(FeedCard { update_time: Some(convert::timestamp(entry.time)), ..card }))
    }
}

fn count(batch: &FeedBatch) -> u32 {
    u32::try_from(batch.outline.calls.len()).unwrap_or(u32::MAX)
}

fn batch_card(batch: &FeedBatch, status: CallStatus, summary: BatchSummary) -> FeedCard {
    let calls = if summary.total == 1 { "call" } else { "calls" };
    FeedCard {
        step_id: batch.batch_id.clone(),
        title: format!("batch of {} {calls}", summary.total),
        status: status.into(),
        detail: summary.counts_in_words(),
        summary: Some(summary),
        ..FeedCard::default()
    }
}

/// What the cards of a call have in common.
fn call_card(batch: &FeedBatch, index: u32) -> FeedCard {
    let call = batch.outline.calls.get(index as usize);
    FeedCard {
        parent_step_id: if batch.direct { String::new() } else { batch.batch_id.clone() },
        title: call.map_or_else(String::new, |call| call.tool.to_string()),
        ..FeedCard::default()
    }
}

/// How a call ended, in one line, where its status does not say all: `after 2 attempts: no stock`.
fn call_detail(finished: &CallFinished) -> String {
    let attempts = match finished.attempts {
        0 | 1 => String::new(),
        attempts => format!("after {attempts} attempts"),
    };
    let rest = match &finished.ending {
        Ending::Completed { .. } | Ending::Skipped { .. } => String::new(),
        Ending::Awaiting { await_id, .. } => format!("waits for review {await_id}"),
        Ending::Failed(error) => {
            let doubt = if error.outcome_unknown { "it may have taken effect: " } else { "" };
            let line = error.message.lines().next().unwrap_or_default();
            format!("{doubt}{}", json::cut(line, DETAIL_BYTES))
        }
    };
    [attempts, rest].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(": ")
}

/// What a feed's tokens are bound to. A task that was dropped and began anew has another number.
fn tokens_of(tenant: &str, task_id: &str, task: TaskNo) -> [String; 4] {
    ["feed".into(), tenant.into(), task_id.into(), task.0.to_string()]
}

/// A place as a token: the numbers of the place, each batch as its distance from the one before.
fn write(list: &[String; 4], place: &Place) -> String {
    let mut bytes = Vec::with_capacity(8 + 4 * place.open.len());
    encode_varint(place.next.0, &mut bytes);
    let mut before = 0;
    for (batch, after) in &place.open {
        encode_varint(batch.0 - before, &mut bytes);
        encode_varint(*after, &mut bytes);
        before = batch.0;
    }
    page::token(&list.each_ref().map(String::as_str), &bytes)
}

/// The place that a token is of.
fn read(list: &[String; 4], token: &str) -> Option<Place> {
    if token.is_empty() {
        return Some(Place::START);
    }
    let bytes = page::opened(&list.each_ref().map(String::as_str), token)?;
    let mut rest = bytes.as_slice();
    let mut place = Place { next: BatchNo(decode_varint(&mut rest).ok()?), ..Place::START };
    let mut batch = 0_u64;
    while !rest.is_empty() {
        batch = batch.checked_add(decode_varint(&mut rest).ok()?)?;
        place.open.insert(BatchNo(batch), decode_varint(&mut rest).ok()?);
    }
    // No feed gives such a token, and each of them costs a look at a log.
    if place.open.len() > OPEN_MAX {
        return None;
    }
    Some(place)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn place() -> impl Strategy<Value = Place> {
        let open = prop::collection::btree_map(any::<u64>().prop_map(BatchNo), any::<u64>(), 0..40);
        (any::<u64>().prop_map(BatchNo), open).prop_map(|(next, open)| Place { next, open })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_token_leads_back_to_its_place_and_only_in_its_task(place in place()) {
            let list = tokens_of("acme", "T", TaskNo(1));
            let token = write(&list, &place);
            prop_assert_eq!(read(&list, &token), Some(place));
            prop_assert_eq!(read(&tokens_of("acme", "T", TaskNo(2)), &token), None);
            prop_assert_eq!(read(&tokens_of("acme", "U", TaskNo(1)), &token), None);
            prop_assert_eq!(read(&tokens_of("globex", "T", TaskNo(1)), &token), None);
        }
    }

    #[test]
    fn what_is_no_token_is_no_place() {
        let list = tokens_of("acme", "T", TaskNo(1));
        assert_eq!(read(&list, ""), Some(Place::START));
        let token = write(&list, &Place::START);
        for wrong in ["x", "00", &token[1..], &token[..token.len() - 2], &format!("{token}00"), &"é".repeat(9)] {
            assert_eq!(read(&list, wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_token_is_small_where_many_batches_are_open() {
        let open = (0..256).map(|number| (BatchNo(1_000_000_000 + 3 * number), 400)).collect();
        let place = Place { next: BatchNo(1_000_001_000), open };
        assert!(write(&tokens_of("acme", "T", TaskNo(1)), &place).len() < 2_048);
    }
}
