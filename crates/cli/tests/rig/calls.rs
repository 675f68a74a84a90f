//! A small gRPC server that is part of the test: an echo of every kind of call, health, and reflection of an old version.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use tare_http2_frames::frame::{self, FRAME_HEADER_BYTES, FrameHeader, Kind, PREFACE};
use tare_http2_frames::hpack::{Decoder, Encoder, HeaderListLimits};

/// What the echo is, as its clients would have it in a file.
pub const PROTO: &str = r#"
syntax = "proto3";
package test;
message Ask { string text = 1; }
message Told { string text = 1; }
service Echo {
  rpc Say(Ask) returns (Told);
  rpc Push(stream Ask) returns (Told);
  rpc Pull(Ask) returns (stream Told);
  rpc Chat(stream Ask) returns (stream Told);
}
"#;

/// The server. Its threads end with the test.
pub struct Calls {
    pub address: String,
    state: Arc<State>,
}

struct State {
    /// The description that reflection gives, if it is there.
    file: Option<Vec<u8>>,
    /// Health checks that are answered by NOT_SERVING before one is SERVING.
    unhealthy: u32,
    checks: Mutex<u32>,
    /// Paths with `grpc-timeout` and `x-key`, and the messages of each call.
    seen: Mutex<Vec<Seen>>,
}

/// A call as it came.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seen {
    pub path: String,
    pub timeout: Option<String>,
    pub key: Option<String>,
    pub messages: Vec<Vec<u8>>,
}

#[derive(Default)]
struct Stream {
    seen: Seen,
    body: Vec<u8>,
    has_head: bool,
}

impl Calls {
    /// Starts one; with a description it has reflection.
    pub fn start(file: Option<Vec<u8>>, unhealthy: u32) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let state = Arc::new(State {
            file,
            unhealthy,
            checks: Mutex::default(),
            seen: Mutex::default(),
        });
        let serving = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let state = Arc::clone(&serving);
                std::thread::spawn(move || serve(stream.unwrap(), &state));
            }
        });
        Self { address, state }
    }

    /// The calls of a path that have ended.
    pub fn seen(&self, path: &str) -> Vec<Seen> {
        let seen = self.state.seen.lock().unwrap();
        seen.iter()
            .filter(|seen| seen.path == path)
            .cloned()
            .collect()
    }
}

/// Serves one connection up to its end.
fn serve(mut stream: TcpStream, state: &State) {
    stream.set_nodelay(true).unwrap();
    let mut preface = [0; PREFACE.len()];
    if stream.read_exact(&mut preface).is_err() {
        return;
    }
    let limits = HeaderListLimits {
        bytes_max: 65_536,
        fields_max: 100,
    };
    let mut decoder = Decoder::new(4096, limits);
    let mut streams: HashMap<u32, Stream> = HashMap::new();
    let mut out = Vec::new();
    frame::write_settings(&mut out, &[]);
    loop {
        if stream.write_all(&out).is_err() {
            return;
        }
        out.clear();
        let mut head = [0; FRAME_HEADER_BYTES];
        if stream.read_exact(&mut head).is_err() {
            return;
        }
        let head = FrameHeader::parse(head);
        let mut payload = vec![0; head.length as usize];
        if stream.read_exact(&mut payload).is_err() {
            return;
        }
        let of = streams.entry(head.stream).or_default();
        match head.kind {
            Kind::Settings if !head.has(frame::ACK) => frame::write_settings_ack(&mut out),
            Kind::Headers => read_head(&mut decoder, &payload, &mut of.seen),
            Kind::Data => {
                of.body.extend_from_slice(&payload);
                if head.length > 0 {
                    frame::write_window_update(&mut out, 0, head.length);
                    frame::write_window_update(&mut out, head.stream, head.length);
                }
            }
            _ => {}
        }
        if !matches!(head.kind, Kind::Headers | Kind::Data) {
            continue;
        }
        while let Some(message) = take_message(&mut of.body) {
            if of.seen.path.ends_with("/Chat") {
                say(&mut out, head.stream, of, &message);
            }
            of.seen.messages.push(message);
        }
        if head.has(frame::END_STREAM) {
            answer(&mut out, head.stream, of, state);
            let done = streams.remove(&head.stream).unwrap();
            state.seen.lock().unwrap().push(done.seen);
        }
    }
}

fn read_head(decoder: &mut Decoder, block: &[u8], seen: &mut Seen) {
    let read = decoder.decode(block, |name, value| {
        let value = String::from_utf8_lossy(value).into_owned();
        match name {
            b":path" => seen.path = value,
            b"grpc-timeout" => seen.timeout = Some(value),
            b"x-key" => seen.key = Some(value),
            _ => {}
        }
    });
    read.unwrap();
}

fn take_message(body: &mut Vec<u8>) -> Option<Vec<u8>> {
    let &[_, a, b, c, d] = body.first_chunk::<5>()?;
    let length = u32::from_be_bytes([a, b, c, d]) as usize;
    if body.len() < 5 + length {
        return None;
    }
    let message = body[5..5 + length].to_vec();
    body.drain(..5 + length);
    Some(message)
}

/// Answers a call whose client has said everything.
fn answer(out: &mut Vec<u8>, id: u32, of: &mut Stream, state: &State) {
    let messages = of.seen.messages.clone();
    let first = messages.first().cloned().unwrap_or_default();
    let path = of.seen.path.clone();
    match path.as_str() {
        "/test.Echo/Chat" => {}
        "/test.Echo/Say" => say(out, id, of, &first),
        "/test.Echo/Pull" => (0..3).for_each(|_| say(out, id, of, &first)),
        "/test.Echo/Push" => {
            let count = messages.len().to_string();
            say(out, id, of, &nested(1, count.as_bytes()));
        }
        "/grpc.health.v1.Health/Check" => {
            let mut checks = state.checks.lock().unwrap();
            *checks += 1;
            say(
                out,
                id,
                of,
                &[8, if *checks > state.unhealthy { 1 } else { 2 }],
            );
        }
        "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
            if state.file.is_some() =>
        {
            let file = state.file.as_deref().unwrap();
            for _ in messages {
                say(out, id, of, &nested(4, &nested(1, file)));
            }
        }
        _ => return end(out, id, of, "12"),
    }
    end(out, id, of, "0");
}

/// Sends a message, behind the head if it is the first.
fn say(out: &mut Vec<u8>, id: u32, of: &mut Stream, message: &[u8]) {
    if !std::mem::replace(&mut of.has_head, true) {
        frame::write_headers(out, id, &[], &fields(&[]), 0, 16_384);
    }
    frame::write_head(out, 5 + message.len(), Kind::Data, 0, id);
    out.push(0);
    out.extend_from_slice(&u32::try_from(message.len()).unwrap().to_be_bytes());
    out.extend_from_slice(message);
}

/// Ends a call, by trailers or by a head that is all there is.
fn end(out: &mut Vec<u8>, id: u32, of: &Stream, code: &str) {
    let block = match of.has_head {
        true => {
            let mut encoder = Encoder::default();
            encoder.field(b"grpc-status", code.as_bytes());
            encoder.finish()
        }
        false => fields(&[("grpc-status", code)]),
    };
    frame::write_headers(out, id, &[], &block, frame::END_STREAM, 16_384);
}

fn fields(more: &[(&str, &str)]) -> Vec<u8> {
    let mut encoder = Encoder::default();
    encoder.field(b":status", b"200");
    encoder.field(b"content-type", b"application/grpc");
    for (name, value) in more {
        encoder.field(name.as_bytes(), value.as_bytes());
    }
    encoder.finish()
}

/// A length-delimited field of protobuf.
fn nested(tag: u8, bytes: &[u8]) -> Vec<u8> {
    let mut coded = vec![tag << 3 | 2];
    let mut length = bytes.len();
    while length >= 0x80 {
        coded.push(length as u8 | 0x80);
        length >>= 7;
    }
    coded.push(length as u8);
    [coded.as_slice(), bytes].concat()
}
