//! Handling of received frames: stream states (RFC 9113 §5.1), responses and receive windows.

use std::collections::VecDeque;

use tare_record::load::MessagePace;

use super::super::codec::{Event, FieldSection, StreamEnd, frame};
use super::super::error::CodecError;
use super::super::stream_protocol::{StreamProtocol, StreamResponse};
use super::QueuedExchange;
use super::conn::{CloseReason, Conn};
use crate::client::{ExchangeOutcome, Outlet, Stamp, TimestampBound};
use crate::protocols::http1::codec::RequestKind;

/// Interim responses before a final one, at most.
const INTERIM_MAX: u8 = 64;

/// Largest response body: more than any measurement is meant to fetch.
const BODY_BYTES_MAX: u64 = 16 << 30;

/// Context of the events of one read.
pub struct EventContext<'a, D: StreamProtocol> {
    pub requests: &'a [D::Request],
    /// The wait queue, for exchanges that the server did not process.
    pub waiting: &'a mut VecDeque<QueuedExchange>,
    /// Exchanges for connections that are opened later than this.
    pub returned: &'a mut VecDeque<(QueuedExchange, u64)>,
    /// Arrival of the last byte.
    pub stamp: Stamp,
    /// Whether the timestamp is exact or an upper bound for an exchange that ends now.
    pub bound: TimestampBound,
}

impl<'a, D: StreamProtocol> EventContext<'a, D> {
    fn request(&self, number: u32) -> &'a D::Request {
        &self.requests[number as usize % self.requests.len()]
    }

    pub(super) fn at(&self) -> (Stamp, TimestampBound) {
        (self.stamp, self.bound)
    }
}

/// A received piece of a response body.
#[derive(Debug, Clone, Copy)]
struct Piece<'b> {
    stream: u32,
    slice: &'b [u8],
    window_bytes: u32,
    end: StreamEnd,
}

impl<D: StreamProtocol> Conn<D> {
    /// Handles one event.
    ///
    /// # Errors
    /// When the connection must be closed.
    #[inline]
    pub fn take(
        &mut self,
        event: Event<'_>,
        context: &mut EventContext<'_, D>,
        out: &mut impl Outlet,
    ) -> Result<(), CodecError> {
        match event {
            Event::Headers {
                stream,
                end,
                section,
            } => self.headers(stream, end, section, context, out),
            Event::InvalidHeaders { stream, error } => {
                if let Some(slot) = self.slot_of(stream, "HEADERS")? {
                    self.fail_stream(slot, error, context, out);
                }
                Ok(())
            }
            Event::Data {
                stream,
                slice,
                window_bytes,
                end,
            } => self.data(
                Piece {
                    stream,
                    slice,
                    window_bytes,
                    end,
                },
                context,
                out,
            ),
            Event::Settings(change) => self.settings(change),
            Event::SettingsAck => Ok(()),
            Event::Ping(payload) => {
                self.counts.pings_received += 1;
                self.output
                    .answer(|pending| frame::write_ping_ack(pending, payload))
            }
            Event::WindowUpdate { stream, increment } => {
                self.window(stream, increment, context, out)
            }
            Event::Reset { stream, code } => self.on_rst_stream(stream, code, context, out),
            Event::GoAway { last_stream, code } => self.on_goaway(last_stream, code, context, out),
            Event::StreamError { stream, error } => {
                if let Some(slot) = self.streams.find(stream) {
                    self.fail_stream(slot, error, context, out);
                }
                Ok(())
            }
        }
    }

    /// The slot of the stream that a frame belongs to; `None` if the client reset it and the frame was already under way.
    #[inline]
    fn slot_of(&self, stream: u32, frame: &'static str) -> Result<Option<u16>, CodecError> {
        match self.streams.find(stream) {
            Some(slot) => Ok(Some(slot)),
            None if stream >= self.next_id => Err(CodecError::IdleStream { frame, stream }),
            None if self.resets.may_contain(stream) => Ok(None),
            None => Err(CodecError::ClosedStream { frame, stream }),
        }
    }

    /// Like `slot_of`, for a frame that may also arrive after the end of its stream.
    pub(super) fn live_slot(
        &self,
        stream: u32,
        frame: &'static str,
    ) -> Result<Option<u16>, CodecError> {
        match self.slot_of(stream, frame) {
            Err(CodecError::ClosedStream { .. }) => Ok(None),
            slot => slot,
        }
    }

    fn headers(
        &mut self,
        stream: u32,
        end: StreamEnd,
        section: FieldSection,
        context: &mut EventContext<'_, D>,
        out: &mut impl Outlet,
    ) -> Result<(), CodecError> {
        let Some(slot) = self.slot_of(stream, "HEADERS")? else {
            return Ok(());
        };
        match self.read_section(slot, end, section) {
            Err(error) => self.fail_stream(slot, error, context, out),
            Ok(()) if end == StreamEnd::Open => {
                let ticket = self.streams.at(slot).due.ticket;
                out.record_first_byte(ticket, context.stamp.arrived_ns);
            }
            Ok(()) => {
                let has_head = section.status.is_none();
                self.on_response(slot, has_head.then_some(section), context, out);
            }
        }
        Ok(())
    }

    /// Checks that a field section is allowed in the state of the stream, and records it (RFC 9113 §8.1).
    fn read_section(
        &mut self,
        slot: u16,
        end: StreamEnd,
        section: FieldSection,
    ) -> Result<(), CodecError> {
        let stream = self.streams.at(slot);
        match (stream.head, section.status) {
            (None, None | Some(101)) => Err(CodecError::BadStatus),
            (None, Some(100..200)) => {
                stream.interim += 1;
                match (end, stream.interim > INTERIM_MAX) {
                    (StreamEnd::Last, _) => Err(CodecError::InterimEnds),
                    (StreamEnd::Open, true) => Err(CodecError::TooManyInterim { max: INTERIM_MAX }),
                    (StreamEnd::Open, false) => Ok(()),
                }
            }
            (None, Some(_)) => {
                stream.head = Some(section);
                Ok(())
            }
            (Some(_), Some(_)) => Err(CodecError::BadPseudoHeader),
            (Some(_), None) if end == StreamEnd::Open => Err(CodecError::TrailersWithoutEnd),
            (Some(_), None) => Ok(()),
        }
    }

    #[inline]
    fn data(
        &mut self,
        piece: Piece<'_>,
        context: &mut EventContext<'_, D>,
        out: &mut impl Outlet,
    ) -> Result<(), CodecError> {
        // Counted first, and for every stream: it used the connection's window even if the stream is closed.
        self.receive_window -= i64::from(piece.window_bytes);
        if self.receive_window < 0 {
            return Err(CodecError::WindowExceeded);
        }
        let whole = i64::from(self.windows.connection_bytes);
        if self.receive_window <= whole / 2 {
            let spent = (whole - self.receive_window) as u32;
            self.receive_window = whole;
            self.output
                .answer(|pending| frame::write_window_update(pending, 0, spent))?;
        }
        let Some(slot) = self.slot_of(piece.stream, "DATA")? else {
            return Ok(());
        };
        match self.read_data(slot, piece, context) {
            Err(error) => self.fail_stream(slot, error, context, out),
            Ok(()) if piece.end == StreamEnd::Last => self.on_response(slot, None, context, out),
            Ok(()) => {}
        }
        Ok(())
    }

    #[inline]
    fn read_data(
        &mut self,
        slot: u16,
        piece: Piece<'_>,
        context: &EventContext<'_, D>,
    ) -> Result<(), CodecError> {
        let stream = self.streams.at(slot);
        let head = stream.head.ok_or(CodecError::DataBeforeHead)?;
        let request = context.request(stream.due.request);
        let whole = i64::from(self.windows.stream_bytes);
        stream.receive_window -= i64::from(piece.window_bytes);
        if stream.receive_window < 0 {
            return Err(CodecError::StreamWindowExceeded);
        }
        if stream.receive_window <= whole / 2 && piece.end == StreamEnd::Open {
            let spent = (whole - stream.receive_window) as u32;
            stream.receive_window = whole;
            let id = stream.id;
            self.output
                .answer(|pending| frame::write_window_update(pending, id, spent))?;
        }
        if piece.slice.is_empty() {
            return Ok(());
        }
        if !has_body::<D>(request, head) {
            return Err(CodecError::UnexpectedBody);
        }
        stream.body_bytes += piece.slice.len() as u64;
        let got_bytes = stream.body_bytes;
        if got_bytes > BODY_BYTES_MAX {
            return Err(CodecError::BodyTooLarge {
                max_bytes: BODY_BYTES_MAX,
            });
        }
        if let Some(stated_bytes) = head.content_length.filter(|&stated| got_bytes > stated) {
            return Err(CodecError::ContentLength {
                stated_bytes,
                got_bytes,
            });
        }
        D::data(request, &mut stream.progress, piece.slice);
        if D::pace(request) == MessagePace::PingPong {
            let parts = D::parts_arrived(&stream.progress).saturating_add(1);
            self.allow_parts(slot, parts, request);
        }
        Ok(())
    }

    /// End of the stream: checks that the response is complete and as expected.
    #[inline]
    fn on_response(
        &mut self,
        slot: u16,
        trailers: Option<FieldSection>,
        context: &mut EventContext<'_, D>,
        out: &mut impl Outlet,
    ) {
        let stream = self.streams.at(slot);
        let Some(head) = stream.head else {
            return self.fail_stream(slot, CodecError::DataBeforeHead, context, out);
        };
        let request = context.request(stream.due.request);
        if let Some(stated_bytes) = head.content_length
            && stated_bytes != stream.body_bytes
            && has_body::<D>(request, head)
        {
            let error = CodecError::ContentLength {
                stated_bytes,
                got_bytes: stream.body_bytes,
            };
            return self.fail_stream(slot, error, context, out);
        }
        self.answers += 1;
        let mut finished = self.close_stream(slot, CloseReason::Ended);
        let progress = std::mem::take(&mut finished.progress);
        let answer = StreamResponse {
            status: head.status.unwrap_or_default(),
            head,
            trailers,
            message: self.codec.message(),
        };
        let at = context.at();
        D::judge(request, progress, &answer, |outcome, example| {
            finished.done(outcome, at, example, out)
        });
    }

    /// Ends one stream after a protocol error of the server.
    #[cold]
    pub(super) fn fail_stream(
        &mut self,
        slot: u16,
        error: CodecError,
        context: &EventContext<'_, D>,
        out: &mut impl Outlet,
    ) {
        let finished = self.close_stream(slot, CloseReason::Reset(error.code()));
        let outcome = ExchangeOutcome::Failed(error.class());
        finished.done(outcome, context.at(), &error, out);
    }
}

/// Whether a response with this head can have a body (RFC 9110 §6.4.1).
#[inline]
fn has_body<D: StreamProtocol>(request: &D::Request, head: FieldSection) -> bool {
    D::outgoing(request).kind != RequestKind::Head && !matches!(head.status, Some(204 | 304))
}
