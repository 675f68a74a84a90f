//! Frames that steer a connection: its settings, windows, resets and its end.
//!
//! What a GOAWAY leaves above its last stream was not processed (RFC 9113 §6.8), so that sending it again is safe whatever it
//! asks for: it goes to another connection, up to [`TRIES_MAX`] times, counts from when it was intended all the while, and is
//! counted as resent. A stream that is reset with REFUSED_STREAM was not processed either, but that is the server saying no to
//! one exchange under load: it stays an error of its own class, as a user without retries would see it.

use tare_schema::agent::Fault;

use super::super::codec::{SettingsChange, frame};
use super::super::dialect::Dialect;
use super::super::error::{CodecError, ErrorCode};
use super::Waiting;
use super::conn::{Conn, Leave, State, TABLE_BYTES_DEFAULT};
use super::receive::Scene;
use super::streams::Sending;
use crate::client::{ErrorClass, Outcome, Outlet, WaitCause};

/// The largest window there can be (RFC 9113 §6.9.1).
const WINDOW_BYTES_MAX: i64 = 0x7fff_ffff;

/// How often an exchange is sent that servers do not process.
const TRIES_MAX: u8 = 3;

impl<D: Dialect> Conn<D> {
    #[cold]
    pub(super) fn was_reset(
        &mut self,
        stream: u32,
        code: ErrorCode,
        scene: &Scene<'_, D>,
        out: &mut impl Outlet,
    ) -> Result<(), CodecError> {
        let Some(place) = self.place_if_live(stream, "RST_STREAM")? else {
            return Ok(());
        };
        self.counts.resets_received += 1;
        // Nothing is to be told to a server that has ended the stream itself.
        self.stop_sending(place);
        let gone = self.leave(place, Leave::Ended);
        let class = ErrorClass::of(code.reset_class(), Fault::Target);
        let example = format_args!("the server reset the stream: {code}");
        gone.done(Outcome::Wrong(class), scene.at(), &example, out);
        Ok(())
    }

    #[cold]
    pub(super) fn go_away(
        &mut self,
        last_stream: u32,
        code: ErrorCode,
        scene: &mut Scene<'_, D>,
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
        // From the highest down, so that in front of the queue they stand in their old order.
        while let Some(place) = self.streams.highest_above(last_stream) {
            self.stop_sending(place);
            let gone = self.leave(place, Leave::Ended);
            if gone.tries + 1 < TRIES_MAX {
                self.counts.exchanges_resent += 1;
                scene.waiting.push_front(Waiting {
                    due: gone.due,
                    cause: Some(WaitCause::Connection),
                    tries: gone.tries + 1,
                });
                continue;
            }
            let class = ErrorClass::of("unprocessed", Fault::Target);
            let example = format_args!(
                "the server ended {TRIES_MAX} connections without processing the request: {code}"
            );
            gone.done(Outcome::Wrong(class), scene.at(), &example, out);
        }
        Ok(())
    }

    fn stop_sending(&mut self, place: u16) {
        self.streams.at(place).sending = Sending::Over;
        self.senders.retain(|&sender| sender != place);
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
            for (place, stream) in self.streams.each() {
                stream.send_window += more;
                if stream.send_window > WINDOW_BYTES_MAX {
                    return Err(CodecError::WindowOverflow);
                }
                if stream.sending == Sending::Stalled && stream.send_window > 0 {
                    stream.sending = Sending::Queued;
                    self.senders.push_back(place);
                }
            }
        }
        if let State::Greeting { .. } = self.state {
            self.state = State::Open;
        }
        Ok(())
    }

    pub(super) fn window(
        &mut self,
        stream: u32,
        increment: u32,
        scene: &Scene<'_, D>,
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
        let Some(place) = self.place_if_live(stream, "WINDOW_UPDATE")? else {
            return Ok(());
        };
        let stream = self.streams.at(place);
        stream.send_window += i64::from(increment);
        if stream.send_window > WINDOW_BYTES_MAX {
            self.fault(place, CodecError::StreamWindowOverflow, scene, out);
        } else if stream.sending == Sending::Stalled && stream.send_window > 0 {
            stream.sending = Sending::Queued;
            self.senders.push_back(place);
        }
        Ok(())
    }
}
