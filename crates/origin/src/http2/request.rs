//! Reads a header block into what a request asks for (RFC 9113 §8.3.1).

use std::time::Duration;

use tare_wire::field::{bad_name_byte, bad_value_byte, decimal};
use tare_wire::hpack::{Decoder, ListLimits, TableUse};

use super::fault::Fault;
use crate::behaviour::{Change, Unknown};
use crate::grpc::{Call, parse_timeout};
use crate::options::Limits;
use crate::route::{Route, route, split_target};

/// The header table that a client may use: the size without a setting.
const TABLE_BYTES: usize = 4096;

/// Bytes of a block that is remembered; blocks beyond it are decoded each time.
const REMEMBERED_BYTES_MAX: usize = 1024;

/// Fields of one block.
const FIELDS_MAX: usize = 256;

/// What a request asks for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Request {
    pub ask: Ask,
    pub method: Method,
    pub change: Change,
    /// What was asked and not understood: answered with 400.
    pub understood: Understood,
    pub content_length: Option<u64>,
    pub timeout: Option<Duration>,
}

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Ask {
    Http(Route),
    Grpc(Call),
}

/// Whether the answer has a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    Head,
    Other,
}

/// Whether every behaviour asked for is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Understood {
    Yes,
    No,
}

/// What a header block is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Section {
    Request(Request),
    Trailers,
    /// Breaks the rules: its stream is reset.
    Malformed,
}

/// Turns header blocks into requests.
///
/// The requests of a load are mostly byte for byte the same. As long as no block changes the dynamic table, equal bytes mean
/// equal fields: the last block is remembered, and one equal to it costs a comparison.
#[derive(Debug)]
pub(super) struct Sections {
    decoder: Decoder,
    reading: Reading,
    remembered: Vec<u8>,
    section: Option<Section>,
}

impl Sections {
    pub(super) fn new(limits: &Limits) -> Self {
        let list = ListLimits {
            bytes_max: limits.head_bytes_max,
            fields_max: FIELDS_MAX,
        };
        Self {
            decoder: Decoder::new(TABLE_BYTES, list),
            reading: Reading::default(),
            remembered: Vec::new(),
            section: None,
        }
    }

    /// What was wrong with the last request that was not understood.
    pub(super) fn complaint(&self) -> &str {
        &self.reading.complaint
    }

    /// Reads one block.
    pub(super) fn read(&mut self, block: &[u8]) -> Result<Section, Fault> {
        if let Some(section) = self.section
            && self.remembered == block
        {
            return Ok(section);
        }
        let reading = &mut self.reading;
        reading.reset();
        let table_use = self
            .decoder
            .decode(block, |name, value| reading.field(name, value))?;
        let section = reading.section();
        self.section = None;
        let lasting = !matches!(
            section,
            Section::Request(Request {
                understood: Understood::No,
                ..
            })
        );
        if lasting && table_use == TableUse::Unchanged && block.len() <= REMEMBERED_BYTES_MAX {
            self.remembered.clear();
            self.remembered.extend_from_slice(block);
            self.section = Some(section);
        }
        Ok(section)
    }
}

/// The fields of one block so far.
#[derive(Debug, Default)]
struct Reading {
    method: Vec<u8>,
    path: Vec<u8>,
    behaviour: Vec<u8>,
    complaint: String,
    flags: Seen,
    content_length: Option<u64>,
    timeout: Option<Duration>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Seen {
    method: u16,
    path: u16,
    scheme: u16,
    authority: u16,
    ordinary: bool,
    broken: bool,
    grpc: bool,
}

impl Reading {
    fn reset(&mut self) {
        self.method.clear();
        self.path.clear();
        self.behaviour.clear();
        self.complaint.clear();
        self.flags = Seen::default();
        self.content_length = None;
        self.timeout = None;
    }

    fn field(&mut self, name: &[u8], value: &[u8]) {
        let seen = &mut self.flags;
        seen.broken |= bad_value_byte(value).is_some();
        if name.first() == Some(&b':') {
            seen.broken |= seen.ordinary;
            match name {
                b":method" => {
                    seen.method += 1;
                    self.method.extend_from_slice(value);
                }
                b":path" => {
                    seen.path += 1;
                    self.path.extend_from_slice(value);
                }
                b":scheme" => seen.scheme += 1,
                b":authority" => seen.authority += 1,
                _ => seen.broken = true,
            }
            seen.broken |=
                seen.method > 1 || seen.path > 1 || seen.scheme > 1 || seen.authority > 1;
            return;
        }
        seen.ordinary = true;
        seen.broken |= bad_name_byte(name).is_some();
        match name {
            b"content-length" => {
                let length = decimal(value);
                let differs = self.content_length.is_some() && self.content_length != length;
                seen.broken |= length.is_none() || differs;
                self.content_length = length;
            }
            b"content-type" => seen.grpc = value.starts_with(b"application/grpc"),
            b"grpc-timeout" => self.timeout = parse_timeout(value),
            b"tare-behaviour" => {
                self.behaviour.push(b'&');
                self.behaviour.extend_from_slice(value);
            }
            b"te" => seen.broken |= value != b"trailers",
            b"connection" | b"keep-alive" | b"proxy-connection" | b"transfer-encoding"
            | b"upgrade" => seen.broken = true,
            _ => {}
        }
    }

    fn section(&mut self) -> Section {
        let Seen {
            method,
            path,
            scheme,
            authority,
            broken,
            ..
        } = self.flags;
        if broken {
            return Section::Malformed;
        }
        match (method, path, scheme) {
            (0, 0, 0) if authority == 0 => return Section::Trailers,
            (1, 1, 1) if !self.path.is_empty() => {}
            _ => return Section::Malformed,
        }
        let (Ok(method), Ok(target)) = (
            std::str::from_utf8(&self.method),
            std::str::from_utf8(&self.path),
        ) else {
            return Section::Malformed;
        };
        let (path, query) = split_target(target);
        let mut change = Change::default();
        let mut asked = change.read(query, Unknown::Ignore);
        if !self.behaviour.is_empty() {
            let Ok(behaviour) = std::str::from_utf8(&self.behaviour) else {
                return Section::Malformed;
            };
            asked = asked.and_then(|()| change.read(behaviour, Unknown::Refuse));
        }
        let ask = if self.flags.grpc && method == "POST" {
            Ask::Grpc(Call::of(path))
        } else {
            Ask::Http(route(method, path, query))
        };
        let understood = match asked {
            Ok(()) => Understood::Yes,
            Err(error) => {
                self.complaint = error.to_string();
                change = Change::default();
                Understood::No
            }
        };
        Section::Request(Request {
            ask,
            method: if method == "HEAD" {
                Method::Head
            } else {
                Method::Other
            },
            change,
            understood,
            content_length: self.content_length,
            timeout: self.timeout,
        })
    }
}
