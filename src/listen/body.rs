//! The body of an answer, in pieces: a message of megabytes is handed on as fast as its reader takes it, so that what waits in a
//! connection is a piece or two, and a reader that stands still is noticed.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tonic::{Status, body::Body};

use super::{activity::Running, streams::Progress};

/// A piece: as large as an HTTP/2 frame is by default.
const PIECE: usize = 16 * 1024;

/// An answer on its way. Its request runs until this is dropped.
pub(super) struct Answer {
    inner: Body,
    /// What the message taken last has left.
    rest: Bytes,
    _running: Running,
}

impl Answer {
    pub(super) fn new(inner: Body, running: Running) -> Self {
        Self { inner, rest: Bytes::new(), _running: running }
    }

    fn piece(&mut self) -> Frame<Bytes> {
        Progress::handed_on();
        Frame::data(self.rest.split_to(PIECE.min(self.rest.len())))
    }
}

impl http_body::Body for Answer {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let this = self.get_mut();
        Progress::asked();
        if this.rest.is_empty() {
            match Pin::new(&mut this.inner).poll_frame(context) {
                Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                    Ok(data) => this.rest = data,
                    Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
                },
                other @ (Poll::Ready(_) | Poll::Pending) => return other,
            }
        }
        Poll::Ready(Some(Ok(this.piece())))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}
