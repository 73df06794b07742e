//! HTTP/2 by hand: frames that no library would send.

use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::{TcpStream, UnixStream},
};

pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PING: u8 = 6;
pub(crate) const GOAWAY: u8 = 7;
pub(crate) const WINDOW_UPDATE: u8 = 8;
pub(crate) const CONTINUATION: u8 = 9;

pub(crate) const ACK: u8 = 1;
pub(crate) const END_STREAM: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;

pub(crate) const FLOW_CONTROL_ERROR: u32 = 3;
pub(crate) const REFUSED_STREAM: u32 = 7;
pub(crate) const CANCEL: u32 = 8;
pub(crate) const ENHANCE_YOUR_CALM: u32 = 11;

trait Io: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

/// A connection on which anything can be said.
pub(crate) struct Raw(Box<dyn Io>);

/// A frame that came.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    pub(crate) stream: u32,
    pub(crate) payload: Vec<u8>,
}

impl Frame {
    /// Of a GOAWAY or a reset.
    pub(crate) fn code(&self) -> u32 {
        let at = if self.kind == GOAWAY { 4 } else { 0 };
        u32::from_be_bytes(self.payload[at..at + 4].try_into().expect("a code"))
    }
}

pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("it is short").to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// A header as HPACK has it without a table.
pub(crate) fn header(name: &str, value: &str) -> Vec<u8> {
    let length = |text: &str| u8::try_from(text.len()).ok().filter(|length| *length < 127).expect("it is short");
    [&[0, length(name)], name.as_bytes(), &[length(value)], value.as_bytes()].concat()
}

/// The headers of a request.
pub(crate) fn request(path: &str) -> Vec<u8> {
    let headers = [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", path),
        (":authority", "a"),
        ("content-type", "application/grpc"),
        ("te", "trailers"),
    ];
    headers.into_iter().flat_map(|(name, value)| header(name, value)).collect()
}

/// A request with its message on a stream, complete.
pub(crate) fn whole_request(stream: u32, path: &str, message: &impl prost::Message) -> Vec<u8> {
    let bytes = message.encode_to_vec();
    let length = u32::try_from(bytes.len()).expect("it is short").to_be_bytes();
    let body = [&[0][..], &length, &bytes].concat();
    [frame(HEADERS, END_HEADERS, stream, &request(path)), frame(DATA, END_STREAM, stream, &body)].concat()
}

impl Raw {
    /// A connection on which nothing was said.
    pub(crate) async fn connect(endpoint: &str) -> Self {
        let there = "the server is there";
        Self(match (endpoint.strip_prefix("unix:"), endpoint.split_once("://")) {
            (Some(path), _) => Box::new(UnixStream::connect(path).await.expect(there)),
            (None, Some((_, address))) => Box::new(TcpStream::connect(address).await.expect(there)),
            (None, None) => panic!("{endpoint} is no endpoint"),
        })
    }

    /// A connection that was greeted with these settings.
    pub(crate) async fn open(endpoint: &str, settings: &[(u16, u32)]) -> Self {
        let mut raw = Self::connect(endpoint).await;
        let entry = |(id, value): &(u16, u32)| [&id.to_be_bytes()[..], &value.to_be_bytes()].concat();
        let settings: Vec<u8> = settings.iter().flat_map(entry).collect();
        assert!(raw.say(&[PREFACE, &frame(SETTINGS, 0, 0, &settings)].concat()).await, "it is greeted");
        raw
    }

    /// Whether it was sent: what is closed takes nothing.
    pub(crate) async fn say(&mut self, bytes: &[u8]) -> bool {
        self.0.write_all(bytes).await.is_ok()
    }

    /// The next frame; `None` once the server has closed the connection.
    pub(crate) async fn hear(&mut self) -> Option<Frame> {
        let mut head = [0; 9];
        self.0.read_exact(&mut head).await.ok()?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = vec![0; usize::try_from(length).expect("it fits")];
        self.0.read_exact(&mut payload).await.ok()?;
        let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        Some(Frame { kind: head[3], flags: head[4], stream, payload })
    }

    /// Waits until the server closes, and gives the code of the GOAWAY before that, if one arrived.
    pub(crate) async fn closed(&mut self) -> Option<u32> {
        let mut code = None;
        while let Some(frame) = self.hear().await {
            if frame.kind == GOAWAY {
                code = Some(frame.code());
            }
        }
        code
    }

    /// The first frame that fits.
    pub(crate) async fn until(&mut self, fits: impl Fn(&Frame) -> bool) -> Frame {
        loop {
            let frame = self.hear().await.expect("the connection is open");
            if fits(&frame) {
                return frame;
            }
        }
    }
}
