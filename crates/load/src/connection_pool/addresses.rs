//! Which address of a server the next connection goes to.
//!
//! A name may have addresses that do not answer: `localhost` is often both `::1` and `127.0.0.1`. Each address is tried by one
//! connection; then those that have answered are used in turn. The others are tried again by single connections.

use std::net::SocketAddr;
use std::sync::Arc;

use super::Backoff;

/// Time that an address has for its first connection, if there are others: a lost SYN is repeated only after a second.
const FIRST_TRY_NS: u64 = 1_000_000_000;

/// The addresses of a server, with what is known of each.
#[derive(Debug)]
pub(crate) struct Addresses {
    all: Arc<[SocketAddr]>,
    known: Vec<Known>,
    /// Index of the address whose turn it is.
    next: usize,
}

/// What is known of an address.
#[derive(Debug, Default)]
struct Known {
    state: AddressState,
    backoff: Backoff,
    was_tried: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum AddressState {
    /// No connection tries it.
    #[default]
    Unknown,
    /// A connection tries it, for the first time or not.
    Tried {
        is_first: bool,
    },
    Answers,
    /// It failed, and is left alone until then.
    Dead {
        until_ns: u64,
    },
}

/// An address for the next connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Choice {
    /// Its index.
    pub index: usize,
    pub address: SocketAddr,
    /// Limit of this attempt, if it is less than that of others.
    pub limit_ns: Option<u64>,
}

impl Addresses {
    /// The addresses, and the index of the first one to be used.
    pub fn new(all: &Arc<[SocketAddr]>, first: usize) -> Self {
        Self {
            known: all.iter().map(|_| Known::default()).collect(),
            next: first % all.len().max(1),
            all: Arc::clone(all),
        }
    }

    /// Takes the address for the next connection; `None` while the answer of other attempts has to be waited for.
    pub fn choose(&mut self, now_ns: u64) -> Option<Choice> {
        let count = self.all.len();
        // What answers first would get all connections while the others are still tried.
        let is_new = |known: &Known| known.state == AddressState::Tried { is_first: true };
        let waits = self.known.iter().any(is_new);
        let may_be_used = |known: &Known| match known.state {
            AddressState::Unknown => true,
            AddressState::Tried { .. } => count == 1,
            AddressState::Answers => !waits,
            AddressState::Dead { until_ns } => !waits && until_ns <= now_ns,
        };
        let mut turns = (0..count).map(|turn| (self.next + turn) % count);
        let index = turns.find(|&at| may_be_used(&self.known[at]))?;
        self.next = (index + 1) % count;
        let known = &mut self.known[index];
        let is_first = !std::mem::replace(&mut known.was_tried, true) && count > 1;
        if known.state != AddressState::Answers {
            known.state = AddressState::Tried { is_first };
        }
        Some(Choice {
            index,
            address: self.all[index],
            limit_ns: is_first.then_some(FIRST_TRY_NS),
        })
    }

    /// The same for a connection that waits for no other: the next address in turn where it would have to.
    pub fn choose_now(&mut self, now_ns: u64) -> Choice {
        self.choose(now_ns).unwrap_or_else(|| {
            let index = self.next;
            self.next = (index + 1) % self.all.len();
            Choice {
                index,
                address: self.all[index],
                limit_ns: None,
            }
        })
    }

    /// A connection to an address is open.
    pub fn answered(&mut self, index: usize) {
        let known = &mut self.known[index];
        known.state = AddressState::Answers;
        known.backoff.succeeded();
    }

    /// An attempt failed. Returns whether another address may be tried at once.
    pub fn failed(&mut self, index: usize, now_ns: u64) -> bool {
        let known = &mut self.known[index];
        known.backoff.elapsed();
        let until_ns = known.backoff.failed(now_ns);
        known.state = AddressState::Dead { until_ns };
        let may_be_used = |known: &Known| !matches!(known.state, AddressState::Dead { .. });
        self.known.iter().any(may_be_used)
    }

    /// A pause after the failure of all of them is over.
    pub fn retry(&mut self) {
        let answers = |known: &Known| known.state == AddressState::Answers;
        if self.known.iter().any(answers) {
            return;
        }
        for known in &mut self.known {
            if let AddressState::Dead { .. } = known.state {
                known.state = AddressState::Unknown;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(count: u16) -> Addresses {
        let all = (1..=count).map(|port| SocketAddr::from(([127, 0, 0, 1], port)));
        Addresses::new(&all.collect(), 0)
    }

    fn chosen(addresses: &mut Addresses, now_ns: u64) -> Option<usize> {
        addresses.choose(now_ns).map(|choice| choice.index)
    }

    #[test]
    fn a_single_address_is_always_the_one() {
        let mut one = addresses(1);
        assert_eq!(
            (chosen(&mut one, 0), chosen(&mut one, 0)),
            (Some(0), Some(0))
        );
        assert!(!one.failed(0, 0));
        one.retry();
        assert_eq!(one.choose(0).unwrap().limit_ns, None);
    }

    #[test]
    fn each_is_tried_once_then_those_that_answer_are_used_in_turn() {
        let mut three = addresses(3);
        let first = three.choose(0).unwrap();
        assert_eq!((first.index, first.limit_ns), (0, Some(FIRST_TRY_NS)));
        assert_eq!(
            (chosen(&mut three, 0), chosen(&mut three, 0)),
            (Some(1), Some(2))
        );
        three.answered(1);
        assert_eq!(chosen(&mut three, 0), None, "two are not known yet");
        assert!(three.failed(0, 0), "there are others");
        three.answered(2);
        let then: Vec<_> = (0..4).map(|_| chosen(&mut three, 0)).collect();
        assert_eq!(then, [1, 2, 1, 2].map(Some));
        let later_ns = 2_000_000_000;
        let then: Vec<_> = (0..4).map(|_| chosen(&mut three, later_ns)).collect();
        assert_eq!(
            then,
            [0, 1, 2, 1].map(Some),
            "the dead one is tried again, once"
        );
        three.answered(0);
        let then: Vec<_> = (0..3).map(|_| chosen(&mut three, later_ns)).collect();
        assert_eq!(then, [2, 0, 1].map(Some));
    }

    #[test]
    fn a_single_connection_goes_from_one_to_the_next() {
        let mut two = addresses(2);
        assert_eq!(chosen(&mut two, 0), Some(0));
        assert!(two.failed(0, 0));
        assert_eq!(chosen(&mut two, 0), Some(1));
        two.answered(1);
        assert_eq!(chosen(&mut two, 0), Some(1));
    }

    #[test]
    fn when_all_fail_a_pause_follows_and_all_are_tried_again() {
        let mut two = addresses(2);
        assert_eq!(chosen(&mut two, 0), Some(0));
        assert!(two.failed(0, 0));
        assert_eq!(chosen(&mut two, 0), Some(1));
        assert!(!two.failed(1, 0));
        assert_eq!(chosen(&mut two, 0), None);
        two.retry();
        let again = two.choose(0).unwrap();
        assert_eq!((again.index, again.limit_ns), (0, None));
    }
}
