//! A way to a tool backend within the test's own process: what dispatch does over a socket, without one, so that simulated time
//! can stand still while bytes are under way.

use std::io;

use tokio::{
    io::{DuplexStream, duplex},
    sync::mpsc,
};

/// What a pipe holds: as much as one small message and its headers, so that larger ones have to wait for their reader.
const PIPE_BYTES: usize = 64 * 1024;
/// Connections that wait to be served; a backend has one.
const BACKLOG: usize = 4;

/// Connects to the backend at the other end.
#[derive(Clone, Debug)]
pub(crate) struct Dials(mpsc::Sender<DuplexStream>);

/// The backend's end.
pub(crate) type Listener = mpsc::Receiver<DuplexStream>;

/// A backend's address, and where it listens.
pub(crate) fn listen() -> (Dials, Listener) {
    let (dials, listener) = mpsc::channel(BACKLOG);
    (Dials(dials), listener)
}

impl Dials {
    pub(super) async fn dial(&self) -> io::Result<DuplexStream> {
        let (near, far) = duplex(PIPE_BYTES);
        self.0.send(far).await.map_err(|_| io::Error::from(io::ErrorKind::ConnectionRefused))?;
        Ok(near)
    }
}
