//! Streams that no sound server sends, and losses at chosen places.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, async_trait, transport::Server};
use toolbatch::proto::{
    BatchFinished, BatchPlanned, BatchResumed, CancelBatchRequest, CancelBatchResponse, ExecuteBatchResponse,
    GetBatchRequest, GetBatchResponse, ListBatchesRequest, ListBatchesResponse, WatchBatchResponse,
    batch_service_server::{BatchService, BatchServiceServer},
};

use super::*;

/// What one request is answered with: events by their sequences (the last one of the batch is 9), then a status.
#[derive(Clone)]
struct Answer(Vec<u64>, Result<(), Status>);

/// A server that answers by a script, and notes what it was asked.
#[derive(Clone, Default)]
struct Script(Arc<Mutex<(VecDeque<Answer>, Vec<String>)>>);

type Sent<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

impl Script {
    fn state(&self) -> MutexGuard<'_, (VecDeque<Answer>, Vec<String>)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer<T>(&self, asked: String, wrap: fn(BatchEvent) -> T) -> Response<Sent<T>>
    where
        T: Send + 'static,
    {
        let mut state = self.state();
        state.1.push(asked);
        let Answer(events, status) = state.0.pop_front().expect("it was asked too often");
        let messages: Vec<_> =
            events.into_iter().map(|sequence| Ok(wrap(event(sequence)))).chain(status.err().map(Err)).collect();
        Response::new(Box::pin(tokio_stream::iter(messages)))
    }
}

fn event(sequence: u64) -> BatchEvent {
    let kind = match sequence {
        9 => Some(Event::BatchFinished(BatchFinished::default())),
        // What a newer server may send.
        5 => None,
        _ => Some(Event::BatchResumed(BatchResumed::default())),
    };
    BatchEvent { sequence, event: kind, ..BatchEvent::default() }
}

#[async_trait]
impl BatchService for Script {
    type ExecuteBatchStream = Sent<ExecuteBatchResponse>;
    type WatchBatchStream = Sent<WatchBatchResponse>;

    async fn execute_batch(
        &self,
        request: Request<ExecuteBatchRequest>,
    ) -> Result<Response<Self::ExecuteBatchStream>, Status> {
        let ExecuteBatchRequest { batch_id, validate_only, .. } = request.into_inner();
        if validate_only {
            let plan = |event| ExecuteBatchResponse {
                event: Some(BatchEvent { event: Some(Event::BatchPlanned(BatchPlanned::default())), ..event }),
            };
            return Ok(self.answer("plan".to_owned(), plan));
        }
        Ok(self.answer(format!("execute {batch_id}"), |event| ExecuteBatchResponse { event: Some(event) }))
    }

    async fn watch_batch(
        &self,
        request: Request<WatchBatchRequest>,
    ) -> Result<Response<Self::WatchBatchStream>, Status> {
        let after = request.into_inner().after_sequence;
        Ok(self.answer(format!("watch {after}"), |event| WatchBatchResponse { event: Some(event) }))
    }

    async fn get_batch(&self, _: Request<GetBatchRequest>) -> Result<Response<GetBatchResponse>, Status> {
        Err(Status::unimplemented("not in the script"))
    }

    async fn list_batches(&self, _: Request<ListBatchesRequest>) -> Result<Response<ListBatchesResponse>, Status> {
        Err(Status::unimplemented("not in the script"))
    }

    async fn cancel_batch(&self, _: Request<CancelBatchRequest>) -> Result<Response<CancelBatchResponse>, Status> {
        Err(Status::unimplemented("not in the script"))
    }
}

/// Follows a batch against the script; gives the sequences that came, what was asked, and the error, if any.
async fn follow(start: Start, answers: &[Answer]) -> (Vec<u64>, Vec<String>, Option<Error>) {
    let script = Script::default();
    script.state().0.extend(answers.iter().cloned());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let asked = format!(r#"{{"do":"run","server":"http://{}"}}"#, listener.local_addr().unwrap());
    let link = Link::new(&serde_json::from_str(&asked).unwrap()).unwrap();
    let reads = async {
        let mut stream = Follow::new(&link, start);
        let mut seen = Vec::new();
        loop {
            match stream.next().await {
                Ok(Some(event)) => seen.push(event.sequence),
                Ok(None) => return (seen, None),
                Err(error) => return (seen, Some(error)),
            }
        }
    };
    let server = Server::builder().add_service(BatchServiceServer::new(script.clone()));
    let (seen, error) = tokio::select! {
        end = reads => end,
        end = server.serve_with_incoming(TcpListenerStream::new(listener)) => panic!("the server ended: {end:?}"),
    };
    let asked = script.state().1.clone();
    (seen, asked, error)
}

fn execute(validate_only: bool) -> Start {
    let request = ExecuteBatchRequest { batch_id: "b".into(), validate_only, ..ExecuteBatchRequest::default() };
    Start::Execute(Box::new(request))
}

fn watch(after: u64) -> Start {
    Start::Watch { batch_id: "b".into(), after }
}

#[tokio::test]
async fn every_event_is_given_out_once_and_in_order() {
    let unavailable = || Err(Status::unavailable("stopping"));
    let answers = [
        Answer(vec![], Ok(())),
        Answer(vec![], unavailable()),
        Answer(vec![1, 0, 1, 2, 4], Ok(())),
        Answer(vec![2, 3, 4, 5], Err(Status::cancelled("by nobody here"))),
        Answer(vec![6, 7, 8, 9], unavailable()),
    ];
    let (seen, asked, error) = follow(execute(false), &answers).await;
    assert_eq!(seen, [1, 0, 2, 3, 4, 5, 6, 7, 8, 9]);
    assert_eq!(asked, ["execute b", "execute b", "execute b", "watch 2", "watch 5"]);
    assert!(error.is_none(), "{error:?}");
}

#[tokio::test]
async fn a_refusal_ends_the_stream_at_once() {
    let answers = [Answer(vec![1], Err(Status::data_loss("damaged")))];
    let (seen, asked, error) = follow(execute(false), &answers).await;
    assert_eq!((seen, asked.len()), (vec![1], 1));
    assert!(matches!(error, Some(Error::Refused(_))), "{error:?}");
}

#[tokio::test]
async fn a_plan_is_asked_for_again_until_it_came() {
    let answers = [Answer(vec![], Err(Status::unavailable("stopping"))), Answer(vec![0], Ok(()))];
    let (seen, asked, error) = follow(execute(true), &answers).await;
    assert_eq!((seen, asked), (vec![0], vec!["plan".to_owned(), "plan".to_owned()]));
    assert!(error.is_none(), "{error:?}");
}

#[tokio::test]
async fn a_watch_from_the_last_event_ends_without_one() {
    let (seen, asked, error) = follow(watch(9), &[Answer(vec![], Ok(()))]).await;
    assert_eq!((seen, asked), (vec![], vec!["watch 9".to_owned()]));
    assert!(error.is_none(), "{error:?}");
    let answers = [Answer(vec![8], Ok(())), Answer(vec![], Ok(())), Answer(vec![9], Ok(()))];
    let (seen, _, error) = follow(watch(7), &answers).await;
    assert_eq!(seen, [8, 9], "it is lost where something was to come");
    assert!(error.is_none(), "{error:?}");
}
