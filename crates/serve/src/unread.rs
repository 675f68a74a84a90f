//! Peers that do not read: a deadline for every part that is written, and which of them gives way when memory is short.

use std::collections::BTreeMap;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::Notify;
use tokio::time::Sleep;

/// Bytes that a peer must take within [`WRITE_TIMEOUT`] while there is more for it.
const WRITE_BYTES_MIN: usize = 32 << 10;
/// The time for them.
pub const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
/// Time that any reader has, and the rate at which none is slow.
const READER_TIME: Duration = Duration::from_secs(2);
const READER_BYTES_PER_S: u64 = 256 << 10;
/// Shortest time between two connections that are closed for lack of memory.
const CLOSE_INTERVAL: Duration = Duration::from_millis(100);

/// A stream whose writes fail when its peer takes less than 32 KiB in the time for them.
pub struct TimedWrites<S> {
    stream: S,
    timeout: Duration,
    /// While the peer has not taken what there is for it: the end of its time, and what it has taken.
    waiting: Option<(Pin<Box<Sleep>>, usize)>,
}

impl<S> TimedWrites<S> {
    pub fn new(stream: S, timeout: Duration) -> TimedWrites<S> {
        TimedWrites {
            stream,
            timeout,
            waiting: None,
        }
    }

    /// What becomes of a write.
    fn written(
        &mut self,
        written: Poll<io::Result<usize>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        match (&written, &mut self.waiting) {
            (Poll::Ready(Ok(bytes)), Some((_, taken))) => {
                *taken += bytes;
                if *taken >= WRITE_BYTES_MIN {
                    self.waiting = None;
                }
            }
            (Poll::Pending, waiting) => {
                let timeout = self.timeout;
                let (end, _) =
                    waiting.get_or_insert_with(|| (Box::pin(tokio::time::sleep(timeout)), 0));
                ready!(end.as_mut().poll(context));
                let late = "the peer does not read";
                return Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, late)));
            }
            _ => {}
        }
        written
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for TimedWrites<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for TimedWrites<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.written(written, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.written(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Whoever flushes has nothing more to write.
        self.waiting = None;
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// Those who are sent an answer that occupies memory.
#[derive(Default)]
pub struct Readers(Mutex<State>);

#[derive(Default)]
struct State {
    last_id: u64,
    readers: BTreeMap<u64, Reader>,
    closed: Option<Instant>,
}

struct Reader {
    begun: Instant,
    bytes: u64,
    /// Closes its connection.
    close: Arc<Notify>,
}

impl Readers {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A reader that is known until the guard is dropped.
    pub fn enter(self: &Arc<Self>, close: Arc<Notify>) -> ReaderGuard {
        let mut state = self.state();
        state.last_id += 1;
        let id = state.last_id;
        let reader = Reader {
            begun: Instant::now(),
            bytes: 0,
            close,
        };
        state.readers.insert(id, reader);
        ReaderGuard {
            readers: Arc::clone(self),
            id,
        }
    }

    /// Closes the connection of the slowest reader, unless all are fast, or the last one was closed only just now.
    pub fn close_slowest(&self) {
        let mut state = self.state();
        if state.closed.is_some_and(|at| at.elapsed() < CLOSE_INTERVAL) {
            return;
        }
        let rate = |reader: &Reader| {
            let ms = u64::try_from(reader.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
            reader.bytes.saturating_mul(1000) / ms.max(1)
        };
        let slow = state
            .readers
            .iter()
            .filter(|(_, reader)| reader.begun.elapsed() >= READER_TIME)
            .map(|(id, reader)| (rate(reader), *id))
            .filter(|(rate, _)| *rate < READER_BYTES_PER_S);
        if let Some(reader) = slow.min().and_then(|(_, id)| state.readers.remove(&id)) {
            reader.close.notify_one();
            state.closed = Some(Instant::now());
        }
    }
}

/// A reader that is known.
pub struct ReaderGuard {
    readers: Arc<Readers>,
    id: u64,
}

impl ReaderGuard {
    /// Counts what the reader is sent.
    pub fn count(&self, bytes: usize) {
        if let Some(reader) = self.readers.state().readers.get_mut(&self.id) {
            reader.bytes += bytes as u64;
        }
    }
}

impl Drop for ReaderGuard {
    fn drop(&mut self) {
        self.readers.state().readers.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    /// Longest time for a write that is to end after milliseconds, on a busy machine.
    const BOUND: Duration = Duration::from_secs(10);

    fn on_runtime<T>(test: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.unwrap().block_on(test)
    }

    #[test]
    fn a_write_to_a_peer_that_does_not_read_ends() {
        on_runtime(async {
            let (ours, _theirs) = tokio::io::duplex(1024);
            let mut writes = TimedWrites::new(ours, Duration::from_millis(20));
            let written = tokio::time::timeout(BOUND, writes.write_all(&[0; 4096])).await;
            let error = written.expect("the write goes on").unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        });
    }

    #[test]
    fn a_peer_that_reads_gets_everything() {
        on_runtime(async {
            let (ours, mut theirs) = tokio::io::duplex(1024);
            let mut writes = TimedWrites::new(ours, WRITE_TIMEOUT);
            let reading = tokio::spawn(async move {
                let mut all = Vec::new();
                theirs.read_to_end(&mut all).await.map(|_| all.len())
            });
            writes.write_all(&vec![7; 300_000]).await.unwrap();
            writes.flush().await.unwrap();
            drop(writes);
            assert_eq!(reading.await.unwrap().unwrap(), 300_000);
        });
    }

    #[test]
    fn the_slowest_of_those_who_had_their_time_gives_way() {
        let readers = Arc::new(Readers::default());
        let [fast, slow, new] = [(); 3].map(|()| Arc::new(Notify::new()));
        let guards = [&fast, &slow, &new].map(|close| readers.enter(Arc::clone(close)));
        guards[0].count(100 << 20);
        guards[1].count(1000);
        let early = Instant::now().checked_sub(Duration::from_secs(10)).unwrap();
        for guard in &guards[..2] {
            readers.state().readers.get_mut(&guard.id).unwrap().begun = early;
        }
        readers.close_slowest();
        // At most one in a while.
        readers.close_slowest();
        readers.state().closed = None;
        readers.close_slowest();
        let is_closed = |close: &Notify| {
            on_runtime(async {
                let closed = tokio::time::timeout(Duration::ZERO, close.notified());
                closed.await.is_ok()
            })
        };
        assert!(is_closed(&slow));
        assert!(!is_closed(&fast) && !is_closed(&new));
        assert_eq!(readers.state().readers.len(), 2);
        drop(guards);
        assert!(readers.state().readers.is_empty());
    }
}
