//! Sends the output of streams round-robin, one frame each, as far as windows and the output limit allow.

use tare_http2_frames::ErrorCode;
use tare_http2_frames::frame::{self, END_STREAM, Kind};

use super::Http2;
use super::blocks;
use super::request::RequestKind;
use super::streams::{ClientSide, End, Stage};
use crate::behaviour::After;
use crate::body::BODY_PATTERN;
use crate::service::Service;

/// Approximate bytes written before they are sent.
const OUT_BYTES_MAX: usize = 64 * 1024;

/// Largest DATA frame: the default SETTINGS_MAX_FRAME_SIZE, and small enough to be fair.
const DATA_BYTES_MAX: u64 = 16_384;

/// Least size of a DATA frame that counts as progress: windows opened byte by byte do not.
const PROGRESS_BYTES: u64 = 1024;

/// The result of a stream's turn.
enum Pushed {
    /// Everything is sent: the exchange ends.
    Finished,
    /// It waits for its window or for its next message.
    Waits,
    /// The connection's window is used up.
    NoWindow,
    More,
    Reset,
    /// Its headers have the time when they were sent: the output has to be sent now.
    Now,
}

impl Http2 {
    /// Queues a stream that has something to send.
    pub(super) fn queue(&mut self, slot: usize) {
        let stream = self.streams.at(slot);
        if !stream.is_queued {
            stream.is_queued = true;
            self.ready.push_back((slot, stream.id));
        }
    }

    /// Sends what is ready; whether there is more.
    pub(super) fn send_streams(&mut self, service: &mut Service, out: &mut Vec<u8>) -> bool {
        while out.len() < OUT_BYTES_MAX {
            let Some((slot, id)) = self.ready.pop_front() else {
                return false;
            };
            let stream = self.streams.at(slot);
            // The stream was reset meanwhile; the slot may have another one.
            if stream.id != id {
                continue;
            }
            match self.push(slot, out) {
                Pushed::Finished => self.finish(slot, service, out),
                Pushed::Reset => {
                    self.close_stream(slot);
                    self.flood_guard.progressed();
                }
                Pushed::Waits => {
                    self.streams.at(slot).is_queued = false;
                    self.go_on_with_call(slot, service, out);
                }
                Pushed::More => self.ready.push_back((slot, id)),
                // Others may have headers or trailers to send, which are not flow-controlled.
                Pushed::NoWindow => self.starved.push_back((slot, id)),
                Pushed::Now => {
                    self.ready.push_front((slot, id));
                    return true;
                }
            }
        }
        !self.ready.is_empty()
    }

    fn push(&mut self, slot: usize, out: &mut Vec<u8>) -> Pushed {
        let stream = self.streams.at(slot);
        let answer = &mut stream.answer;
        if answer.after == After::Reset {
            frame::write_reset(out, stream.id, ErrorCode::INTERNAL_ERROR);
            return Pushed::Reset;
        }
        let mut left = answer.left_bytes();
        if let Some(head) = answer.head.take() {
            let (code, is_last) = match answer.end {
                End::Trailers(code) if left == 0 => (Some(code), true),
                End::Stream if left == 0 => (None, true),
                _ => (None, false),
            };
            blocks::write_head(out, stream.id, &head, stream.arrived_ns, code, is_last);
            if is_last {
                return Pushed::Finished;
            }
            if head.timestamps {
                // The body follows when the headers are with the kernel.
                return Pushed::Now;
            }
        }
        if left > 0 {
            let windows = self.window_bytes.min(stream.window_bytes);
            let size = left
                .min(DATA_BYTES_MAX)
                .min(u64::try_from(windows).unwrap_or(0));
            if size == 0 {
                let blocked = self.window_bytes <= 0;
                return if blocked {
                    Pushed::NoWindow
                } else {
                    Pushed::Waits
                };
            }
            left -= size;
            let ends = left == 0 && answer.end == End::Stream;
            let flags = if ends { END_STREAM } else { 0 };
            frame::write_head(out, size as usize, Kind::Data, flags, stream.id);
            let mut missing = size as usize;
            let stored = missing.min(answer.outbox.len() - answer.outbox_sent);
            out.extend_from_slice(&answer.outbox[answer.outbox_sent..][..stored]);
            answer.outbox_sent += stored;
            missing -= stored;
            let start = (answer.pattern_bytes_sent % 26) as usize;
            out.extend_from_slice(&BODY_PATTERN[start..start + missing]);
            answer.pattern_bytes_sent += missing as u64;
            stream.window_bytes -= size as i64;
            self.window_bytes -= size as i64;
            if size >= PROGRESS_BYTES {
                self.flood_guard.progressed();
            }
            if ends {
                return Pushed::Finished;
            }
            if left > 0 {
                return Pushed::More;
            }
        }
        answer.outbox.clear();
        answer.outbox_sent = 0;
        match answer.end {
            End::Open => Pushed::Waits,
            // All data was sent before the end was known.
            End::Stream => {
                frame::write_head(out, 0, Kind::Data, END_STREAM, stream.id);
                Pushed::Finished
            }
            End::Trailers(code) => {
                blocks::write_trailers(out, stream.id, code);
                Pushed::Finished
            }
        }
    }

    fn finish(&mut self, slot: usize, service: &mut Service, out: &mut Vec<u8>) {
        let stream = self.streams.at(slot);
        let (id, after) = (stream.id, stream.answer.after);
        // RFC 9113 §8.1: the rest of the request is not needed.
        if stream.client == ClientSide::Open {
            frame::write_reset(out, id, ErrorCode::NO_ERROR);
        }
        if let RequestKind::Grpc(_) = stream.request.kind
            && let End::Trailers(code) = stream.answer.end
        {
            service.counters.call(code.number());
        }
        self.close_stream(slot);
        self.flood_guard.progressed();
        if after == After::Close {
            self.send_goaway(out);
        }
    }

    /// Completes an answer, which then ends with its stream; drops the body where none is allowed.
    pub(super) fn answer_ends(&mut self, slot: usize) {
        let stream = self.streams.at(slot);
        stream.stage = Stage::Answering;
        stream.answer.end = End::Stream;
        let bodiless = stream.request.is_head
            || stream
                .answer
                .head
                .is_some_and(|head| matches!(head.status, 204 | 304));
        if bodiless {
            stream.answer.cut();
        }
        self.queue(slot);
    }
}
