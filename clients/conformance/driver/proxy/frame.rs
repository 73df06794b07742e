//! As much of HTTP/2 and of gRPC as tells where a message of an answer ends.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt as _};

const HEAD: usize = 9;
const DATA: u8 = 0;
const END_STREAM: u8 = 1;
const PADDED: u8 = 8;
/// A gRPC message begins with a flag and its length in four bytes.
const PREFIX: usize = 5;

/// One frame of HTTP/2.
#[derive(Debug)]
pub(crate) struct Frame {
    kind: u8,
    flags: u8,
    stream: u32,
    payload: Vec<u8>,
}

impl Frame {
    pub(crate) fn new(kind: u8, flags: u8, stream: u32, payload: Vec<u8>) -> Self {
        Self { kind, flags, stream, payload }
    }

    /// The next frame; none where the connection has ended.
    pub(crate) async fn read(from: &mut (impl AsyncRead + Unpin)) -> io::Result<Option<Self>> {
        let mut head = [0; HEAD];
        match from.read_exact(&mut head).await {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            Err(error) => return Err(error),
        }
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = vec![0; usize::try_from(length).map_err(io::Error::other)?];
        from.read_exact(&mut payload).await?;
        let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        Ok(Some(Self { kind: head[3], flags: head[4], stream, payload }))
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let [_, a, b, c] = u32::try_from(self.payload.len()).unwrap_or(u32::MAX).to_be_bytes();
        [&[a, b, c, self.kind, self.flags], &self.stream.to_be_bytes()[..], &self.payload].concat()
    }

    pub(crate) fn stream(&self) -> u32 {
        self.stream
    }

    /// What it carries of a body, without padding; none where it carries something else.
    pub(crate) fn data(&self) -> Option<&[u8]> {
        if self.kind != DATA {
            return None;
        }
        if self.flags & PADDED == 0 {
            return Some(&self.payload);
        }
        let (padding, rest) = self.payload.split_first()?;
        rest.get(..rest.len().checked_sub(usize::from(*padding))?)
    }

    /// The same frame with only so much of its data, and without the end of its stream.
    pub(crate) fn up_to(&self, end: usize) -> Self {
        let data = self.data().unwrap_or_default();
        let flags = self.flags & !(END_STREAM | PADDED);
        Self::new(self.kind, flags, self.stream, data[..end.min(data.len())].to_vec())
    }
}

/// Where the messages of one stream end, however they are spread over its frames.
#[derive(Debug, Default)]
pub(crate) struct Messages {
    prefix: Vec<u8>,
    left: usize,
}

impl Messages {
    /// The places in these further bytes behind which a message has ended.
    pub(crate) fn ends(&mut self, data: &[u8]) -> Vec<usize> {
        let (mut ends, mut at) = (Vec::new(), 0);
        while at < data.len() {
            if self.prefix.len() < PREFIX {
                let more = (PREFIX - self.prefix.len()).min(data.len() - at);
                self.prefix.extend(&data[at..at + more]);
                at += more;
                if let [_, a, b, c, d] = self.prefix[..] {
                    self.left = usize::try_from(u32::from_be_bytes([a, b, c, d])).unwrap_or(usize::MAX);
                }
            } else {
                let more = self.left.min(data.len() - at);
                at += more;
                self.left -= more;
            }
            if self.prefix.len() == PREFIX && self.left == 0 {
                self.prefix.clear();
                ends.push(at);
            }
        }
        ends
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_frame_is_read_as_it_was_written() {
        let frame = Frame::new(DATA, END_STREAM, 7, b"abc".to_vec());
        let bytes = frame.bytes();
        assert_eq!(bytes, [0, 0, 3, 0, 1, 0, 0, 0, 7, b'a', b'b', b'c']);
        let read = Frame::read(&mut &bytes[..]).await.unwrap().unwrap();
        assert_eq!((read.stream(), read.data()), (7, Some(&b"abc"[..])));
        assert_eq!(read.up_to(2).bytes(), [0, 0, 2, 0, 0, 0, 0, 0, 7, b'a', b'b']);
        assert!(Frame::read(&mut &bytes[..0]).await.unwrap().is_none());
        assert!(Frame::read(&mut &bytes[..10]).await.is_err());
    }

    #[test]
    fn padding_is_no_data() {
        let frame = Frame::new(DATA, PADDED, 1, vec![2, b'a', 0, 0]);
        assert_eq!(frame.data(), Some(&b"a"[..]));
        assert_eq!(frame.up_to(1).bytes(), Frame::new(DATA, 0, 1, vec![b'a']).bytes());
        assert_eq!(Frame::new(DATA, PADDED, 1, vec![9, 0]).data(), None);
        assert_eq!(Frame::new(1, 0, 1, vec![1]).data(), None);
    }

    #[test]
    fn messages_end_wherever_frames_do() {
        let bytes = [&[0, 0, 0, 0, 2, 1, 2][..], &[0, 0, 0, 0, 0], &[0, 0, 0, 0, 1, 9]].concat();
        assert_eq!(Messages::default().ends(&bytes), [7, 12, 18]);
        for cut in 0..bytes.len() {
            let mut messages = Messages::default();
            let first = messages.ends(&bytes[..cut]);
            let second = messages.ends(&bytes[cut..]).into_iter().map(|end| end + cut);
            assert_eq!(first.into_iter().chain(second).collect::<Vec<_>>(), [7, 12, 18], "{cut}");
        }
    }
}
