//! Parses a header block into a request (RFC 9113 §8.3.1).

use std::time::Duration;

use tare_http2_frames::field::{bad_name_byte, bad_value_byte, decimal};
use tare_http2_frames::hpack::{Decoder, HeaderListLimits, TableChange};

use super::protocol_error::ProtocolError;
use crate::behaviour::{BehaviourOverride, Unknown};
use crate::forwarded_identity::HEADER;
use crate::grpc::{Call, parse_timeout};
use crate::options::Limits;
use crate::service::{Route, route, split_target};

/// Size of the dynamic table: the default SETTINGS_HEADER_TABLE_SIZE.
const TABLE_BYTES: usize = 4096;

/// Largest block that is cached; larger ones are decoded each time.
const REMEMBERED_BYTES_MAX: usize = 1024;

/// Limit of fields of one block.
const FIELDS_MAX: usize = 256;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Request {
    pub kind: RequestKind,
    pub is_head: bool,
    /// `None`: an invalid behaviour, which is answered with 400.
    pub requested: Option<BehaviourOverride>,
    pub content_length: Option<u64>,
    pub timeout: Option<Duration>,
}

/// Plain HTTP or a gRPC call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum RequestKind {
    Http(Route),
    Grpc(Call),
}

impl RequestKind {
    /// Whether it is not counted as load.
    pub(super) fn is_control(self) -> bool {
        match self {
            RequestKind::Http(route) => route.is_control(),
            RequestKind::Grpc(call) => call.is_control(),
        }
    }
}

/// A decoded header block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum HeaderBlock {
    Request(Request),
    Trailers,
    /// Malformed: its stream is reset.
    Malformed,
}

/// Decodes header blocks.
///
/// The requests of a load are mostly identical. As long as no block changes the dynamic table, equal bytes mean equal fields: the
/// last block is cached, and one equal to it costs a comparison.
#[derive(Debug)]
pub(super) struct HeaderBlockReader {
    decoder: Decoder,
    fields: Fields,
    remembered: Vec<u8>,
    header_block: Option<HeaderBlock>,
}

impl HeaderBlockReader {
    pub(super) fn new(limits: &Limits) -> Self {
        let list = HeaderListLimits {
            bytes_max: limits.head_bytes_max,
            fields_max: FIELDS_MAX,
        };
        Self {
            decoder: Decoder::new(TABLE_BYTES, list),
            fields: Fields::default(),
            remembered: Vec::new(),
            header_block: None,
        }
    }

    /// The error of the last request with an invalid behaviour.
    pub(super) fn behaviour_error(&self) -> &str {
        &self.fields.behaviour_error
    }

    /// The caller's certificate in the last request, as a proxy describes it; empty if none does.
    pub(super) fn forwarded_certificate(&self) -> &[u8] {
        &self.fields.forwarded_certificate
    }

    /// Reads one block.
    pub(super) fn read(&mut self, block: &[u8]) -> Result<HeaderBlock, ProtocolError> {
        if let Some(header_block) = self.header_block
            && self.remembered == block
        {
            return Ok(header_block);
        }
        let fields = &mut self.fields;
        fields.reset();
        let table_use = self
            .decoder
            .decode(block, |name, value| fields.field(name, value))?;
        let header_block = fields.header_block();
        self.header_block = None;
        let lasting = !matches!(
            header_block,
            HeaderBlock::Request(Request {
                requested: None,
                ..
            })
        );
        if lasting && table_use == TableChange::Unchanged && block.len() <= REMEMBERED_BYTES_MAX {
            self.remembered.clear();
            self.remembered.extend_from_slice(block);
            self.header_block = Some(header_block);
        }
        Ok(header_block)
    }
}

/// The relevant fields of a block so far.
#[derive(Debug, Default)]
struct Fields {
    method: Vec<u8>,
    path: Vec<u8>,
    behaviour: Vec<u8>,
    behaviour_error: String,
    forwarded_certificate: Vec<u8>,
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

impl Fields {
    fn reset(&mut self) {
        self.method.clear();
        self.path.clear();
        self.behaviour.clear();
        self.behaviour_error.clear();
        self.forwarded_certificate.clear();
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
            _ if name == HEADER.as_bytes() => {
                self.forwarded_certificate.clear();
                self.forwarded_certificate.extend_from_slice(value);
            }
            _ => {}
        }
    }

    fn header_block(&mut self) -> HeaderBlock {
        let Seen {
            method,
            path,
            scheme,
            authority,
            broken,
            ..
        } = self.flags;
        if broken {
            return HeaderBlock::Malformed;
        }
        match (method, path, scheme) {
            (0, 0, 0) if authority == 0 => return HeaderBlock::Trailers,
            (1, 1, 1) if !self.path.is_empty() => {}
            _ => return HeaderBlock::Malformed,
        }
        let (Ok(method), Ok(target)) = (
            std::str::from_utf8(&self.method),
            std::str::from_utf8(&self.path),
        ) else {
            return HeaderBlock::Malformed;
        };
        let (path, query) = split_target(target);
        let mut requested = BehaviourOverride::default();
        let mut asked = requested.read(query, Unknown::Ignore);
        if !self.behaviour.is_empty() {
            let Ok(behaviour) = std::str::from_utf8(&self.behaviour) else {
                return HeaderBlock::Malformed;
            };
            asked = asked.and_then(|()| requested.read(behaviour, Unknown::Refuse));
        }
        let kind = if self.flags.grpc && method == "POST" {
            RequestKind::Grpc(Call::of(path))
        } else {
            RequestKind::Http(route(method, path, query))
        };
        if let Err(error) = &asked {
            self.behaviour_error = error.to_string();
        }
        HeaderBlock::Request(Request {
            kind,
            is_head: method == "HEAD",
            requested: asked.ok().map(|()| requested),
            content_length: self.content_length,
            timeout: self.timeout,
        })
    }
}
