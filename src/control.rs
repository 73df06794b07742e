//! How a command reaches the server that has a store open: a socket in its data folder, for the user who runs the server.
//!
//! A request is one line of JSON, `{"backup": "/absolute/path"}`; the answer is a line `{"copied": BYTES}` now and then, and at the
//! end `{"done": BYTES}`, `{"refused": "..."}` or `{"error": "..."}`. It is no part of the contract: client and server are the same program.

use std::{
    fs, io,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::{Arc, Weak},
};

use serde::{Deserialize, Serialize};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{UnixListener, UnixStream},
    sync::mpsc,
    task::JoinSet,
};

use crate::store::{Embedded, Error};

/// The longest request: the longest path there is, escaped.
const REQUEST_MAX: u64 = 64 << 10;
/// How often a copy tells how far it is.
const TELL_EVERY: u64 = 16 << 20;
/// Lines that wait for their client.
const LINES: usize = 16;

#[derive(Debug, Deserialize, Serialize)]
enum Request {
    #[serde(rename = "backup")]
    Backup(PathBuf),
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum Answer {
    Copied(u64),
    Done(u64),
    /// The request is wrong; nothing was done.
    Refused(String),
    Error(String),
}

/// The server's end. Dropped, it serves no more.
#[derive(Debug)]
pub(crate) struct Control {
    socket: PathBuf,
    _serving: JoinSet<()>,
}

fn socket(data_dir: &Path) -> PathBuf {
    data_dir.join("control.sock")
}

impl Control {
    /// Listens in the folder of a store that this process holds.
    pub(crate) fn open(data_dir: &Path, store: &Arc<Embedded>) -> io::Result<Self> {
        let socket = socket(data_dir);
        // The store's lock is ours, so nobody else listens there.
        match fs::remove_file(&socket) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let listener = UnixListener::bind(&socket)?;
        fs::set_permissions(&socket, fs::Permissions::from_mode(0o600))?;
        let mut serving = JoinSet::new();
        serving.spawn(serve(listener, Arc::downgrade(store)));
        Ok(Self { socket, _serving: serving })
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        // One that stays is replaced at the next start.
        let _ = fs::remove_file(&self.socket);
    }
}

async fn serve(listener: UnixListener, store: Weak<Embedded>) {
    let mut clients = JoinSet::new();
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let store = store.clone();
                clients.spawn(async move {
                    // A client that goes away has no use for an answer.
                    let _ = answer(stream, store).await;
                });
            }
            Err(error) => tracing::warn!(%error, "a command could not reach the server by its data folder"),
        }
        while clients.try_join_next().is_some() {}
    }
}

async fn answer(stream: UnixStream, store: Weak<Embedded>) -> io::Result<()> {
    let (read, mut write) = stream.into_split();
    let mut line = String::new();
    BufReader::new(read.take(REQUEST_MAX)).read_line(&mut line).await?;
    let (lines, mut answers) = mpsc::channel(LINES);
    match (serde_json::from_str(&line), store.upgrade()) {
        (Ok(Request::Backup(to)), Some(store)) => {
            let copy = tokio::task::spawn_blocking(move || {
                let last = match back_up(&store, &to, &lines) {
                    Ok(bytes) => Answer::Done(bytes),
                    Err(error @ Error::Refused(_)) => Answer::Refused(error.to_string()),
                    Err(error) => Answer::Error(error.to_string()),
                };
                // Nobody may wait any more.
                let _ = lines.blocking_send(last);
            });
            while let Some(answer) = answers.recv().await {
                send(&mut write, &answer).await?;
            }
            copy.await.map_err(io::Error::other)
        }
        (Err(error), _) => send(&mut write, &Answer::Error(format!("the request cannot be read: {error}"))).await,
        (Ok(_), None) => send(&mut write, &Answer::Error("the server is stopping".to_owned())).await,
    }
}

fn back_up(store: &Embedded, to: &Path, lines: &mpsc::Sender<Answer>) -> Result<u64, Error> {
    let mut told = 0;
    let copied = store.snapshot(to, &mut |bytes| {
        if bytes / TELL_EVERY > told / TELL_EVERY {
            told = bytes;
            let gone = |_| Error::Refused("the backup is given up, as nobody waits for it any more".to_owned());
            lines.blocking_send(Answer::Copied(bytes)).map_err(gone)?;
        }
        Ok(())
    })?;
    tracing::info!(to = %to.display(), lsn = copied.lsn, bytes = copied.bytes, "a backup was made");
    Ok(copied.bytes)
}

async fn send(write: &mut (impl tokio::io::AsyncWrite + Unpin), answer: &Answer) -> io::Result<()> {
    let mut line = serde_json::to_vec(answer)?;
    line.push(b'\n');
    write.write_all(&line).await
}

/// What came of asking a server for a backup.
#[derive(Debug)]
pub(crate) enum Asked {
    /// It is made; so many bytes.
    Done(u64),
    /// No server has the store open.
    NoServer,
    /// The request is wrong; nothing was done.
    Refused(String),
    /// The server could not make it.
    Failed(String),
}

/// Asks the server that has the store in `data_dir` open to copy it to the absolute path `to`.
pub(crate) async fn ask_for_backup(data_dir: &Path, to: &Path, mut progress: impl FnMut(u64)) -> io::Result<Asked> {
    let stream = match UnixStream::connect(socket(data_dir)).await {
        Ok(stream) => stream,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) => {
            return Ok(Asked::NoServer);
        }
        Err(error) => return Err(error),
    };
    let (read, mut write) = stream.into_split();
    let mut request = serde_json::to_vec(&Request::Backup(to.to_owned()))?;
    request.push(b'\n');
    write.write_all(&request).await?;
    let mut lines = BufReader::new(read).lines();
    while let Some(line) = lines.next_line().await? {
        match serde_json::from_str(&line)? {
            Answer::Copied(bytes) => progress(bytes),
            Answer::Done(bytes) => return Ok(Asked::Done(bytes)),
            Answer::Refused(why) => return Ok(Asked::Refused(why)),
            Answer::Error(error) => return Ok(Asked::Failed(error)),
        }
    }
    Ok(Asked::Failed("the server ended before the backup was made; start it again, and then the backup".to_owned()))
}
