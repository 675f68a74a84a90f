//! A connection fed by hand, and its output read back as answers.

use std::collections::BTreeMap;
use std::sync::Arc;

use tare_http2_frames::ErrorCode;
use tare_http2_frames::frame::{
    self, END_STREAM, FRAME_HEADER_BYTES, FrameHeader, Kind, PREFACE, number,
};
use tare_http2_frames::hpack::{Decoder, Encoder, HeaderListLimits};

use crate::behaviour::BehaviourOverride;
use crate::counters::{AllCounters, Counters};
use crate::delay::Rng;
use crate::http2::Http2;
use crate::mongodb::SharedDatabase;
use crate::options::Limits;
use crate::protocol::{Next, Protocol, Serve};
use crate::service::Service;
use crate::stall::Stalls;
use crate::timers;

/// What came back on one stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    pub fields: Vec<(String, String)>,
    pub body: Vec<u8>,
    pub ended: bool,
    pub reset: Option<ErrorCode>,
}

impl Answer {
    pub fn field(&self, name: &str) -> Option<&str> {
        let found = self.fields.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }
}

pub struct Rig {
    connection: Http2,
    pub service: Service,
    decoder: Decoder,
    pub answers: BTreeMap<u32, Answer>,
    credits: BTreeMap<u32, u32>,
    goaway: Option<(u32, ErrorCode)>,
}

impl Rig {
    pub fn held_bytes(&mut self) -> usize {
        self.connection.held_bytes()
    }

    pub fn new(overrides: &[&str]) -> Self {
        let counters = Arc::new(Counters::default());
        let limits = Limits::default();
        let service = Service {
            limits,
            overrides: overrides
                .iter()
                .map(|c| BehaviourOverride::parse(c).unwrap())
                .collect(),
            rng: Rng::new(1, 0),
            counters: Arc::clone(&counters),
            all: AllCounters(vec![counters]),
            stalls: Arc::new(Stalls::new()),
            database: SharedDatabase::new(),
            held_bytes: 0,
            is_ending: false,
        };
        let list = HeaderListLimits {
            bytes_max: 10_000,
            fields_max: 100,
        };
        Self {
            connection: Http2::new(&limits),
            service,
            decoder: Decoder::new(4096, list),
            answers: BTreeMap::new(),
            credits: BTreeMap::new(),
            goaway: None,
        }
    }

    /// Gives it input that arrived at 77, and takes everything that it has to send.
    pub fn send(&mut self, bytes: &[u8]) -> Next {
        let mut out = Vec::new();
        let next = self
            .connection
            .receive(bytes, Some(77), &mut self.service, &mut out);
        self.drain(next, out)
    }

    fn drain(&mut self, mut next: Next, mut out: Vec<u8>) -> Next {
        loop {
            self.read(&out);
            out.clear();
            match next {
                Next::Serve(Serve { has_more: true, .. }) => {
                    next = self.connection.resume(&mut self.service, &mut out)
                }
                next => return next,
            }
        }
    }

    pub fn wait_until(&mut self, due_ns: u64) {
        while timers::monotonic_ns() < due_ns {
            std::hint::spin_loop();
        }
        let mut out = Vec::new();
        let next = self.connection.resume(&mut self.service, &mut out);
        self.drain(next, out);
    }

    pub fn window(&mut self, stream: u32, increment: u32) -> Next {
        let mut bytes = Vec::new();
        frame::write_window_update(&mut bytes, stream, increment);
        self.send(&bytes)
    }

    pub fn answer(&self, stream: u32) -> Answer {
        self.answers.get(&stream).cloned().unwrap_or_default()
    }

    pub fn credited(&self, stream: u32) -> u32 {
        self.credits.get(&stream).copied().unwrap_or(0)
    }

    pub fn goaway(&self) -> Option<(u32, ErrorCode)> {
        self.goaway
    }

    pub fn open(&self) -> usize {
        self.connection.streams.open()
    }

    /// Output is whole frames.
    fn read(&mut self, mut out: &[u8]) {
        while let Some((head, rest)) = out.split_first_chunk::<FRAME_HEADER_BYTES>() {
            let head = FrameHeader::parse(*head);
            let (payload, rest) = rest.split_at(head.length as usize);
            out = rest;
            let answer = match head.kind {
                Kind::Headers | Kind::Data | Kind::RstStream => {
                    self.answers.entry(head.stream).or_default()
                }
                Kind::WindowUpdate => {
                    *self.credits.entry(head.stream).or_default() += number(payload);
                    continue;
                }
                Kind::GoAway => {
                    self.goaway = Some((number(payload), ErrorCode(number(&payload[4..]))));
                    continue;
                }
                _ => continue,
            };
            match head.kind {
                Kind::Headers => {
                    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
                    let fields = &mut answer.fields;
                    self.decoder
                        .decode(payload, |name, value| {
                            fields.push((text(name), text(value)))
                        })
                        .unwrap();
                }
                Kind::Data => answer.body.extend_from_slice(payload),
                _ => answer.reset = Some(ErrorCode(number(payload))),
            }
            assert!(
                !answer.ended || head.kind == Kind::RstStream,
                "a frame behind the end"
            );
            answer.ended |= head.kind != Kind::RstStream && head.has(END_STREAM);
        }
        assert!(out.is_empty(), "a frame in pieces");
    }
}

pub fn frame_of(kind: Kind, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    frame::write_head(&mut bytes, payload.len(), kind, flags, stream);
    bytes.extend_from_slice(payload);
    bytes
}

pub fn greeting() -> Vec<u8> {
    let mut bytes = PREFACE.to_vec();
    frame::write_settings(&mut bytes, &[]);
    bytes
}

/// A header block; with a method it gets a scheme.
pub fn headers(stream: u32, fields: &[(&str, &str)], flags: u8) -> Vec<u8> {
    let mut encoder = Encoder::default();
    if fields[0].0 == ":method" {
        encoder.field(b":scheme", b"http");
    }
    for (name, value) in fields {
        encoder.field(name.as_bytes(), value.as_bytes());
    }
    let mut bytes = Vec::new();
    frame::write_headers(&mut bytes, stream, &[], &encoder.finish(), flags, 16_384);
    bytes
}

pub fn request(stream: u32, path: &str) -> Vec<u8> {
    headers(stream, &[(":method", "GET"), (":path", path)], END_STREAM)
}
