//! Where connections come from: a TCP port or a Unix socket.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    path::{Path, PathBuf},
};

use rustix::{fs::Mode, process::umask};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream, UnixListener, UnixStream},
};

use crate::config::Listen;

/// What the owner of the socket may do with it, and nobody else.
const OTHERS: Mode = Mode::from_raw_mode(0o177);

/// What bytes of a connection go through.
pub(super) trait Io: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

/// A connection as it came in.
pub(super) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// Bound to an address. A Unix socket's file goes with it.
pub(super) enum Socket {
    Tcp { listener: TcpListener, address: SocketAddr },
    Unix { listener: UnixListener, file: SocketFile },
}

/// Removed when dropped.
pub(super) struct SocketFile(PathBuf);

impl Drop for SocketFile {
    fn drop(&mut self) {
        // One that stays is replaced at the next start.
        let _ = std::fs::remove_file(&self.0);
    }
}

impl Socket {
    pub(super) async fn bind(listen: &Listen) -> io::Result<Self> {
        match listen {
            Listen::Tcp(address) => {
                let listener = TcpListener::bind(address).await?;
                let address = listener.local_addr()?;
                Ok(Self::Tcp { listener, address })
            }
            Listen::Unix(path) => {
                let listener = bind_unix(path).await?;
                Ok(Self::Unix { listener, file: SocketFile(path.clone()) })
            }
        }
    }

    pub(super) fn endpoint(&self, tls: bool) -> String {
        match self {
            Self::Tcp { address, .. } => format!("{}://{address}", if tls { "https" } else { "http" }),
            Self::Unix { file, .. } => format!("unix:{}", file.0.display()),
        }
    }

    /// The next connection, and where it comes from if that is another machine.
    pub(super) async fn accept(&self) -> io::Result<(Stream, Option<IpAddr>)> {
        match self {
            Self::Tcp { listener, .. } => {
                let (stream, peer) = listener.accept().await?;
                stream.set_nodelay(true)?;
                let peer = peer.ip().to_canonical();
                Ok((Stream::Tcp(stream), Some(peer).filter(|peer| !peer.is_loopback())))
            }
            Self::Unix { listener, .. } => Ok((Stream::Unix(listener.accept().await?.0), None)),
        }
    }
}

/// A socket file outlives the process that made it: one that nobody listens on is replaced.
async fn bind_unix(path: &Path) -> io::Result<UnixListener> {
    match UnixStream::connect(path).await {
        Ok(_) => return Err(io::ErrorKind::AddrInUse.into()),
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => std::fs::remove_file(path)?,
        // There is nothing to replace, or binding will say what is wrong.
        Err(_) => {}
    }
    // Changing its mode afterwards would leave a moment in which anybody can connect.
    let before = umask(OTHERS);
    let listener = UnixListener::bind(path);
    umask(before);
    listener
}
