//! Flow control, both ways.

use super::super::super::codec::tests::{raw, settings};
use super::super::Windows;
use super::rig::{MS, ONE, Rig, Setup, TIMEOUT_NS, ends, head, last_data, ok, window};
use crate::client::WaitCause;

/// Data frames as `(stream, bytes, ends)`.
fn data(rig: &mut Rig<super::super::super::stream_protocol::Http>) -> Vec<(u32, usize, bool)> {
    let sent = rig.sent(0);
    let data = sent.iter().filter(|sent| sent.kind == 0);
    data.map(|sent| (sent.stream, sent.payload.len(), sent.flags & 1 == 1))
        .collect()
}

#[test]
fn a_small_body_goes_with_its_head_in_one_write() {
    let mut rig = Rig::greeted(&[]);
    let writes = rig.net.writes;
    rig.due(1);
    assert_eq!(rig.net.writes, writes + 1);
    let sent = rig.sent(0);
    assert_eq!(
        (sent[0].kind, sent[0].flags),
        (1, 4),
        "the head does not end the stream"
    );
    assert_eq!(
        (sent[1].flags, &sent[1].payload[..]),
        (1, &b"abcdefghij"[..])
    );
}

#[test]
fn a_body_waits_for_its_streams_window_and_says_so() {
    let mut rig = Rig::greeted(&[(4, 4)]);
    rig.due(1);
    assert_eq!(data(&mut rig), [(1, 4, false)]);
    rig.arrives(0, &window(1, 3));
    assert_eq!(data(&mut rig), [(1, 3, false)]);
    rig.arrives(0, &settings(&[(4, 3)]));
    assert_eq!(
        data(&mut rig),
        [],
        "a smaller initial window makes this one negative"
    );
    rig.arrives(0, &settings(&[(4, 50)]));
    assert_eq!(data(&mut rig), [(1, 3, true)]);
    rig.arrives(0, &ok(1));
    assert_eq!(rig.last().waited, Some(WaitCause::Window));
    assert_eq!(rig.last().class(), "ok");
}

#[test]
fn large_bodies_share_the_connections_window_in_turn() {
    let mut rig = Rig::greeted(&[(4, 1 << 20)]);
    rig.due(3);
    rig.due(3);
    let first = data(&mut rig);
    assert_eq!(
        first.iter().map(|&(_, bytes, _)| bytes).sum::<usize>(),
        65_535,
        "the connection's window"
    );
    rig.arrives(0, &window(0, 200_000));
    let rest = data(&mut rig);
    assert_eq!(
        rest.iter().map(|&(_, bytes, _)| bytes).sum::<usize>(),
        200_000 - 65_535
    );
    assert!(
        rest.iter()
            .chain(&first)
            .all(|&(_, bytes, _)| bytes <= 16_384),
        "the server's largest frame"
    );
    let turns = rest
        .windows(2)
        .filter(|pair| pair[0].0 != pair[1].0)
        .count();
    assert!(turns >= 5, "{rest:?}");
    assert_eq!(rest.iter().filter(|&&(_, _, ends)| ends).count(), 2);
}

#[test]
fn a_window_that_never_opens_ends_in_a_timeout_and_the_connection_lives() {
    let mut rig = Rig::greeted(&[(4, 0)]);
    rig.due(1);
    rig.due(0);
    rig.arrives(0, &ok(3));
    rig.pass(TIMEOUT_NS);
    assert_eq!(rig.ends(), ends(&[(1, "ok"), (0, "timeout")]));
    assert_eq!(rig.last().waited, Some(WaitCause::Window));
    assert_eq!(rig.sent_kinds(0), [(1, 1), (1, 3), (3, 1)]);
    rig.arrives(0, &window(1, 100));
    assert_eq!(data(&mut rig), [], "no body on a stream that was cancelled");
    assert_eq!(rig.net.connects, 1);
}

#[test]
fn an_answer_before_the_whole_request_is_right_and_cancels_the_rest() {
    let mut rig = Rig::greeted(&[(4, 4)]);
    rig.due(1);
    rig.sent(0);
    rig.arrives(0, &ok(1));
    assert_eq!(rig.ends(), ends(&[(0, "ok")]));
    assert_eq!(rig.sent_kinds(0), [(3, 1)]);
    rig.arrives(0, &window(1, 100));
    assert_eq!(rig.sent_kinds(0), []);
}

#[test]
fn windows_beyond_the_largest_are_faults_of_stream_or_connection() {
    let mut rig = Rig::greeted(&[]);
    rig.due(1);
    rig.due(0);
    rig.arrives(0, &window(1, 0x7fff_ffff));
    assert_eq!(rig.ends(), ends(&[(0, "malformed")]));
    let reset = rig.sent(0).pop().unwrap();
    assert_eq!(
        (reset.kind, reset.stream, reset.payload),
        (3, 1, vec![0, 0, 0, 3])
    );
    rig.arrives(0, &window(0, 0x7fff_ffff));
    assert_eq!(rig.ends(), ends(&[(0, "malformed"), (1, "malformed")]));
    rig.pass(20 * MS);
    assert_eq!(rig.net.connects, 2, "the connection was replaced");
}

#[test]
fn initial_windows_that_overflow_a_stream_end_the_connection() {
    let mut rig = Rig::greeted(&[]);
    rig.due(1);
    rig.arrives(0, &window(1, 1000));
    rig.arrives(0, &settings(&[(4, 0x7fff_ffff)]));
    assert_eq!(rig.ends(), ends(&[(0, "malformed")]));
    rig.pass(20 * MS);
    assert_eq!(rig.net.connects, 2);
}

#[test]
fn received_data_is_given_back_in_large_steps() {
    let windows = Windows {
        stream_bytes: 40_000,
        connection_bytes: 70_000,
    };
    let mut rig = Rig::new(Setup { windows, ..ONE });
    rig.greet(0, &[]);
    rig.due(0);
    rig.sent(0);
    rig.arrives(0, &head(1, &[(":status", "200")]));
    let mut updates = Vec::new();
    for _ in 0..100 {
        rig.arrives(0, &raw(0, 0, 1, &[7; 1000]));
        updates.extend(rig.sent(0));
    }
    rig.arrives(0, &last_data(1, b""));
    assert_eq!(rig.last().class(), "ok");
    let of = |stream: u32| -> Vec<u32> {
        let of_stream = updates
            .iter()
            .filter(|update| update.kind == 8 && update.stream == stream);
        of_stream
            .map(|update| u32::from_be_bytes(update.payload[..4].try_into().unwrap()))
            .collect()
    };
    assert_eq!(of(1), [20_000; 5]);
    assert_eq!(of(0), [35_000; 2]);
}

#[test]
fn more_data_than_the_windows_allow_is_a_fault() {
    let windows = Windows {
        stream_bytes: 10,
        connection_bytes: 70_000,
    };
    let mut rig = Rig::new(Setup { windows, ..ONE });
    rig.greet(0, &[]);
    rig.due(0);
    rig.arrives(
        0,
        &[head(1, &[(":status", "200")]), raw(0, 0, 1, &[0; 11])].concat(),
    );
    assert_eq!(rig.ends(), ends(&[(0, "malformed")]));
    assert!(
        rig.last().example.contains("stream's window"),
        "{}",
        rig.last().example
    );
    // Padding counts, and so does data on streams that were reset.
    rig.pass(10 * MS);
    rig.due(0);
    let flood = raw(0, 0, 1, &[0; 16_000]).repeat(5);
    rig.arrives(0, &flood);
    assert_eq!(rig.net.connects, 1, "given back in time");
    let windows = Windows {
        stream_bytes: 1 << 20,
        connection_bytes: 65_535,
    };
    let mut rig = Rig::new(Setup { windows, ..ONE });
    rig.greet(0, &[]);
    rig.due(0);
    rig.arrives(0, &head(1, &[(":status", "200")]));
    rig.arrives(0, &raw(0, 0, 1, &[0; 16_000]).repeat(50));
    assert_eq!(rig.ends(), [], "what arrives is given back at once");
}
