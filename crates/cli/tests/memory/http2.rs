//! HTTP/2 servers that flood, play tricks with windows, and read nothing.

use std::io::{self, Write};
use std::net::TcpStream;

use tare_http2_frames::ErrorCode;
use tare_http2_frames::frame::{self, END_HEADERS, FRAME_HEADER_BYTES, FrameHeader, Kind, PREFACE};

use super::{repeat, says, server, survives};

/// `:status: 200` and nothing else.
const OK_BLOCK: &[u8] = &[0x88];

/// `:status: 103` as a literal that is not indexed.
const EARLY_BLOCK: &[u8] = &[0x08, 3, b'1', b'0', b'3'];

const WINDOW_MAX: u32 = 0x7fff_ffff;

fn of(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    write(&mut out);
    out
}

fn framed(kind: Kind, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    of(|out| {
        frame::write_head(out, payload.len(), kind, flags, stream);
        out.extend_from_slice(payload);
    })
}

fn ping() -> Vec<u8> {
    framed(Kind::Ping, 0, 0, &[7; 8])
}

/// Sends the settings and waits until a request has come, without reading anything.
fn greet(mut stream: &TcpStream, settings: &[(u16, u32)]) -> io::Result<()> {
    stream.write_all(&of(|out| frame::write_settings(out, settings)))?;
    let mut came = [0; 256];
    loop {
        let count = stream.peek(&mut came)?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut rest = came[..count].strip_prefix(PREFACE).unwrap_or_default();
        while let Some(&head) = rest.first_chunk::<FRAME_HEADER_BYTES>() {
            let head = FrameHeader::parse(head);
            if head.kind == Kind::Headers {
                return Ok(());
            }
            rest = rest
                .get(FRAME_HEADER_BYTES + head.length as usize..)
                .unwrap_or_default();
        }
        std::thread::yield_now();
    }
}

/// A server that answers the first request's head and then sends the same for ever.
fn flooding(unit: Vec<u8>) -> String {
    let address = server(move |mut stream| {
        greet(&stream, &[])?;
        stream.write_all(&framed(Kind::Headers, END_HEADERS, 1, OK_BLOCK))?;
        repeat(&stream, &unit)
    });
    format!("http://{address}/")
}

const FOUR: [&str; 5] = ["--http2", "--connections", "4", "--count", "8"];

#[test]
fn pings_and_settings_between_bytes_of_data_are_no_way_to_fill_the_memory() {
    for unit in [ping(), of(|out| frame::write_settings(out, &[]))] {
        // A byte of data between them was progress enough to begin the count of a flood anew.
        let byte = framed(Kind::Data, 0, 1, b"x");
        let round = [unit.repeat(900), byte].concat();
        let outcomes = survives(&flooding(round), &FOUR);
        assert!(says(&outcomes, "does not read"), "{outcomes:?}");
        survives(&flooding(unit), &FOUR);
    }
}

#[test]
fn floods_of_resets_heads_and_window_updates_take_no_memory() {
    let data = framed(Kind::Data, 0, 1, b"x");
    let window = |stream: u32| of(|out| frame::write_window_update(out, stream, 1));
    for unit in [
        of(|out| frame::write_reset(out, 1, ErrorCode::CANCEL)),
        framed(Kind::Headers, END_HEADERS, 1, EARLY_BLOCK),
        framed(Kind::Headers, 0, 1, OK_BLOCK),
        [window(0).repeat(900), window(1).repeat(900), data].concat(),
    ] {
        survives(&flooding(unit), &FOUR);
    }
    // Streams that we begin anew for those that were reset.
    let address = server(|mut stream| {
        greet(&stream, &[])?;
        for stream_id in (1..WINDOW_MAX).step_by(2) {
            stream.write_all(&of(|out| {
                frame::write_reset(out, stream_id, ErrorCode::CANCEL)
            }))?;
        }
        Ok(())
    });
    let how = ["--http2", "--connections", "4", "--duration", "1s"];
    survives(&format!("http://{address}/"), &how);
}

#[test]
fn the_largest_windows_and_frames_have_no_more_of_a_body_gathered() {
    let address = server(|mut stream| {
        greet(&stream, &[(4, WINDOW_MAX), (5, 16_777_215)])?;
        stream.write_all(&of(|out| {
            frame::write_window_update(out, 0, WINDOW_MAX - 65_535)
        }))?;
        // And not a word more, until the client gives up.
        std::thread::park_timeout(std::time::Duration::from_secs(5));
        Ok(())
    });
    let how = ["--http2", "--connections", "16", "--count", "16"];
    let body = ["--body-size", "32MiB", "--timeout", "1s"];
    survives(&format!("http://{address}/"), &[&how[..], &body].concat());
}

#[test]
fn messages_of_a_call_without_end_take_no_memory() {
    let address = server(|mut stream| {
        greet(&stream, &[])?;
        let grpc = [0x88, 0x0f, 0x10, 16];
        let head = [&grpc[..], b"application/grpc"].concat();
        stream.write_all(&framed(Kind::Headers, END_HEADERS, 1, &head))?;
        let empty_messages = [0; 5].repeat(3000);
        repeat(&stream, &framed(Kind::Data, 0, 1, &empty_messages))
    });
    let url = format!("http://{address}/echo.Echo/Say");
    let how = [
        "--grpc",
        "--connections",
        "4",
        "--count",
        "8",
        "--timeout",
        "1s",
    ];
    survives(&url, &how);
}
