//! The built-in link between two real namespaces: what crosses, in which order, what is dropped and counted.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on says where by panicking"
)]

mod rig;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rig::{PATIENCE, Pair, carried, datagrams, entered, ip, permitted, send, settled};
use tare_net::link::{DirectionPlan, connected, round_trips, throughput};

const MS: u64 = 1_000_000;

#[test]
fn no_round_trip_is_shorter_than_the_delay_asked_for() {
    if !permitted() {
        return;
    }
    let pair = Pair::joined(&DirectionPlan {
        delay_ns: 6 * MS,
        ..DirectionPlan::default()
    });
    let trips = round_trips(pair.path(), 200).unwrap();
    assert_eq!((trips.sent, trips.answered), (200, 200));
    assert!(trips.min_ns.unwrap() >= 12 * MS, "{trips:?}");
    assert_eq!(trips.p99_ns, None, "200 values do not tell it");
    let counts = settled(&pair);
    assert!(counts.there.passed_packets >= 200 && counts.back.passed_packets >= 200);
    assert_eq!(
        counts.there.dropped_packets() + counts.back.dropped_packets(),
        0
    );
    assert_eq!(counts.there.overflowed, Some(0));
}

#[test]
fn a_stream_crosses_intact_and_in_pieces_larger_than_packets() {
    if !permitted() {
        return;
    }
    let pair = Pair::joined(&DirectionPlan {
        delay_ns: 2 * MS,
        jitter_ns: MS,
        ..DirectionPlan::default()
    });
    let (near, far) = connected(pair.path()).unwrap();
    let sent: Vec<u8> = (0..20_000_000_u32).map(|i| (i % 251) as u8).collect();
    let received = carried(near, far, &sent);
    assert!(received == sent, "the bytes differ");
    let there = settled(&pair).there;
    assert!(there.passed_packets >= 20_000_000 / 1448, "{there:?}");
    assert!(
        there.passed_packets > 4 * there.passed_pieces,
        "segmentation is not left to the other end: {there:?}"
    );
    assert!(there.passed_bytes > 20_000_000, "headers count: {there:?}");
}

#[test]
fn jitter_lets_no_packet_overtake_another() {
    if !permitted() {
        return;
    }
    let pair = Pair::joined(&DirectionPlan {
        delay_ns: 5 * MS,
        jitter_ns: 5 * MS,
        ..DirectionPlan::default()
    });
    let (near, far) = datagrams(&pair);
    let taken = AtomicU64::new(0);
    let received = std::thread::scope(|scope| {
        scope.spawn(|| {
            send(&near, 2000, 4, || taken.load(Ordering::Relaxed));
        });
        let mut received = Vec::new();
        let deadline = Instant::now() + PATIENCE;
        while received.len() < 2000 && Instant::now() < deadline {
            let mut number = [0; 4];
            if far.recv(&mut number).is_ok() {
                received.push(u32::from_ne_bytes(number));
                taken.fetch_add(1, Ordering::Relaxed);
            }
        }
        received
    });
    assert_eq!(received, (0..2000).collect::<Vec<_>>());
}

#[test]
fn the_planned_share_of_packets_is_lost_and_counted() {
    if !permitted() {
        return;
    }
    let pair = Pair::joined(&DirectionPlan {
        loss: 0.1,
        ..DirectionPlan::default()
    });
    let (near, _far) = datagrams(&pair);
    let before = settled(&pair).there;
    send(&near, 4000, 100, || entered(&pair, before));
    let there = settled(&pair).there;
    let lost = there.lost_packets - before.lost_packets;
    // 400 of 4000, five standard deviations of the binomial (19) to either side.
    assert!((305..=495).contains(&lost), "{there:?}");
    assert_eq!(there.dropped_packets(), there.lost_packets);
}

#[test]
fn a_stream_over_a_link_that_loses_packets_crosses_in_packets_and_intact() {
    if !permitted() {
        return;
    }
    let pair = Pair::joined(&DirectionPlan {
        loss: 0.02,
        ..DirectionPlan::default()
    });
    let (near, far) = connected(pair.path()).unwrap();
    let sent: Vec<u8> = (0..1_000_000_u32).map(|i| (i % 241) as u8).collect();
    let received = carried(near, far, &sent);
    assert!(received == sent, "the bytes differ");
    let there = settled(&pair).there;
    assert_eq!(
        there.passed_packets, there.passed_pieces,
        "cut before the link"
    );
    assert!(there.lost_packets > 0);
}

#[test]
fn the_rate_is_never_exceeded_and_the_queue_never_longer_than_planned() {
    if !permitted() {
        return;
    }
    let (rate, queue_bytes) = (40_000_000, 100_000);
    let pair = Pair::joined(&DirectionPlan {
        delay_ns: MS,
        rate_bits_per_s: Some(rate),
        queue_bytes,
        ..DirectionPlan::default()
    });
    let (near, far) = datagrams(&pair);
    let before = settled(&pair).there;
    let began = Instant::now();
    // A sender that is held up fills no queue: until it was full once.
    let there = loop {
        send(&near, 500, 1400, || entered(&pair, before));
        let there = settled(&pair).there;
        if there.queue_full_packets > 0 {
            break there;
        }
        assert!(began.elapsed() < PATIENCE, "never full: {there:?}");
    };
    let elapsed = began.elapsed();
    // What passed needed its time at that rate (the first byte needed none to be there), and …
    let passed_s = (there.passed_bytes * 8) as f64 / rate as f64;
    assert!(
        passed_s <= elapsed.as_secs_f64(),
        "{there:?} in {elapsed:?}"
    );
    // … what was admitted fits the queue and what drained meanwhile.
    let drained = elapsed.as_secs_f64() * rate as f64 / 8.0;
    assert!((there.passed_bytes as f64) < queue_bytes as f64 + drained);
    drop(far);

    // TCP adapts to it.
    let before = settled(&pair).there.passed_bytes;
    let began = Instant::now();
    let (near, far) = connected(pair.path()).unwrap();
    let carried = throughput(near, far, Duration::from_millis(900)).unwrap();
    assert!(carried.bytes > 0);
    // By the link's own count: who reads late reads what came before, too, and the rate read is any.
    let passed = pair.link.counts().there.passed_bytes - before;
    let elapsed = began.elapsed();
    let passed_s = (passed * 8) as f64 / rate as f64;
    assert!(
        passed >= carried.bytes && passed_s <= elapsed.as_secs_f64(),
        "{passed} of {carried:?} in {elapsed:?}"
    );
}

/// A child that another test just forked holds the descriptors until it has become another program: not at once, but soon.
fn gone(namespace: &tare_net::namespace::Namespace, device: &str) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let devices = ip(namespace, "-o link");
        if !devices.contains(device) {
            return;
        }
        assert!(Instant::now() < deadline, "{devices}");
    }
}

#[test]
fn a_dropped_link_leaves_no_device_and_no_thread_even_with_packets_under_way() {
    if !permitted() {
        return;
    }
    let pair = Pair::joined(&DirectionPlan {
        delay_ns: 9_000 * MS,
        ..DirectionPlan::default()
    });
    let (near, _far) = datagrams(&pair);
    for _ in 0..100 {
        near.send(&[0; 1000]).unwrap();
    }
    let deadline = Instant::now() + PATIENCE;
    while pair.link.counts().there.entered_packets < 100 {
        assert!(Instant::now() < deadline);
        std::thread::yield_now();
    }
    assert_eq!(pair.link.counts().there.passed_packets, 0);
    let Pair { link, a, b } = pair;
    let before = Instant::now();
    drop(link);
    assert!(
        before.elapsed() < Duration::from_secs(8),
        "it waited for its packets"
    );
    gone(&a, "wan0");
    gone(&b, "wan0");
}

#[test]
fn thirty_links_one_after_the_other_leave_the_process_as_it_was() {
    if !permitted() {
        return;
    }
    let open = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let a = tare_net::namespace::Namespace::new().unwrap();
    let join = |number: u32| {
        use std::os::fd::AsFd;
        let names = [format!("one{number}"), format!("two{number}")];
        let names = [names[0].as_str(), names[1].as_str()];
        let plan = tare_net::link::LinkPlan::symmetric(names, &DirectionPlan::default(), 1);
        // Both ends in one namespace: that is allowed too.
        drop(tare_net::link::Link::start(a.as_fd(), a.as_fd(), &plan, &Arc::default()).unwrap());
    };
    join(0);
    // Other tests open and close files meanwhile: fewer than a leak of the ten of each link.
    let before = open();
    (1..=30).for_each(join);
    assert!(open() < before + 150, "{before} then {}", open());
    gone(&a, "one");
    gone(&a, "two");
}

#[test]
fn plans_that_make_no_sense_are_refused_with_the_reason() {
    if !permitted() {
        return;
    }
    let refused = |way: DirectionPlan, device: &str| {
        use std::os::fd::AsFd;
        let a = tare_net::namespace::Namespace::new().unwrap();
        let plan = tare_net::link::LinkPlan::symmetric([device, "two"], &way, 1);
        tare_net::link::Link::start(a.as_fd(), a.as_fd(), &plan, &Arc::default())
            .unwrap_err()
            .to_string()
    };
    let usual = DirectionPlan::default;
    assert!(
        refused(
            DirectionPlan {
                jitter_ns: 1,
                ..usual()
            },
            "one"
        )
        .contains("jitter is larger")
    );
    assert!(
        refused(
            DirectionPlan {
                loss: 1.0,
                ..usual()
            },
            "one"
        )
        .contains("leaves nothing")
    );
    assert!(
        refused(
            DirectionPlan {
                delay_ns: 11_000 * MS,
                ..usual()
            },
            "one"
        )
        .contains("at most 10 s")
    );
    let rate = DirectionPlan {
        rate_bits_per_s: Some(1000),
        ..usual()
    };
    assert!(refused(rate, "one").contains("needs a queue"));
    assert!(refused(usual(), "a-name-that-is-too-long").contains("cannot name a device"));
    // The kernel refuses a name that is there already.
    assert!(refused(usual(), "two").contains("cannot make the device two"));
}
