//! Streamed responses, handed to the owner in pieces as they arrive; others are handed on complete.

use tare_kafka::frame;

use super::super::Cluster;
use super::super::connection::{self, BrokerConnection, ExpectsResponse, Purpose, State};
use super::{BrokerResponse, ProtocolError};
use crate::client::{Bound, Outlet, Stamp};
use crate::protocols::kafka::frame_reader::{Frame, FramePart};

/// A response, or a piece of one.
#[derive(Debug)]
pub enum Received<'a> {
    /// A complete response.
    BrokerResponse(BrokerResponse<'a>),
    /// A piece of a streamed response.
    Piece(Piece<'a>),
}

/// A piece of a streamed response.
#[derive(Debug, Clone, Copy)]
pub struct Piece<'a> {
    /// The broker it came from.
    pub broker: u32,
    /// The owner's token of the request.
    pub token: u32,
    /// With the first piece: the bytes of the whole response after its correlation id.
    pub total_bytes: Option<usize>,
    /// The bytes received.
    pub bytes: &'a [u8],
    /// Bytes still to come; with 0, the request is complete.
    pub left: usize,
    /// When the request's first byte was written.
    pub sent_ns: u64,
    /// Whether its arrival time is exact or an upper bound.
    pub bound: Bound,
}

impl Cluster {
    /// As [`Cluster::take`], but responses whose token `is_streamed` come in pieces.
    pub fn take_streamed<'a>(
        &mut self,
        at: u32,
        input: &mut &'a [u8],
        stamp: Stamp,
        out: &mut impl Outlet,
        is_streamed: impl Fn(u32) -> bool,
    ) -> Option<Received<'a>> {
        loop {
            let connection = &mut self.connections[at as usize];
            if connection.state == State::Closed {
                *input = &[];
                return None;
            }
            let BrokerConnection {
                frame_reader,
                pending,
                ..
            } = connection;
            let streams = |correlation: i32| {
                connection::sent(pending, correlation).is_some_and(|one| match one.purpose {
                    Purpose::Owner { token, .. } => {
                        one.expects_response == ExpectsResponse::Yes && is_streamed(token)
                    }
                    _ => false,
                })
            };
            let taken = match frame_reader.next_part(input, streams) {
                Ok(None) if self.buffers_too_much() => Err(ProtocolError::TooMuchBuffered),
                Ok(None) => return None,
                Ok(Some(FramePart::Frame(frame))) => self.take_frame(at, frame, stamp, input, out),
                Ok(Some(FramePart::Piece {
                    correlation,
                    total_bytes,
                    bytes,
                    left,
                })) => self.take_piece(at, (correlation, total_bytes, left), bytes, input),
                Err(error) => Err(error.into()),
            };
            match taken {
                Ok(Some(taken)) => return Some(taken),
                Ok(None) => {}
                Err(protocol_error) => {
                    self.protocol_error(at, &protocol_error, input, out);
                    return None;
                }
            }
        }
    }

    fn take_frame<'a>(
        &mut self,
        at: u32,
        frame: Frame<'a>,
        stamp: Stamp,
        input: &mut &'a [u8],
        out: &mut impl Outlet,
    ) -> Result<Option<Received<'a>>, ProtocolError> {
        let correlation = frame::correlation(&frame).ok_or(ProtocolError::NoCorrelation)?;
        let connection = &mut self.connections[at as usize];
        let pending = connection
            .take(correlation)
            .filter(|pending| pending.expects_response == ExpectsResponse::Yes)
            .ok_or(ProtocolError::UnknownCorrelation(correlation))?;
        connection.answers += 1;
        let Purpose::Owner { token, version } = pending.purpose else {
            let settled = self.handle_own_response(at, pending.purpose, &frame, stamp, out);
            self.recycle(at, frame);
            return settled.map(|()| None);
        };
        let is_only = pending.bound == Bound::Exact && input.is_empty();
        Ok(Some(Received::BrokerResponse(BrokerResponse {
            broker: at,
            token,
            version,
            frame,
            sent_ns: pending.sent_ns.unwrap_or(pending.begun_ns),
            bound: if is_only { Bound::Exact } else { Bound::Upper },
        })))
    }

    fn take_piece<'a>(
        &mut self,
        at: u32,
        (correlation, total_bytes, left): (i32, Option<usize>, usize),
        bytes: &'a [u8],
        input: &[u8],
    ) -> Result<Option<Received<'a>>, ProtocolError> {
        let connection = &mut self.connections[at as usize];
        let pending = match left {
            0 => {
                connection.answers += 1;
                connection.take(correlation)
            }
            _ => connection::sent(&connection.pending, correlation).copied(),
        };
        let pending = pending.ok_or(ProtocolError::UnknownCorrelation(correlation))?;
        let Purpose::Owner { token, .. } = pending.purpose else {
            return Err(ProtocolError::UnknownCorrelation(correlation));
        };
        let is_only = pending.bound == Bound::Exact && input.is_empty();
        Ok(Some(Received::Piece(Piece {
            broker: at,
            token,
            total_bytes,
            bytes,
            left,
            sent_ns: pending.sent_ns.unwrap_or(pending.begun_ns),
            bound: if is_only { Bound::Exact } else { Bound::Upper },
        })))
    }
}
