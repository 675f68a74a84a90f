//! Memory of requests under way: bodies that arrive and answers that are not sent yet, of all connections together.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Request, State};
use axum::http::{Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use hyper::body::{Frame, SizeHint};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::connections::ConnectionPeer;
use crate::error::Refusal;
use crate::unread::{ReaderGuard, Readers};

/// All of it.
const MEMORY_BYTES_MAX: usize = 12 << 20;
/// Beside it: for requests that stop or delete something, which are small.
const RESERVE_BYTES: usize = 64 << 10;
/// Longest body of such a request.
const CONTROL_BYTES_MAX: u64 = 1 << 10;
/// What is set aside for an answer until its size is known: that of the largest.
const ANSWER_KIB: u32 = 4 << 10;
/// Part of an answer that is handed over at a time: what is set aside for it is free only when the last part is on its way.
const PART_BYTES: usize = 32 << 10;
/// Parts of a file or an archive between the disk and the connection.
const PARTS_BYTES: u64 = 1 << 20;
/// Wait for memory after which the slowest reader has to give way, each time.
const SHORTAGE: Duration = Duration::from_secs(1);
/// Longest wait for memory, before the request is refused.
const PATIENCE: Duration = Duration::from_secs(20);

/// Memory that is free, in KiB.
#[derive(Clone)]
pub struct FreeMemory {
    all: Arc<Semaphore>,
    reserve: Arc<Semaphore>,
    readers: Arc<Readers>,
}

impl FreeMemory {
    pub fn new() -> FreeMemory {
        FreeMemory {
            all: Arc::new(Semaphore::new(MEMORY_BYTES_MAX >> 10)),
            reserve: Arc::new(Semaphore::new(RESERVE_BYTES >> 10)),
            readers: Arc::default(),
        }
    }

    /// Waits for so many KiB; none when they do not come in time.
    async fn acquire(&self, kib: u32) -> Option<OwnedSemaphorePermit> {
        let begun = Instant::now();
        let wanted = Arc::clone(&self.all).acquire_many_owned(kib);
        tokio::pin!(wanted);
        loop {
            match tokio::time::timeout(SHORTAGE, &mut wanted).await {
                Ok(permit) => return permit.ok(),
                Err(_) if begun.elapsed() >= PATIENCE => return None,
                Err(_) => self.readers.close_slowest(),
            }
        }
    }

    /// The same for a small request that must not wait for those who read.
    async fn acquire_control(&self) -> Option<OwnedSemaphorePermit> {
        if let Ok(permit) = Arc::clone(&self.all).try_acquire_owned() {
            return Some(permit);
        }
        let wanted = Arc::clone(&self.reserve).acquire_owned();
        tokio::time::timeout(PATIENCE, wanted).await.ok()?.ok()
    }
}

/// Lets a request wait until there is memory for it and its answer.
pub async fn hold(State(free): State<FreeMemory>, request: Request, next: Next) -> Response {
    held(&free, ANSWER_KIB, request, next).await
}

/// The same for what waits for others, which takes memory for its answer only.
pub async fn hold_answer(State(free): State<FreeMemory>, request: Request, next: Next) -> Response {
    held(&free, 1, request, next).await
}

/// Answers with this memory set aside, and with more where the answer is larger.
async fn held(free: &FreeMemory, of_get: u32, request: Request, next: Next) -> Response {
    let wanted = match *request.method() {
        Method::GET | Method::HEAD => of_get,
        _ => kib(stated_bytes(&request)).min(ANSWER_KIB),
    };
    let held = match is_control(&request) {
        true => free.acquire_control().await,
        false => free.acquire(wanted).await,
    };
    let Some(mut held) = held else {
        return refused();
    };
    let close = request
        .extensions()
        .get::<ConnectionPeer>()
        .map(ConnectionPeer::close);
    let response = next.run(request).await;
    // Events are a few at a time, and the number of their streams is limited.
    match response.headers().get(header::CONTENT_TYPE) {
        Some(kind) if kind == "text/event-stream" => response,
        _ => {
            let needed = kib(bytes_of(response.body())).min(ANSWER_KIB) as usize;
            // Apart: what came from the reserve is of another kind.
            let more = match needed.saturating_sub(held.num_permits()) {
                0 => None,
                more => match free
                    .acquire(u32::try_from(more).unwrap_or(ANSWER_KIB))
                    .await
                {
                    Some(more) => Some(more),
                    None => return refused(),
                },
            };
            let spare = held.num_permits().saturating_sub(needed);
            drop(held.split(spare));
            let reader = free.readers.enter(close.unwrap_or_default());
            response.map(|body| kept(body, [Some(held), more], reader))
        }
    }
}

fn refused() -> Response {
    Refusal::busy("too many requests are under way: try again, and close pages that are not needed")
        .into_response()
}

/// Whether a request stops or deletes something, and is small.
fn is_control(request: &Request) -> bool {
    let is_stop = request.method() == Method::POST && request.uri().path().ends_with("/stop");
    (is_stop || request.method() == Method::DELETE) && stated_bytes(request) <= CONTROL_BYTES_MAX
}

/// The length of the body that a request states; as much as an answer where it comes in chunks.
fn stated_bytes(request: &Request) -> u64 {
    let headers = request.headers();
    let length = headers
        .get(header::CONTENT_LENGTH)
        .and_then(|length| length.to_str().ok()?.parse().ok());
    match headers.contains_key(header::TRANSFER_ENCODING) {
        true => u64::from(ANSWER_KIB) << 10,
        // Without either there is no body. (RFC 9112, 6.3)
        false => length.unwrap_or(0),
    }
}

/// Whole KiB, at least one.
fn kib(bytes: u64) -> u32 {
    u32::try_from(bytes / 1024 + 1).unwrap_or(u32::MAX)
}

/// What a body takes of memory.
fn bytes_of(body: &Body) -> u64 {
    body.size_hint().exact().unwrap_or(PARTS_BYTES)
}

/// The body with the memory that it takes, until it is sent.
fn kept(body: Body, held: [Option<OwnedSemaphorePermit>; 2], reader: ReaderGuard) -> Body {
    Body::new(HeldBody {
        body,
        rest: Bytes::new(),
        reader,
        _held: held,
    })
}

struct HeldBody {
    body: Body,
    /// Of the body's last frame.
    rest: Bytes,
    reader: ReaderGuard,
    _held: [Option<OwnedSemaphorePermit>; 2],
}

impl HttpBody for HeldBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        while self.rest.is_empty() {
            match Pin::new(&mut self.body).poll_frame(context) {
                Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                    Ok(data) => self.rest = data,
                    Err(other) => return Poll::Ready(Some(Ok(other))),
                },
                other => return other,
            }
        }
        let length = self.rest.len().min(PART_BYTES);
        self.reader.count(length);
        Poll::Ready(Some(Ok(Frame::data(self.rest.split_to(length)))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let rest = self.rest.len() as u64;
        match self.body.size_hint().exact() {
            Some(bytes) => SizeHint::with_exact(rest + bytes),
            None => SizeHint::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_that_stops_something_needs_no_memory_that_others_hold() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.unwrap().block_on(async {
            let free = FreeMemory::new();
            let all = u32::try_from(MEMORY_BYTES_MAX >> 10).unwrap();
            let _held = free.acquire(all).await.unwrap();
            assert!(free.acquire_control().await.is_some());
            let other = tokio::time::timeout(Duration::from_millis(10), free.acquire(1));
            assert!(other.await.is_err());
        });
        let asks = |method: &str, path: &str, length: Option<&str>| {
            let mut request = Request::builder().method(method).uri(path);
            if let Some(length) = length {
                request = request.header(header::CONTENT_LENGTH, length);
            }
            is_control(&request.body(Body::empty()).unwrap())
        };
        assert!(asks("POST", "/runs/one/stop", None));
        assert!(asks("POST", "/starts/one/stop", Some("2")));
        assert!(asks("DELETE", "/runs/one", Some("0")));
        assert!(!asks("POST", "/runs/one/stop", Some("1000000")));
        assert!(!asks("POST", "/runs", None) && !asks("GET", "/runs/one/stop", None));
    }
}
