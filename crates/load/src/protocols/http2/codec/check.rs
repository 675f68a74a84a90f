//! Checks of a frame header, before the payload.

use super::super::error::CodecError;
use super::frame::{ACK, FrameHead, Kind};

/// Checks that the frame type allows the stream and the length (RFC 9113 §6).
///
/// # Errors
/// When it does not. The length of PRIORITY is not checked here: it is an error of its stream only.
pub(super) fn check(head: &FrameHead) -> Result<(), CodecError> {
    let frame = head.kind.name();
    let size_bytes = head.length;
    let wrong_size = CodecError::FrameSize { frame, size_bytes };
    // Even stream ids belong to the server, which may open no stream.
    let on_stream = head.stream % 2 == 1;
    let (stream_fits, size_fits) = match head.kind {
        Kind::Data | Kind::Headers | Kind::Continuation => (on_stream, true),
        Kind::Priority => (head.stream != 0, true),
        Kind::RstStream => (on_stream, head.length == 4),
        Kind::Settings if head.has(ACK) => (head.stream == 0, head.length == 0),
        Kind::Settings => (head.stream == 0, head.length.is_multiple_of(6)),
        Kind::PushPromise => return Err(CodecError::Push),
        Kind::Ping => (head.stream == 0, head.length == 8),
        Kind::GoAway => (head.stream == 0, head.length >= 8),
        Kind::WindowUpdate => (head.stream == 0 || on_stream, head.length == 4),
        Kind::Unknown => (true, true),
    };
    match (stream_fits, size_fits) {
        (false, _) => Err(CodecError::FrameOnWrongStream {
            frame,
            stream: head.stream,
        }),
        (true, false) => Err(wrong_size),
        (true, true) => Ok(()),
    }
}
