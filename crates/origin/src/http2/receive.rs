//! Handles the frames of a client.

use std::cmp::Reverse;

use tare_http2_frames::ErrorCode;
use tare_http2_frames::frame::{
    self, ACK, END_HEADERS, END_STREAM, FrameHeader, Kind, PADDED, PRIORITY, PayloadTooShort,
    SETTINGS_ENABLE_PUSH, SETTINGS_INITIAL_WINDOW_SIZE, SETTINGS_MAX_FRAME_SIZE, WINDOW_BYTES_MAX,
    number,
};

use super::closed::ClosedStream;
use super::protocol_error::ProtocolError;
use super::request::{HeaderBlock, RequestKind};
use super::streams::{ClientSide, Head, Stage};
use super::{Ending, Http2, PartialBlock, STREAM_WINDOW_BYTES, WINDOW_BYTES};
use crate::behaviour::BodyFraming;
use crate::service::{Route, Service, control};
use crate::timers::{self, nanos};

/// Limit of frames of one header block (CVE-2024-24549 and similar).
const BLOCK_FRAMES_MAX: u32 = 64;

impl Http2 {
    #[inline]
    pub(super) fn frame(
        &mut self,
        head: FrameHeader,
        payload: &[u8],
        arrived_ns: Option<u64>,
        service: &mut Service,
        out: &mut Vec<u8>,
    ) -> Result<(), ProtocolError> {
        match (&self.block, head.kind) {
            (Some(block), Kind::Continuation) if block.stream == head.stream => {}
            (Some(_), _) | (None, Kind::Continuation) => return Err(ProtocolError::PROTOCOL),
            (None, _) => {}
        }
        self.flood_guard.frame(head.kind, head.length)?;
        match head.kind {
            Kind::Data => self.data(head, payload, arrived_ns, service, out),
            Kind::Headers => {
                let block = head.block(payload).map_err(|misfit| match misfit {
                    PayloadTooShort::Padding => ProtocolError::PROTOCOL,
                    PayloadTooShort::Priority => ProtocolError::SIZE,
                })?;
                let is_own = head.has(PRIORITY) && is_own_parent(head, payload);
                if is_own && !head.has(END_HEADERS) {
                    return Err(ProtocolError::PROTOCOL);
                }
                if head.has(END_HEADERS) {
                    let header_block = self.header_blocks.read(block)?;
                    if is_own {
                        self.last_stream = self.last_stream.max(head.stream);
                        return Err(ProtocolError::MALFORMED);
                    }
                    return self.header_block(head, header_block, arrived_ns, service, out);
                }
                self.block = Some(PartialBlock {
                    stream: head.stream,
                    flags: head.flags,
                    frames: 1,
                    bytes: block.to_vec(),
                });
                Ok(())
            }
            Kind::Continuation => self.continuation(head, payload, arrived_ns, service, out),
            Kind::Settings if head.has(ACK) => Ok(()),
            Kind::Settings => self.settings(payload, out),
            Kind::Ping => {
                if let (false, Some(&payload)) = (head.has(ACK), payload.first_chunk()) {
                    frame::write_ping_ack(out, payload);
                }
                Ok(())
            }
            Kind::WindowUpdate => self.window_update(head.stream, payload),
            Kind::RstStream => {
                if head.stream > self.last_stream {
                    return Err(ProtocolError::PROTOCOL);
                }
                if let Some(slot) = self.streams.find(head.stream) {
                    service.counters.cancelled.add(1);
                    self.streams.at(slot).client = ClientSide::Ended;
                    self.close_stream(slot);
                    self.closed.closes(head.stream, ClosedStream::Reset);
                }
                Ok(())
            }
            // A stream error, but not every stream with a priority is open.
            Kind::Priority if is_own_parent(head, payload) => Err(ProtocolError::PROTOCOL),
            // GOAWAY concerns pushed streams, which the origin does not open.
            Kind::GoAway | Kind::Priority | Kind::Unknown | Kind::PushPromise => Ok(()),
        }
    }

    fn continuation(
        &mut self,
        head: FrameHeader,
        payload: &[u8],
        arrived_ns: Option<u64>,
        service: &mut Service,
        out: &mut Vec<u8>,
    ) -> Result<(), ProtocolError> {
        let Some(block) = &mut self.block else {
            return Err(ProtocolError::PROTOCOL);
        };
        block.frames += 1;
        block.bytes.extend_from_slice(payload);
        if block.frames > BLOCK_FRAMES_MAX || block.bytes.len() > service.limits.head_bytes_max {
            return Err(ProtocolError::FLOOD);
        }
        if !head.has(END_HEADERS) {
            return Ok(());
        }
        let Some(block) = self.block.take() else {
            return Ok(());
        };
        let header_block = self.header_blocks.read(&block.bytes)?;
        let head = FrameHeader {
            flags: block.flags,
            ..head
        };
        self.header_block(head, header_block, arrived_ns, service, out)
    }

    /// Handles a complete header block: a request or its trailers.
    fn header_block(
        &mut self,
        head: FrameHeader,
        header_block: HeaderBlock,
        arrived_ns: Option<u64>,
        service: &mut Service,
        out: &mut Vec<u8>,
    ) -> Result<(), ProtocolError> {
        if head.stream <= self.last_stream {
            // Trailers, or a stream that ended meanwhile.
            let Some(slot) = self.streams.find(head.stream) else {
                return self.on_closed_stream(head.stream);
            };
            if self.streams.at(slot).client == ClientSide::Ended {
                return Err(ProtocolError::CLOSED);
            }
            if header_block != HeaderBlock::Trailers || !head.has(END_STREAM) {
                return Err(ProtocolError::MALFORMED);
            }
            return self.client_ended(slot, arrived_ns, service, out);
        }
        self.last_stream = head.stream;
        self.closed.opens(head.stream);
        if let Ending::After(_) = self.ending {
            self.closed.closes(head.stream, ClosedStream::Early);
            return Ok(());
        }
        let HeaderBlock::Request(request) = header_block else {
            return Err(ProtocolError::MALFORMED);
        };
        if self.streams.open() >= service.limits.streams_max as usize {
            return Err(ProtocolError::Stream(ErrorCode::REFUSED_STREAM));
        }
        let slot = self
            .streams
            .add(head.stream, request, self.stream_window_bytes);
        let stream = self.streams.at(slot);
        stream.arrived_ns = arrived_ns;
        if request.requested.is_none() {
            let behaviour_error = self.header_blocks.behaviour_error().as_bytes();
            stream.answer.outbox.extend_from_slice(behaviour_error);
        }
        let certificate = self.header_blocks.forwarded_certificate();
        if !certificate.is_empty() && !request.kind.is_control() {
            service.counters.identities.add(certificate);
        }
        if let (RequestKind::Grpc(_), Some(timeout)) = (request.kind, request.timeout) {
            let deadline_ns = timers::monotonic_ns().saturating_add(nanos(timeout));
            stream.deadline_ns = Some(deadline_ns);
            let earliest = self.deadline_ns.unwrap_or(u64::MAX);
            self.deadline_ns = Some(earliest.min(deadline_ns));
        }
        if head.has(END_STREAM) {
            return self.client_ended(slot, arrived_ns, service, out);
        }
        Ok(())
    }

    fn data(
        &mut self,
        head: FrameHeader,
        payload: &[u8],
        arrived_ns: Option<u64>,
        service: &mut Service,
        out: &mut Vec<u8>,
    ) -> Result<(), ProtocolError> {
        let body = match head.has(frame::PADDED) {
            true => head.block(payload).map_err(|_| ProtocolError::PROTOCOL)?,
            false => payload,
        };
        self.uncredited_bytes += head.length;
        if self.uncredited_bytes > WINDOW_BYTES {
            return Err(ProtocolError::WINDOW);
        }
        if self.uncredited_bytes >= WINDOW_BYTES / 2 {
            frame::write_window_update(out, 0, self.uncredited_bytes);
            self.uncredited_bytes = 0;
        }
        let Some(slot) = self.streams.find(head.stream) else {
            return self.on_closed_stream(head.stream);
        };
        let stream = self.streams.at(slot);
        if stream.client == ClientSide::Ended {
            return Err(ProtocolError::Stream(ErrorCode::STREAM_CLOSED));
        }
        stream.uncredited_bytes += head.length;
        if stream.uncredited_bytes > STREAM_WINDOW_BYTES {
            return Err(ProtocolError::Stream(ErrorCode::FLOW_CONTROL_ERROR));
        }
        stream.received_bytes += body.len() as u64;
        stream.arrived_ns = arrived_ns;
        let stated = stream.request.content_length;
        if stated.is_some_and(|stated| stream.received_bytes > stated) {
            return Err(ProtocolError::MALFORMED);
        }
        let is_stored = match stream.request.kind {
            RequestKind::Http(route) => route == Route::Echo && stream.request.requested.is_some(),
            RequestKind::Grpc(_) => true,
        };
        if is_stored {
            self.store(slot, body, service)?;
        }
        if head.has(END_STREAM) {
            return self.client_ended(slot, arrived_ns, service, out);
        }
        self.go_on_with_call(slot, service, out);
        self.credit(slot, out);
        Ok(())
    }

    fn store(&mut self, slot: usize, body: &[u8], service: &Service) -> Result<(), ProtocolError> {
        let bytes = self.stored_bytes + body.len() as u64;
        let is_full = service.is_full(self.uncounted_bytes);
        if bytes > service.limits.body_bytes_max || is_full {
            return Err(ProtocolError::Stream(ErrorCode::ENHANCE_YOUR_CALM));
        }
        self.stored_bytes = bytes;
        self.uncounted_bytes += body.len();
        self.streams.at(slot).inbox.extend_from_slice(body);
        Ok(())
    }

    /// Sends WINDOW_UPDATE for a stream, unless its received data is still unprocessed.
    pub(super) fn credit(&mut self, slot: usize, out: &mut Vec<u8>) {
        let stream = self.streams.at(slot);
        let busy = matches!(stream.request.kind, RequestKind::Grpc(_))
            && stream.stage == Stage::Delayed
            || stream.answer.left_bytes() > u64::from(STREAM_WINDOW_BYTES);
        let owed = stream.uncredited_bytes >= STREAM_WINDOW_BYTES / 2;
        if stream.id != 0 && stream.client == ClientSide::Open && owed && !busy {
            frame::write_window_update(out, stream.id, stream.uncredited_bytes);
            stream.uncredited_bytes = 0;
        }
    }

    fn client_ended(
        &mut self,
        slot: usize,
        arrived_ns: Option<u64>,
        service: &mut Service,
        out: &mut Vec<u8>,
    ) -> Result<(), ProtocolError> {
        let stream = self.streams.at(slot);
        stream.client = ClientSide::Ended;
        stream.arrived_ns = arrived_ns;
        let stated = stream.request.content_length;
        if stated.is_some_and(|stated| stream.received_bytes != stated) {
            return Err(ProtocolError::MALFORMED);
        }
        match stream.request.kind {
            RequestKind::Http(route) => self.decide(slot, route, service),
            RequestKind::Grpc(_) => self.go_on_with_call(slot, service, out),
        }
        Ok(())
    }

    /// Decides the answer to a complete request.
    fn decide(&mut self, slot: usize, route: Route, service: &mut Service) {
        let stream = self.streams.at(slot);
        let outbox = &mut stream.answer.outbox;
        let mut head = Head::of("text/plain");
        if route.is_control() {
            outbox.clear();
            head.status = control(route, service, outbox);
            head.length = Some(outbox.len() as u64);
            stream.answer.head = Some(head);
            self.answer_ends(slot);
            return;
        }
        let behaviour = service.answer(stream.request.requested);
        stream.answer.after = behaviour.after;
        head.status = behaviour.status;
        head.timestamps = behaviour.timestamps;
        if stream.request.requested.is_some() {
            outbox.clear();
            if route == Route::Echo {
                head.content_type = "application/octet-stream";
                // The body moves over; the buffers are both kept.
                self.stored_bytes -= stream.inbox.len() as u64;
                std::mem::swap(outbox, &mut stream.inbox);
            } else {
                stream.answer.pattern_bytes = behaviour.size_bytes;
            }
        }
        if behaviour.framing == BodyFraming::Length && behaviour.status != 204 {
            head.length = Some(stream.answer.left_bytes());
        }
        stream.answer.head = Some(head);
        if behaviour.delay.is_zero() {
            self.answer_ends(slot);
        } else {
            self.delay(slot, behaviour.delay);
        }
    }

    pub(super) fn delay(&mut self, slot: usize, delay: std::time::Duration) {
        let due_ns = timers::monotonic_ns().saturating_add(nanos(delay));
        let stream = self.streams.at(slot);
        stream.stage = Stage::Delayed;
        self.delays.push(Reverse((due_ns, stream.id, slot)));
    }

    pub(super) fn delay_is_over(&mut self, slot: usize, service: &mut Service, out: &mut Vec<u8>) {
        let stream = self.streams.at(slot);
        if stream.stage != Stage::Delayed {
            return;
        }
        stream.stage = Stage::Open;
        match stream.request.kind {
            RequestKind::Http(_) => self.answer_ends(slot),
            RequestKind::Grpc(_) => {
                self.go_on_with_call(slot, service, out);
                self.credit(slot, out);
            }
        }
    }

    /// Resets a stream for a stream error; too many end the connection.
    pub(super) fn reset(
        &mut self,
        stream: u32,
        code: ErrorCode,
        service: &Service,
        out: &mut Vec<u8>,
    ) -> Result<(), ProtocolError> {
        service.counters.malformed.add(1);
        frame::write_reset(out, stream, code);
        if let Some(slot) = self.streams.find(stream) {
            self.streams.at(slot).client = ClientSide::Ended;
            self.close_stream(slot);
        }
        self.closed.closes(stream, ClosedStream::Early);
        self.flood_guard.costly()
    }

    /// HEADERS or DATA on a stream that is not open.
    #[cold]
    fn on_closed_stream(&self, stream: u32) -> Result<(), ProtocolError> {
        if stream > self.last_stream {
            return Err(ProtocolError::PROTOCOL);
        }
        match self.closed.find(stream) {
            // Sent before the client knew.
            ClosedStream::Early => Ok(()),
            ClosedStream::Reset => Err(ProtocolError::Stream(ErrorCode::STREAM_CLOSED)),
            ClosedStream::Ended => Err(ProtocolError::CLOSED),
            ClosedStream::Skipped => Err(ProtocolError::PROTOCOL),
        }
    }

    fn settings(&mut self, payload: &[u8], out: &mut Vec<u8>) -> Result<(), ProtocolError> {
        for (setting, value) in frame::settings(payload) {
            match setting {
                SETTINGS_ENABLE_PUSH if value > 1 => return Err(ProtocolError::PROTOCOL),
                SETTINGS_MAX_FRAME_SIZE if !(16_384..=16_777_215).contains(&value) => {
                    return Err(ProtocolError::PROTOCOL);
                }
                SETTINGS_INITIAL_WINDOW_SIZE if value > WINDOW_BYTES_MAX => {
                    return Err(ProtocolError::WINDOW);
                }
                SETTINGS_INITIAL_WINDOW_SIZE => self.initial_window(i64::from(value))?,
                _ => {}
            }
        }
        frame::write_settings_ack(out);
        Ok(())
    }

    /// RFC 9113 §6.9.2: the windows of open streams move by the difference, and may become negative.
    fn initial_window(&mut self, bytes: i64) -> Result<(), ProtocolError> {
        let difference = bytes - self.stream_window_bytes;
        self.stream_window_bytes = bytes;
        let ready = &mut self.ready;
        for (slot, stream) in self.streams.each() {
            stream.window_bytes += difference;
            if stream.window_bytes > i64::from(WINDOW_BYTES_MAX) {
                return Err(ProtocolError::WINDOW);
            }
            if stream.answer.left_bytes() > 0 && !stream.is_queued && stream.stage != Stage::Delayed
            {
                stream.is_queued = true;
                ready.push_back((slot, stream.id));
            }
        }
        Ok(())
    }

    fn window_update(&mut self, stream: u32, payload: &[u8]) -> Result<(), ProtocolError> {
        let increment = i64::from(number(payload) & WINDOW_BYTES_MAX);
        if stream == 0 {
            self.window_bytes += increment;
            if increment == 0 {
                return Err(ProtocolError::PROTOCOL);
            }
            if self.window_bytes > i64::from(WINDOW_BYTES_MAX) {
                return Err(ProtocolError::WINDOW);
            }
            if self.window_bytes > 0 {
                self.ready.append(&mut self.starved);
            }
            return Ok(());
        }
        let Some(slot) = self.streams.find(stream) else {
            let known = stream <= self.last_stream;
            return if known {
                Ok(())
            } else {
                Err(ProtocolError::PROTOCOL)
            };
        };
        if increment == 0 {
            return Err(ProtocolError::MALFORMED);
        }
        let stream = self.streams.at(slot);
        stream.window_bytes += increment;
        if stream.window_bytes > i64::from(WINDOW_BYTES_MAX) {
            return Err(ProtocolError::Stream(ErrorCode::FLOW_CONTROL_ERROR));
        }
        if stream.answer.left_bytes() > 0 && stream.stage != Stage::Delayed {
            self.queue(slot);
        }
        Ok(())
    }
}

/// Whether a stream depends on itself, by its PRIORITY frame or the priority in its HEADERS frame (RFC 7540 §5.3.1).
fn is_own_parent(head: FrameHeader, payload: &[u8]) -> bool {
    let padding = usize::from(head.kind == Kind::Headers && head.has(PADDED));
    let parent = payload.get(padding..padding + 4).map(number);
    parent.is_some_and(|parent| parent & 0x7fff_ffff == head.stream)
}
