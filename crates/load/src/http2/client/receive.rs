//! What a connection makes of the frames that arrive: the states of its streams (RFC 9113 §5.1) and both sides' windows.

use std::collections::VecDeque;

use super::super::codec::{Event, Section, StreamEnd, frame};
use super::super::dialect::{Answer, Dialect, Pace};
use super::super::error::CodecError;
use super::Waiting;
use super::conn::{Conn, Leave};
use crate::client::{Bound, ErrorClass, Outcome, Outlet, Stamp};
use crate::http1::codec::RequestKind;

/// Interim answers before a final one.
const INTERIM_MAX: u8 = 64;

/// Largest body of an answer: more than any measurement means to fetch.
const BODY_BYTES_MAX: u64 = 16 << 30;

/// What events are handled with.
pub struct Scene<'a, D: Dialect> {
    /// All requests.
    pub requests: &'a [D::Request],
    /// Takes back exchanges that the server did not process.
    pub waiting: &'a mut VecDeque<Waiting>,
    /// Arrival of the last byte.
    pub stamp: Stamp,
    /// What the stamp is worth for an exchange that ends now.
    pub bound: Bound,
}

impl<'a, D: Dialect> Scene<'a, D> {
    fn request(&self, number: u16) -> &'a D::Request {
        &self.requests[usize::from(number) % self.requests.len()]
    }

    pub(super) fn at(&self) -> (Stamp, Bound) {
        (self.stamp, self.bound)
    }
}

/// What of an answer's body has arrived.
#[derive(Debug, Clone, Copy)]
struct Piece<'b> {
    stream: u32,
    slice: &'b [u8],
    window_bytes: u32,
    end: StreamEnd,
}

impl<D: Dialect> Conn<D> {
    /// Handles one event.
    ///
    /// # Errors
    /// When the connection has to end.
    #[inline]
    pub fn take(
        &mut self,
        event: Event<'_>,
        scene: &mut Scene<'_, D>,
        out: &mut impl Outlet,
    ) -> Result<(), CodecError> {
        match event {
            Event::Headers {
                stream,
                end,
                section,
            } => self.headers(stream, end, section, scene, out),
            Event::WrongHeaders { stream, error } => {
                if let Some(place) = self.place_of(stream, "HEADERS")? {
                    self.fault(place, error, scene, out);
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
                scene,
                out,
            ),
            Event::Settings(change) => self.settings(change),
            Event::SettingsAck => Ok(()),
            Event::Ping(payload) => {
                self.counts.pings_received += 1;
                self.output
                    .answer(|pending| frame::write_ping_ack(pending, payload))
            }
            Event::WindowUpdate { stream, increment } => self.window(stream, increment, scene, out),
            Event::Reset { stream, code } => self.was_reset(stream, code, scene, out),
            Event::GoAway { last_stream, code } => self.go_away(last_stream, code, scene, out),
            Event::StreamFault { stream, error } => {
                if let Some(place) = self.streams.find(stream) {
                    self.fault(place, error, scene, out);
                }
                Ok(())
            }
        }
    }

    /// The place of a stream that a frame may stand on; `None` if we reset it and the frame was under way.
    #[inline]
    fn place_of(&self, stream: u32, frame: &'static str) -> Result<Option<u16>, CodecError> {
        match self.streams.find(stream) {
            Some(place) => Ok(Some(place)),
            None if stream >= self.next_id => Err(CodecError::IdleStream { frame, stream }),
            None if self.resets.may_contain(stream) => Ok(None),
            None => Err(CodecError::ClosedStream { frame, stream }),
        }
    }

    /// The same for a frame that may also come late, behind the end of its stream.
    pub(super) fn place_if_live(
        &self,
        stream: u32,
        frame: &'static str,
    ) -> Result<Option<u16>, CodecError> {
        match self.place_of(stream, frame) {
            Err(CodecError::ClosedStream { .. }) => Ok(None),
            place => place,
        }
    }

    fn headers(
        &mut self,
        stream: u32,
        end: StreamEnd,
        section: Section,
        scene: &mut Scene<'_, D>,
        out: &mut impl Outlet,
    ) -> Result<(), CodecError> {
        let Some(place) = self.place_of(stream, "HEADERS")? else {
            return Ok(());
        };
        match self.read_section(place, end, section) {
            Err(error) => self.fault(place, error, scene, out),
            Ok(()) if end == StreamEnd::Open => {
                let ticket = self.streams.at(place).due.ticket;
                out.first_byte(ticket, scene.stamp.arrived_ns);
            }
            Ok(()) => {
                let has_head = section.status.is_none();
                self.answered(place, has_head.then_some(section), scene, out);
            }
        }
        Ok(())
    }

    /// What kind of header block it is, and whether it may stand here (RFC 9113 §8.1).
    fn read_section(
        &mut self,
        place: u16,
        end: StreamEnd,
        section: Section,
    ) -> Result<(), CodecError> {
        let stream = self.streams.at(place);
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
        scene: &mut Scene<'_, D>,
        out: &mut impl Outlet,
    ) -> Result<(), CodecError> {
        // Counted first, and for every stream: the server has spent it whatever the stream has become.
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
        let Some(place) = self.place_of(piece.stream, "DATA")? else {
            return Ok(());
        };
        match self.read_data(place, piece, scene) {
            Err(error) => self.fault(place, error, scene, out),
            Ok(()) if piece.end == StreamEnd::Last => self.answered(place, None, scene, out),
            Ok(()) => {}
        }
        Ok(())
    }

    #[inline]
    fn read_data(
        &mut self,
        place: u16,
        piece: Piece<'_>,
        scene: &Scene<'_, D>,
    ) -> Result<(), CodecError> {
        let stream = self.streams.at(place);
        let head = stream.head.ok_or(CodecError::DataBeforeHead)?;
        let request = scene.request(stream.due.request);
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
        if D::pace(request) == Pace::Answers {
            let parts = D::parts_arrived(&stream.progress).saturating_add(1);
            self.let_parts(place, parts, request);
        }
        Ok(())
    }

    /// The stream's last frame: is the answer whole, and is it right?
    #[inline]
    fn answered(
        &mut self,
        place: u16,
        trailers: Option<Section>,
        scene: &mut Scene<'_, D>,
        out: &mut impl Outlet,
    ) {
        let stream = self.streams.at(place);
        let Some(head) = stream.head else {
            return self.fault(place, CodecError::DataBeforeHead, scene, out);
        };
        let request = scene.request(stream.due.request);
        if let Some(stated_bytes) = head.content_length
            && stated_bytes != stream.body_bytes
            && has_body::<D>(request, head)
        {
            let error = CodecError::ContentLength {
                stated_bytes,
                got_bytes: stream.body_bytes,
            };
            return self.fault(place, error, scene, out);
        }
        self.answers += 1;
        let gone = self.leave(place, Leave::Ended);
        let answer = Answer {
            status: head.status.unwrap_or_default(),
            head,
            trailers,
            message: self.codec.message(),
        };
        let at = scene.at();
        D::judge(request, &gone.progress, &answer, |outcome, example| {
            gone.done(outcome, at, example, out)
        });
    }

    /// Ends one stream by an error of the server's.
    #[cold]
    pub(super) fn fault(
        &mut self,
        place: u16,
        error: CodecError,
        scene: &Scene<'_, D>,
        out: &mut impl Outlet,
    ) {
        let gone = self.leave(place, Leave::Reset(error.code()));
        gone.done(Outcome::Wrong(ErrorClass::RUBBISH), scene.at(), &error, out);
    }
}

/// Whether an answer with this head can have a body (RFC 9110 §6.4.1).
#[inline]
fn has_body<D: Dialect>(request: &D::Request, head: Section) -> bool {
    D::outgoing(request).kind != RequestKind::Head && !matches!(head.status, Some(204 | 304))
}
