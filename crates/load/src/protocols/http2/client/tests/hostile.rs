//! Servers that break the protocol: which error they get, and limits on what they can make the client do.

use super::super::super::codec::Limits;
use super::super::super::codec::tests::{block, raw, settings};
use super::rig::{
    Kernel, MS, ONE, Rig, TIMEOUT_NS, ends, goaway, head, last_data, ok, reset, window,
};
use crate::client::{Client, Closed, REPLY_BYTES_MAX};

/// With two exchanges under way, these bytes must end the connection with the code and both exchanges as malformed, and the
/// next connection must work.
#[track_caller]
fn check_connection(bytes: &[u8], code: u8, example: &str) {
    let mut rig = Rig::greeted(&[]);
    rig.due(0);
    rig.due(1);
    rig.sent(0);
    rig.arrives(0, &[window(3, 5), bytes.to_vec()].concat());
    assert_eq!(rig.ends(), ends(&[(0, "malformed"), (1, "malformed")]));
    assert!(
        rig.last().example.contains(example),
        "{:?} has no {example:?}",
        rig.last().example
    );
    rig.pass(20 * MS);
    assert_eq!(rig.net.connects, 2);
    rig.greet(0, &[]);
    rig.due(0);
    rig.arrives(0, &ok(1));
    assert_eq!(rig.last().class(), "ok");
    // Again without a replacement, to see the GOAWAY that is sent before the connection is closed.
    let mut told = Rig::greeted(&[]);
    told.due(0);
    told.due(1);
    told.sent(0);
    told.client.scheduler.pause(&mut told.net);
    told.arrives(0, bytes);
    let last = told.sent(0).pop().unwrap();
    assert_eq!(
        (last.kind, last.payload[7]),
        (7, code),
        "GOAWAY with its code"
    );
    assert!(!told.net.open[0]);
}

#[test]
fn what_breaks_a_connection_ends_every_exchange_on_it_and_only_those() {
    check_connection(&raw(0, 0, 9, b"x"), 1, "never opened");
    check_connection(&raw(1, 5, 9, &[0x88]), 1, "never opened");
    check_connection(&reset(9, 8), 1, "never opened");
    check_connection(&window(9, 8), 1, "never opened");
    check_connection(&raw(5, 4, 1, &[0, 0, 0, 2]), 1, "pushes");
    check_connection(
        &raw(1, 5, 1, &[0xff, 0xff, 0xff, 0xff, 0xff]),
        9,
        "too large",
    );
    check_connection(&settings(&[(2, 1)]), 1, "setting 0x2");
    check_connection(&[goaway(3, 0), goaway(5, 0)].concat(), 1, "second GOAWAY");
    check_connection(&raw(6, 0, 0, &[0; 8]).repeat(2_000), 11, "PING");
    check_connection(&settings(&[]).repeat(2_000), 11, "SETTINGS");
    check_connection(&window(0, 0x7fff_ffff), 3, "2^31-1");
}

#[test]
fn a_frame_behind_the_end_of_its_stream_breaks_the_connection_unless_we_reset_it() {
    let mut rig = Rig::greeted(&[]);
    rig.due(0);
    rig.due(0);
    rig.arrives(0, &[ok(1), window(1, 5), reset(1, 0)].concat());
    assert_eq!(rig.ends(), ends(&[(0, "ok")]), "these two may come late");
    rig.arrives(0, &last_data(1, b"more"));
    assert_eq!(rig.ends(), ends(&[(0, "ok"), (1, "malformed")]));
    assert!(
        rig.last().example.contains("had ended"),
        "{}",
        rig.last().example
    );
}

#[test]
fn a_malformed_answer_ends_its_stream_only() {
    let long = [
        head(1, &[(":status", "200"), ("content-length", "3")]),
        last_data(1, b"four"),
    ]
    .concat();
    let short = [
        head(1, &[(":status", "200"), ("content-length", "9")]),
        last_data(1, b"four"),
    ]
    .concat();
    let none = raw(
        1,
        5,
        1,
        &block(&[(":status", "200"), ("content-length", "9")]),
    );
    let interim_end = raw(1, 5, 1, &block(&[(":status", "100")]));
    let second = [head(1, &[(":status", "200")]), head(1, &[("a", "b")])].concat();
    let twice = [head(1, &[(":status", "200")]), ok(1)].concat();
    let table: Vec<(Vec<u8>, &str)> = vec![
        (long, "content-length says 3"),
        (short, "content-length says 9"),
        (none, "content-length says 9"),
        (interim_end, "interim"),
        (second, "does not end the stream"),
        (twice, "pseudo-header"),
        (last_data(1, b"x"), "before the head"),
        (last_data(1, b""), "before the head"),
        (head(1, &[("server", "x")]), "no single :status"),
        (head(1, &[(":status", "101")]), "no single :status"),
        (
            head(1, &[(":status", "200"), ("Server", "x")]),
            "header name",
        ),
        (
            head(1, &[(":status", "200"), ("connection", "close")]),
            "connection-specific",
        ),
        (
            [head(1, &[(":status", "204")]), raw(0, 0, 1, b"x")].concat(),
            "body in the answer",
        ),
        (
            head(1, &[(":status", "100")]).repeat(65),
            "more than 64 interim",
        ),
        (raw(8, 0, 1, &[0; 4]), "WINDOW_UPDATE of 0"),
        (raw(2, 0, 1, &[0; 4]), "PRIORITY"),
    ];
    for (bytes, example) in table {
        let mut rig = Rig::greeted(&[]);
        rig.due(0);
        rig.due(0);
        rig.sent(0);
        rig.arrives(0, &bytes);
        assert_eq!(rig.ends(), ends(&[(0, "malformed")]), "{example}");
        assert!(
            rig.last().example.contains(example),
            "{:?} has no {example:?}",
            rig.last().example
        );
        assert_eq!(rig.sent_kinds(0), [(3, 1)], "{example}");
        rig.arrives(0, &[bytes, ok(3)].concat());
        assert_eq!(
            rig.ends(),
            ends(&[(0, "malformed"), (1, "ok")]),
            "{example}: the other stream lives"
        );
        assert_eq!(rig.net.connects, 1);
    }
}

#[test]
fn a_flood_of_resets_ends_at_its_limit() {
    let mut rig = Rig::greeted(&[]);
    rig.due(0);
    rig.arrives(0, &reset(1, 7));
    rig.due(0);
    rig.arrives(
        0,
        &reset(1, 7).repeat(Limits::default().unproductive_max as usize + 1),
    );
    assert_eq!(
        rig.ends(),
        ends(&[(0, "reset-refused-stream"), (1, "malformed")])
    );
    assert!(
        rig.last().example.contains("RST_STREAM"),
        "{}",
        rig.last().example
    );
}

#[test]
fn what_a_server_has_us_say_and_does_not_read_is_bounded_and_ends_the_connection() {
    for (unit, answer_bytes) in [
        (raw(6, 0, 0, &[0; 8]), 17),
        (settings(&[]), 9),
        // A window of a mebibyte is refilled when half of it is used: that of the connection, and that of the stream.
        (raw(0, 0, 1, &[0; 16_000]).repeat(33), 26),
    ] {
        let mut rig = Rig::greeted(&[]);
        rig.due(0);
        rig.arrives(0, &head(1, &[(":status", "200")]));
        rig.net.kernel = Kernel::Full;
        rig.arrives(0, &unit);
        // Data between them is progress, but does not raise the limit of buffered replies.
        let round = [unit, raw(0, 0, 1, b"x")].concat();
        let rounds = REPLY_BYTES_MAX / answer_bytes;
        for _ in 0..rounds - 1 {
            rig.arrives(0, &round);
        }
        assert_eq!(rig.ends(), [], "so much may wait");
        (0..3).for_each(|_| rig.arrives(0, &round));
        assert_eq!(rig.ends(), ends(&[(0, "malformed")]));
        let example = &rig.last().example;
        assert!(example.contains("does not read"), "{example}");
    }
}

#[test]
fn a_header_bomb_ends_the_connection() {
    let mut rig = Rig::greeted(&[]);
    rig.due(0);
    let mut bomb = vec![0x88, 0x40, 1, b'a', 0x7f, 0xa1, 0x1e];
    bomb.extend([b'x'; 4000]);
    bomb.extend([0xbe; 10_000]);
    rig.arrives(0, &raw(1, 5, 1, &bomb));
    assert_eq!(rig.ends(), ends(&[(0, "head-too-large")]));
    assert!(
        rig.last().example.contains("294144 bytes"),
        "{}",
        rig.last().example
    );
}

#[test]
fn a_server_of_http1_is_named_and_fails_what_waits() {
    let mut rig = Rig::new(ONE);
    rig.connected(0);
    rig.due(0);
    rig.arrives(0, b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
    assert_eq!(rig.ends(), ends(&[(0, "malformed")]));
    assert!(
        rig.last().example.contains("http/1"),
        "{}",
        rig.last().example
    );
}

#[test]
fn a_server_that_accepts_and_drops_is_not_hammered() {
    let mut rig = Rig::new(ONE);
    for _ in 0..100 {
        if rig.net.open[0] {
            rig.greet(0, &[]);
            rig.closes(0, Closed::Eof);
        }
        rig.pass(10 * MS);
    }
    assert!(
        rig.net.connects < 12,
        "{} connections in a second",
        rig.net.connects
    );
    let mut rig = Rig::new(ONE);
    for _ in 0..100 {
        if rig.net.open[0] {
            rig.greet(0, &[]);
            rig.arrives(0, &goaway(0, 0));
        }
        rig.pass(10 * MS);
    }
    assert!(
        rig.net.connects < 12,
        "{} connections in a second",
        rig.net.connects
    );
}

#[test]
fn a_black_hole_keeps_no_more_than_its_streams() {
    let mut rig = Rig::greeted(&[]);
    rig.net.kernel = super::Kernel::Full;
    for _ in 0..40 {
        rig.due(0);
        rig.pass(TIMEOUT_NS / 2);
    }
    assert!(
        rig.net.written[0].len() < 1_000,
        "{} bytes",
        rig.net.written[0].len()
    );
    rig.client.abandon(&mut rig.net);
    assert_eq!(rig.net.ended.len(), 40);
}
