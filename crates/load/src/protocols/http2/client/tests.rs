//! The client against a server scripted by the test: exchanges, limits, ends. Flow control and malicious servers are in
//! `flow` and `hostile`.

mod flow;
mod hostile;
mod properties;
pub(crate) mod rig;

use super::super::codec::tests::{block, raw, settings};
use super::Windows;
use crate::client::{Client, Closed, ConnId, TimestampBound, WaitCause};
use rig::{
    Kernel, MS, ONE, Rig, Sent, Setup, TIMEOUT_NS, ends, goaway, head, last_data, ok, reset,
};

#[test]
fn a_connection_is_open_once_the_server_has_sent_its_settings() {
    let mut rig = Rig::new(ONE);
    rig.connected(0);
    assert!(!rig.client.is_open());
    let bytes = rig.net.written[0].clone();
    assert!(bytes.starts_with(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"));
    let sent = rig.sent(0);
    assert_eq!(sent[0].payload, [0, 2, 0, 0, 0, 0, 0, 4, 0, 0x10, 0, 0]);
    assert_eq!((sent[1].kind, sent[1].stream), (8, 0));
    assert_eq!(sent[1].payload, ((1u32 << 20) - 65_535).to_be_bytes());
    let early = rig.due(0);
    assert_eq!(rig.sent(0), [], "nothing goes before the server's settings");
    rig.arrives(0, &settings(&[]));
    assert!(rig.client.is_open());
    assert_eq!(
        rig.sent_kinds(0),
        [(4, 0), (1, 1)],
        "the acknowledgement, then what waited"
    );
    rig.arrives(0, &ok(1));
    assert_eq!(
        (rig.last().ticket, rig.last().waited),
        (early, Some(WaitCause::Connection))
    );
}

#[test]
fn an_answer_is_stamped_exactly_only_when_it_was_alone() {
    let mut rig = Rig::greeted(&[]);
    let sent_ns = rig.net.now_ns;
    rig.due(4);
    rig.pass(3 * MS);
    rig.arrives(
        0,
        &[
            head(1, &[(":status", "200"), ("content-length", "5")]),
            last_data(1, b"hello"),
        ]
        .concat(),
    );
    let first = rig.last().clone();
    assert_eq!(
        (first.class().as_str(), first.bound),
        ("ok", TimestampBound::Exact)
    );
    assert_eq!(
        (first.sent_ns, first.ended_ns, first.waited),
        (Some(sent_ns), sent_ns + 3 * MS, None)
    );
    rig.due(0);
    rig.due(0);
    rig.arrives(0, &[ok(3), ok(5)].concat());
    assert!(
        rig.net.ended[1..]
            .iter()
            .all(|ended| ended.bound == TimestampBound::Upper)
    );
    rig.due(0);
    rig.arrives(0, &[ok(7), raw(6, 0, 0, &[0; 8])].concat());
    assert_eq!(
        rig.last().bound,
        TimestampBound::Upper,
        "something came behind its last byte"
    );
}

#[test]
fn wrong_bodies_and_statuses_are_errors_of_the_target() {
    let mut rig = Rig::greeted(&[]);
    for _ in 0..3 {
        rig.due(4);
    }
    rig.arrives(
        0,
        &[head(1, &[(":status", "200")]), last_data(1, b"hullo")].concat(),
    );
    rig.arrives(
        0,
        &[head(3, &[(":status", "503")]), last_data(3, b"hello")].concat(),
    );
    rig.arrives(0, &ok(5));
    assert_eq!(
        rig.ends(),
        ends(&[(0, "wrong-body"), (1, "status-503"), (2, "wrong-body")])
    );
}

#[test]
fn a_redirect_a_status_above_599_and_a_large_head_are_answers() {
    let mut rig = Rig::new(ONE);
    rig.greet(0, &[]);
    assert_eq!(rig.client.redirected_to(), None);
    let answers: [(&[(&str, &str)], &str); 3] = [
        (&[(":status", "302"), ("location", "/a")], "ok"),
        (&[(":status", "301"), ("location", "/b")], "ok"),
        (&[(":status", "999")], "status-999"),
    ];
    for (at, (fields, class)) in answers.into_iter().enumerate() {
        rig.due(0);
        let stream = 2 * at as u32 + 1;
        rig.arrives(0, &raw(1, 5, stream, &block(fields)));
        assert_eq!(rig.last().class(), class);
    }
    assert_eq!(rig.client.redirected_to(), Some(&b"/a"[..]));
    let many: Vec<(String, String)> = (0..999)
        .map(|at| (format!("x-{at:03}"), "y".repeat(200)))
        .collect();
    let mut fields = vec![(":status", "200")];
    fields.extend(
        many.iter()
            .map(|(name, value)| (name.as_str(), value.as_str())),
    );
    for (more, class) in [(None, "ok"), (Some(("one", "more")), "head-too-large")] {
        rig.due(0);
        fields.extend(more);
        let stream = if more.is_none() { 7 } else { 9 };
        let block = block(&fields);
        let mut frames = block.chunks(16_000).peekable();
        let mut bytes = raw(1, 1, stream, frames.next().unwrap());
        while let Some(frame) = frames.next() {
            let end = if frames.peek().is_none() { 4 } else { 0 };
            bytes.extend(raw(9, end, stream, frame));
        }
        rig.arrives(0, &bytes);
        assert_eq!(rig.last().class(), class);
    }
}

#[test]
fn the_servers_limit_of_streams_is_honoured_and_may_change() {
    let mut rig = Rig::greeted(&[(3, 1)]);
    assert_eq!(rig.client.capacity(), 1);
    for _ in 0..4 {
        rig.due(0);
    }
    assert_eq!(rig.sent_kinds(0), [(1, 1)]);
    rig.arrives(0, &ok(1));
    assert_eq!(rig.sent_kinds(0), [(1, 3)]);
    rig.arrives(0, &settings(&[(3, 3)]));
    assert_eq!(rig.sent_kinds(0), [(4, 0), (1, 5), (1, 7)]);
    rig.arrives(0, &settings(&[(3, 0)]));
    rig.arrives(0, &[ok(3), ok(5), ok(7)].concat());
    rig.due(0);
    assert_eq!(
        rig.sent_kinds(0),
        [(4, 0)],
        "a limit of 0 holds everything back"
    );
    let queue_waits: Vec<_> = rig.net.ended.iter().map(|ended| ended.waited).collect();
    let stream = Some(WaitCause::Stream);
    assert_eq!(queue_waits, [None, stream, stream, stream]);
}

#[test]
fn connections_with_room_are_used_in_turn() {
    let mut rig = Rig::new(Setup {
        connections: 3,
        ..ONE
    });
    for conn in 0..3 {
        rig.greet(conn, &[]);
    }
    for _ in 0..6 {
        rig.due(0);
    }
    for conn in 0..3 {
        assert_eq!(rig.sent_kinds(conn), [(1, 1), (1, 3)]);
    }
}

#[test]
fn a_timeout_cancels_its_stream_and_a_late_answer_is_no_fault() {
    let mut rig = Rig::greeted(&[]);
    rig.due(0);
    rig.pass(600 * MS);
    rig.due(0);
    rig.pass(500 * MS);
    assert_eq!(rig.ends(), ends(&[(0, "timeout")]));
    let cancel = rig.sent(0).pop().unwrap();
    assert_eq!(
        (cancel.kind, cancel.stream, cancel.payload),
        (3, 1, vec![0, 0, 0, 8])
    );
    rig.arrives(
        0,
        &[head(1, &[(":status", "200")]), last_data(1, b"late"), ok(3)].concat(),
    );
    assert_eq!(rig.ends(), ends(&[(0, "timeout"), (1, "ok")]));
    rig.pass(3 * TIMEOUT_NS);
    assert_eq!((rig.net.connects, rig.net.faults.len()), (1, 0));
}

#[test]
fn a_server_that_sends_no_settings_is_told_by_that_and_tried_again() {
    let mut rig = Rig::new(ONE);
    rig.connected(0);
    rig.due(0);
    rig.pass(TIMEOUT_NS);
    assert_eq!(rig.ends(), ends(&[(0, "no-settings")]));
    rig.pass(100 * MS);
    assert_eq!(rig.net.connects, 2);
    rig.greet(0, &[]);
    rig.due(0);
    rig.arrives(0, &ok(1));
    assert_eq!(rig.last().class(), "ok");
}

#[test]
fn a_refused_connection_fails_what_waits_and_is_tried_with_growing_pauses() {
    let mut rig = Rig::new(ONE);
    rig.due(0);
    rig.closes(0, Closed::Refused);
    assert_eq!(rig.ends(), ends(&[(0, "refused")]));
    for connects in 2..6 {
        rig.pass(1_000 * MS);
        assert_eq!(rig.net.connects, connects);
        rig.closes(0, Closed::Refused);
    }
}

#[test]
fn what_a_goaway_leaves_unprocessed_goes_to_the_next_connection() {
    let mut rig = Rig::greeted(&[]);
    for _ in 0..3 {
        rig.due(0);
    }
    rig.arrives(0, &goaway(1, 0));
    assert!(rig.net.open[0], "stream 1 may still be answered");
    rig.due(0);
    rig.sent(0);
    rig.arrives(0, &ok(1));
    assert_eq!(
        rig.net.connects, 2,
        "replaced once the last stream has left"
    );
    rig.greet(0, &[]);
    rig.arrives(0, &[ok(1), ok(3), ok(5)].concat());
    assert_eq!(
        rig.ends(),
        ends(&[(0, "ok"), (1, "ok"), (2, "ok"), (3, "ok")])
    );
    assert_eq!(rig.net.ended[1].waited, Some(WaitCause::Connection));
}

#[test]
fn an_exchange_that_two_connections_returned_goes_to_one_that_is_opened_after_it() {
    let mut rig = Rig::new(Setup {
        connections: 3,
        ..ONE
    });
    (0..3).for_each(|conn| rig.greet(conn, &[]));
    rig.due(0);
    let holder = |rig: &mut Rig<_>| (0..3).find(|conn| !rig.sent(*conn).is_empty());
    let first = holder(&mut rig).unwrap();
    rig.pass(MS);
    rig.arrives(first, &goaway(0, 0));
    let second = holder(&mut rig).unwrap();
    assert_ne!(first, second, "any other connection may take it at first");
    rig.pass(MS);
    rig.arrives(second, &goaway(0, 0));
    rig.pass(1_000 * MS);
    assert_eq!(
        holder(&mut rig),
        None,
        "the third one may have its GOAWAY already"
    );
    for conn in [first, second] {
        rig.connected(conn);
        rig.sent(conn);
        rig.arrives(conn, &settings(&[]));
    }
    let last = [first, second].map(|conn| (conn, rig.sent(conn)));
    let begins = |sent: &[Sent]| sent.iter().any(|sent| sent.kind == 1);
    let (last, _) = last.iter().find(|(_, sent)| begins(sent)).unwrap();
    rig.arrives(*last, &ok(1));
    assert_eq!(rig.ends(), ends(&[(0, "ok")]));
    assert_eq!(rig.count("exchanges-resent"), 2);
}

#[test]
fn a_server_that_speaks_http1_makes_the_load_impossible_unless_one_has_greeted() {
    let other = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n";
    let mut rig = Rig::new(ONE);
    rig.connected(0);
    assert_eq!(rig.client.problem(), None);
    rig.arrives(0, other);
    let problem = rig.client.problem().unwrap();
    assert!(problem.contains("does not speak http/2"), "{problem}");
    let mut rig = Rig::greeted(&[]);
    rig.closes(0, Closed::Eof);
    rig.pass(1_000 * MS);
    rig.connected(0);
    rig.arrives(0, other);
    assert_eq!(rig.client.problem(), None, "another server did");
}

#[test]
fn an_exchange_that_no_connection_processes_fails_in_the_end() {
    let mut rig = Rig::greeted(&[]);
    rig.due(0);
    for _ in 0..4 {
        rig.arrives(0, &goaway(0, 0xb));
        rig.pass(1_000 * MS);
        rig.greet(0, &[]);
    }
    rig.arrives(0, &goaway(0, 0xb));
    assert_eq!(rig.ends(), ends(&[(0, "goaway-unprocessed")]));
    assert!(
        rig.last().example.contains("enhance-your-calm"),
        "{}",
        rig.last().example
    );
}

#[test]
fn the_end_of_a_connection_names_the_servers_reason() {
    let mut rig = Rig::greeted(&[]);
    rig.due(0);
    rig.arrives(0, &goaway(1, 0x2));
    rig.closes(0, Closed::Eof);
    rig.pass(20 * MS);
    rig.greet(0, &[]);
    rig.due(0);
    rig.closes(0, Closed::Reset);
    assert_eq!(
        rig.ends(),
        ends(&[(0, "goaway-internal-error"), (1, "reset")])
    );
}

#[test]
fn each_reset_code_is_a_class_of_its_own() {
    let mut rig = Rig::greeted(&[]);
    for (at, code) in [0x7, 0x8, 0xb, 0x2, 0x4242].into_iter().enumerate() {
        rig.due(0);
        rig.arrives(0, &reset(2 * at as u32 + 1, code));
    }
    let classes = [
        (0, "reset-refused-stream"),
        (1, "reset-cancel"),
        (2, "reset-enhance-your-calm"),
        (3, "reset-internal-error"),
        (4, "reset-unknown-code"),
    ];
    assert_eq!(rig.ends(), ends(&classes));
    assert_eq!(rig.net.connects, 1);
}

#[test]
fn a_body_in_gzip_is_decoded_before_it_is_compared_if_gzip_was_asked_for() {
    use std::io::Write as _;
    let gzip = |text: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), Default::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    };
    let mut rig = Rig::greeted(&[]);
    let coded = |coding| [(":status", "200"), ("content-encoding", coding)];
    let plain = [(":status", "200")];
    let mut stream = 1;
    for (request, fields, body, expected) in [
        (5, &coded("gzip")[..], gzip(b"hello"), "ok"),
        (5, &plain[..], b"hello".to_vec(), "ok"),
        (5, &coded("gzip")[..], gzip(b"hello!"), "wrong-body"),
        (5, &coded("gzip")[..], b"hello".to_vec(), "content-encoding"),
        (5, &coded("br")[..], b"hello".to_vec(), "content-encoding"),
        // Nobody asked for it.
        (4, &coded("gzip")[..], gzip(b"hello"), "content-encoding"),
    ] {
        rig.due(request);
        rig.arrives(0, &head(stream, fields));
        let (first, rest) = body.split_at(3);
        rig.arrives(0, &raw(0, 0, stream, first));
        rig.arrives(0, &last_data(stream, rest));
        let last = rig.last();
        assert_eq!(last.class(), expected, "{stream}: {}", last.example);
        stream += 2;
    }
}

#[test]
fn interim_answers_are_passed_over_and_trailers_end_an_answer() {
    let mut rig = Rig::greeted(&[]);
    rig.due(4);
    let hints = head(1, &[(":status", "103"), ("link", "x")]);
    let answer = head(1, &[(":status", "200")]);
    let trailers = raw(
        1,
        5,
        1,
        &super::super::codec::tests::block(&[("x-sum", "1")]),
    );
    rig.arrives(
        0,
        &[hints, answer, raw(0, 0, 1, b"hello"), trailers].concat(),
    );
    assert_eq!(rig.ends(), ends(&[(0, "ok")]));
}

#[test]
fn an_answer_to_head_states_a_length_and_has_none() {
    let mut rig = Rig::greeted(&[]);
    rig.due(2);
    rig.arrives(
        0,
        &raw(
            1,
            5,
            1,
            &super::super::codec::tests::block(&[(":status", "200"), ("content-length", "9")]),
        ),
    );
    rig.due(2);
    rig.arrives(
        0,
        &[head(3, &[(":status", "200")]), last_data(3, b"body")].concat(),
    );
    assert_eq!(rig.ends(), ends(&[(0, "ok"), (1, "malformed")]));
}

#[test]
fn a_full_socket_holds_writes_back_and_its_exchanges_say_so() {
    let mut rig = Rig::greeted(&[]);
    rig.net.kernel = Kernel::Full;
    rig.due(0);
    rig.due(0);
    assert_eq!(
        rig.sent_kinds(0),
        [(1, 1)],
        "one write waits for the kernel, no second one is made"
    );
    rig.pass(5 * MS);
    rig.net.kernel = Kernel::Takes;
    let at_ns = rig.net.now_ns;
    rig.client.on_write_started(ConnId(0), at_ns, &mut rig.net);
    rig.client.flush(&mut rig.net);
    assert_eq!(rig.sent_kinds(0), [(1, 3)]);
    rig.arrives(0, &[ok(1), ok(3)].concat());
    let told: Vec<_> = rig
        .net
        .ended
        .iter()
        .map(|ended| (ended.sent_ns, ended.waited))
        .collect();
    assert_eq!(
        told,
        [
            (Some(at_ns), Some(WaitCause::SocketBuffer)),
            (Some(at_ns), Some(WaitCause::Stream))
        ]
    );
}

#[test]
fn a_smaller_header_table_is_confirmed_in_the_next_block_only() {
    let mut rig = Rig::greeted(&[(1, 0)]);
    rig.due(0);
    rig.due(0);
    let sent = rig.sent(0);
    assert_eq!(sent[0].payload[0], 0x20);
    assert_eq!(sent[0].payload[1..], sent[1].payload);
}

#[test]
fn pings_are_answered_with_their_payload() {
    let mut rig = Rig::greeted(&[]);
    rig.arrives(0, &raw(6, 0, 0, b"whatever"));
    let sent = rig.sent(0);
    assert_eq!(
        (sent[0].kind, sent[0].flags, &sent[0].payload[..]),
        (6, 1, &b"whatever"[..])
    );
}

#[test]
fn abandoning_ends_what_is_on_streams_and_what_waits() {
    let mut rig = Rig::new(Setup {
        streams: 1,
        windows: Windows::default(),
        ..ONE
    });
    rig.greet(0, &[]);
    rig.due(3);
    rig.due(0);
    rig.client.abandon(&mut rig.net);
    assert_eq!(rig.ends(), ends(&[(0, "unfinished"), (1, "unfinished")]));
    assert_eq!(rig.last().sent_ns, None);
}
