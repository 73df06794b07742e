//! Against a server that plays what it is told to, over a proxy that can tear connections apart.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinSet,
};
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, transport::Server};

use super::*;
use crate::cli::args::ServerArgs;
use crate::proto::{
    BatchFinished, BatchStarted, BatchStatus, CallFinished, CallProgress, CallStarted, CancelBatchRequest,
    CancelBatchResponse, ExecuteBatchResponse, GetBatchRequest, GetBatchResponse, ListBatchesRequest,
    ListBatchesResponse, WatchBatchResponse,
    batch_service_server::{BatchService, BatchServiceServer},
};

/// How a stream comes to its end before the batch does.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Tear {
    Unavailable,
    CleanEnd,
    Connection,
    Refusal,
}

/// What the n-th stream does: it leaves out what the client knows, unless it is told to repeat, sends so many events, and ends.
#[derive(Clone, Copy, Debug)]
struct Play {
    from_first: bool,
    skip: usize,
    send: usize,
    tear: Tear,
}

impl Play {
    const ALL: Self = Self { from_first: false, skip: 0, send: usize::MAX, tear: Tear::CleanEnd };

    fn torn(send: usize, tear: Tear) -> Self {
        Self { send, tear, ..Self::ALL }
    }
}

/// The batch: progress stands between its events, without a number.
fn batch() -> Vec<BatchEvent> {
    let body = [
        (1, Event::BatchStarted(BatchStarted { total: 1, ..BatchStarted::default() })),
        (2, Event::CallStarted(CallStarted::default())),
        (0, Event::CallProgress(CallProgress::default())),
        (3, Event::CallFinished(CallFinished::default())),
        (
            4,
            Event::BatchFinished(BatchFinished {
                summary: Some(BatchSummary { status: BatchStatus::Completed.into(), ..BatchSummary::default() }),
            }),
        ),
    ];
    body.map(|(sequence, event)| BatchEvent {
        batch_id: "b".into(),
        sequence,
        event: Some(event),
        ..BatchEvent::default()
    })
    .into()
}

#[derive(Clone)]
struct Canned {
    events: Vec<BatchEvent>,
    plays: Arc<Vec<Play>>,
    streams: Arc<AtomicUsize>,
    asked: Arc<Mutex<Vec<String>>>,
    tear: watch::Sender<usize>,
}

type Played<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

impl Canned {
    fn play<T: Send + 'static>(&self, after: u64, wrap: fn(BatchEvent) -> T) -> Played<T> {
        let number = self.streams.fetch_add(1, Ordering::SeqCst);
        let play = *self.plays.get(number).or(self.plays.last()).unwrap();
        let events: Vec<_> = self
            .events
            .iter()
            .filter(|event| play.from_first || event.sequence == 0 || event.sequence > after)
            .skip(play.skip)
            .take(play.send)
            .cloned()
            .collect();
        let tear = self.tear.clone();
        let rest = futures_util::stream::once(async move {
            match play.tear {
                Tear::Unavailable => Some(Err(Status::unavailable("going away"))),
                Tear::Refusal => Some(Err(Status::data_loss("the batch is damaged"))),
                Tear::CleanEnd => None,
                Tear::Connection => {
                    tear.send_modify(|count| *count += 1);
                    std::future::pending().await
                }
            }
        });
        Box::pin(tokio_stream::iter(events).map(move |event| Ok(wrap(event))).chain(rest.filter_map(|item| item)))
    }
}

#[tonic::async_trait]
impl BatchService for Canned {
    type ExecuteBatchStream = Played<ExecuteBatchResponse>;

    async fn execute_batch(
        &self,
        _: Request<ExecuteBatchRequest>,
    ) -> Result<Response<Self::ExecuteBatchStream>, Status> {
        self.asked.lock().unwrap().push("execute".into());
        Ok(Response::new(self.play(0, |event| ExecuteBatchResponse { event: Some(event) })))
    }

    type WatchBatchStream = Played<WatchBatchResponse>;

    async fn watch_batch(
        &self,
        request: Request<WatchBatchRequest>,
    ) -> Result<Response<Self::WatchBatchStream>, Status> {
        let after = request.into_inner().after_sequence;
        self.asked.lock().unwrap().push(format!("watch {after}"));
        Ok(Response::new(self.play(after, |event| WatchBatchResponse { event: Some(event) })))
    }

    async fn get_batch(&self, _: Request<GetBatchRequest>) -> Result<Response<GetBatchResponse>, Status> {
        Err(Status::unimplemented("not played"))
    }

    async fn list_batches(&self, _: Request<ListBatchesRequest>) -> Result<Response<ListBatchesResponse>, Status> {
        Err(Status::unimplemented("not played"))
    }

    async fn cancel_batch(&self, _: Request<CancelBatchRequest>) -> Result<Response<CancelBatchResponse>, Status> {
        Err(Status::unimplemented("not played"))
    }
}

/// Passes connections through until it is told to tear them.
async fn proxy(listener: TcpListener, to: SocketAddr, tear: watch::Sender<usize>) {
    let mut connections = JoinSet::new();
    loop {
        let (mut client, _) = listener.accept().await.unwrap();
        let mut torn = tear.subscribe();
        connections.spawn(async move {
            let mut server = TcpStream::connect(to).await.unwrap();
            tokio::select! {
                _ = copy_bidirectional(&mut client, &mut server) => {}
                _ = torn.changed() => {}
            }
        });
    }
}

/// Remembers what it was shown.
#[derive(Default)]
struct Recorder {
    sequences: Vec<u64>,
    notices: Vec<String>,
}

impl Show for Recorder {
    fn event(&mut self, event: &BatchEvent) -> io::Result<()> {
        if event.sequence != 0 {
            self.sequences.push(event.sequence);
        }
        Ok(())
    }

    fn notice(&mut self, text: &str) {
        self.notices.push(text.to_owned());
    }
}

struct Session {
    ended: Result<End, Failure>,
    shown: Recorder,
    asked: Vec<String>,
}

async fn session(plays: &[Play], start: Start) -> Session {
    let (tear, _) = watch::channel(0);
    let canned = Canned {
        events: batch(),
        plays: Arc::new(plays.to_vec()),
        streams: Arc::default(),
        asked: Arc::default(),
        tear: tear.clone(),
    };
    let asked = canned.asked.clone();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let front = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (server, public) = (listener.local_addr().unwrap(), front.local_addr().unwrap());
    let mut tasks = JoinSet::new();
    let service = Server::builder().add_service(BatchServiceServer::new(canned));
    tasks.spawn(async move { service.serve_with_incoming(TcpListenerStream::new(listener)).await.unwrap() });
    tasks.spawn(proxy(front, server, tear));

    let link = Link::open(&ServerArgs::at(&format!("http://{public}"))).await.unwrap();
    let mut follow = Follow::new(&link, start);
    let short = Duration::from_millis(1);
    follow.patience = Patience { first: short, longest: short, attempts: 3 };
    let mut shown = Recorder::default();
    let ended = follow.until_end(&mut shown).await;
    assert_eq!(follow.last(), shown.sequences.last().copied().unwrap_or(follow.last()));
    let asked = asked.lock().unwrap().clone();
    Session { ended, shown, asked }
}

fn execute() -> Start {
    Start::Execute(Box::new(ExecuteBatchRequest { batch_id: "b".into(), ..ExecuteBatchRequest::default() }))
}

#[tokio::test]
async fn a_stream_that_breaks_after_any_event_is_taken_up_without_loss_or_double() {
    for tear in [Tear::Unavailable, Tear::CleanEnd] {
        // What was sent up to here, progress included, and the last number in it.
        for (send, known) in [(0, 0), (1, 1), (2, 2), (3, 2), (4, 3)] {
            let session = session(&[Play::torn(send, tear), Play::ALL], execute()).await;
            assert!(matches!(session.ended, Ok(End::Finished(_))), "{tear:?} after {send}: {:?}", session.ended);
            assert_eq!(session.shown.sequences, [1, 2, 3, 4], "{tear:?} after {send}");
            let second = if known == 0 { "execute".to_owned() } else { format!("watch {known}") };
            assert_eq!(session.asked, ["execute".to_owned(), second], "{tear:?} after {send}");
            assert_eq!(session.shown.notices.len(), 1);
        }
    }
}

#[tokio::test]
async fn a_connection_that_is_torn_is_taken_up_without_loss_or_double() {
    // How much of a torn connection's last bytes arrives is the network's affair; what is shown is not.
    for send in 0..=4 {
        let session = session(&[Play::torn(send, Tear::Connection), Play::ALL], execute()).await;
        assert!(matches!(session.ended, Ok(End::Finished(_))), "after {send}: {:?}", session.ended);
        assert_eq!(session.shown.sequences, [1, 2, 3, 4], "after {send}");
        assert_eq!(session.asked.len(), 2);
    }
}

#[tokio::test]
async fn every_event_may_be_the_last_of_its_stream() {
    let session = session(&[Play::torn(1, Tear::Unavailable)], execute()).await;
    // One event, then one event after each of them; progress alone, which is sent first in the third, is no headway.
    assert_eq!(session.shown.sequences, [1, 2]);
    assert_eq!(session.ended.unwrap_err().exit().code(), 3);
    assert_eq!(session.asked, ["execute", "watch 1", "watch 2", "watch 2", "watch 2"]);
}

#[tokio::test]
async fn what_a_server_repeats_is_not_shown_again() {
    let again = Play { from_first: true, ..Play::ALL };
    let session = session(&[Play::torn(2, Tear::Unavailable), again], execute()).await;
    assert_eq!(session.shown.sequences, [1, 2, 3, 4]);
}

#[tokio::test]
async fn a_gap_is_not_shown_but_asked_for_again() {
    let gap = Play { skip: 1, ..Play::ALL };
    let session = session(&[Play::torn(1, Tear::Unavailable), gap, Play::ALL], execute()).await;
    assert_eq!(session.shown.sequences, [1, 2, 3, 4]);
    assert_eq!(session.asked, ["execute", "watch 1", "watch 1"]);
    assert!(session.shown.notices[1].contains("event 3 came after event 1"), "{:?}", session.shown.notices);
}

#[tokio::test]
async fn a_refusal_is_final() {
    let session = session(&[Play::torn(2, Tear::Refusal), Play::ALL], execute()).await;
    let failure = session.ended.unwrap_err();
    assert_eq!((failure.exit().code(), failure.to_string().as_str()), (2, "refused (DATA_LOSS): the batch is damaged"));
    assert_eq!(session.asked, ["execute"]);
}

#[tokio::test]
async fn patience_has_an_end_that_says_so() {
    let session = session(&[Play::torn(0, Tear::Unavailable)], execute()).await;
    let failure = session.ended.unwrap_err();
    assert_eq!(failure.exit().code(), 3);
    assert!(failure.to_string().ends_with("UNAVAILABLE: going away; gave up after 3 attempts"), "{failure}");
    assert_eq!(session.asked, ["execute"; 4]);
    assert_eq!(
        session.shown.notices[2],
        "lost the server: UNAVAILABLE: going away; going on after event 0 in 1 ms (attempt 3 of 3)"
    );
}

#[tokio::test]
async fn a_watch_begins_where_it_is_told_to() {
    let session = session(&[Play::ALL], Start::Watch { batch_id: "b".into(), after: 2 }).await;
    assert!(session.ended.is_ok());
    assert_eq!(session.shown.sequences, [3, 4]);
    assert_eq!(session.asked, ["watch 2"]);
}

#[test]
fn waits_double_up_to_a_bound() {
    let waits: Vec<u128> = (1..=10).map(|attempt| PATIENCE.wait(attempt, None).as_millis()).collect();
    assert_eq!(waits, [200, 400, 800, 1_600, 3_200, 5_000, 5_000, 5_000, 5_000, 5_000]);
    assert!((30_000..40_000).contains(&waits.iter().sum::<u128>()));
    assert_eq!(PATIENCE.wait(u32::MAX, None).as_millis(), 5_000);
}
