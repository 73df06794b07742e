//! A proxy that cuts connections right after a message of an answer.
//!
//! The client always gets what was sent before the cut: the proxy ends its side of the connection, and closes it when the client has
//! done so, too. Each connection carries a message at least, so a client that comes back gets on.

mod frame;

use std::{collections::HashMap, io, sync::Arc, time::Duration};

use anyhow::Context as _;
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt as _},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::Mutex,
    task::JoinSet,
};

use self::frame::{Frame, Messages};
use crate::scenario::Cut;

/// How long a client may take to notice that its connection has ended.
const FAREWELL: Duration = Duration::from_secs(5);

/// A proxy in front of a server; it ends when this is dropped.
pub(crate) struct Proxy {
    endpoint: String,
    _tasks: JoinSet<()>,
}

/// How many messages there were, and where the next cuts are.
#[derive(Debug)]
struct Counter {
    cut: Cut,
    messages: u64,
}

impl Counter {
    /// Counts one more message; whether the connection is cut after it.
    fn cuts(&mut self) -> bool {
        self.messages += 1;
        match &self.cut {
            Cut::Never => false,
            Cut::EveryEvent => true,
            Cut::After(numbers) => numbers.contains(&self.messages),
        }
    }
}

impl Proxy {
    /// Starts one on a port of its own, in front of `http://HOST:PORT`.
    pub(crate) async fn start(server: &str, cut: Cut) -> anyhow::Result<Self> {
        let upstream = server.strip_prefix("http://").with_context(|| format!("no proxy reaches {server}"))?.to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.context("the proxy cannot listen")?;
        let endpoint = format!("http://{}", listener.local_addr()?);
        let counter = Arc::new(Mutex::new(Counter { cut, messages: 0 }));
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(listener, upstream, counter));
        Ok(Self { endpoint, _tasks: tasks })
    }

    pub(crate) fn endpoint(&self) -> String {
        self.endpoint.clone()
    }
}

async fn accept(listener: TcpListener, upstream: String, counter: Arc<Mutex<Counter>>) {
    let mut connections = JoinSet::new();
    // A listener that fails is a server that is away: clients tell.
    while let Ok((client, _)) = listener.accept().await {
        let (upstream, counter) = (upstream.clone(), Arc::clone(&counter));
        connections.spawn(async move {
            // A server that is away is a client's connection that ends at once.
            if let Ok(server) = TcpStream::connect(upstream).await {
                // However it ends, both sides are closed.
                let _ = connect(client, server, &counter).await;
            }
        });
        while connections.try_join_next().is_some() {}
    }
}

async fn connect(client: TcpStream, server: TcpStream, counter: &Mutex<Counter>) -> io::Result<()> {
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (mut from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let ended = {
        let asked = ask(&mut from_client, to_server);
        tokio::pin!(asked);
        let answered = answer(from_server, to_client, counter);
        tokio::pin!(answered);
        tokio::select! {
            ended = &mut answered => ended?,
            asked = &mut asked => {
                asked?;
                answered.await?
            }
        }
    };
    // Closing what still holds unread bytes resets a connection, and takes from the client what it has not read yet.
    drop(ended);
    let mut rest = tokio::io::sink();
    let _ = tokio::time::timeout(FAREWELL, tokio::io::copy(&mut from_client, &mut rest)).await;
    Ok(())
}

/// What the client sends goes on as it is.
async fn ask(from_client: &mut OwnedReadHalf, mut to_server: OwnedWriteHalf) -> io::Result<()> {
    tokio::io::copy(from_client, &mut to_server).await?;
    to_server.shutdown().await
}

/// What the server sends goes on up to a cut, or to its end; then the client's side is told that there is no more.
async fn answer(
    from_server: OwnedReadHalf,
    to_client: OwnedWriteHalf,
    counter: &Mutex<Counter>,
) -> io::Result<OwnedWriteHalf> {
    let (mut from_server, mut to_client) = (from_server, to_client);
    forward(&mut from_server, &mut to_client, counter).await?;
    to_client.shutdown().await?;
    Ok(to_client)
}

async fn forward(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    counter: &Mutex<Counter>,
) -> io::Result<()> {
    let mut streams: HashMap<u32, Messages> = HashMap::new();
    while let Some(frame) = Frame::read(from).await? {
        let mut cut = None;
        if let Some(data) = frame.data() {
            let ends = streams.entry(frame.stream()).or_default().ends(data);
            let mut counter = counter.lock().await;
            cut = ends.into_iter().find(|_| counter.cuts());
        }
        match cut {
            Some(end) => {
                to.write_all(&frame.up_to(end).bytes()).await?;
                return to.flush().await;
            }
            None => to.write_all(&frame.bytes()).await?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;

    fn message(text: &str) -> Vec<u8> {
        [&[0, 0, 0, 0, u8::try_from(text.len()).unwrap()], text.as_bytes()].concat()
    }

    async fn through(cut: Cut, frames: &[Frame]) -> Vec<u8> {
        let bytes: Vec<u8> = frames.iter().flat_map(Frame::bytes).collect();
        let counter = Mutex::new(Counter { cut, messages: 0 });
        let mut out = Vec::new();
        forward(&mut &bytes[..], &mut out, &counter).await.unwrap();
        out
    }

    #[tokio::test]
    async fn a_connection_is_cut_after_a_message() {
        let both = [message("one"), message("two")].concat();
        let frames = [Frame::new(4, 0, 0, vec![]), Frame::new(0, 1, 1, both), Frame::new(1, 5, 1, vec![9])];
        let all: Vec<u8> = frames.iter().flat_map(Frame::bytes).collect();
        assert_eq!(through(Cut::After(vec![3]), &frames).await, all);
        let first = [frames[0].bytes(), Frame::new(0, 0, 1, message("one")).bytes()].concat();
        assert_eq!(through(Cut::EveryEvent, &frames).await, first);
        let second =
            [frames[0].bytes(), Frame::new(0, 0, 1, [message("one"), message("two")].concat()).bytes()].concat();
        assert_eq!(through(Cut::After(vec![2]), &frames).await, second);
    }

    #[tokio::test]
    async fn the_client_gets_what_was_sent_before_the_cut() {
        let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", server.local_addr().unwrap());
        let proxy = Proxy::start(&address, Cut::EveryEvent).await.unwrap();
        let frame = Frame::new(0, 0, 1, message("one"));
        for _ in 0..2 {
            let mut client = TcpStream::connect(proxy.endpoint().trim_start_matches("http://")).await.unwrap();
            let (mut peer, _) = server.accept().await.unwrap();
            client.write_all(b"asked").await.unwrap();
            let mut asked = [0; 5];
            peer.read_exact(&mut asked).await.unwrap();
            peer.write_all(&[frame.bytes(), frame.bytes()].concat()).await.unwrap();
            let mut got = Vec::new();
            client.read_to_end(&mut got).await.unwrap();
            assert_eq!((&asked, got), (b"asked", frame.bytes()));
        }
    }
}
