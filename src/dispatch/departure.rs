//! Whether a request has left: the line between "nothing can have happened" and "it may have taken effect".
//!
//! A tool sees nothing of a call before it has the request's body, so the moment that HTTP/2 first asks for the body is
//! the moment of departure. Until then a request can be called back, and the two race on one atomic: whoever is first,
//! both sides know.

use std::{
    error::Error,
    iter,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tonic::{Status, body::Body};

/// Where one request is.
#[derive(Debug, Default)]
pub(super) struct Departure(AtomicU8);

const WAITING: u8 = 0;
const LEFT: u8 = 1;
const NEVER_LEFT: u8 = 2;

impl Departure {
    /// The request's body is asked for. False: it was called back and must not be sent.
    fn depart(&self) -> bool {
        match self.0.compare_exchange(WAITING, LEFT, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => true,
            Err(now) => now == LEFT,
        }
    }

    /// Calls the request back. True: it never left, and never will.
    pub(super) fn call_back(&self) -> bool {
        match self.0.compare_exchange(WAITING, NEVER_LEFT, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => true,
            Err(now) => now == NEVER_LEFT,
        }
    }

    /// The peer says that it did nothing with the request, which counts as never left.
    pub(super) fn turned_away(&self) {
        self.0.store(NEVER_LEFT, Ordering::Release);
    }
}

/// A request's body that notes its departure.
#[derive(Debug)]
pub(super) struct Departing {
    body: Body,
    departure: Arc<Departure>,
}

impl Departing {
    pub(super) fn new(body: Body, departure: Arc<Departure>) -> Self {
        Self { body, departure }
    }
}

impl http_body::Body for Departing {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        if !self.departure.depart() {
            return Poll::Ready(Some(Err(Status::cancelled("the request was called back before it left"))));
        }
        Pin::new(&mut self.body).poll_frame(cx)
    }

    // Never known ahead, so that HTTP/2 has to ask for the body, and the departure is noted, whatever the body is.
    fn is_end_stream(&self) -> bool {
        false
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Whether HTTP/2 itself says that the peer did nothing with a request (RFC 9113, 8.7): a stream above a GOAWAY's last one, or
/// one that was reset with `REFUSED_STREAM`.
pub(super) fn was_turned_away(error: &(dyn Error + 'static)) -> bool {
    http2_errors(error).any(|error| {
        // h2 gives a received GOAWAY to the streams above its last one only; the others end with an I/O error.
        let refused = error.is_reset() && error.reason() == Some(h2::Reason::REFUSED_STREAM);
        error.is_remote() && (error.is_go_away() || refused)
    })
}

/// Whether our side of HTTP/2 gave up on one answer, as it breaks the protocol or the bound on headers. The connection goes on.
pub(super) fn was_unreadable(error: &(dyn Error + 'static)) -> bool {
    http2_errors(error).any(|error| error.is_library() && error.is_reset())
}

fn http2_errors<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a h2::Error> {
    iter::successors(Some(error), |&error| error.source()).filter_map(|error| error.downcast_ref::<h2::Error>())
}

#[cfg(test)]
mod tests {
    use super::Departure;

    #[test]
    fn a_request_that_left_cannot_be_called_back() {
        let departure = Departure::default();
        assert!(departure.depart());
        assert!(!departure.call_back());
    }

    #[test]
    fn a_request_that_was_called_back_cannot_leave() {
        let departure = Departure::default();
        assert!(departure.call_back());
        assert!(!departure.depart());
        assert!(departure.call_back());
    }

    #[test]
    fn a_request_that_was_turned_away_never_left() {
        let departure = Departure::default();
        assert!(departure.depart());
        departure.turned_away();
        assert!(departure.call_back());
    }
}
