//! Responses of brokers: the cluster layer's are handled here, the owner's are handed on, complete or in pieces as they arrive.
//! Also sends the owner's requests.

use tare_kafka::bytes::{Bytes, BytesMut};
use tare_kafka::frame::{self, FrameError};
use tare_kafka::kafka_protocol::ResponseError;
use tare_kafka::kafka_protocol::messages::{
    ApiVersionsRequest, ApiVersionsResponse, MetadataRequest,
};
use tare_kafka::kafka_protocol::protocol::Request;

use super::Cluster;
use super::connection::{self, BrokerConnection, ExpectsResponse, Purpose, State};
use super::login;
use super::opening::NOT_A_BROKER;
use crate::frame_reader::{Frame, FramePart};
use crate::versions::{self, METADATA, Versions};
use tare_load::client::{ConnId, ErrorClass, Outlet, TimestampBound};

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
    pub bound: TimestampBound,
}

/// A response, or a piece of one.
#[derive(Debug)]
pub enum ReceivedResponse<'a> {
    /// A complete response.
    BrokerResponse(BrokerResponse<'a>),
    /// A piece of a streamed response.
    Piece(ResponsePiece<'a>),
}

/// A piece of a streamed response.
#[derive(Debug, Clone, Copy)]
pub struct ResponsePiece<'a> {
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
    pub bound: TimestampBound,
}

/// Limit of buffered incomplete responses, of all brokers together.
const BUFFERED_MAX_BYTES: usize = 32 << 20;

/// A violation of the protocol by a broker.
#[derive(Debug, thiserror::Error)]
pub(super) enum ProtocolError {
    #[error(transparent)]
    Frame(#[from] FrameError),
    #[error("unknown correlation id {0}")]
    UnknownCorrelation(i32),
    #[error("a response without a correlation id")]
    NoCorrelation,
    #[error("cannot be used: {0}")]
    Unusable(String),
    #[error("more than {BUFFERED_MAX_BYTES} bytes of incomplete responses")]
    TooMuchBuffered,
}

impl Cluster {
    /// Takes the owner's next response from bytes received on a connection. To be called until `None`.
    #[inline]
    pub fn take<'a>(
        &mut self,
        at: u32,
        input: &mut &'a [u8],
        out: &mut impl Outlet,
    ) -> Option<BrokerResponse<'a>> {
        match self.take_streamed(at, input, out, |_| false)? {
            ReceivedResponse::BrokerResponse(response) => Some(response),
            ReceivedResponse::Piece(_) => None,
        }
    }

    /// As [`Cluster::take`], but responses whose token `is_streamed` come in pieces.
    pub fn take_streamed<'a>(
        &mut self,
        at: u32,
        input: &mut &'a [u8],
        out: &mut impl Outlet,
        is_streamed: impl Fn(u32) -> bool,
    ) -> Option<ReceivedResponse<'a>> {
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
                Ok(Some(FramePart::Frame(frame))) => self.take_frame(at, frame, input, out),
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
        input: &mut &'a [u8],
        out: &mut impl Outlet,
    ) -> Result<Option<ReceivedResponse<'a>>, ProtocolError> {
        let correlation = frame::correlation(&frame).ok_or(ProtocolError::NoCorrelation)?;
        let connection = &mut self.connections[at as usize];
        let pending = connection
            .take(correlation)
            .filter(|pending| pending.expects_response == ExpectsResponse::Yes)
            .ok_or(ProtocolError::UnknownCorrelation(correlation))?;
        connection.answers += 1;
        let Purpose::Owner { token, version } = pending.purpose else {
            let settled = self.handle_own_response(at, pending.purpose, &frame, out);
            self.recycle(at, frame);
            return settled.map(|()| None);
        };
        let is_only = pending.bound == TimestampBound::Exact && input.is_empty();
        Ok(Some(ReceivedResponse::BrokerResponse(BrokerResponse {
            broker: at,
            token,
            version,
            frame,
            sent_ns: pending.sent_ns.unwrap_or(pending.begun_ns),
            bound: if is_only {
                TimestampBound::Exact
            } else {
                TimestampBound::Upper
            },
        })))
    }

    fn take_piece<'a>(
        &mut self,
        at: u32,
        (correlation, total_bytes, left): (i32, Option<usize>, usize),
        bytes: &'a [u8],
        input: &[u8],
    ) -> Result<Option<ReceivedResponse<'a>>, ProtocolError> {
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
        let is_only = pending.bound == TimestampBound::Exact && input.is_empty();
        Ok(Some(ReceivedResponse::Piece(ResponsePiece {
            broker: at,
            token,
            total_bytes,
            bytes,
            left,
            sent_ns: pending.sent_ns.unwrap_or(pending.begun_ns),
            bound: if is_only {
                TimestampBound::Exact
            } else {
                TimestampBound::Upper
            },
        })))
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
        let words = format!("{connection}: {why}");
        out.close(ConnId(broker));
        out.fault(ErrorClass::MALFORMED, &words);
        self.ended(broker, ErrorClass::MALFORMED, &words, out);
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
    fn protocol_error(
        &mut self,
        at: u32,
        protocol_error: &ProtocolError,
        input: &mut &[u8],
        out: &mut impl Outlet,
    ) {
        *input = &[];
        let connection = &self.connections[at as usize];
        let problem = match protocol_error {
            ProtocolError::Unusable(_) => Some(format!("{connection} {protocol_error}")),
            _ if connection.state == State::Negotiating && connection.answers == 0 => {
                Some(format!("{connection}: {protocol_error}; {}", self.hint()))
            }
            _ => None,
        };
        let Some(problem) = problem else {
            return self.reject(at, protocol_error, out);
        };
        out.close(ConnId(at));
        self.unusable(at, problem.clone(), out);
        self.ended(at, NOT_A_BROKER, &problem, out);
    }

    /// Handles a response to a request of the cluster layer's own.
    fn handle_own_response(
        &mut self,
        at: u32,
        purpose: Purpose,
        frame: &[u8],
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
            Err(_) if versions::is_controller(&response) => {
                return Err(ProtocolError::Unusable(
                    "it is the port of a controller: give that of a broker".to_owned(),
                ));
            }
            Err(unsupported) => return Err(ProtocolError::Unusable(unsupported.to_string())),
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
        let versions = &self.connections[broker as usize].versions;
        let version = versions.of_number(R::KEY);
        let purpose = Purpose::Owner { token, version };
        self.encode(broker, (purpose, version), request, limit_ns, out)
    }

    /// Encodes a request and queues it.
    pub(super) fn encode<R: Request>(
        &mut self,
        at: u32,
        (purpose, version): (Purpose, i16),
        request: &R,
        limit_ns: u64,
        out: &mut impl Outlet,
    ) -> Result<(), FrameError> {
        let connection = &mut self.connections[at as usize];
        let correlation = connection.correlation();
        let mut bytes = BytesMut::new();
        frame::write(&mut bytes, request, version, correlation, &self.client_id)?;
        let mut buffer = connection.send_queue.buffer();
        buffer.extend_from_slice(&bytes);
        connection.send_queue.push(buffer, correlation);
        let entry = (correlation, purpose, ExpectsResponse::Yes);
        self.expect(at, entry, limit_ns, out);
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
        let entry = (correlation, purpose, ExpectsResponse::Yes);
        self.expect(broker, entry, limit_ns, out);
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
        let entry = (correlation, purpose, expects_response);
        self.expect(broker, entry, self.plan.request_timeout_ns, out);
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
        self.dirty.push(at);
    }
}
