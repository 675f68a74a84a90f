//! Handling of control frames: SETTINGS, WINDOW_UPDATE, RST_STREAM, GOAWAY.
//!
//! Streams above the last stream of a GOAWAY were not processed (RFC 9113 §6.8), so that any request can be sent again safely:
//! the exchange goes to another connection, is sent up to [`TRIES_MAX`] times and is counted as resent; its intended start
//! stays the same. A server that is replaced ends all its connections at one moment, and the GOAWAY of the second one may be on its way
//! already: from then on an exchange goes only to connections that are opened after it was returned. A stream that is reset with REFUSED_STREAM was not processed either, but here the server rejects one
//! exchange under load: it is counted as an error of its own class, as a client without retries sees it.

use tare_record::agent::ErrorSource;

use super::super::codec::{SettingsChange, frame};
use super::super::error::{CodecError, ErrorCode};
use super::super::stream_protocol::StreamProtocol;
use super::QueuedExchange;
use super::conn::{CloseReason, Conn, State, TABLE_BYTES_DEFAULT};
use super::receive::EventContext;
use super::streams::Sending;
use crate::client::{ErrorClass, ExchangeOutcome, Outlet, WaitCause};

/// Largest flow-control window.
const WINDOW_BYTES_MAX: i64 = frame::WINDOW_BYTES_MAX as i64;

/// How often an exchange is sent at most, if servers do not process it.
const TRIES_MAX: u8 = 5;

/// How often it is sent on any connection; then it goes to new ones alone.
const TRIES_ANYWHERE: u8 = 2;

impl<D: StreamProtocol> Conn<D> {
    #[cold]
    pub(super) fn on_rst_stream(
        &mut self,
        stream: u32,
        code: ErrorCode,
        context: &EventContext<'_, D>,
        out: &mut impl Outlet,
    ) -> Result<(), CodecError> {
        let Some(slot) = self.live_slot(stream, "RST_STREAM")? else {
            return Ok(());
        };
        self.counts.resets_received += 1;
        // The server reset the stream: no RST_STREAM in return.
        self.stop_sending(slot);
        let finished = self.close_stream(slot, CloseReason::Ended);
        let class = ErrorClass::of(code.reset_class(), ErrorSource::Target);
        let example = format_args!("the server reset the stream: {code}");
        finished.done(ExchangeOutcome::Failed(class), context.at(), &example, out);
        Ok(())
    }

    #[cold]
    pub(super) fn on_goaway(
        &mut self,
        last_stream: u32,
        code: ErrorCode,
        context: &mut EventContext<'_, D>,
        out: &mut impl Outlet,
    ) -> Result<(), CodecError> {
        if let Some((before, _)) = self.goaway.filter(|&(before, _)| last_stream > before) {
            return Err(CodecError::GoAwayRaised {
                before,
                after: last_stream,
            });
        }
        self.counts.goaways_received += 1;
        self.goaway = Some((last_stream, code));
        // From the highest down, so that they keep their order at the front of the queue.
        while let Some(slot) = self.streams.highest_above(last_stream) {
            self.stop_sending(slot);
            let finished = self.close_stream(slot, CloseReason::Ended);
            if finished.tries + 1 < TRIES_MAX {
                self.counts.exchanges_resent += 1;
                let tries = finished.tries + 1;
                let queued = QueuedExchange {
                    due: finished.due,
                    cause: Some(WaitCause::Connection),
                    tries,
                };
                match tries < TRIES_ANYWHERE {
                    true => context.waiting.push_front(queued),
                    false => {
                        let returned = (queued, context.stamp.seen_ns);
                        context.returned.push_front(returned);
                    }
                }
                continue;
            }
            let class = ErrorClass::of("goaway-unprocessed", ErrorSource::Target);
            let example = format_args!(
                "the server ended {TRIES_MAX} connections without processing the request: {code}"
            );
            finished.done(ExchangeOutcome::Failed(class), context.at(), &example, out);
        }
        Ok(())
    }

    fn stop_sending(&mut self, slot: u16) {
        self.streams.at(slot).sending = Sending::Complete;
        self.senders.retain(|&sender| sender != slot);
    }

    pub(super) fn settings(&mut self, change: SettingsChange) -> Result<(), CodecError> {
        self.counts.settings_received += 1;
        self.output.answer(frame::write_settings_ack)?;
        if let Some(streams_max) = change.streams_max {
            self.peer.streams_max = streams_max;
        }
        if let Some(frame_bytes_max) = change.frame_bytes_max {
            self.peer.frame_bytes_max = frame_bytes_max as usize;
        }
        if change
            .header_table_bytes
            .is_some_and(|bytes| bytes < TABLE_BYTES_DEFAULT)
        {
            self.peer.announce_table = true;
        }
        if let Some(window) = change.initial_window_bytes {
            let more = i64::from(window) - self.peer.initial_window;
            self.peer.initial_window = i64::from(window);
            for (slot, stream) in self.streams.each() {
                stream.send_window += more;
                if stream.send_window > WINDOW_BYTES_MAX {
                    return Err(CodecError::WindowOverflow);
                }
                if stream.sending == Sending::Stalled && stream.send_window > 0 {
                    stream.sending = Sending::Queued;
                    self.senders.push_back(slot);
                }
            }
        }
        if let State::AwaitingSettings { .. } = self.state {
            self.state = State::Open;
        }
        Ok(())
    }

    pub(super) fn window(
        &mut self,
        stream: u32,
        increment: u32,
        context: &EventContext<'_, D>,
        out: &mut impl Outlet,
    ) -> Result<(), CodecError> {
        self.counts.window_updates_received += 1;
        if stream == 0 {
            self.send_window += i64::from(increment);
            return match self.send_window > WINDOW_BYTES_MAX {
                true => Err(CodecError::WindowOverflow),
                false => Ok(()),
            };
        }
        let Some(slot) = self.live_slot(stream, "WINDOW_UPDATE")? else {
            return Ok(());
        };
        let stream = self.streams.at(slot);
        stream.send_window += i64::from(increment);
        if stream.send_window > WINDOW_BYTES_MAX {
            self.fail_stream(slot, CodecError::StreamWindowOverflow, context, out);
        } else if stream.sending == Sending::Stalled && stream.send_window > 0 {
            stream.sending = Sending::Queued;
            self.senders.push_back(slot);
        }
        Ok(())
    }
}
