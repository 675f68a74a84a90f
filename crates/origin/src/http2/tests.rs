//! The state machine, fed by hand: exchanges, flow control, faults, floods, any split.

mod calls;
mod rig;

use proptest::prelude::*;
use tare_http2_frames::ErrorCode;
use tare_http2_frames::frame::{self, END_STREAM, Kind};

use super::STREAM_WINDOW_BYTES;
use crate::body::expected_body;
use crate::protocol::Next;
use rig::{Rig, frame_of, greeting, headers, request};

#[test]
fn a_request_is_answered_with_its_size_and_the_end() {
    let mut rig = Rig::new(&[]);
    rig.send(&greeting());
    rig.send(&request(1, "/?size=30"));
    let answer = rig.answer(1);
    assert_eq!(answer.field(":status"), Some("200"));
    assert_eq!(answer.field("content-length"), Some("30"));
    assert_eq!(answer.body, expected_body(30));
    assert!(answer.ended);
    assert_eq!(rig.open(), 0);
}

#[test]
fn an_echo_comes_back_with_padding_taken_off_and_trailers_ignored() {
    let mut rig = Rig::new(&[]);
    rig.send(&greeting());
    rig.send(&headers(1, &[(":method", "POST"), (":path", "/echo")], 0));
    rig.send(&frame_of(Kind::Data, frame::PADDED, 1, b"\x02abc\0\0"));
    rig.send(&frame_of(Kind::Data, 0, 1, b"def"));
    rig.send(&headers(1, &[("x-trailer", "1")], END_STREAM));
    assert_eq!(rig.answer(1).body, b"abcdef");
    assert!(rig.answer(1).ended);
}

#[test]
fn frames_on_a_closed_stream_are_errors_unless_they_may_have_been_under_way() {
    let data = |stream| frame_of(Kind::Data, END_STREAM, stream, b"x");
    let reset = |stream| frame_of(Kind::RstStream, 0, stream, &[0, 0, 0, 8]);
    let after = |begin: &[Vec<u8>], late: Vec<u8>| {
        let mut rig = Rig::new(&[]);
        rig.send(&greeting());
        rig.send(&begin.concat());
        rig.send(&late);
        let answer = rig.answers.get(&1).and_then(|answer| answer.reset);
        (answer, rig.goaway().map(|(_, code)| code))
    };
    let closed = Some(ErrorCode::STREAM_CLOSED);
    let ended = [request(1, "/")];
    assert_eq!(after(&ended, data(1)), (None, closed));
    assert_eq!(after(&ended, request(1, "/")), (None, closed));
    assert_eq!(after(&ended, reset(1)), (None, None));
    let cut = [
        headers(1, &[(":method", "POST"), (":path", "/x")], 0),
        reset(1),
    ];
    assert_eq!(after(&cut, data(1)), (closed, None));
    assert_eq!(after(&cut, request(1, "/")), (closed, None));
    let wrong = [headers(1, &[(":path", "/x")], 0)];
    let malformed = Some(ErrorCode::PROTOCOL_ERROR);
    assert_eq!(after(&wrong, data(1)), (malformed, None), "under way");
    assert_eq!(after(&[request(5, "/")], request(3, "/")).1, malformed);
    assert_eq!(after(&[request(5, "/")], data(3)).1, malformed);
}

#[test]
fn a_stream_that_depends_on_itself_is_an_error() {
    let itself = [0, 0, 0, 1, 0];
    let mut rig = Rig::new(&[]);
    rig.send(&greeting());
    rig.send(&frame_of(Kind::Priority, 0, 1, &[0, 0, 0, 3, 0]));
    assert_eq!(rig.goaway(), None);
    rig.send(&frame_of(Kind::Priority, 0, 1, &itself));
    let code = rig.goaway().map(|(_, code)| code);
    assert_eq!(code, Some(ErrorCode::PROTOCOL_ERROR));
    let mut rig = Rig::new(&[]);
    rig.send(&greeting());
    let whole = request(1, "/");
    let block = [&itself[..], &whole[frame::FRAME_HEADER_BYTES..]].concat();
    let flags = END_STREAM | frame::END_HEADERS | frame::PRIORITY;
    rig.send(&frame_of(Kind::Headers, flags, 1, &block));
    assert_eq!(rig.answer(1).reset, Some(ErrorCode::PROTOCOL_ERROR));
    rig.send(&request(3, "/?size=1"));
    assert_eq!(rig.answer(3).body.len(), 1, "the connection goes on");
}

#[test]
fn answers_go_no_further_than_the_windows_and_on_when_they_open() {
    let mut rig = Rig::new(&[]);
    let mut out = frame::PREFACE.to_vec();
    frame::write_settings(&mut out, &[(frame::SETTINGS_INITIAL_WINDOW_SIZE, 10)]);
    rig.send(&out);
    rig.send(&request(1, "/?size=100000"));
    assert_eq!(rig.answer(1).body.len(), 10);
    rig.window(1, 100_000);
    assert_eq!(rig.answer(1).body.len(), 65_535, "the connection's window");
    rig.send(&request(3, "/?size=5"));
    assert_eq!(rig.answer(3).body.len(), 0);
    assert_eq!(
        rig.answer(3).field("content-length"),
        Some("5"),
        "heads need no window"
    );
    rig.window(0, 1_000_000);
    assert_eq!(rig.answer(1).body, expected_body(100_000));
    assert!(rig.answer(1).ended);
    assert_eq!(rig.answer(3).body, expected_body(5));
    let mut settings = Vec::new();
    frame::write_settings(&mut settings, &[(frame::SETTINGS_INITIAL_WINDOW_SIZE, 0)]);
    rig.send(&settings);
    rig.send(&request(5, "/?size=7"));
    assert!(rig.answer(5).body.is_empty());
    let mut settings = Vec::new();
    frame::write_settings(&mut settings, &[(frame::SETTINGS_INITIAL_WINDOW_SIZE, 7)]);
    rig.send(&settings);
    assert_eq!(rig.answer(5).body, expected_body(7));
}

#[test]
fn a_long_upload_is_given_new_windows() {
    let mut rig = Rig::new(&[]);
    rig.send(&greeting());
    rig.send(&headers(1, &[(":method", "POST"), (":path", "/x")], 0));
    let piece = vec![0; 16_384];
    for _ in 0..200 {
        rig.send(&frame_of(Kind::Data, 0, 1, &piece));
    }
    rig.send(&frame_of(Kind::Data, END_STREAM, 1, b""));
    assert!(rig.answer(1).ended);
    assert!(rig.credited(1) >= 200 * 16_384 - STREAM_WINDOW_BYTES);
}

#[test]
fn behaviours_close_reset_and_head_do_what_they_do_in_http_1() {
    let mut rig = Rig::new(&[]);
    rig.send(&greeting());
    rig.send(&headers(
        1,
        &[(":method", "HEAD"), (":path", "/?size=9")],
        END_STREAM,
    ));
    let head = rig.answer(1);
    assert_eq!(
        (head.field("content-length"), head.body.len()),
        (Some("9"), 0)
    );
    assert!(head.ended);
    rig.send(&request(3, "/?reset"));
    assert_eq!(rig.answer(3).reset, Some(ErrorCode::INTERNAL_ERROR));
    rig.send(&request(5, "/?status=503&body=chunked&size=3"));
    let failed = rig.answer(5);
    assert_eq!(failed.field(":status"), Some("503"));
    assert_eq!(failed.field("content-length"), None);
    rig.send(&request(7, "/?timestamps"));
    let timestamps = rig.answer(7);
    let times: Vec<&str> = timestamps
        .field("tare-timestamps")
        .unwrap()
        .split(' ')
        .collect();
    assert_eq!(times[0], "77");
    assert!(times[1].parse::<u64>().unwrap() > 1_000_000_000);
    let wrong = ("tare-behaviour", "sise=3");
    rig.send(&headers(
        9,
        &[(":method", "GET"), (":path", "/"), wrong],
        END_STREAM,
    ));
    let refused = rig.answer(9);
    assert_eq!(refused.field(":status"), Some("400"));
    assert!(String::from_utf8(refused.body).unwrap().contains("sise"));
    assert_eq!(rig.send(&request(11, "/?close&size=1")), Next::Close);
    assert_eq!(rig.answer(11).body, b"a");
    assert_eq!(rig.goaway(), Some((11, ErrorCode::NO_ERROR)));
}

#[test]
fn a_delayed_answer_waits_alone() {
    let mut rig = Rig::new(&[]);
    rig.send(&greeting());
    let Next::Serve(serve) = rig.send(&request(1, "/?delay=1ms")) else {
        panic!("it goes on");
    };
    assert!(!serve.has_more);
    rig.send(&request(3, "/"));
    assert!(rig.answer(3).ended && !rig.answer(1).ended);
    rig.wait_until(serve.wake_ns.unwrap());
    assert!(rig.answer(1).ended);
}

#[test]
fn more_streams_than_allowed_are_refused_and_the_others_go_on() {
    let mut rig = Rig::new(&[]);
    rig.service.limits.streams_max = 2;
    rig.send(&greeting());
    for id in [1, 3, 5] {
        rig.send(&headers(id, &[(":method", "POST"), (":path", "/")], 0));
    }
    assert_eq!(rig.answer(5).reset, Some(ErrorCode::REFUSED_STREAM));
    rig.send(&frame_of(Kind::Data, END_STREAM, 1, b""));
    assert!(rig.answer(1).ended);
}

#[test]
fn every_fault_of_a_client_ends_its_stream_or_the_connection_with_the_right_code() {
    use ErrorCode as E;
    let post = headers(1, &[(":method", "POST"), (":path", "/")], 0);
    let cases: Vec<(&str, Vec<u8>, E)> = vec![
        (
            "DATA on an idle stream",
            frame_of(Kind::Data, 0, 1, b"x"),
            E::PROTOCOL_ERROR,
        ),
        ("an even stream", request(2, "/"), E::PROTOCOL_ERROR),
        (
            "stray CONTINUATION",
            frame_of(Kind::Continuation, 4, 1, b""),
            E::PROTOCOL_ERROR,
        ),
        (
            "a block cut short",
            frame_of(Kind::Headers, 4, 1, b"\x40"),
            E::COMPRESSION_ERROR,
        ),
        (
            "PING of 7 bytes",
            frame_of(Kind::Ping, 0, 0, &[0; 7]),
            E::FRAME_SIZE_ERROR,
        ),
        (
            "a frame too large",
            frame_of(Kind::Data, 0, 1, &[0; 16_385]),
            E::FRAME_SIZE_ERROR,
        ),
        (
            "a zero window",
            frame_of(Kind::WindowUpdate, 0, 0, &[0; 4]),
            E::PROTOCOL_ERROR,
        ),
        (
            "a window too wide",
            frame_of(Kind::WindowUpdate, 0, 0, &[0x7f, 0xff, 0xff, 0xff]),
            E::FLOW_CONTROL_ERROR,
        ),
        (
            "padding longer than its frame",
            [
                post.clone(),
                frame_of(Kind::Data, frame::PADDED, 1, &[9, 0]),
            ]
            .concat(),
            E::PROTOCOL_ERROR,
        ),
        (
            "something within a header block",
            [
                frame_of(Kind::Headers, 0, 1, &[0x82]),
                frame_of(Kind::Ping, 0, 0, &[0; 8]),
            ]
            .concat(),
            E::PROTOCOL_ERROR,
        ),
        (
            "PUSH_PROMISE",
            frame_of(Kind::PushPromise, 4, 1, &[0; 4]),
            E::PROTOCOL_ERROR,
        ),
    ];
    for (name, bytes, code) in cases {
        let mut rig = Rig::new(&[]);
        rig.send(&greeting());
        assert_eq!(rig.send(&bytes), Next::Close, "{name}");
        assert_eq!(rig.goaway().map(|(_, code)| code), Some(code), "{name}");
    }
    let mut rig = Rig::new(&[]);
    assert_eq!(rig.send(b"GET / HTTP/1.1\r\n"), Next::Close);
    let streams: Vec<(&str, Vec<u8>, E)> = vec![
        (
            "no path",
            headers(1, &[(":method", "GET")], END_STREAM),
            E::PROTOCOL_ERROR,
        ),
        (
            "an upper-case name",
            headers(
                1,
                &[(":method", "GET"), (":path", "/"), ("X", "1")],
                END_STREAM,
            ),
            E::PROTOCOL_ERROR,
        ),
        (
            "a field of the connection",
            headers(
                1,
                &[(":method", "GET"), (":path", "/"), ("connection", "close")],
                END_STREAM,
            ),
            E::PROTOCOL_ERROR,
        ),
        (
            "a body shorter than stated",
            headers(
                1,
                &[(":method", "POST"), (":path", "/"), ("content-length", "4")],
                END_STREAM,
            ),
            E::PROTOCOL_ERROR,
        ),
        (
            "a window of zero for a stream",
            [post.clone(), frame_of(Kind::WindowUpdate, 0, 1, &[0; 4])].concat(),
            E::PROTOCOL_ERROR,
        ),
    ];
    for (name, bytes, code) in streams {
        let mut rig = Rig::new(&[]);
        rig.send(&greeting());
        rig.send(&bytes);
        assert_eq!(rig.answer(1).reset, Some(code), "{name}");
        rig.send(&request(3, "/"));
        assert!(rig.answer(3).ended, "{name}: the connection goes on");
    }
}

#[test]
fn a_request_with_more_fields_than_any_ends_the_connection() {
    let with = |count: usize| {
        let mut fields = vec![(":method", "GET"), (":path", "/")];
        fields.resize(count - 1, ("a", "b"));
        let mut rig = Rig::new(&[]);
        rig.send(&greeting());
        // The scheme is added.
        rig.send(&headers(1, &fields, END_STREAM));
        rig.goaway().map(|(_, code)| code)
    };
    assert_eq!(with(256), None);
    assert_eq!(with(257), Some(ErrorCode::ENHANCE_YOUR_CALM));
}

#[test]
fn floods_end_the_connection_and_a_long_download_is_none() {
    let ping = frame_of(Kind::Ping, 0, 0, &[0; 8]);
    let empty = frame_of(Kind::Data, 0, 1, b"");
    let open = |id| headers(id, &[(":method", "POST"), (":path", "/")], 0);
    let flood = |bytes: &dyn Fn(u32) -> Vec<u8>, most: u32| {
        let mut rig = Rig::new(&[]);
        rig.send(&greeting());
        rig.send(&open(1));
        let ended = (1..=most).any(|round| rig.send(&bytes(round)) == Next::Close);
        assert!(ended, "no end after {most}");
        assert_eq!(rig.goaway().unwrap().1, ErrorCode::ENHANCE_YOUR_CALM);
    };
    flood(&|_| ping.clone(), 1001);
    flood(&|_| empty.clone(), 10_001);
    let resets = |round| {
        let id = 2 * round + 1;
        [open(id), frame_of(Kind::RstStream, 0, id, &[0, 0, 0, 8])].concat()
    };
    flood(&resets, 1001);
    let first = frame_of(Kind::Headers, 0, 3, &[]);
    let endless = move |round| match round {
        1 => first.clone(),
        _ => frame_of(Kind::Continuation, 0, 3, &[]),
    };
    flood(&endless, 70);
    let mut rig = Rig::new(&[]);
    rig.send(&greeting());
    rig.send(&request(1, "/?size=100000000"));
    for _ in 0..12_000 {
        rig.window(1, 4000);
        assert_ne!(rig.window(0, 4000), Next::Close);
        rig.answers.clear();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_split_of_the_bytes_gives_the_same_answers(cuts in prop::collection::vec(1_usize..80, 1..40)) {
        let conversation = [
            greeting(),
            request(1, "/?size=70"),
            headers(3, &[(":method", "POST"), (":path", "/echo")], 0),
            frame_of(Kind::Data, frame::PADDED, 3, b"\x03abc\0\0\0"),
            frame_of(Kind::Ping, 0, 0, &[1; 8]),
            calls::unary(5, &calls::echo_request(b"payload", 0, 0, 0)),
            frame_of(Kind::Data, END_STREAM, 3, b"d"),
            headers(7, &[(":method", "GET")], END_STREAM),
            request(9, "/?status=404"),
        ]
        .concat();
        let mut whole = Rig::new(&[]);
        whole.send(&conversation);
        let mut split = Rig::new(&[]);
        let mut rest = &conversation[..];
        for cut in cuts.iter().cycle() {
            let (piece, behind) = rest.split_at((*cut).min(rest.len()));
            split.send(piece);
            rest = behind;
            if rest.is_empty() {
                break;
            }
        }
        prop_assert_eq!(&whole.answers, &split.answers);
        prop_assert_eq!(whole.answers.len(), 5);
    }

    #[test]
    fn malformed_input_behind_a_greeting_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let mut rig = Rig::new(&[]);
        rig.send(&greeting());
        rig.send(&bytes);
    }

    #[test]
    fn frames_of_malformed_input_never_panic(frames in prop::collection::vec(
        (0_u8..11, any::<u8>(), 0_u32..8, prop::collection::vec(any::<u8>(), 0..40)), 0..30)
    ) {
        let mut rig = Rig::new(&[]);
        rig.send(&greeting());
        for (kind, flags, stream, payload) in frames {
            let mut bytes = Vec::new();
            frame::write_head(&mut bytes, payload.len(), Kind::Unknown, flags, stream);
            bytes[3] = kind;
            bytes.extend_from_slice(&payload);
            if rig.send(&bytes) == Next::Close {
                break;
            }
        }
    }
}
