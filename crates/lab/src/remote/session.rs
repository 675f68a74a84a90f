//! Numbered messages to one peer, kept until acknowledged: what survives a cut connection.

use std::collections::VecDeque;
use std::sync::Arc;

/// Most unacknowledged bytes per peer; as large as the largest result of an agent.
const KEPT_BYTES_MAX: usize = 256 << 20;

/// State of the messages to and from one peer, independent of connections.
#[derive(Debug, Default)]
pub(crate) struct Session {
    kept: VecDeque<(u64, Arc<[u8]>)>,
    kept_bytes: usize,
    last_sent: u64,
    last_received: u64,
}

/// Whether a received message is new.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Novelty {
    New,
    /// It was received over an earlier connection.
    Known,
}

impl Session {
    /// Adds a message to be sent; its number.
    pub(crate) fn push(&mut self, message: Vec<u8>) -> Result<u64, String> {
        if self.kept_bytes + message.len() > KEPT_BYTES_MAX {
            return Err(format!(
                "more than {KEPT_BYTES_MAX} bytes are waiting for the other side"
            ));
        }
        self.kept_bytes += message.len();
        self.last_sent += 1;
        self.kept.push_back((self.last_sent, message.into()));
        Ok(self.last_sent)
    }

    /// The peer has received everything up to this number.
    pub(crate) fn acknowledge(&mut self, up_to: u64) -> Result<(), String> {
        if up_to > self.last_sent {
            return Err(format!("message {up_to} is acknowledged but was not sent"));
        }
        while let Some((number, message)) = self.kept.front()
            && *number <= up_to
        {
            self.kept_bytes -= message.len();
            self.kept.pop_front();
        }
        Ok(())
    }

    /// Takes note of a received message.
    pub(crate) fn receive(&mut self, number: u64) -> Result<Novelty, String> {
        if number <= self.last_received {
            return Ok(Novelty::Known);
        }
        if number != self.last_received + 1 {
            let expected = self.last_received + 1;
            return Err(format!("message {number} came instead of {expected}"));
        }
        self.last_received = number;
        Ok(Novelty::New)
    }

    /// Number of the last received message.
    pub(crate) fn received(&self) -> u64 {
        self.last_received
    }

    /// The first kept message with a higher number.
    pub(crate) fn after(&self, number: u64) -> Option<(u64, Arc<[u8]>)> {
        let first = self.kept.front()?.0;
        let index = usize::try_from((number + 1).saturating_sub(first)).ok()?;
        self.kept.get(index).cloned()
    }

    /// Whether every message was acknowledged.
    pub(crate) fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_acknowledged_is_sent_again_and_received_once() {
        let (mut near, mut far) = (Session::default(), Session::default());
        for text in ["one", "two", "three"] {
            near.push(text.into()).unwrap();
        }
        let mut arrived = Vec::new();
        // The connection is cut after the second message, before its acknowledgement arrives.
        for number in 0..2 {
            let (number, message) = near.after(number).unwrap();
            assert_eq!(far.receive(number), Ok(Novelty::New));
            arrived.push(message);
        }
        near.acknowledge(1).unwrap();
        assert_eq!(near.after(0).unwrap().0, 2);
        let mut last = 1;
        while let Some((number, message)) = near.after(last) {
            if far.receive(number) == Ok(Novelty::New) {
                arrived.push(message);
            }
            last = number;
        }
        let arrived: Vec<&[u8]> = arrived.iter().map(|one| &**one).collect();
        assert_eq!(arrived, [&b"one"[..], b"two", b"three"]);
        near.acknowledge(far.received()).unwrap();
        assert!(near.is_empty() && near.after(3).is_none());
    }

    #[test]
    fn a_gap_and_an_acknowledgement_of_nothing_are_refused() {
        let mut session = Session::default();
        assert!(session.receive(2).is_err());
        assert!(session.acknowledge(1).is_err());
        assert_eq!(session.receive(1), Ok(Novelty::New));
        assert_eq!(session.receive(1), Ok(Novelty::Known));
    }

    #[test]
    fn what_waits_for_a_peer_has_a_limit_and_room_again_once_it_is_acknowledged() {
        let mut session = Session::default();
        session.push(vec![0; KEPT_BYTES_MAX]).unwrap();
        assert!(session.push(vec![0]).is_err());
        session.acknowledge(1).unwrap();
        assert_eq!(session.push(vec![0]), Ok(2));
    }
}
