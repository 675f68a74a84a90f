//! Watches: one message, because nothing changes, and then an open stream. A stream that ends is asked for again.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::Stream;
use tonic::{Code, Response, Status};

use crate::events::Events;

/// Watches at once, of all proxies together. A proxy has one per port that it serves and three per destination in use.
const WATCHES_MAX: i64 = 65_536;

/// A stream of one message.
#[derive(Debug)]
pub struct Watch<T> {
    message: Option<T>,
    _open: Open,
}

impl<T> Watch<T> {
    /// Opens a watch, if there are not too many.
    pub fn open(
        events: &Arc<Events>,
        kind: &'static str,
        from: Option<SocketAddr>,
        message: T,
    ) -> Result<Response<Watch<T>>, Status> {
        let all = events.watches(kind, 1);
        let open = Open {
            events: Arc::clone(events),
            kind,
        };
        if all > WATCHES_MAX {
            let message = format!(
                "more than {WATCHES_MAX} watches are open; use fewer proxies or destinations"
            );
            let refusal = ("watch-limit", Code::ResourceExhausted);
            return Err(events.refuse(refusal, from, &message));
        }
        Ok(Response::new(Watch {
            message: Some(message),
            _open: open,
        }))
    }
}

// The message is never pinned.
impl<T> Unpin for Watch<T> {}

impl<T> Stream for Watch<T> {
    type Item = Result<T, Status>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        match self.message.take() {
            Some(message) => Poll::Ready(Some(Ok(message))),
            None => Poll::Pending,
        }
    }
}

/// Counts a watch as long as it is open.
#[derive(Debug)]
struct Open {
    events: Arc<Events>,
    kind: &'static str,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.events.watches(self.kind, -1);
    }
}
