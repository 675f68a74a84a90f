//! Responses of brokers: the cluster layer's are handled here, the owner's are handed on. Also sends the owner's requests.

mod streamed;

use tare_kafka::bytes::Bytes;
use tare_kafka::frame::{self, FrameError};
use tare_kafka::kafka_protocol::ResponseError;
use tare_kafka::kafka_protocol::messages::{
    ApiVersionsRequest, ApiVersionsResponse, MetadataRequest,
};
use tare_kafka::kafka_protocol::protocol::Request;

pub use streamed::{Piece, Received};

use super::Cluster;
use super::connection::{self, ExpectsResponse, Pending, Purpose, State};
use super::login;
use crate::client::{Bound, ErrorClass, Outlet, Stamp};
use crate::protocols::kafka::frame_reader::Frame;
use crate::protocols::kafka::versions::{METADATA, Versions};

/// A response to one of the owner's requests.
#[derive(Debug)]
pub struct BrokerResponse<'a> {
    /// The broker it came from.
    pub broker: u32,
    /// The owner's token of the request.
    pub token: u32,
    /// The version the request was sent in.
    pub version: i16,
    /// The response from its correlation id on; to be passed to [`Cluster::recycle`] after it has been read.
    pub frame: Frame<'a>,
    /// When the request's first byte was written.
    pub sent_ns: u64,
    /// Whether its arrival time is exact or an upper bound.
    pub bound: Bound,
}

/// Limit of buffered incomplete responses, of all brokers together.
const BUFFERED_MAX_BYTES: usize = 32 << 20;

/// A violation of the protocol by a broker.
#[derive(Debug, thiserror::Error)]
pub(super) enum ProtocolError {
    #[error(transparent)]
    Frame(#[from] FrameError),
    #[error("an answer to request {0}, which was not asked")]
    UnknownCorrelation(i32),
    #[error("an answer without a number")]
    NoCorrelation,
    #[error("more than {BUFFERED_MAX_BYTES} bytes of answers that do not come to their end")]
    TooMuchBuffered,
}

impl Cluster {
    /// Takes the owner's next response from bytes received on a connection. To be called until `None`.
    #[inline]
    pub fn take<'a>(
        &mut self,
        at: u32,
        input: &mut &'a [u8],
        stamp: Stamp,
        out: &mut impl Outlet,
    ) -> Option<BrokerResponse<'a>> {
        loop {
            match self.next(at, input) {
                Ok(None) => return None,
                Ok(Some((pending, frame))) => {
                    if let Purpose::Owner { token, version } = pending.purpose {
                        let is_only = pending.bound == Bound::Exact && input.is_empty();
                        return Some(BrokerResponse {
                            broker: at,
                            token,
                            version,
                            frame,
                            sent_ns: pending.sent_ns.unwrap_or(pending.begun_ns),
                            bound: if is_only { Bound::Exact } else { Bound::Upper },
                        });
                    }
                    let taken = self.handle_own_response(at, pending.purpose, &frame, stamp, out);
                    self.recycle(at, frame);
                    if let Err(protocol_error) = taken {
                        return self.protocol_error(at, &protocol_error, input, out);
                    }
                }
                Err(protocol_error) => return self.protocol_error(at, &protocol_error, input, out),
            }
        }
    }

    /// Keeps the buffer of a response that has been read.
    #[inline]
    pub fn recycle(&mut self, broker: u32, frame: Frame<'_>) {
        self.connections[broker as usize]
            .frame_reader
            .recycle(frame);
    }

    /// Closes the connection to a broker whose response the owner cannot read.
    pub fn reject(&mut self, broker: u32, why: &dyn std::fmt::Display, out: &mut impl Outlet) {
        let connection = &self.connections[broker as usize];
        if connection.state == State::Closed {
            return;
        }
        let words = format!("{}: {why}", connection.name());
        out.close(connection::conn(broker));
        out.fault(ErrorClass::MALFORMED, &words);
        self.ended(broker, ErrorClass::MALFORMED, &words, out);
    }

    fn next<'a>(
        &mut self,
        at: u32,
        input: &mut &'a [u8],
    ) -> Result<Option<(Pending, Frame<'a>)>, ProtocolError> {
        let connection = &mut self.connections[at as usize];
        if connection.state == State::Closed {
            *input = &[];
            return Ok(None);
        }
        let Some(frame) = connection.frame_reader.next(input)? else {
            return match self.buffers_too_much() {
                true => Err(ProtocolError::TooMuchBuffered),
                false => Ok(None),
            };
        };
        let correlation = frame::correlation(&frame).ok_or(ProtocolError::NoCorrelation)?;
        match connection.take(correlation) {
            Some(pending) if pending.expects_response == ExpectsResponse::Yes => {
                connection.answers += 1;
                Ok(Some((pending, frame)))
            }
            _ => Err(ProtocolError::UnknownCorrelation(correlation)),
        }
    }

    /// Whether incomplete responses exceed the limit.
    fn buffers_too_much(&self) -> bool {
        let held = self
            .connections
            .iter()
            .map(|connection| connection.frame_reader.buffered_bytes());
        held.sum::<usize>() > BUFFERED_MAX_BYTES
    }

    #[cold]
    fn protocol_error<'a>(
        &mut self,
        at: u32,
        protocol_error: &ProtocolError,
        input: &mut &'a [u8],
        out: &mut impl Outlet,
    ) -> Option<BrokerResponse<'a>> {
        *input = &[];
        let connection = &self.connections[at as usize];
        if connection.state == State::Negotiating && connection.answers == 0 {
            let problem = format!("{}: {protocol_error}; {}", connection.name(), self.hint());
            self.give_up(problem);
        }
        self.reject(at, protocol_error, out);
        None
    }

    /// Handles a response to a request of the cluster layer's own.
    fn handle_own_response(
        &mut self,
        at: u32,
        purpose: Purpose,
        frame: &[u8],
        _stamp: Stamp,
        out: &mut impl Outlet,
    ) -> Result<(), ProtocolError> {
        let bytes = Bytes::copy_from_slice(frame);
        match purpose {
            Purpose::Versions { version } => self.on_versions(at, bytes, version, out)?,
            Purpose::Metadata => {
                let version = self.connections[at as usize].versions.of(METADATA.key);
                let response = frame::read::<MetadataRequest>(bytes, version)?;
                self.apply_metadata(&response, out);
            }
            Purpose::Handshake => self.on_sasl_handshake(at, bytes, out)?,
            Purpose::Authenticate => self.on_sasl_response(at, bytes, out)?,
            Purpose::Owner { .. } => {}
        }
        Ok(())
    }

    /// Handles the ApiVersions response.
    fn on_versions(
        &mut self,
        at: u32,
        bytes: Bytes,
        version: i16,
        out: &mut impl Outlet,
    ) -> Result<(), ProtocolError> {
        // A broker that does not know this version of ApiVersions says so in version 0 (KIP-511).
        let code = bytes
            .get(4..6)
            .map_or(0, |code| i16::from_be_bytes([code[0], code[1]]));
        let connection = &mut self.connections[at as usize];
        if code == ResponseError::UnsupportedVersion.code() && version > 0 {
            connection.api_versions_version = 0;
            self.request_versions(at, out);
            return Ok(());
        }
        let response: ApiVersionsResponse = frame::read::<ApiVersionsRequest>(bytes, version)?;
        let mut needed = vec![METADATA];
        needed.extend_from_slice(self.plan.apis);
        if self.plan.login.is_some() {
            needed.extend([login::HANDSHAKE, login::AUTHENTICATE]);
        }
        let connection = &mut self.connections[at as usize];
        match Versions::choose(&response, &needed) {
            Ok(versions) => {
                connection.versions = versions;
                self.begin_auth(at, out);
            }
            Err(unsupported) => {
                let problem = format!("{} cannot be used: {unsupported}", connection.name());
                self.give_up(problem);
            }
        }
        Ok(())
    }

    /// Sends a short request of the owner's; its response carries this token.
    ///
    /// # Errors
    /// When the request cannot be encoded in the version used with this broker.
    pub fn send<R: Request>(
        &mut self,
        broker: u32,
        token: u32,
        request: &R,
        limit_ns: u64,
        out: &mut impl Outlet,
    ) -> Result<(), FrameError> {
        let client = self.client_id.clone();
        let connection = &mut self.connections[broker as usize];
        let version = connection.versions.of_number(R::KEY);
        let correlation = connection.correlation();
        let mut bytes = tare_kafka::bytes::BytesMut::new();
        frame::write(&mut bytes, request, version, correlation, &client)?;
        let mut buffer = connection.send_queue.buffer();
        buffer.extend_from_slice(&bytes);
        connection.send_queue.push(buffer, correlation);
        let purpose = Purpose::Owner { token, version };
        self.expect(
            broker,
            (correlation, purpose, ExpectsResponse::Yes),
            limit_ns,
            out,
        );
        Ok(())
    }

    /// Sends a short request that the owner encodes, length and header included, with the correlation id it is given.
    pub fn send_with(
        &mut self,
        broker: u32,
        token: u32,
        version: i16,
        limit_ns: u64,
        write: impl FnOnce(&mut Vec<u8>, i32),
        out: &mut impl Outlet,
    ) {
        let connection = &mut self.connections[broker as usize];
        let correlation = connection.correlation();
        let mut buffer = connection.send_queue.buffer();
        write(&mut buffer, correlation);
        connection.send_queue.push(buffer, correlation);
        let purpose = Purpose::Owner { token, version };
        self.expect(
            broker,
            (correlation, purpose, ExpectsResponse::Yes),
            limit_ns,
            out,
        );
    }

    /// The next correlation id of a broker's connection.
    pub fn correlation(&mut self, broker: u32) -> i32 {
        self.connections[broker as usize].correlation()
    }

    /// Sends a request made of segments, which the owner keeps until it is complete; with an id from [`Cluster::correlation`].
    pub fn send_segments(
        &mut self,
        broker: u32,
        (token, version, correlation): (u32, i16, i32),
        segments: &[u32],
        expects_response: ExpectsResponse,
        out: &mut impl Outlet,
    ) {
        let connection = &mut self.connections[broker as usize];
        connection.send_queue.push_segments(segments, correlation);
        let purpose = Purpose::Owner { token, version };
        let limit_ns = self.plan.request_timeout_ns;
        self.expect(
            broker,
            (correlation, purpose, expects_response),
            limit_ns,
            out,
        );
    }

    fn expect(
        &mut self,
        at: u32,
        entry: (i32, Purpose, ExpectsResponse),
        limit_ns: u64,
        out: &mut impl Outlet,
    ) {
        let connection = &mut self.connections[at as usize];
        let deadline_ns = connection.expect(entry, out.now_ns(), limit_ns);
        self.deadlines.watch(deadline_ns, out);
        self.touch(at);
    }
}
