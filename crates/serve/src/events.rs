//! Streams of events (SSE): the lines of `progress.jsonl` of a run or a load, from any place on, as they are written.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::Stream;
use tare_export::follow::{LOOK_EVERY, Tail};
use tare_export::lock;
use tokio::sync::{OwnedSemaphorePermit, mpsc};

use crate::error::{Refusal, Reply};
use crate::server::Shared;

/// Interval of comments that keep a silent stream open.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Events that wait for a slow reader.
const WAITING_MAX: usize = 16;

/// The stream of a run's or load's events, from the byte that `Last-Event-ID` names on.
pub fn stream(
    server: &Shared,
    folder: PathBuf,
    headers: &HeaderMap,
) -> Reply<Sse<impl Stream<Item = Result<Event, io::Error>> + use<>>> {
    let from = headers
        .get("last-event-id")
        .and_then(|id| id.to_str().ok()?.parse().ok());
    let permit = permit(server)?;
    let (sender, events) = mpsc::channel(WAITING_MAX);
    tokio::spawn(async move {
        let _permit = permit;
        // An error means that the reader is gone, or the folder.
        let _ = follow(&folder, from, &sender).await;
    });
    Ok(sent(events))
}

/// One of the streams that may be open.
pub fn permit(server: &Shared) -> Reply<OwnedSemaphorePermit> {
    let permit = server.streams.clone().try_acquire_owned();
    permit.map_err(|_| {
        Refusal::busy("too many event streams are open: close pages that are not needed")
    })
}

/// A stream of what a task sends.
pub fn sent(
    mut events: mpsc::Receiver<Result<Event, io::Error>>,
) -> Sse<impl Stream<Item = Result<Event, io::Error>>> {
    let stream = futures_util::stream::poll_fn(move |context| events.poll_recv(context));
    Sse::new(stream).keep_alive(KeepAlive::new().interval(KEEP_ALIVE))
}

async fn follow(
    folder: &Path,
    from: Option<u64>,
    to: &mpsc::Sender<Result<Event, io::Error>>,
) -> io::Result<()> {
    let mut tail = loop {
        match Tail::open(folder, from) {
            Ok(tail) => break tail,
            // A run whose folder has only just been made.
            Err(_) if folder.is_dir() && !to.is_closed() => tokio::time::sleep(LOOK_EVERY).await,
            Err(error) => return Err(error),
        }
    };
    loop {
        let mut any = false;
        while let Some((line, end)) = tail.next_line()? {
            any = true;
            let event = Event::default().id(end.to_string()).data(line);
            to.send(Ok(event)).await.map_err(io::Error::other)?;
        }
        // Whoever wrote may have ended without a last event.
        if !any && !lock::is_held(folder) && tail.is_at_end()? {
            let event = Event::default().event("ended").data("{}");
            to.send(Ok(event)).await.map_err(io::Error::other)?;
            return Ok(());
        }
        tokio::select! {
            () = tokio::time::sleep(LOOK_EVERY) => {}
            () = to.closed() => return Ok(()),
        }
    }
}
