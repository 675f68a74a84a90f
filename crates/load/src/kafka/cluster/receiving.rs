//! What brokers answer: the cluster's own questions are dealt with, the owner's answers handed on.

mod streamed;

use tare_kafka::bytes::Bytes;
use tare_kafka::frame::{self, FrameError};
use tare_kafka::kafka_protocol::ResponseError;
use tare_kafka::kafka_protocol::messages::{
    ApiVersionsRequest, ApiVersionsResponse, MetadataRequest,
};
use tare_kafka::kafka_protocol::protocol::Request;

pub use streamed::{Piece, Taken};

use super::Cluster;
use super::link::{self, Answered, Pending, Purpose, State};
use super::login;
use crate::client::{Bound, ErrorClass, Outlet, Stamp};
use crate::kafka::inbox::Frame;
use crate::kafka::versions::{METADATA, Versions};

/// An answer to one of the owner's requests.
#[derive(Debug)]
pub struct Answer<'a> {
    /// Who gave it.
    pub broker: u32,
    /// The owner's word for the request.
    pub token: u32,
    /// The version the request was sent in.
    pub version: i16,
    /// The answer from its correlation on; to be given back when it has been read.
    pub frame: Frame<'a>,
    /// When the request's first byte went.
    pub sent_ns: u64,
    /// What the stamp of its arrival is worth.
    pub bound: Bound,
}

/// What is held of answers that have not come whole, of all brokers together.
const HELD_MAX_BYTES: usize = 32 << 20;

/// What a broker sent that it must not send.
#[derive(Debug, thiserror::Error)]
pub(super) enum Rubbish {
    #[error(transparent)]
    Frame(#[from] FrameError),
    #[error("an answer to request {0}, which was not asked")]
    Unasked(i32),
    #[error("an answer without a number")]
    Short,
    #[error("more than {HELD_MAX_BYTES} bytes of answers that do not come to their end")]
    Held,
}

impl Cluster {
    /// Takes the next answer for the owner from what arrived on a connection. To be called until it gives none.
    #[inline]
    pub fn take<'a>(
        &mut self,
        at: u32,
        input: &mut &'a [u8],
        stamp: Stamp,
        out: &mut impl Outlet,
    ) -> Option<Answer<'a>> {
        loop {
            match self.next(at, input) {
                Ok(None) => return None,
                Ok(Some((pending, frame))) => {
                    if let Purpose::Owner { token, version } = pending.purpose {
                        let alone = pending.bound == Bound::Exact && input.is_empty();
                        return Some(Answer {
                            broker: at,
                            token,
                            version,
                            frame,
                            sent_ns: pending.sent_ns.unwrap_or(pending.begun_ns),
                            bound: if alone { Bound::Exact } else { Bound::Upper },
                        });
                    }
                    let taken = self.settle(at, pending.purpose, &frame, stamp, out);
                    self.give_back(at, frame);
                    if let Err(rubbish) = taken {
                        return self.rubbish(at, &rubbish, input, out);
                    }
                }
                Err(rubbish) => return self.rubbish(at, &rubbish, input, out),
            }
        }
    }

    /// Gets the room of an answer back.
    #[inline]
    pub fn give_back(&mut self, broker: u32, frame: Frame<'_>) {
        self.links[broker as usize].inbox.give_back(frame);
    }

    /// The owner cannot read an answer of this broker: the connection is given up.
    pub fn distrust(&mut self, broker: u32, why: &dyn std::fmt::Display, out: &mut impl Outlet) {
        let link = &self.links[broker as usize];
        if link.state == State::Closed {
            return;
        }
        let words = format!("{}: {why}", link.name());
        out.close(link::conn(broker));
        out.fault(ErrorClass::RUBBISH, &words);
        self.ended(broker, ErrorClass::RUBBISH, &words, out);
    }

    fn next<'a>(
        &mut self,
        at: u32,
        input: &mut &'a [u8],
    ) -> Result<Option<(Pending, Frame<'a>)>, Rubbish> {
        let link = &mut self.links[at as usize];
        if link.state == State::Closed {
            *input = &[];
            return Ok(None);
        }
        let Some(frame) = link.inbox.next(input)? else {
            return match self.holds_too_much() {
                true => Err(Rubbish::Held),
                false => Ok(None),
            };
        };
        let correlation = frame::correlation(&frame).ok_or(Rubbish::Short)?;
        match link.take(correlation) {
            Some(pending) if pending.answered == Answered::Yes => {
                link.answers += 1;
                Ok(Some((pending, frame)))
            }
            _ => Err(Rubbish::Unasked(correlation)),
        }
    }

    /// Whether brokers have begun more answers than can be held.
    fn holds_too_much(&self) -> bool {
        let held = self.links.iter().map(|link| link.inbox.held_bytes());
        held.sum::<usize>() > HELD_MAX_BYTES
    }

    #[cold]
    fn rubbish<'a>(
        &mut self,
        at: u32,
        rubbish: &Rubbish,
        input: &mut &'a [u8],
        out: &mut impl Outlet,
    ) -> Option<Answer<'a>> {
        *input = &[];
        let link = &self.links[at as usize];
        if link.state == State::Greeting && link.answers == 0 {
            let problem = format!("{}: {rubbish}; {}", link.name(), self.hint());
            self.give_up(problem);
        }
        self.distrust(at, rubbish, out);
        None
    }

    /// Deals with an answer to a question of the cluster's own.
    fn settle(
        &mut self,
        at: u32,
        purpose: Purpose,
        frame: &[u8],
        _stamp: Stamp,
        out: &mut impl Outlet,
    ) -> Result<(), Rubbish> {
        let bytes = Bytes::copy_from_slice(frame);
        match purpose {
            Purpose::Versions { version } => self.greeted(at, bytes, version, out)?,
            Purpose::Metadata => {
                let version = self.links[at as usize].versions.of(METADATA.key);
                let told = frame::read::<MetadataRequest>(bytes, version)?;
                self.learn(&told, out);
            }
            Purpose::Handshake => self.shaken(at, bytes, out)?,
            Purpose::Authenticate => self.heard(at, bytes, out)?,
            Purpose::Owner { .. } => {}
        }
        Ok(())
    }

    /// A broker told its versions.
    fn greeted(
        &mut self,
        at: u32,
        bytes: Bytes,
        version: i16,
        out: &mut impl Outlet,
    ) -> Result<(), Rubbish> {
        // A broker that does not know our version of the question says so in the oldest one (KIP-511).
        let code = bytes
            .get(4..6)
            .map_or(0, |code| i16::from_be_bytes([code[0], code[1]]));
        let link = &mut self.links[at as usize];
        if code == ResponseError::UnsupportedVersion.code() && version > 0 {
            link.asked_version = 0;
            self.greet(at, out);
            return Ok(());
        }
        let told: ApiVersionsResponse = frame::read::<ApiVersionsRequest>(bytes, version)?;
        let mut needed = vec![METADATA];
        needed.extend_from_slice(self.plan.apis);
        if self.plan.login.is_some() {
            needed.extend([login::HANDSHAKE, login::AUTHENTICATE]);
        }
        let link = &mut self.links[at as usize];
        match Versions::choose(&told, &needed) {
            Ok(versions) => {
                link.versions = versions;
                self.introduce(at, out);
            }
            Err(unsupported) => {
                let problem = format!("{} cannot be used: {unsupported}", link.name());
                self.give_up(problem);
            }
        }
        Ok(())
    }

    /// Sends a short request of the owner's; its answer comes with this token.
    ///
    /// # Errors
    /// When the request cannot be written in the version that is spoken with this broker.
    pub fn send<R: Request>(
        &mut self,
        broker: u32,
        token: u32,
        request: &R,
        limit_ns: u64,
        out: &mut impl Outlet,
    ) -> Result<(), FrameError> {
        let client = self.client_id.clone();
        let link = &mut self.links[broker as usize];
        let version = link.versions.of_number(R::KEY);
        let correlation = link.correlation();
        let mut bytes = tare_kafka::bytes::BytesMut::new();
        frame::write(&mut bytes, request, version, correlation, &client)?;
        let mut buffer = link.outbox.buffer();
        buffer.extend_from_slice(&bytes);
        link.outbox.push(buffer, correlation);
        let purpose = Purpose::Owner { token, version };
        self.expect(broker, (correlation, purpose, Answered::Yes), limit_ns, out);
        Ok(())
    }

    /// Sends a short request that the owner writes itself, length and head included, with the number it is given.
    pub fn send_with(
        &mut self,
        broker: u32,
        token: u32,
        version: i16,
        limit_ns: u64,
        write: impl FnOnce(&mut Vec<u8>, i32),
        out: &mut impl Outlet,
    ) {
        let link = &mut self.links[broker as usize];
        let correlation = link.correlation();
        let mut buffer = link.outbox.buffer();
        write(&mut buffer, correlation);
        link.outbox.push(buffer, correlation);
        let purpose = Purpose::Owner { token, version };
        self.expect(broker, (correlation, purpose, Answered::Yes), limit_ns, out);
    }

    /// The number of the next request on a broker's connection.
    pub fn correlation(&mut self, broker: u32) -> i32 {
        self.links[broker as usize].correlation()
    }

    /// Sends a request made of segments that the owner keeps until it is over, with the number it got for it.
    pub fn send_segments(
        &mut self,
        broker: u32,
        (token, version, correlation): (u32, i16, i32),
        segments: &[u32],
        answered: Answered,
        out: &mut impl Outlet,
    ) {
        let link = &mut self.links[broker as usize];
        link.outbox.push_segments(segments, correlation);
        let purpose = Purpose::Owner { token, version };
        let limit_ns = self.plan.request_timeout_ns;
        self.expect(broker, (correlation, purpose, answered), limit_ns, out);
    }

    fn expect(
        &mut self,
        at: u32,
        entry: (i32, Purpose, Answered),
        limit_ns: u64,
        out: &mut impl Outlet,
    ) {
        let link = &mut self.links[at as usize];
        let deadline_ns = link.expect(entry, out.now_ns(), limit_ns);
        self.deadlines.watch(deadline_ns, out);
        self.touch(at);
    }
}
