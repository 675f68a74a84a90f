//! gRPC calls on streams: messages in DATA, behaviours, delays, deadlines, status.

use super::Http2;
use super::request::RequestKind;
use super::streams::{ClientSide, End, Head, Stage, Stream};
use crate::grpc::{Call, Code, MESSAGE_BYTES_MAX, PREFIX_BYTES, Step};
use crate::service::Service;

/// Unsent bytes at which a call takes no further message: back pressure of a client that reads slowly.
const BACKLOG_BYTES: u64 = 64 * 1024;

/// Processed bytes of an inbox at which they are dropped although others follow.
const TAKEN_BYTES_MAX: usize = 64 * 1024;

impl Http2 {
    /// Handles as many messages of a call as possible.
    pub(super) fn go_on_with_call(
        &mut self,
        slot: usize,
        service: &mut Service,
        out: &mut Vec<u8>,
    ) {
        loop {
            let stream = self.streams.at(slot);
            let RequestKind::Grpc(call) = stream.request.kind else {
                return;
            };
            let held_back = stream.stage != Stage::Open || stream.answer.end != End::Open;
            if stream.id == 0 || held_back || stream.answer.left_bytes() > BACKLOG_BYTES {
                return;
            }
            if !stream.call.begun {
                if call.takes_one() && stream.client == ClientSide::Open {
                    return;
                }
                self.begin_call(slot, call, service);
                continue;
            }
            if stream.is_cut_short() {
                return self.answer_ends(slot);
            }
            let watched = stream.call.is_watch();
            let before = stream.answer.outbox.len();
            let step = match service.is_full(self.uncounted_bytes) {
                true => Some(Step::End(Code::FULL)),
                false => next_step(stream, call),
            };
            self.uncounted_bytes += stream.answer.outbox.len().saturating_sub(before);
            let stored = self.compact(slot);
            self.stored_bytes -= stored;
            match step {
                None => return,
                Some(Step::Next) => {}
                Some(Step::Delay(delay)) => return self.delay(slot, delay),
                Some(Step::Watch) => {
                    if !watched {
                        self.watches += 1;
                        self.queue(slot);
                    }
                    return;
                }
                Some(Step::End(code)) => return self.end_call(slot, code),
            }
            if self.streams.at(slot).answer.left_bytes() > 0 {
                self.queue(slot);
            }
            self.credit(slot, out);
        }
    }

    /// Draws the behaviour of a call, apart from what its messages ask for.
    fn begin_call(&mut self, slot: usize, call: Call, service: &mut Service) {
        let stream = self.streams.at(slot);
        stream.call.begun = true;
        let mut head = Head::of("application/grpc");
        if call.is_control() {
            service.counters.control.add(1);
            stream.answer.head = Some(head);
            return;
        }
        let behaviour = service.answer(stream.request.requested);
        head.timestamps = behaviour.timestamps;
        stream.answer.after = behaviour.after;
        stream.pattern_bytes = behaviour.size_bytes;
        if behaviour.status != 200 {
            // An answer that is not gRPC, as proxies send: clients map it to UNAVAILABLE and the like.
            head.status = behaviour.status;
            head.content_type = "text/plain";
        }
        stream.answer.head = Some(head);
        if !behaviour.delay.is_zero() {
            self.delay(slot, behaviour.delay);
        }
    }

    fn end_call(&mut self, slot: usize, code: Code) {
        let stream = self.streams.at(slot);
        stream.stage = Stage::Answering;
        stream.answer.end = End::Trailers(code);
        self.queue(slot);
    }

    /// Drops the processed bytes of an inbox; returns their number.
    fn compact(&mut self, slot: usize) -> u64 {
        let stream = self.streams.at(slot);
        let taken = stream.inbox_taken;
        if taken < stream.inbox.len() && taken < TAKEN_BYTES_MAX {
            return 0;
        }
        stream.inbox.drain(..taken);
        stream.inbox_taken = 0;
        taken as u64
    }

    /// Ends calls whose deadline has passed, and finds the next deadline.
    pub(super) fn expire_calls(&mut self, now_ns: u64, service: &Service) {
        let mut next_ns = None;
        let mut expired = std::mem::take(&mut self.expired);
        for (slot, stream) in self.streams.each() {
            match stream.deadline_ns {
                Some(_) if stream.answer.end != End::Open => {}
                Some(deadline_ns) if deadline_ns <= now_ns => expired.push(slot),
                Some(deadline_ns) => next_ns = Some(deadline_ns.min(next_ns.unwrap_or(u64::MAX))),
                None => {}
            }
        }
        self.deadline_ns = next_ns;
        for slot in expired.drain(..) {
            let stream = self.streams.at(slot);
            if !stream.call.begun {
                service.counters.request(200);
                stream.answer.head = Some(Head::of("application/grpc"));
            }
            stream.answer.cut();
            self.end_call(slot, Code::DEADLINE);
        }
        self.expired = expired;
    }
}

/// Handles the next message of a call, or its end; `None` when more has to arrive.
fn next_step(stream: &mut Stream, call: Call) -> Option<Step> {
    let outbox = &mut stream.answer.outbox;
    if let Some(step) = stream.call.go_on(outbox) {
        return Some(step);
    }
    if call == Call::Unknown {
        return Some(Step::End(Code::UNKNOWN_CALL));
    }
    let unread = &stream.inbox[stream.inbox_taken..];
    let Some((prefix, rest)) = unread.split_first_chunk::<PREFIX_BYTES>() else {
        return match (stream.client, unread.is_empty()) {
            (ClientSide::Open, _) => None,
            (ClientSide::Ended, true) => Some(stream.call.ended(call, outbox)),
            (ClientSide::Ended, false) => Some(Step::End(Code::MALFORMED)),
        };
    };
    let [compressed, a, b, c, d] = *prefix;
    let length = u32::from_be_bytes([a, b, c, d]) as usize;
    if compressed != 0 {
        return Some(Step::End(Code::COMPRESSED));
    }
    if length > MESSAGE_BYTES_MAX {
        return Some(Step::End(Code::TOO_LARGE));
    }
    let Some((message, behind)) = rest.split_at_checked(length) else {
        return match stream.client {
            ClientSide::Open => None,
            ClientSide::Ended => Some(Step::End(Code::MALFORMED)),
        };
    };
    if call.takes_one() && !behind.is_empty() {
        return Some(Step::End(Code::NOT_ONE));
    }
    let step = stream
        .call
        .take(call, message, stream.pattern_bytes, outbox);
    if !matches!(step, Step::Delay(_)) {
        stream.inbox_taken += PREFIX_BYTES + length;
    }
    Some(step)
}
