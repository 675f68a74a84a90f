//! Sends what streams have to say, a frame each in turn, as far as windows and the output's limit let them.

use tare_wire::ErrorCode;
use tare_wire::frame::{self, END_STREAM, Kind};

use super::Http2;
use super::blocks::{self, Last};
use super::request::{Ask, Method};
use super::streams::{ClientSide, End, Queued, Stage};
use crate::behaviour::{After, Truth};
use crate::body::ALPHABET;
use crate::protocol::More;
use crate::service::Service;

/// Bytes written before they are sent, about.
const OUT_BYTES_MAX: usize = 64 * 1024;

/// Bytes of one DATA frame: what a client takes without a setting, and small enough to be fair.
const DATA_BYTES_MAX: u64 = 16_384;

/// Bytes of one DATA frame that are progress: windows opened by the byte are not.
const PROGRESS_BYTES: u64 = 1024;

/// What came of a stream's turn.
enum Pushed {
    /// Nothing left but the end of the exchange.
    Finished,
    /// It waits for its window or for its next message.
    Waits,
    /// The connection's window is used up.
    NoWindow,
    More,
    /// It was reset.
    Reset,
    /// Its head says when it was sent: what is written has to go now.
    Now,
}

impl Http2 {
    /// Puts a stream in the queue of those with something to send.
    pub(super) fn queue(&mut self, slot: usize) {
        let stream = self.streams.at(slot);
        if stream.queued == Queued::No {
            stream.queued = Queued::Yes;
            self.ready.push_back((slot, stream.id));
        }
    }

    pub(super) fn pump(&mut self, service: &mut Service, out: &mut Vec<u8>) -> More {
        while out.len() < OUT_BYTES_MAX {
            let Some((slot, id)) = self.ready.pop_front() else {
                return More::Nothing;
            };
            let stream = self.streams.at(slot);
            // Reset meanwhile, and perhaps the slot has another stream.
            if stream.id != id {
                continue;
            }
            match self.push(slot, out) {
                Pushed::Finished => self.finish(slot, service, out),
                Pushed::Reset => {
                    self.close_stream(slot);
                    self.floods.progressed();
                }
                Pushed::Waits => {
                    self.streams.at(slot).queued = Queued::No;
                    self.go_on_with_call(slot, service, out);
                }
                Pushed::More => self.ready.push_back((slot, id)),
                // Others may have a head or a status to send, which no window holds back.
                Pushed::NoWindow => self.starved.push_back((slot, id)),
                Pushed::Now => {
                    self.ready.push_front((slot, id));
                    return More::Waits;
                }
            }
        }
        if self.ready.is_empty() {
            More::Nothing
        } else {
            More::Waits
        }
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
            let (code, last) = match answer.end {
                End::Trailers(code) if left == 0 => (Some(code), Last::Yes),
                End::Stream if left == 0 => (None, Last::Yes),
                _ => (None, Last::No),
            };
            blocks::write_head(out, stream.id, &head, stream.arrived_ns, code, last);
            if last == Last::Yes {
                return Pushed::Finished;
            }
            if head.truth == Truth::Told {
                // The body follows when the head is with the kernel.
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
            let start = (answer.letters_sent % 26) as usize;
            out.extend_from_slice(&ALPHABET[start..start + missing]);
            answer.letters_sent += missing as u64;
            stream.window_bytes -= size as i64;
            self.window_bytes -= size as i64;
            if size >= PROGRESS_BYTES {
                self.floods.progressed();
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
            // Everything was sent before it was known that nothing follows.
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
        // RFC 9113 §8.1: the rest of the request is not wanted.
        if stream.client == ClientSide::Open {
            frame::write_reset(out, id, ErrorCode::NO_ERROR);
        }
        if let Ask::Grpc(_) = stream.request.ask
            && let End::Trailers(code) = stream.answer.end
        {
            service.counters.call(code.number());
        }
        self.close_stream(slot);
        self.floods.progressed();
        if after == After::Close {
            self.say_goodbye(out);
        }
    }

    /// Decides that an answer without body or with a body of letters is sent.
    pub(super) fn answer_ends(&mut self, slot: usize) {
        let stream = self.streams.at(slot);
        stream.stage = Stage::Answering;
        stream.answer.end = End::Stream;
        let bodiless = stream.request.method == Method::Head
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
