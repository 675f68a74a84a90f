//! The error of each invalid frame, its scope, and the flood limits.

use super::super::error::{CodecError, ErrorCode, Scope};
use super::super::hpack::HpackError;
use super::event::{Event, Limits, StreamEnd};
use super::tests::{Decoded, after_settings, block, raw, settings, tell};

#[track_caller]
fn check_fault(frames: &[Vec<u8>], expected: CodecError, scope: Scope, code: ErrorCode) {
    let told = after_settings(frames);
    assert_eq!(told.last(), Some(&Decoded::Fault(expected)));
    assert_eq!(
        (expected.scope(), expected.code()),
        (scope, code),
        "{expected:?}"
    );
}

#[track_caller]
fn check_connection_fault(frames: &[Vec<u8>], expected: CodecError, code: ErrorCode) {
    check_fault(frames, expected, Scope::Connection, code);
}

#[test]
fn frames_of_wrong_size_or_stream_end_the_connection() {
    use ErrorCode as E;
    let size = |frame, size_bytes| CodecError::FrameSize { frame, size_bytes };
    let on = |frame, stream| CodecError::FrameOnWrongStream { frame, stream };
    let table: Vec<(Vec<u8>, CodecError, ErrorCode)> = vec![
        (
            raw(4, 0, 0, &[0; 5]),
            size("SETTINGS", 5),
            E::FRAME_SIZE_ERROR,
        ),
        (
            raw(4, 1, 0, &[0; 6]),
            size("SETTINGS", 6),
            E::FRAME_SIZE_ERROR,
        ),
        (raw(6, 0, 0, &[0; 7]), size("PING", 7), E::FRAME_SIZE_ERROR),
        (
            raw(3, 0, 1, &[0; 5]),
            size("RST_STREAM", 5),
            E::FRAME_SIZE_ERROR,
        ),
        (
            raw(8, 0, 1, &[0; 3]),
            size("WINDOW_UPDATE", 3),
            E::FRAME_SIZE_ERROR,
        ),
        (
            raw(7, 0, 0, &[0; 7]),
            size("GOAWAY", 7),
            E::FRAME_SIZE_ERROR,
        ),
        (
            raw(1, 0x24, 1, &[0; 4]),
            size("HEADERS", 4),
            E::FRAME_SIZE_ERROR,
        ),
        (raw(0, 0, 0, b"x"), on("DATA", 0), E::PROTOCOL_ERROR),
        (raw(0, 0, 2, b"x"), on("DATA", 2), E::PROTOCOL_ERROR),
        (raw(1, 4, 2, &[0x88]), on("HEADERS", 2), E::PROTOCOL_ERROR),
        (raw(4, 0, 1, &[]), on("SETTINGS", 1), E::PROTOCOL_ERROR),
        (raw(6, 0, 1, &[0; 8]), on("PING", 1), E::PROTOCOL_ERROR),
        (raw(7, 0, 1, &[0; 8]), on("GOAWAY", 1), E::PROTOCOL_ERROR),
        (
            raw(3, 0, 0, &[0; 4]),
            on("RST_STREAM", 0),
            E::PROTOCOL_ERROR,
        ),
        (raw(2, 0, 0, &[0; 5]), on("PRIORITY", 0), E::PROTOCOL_ERROR),
        (
            raw(5, 4, 1, &[0, 0, 0, 2]),
            CodecError::Push,
            E::PROTOCOL_ERROR,
        ),
        (
            raw(8, 0, 0, &[0; 4]),
            CodecError::ZeroIncrement,
            E::PROTOCOL_ERROR,
        ),
        (
            raw(0, 8, 1, &[5, 0, 0]),
            CodecError::PaddingTooLong { frame: "DATA" },
            E::PROTOCOL_ERROR,
        ),
        (
            raw(0, 8, 1, &[]),
            CodecError::PaddingTooLong { frame: "DATA" },
            E::PROTOCOL_ERROR,
        ),
        (
            raw(1, 0xc, 1, &[9, 0]),
            CodecError::PaddingTooLong { frame: "HEADERS" },
            E::PROTOCOL_ERROR,
        ),
        (
            raw(9, 4, 1, &[]),
            CodecError::StrayContinuation,
            E::PROTOCOL_ERROR,
        ),
    ];
    for (bytes, expected, code) in table {
        check_connection_fault(&[bytes], expected, code);
    }
    let large = CodecError::FrameTooLarge {
        size_bytes: 16_385,
        max_bytes: 16_384,
    };
    check_connection_fault(
        &[raw(0, 0, 1, &vec![0; 16_385])],
        large,
        E::FRAME_SIZE_ERROR,
    );
}

#[test]
fn nothing_may_interrupt_a_header_block() {
    let begun = raw(1, 0, 1, &[0x88]);
    for (frame, bytes) in [
        ("DATA", raw(0, 0, 1, b"x")),
        ("HEADERS", raw(1, 4, 1, &[])),
        ("CONTINUATION", raw(9, 4, 3, &[])),
    ] {
        let broken = CodecError::BrokenHeaderBlock { frame };
        check_connection_fault(&[begun.clone(), bytes], broken, ErrorCode::PROTOCOL_ERROR);
    }
}

#[test]
fn settings_with_impossible_values_end_the_connection() {
    let check = |setting, value, code| {
        let error = CodecError::BadSetting { setting, value };
        check_connection_fault(&[settings(&[(setting, value)])], error, code);
    };
    check(0x2, 1, ErrorCode::PROTOCOL_ERROR);
    check(0x4, 0x8000_0000, ErrorCode::FLOW_CONTROL_ERROR);
    check(0x5, 16_383, ErrorCode::PROTOCOL_ERROR);
    check(0x5, 16_777_216, ErrorCode::PROTOCOL_ERROR);
}

#[test]
fn a_wrong_priority_or_stream_window_ends_its_stream_only() {
    let told = after_settings(&[
        raw(2, 0, 3, &[0; 4]),
        raw(8, 0, 3, &[0; 4]),
        raw(0, 1, 3, &[]),
    ]);
    let fault = |error: CodecError| {
        assert_eq!(error.scope(), Scope::Stream);
        Decoded::Event(Event::StreamError { stream: 3, error })
    };
    let expected = [
        fault(CodecError::PrioritySize { size_bytes: 4 }),
        fault(CodecError::ZeroStreamIncrement),
        Decoded::Data {
            stream: 3,
            bytes: vec![],
            window_bytes: 0,
            end: StreamEnd::Last,
        },
    ];
    assert_eq!(told, expected);
}

#[test]
fn floods_of_every_kind_end_at_their_limit() {
    let limits = Limits::default();
    let flood = |frame: &'static str, max: u32, bytes: Vec<u8>| {
        let mut stream = settings(&[]);
        stream.extend(bytes.repeat(max as usize + 1));
        let told = tell(limits, [&stream[..]]);
        let error = CodecError::Flood { frame, max };
        assert_eq!(told.last(), Some(&Decoded::Fault(error)));
        assert_eq!(error.code(), ErrorCode::ENHANCE_YOUR_CALM);
        assert!(
            told.len() <= max as usize + 2,
            "{frame}: {} events",
            told.len()
        );
    };
    flood("PING", limits.reply_frames_max, raw(6, 0, 0, &[0; 8]));
    flood("SETTINGS", limits.reply_frames_max, settings(&[(4, 5)]));
    flood("RST_STREAM", limits.unproductive_max, raw(3, 0, 1, &[0; 4]));
    flood("DATA", limits.unproductive_max, raw(0, 0, 1, &[]));
    flood("PRIORITY", limits.unproductive_max, raw(2, 0, 1, &[0; 5]));
    flood("unknown", limits.unproductive_max, raw(0x42, 0, 0, &[]));
    flood("GOAWAY", limits.unproductive_max, raw(7, 0, 0, &[0; 8]));
    flood("HEADERS", limits.unproductive_max, raw(1, 4, 1, &[0x88]));
    flood(
        "WINDOW_UPDATE",
        limits.unproductive_max * 10,
        raw(8, 0, 0, &[0, 0, 0, 1]),
    );
}

#[test]
fn progress_between_them_makes_many_pings_no_flood() {
    let round = [raw(6, 0, 0, &[0; 8]).repeat(900), raw(0, 0, 1, b"x")].concat();
    let told = after_settings(&[round.repeat(3)]);
    assert_eq!(told.len(), 3 * 901);
}

#[test]
fn a_header_block_without_end_is_cut_off_by_frames_and_by_bytes() {
    let limits = Limits::default();
    let error = CodecError::BlockTooLarge {
        max_bytes: limits.block_bytes_max,
        max_frames: limits.block_frames_max,
    };
    let begun = raw(1, 0, 1, &[0x88]);
    check_connection_fault(
        &[begun.clone(), raw(9, 0, 1, &[]).repeat(64)],
        error,
        ErrorCode::ENHANCE_YOUR_CALM,
    );
    let large = raw(9, 0, 1, &[0x88; 16_000]).repeat(17);
    check_connection_fault(&[begun, large], error, ErrorCode::ENHANCE_YOUR_CALM);
}

#[test]
fn a_header_bomb_and_a_broken_block_end_the_connection() {
    let bad = CodecError::Hpack(HpackError::BadIndex { index: 70 });
    check_connection_fault(&[raw(1, 5, 1, &[0xc6])], bad, ErrorCode::COMPRESSION_ERROR);
    // One entry of 4000 bytes, then references to it.
    let mut bomb = vec![0x40, 1, b'a', 0x7f, 0xa1, 0x1e];
    bomb.extend([b'x'; 4000]);
    bomb.extend([0xbe; 10_000]);
    let error = CodecError::Hpack(HpackError::ListTooLarge {
        max_bytes: Limits::default().list.bytes_max,
    });
    check_connection_fault(&[raw(1, 5, 1, &bomb)], error, ErrorCode::ENHANCE_YOUR_CALM);
}

#[test]
fn malformed_fields_are_named_and_end_only_their_stream() {
    let fault = |fields: &[(&str, &str)]| {
        let told = after_settings(&[raw(1, 5, 1, &block(fields))]);
        let Some(&Decoded::Event(Event::InvalidHeaders { error, .. })) = told.first() else {
            panic!("{told:?}");
        };
        assert_eq!(error.scope(), Scope::Stream, "{error:?}");
        error
    };
    let status = (":status", "200");
    assert_eq!(fault(&[status, status]), CodecError::BadStatus);
    assert_eq!(fault(&[(":status", "2000")]), CodecError::BadStatus);
    assert_eq!(fault(&[(":status", "+20")]), CodecError::BadStatus);
    assert_eq!(fault(&[("date", "x"), status]), CodecError::BadPseudoHeader);
    assert_eq!(fault(&[(":path", "/")]), CodecError::BadPseudoHeader);
    assert_eq!(
        fault(&[status, ("Date", "x")]),
        CodecError::BadHeaderName { byte: b'D' }
    );
    assert_eq!(
        fault(&[status, ("a b", "x")]),
        CodecError::BadHeaderName { byte: b' ' }
    );
    assert_eq!(
        fault(&[status, ("a", "x\ny")]),
        CodecError::BadHeaderValue { byte: b'\n' }
    );
    assert_eq!(
        fault(&[status, ("a", " x")]),
        CodecError::BadHeaderValue { byte: b' ' }
    );
    assert_eq!(
        fault(&[status, ("connection", "close")]),
        CodecError::ConnectionHeader
    );
    assert_eq!(
        fault(&[status, ("transfer-encoding", "chunked")]),
        CodecError::ConnectionHeader
    );
    assert_eq!(
        fault(&[status, ("content-length", "-1")]),
        CodecError::BadContentLength
    );
    assert_eq!(
        fault(&[status, ("content-length", "99999999999999999999")]),
        CodecError::BadContentLength
    );
    assert_eq!(
        fault(&[status, ("content-length", "1"), ("content-length", "2")]),
        CodecError::BadContentLength
    );
}
