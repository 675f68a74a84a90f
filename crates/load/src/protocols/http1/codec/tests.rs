//! Responses of every form; malformed ones are in `fault_tests`.

use super::{Codec, CodecError, ContentCoding, End, Event, Head, HttpVersion, Limits, RequestKind};

use RequestKind::{Connect, Head as HeadRequest, Ordinary};

/// One event, with the slices of a body put together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Decoded {
    Head(Head),
    Body(Vec<u8>),
    End(End),
    Tunnel(Vec<u8>),
    Fault(CodecError),
}

pub(super) fn feed(codec: &mut Codec, piece: &[u8], told: &mut Vec<Decoded>) {
    for event in codec.feed(piece) {
        match (event, told.last_mut()) {
            (Ok(Event::Body(slice)), Some(Decoded::Body(body))) => body.extend_from_slice(slice),
            (Ok(Event::Tunnel(slice)), Some(Decoded::Tunnel(body))) => {
                body.extend_from_slice(slice)
            }
            (Ok(Event::Head(head)), _) => told.push(Decoded::Head(head)),
            (Ok(Event::Body(slice)), _) => told.push(Decoded::Body(slice.to_vec())),
            (Ok(Event::Tunnel(slice)), _) => told.push(Decoded::Tunnel(slice.to_vec())),
            (Ok(Event::End(end)), _) => told.push(Decoded::End(end)),
            (Err(error), _) => told.push(Decoded::Fault(error)),
        }
    }
}

/// All events of a stream that arrives in pieces and is then closed. An error ends it.
pub(super) fn tell<'a>(
    limits: Limits,
    kinds: &[RequestKind],
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> Vec<Decoded> {
    let mut codec = Codec::new(limits);
    for &kind in kinds {
        codec.begin(kind).unwrap();
    }
    let mut told = Vec::new();
    for piece in pieces {
        feed(&mut codec, piece, &mut told);
        if matches!(told.last(), Some(Decoded::Fault(_))) {
            return told;
        }
    }
    match codec.eof() {
        Ok(Some(end)) => told.push(Decoded::End(end)),
        Ok(None) => {}
        Err(error) => told.push(Decoded::Fault(error)),
    }
    told
}

/// The events of a stream in one piece; byte by byte they must be the same.
#[track_caller]
pub(super) fn both_ways(kinds: &[RequestKind], stream: &[u8]) -> Vec<Decoded> {
    let whole = tell(Limits::default(), kinds, [stream]);
    let slow = tell(Limits::default(), kinds, stream.chunks(1));
    assert_eq!(whole, slow, "one piece against byte by byte");
    whole
}

#[track_caller]
fn check_body(kind: RequestKind, stream: &str, body: &str, expected: End) {
    let told = both_ways(&[kind], stream.as_bytes());
    let bodies: Vec<u8> = told
        .iter()
        .filter_map(|told| match told {
            Decoded::Body(body) => Some(body.clone()),
            _ => None,
        })
        .flatten()
        .collect();
    assert_eq!(String::from_utf8_lossy(&bodies), body, "{stream:?}");
    assert_eq!(told.last(), Some(&Decoded::End(expected)), "{stream:?}");
}

#[track_caller]
pub(super) fn check_fault(stream: &[u8], expected: CodecError) {
    let told = both_ways(&[Ordinary], stream);
    let shown = String::from_utf8_lossy(stream);
    assert_eq!(told.last(), Some(&Decoded::Fault(expected)), "{shown:?}");
}

fn end(status: u16, body_bytes: u64) -> End {
    End {
        status,
        body_bytes,
        keep_alive: true,
        interim: 0,
    }
}

fn closing(status: u16, body_bytes: u64) -> End {
    End {
        keep_alive: false,
        ..end(status, body_bytes)
    }
}

#[test]
fn a_head_tells_status_version_persistence_and_length() {
    let told = both_ways(
        &[Ordinary],
        b"HTTP/1.0 503 Busy\r\nContent-Length: 2, 2\r\n\r\nno",
    );
    let head = Head {
        status: 503,
        version: HttpVersion::Http10,
        keep_alive: false,
        content_length: Some(2),
        coding: ContentCoding::Identity,
    };
    let expected = [
        Decoded::Head(head),
        Decoded::Body(b"no".to_vec()),
        Decoded::End(closing(503, 2)),
    ];
    assert_eq!(told, expected);
}

#[test]
fn every_way_to_end_a_body_is_understood() {
    let long = "HTTP/1.1 200 OK\r\n";
    let table: [(&str, &str, End); 18] = [
        ("Content-Length: 5\r\n\r\nhello", "hello", end(200, 5)),
        (
            "content-length:5\r\nX: y\r\n\r\nhello",
            "hello",
            end(200, 5),
        ),
        (
            "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
            "hello",
            end(200, 5),
        ),
        ("Content-Length: 0\r\n\r\n", "", end(200, 0)),
        ("Content-Length:\r\n 5\r\n\r\nhello", "hello", end(200, 5)),
        (
            "X: a\r\n\tb\r\n c\r\nContent-Length: 5,\r\n  5\r\n\r\nhello",
            "hello",
            end(200, 5),
        ),
        (
            "Content-Length: 5\r\nConnection: foo,\r\n close\r\n\r\nhello",
            "hello",
            closing(200, 5),
        ),
        (
            "Transfer-Encoding:\n chunked\r\n\r\n1\r\nx\r\n0\r\nT: a\r\n b\r\n\r\n",
            "x",
            end(200, 1),
        ),
        (
            "Content-Length: 5\r\nConnection: Foo, Close\r\n\r\nhello",
            "hello",
            closing(200, 5),
        ),
        ("\r\nuntil close", "until close", closing(200, 11)),
        ("\r\n", "", closing(200, 0)),
        (
            "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "",
            end(200, 0),
        ),
        (
            "Transfer-Encoding: Chunked\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n",
            "hello world",
            end(200, 11),
        ),
        (
            "Transfer-Encoding: chunked\r\n\r\n5;a=b;c=\"d\"\r\nhello\r\n000;x\r\n\r\n",
            "hello",
            end(200, 5),
        ),
        (
            "Transfer-Encoding: chunked\r\n\r\n0A  \r\nhellohello\r\n0\r\n\r\n",
            "hellohello",
            end(200, 10),
        ),
        (
            "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nDigest: abc\r\nX: y\r\n\r\n",
            "x",
            end(200, 1),
        ),
        (
            "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n1\r\nx\r\n0\r\n\r\n",
            "x",
            closing(200, 1),
        ),
        ("Connection: keep-alive\r\n\r\nabc", "abc", closing(200, 3)),
    ];
    for (rest, body, expected) in table {
        check_body(Ordinary, &format!("{long}{rest}"), body, expected);
    }
}

#[test]
fn http_1_0_closes_unless_it_says_keep_alive() {
    let kept = "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\nx";
    check_body(Ordinary, kept, "x", end(200, 1));
    let plain = "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx";
    check_body(Ordinary, plain, "x", closing(200, 1));
}

#[test]
fn answers_without_body_end_with_their_head() {
    for kind in [Ordinary, HeadRequest] {
        check_body(kind, "HTTP/1.1 204 No Content\r\n\r\n", "", end(204, 0));
        check_body(
            kind,
            "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n",
            "",
            end(304, 0),
        );
    }
    check_body(
        HeadRequest,
        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n",
        "",
        end(200, 0),
    );
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    check_body(HeadRequest, chunked, "", end(200, 0));
}

#[test]
fn interim_answers_are_skipped_and_counted() {
    let stream = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n\
                  HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx";
    check_body(
        Ordinary,
        stream,
        "x",
        End {
            interim: 2,
            ..end(200, 1)
        },
    );
    let endless = b"HTTP/1.1 100 Continue\r\n\r\n".repeat(65);
    check_fault(&endless, CodecError::TooManyInterim { max: 64 });
    check_fault(
        b"HTTP/1.1 101 Switching\r\n\r\n",
        CodecError::UnexpectedUpgrade,
    );
}

#[test]
fn pipelined_answers_in_one_piece_belong_to_their_requests() {
    let stream = b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na\
                   HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n\
                   HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nbc\r\n0\r\n\r\n";
    let told = both_ways(&[Ordinary, HeadRequest, Ordinary], stream);
    let ends: Vec<_> = told
        .iter()
        .filter(|told| matches!(told, Decoded::End(_)))
        .collect();
    let expected = [end(200, 1), end(200, 0), end(404, 2)].map(Decoded::End);
    assert_eq!(ends, expected.iter().collect::<Vec<_>>());
}

#[test]
fn bytes_that_no_request_asked_for_are_a_fault() {
    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx";
    check_fault(format!("{answer}y").as_bytes(), CodecError::UnexpectedBytes);
    check_fault(
        format!("{answer}{answer}").as_bytes(),
        CodecError::UnexpectedBytes,
    );
    for more in ["\r\n\r\n", "\n", "\rx", "\r\nx", "HTTP/1.1 4", "0\r\n\r\n"] {
        let stream = format!("{answer}{more}");
        check_fault(stream.as_bytes(), CodecError::UnexpectedBytes);
    }
    let last = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\nxy";
    check_fault(last.as_bytes(), CodecError::BytesAfterClose);
    let unasked = both_ways(&[], answer.as_bytes());
    assert_eq!(unasked, [Decoded::Fault(CodecError::UnexpectedBytes)]);
    let blank_between = format!("{answer}\r\n\r\n{answer}");
    let told = both_ways(&[Ordinary, Ordinary], blank_between.as_bytes());
    assert_eq!(
        told.last(),
        Some(&Decoded::Fault(CodecError::BadStatusLine))
    );
}

#[test]
fn one_line_end_behind_an_answer_belongs_to_it() {
    let answers = [
        ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", end(200, 1)),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
            end(200, 1),
        ),
        ("HTTP/1.1 204 None\r\n\r\n", end(204, 0)),
    ];
    for (answer, end) in answers {
        let told = both_ways(&[Ordinary], format!("{answer}\r\n").as_bytes());
        assert_eq!(told.last(), Some(&Decoded::End(end)), "{answer:?}");
        let twice = format!("{answer}\r\n{answer}\r\n");
        let told = both_ways(&[Ordinary, Ordinary], twice.as_bytes());
        let ends = told.iter().filter(|told| **told == Decoded::End(end));
        assert_eq!(ends.count(), 2, "{answer:?}: {told:?}");
    }
    let last = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx\r\n";
    check_body(Ordinary, last, "x", closing(200, 1));
}

#[test]
fn statuses_up_to_999_are_statuses() {
    for status in [599, 600, 999] {
        let stream = format!("HTTP/1.1 {status} Odd\r\nContent-Length: 1\r\n\r\nx");
        check_body(Ordinary, &stream, "x", end(status, 1));
    }
}

#[test]
fn a_head_may_have_a_thousand_headers_and_256_kib() {
    let many = format!(
        "HTTP/1.1 200 OK\r\n{}Content-Length: 1\r\n\r\nx",
        "A: b\r\n".repeat(999)
    );
    check_body(Ordinary, &many, "x", end(200, 1));
    let rest = "\r\nContent-Length: 1\r\n\r\n";
    let first = "HTTP/1.1 200 OK\r\nX: ";
    let long = "y".repeat(256 * 1024 - first.len() - rest.len());
    let stream = format!("{first}{long}{rest}x");
    let told = tell(Limits::default(), &[Ordinary], [stream.as_bytes()]);
    assert_eq!(told.last(), Some(&Decoded::End(end(200, 1))));
    let told = tell(
        Limits::default(),
        &[Ordinary],
        stream.as_bytes().chunks(1000),
    );
    assert_eq!(told.last(), Some(&Decoded::End(end(200, 1))));
}

#[test]
fn a_408_that_no_request_asked_for_is_the_end_of_an_idle_connection() {
    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx";
    for version in ["1.0", "1.1"] {
        let late = format!("HTTP/{version} 408 Request Time-out\r\nConnection: close\r\n\r\n");
        let told = both_ways(&[], late.as_bytes());
        assert_eq!(told, [Decoded::Fault(CodecError::IdleTimeout)]);
        check_fault(
            format!("{answer}{late}").as_bytes(),
            CodecError::IdleTimeout,
        );
        let asked = both_ways(&[Ordinary], late.as_bytes());
        assert_eq!(asked.last(), Some(&Decoded::End(closing(408, 0))));
    }
}

#[test]
fn the_location_of_the_first_redirect_and_the_coding_of_a_body_are_known() {
    let mut codec = Codec::new(Limits::default());
    let stream = b"HTTP/1.1 200 OK\r\nLocation: /no\r\nContent-Length: 0\r\n\r\n\
                   HTTP/1.1 301 Moved\r\nlocation: /a\r\nContent-Length: 0\r\n\r\n\
                   HTTP/1.1 308 Moved\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n";
    let mut told = Vec::new();
    for _ in 0..3 {
        codec.begin(Ordinary).unwrap();
    }
    feed(&mut codec, stream, &mut told);
    assert_eq!(codec.redirected_to(), Some(&b"/a"[..]));
    for (value, coding) in [
        ("gzip", ContentCoding::Gzip),
        ("X-GZIP", ContentCoding::Gzip),
        ("identity", ContentCoding::Identity),
        ("br", ContentCoding::Other),
        ("gzip, br", ContentCoding::Other),
    ] {
        let head = format!("HTTP/1.1 204 No\r\nContent-Encoding: {value}\r\n\r\n");
        let told = both_ways(&[Ordinary], head.as_bytes());
        assert!(
            matches!(&told[0], Decoded::Head(head) if head.coding == coding),
            "{value}: {told:?}"
        );
    }
}

#[test]
fn a_tunnel_passes_everything_behind_the_answer_to_connect() {
    let told = both_ways(
        &[Connect],
        b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nHTTP/9",
    );
    assert_eq!(
        told[1..],
        [
            Decoded::End(end(200, 0)),
            Decoded::Tunnel(b"HTTP/9".to_vec())
        ]
    );
    check_body(
        Connect,
        "HTTP/1.1 403 No\r\nContent-Length: 1\r\n\r\nx",
        "x",
        end(403, 1),
    );
}

#[test]
fn requests_left_waiting_behind_a_closing_answer_are_counted() {
    let stream = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let told = both_ways(&[Ordinary, Ordinary, Ordinary], stream);
    assert_eq!(
        told.last(),
        Some(&Decoded::Fault(CodecError::ClosedBeforeAnswer {
            waiting: 2
        }))
    );
    assert_eq!(
        both_ways(&[Ordinary], stream).len(),
        2,
        "an orderly close is no fault"
    );
}

#[test]
fn a_body_over_the_limit_is_refused_however_it_is_framed() {
    let limits = Limits {
        body_bytes_max: 4,
        ..Limits::default()
    };
    let fault = Decoded::Fault(CodecError::BodyTooLarge { max_bytes: 4 });
    let heads = [
        "Content-Length: 5\r\n\r\nhello",
        "Transfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n",
        "\r\nhello",
    ];
    for rest in heads {
        let stream = format!("HTTP/1.1 200 OK\r\n{rest}");
        let whole = tell(limits, &[Ordinary], [stream.as_bytes()]);
        assert_eq!(whole.last(), Some(&fault), "{rest:?}");
        let slow = tell(limits, &[Ordinary], stream.as_bytes().chunks(1));
        assert_eq!(slow.last(), Some(&fault), "{rest:?}");
    }
}

#[test]
fn a_failed_connection_repeats_its_fault_and_is_fresh_after_a_reset() {
    let mut codec = Codec::new(Limits::default());
    codec.begin(Ordinary).unwrap();
    let mut told = Vec::new();
    feed(&mut codec, b"malformed", &mut told);
    feed(
        &mut codec,
        b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        &mut told,
    );
    assert_eq!(
        told,
        [
            Decoded::Fault(CodecError::BadStatusLine),
            Decoded::Fault(CodecError::BadStatusLine)
        ]
    );
    assert_eq!(codec.eof(), Err(CodecError::BadStatusLine));
    assert!(!codec.is_reusable());
    codec.reset();
    codec.begin(Ordinary).unwrap();
    told.clear();
    feed(
        &mut codec,
        b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        &mut told,
    );
    assert_eq!(told.last(), Some(&Decoded::End(end(200, 0))));
    assert_eq!((codec.waiting(), codec.is_reusable()), (0, true));
}

#[test]
fn the_pipeline_has_a_limit() {
    let mut codec = Codec::new(Limits {
        pipeline_max: 2,
        ..Limits::default()
    });
    assert!(codec.begin(Ordinary).is_ok() && codec.begin(Ordinary).is_ok());
    assert_eq!(codec.begin(Ordinary).unwrap_err().max, 2);
}

#[test]
fn a_watched_header_is_read_from_a_head_in_pieces_too() {
    let stream = b"HTTP/1.1 200 OK\r\nTare-Timestamps: 12 34\r\nContent-Length: 0\r\n\r\n";
    for size in [1, 7, stream.len()] {
        let mut codec = Codec::new(Limits::default());
        codec.watch("tare-timestamps");
        codec.begin(Ordinary).unwrap();
        let mut seen = Vec::new();
        for piece in stream.chunks(size) {
            let mut feed = codec.feed(piece);
            while let Some(event) = feed.next() {
                if let Ok(Event::Head(_)) = event {
                    seen = feed.watched().to_vec();
                }
            }
        }
        assert_eq!(seen, b"12 34");
    }
}

#[test]
fn a_folded_header_is_kept_on_one_line() {
    let mut codec = Codec::new(Limits::default());
    codec.watch("x");
    codec.begin(Ordinary).unwrap();
    let mut feed = codec.feed(b"HTTP/1.1 204 OK\r\nX: a\r\n b\r\n\r\n");
    assert!(matches!(feed.next(), Some(Ok(Event::Head(_)))));
    assert_eq!(feed.watched(), b"a   b");
}
