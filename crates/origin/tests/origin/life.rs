//! Start, many connections, stalls, counters, and the end.

use std::time::{Duration, Instant};

use tare_origin::{Limits, OriginOptions, PlannedStall, bind};

use crate::rig::{Client, HANG, Server, realtime_ns};

const MS: u128 = 1_000_000;

#[test]
fn a_port_in_use_is_named_with_the_next_step() {
    let server = Server::plain();
    let error = bind(OriginOptions {
        listen: server.address,
        ..OriginOptions::default()
    });
    let message = error.unwrap_err().to_string();
    assert!(message.contains(&server.address.to_string()), "{message}");
    assert!(
        message.contains("stop the process that listens there"),
        "{message}"
    );
}

#[test]
fn options_out_of_range_are_refused_before_anything_listens() {
    let error = bind(OriginOptions {
        workers: 0,
        ..OriginOptions::default()
    })
    .unwrap_err();
    assert_eq!(error.to_string(), "workers is 0; choose 1 to 64");
}

#[test]
fn a_thousand_connections_are_served_by_several_workers() {
    let server = Server::start(OriginOptions {
        workers: 3,
        ..OriginOptions::default()
    });
    let mut clients: Vec<Client> = (0..1000).map(|_| server.connect()).collect();
    for _ in 0..3 {
        for client in &mut clients {
            client.send(b"GET /?size=10 HTTP/1.1\r\nHost: o\r\n\r\n");
        }
        for client in &mut clients {
            assert_eq!(client.answer().body.len(), 10);
        }
    }
    assert_eq!(server.counter("tare_origin_connections_opened_total"), 1000);
    assert_eq!(
        server.counter("tare_origin_requests_total{status=\"200\"}"),
        3000
    );
    drop(clients);
    let totals = server.stop();
    assert_eq!((totals.connections, totals.requests), (1000, 3000));
}

#[test]
fn counters_count_load_and_not_those_who_read_them() {
    let server = Server::plain();
    assert_eq!(
        server.counter("tare_origin_requests_total{status=\"200\"}"),
        0
    );
    let mut client = server.connect();
    client.get("/");
    client.get("/?status=503");
    client.get("/ready");
    for _ in 0..3 {
        assert_eq!(
            server.counter("tare_origin_requests_total{status=\"200\"}"),
            1
        );
        assert_eq!(
            server.counter("tare_origin_requests_total{status=\"503\"}"),
            1
        );
        assert_eq!(server.counter("tare_origin_connections_opened_total"), 1);
    }
    assert!(server.counter("tare_origin_control_requests_total") >= 10);
    let received = server.counter("tare_origin_received_bytes_total");
    let sent = server.counter("tare_origin_sent_bytes_total");
    assert!(
        received > 100 && sent > received,
        "{received} in, {sent} out"
    );
}

#[test]
fn a_stall_holds_back_every_answer_until_its_end() {
    let server = Server::start(OriginOptions {
        workers: 2,
        ..OriginOptions::default()
    });
    let mut clients: Vec<Client> = (0..4).map(|_| server.connect()).collect();
    for client in &mut clients {
        client.get("/");
    }
    let begun = Instant::now();
    let planned = server.connect().get("/control/stall?for=400ms");
    assert_eq!(planned.status, 200);
    for client in &mut clients {
        client.send(b"GET /?timestamps HTTP/1.1\r\nHost: o\r\n\r\n");
    }
    for client in &mut clients {
        let answer = client.answer();
        assert_eq!(answer.status, 200);
        assert!(
            begun.elapsed() >= Duration::from_millis(400),
            "{:?}",
            begun.elapsed()
        );
    }
    assert_eq!(server.connect().get("/control/stall?for=1h1").status, 400);
}

#[test]
fn a_stall_can_be_planned_for_a_moment() {
    let lasts = Duration::from_millis(300);
    let stalls = vec![PlannedStall {
        after: Duration::ZERO,
        lasts,
    }];
    let begun = Instant::now();
    let server = Server::start(OriginOptions {
        stalls,
        ..OriginOptions::default()
    });
    assert_eq!(server.connect().get("/").status, 200);
    assert!(begun.elapsed() >= lasts);
    let mut client = server.connect();
    let before_ns = realtime_ns();
    let planned = server.connect().get("/control/stall?for=300ms&in=100ms");
    let after_ns = realtime_ns();
    assert_eq!(planned.status, 200);
    // It was planned between these two moments: then it lasts from the later to the earlier of these at least.
    let (from_ns, until_ns) = (after_ns + 100 * MS, before_ns + 400 * MS);
    loop {
        let answer = client.get("/?timestamps");
        let (_, sent) = answer
            .header("tare-timestamps")
            .unwrap()
            .split_once(' ')
            .unwrap();
        // The server's own time of sending: however slow this client is.
        let sent_ns: u128 = sent.parse().unwrap();
        assert!(
            !(from_ns..until_ns).contains(&sent_ns),
            "sent {} ms before its end",
            (until_ns - sent_ns) / MS
        );
        if sent_ns >= until_ns {
            break;
        }
    }
}

#[test]
fn a_stop_finishes_the_answer_under_way_and_closes_the_rest() {
    let limits = Limits {
        drain_max: HANG,
        ..Limits::default()
    };
    let server = Server::start(OriginOptions {
        limits,
        ..OriginOptions::default()
    });
    let (mut idle, mut busy) = (server.connect(), server.connect());
    idle.get("/");
    busy.get("/");
    busy.send(b"GET /?delay=2s&size=5 HTTP/1.1\r\nHost: o\r\n\r\n");
    // The request is counted when it is taken, before its delay.
    let begun = Instant::now();
    while server.counter("tare_origin_requests_total{status=\"200\"}") < 3 {
        assert!(begun.elapsed() < HANG);
    }
    let totals = server.stop();
    assert_eq!(totals.requests, 3);
    let answer = busy.answer();
    assert_eq!(
        (answer.text(), answer.header("connection")),
        ("abcde".into(), Some("close"))
    );
    assert!(idle.rest().is_empty());
}

#[test]
fn a_stop_ends_a_stall_and_does_not_wait_for_ever() {
    let server = Server::plain();
    let mut client = server.connect();
    client.get("/");
    assert_eq!(client.get("/control/stall?for=60s").status, 200);
    client.send(b"GET /?delay=60s HTTP/1.1\r\nHost: o\r\n\r\n");
    let begun = Instant::now();
    server.stop();
    // Longer than these cannot be asked for.
    assert!(begun.elapsed() < Duration::from_secs(45));
}

#[test]
fn connections_over_the_limit_are_closed_and_idle_ones_after_a_while() {
    let limits = Limits {
        connections_max: 2,
        idle_max: Duration::from_secs(2),
        ..Limits::default()
    };
    let server = Server::start(OriginOptions {
        limits,
        ..OriginOptions::default()
    });
    let (mut first, mut second) = (server.connect(), server.connect());
    first.get("/");
    second.get("/");
    assert!(server.connect().rest().is_empty(), "the third is closed");
    assert!(
        first.rest().is_empty() && second.rest().is_empty(),
        "both are closed as idle"
    );
    assert_eq!(server.connect().get("/").status, 200);
}

#[test]
fn a_termination_signal_ends_the_origin_in_order() {
    let server = Server::plain();
    server.connect().get("/?size=5");
    server.stop_on_signals();
    let own = rustix::process::getpid();
    rustix::process::kill_process(own, rustix::process::Signal::TERM).unwrap();
    let totals = server.wait();
    assert_eq!((totals.requests, totals.connections), (1, 1));
}
