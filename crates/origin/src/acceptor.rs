//! Accepts connections and queues each for the worker with the fewest.
//!
//! One acceptor rather than SO_REUSEPORT: the kernel assigns by a hash of the addresses, so that of 8 connections on two workers
//! often 6 or more go to one; and a shared listener wakes an arbitrary worker. The cost, a hand-over per connection, is not on
//! the path of a request.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mio::net::{TcpListener, TcpStream};
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token, Waker};

use crate::counters::Counters;
use crate::stop::StopHandle;

/// The listener that a connection was accepted on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListenerKind {
    /// The main listener.
    Service,
    /// The listener for counters and control: plain HTTP/1.1.
    Control,
}

/// One worker's new connections, and the number of its open ones.
#[derive(Debug)]
pub(crate) struct ConnectionQueue {
    waiting: Mutex<Vec<(TcpStream, ListenerKind)>>,
    open: AtomicUsize,
    waker: Waker,
}

impl ConnectionQueue {
    pub(crate) fn new(waker: Waker) -> Self {
        Self {
            waiting: Mutex::new(Vec::new()),
            open: AtomicUsize::new(0),
            waker,
        }
    }

    /// Connections assigned to the worker and not closed.
    pub(crate) fn open(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    /// Queues a connection. If waking fails, the worker finds it at its next event.
    pub(crate) fn push(&self, stream: TcpStream, listener_kind: ListenerKind) {
        if let Ok(mut waiting) = self.waiting.lock() {
            self.open.fetch_add(1, Ordering::Relaxed);
            waiting.push((stream, listener_kind));
        }
        let _ = self.waker.wake();
    }

    /// The next queued connection.
    pub(crate) fn take(&self) -> Option<(TcpStream, ListenerKind)> {
        self.waiting.lock().ok()?.pop()
    }

    /// A connection of the worker is closed.
    pub(crate) fn closed(&self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }
}

const STOP: Token = Token(usize::MAX);

/// Pause when no file descriptor is left for a connection.
const EXHAUSTED_PAUSE: Duration = Duration::from_millis(10);

/// The accepting event loop.
#[derive(Debug)]
pub(crate) struct Acceptor {
    poll: Poll,
    /// Each one's token is its index.
    listeners: Vec<(TcpListener, ListenerKind)>,
    connection_queues: Vec<Arc<ConnectionQueue>>,
    counters: Arc<Counters>,
    connections_max: usize,
    /// The worker assigned last, for round-robin among equals.
    last: usize,
}

impl Acceptor {
    pub(crate) fn new(
        mut listeners: Vec<(TcpListener, ListenerKind)>,
        connection_queues: Vec<Arc<ConnectionQueue>>,
        counters: Arc<Counters>,
        connections_max: usize,
        stop: &StopHandle,
    ) -> io::Result<Self> {
        let poll = Poll::new()?;
        for (at, (listener, _)) in listeners.iter_mut().enumerate() {
            poll.registry()
                .register(listener, Token(at), Interest::READABLE)?;
        }
        poll.registry()
            .register(&mut SourceFd(&stop.raw_fd()), STOP, Interest::READABLE)?;
        Ok(Self {
            poll,
            listeners,
            connection_queues,
            counters,
            connections_max,
            last: 0,
        })
    }

    /// Accepts until stopped.
    pub(crate) fn run(mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(4);
        loop {
            let poll_timeout = self.accept_all();
            match self.poll.poll(&mut events, poll_timeout) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => other?,
            }
            if events.iter().any(|event| event.token() == STOP) {
                return Ok(());
            }
        }
    }

    /// Accepts all that wait; returns the pause before the next attempt when there is one.
    fn accept_all(&mut self) -> Option<Duration> {
        let mut pause = None;
        for at in 0..self.listeners.len() {
            pause = self.accept_from(at).or(pause);
        }
        pause
    }

    fn accept_from(&mut self, at: usize) -> Option<Duration> {
        loop {
            let (listener, listener_kind) = &self.listeners[at];
            let listener_kind = *listener_kind;
            match listener.accept() {
                Ok((stream, _)) => self.assign(stream, listener_kind),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return None,
                // EMFILE, ENFILE, ENOBUFS, ENOMEM; other errors concern one connection only.
                Err(error) if matches!(error.raw_os_error(), Some(12 | 23 | 24 | 105)) => {
                    self.counters.accept_pauses.add(1);
                    return Some(EXHAUSTED_PAUSE);
                }
                Err(_) => {}
            }
        }
    }

    fn assign(&mut self, stream: TcpStream, listener_kind: ListenerKind) {
        let open: usize = self
            .connection_queues
            .iter()
            .map(|connection_queue| connection_queue.open())
            .sum();
        if open >= self.connections_max {
            return;
        }
        let open = |index: usize| self.connection_queues[index].open();
        if let Some(chosen) = least_loaded(self.connection_queues.len(), self.last, open) {
            self.last = chosen;
            self.counters.accepted.add(1);
            self.connection_queues[chosen].push(stream, listener_kind);
        }
    }
}

/// The worker with the fewest connections; among equals the next one after the last one chosen.
fn least_loaded(workers: usize, last: usize, open: impl Fn(usize) -> usize) -> Option<usize> {
    (1..=workers)
        .map(|step| (last + step) % workers)
        .min_by_key(|&index| open(index))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assign(open: &mut [usize], last: &mut usize) {
        let chosen = least_loaded(open.len(), *last, |index| open[index]).unwrap();
        open[chosen] += 1;
        *last = chosen;
    }

    #[test]
    fn few_connections_are_dealt_evenly() {
        let (mut open, mut last) = ([0; 3], 0);
        for dealt in 1..=10 {
            assign(&mut open, &mut last);
            let spread = open.iter().max().unwrap() - open.iter().min().unwrap();
            assert!(spread <= 1, "{open:?} after {dealt}");
        }
    }

    #[test]
    fn a_worker_that_lost_connections_is_filled_up_first() {
        let (mut open, mut last) = ([5, 2, 5], 1);
        for _ in 0..3 {
            assign(&mut open, &mut last);
        }
        assert_eq!(open, [5, 5, 5]);
    }
}
