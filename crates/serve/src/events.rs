//! Streams of events (SSE): the lines of `progress.jsonl` of a run or a load, from any place on, as they are written.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::Stream;
use tare_record::event::PROGRESS;
use tokio::sync::{OwnedSemaphorePermit, mpsc};

use crate::error::{Refusal, Reply};
use crate::server::Shared;
use crate::{lock, places};

/// Bytes that are read at a time.
const CHUNK_BYTES: usize = 16 << 10;
/// Longest line that is sent; the result of a load has all of its samples.
const LINE_BYTES_MAX: usize = 16 << 20;
/// Bytes of the past that a new stream gets; what is before is in the records.
const PAST_BYTES_MAX: u64 = 8 << 20;
/// Interval at which the file is looked at. Its size is one system call, so that fifty streams cost less than a notification each.
const LOOK_EVERY: Duration = Duration::from_millis(250);
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
        Refusal::new(
            axum::http::StatusCode::SERVICE_UNAVAILABLE,
            "too many event streams are open: close pages that are not needed",
        )
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
        if !any && lock::holder(folder).is_none() && tail.is_at_end()? {
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

/// The lines of a file from a place on.
struct Tail {
    file: File,
    /// Read, and not yet returned.
    buffer: Vec<u8>,
    /// Place of the buffer's first byte.
    at: u64,
    /// Whether the line that the buffer begins with is incomplete.
    skips: bool,
}

impl Tail {
    fn open(folder: &Path, from: Option<u64>) -> io::Result<Tail> {
        let mut file = places::open_below(folder, PROGRESS)
            .map_err(|refusal| io::Error::other(refusal.error.message))?;
        let bytes = file.metadata()?.len();
        let (at, skips) = match from {
            Some(from) if from <= bytes => (from, false),
            _ => {
                let at = bytes.saturating_sub(PAST_BYTES_MAX);
                (at, at > 0)
            }
        };
        file.seek(SeekFrom::Start(at))?;
        Ok(Tail {
            file,
            buffer: Vec::new(),
            at,
            skips,
        })
    }

    /// The next whole line, and the place behind it.
    fn next_line(&mut self) -> io::Result<Option<(String, u64)>> {
        loop {
            if let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.buffer.drain(..=end).collect();
                self.at += line.len() as u64;
                if std::mem::take(&mut self.skips) {
                    continue;
                }
                let line = String::from_utf8_lossy(&line[..end]);
                // A line that a killed process left unfinished is no event.
                if serde_json::from_str::<serde::de::IgnoredAny>(&line).is_ok() {
                    return Ok(Some((line.into_owned(), self.at)));
                }
                continue;
            }
            if self.buffer.len() > LINE_BYTES_MAX {
                self.at += self.buffer.len() as u64;
                self.buffer.clear();
                self.skips = true;
            }
            let before = self.buffer.len();
            self.buffer.resize(before + CHUNK_BYTES, 0);
            let read = self.file.read(&mut self.buffer[before..])?;
            self.buffer.truncate(before + read);
            if read == 0 {
                return Ok(None);
            }
        }
    }

    fn is_at_end(&self) -> io::Result<bool> {
        Ok(self.file.metadata()?.len() <= self.at + self.buffer.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn lines(tail: &mut Tail) -> Vec<String> {
        std::iter::from_fn(|| tail.next_line().unwrap())
            .map(|(line, _)| line)
            .collect()
    }

    #[test]
    fn a_stream_goes_on_where_the_last_one_was_left() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join(PROGRESS);
        std::fs::write(&path, "{\"a\":1}\n{\"b\":\n{\"c\":3}\n{\"d\"").unwrap();
        let mut tail = Tail::open(place.path(), None).unwrap();
        let (first, end) = tail.next_line().unwrap().unwrap();
        assert_eq!((first.as_str(), end), ("{\"a\":1}", 8));
        assert_eq!(lines(&mut tail), ["{\"c\":3}"]);
        let mut file = std::fs::OpenOptions::new()
            .append(true)
            .open(&path)
            .unwrap();
        file.write_all(b":4}\n").unwrap();
        assert_eq!(lines(&mut tail), ["{\"d\":4}"]);
        let mut again = Tail::open(place.path(), Some(end)).unwrap();
        assert_eq!(lines(&mut again), ["{\"c\":3}", "{\"d\":4}"]);
        assert!(again.is_at_end().unwrap());
    }

    #[test]
    fn only_the_end_of_a_long_past_is_sent() {
        let place = tempfile::tempdir().unwrap();
        let line = format!("{{\"x\":\"{}\"}}\n", "y".repeat(1 << 20));
        std::fs::write(place.path().join(PROGRESS), line.repeat(12)).unwrap();
        let mut tail = Tail::open(place.path(), None).unwrap();
        assert_eq!(lines(&mut tail).len(), 7);
    }
}
