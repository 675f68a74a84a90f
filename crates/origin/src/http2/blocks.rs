//! Writes the header blocks of answers directly into the output: static table and literals only, so that a client's dynamic
//! table never changes and equal answers are equal bytes.

use tare_http2_frames::frame::{self, END_HEADERS, END_STREAM, FRAME_HEADER_BYTES, Kind};

use super::streams::Head;
use crate::body::{push_number, push_timestamps};
use crate::grpc::Code;

/// Literals without indexing, with names of the static table (RFC 7541 appendix A).
const CONTENT_LENGTH: [u8; 2] = [0x0f, 28 - 15];
const CONTENT_TYPE: [u8; 2] = [0x0f, 31 - 15];

/// The headers of an answer, whether they end it; with a gRPC status, the whole answer (trailers-only).
pub(super) fn write_head(
    out: &mut Vec<u8>,
    stream: u32,
    head: &Head,
    arrived_ns: Option<u64>,
    code: Option<Code>,
    is_last: bool,
) {
    framed(out, stream, is_last, |out| {
        status(out, head.status);
        if head.status != 204 {
            out.extend_from_slice(&CONTENT_TYPE);
            string(out, head.content_type.as_bytes());
        }
        if let Some(length) = head.length {
            out.extend_from_slice(&CONTENT_LENGTH);
            measured(out, |out| push_number(out, length));
        }
        if head.timestamps {
            out.push(0);
            string(out, b"tare-timestamps");
            measured(out, |out| push_timestamps(out, arrived_ns));
        }
        if let Some(code) = code {
            grpc_status(out, code);
        }
    });
}

/// The trailers of a call: its status.
pub(super) fn write_trailers(out: &mut Vec<u8>, stream: u32, code: Code) {
    framed(out, stream, true, |out| grpc_status(out, code));
}

fn framed(out: &mut Vec<u8>, stream: u32, is_last: bool, block: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    let flags = END_HEADERS | if is_last { END_STREAM } else { 0 };
    frame::write_head(out, 0, Kind::Headers, flags, stream);
    block(out);
    // Far below the frame size limit: nothing in it comes from the client.
    let [_, a, b, c] = ((out.len() - start - FRAME_HEADER_BYTES) as u32).to_be_bytes();
    out[start..start + 3].copy_from_slice(&[a, b, c]);
}

fn status(out: &mut Vec<u8>, status: u16) {
    let index = match status {
        200 => 8,
        204 => 9,
        206 => 10,
        304 => 11,
        400 => 12,
        404 => 13,
        500 => 14,
        _ => {
            out.push(0x08);
            measured(out, |out| push_number(out, u64::from(status)));
            return;
        }
    };
    out.push(0x80 | index);
}

fn grpc_status(out: &mut Vec<u8>, code: Code) {
    out.push(0);
    string(out, b"grpc-status");
    measured(out, |out| push_number(out, u64::from(code.number())));
    if let Some(message) = code.message() {
        out.push(0);
        string(out, b"grpc-message");
        string(out, message.as_bytes());
    }
}

/// A string of fewer than 127 bytes, not Huffman-coded: decoding that costs the client more than the bytes saved.
fn string(out: &mut Vec<u8>, text: &[u8]) {
    out.push(text.len() as u8);
    out.extend_from_slice(text);
}

fn measured(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.push(0);
    write(out);
    out[start] = (out.len() - start - 1) as u8;
}
