//! Accepts connections and deals each to the worker that has the fewest.
//!
//! One acceptor rather than SO_REUSEPORT: the kernel deals by a hash of the addresses, so of 8 connections on two workers
//! 6 or more often fall to one; and one shared listener wakes whoever is first. The price, a hand-over per connection, is
//! not on the path of a request.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use mio::net::{TcpListener, TcpStream};
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token};

use crate::counters::Counters;
use crate::inbox::{Door, Inbox};
use crate::stop::StopHandle;

const STOP: Token = Token(usize::MAX);

/// The pause when no file descriptor is left for a connection.
const EXHAUSTED_PAUSE: Duration = Duration::from_millis(10);

/// The accepting event loop.
#[derive(Debug)]
pub(crate) struct Acceptor {
    poll: Poll,
    /// The token of each is its place.
    listeners: Vec<(TcpListener, Door)>,
    inboxes: Vec<Arc<Inbox>>,
    counters: Arc<Counters>,
    connections_max: usize,
    /// Ties go round.
    last: usize,
}

/// Why accepting paused.
enum Paused {
    NothingWaits,
    Exhausted,
}

impl Acceptor {
    pub(crate) fn new(
        mut listeners: Vec<(TcpListener, Door)>,
        inboxes: Vec<Arc<Inbox>>,
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
            inboxes,
            counters,
            connections_max,
            last: 0,
        })
    }

    /// Accepts until stopped.
    pub(crate) fn run(mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(4);
        loop {
            let patience = match self.accept_all() {
                Paused::NothingWaits => None,
                Paused::Exhausted => Some(EXHAUSTED_PAUSE),
            };
            match self.poll.poll(&mut events, patience) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => other?,
            }
            if events.iter().any(|event| event.token() == STOP) {
                return Ok(());
            }
        }
    }

    fn accept_all(&mut self) -> Paused {
        let mut paused = Paused::NothingWaits;
        for at in 0..self.listeners.len() {
            if matches!(self.accept_from(at), Paused::Exhausted) {
                paused = Paused::Exhausted;
            }
        }
        paused
    }

    fn accept_from(&mut self, at: usize) -> Paused {
        loop {
            let (listener, door) = &self.listeners[at];
            let door = *door;
            match listener.accept() {
                Ok((stream, _)) => self.deal(stream, door),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Paused::NothingWaits;
                }
                // EMFILE, ENFILE, ENOBUFS, ENOMEM; what concerns one connection only is over with it.
                Err(error) if matches!(error.raw_os_error(), Some(12 | 23 | 24 | 105)) => {
                    return Paused::Exhausted;
                }
                Err(_) => {}
            }
        }
    }

    fn deal(&mut self, stream: TcpStream, door: Door) {
        let open: usize = self.inboxes.iter().map(|inbox| inbox.open()).sum();
        if open >= self.connections_max {
            return;
        }
        let open = |index: usize| self.inboxes[index].open();
        if let Some(chosen) = fewest(self.inboxes.len(), self.last, open) {
            self.last = chosen;
            self.counters.accepted.add(1);
            self.inboxes[chosen].leave(stream, door);
        }
    }
}

/// The worker with the fewest connections; of equals the next in turn behind the last one chosen.
fn fewest(workers: usize, last: usize, open: impl Fn(usize) -> usize) -> Option<usize> {
    (1..=workers)
        .map(|step| (last + step) % workers)
        .min_by_key(|&index| open(index))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deal(open: &mut [usize], last: &mut usize) {
        let chosen = fewest(open.len(), *last, |index| open[index]).unwrap();
        open[chosen] += 1;
        *last = chosen;
    }

    #[test]
    fn few_connections_are_dealt_evenly() {
        let (mut open, mut last) = ([0; 3], 0);
        for dealt in 1..=10 {
            deal(&mut open, &mut last);
            let spread = open.iter().max().unwrap() - open.iter().min().unwrap();
            assert!(spread <= 1, "{open:?} after {dealt}");
        }
    }

    #[test]
    fn a_worker_that_lost_connections_is_filled_up_first() {
        let (mut open, mut last) = ([5, 2, 5], 1);
        for _ in 0..3 {
            deal(&mut open, &mut last);
        }
        assert_eq!(open, [5, 5, 5]);
    }
}
