//! Every malformation that a server can send has a name.

use super::CodecError;
use super::tests::check_fault;

#[test]
fn malformed_heads_are_named() {
    let big = format!("HTTP/1.1 200 OK\r\nX: {}", "y".repeat(256 * 1024));
    let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "A: b\r\n".repeat(1001));
    let ok = "HTTP/1.1 200 OK\r\n";
    let table: Vec<(String, CodecError)> = vec![
        ("rubbish\r\n\r\n".into(), CodecError::BadStatusLine),
        ("Hello\r\n\r\n".into(), CodecError::BadStatusLine),
        (
            "\r\nHTTP/1.1 200 OK\r\n\r\n".into(),
            CodecError::BadStatusLine,
        ),
        ("HTTP/1.1 2x0 OK\r\n\r\n".into(), CodecError::BadStatusLine),
        ("HTTP/2.0 200 OK\r\n\r\n".into(), CodecError::BadVersion),
        (
            "HTTP/1.1 099 OK\r\n\r\n".into(),
            CodecError::BadStatus { status: 99 },
        ),
        (format!("{ok} A: b\r\n\r\n"), CodecError::SpaceBeforeHeaders),
        (
            format!("{ok}A b: c\r\n\r\n"),
            CodecError::BadHeaderName { byte: b' ' },
        ),
        (
            format!("{ok}Content-Length : 5\r\n\r\nhello"),
            CodecError::BadHeaderName { byte: b' ' },
        ),
        (
            format!("{ok}A: b\u{1}c\r\n\r\n"),
            CodecError::BadHeaderValue { byte: 1 },
        ),
        (format!("{ok}A: b\0c\r\n\r\n"), CodecError::NulInHead),
        (format!("{ok}A\0: bc\r\n\r\n"), CodecError::NulInHead),
        (format!("{ok}A: b\rc: d\r\n\r\n"), CodecError::BadNewLine),
        (many, CodecError::TooManyHeaders { max: 1000 }),
        (
            big,
            CodecError::HeadTooLarge {
                max_bytes: 256 * 1024,
            },
        ),
    ];
    for (stream, expected) in table {
        check_fault(stream.as_bytes(), expected);
    }
}

#[test]
fn framing_that_contradicts_itself_is_refused() {
    let both = "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n";
    let table = [
        ("Content-Length: +5\r\n", CodecError::BadContentLength),
        ("Content-Length: -1\r\n", CodecError::BadContentLength),
        ("Content-Length: 0x5\r\n", CodecError::BadContentLength),
        ("Content-Length:\r\n", CodecError::BadContentLength),
        ("Content-Length: 5,\r\n", CodecError::BadContentLength),
        (
            "Content-Length: 99999999999999999999\r\n",
            CodecError::BadContentLength,
        ),
        (
            "Content-Length: 5\r\nContent-Length: 6\r\n",
            CodecError::ConflictingContentLength,
        ),
        (
            "Content-Length: 5, 6\r\n",
            CodecError::ConflictingContentLength,
        ),
        (both, CodecError::LengthAndTransferEncoding),
        (
            "Transfer-Encoding: gzip, chunked\r\n",
            CodecError::UnsupportedTransferCoding,
        ),
        (
            "Transfer-Encoding: identity\r\n",
            CodecError::UnsupportedTransferCoding,
        ),
        (
            "Transfer-Encoding: xchunked\r\n",
            CodecError::UnsupportedTransferCoding,
        ),
        (
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
            CodecError::UnsupportedTransferCoding,
        ),
    ];
    for (headers, expected) in table {
        check_fault(
            format!("HTTP/1.1 200 OK\r\n{headers}\r\nhello").as_bytes(),
            expected,
        );
    }
    let old = b"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    check_fault(old, CodecError::TransferEncodingInHttp10);
}

#[test]
fn malformed_chunks_are_named() {
    let padding = format!("5;{}\r\n", "x".repeat(16 * 1024));
    let zeros = "0".repeat(17 * 1024);
    let trailers = format!("0\r\nA: {}", "b".repeat(256 * 1024));
    let full = CodecError::ChunkLinesTooLong {
        max_bytes: 16 * 1024,
    };
    let table: [(&str, CodecError); 16] = [
        ("\r\n", CodecError::BadChunkSize { byte: b'\r' }),
        ("g\r\n", CodecError::BadChunkSize { byte: b'g' }),
        ("-1\r\n", CodecError::BadChunkSize { byte: b'-' }),
        ("0x5\r\nhello\r\n", CodecError::BadChunkSize { byte: b'x' }),
        ("5 5\r\n", CodecError::BadChunkSize { byte: b'5' }),
        ("5\nhello\r\n", CodecError::BadChunkSize { byte: b'\n' }),
        ("5\rhello", CodecError::BadChunkSize { byte: b'h' }),
        ("5;a\nb\r\n", CodecError::BadChunkExtension { byte: b'\n' }),
        ("10000000000000000\r\n", CodecError::ChunkSizeOverflow),
        (
            "ffffffffffffffff\r\nxy",
            CodecError::ClosedInBody { body_bytes: 2 },
        ),
        ("5\r\nhelloX", CodecError::BadChunkEnd { byte: b'X' }),
        ("5\r\nhello\rX", CodecError::BadChunkEnd { byte: b'X' }),
        (&padding, full),
        (&zeros, full),
        ("0\r\nbad trailer\r\n\r\n", CodecError::BadTrailer),
        (
            &trailers,
            CodecError::TrailersTooLarge {
                max_bytes: 256 * 1024,
            },
        ),
    ];
    for (body, expected) in table {
        let stream = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{body}");
        check_fault(stream.as_bytes(), expected);
    }
}

#[test]
fn a_close_in_the_middle_is_a_fault_that_says_where() {
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let table = [
        (String::new(), CodecError::ClosedBeforeAnswer { waiting: 1 }),
        (
            "HTTP/1.1 100 Continue\r\n\r\n".into(),
            CodecError::ClosedBeforeAnswer { waiting: 1 },
        ),
        ("HTT".into(), CodecError::ClosedInHead),
        (
            "HTTP/1.1 200 OK\r\nA: b\r\n".into(),
            CodecError::ClosedInHead,
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell".into(),
            CodecError::ClosedInBody { body_bytes: 4 },
        ),
        (
            format!("{chunked}5\r\nhello"),
            CodecError::ClosedInBody { body_bytes: 5 },
        ),
        (
            format!("{chunked}5\r\nhello\r\n0\r\n"),
            CodecError::ClosedInBody { body_bytes: 5 },
        ),
        (
            format!("{chunked}0\r\nA: b\r\n"),
            CodecError::ClosedInBody { body_bytes: 0 },
        ),
    ];
    for (stream, expected) in table {
        check_fault(stream.as_bytes(), expected);
    }
}
