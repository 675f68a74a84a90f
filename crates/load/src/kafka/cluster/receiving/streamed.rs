//! Answers that the owner reads as they arrive: handed on in pieces, the others whole.

use tare_kafka::frame;

use super::super::Cluster;
use super::super::link::{self, Answered, Link, Purpose, State};
use super::{Answer, Rubbish};
use crate::client::{Bound, Outlet, Stamp};
use crate::kafka::inbox::{Frame, Part};

/// What was taken from what arrived.
#[derive(Debug)]
pub enum Taken<'a> {
    /// A whole answer.
    Answer(Answer<'a>),
    /// A piece of one that is streamed.
    Piece(Piece<'a>),
}

/// A piece of an answer.
#[derive(Debug, Clone, Copy)]
pub struct Piece<'a> {
    /// Who gave it.
    pub broker: u32,
    /// The owner's word for the request.
    pub token: u32,
    /// Of the first piece: all bytes of the answer behind its correlation.
    pub begins: Option<usize>,
    /// What arrived.
    pub bytes: &'a [u8],
    /// What is still to come; with the last piece, the request is over.
    pub left: usize,
    /// When the request's first byte went.
    pub sent_ns: u64,
    /// What the stamp of its arrival is worth.
    pub bound: Bound,
}

impl Cluster {
    /// As [`Cluster::take`], but for requests whose token is streamed: their answers come in pieces.
    pub fn take_part<'a>(
        &mut self,
        at: u32,
        input: &mut &'a [u8],
        stamp: Stamp,
        out: &mut impl Outlet,
        is_streamed: impl Fn(u32) -> bool,
    ) -> Option<Taken<'a>> {
        loop {
            let link = &mut self.links[at as usize];
            if link.state == State::Closed {
                *input = &[];
                return None;
            }
            let Link { inbox, pending, .. } = link;
            let streams = |correlation: i32| {
                link::sent(pending, correlation).is_some_and(|one| match one.purpose {
                    Purpose::Owner { token, .. } => {
                        one.answered == Answered::Yes && is_streamed(token)
                    }
                    _ => false,
                })
            };
            let taken = match inbox.next_part(input, streams) {
                Ok(None) if self.holds_too_much() => Err(Rubbish::Held),
                Ok(None) => return None,
                Ok(Some(Part::Frame(frame))) => self.whole(at, frame, stamp, input, out),
                Ok(Some(Part::Piece {
                    correlation,
                    begins,
                    bytes,
                    left,
                })) => self.part(at, (correlation, begins, left), bytes, input),
                Err(error) => Err(error.into()),
            };
            match taken {
                Ok(Some(taken)) => return Some(taken),
                Ok(None) => {}
                Err(rubbish) => {
                    self.rubbish(at, &rubbish, input, out);
                    return None;
                }
            }
        }
    }

    fn whole<'a>(
        &mut self,
        at: u32,
        frame: Frame<'a>,
        stamp: Stamp,
        input: &mut &'a [u8],
        out: &mut impl Outlet,
    ) -> Result<Option<Taken<'a>>, Rubbish> {
        let correlation = frame::correlation(&frame).ok_or(Rubbish::Short)?;
        let link = &mut self.links[at as usize];
        let pending = link
            .take(correlation)
            .filter(|pending| pending.answered == Answered::Yes)
            .ok_or(Rubbish::Unasked(correlation))?;
        link.answers += 1;
        let Purpose::Owner { token, version } = pending.purpose else {
            let settled = self.settle(at, pending.purpose, &frame, stamp, out);
            self.give_back(at, frame);
            return settled.map(|()| None);
        };
        let alone = pending.bound == Bound::Exact && input.is_empty();
        Ok(Some(Taken::Answer(Answer {
            broker: at,
            token,
            version,
            frame,
            sent_ns: pending.sent_ns.unwrap_or(pending.begun_ns),
            bound: if alone { Bound::Exact } else { Bound::Upper },
        })))
    }

    fn part<'a>(
        &mut self,
        at: u32,
        (correlation, begins, left): (i32, Option<usize>, usize),
        bytes: &'a [u8],
        input: &[u8],
    ) -> Result<Option<Taken<'a>>, Rubbish> {
        let link = &mut self.links[at as usize];
        let pending = match left {
            0 => {
                link.answers += 1;
                link.take(correlation)
            }
            _ => link::sent(&link.pending, correlation).copied(),
        };
        let pending = pending.ok_or(Rubbish::Unasked(correlation))?;
        let Purpose::Owner { token, .. } = pending.purpose else {
            return Err(Rubbish::Unasked(correlation));
        };
        let alone = pending.bound == Bound::Exact && input.is_empty();
        Ok(Some(Taken::Piece(Piece {
            broker: at,
            token,
            begins,
            bytes,
            left,
            sent_ns: pending.sent_ns.unwrap_or(pending.begun_ns),
            bound: if alone { Bound::Exact } else { Bound::Upper },
        })))
    }
}
