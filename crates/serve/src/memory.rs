//! Memory of requests under way: bodies that arrive and answers that are not sent yet, of all connections together.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use hyper::body::{Frame, SizeHint};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::Refusal;

/// All of it.
const MEMORY_BYTES_MAX: usize = 16 << 20;
/// What is set aside for an answer until its size is known: that of the largest file that is shown.
const ANSWER_KIB: u32 = 4 << 10;
/// Part of an answer that is handed over at a time: what is set aside for it is free only when the last part is on its way.
const PART_BYTES: usize = 32 << 10;
/// Parts of an archive between the files that are read and the connection.
const PARTS_BYTES: u64 = 1 << 20;
/// Longest wait for memory, before the request is refused.
const PATIENCE: Duration = Duration::from_secs(20);

/// Memory that is free, in KiB.
#[derive(Debug, Clone)]
pub struct FreeMemory(Arc<Semaphore>);

impl FreeMemory {
    pub fn new() -> FreeMemory {
        FreeMemory(Arc::new(Semaphore::new(MEMORY_BYTES_MAX >> 10)))
    }

    /// Waits for so many KiB; none when they do not come in time.
    async fn acquire(&self, kib: u32) -> Option<OwnedSemaphorePermit> {
        let wanted = Arc::clone(&self.0).acquire_many_owned(kib);
        tokio::time::timeout(PATIENCE, wanted).await.ok()?.ok()
    }
}

/// Lets a request wait until there is memory for it and its answer.
pub async fn hold(State(free): State<FreeMemory>, request: Request, next: Next) -> Response {
    let wanted = match *request.method() {
        Method::GET | Method::HEAD => ANSWER_KIB,
        _ => kib(stated_bytes(request.headers())).min(ANSWER_KIB),
    };
    held(&free, wanted, request, next).await
}

/// The same for what waits for others, which takes memory for its answer only.
pub async fn hold_answer(State(free): State<FreeMemory>, request: Request, next: Next) -> Response {
    let wanted = match *request.method() {
        Method::GET | Method::HEAD => 1,
        _ => kib(stated_bytes(request.headers())).min(ANSWER_KIB),
    };
    held(&free, wanted, request, next).await
}

/// Answers with this memory set aside, and with more where the answer is larger.
async fn held(free: &FreeMemory, wanted: u32, request: Request, next: Next) -> Response {
    let Some(mut held) = free.acquire(wanted).await else {
        return refused();
    };
    let response = next.run(request).await;
    // Events are a few at a time, and the number of their streams is limited.
    match response.headers().get(header::CONTENT_TYPE) {
        Some(kind) if kind == "text/event-stream" => response,
        _ => {
            let bytes = response.body().size_hint().exact().unwrap_or(0);
            let more = kib(bytes).min(ANSWER_KIB).saturating_sub(wanted);
            match free.acquire(more).await {
                Some(more) => held.merge(more),
                None => return refused(),
            }
            response.map(|body| kept(body, held))
        }
    }
}

fn refused() -> Response {
    Refusal::busy("too many requests are under way: try again, and close pages that are not needed")
        .into_response()
}

/// The length that a request states; without one, as much as an answer.
fn stated_bytes(headers: &HeaderMap) -> u64 {
    let length = headers
        .get(header::CONTENT_LENGTH)
        .and_then(|length| length.to_str().ok()?.parse().ok());
    length.unwrap_or(u64::from(ANSWER_KIB) << 10)
}

/// Whole KiB, at least one.
fn kib(bytes: u64) -> u32 {
    u32::try_from(bytes / 1024 + 1).unwrap_or(u32::MAX)
}

/// The body with as much memory as it takes, until it is sent.
fn kept(body: Body, mut held: OwnedSemaphorePermit) -> Body {
    let bytes = body.size_hint().exact().unwrap_or(PARTS_BYTES);
    let more = held.num_permits().saturating_sub(kib(bytes) as usize);
    drop(held.split(more));
    Body::new(HeldBody {
        body,
        rest: Bytes::new(),
        _held: held,
    })
}

struct HeldBody {
    body: Body,
    /// Of the body's last frame.
    rest: Bytes,
    _held: OwnedSemaphorePermit,
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
