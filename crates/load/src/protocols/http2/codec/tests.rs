//! Events of valid frames; invalid ones are in `fault_tests`.

use super::super::error::{CodecError, ErrorCode};
use super::super::hpack::Encoder;
use super::event::{Event, Limits, SettingsChange, StreamEnd};
use super::section::{ContentType, FieldSection, GrpcStatus};
use super::{Codec, frame};

/// One event, with the slices of a stream's data put together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Decoded {
    Event(Event<'static>),
    Data {
        stream: u32,
        bytes: Vec<u8>,
        window_bytes: u32,
        end: StreamEnd,
    },
    Fault(CodecError),
}

fn tell_one(event: Event<'_>, told: &mut Vec<Decoded>) {
    let event = match event {
        Event::Data {
            stream,
            slice,
            window_bytes,
            end,
        } => {
            if let Some(Decoded::Data {
                stream: last,
                bytes,
                window_bytes: sum,
                end: last_end,
            }) = told.last_mut()
                && (*last, *last_end) == (stream, StreamEnd::Open)
            {
                bytes.extend_from_slice(slice);
                *sum += window_bytes;
                *last_end = end;
                return;
            }
            told.push(Decoded::Data {
                stream,
                bytes: slice.to_vec(),
                window_bytes,
                end,
            });
            return;
        }
        Event::Settings(change) => Event::Settings(change),
        Event::SettingsAck => Event::SettingsAck,
        Event::InvalidHeaders { stream, error } => Event::InvalidHeaders { stream, error },
        Event::Headers {
            stream,
            end,
            section,
        } => Event::Headers {
            stream,
            end,
            section,
        },
        Event::Reset { stream, code } => Event::Reset { stream, code },
        Event::Ping(payload) => Event::Ping(payload),
        Event::GoAway { last_stream, code } => Event::GoAway { last_stream, code },
        Event::WindowUpdate { stream, increment } => Event::WindowUpdate { stream, increment },
        Event::StreamError { stream, error } => Event::StreamError { stream, error },
    };
    told.push(Decoded::Event(event));
}

/// All events of bytes that arrive in pieces. An error ends them.
pub(crate) fn tell<'a>(limits: Limits, pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Decoded> {
    let mut codec = Codec::new(limits);
    let mut told = Vec::new();
    for piece in pieces {
        let mut input = piece;
        loop {
            match codec.next(&mut input) {
                Ok(Some(event)) => tell_one(event, &mut told),
                Ok(None) => break,
                Err(error) => {
                    told.push(Decoded::Fault(error));
                    return told;
                }
            }
        }
        assert!(
            input.is_empty(),
            "input is left although more was asked for"
        );
    }
    told
}

pub(crate) fn raw(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let [_, a, b, c] = (payload.len() as u32).to_be_bytes();
    let mut frame = vec![a, b, c, kind, flags];
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

pub(crate) fn settings(entries: &[(u16, u32)]) -> Vec<u8> {
    let mut out = Vec::new();
    frame::write_settings(&mut out, entries);
    out
}

pub(crate) fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut encoder = Encoder::default();
    for (name, value) in fields {
        encoder.field(name.as_bytes(), value.as_bytes());
    }
    encoder.finish()
}

/// The events after a first SETTINGS, in one piece; byte by byte they must be the same.
#[track_caller]
pub(super) fn after_settings(frames: &[Vec<u8>]) -> Vec<Decoded> {
    let mut stream = settings(&[]);
    stream.extend(frames.concat());
    let whole = tell(Limits::default(), [&stream[..]]);
    assert_eq!(
        tell(Limits::default(), stream.chunks(1)),
        whole,
        "one piece against byte by byte"
    );
    whole[1..].to_vec()
}

fn head(stream: u32, end: StreamEnd, section: FieldSection) -> Decoded {
    Decoded::Event(Event::Headers {
        stream,
        end,
        section,
    })
}

fn ok() -> FieldSection {
    FieldSection {
        status: Some(200),
        ..FieldSection::default()
    }
}

#[test]
fn an_answer_comes_as_head_data_and_trailers_whatever_padding_and_continuations() {
    let fields = block(&[
        (":status", "200"),
        ("content-type", "application/grpc+proto"),
        ("content-length", "5"),
    ]);
    let (a, b) = fields.split_at(7);
    let padded = [&[3u8][..], &[0, 0, 0, 0, 16], a, &[0; 3]].concat();
    let trailers = block(&[("grpc-status", "14"), ("grpc-message", "busy")]);
    let told = after_settings(&[
        raw(1, 0x28, 1, &padded),
        raw(9, 0, 1, &[]),
        raw(9, 4, 1, b),
        raw(0, 8, 1, b"\x02he\0\0"),
        raw(0, 0, 1, b"llo"),
        raw(0xfa, 0xff, 1, b"ignored"),
        raw(2, 0, 1, &[0; 5]),
        raw(1, 5, 1, &trailers),
    ]);
    let section = FieldSection {
        content_length: Some(5),
        content_type: ContentType::Grpc,
        ..ok()
    };
    let end = FieldSection {
        grpc_status: GrpcStatus::Code(14),
        ..FieldSection::default()
    };
    let expected = [
        head(1, StreamEnd::Open, section),
        Decoded::Data {
            stream: 1,
            bytes: b"hello".to_vec(),
            window_bytes: 8,
            end: StreamEnd::Open,
        },
        head(1, StreamEnd::Last, end),
    ];
    assert_eq!(told, expected);
}

#[test]
fn frames_of_the_connection_are_told_as_they_are() {
    let goaway = [&7u32.to_be_bytes()[..], &11u32.to_be_bytes(), b"debug"].concat();
    let told = after_settings(&[
        settings(&[(1, 100), (1, 4096), (3, 8), (4, 0), (5, 16_384), (0x99, 1)]),
        raw(4, 1, 0, &[]),
        raw(6, 0, 0, b"12345678"),
        raw(6, 1, 0, b"12345678"),
        raw(8, 0, 0, &[0x80, 0, 0, 9]),
        raw(3, 0, 5, &8u32.to_be_bytes()),
        raw(7, 0, 0, &goaway),
        raw(0, 1, 9, &[]),
    ]);
    let change = SettingsChange {
        header_table_bytes: Some(100),
        streams_max: Some(8),
        initial_window_bytes: Some(0),
        frame_bytes_max: Some(16_384),
    };
    let expected = [
        Decoded::Event(Event::Settings(change)),
        Decoded::Event(Event::SettingsAck),
        Decoded::Event(Event::Ping(*b"12345678")),
        Decoded::Event(Event::WindowUpdate {
            stream: 0,
            increment: 9,
        }),
        Decoded::Event(Event::Reset {
            stream: 5,
            code: ErrorCode::CANCEL,
        }),
        Decoded::Event(Event::GoAway {
            last_stream: 7,
            code: ErrorCode::ENHANCE_YOUR_CALM,
        }),
        Decoded::Data {
            stream: 9,
            bytes: vec![],
            window_bytes: 0,
            end: StreamEnd::Last,
        },
    ];
    assert_eq!(told, expected);
}

#[test]
fn a_server_that_speaks_something_else_is_told_by_its_first_bytes() {
    let first = |bytes: &[u8]| tell(Limits::default(), [bytes]).pop();
    let http1 = first(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    assert_eq!(http1, Some(Decoded::Fault(CodecError::SpeaksHttp1)));
    let ssh = first(b"SSH-2.0-OpenSSH_9.2\r\n");
    assert_eq!(ssh, Some(Decoded::Fault(CodecError::NoSettingsFirst)));
    let ack = first(&raw(4, 1, 0, &[]));
    assert_eq!(ack, Some(Decoded::Fault(CodecError::NoSettingsFirst)));
    assert_eq!(
        first(&raw(6, 0, 0, &[0; 8])),
        Some(Decoded::Fault(CodecError::NoSettingsFirst))
    );
}

#[test]
fn an_equal_block_is_read_anew_once_the_table_has_changed() {
    let insert = |value: &str| {
        let mut block = vec![0x88, 0x40, 14];
        block.extend(b"content-length");
        block.push(value.len() as u8);
        block.extend(value.as_bytes());
        raw(1, 5, 1, &block)
    };
    // 0xbe is the newest entry: another one after each insert, though the block is byte for byte the same.
    let refer = raw(1, 5, 1, &[0x88, 0xbe]);
    let told = after_settings(&[
        insert("1"),
        refer.clone(),
        refer.clone(),
        insert("2"),
        refer.clone(),
        refer,
    ]);
    let lengths: Vec<Option<u64>> = told
        .iter()
        .map(|told| match told {
            Decoded::Event(Event::Headers { section, .. }) => section.content_length,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(lengths, [1, 1, 1, 2, 2, 2].map(Some));
}
