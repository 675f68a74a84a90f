//! Reads complete payloads of every type except DATA.

use super::super::error::{CodecError, ErrorCode};
use super::event::{Event, SettingsChange, StreamEnd};
use super::frame::{self, ACK, END_HEADERS, FrameHeader, Kind, PayloadTooShort, number};
use super::section::FieldSection;
use super::{Codec, PartialBlock, UnproductiveFrame};

impl Codec {
    /// Reads a complete payload of any type except DATA.
    #[inline]
    pub(super) fn payload(
        &mut self,
        head: FrameHeader,
        payload: &[u8],
    ) -> Result<Option<Event<'static>>, CodecError> {
        let stream = head.stream;
        Ok(Some(match head.kind {
            Kind::Headers => {
                let block = head.block(payload).map_err(|misfit| match misfit {
                    PayloadTooShort::Padding => CodecError::PaddingTooLong {
                        frame: head.kind.name(),
                    },
                    PayloadTooShort::Priority => CodecError::FrameSize {
                        frame: head.kind.name(),
                        size_bytes: head.length,
                    },
                })?;
                let of = PartialBlock {
                    stream,
                    end: StreamEnd::of(&head),
                    frames: 1,
                };
                if !head.has(END_HEADERS) {
                    self.block.clear();
                    self.partial_block = Some(of);
                    return self.add_to_block(block).map(|()| None);
                }
                let section = self.field_decoder.read(block)?;
                self.headers(of, section)?
            }
            Kind::Continuation => {
                self.add_to_block(payload)?;
                let Some(of) = self.partial_block.take_if(|_| head.has(END_HEADERS)) else {
                    return Ok(None);
                };
                let section = self.field_decoder.read(&self.block)?;
                self.headers(of, section)?
            }
            Kind::RstStream => {
                self.count(UnproductiveFrame::Ignored, head.kind)?;
                Event::Reset {
                    stream,
                    code: ErrorCode(number(payload)),
                }
            }
            Kind::Settings if head.has(ACK) => {
                self.count(UnproductiveFrame::Ignored, head.kind)?;
                Event::SettingsAck
            }
            Kind::Settings => {
                self.count(UnproductiveFrame::NeedsReply, head.kind)?;
                Event::Settings(read_settings(payload)?)
            }
            Kind::Ping => {
                self.count(UnproductiveFrame::NeedsReply, head.kind)?;
                match payload.first_chunk() {
                    Some(&payload) if !head.has(ACK) => Event::Ping(payload),
                    // The client sends no PING, so an acknowledgement is ignored.
                    _ => return Ok(None),
                }
            }
            Kind::GoAway => {
                self.count(UnproductiveFrame::Ignored, head.kind)?;
                let code = ErrorCode(number(payload.get(4..).unwrap_or_default()));
                Event::GoAway {
                    last_stream: number(payload) & 0x7fff_ffff,
                    code,
                }
            }
            Kind::WindowUpdate => {
                self.count(UnproductiveFrame::Window, head.kind)?;
                match (stream, number(payload) & 0x7fff_ffff) {
                    (0, 0) => return Err(CodecError::ZeroIncrement),
                    (_, 0) => Event::StreamError {
                        stream,
                        error: CodecError::ZeroStreamIncrement,
                    },
                    (_, increment) => Event::WindowUpdate { stream, increment },
                }
            }
            Kind::Data | Kind::Priority | Kind::PushPromise | Kind::Unknown => return Ok(None),
        }))
    }

    #[inline]
    fn headers(
        &mut self,
        of: PartialBlock,
        section: Result<FieldSection, CodecError>,
    ) -> Result<Event<'static>, CodecError> {
        match of.end {
            StreamEnd::Last => self.progressed(),
            StreamEnd::Open => self.count(UnproductiveFrame::Ignored, Kind::Headers)?,
        }
        let stream = of.stream;
        Ok(match section {
            Ok(section) => Event::Headers {
                stream,
                end: of.end,
                section,
            },
            Err(error) => Event::InvalidHeaders { stream, error },
        })
    }

    fn add_to_block(&mut self, piece: &[u8]) -> Result<(), CodecError> {
        let max_bytes = self.limits.block_bytes_max;
        let max_frames = self.limits.block_frames_max;
        self.block.extend_from_slice(piece);
        let Some(of) = &mut self.partial_block else {
            return Ok(());
        };
        of.frames += 1;
        if self.block.len() > max_bytes || of.frames > max_frames {
            return Err(CodecError::BlockTooLarge {
                max_bytes,
                max_frames,
            });
        }
        Ok(())
    }
}

/// Reads the settings that matter to a client (RFC 9113 §6.5.2). The last value of a setting counts.
fn read_settings(payload: &[u8]) -> Result<SettingsChange, CodecError> {
    let mut change = SettingsChange::default();
    for (setting, value) in frame::settings(payload) {
        let allowed = match setting {
            0x1 => {
                let smallest = change.header_table_bytes.unwrap_or(u32::MAX).min(value);
                change.header_table_bytes = Some(smallest);
                true
            }
            // SETTINGS_ENABLE_PUSH of a server can only be 0.
            0x2 => value == 0,
            0x3 => {
                change.streams_max = Some(value);
                true
            }
            0x4 => {
                change.initial_window_bytes = Some(value);
                value <= 0x7fff_ffff
            }
            0x5 => {
                change.frame_bytes_max = Some(value);
                (16_384..=16_777_215).contains(&value)
            }
            _ => true,
        };
        if !allowed {
            return Err(CodecError::BadSetting { setting, value });
        }
    }
    Ok(change)
}
