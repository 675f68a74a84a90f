//! Everything that an answer can be asked to be.

use std::time::{Duration, Instant};

use tare_origin::{OriginOptions, ReceiveTimestamps, expected_body};

use crate::rig::{Server, realtime_ns, stamping};

#[test]
fn a_body_has_the_size_and_content_asked_for() {
    let server = Server::plain();
    let mut client = server.connect();
    for size in [0, 1, 25, 27, 1000, 32 * 1024, 32 * 1024 + 1, 3_000_000] {
        let answer = client.get(&format!("/any/path?size={size}"));
        assert_eq!((answer.status, answer.body.len()), (200, size));
        assert!(
            answer.body == expected_body(size),
            "the content of {size} bytes"
        );
    }
}

#[test]
fn a_body_can_be_chunked_or_end_with_the_connection() {
    let server = Server::plain();
    let mut client = server.connect();
    for size in [0, 10, 100_000] {
        let answer = client.get(&format!("/?size={size}&body=chunked"));
        assert_eq!(answer.header("transfer-encoding"), Some("chunked"));
        assert!(answer.body == expected_body(size));
    }
    let answer = client.get("/?size=70000&body=close");
    assert_eq!(
        (answer.header("content-length"), answer.header("connection")),
        (None, Some("close"))
    );
    assert!(answer.body == expected_body(70_000));
}

#[test]
fn an_echo_returns_what_was_sent() {
    let server = Server::plain();
    let mut client = server.connect();
    for size in [0, 5, 200_000] {
        let body = expected_body(size);
        let head = format!("POST /echo HTTP/1.1\r\nHost: o\r\nContent-Length: {size}\r\n\r\n");
        client.send(&[head.as_bytes(), &body].concat());
        assert!(client.answer().body == body);
    }
    let head = "POST /echo?body=chunked HTTP/1.1\r\nHost: o\r\nTransfer-Encoding: chunked\r\n\r\n";
    client.send(format!("{head}5;x=y\r\nhello\r\n6\r\n world\r\n0\r\nT: z\r\n\r\n").as_bytes());
    let answer = client.answer();
    assert_eq!(answer.text(), "hello world");
    assert_eq!(answer.header("transfer-encoding"), Some("chunked"));
    assert_eq!(
        client.get("/").status,
        200,
        "the connection is at the next request"
    );
}

#[test]
fn a_status_can_be_asked_for_and_204_has_no_body() {
    let server = Server::plain();
    let mut client = server.connect();
    assert_eq!(client.get("/?status=503&size=3").text(), "abc");
    let none = client.get("/?status=204&size=3");
    assert_eq!((none.status, none.header("content-length")), (204, None));
    assert_eq!(client.get("/?status=418").status, 418);
}

#[test]
fn close_ends_the_connection_behind_the_answer() {
    let server = Server::plain();
    let mut client = server.connect();
    let answer = client.get("/?close&size=2");
    assert_eq!(
        (answer.header("connection"), answer.text()),
        (Some("close"), "ab".into())
    );
    assert!(client.rest().is_empty());
}

#[test]
fn a_delay_holds_back_its_answer_and_the_ones_behind_it_only() {
    let server = Server::plain();
    let mut slow = server.connect();
    let begun = Instant::now();
    slow.send(
        b"GET /?delay=300ms HTTP/1.1\r\nHost: o\r\n\r\nGET /?size=1 HTTP/1.1\r\nHost: o\r\n\r\n",
    );
    let mut other = server.connect();
    assert_eq!(other.get("/").status, 200);
    slow.stream.set_nonblocking(true).unwrap();
    let nothing_yet = slow.stream.peek(&mut [0]).is_err();
    assert!(nothing_yet || begun.elapsed() >= Duration::from_millis(300));
    slow.stream.set_nonblocking(false).unwrap();
    assert_eq!(slow.answer().body.len(), 0);
    assert_eq!(slow.answer().body.len(), 1);
    assert!(begun.elapsed() >= Duration::from_millis(300), "never early");
}

#[test]
fn distributions_of_delays_are_accepted_in_query_and_header() {
    let server = Server::plain();
    let mut client = server.connect();
    for delay in ["exp:100us", "bimodal:0,1ms,0.5", "pareto:50us,2"] {
        assert_eq!(client.get(&format!("/?delay={delay}")).status, 200);
        client.send(
            format!("GET / HTTP/1.1\r\nHost: o\r\nTare-Behaviour: delay={delay}&size=4\r\n\r\n")
                .as_bytes(),
        );
        assert_eq!(client.answer().text(), "abcd");
    }
}

#[test]
fn a_behaviour_that_is_not_understood_is_answered_with_what_works() {
    let server = Server::plain();
    let mut client = server.connect();
    let answer = client.get("/?delay=5parsecs");
    assert_eq!(answer.status, 400);
    assert!(answer.text().contains("exp:5ms"), "{}", answer.text());
    assert_eq!(
        client.get("/?size=1073741825").status,
        400,
        "more than 1 GiB"
    );
    client.send(
        b"POST /echo HTTP/1.1\r\nHost: o\r\nTare-Behaviour: sise=3\r\nContent-Length: 2\r\n\r\nhi",
    );
    assert!(client.answer().text().contains("sise"));
    assert_eq!(
        client.get("/?foo=bar&baz").status,
        200,
        "foreign query keys are no behaviours"
    );
}

#[test]
fn options_set_defaults_and_probabilities() {
    let server = Server::changed(&["size=9", "p=0.2&status=500", "p=0&close"]);
    let mut client = server.connect();
    let mut failed = 0;
    for _ in 0..2000 {
        let answer = client.get("/");
        assert_eq!(answer.body.len(), 9);
        failed += u32::from(answer.status == 500);
    }
    // Five standard deviations of a binomial with 400 expected.
    assert!((310..=490).contains(&failed), "{failed}");
    let overridden = client.get("/?size=1&status=201");
    assert_eq!((overridden.status, overridden.body.len()), (201, 1));
}

#[test]
fn the_same_seed_gives_the_same_answers() {
    let statuses = || {
        let server = Server::changed(&["p=0.5&status=500"]);
        let mut client = server.connect();
        (0..64).map(|_| client.get("/").status).collect::<Vec<_>>()
    };
    assert_eq!(statuses(), statuses());
}

#[test]
fn truth_stamps_lie_between_the_clients_own_and_in_order() {
    let _stamping = stamping();
    let server = Server::plain();
    let mut client = server.connect();
    assert_eq!(client.get("/").header("tare-timestamps"), None);
    for target in [
        "/?timestamps",
        "/?timestamps&delay=20ms",
        "/?timestamps&size=100000",
    ] {
        let before_ns = realtime_ns();
        let answer = client.get(target);
        let after_ns = realtime_ns();
        let (arrived, sent) = answer
            .header("tare-timestamps")
            .unwrap()
            .split_once(' ')
            .unwrap();
        let (arrived_ns, sent_ns): (u128, u128) = (arrived.parse().unwrap(), sent.parse().unwrap());
        assert!(before_ns <= arrived_ns && arrived_ns <= sent_ns && sent_ns <= after_ns);
        if target.contains("delay") {
            assert!(
                sent_ns - arrived_ns >= 20_000_000,
                "the delay is part of the truth"
            );
        }
    }
}

#[test]
fn pipelined_truths_each_have_their_own_time_of_sending() {
    let _stamping = stamping();
    let server = Server::plain();
    let mut client = server.connect();
    client.send(
        "GET /?timestamps HTTP/1.1\r\nHost: o\r\n\r\n"
            .repeat(3)
            .as_bytes(),
    );
    let truths: Vec<(u64, u64)> = (0..3)
        .map(|_| {
            let answer = client.answer();
            let (arrived, sent) = answer
                .header("tare-timestamps")
                .unwrap()
                .split_once(' ')
                .unwrap();
            (arrived.parse().unwrap(), sent.parse().unwrap())
        })
        .collect();
    assert!(truths.windows(2).all(|pair| pair[0].1 <= pair[1].1));
    assert!(truths.iter().all(|(arrived, sent)| arrived <= sent));
}

#[test]
fn without_kernel_stamps_the_truth_says_so() {
    let server = Server::start(OriginOptions {
        receive_timestamps: ReceiveTimestamps::Off,
        ..OriginOptions::default()
    });
    let answer = server.connect().get("/?timestamps");
    assert!(answer.header("tare-timestamps").unwrap().starts_with("- "));
}
