//! Recorded pages of real exporters, of both generations, with rules and without: what they tell of a broker.

#![expect(
    clippy::unwrap_used,
    reason = "the functions beside the tests fail as the tests do"
)]

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;

use tare_lab::metrics::MetricsReader;
use tare_lab::targets::Target;
use tare_record::counter::CounterReading;
use tare_record::load::AddressPolicy;
use tare_record::metrics_source::MetricsSourceDef;

/// What is read of a page that is served once.
fn read(page: &'static str) -> Vec<CounterReading> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let source = MetricsSourceDef {
        prometheus: vec![listener.local_addr().unwrap().to_string()],
        ..MetricsSourceDef::default()
    };
    let served = std::thread::spawn(move || {
        // Whether it is there at all is tried first.
        let _tried = listener.accept().unwrap();
        let (mut stream, _) = listener.accept().unwrap();
        let mut head = [0; 4096];
        assert!(stream.read(&mut head).unwrap() > 0);
        write!(stream, "HTTP/1.1 200 OK\r\n\r\n{page}").unwrap();
    });
    let kafka = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../targets/kafka");
    let target = Target::load(&kafka).unwrap();
    let reader = MetricsReader::new(&target, &source, None, AddressPolicy::Private).unwrap();
    let mut all = reader.read(|_| true, Duration::from_secs(60));
    served.join().unwrap();
    all.remove(0).readings.unwrap()
}

#[test]
fn real_pages_tell_what_was_written_by_whatever_names() {
    for (page, has_means) in [
        (include_str!("pages/with-rules-0.20.0.prom"), false),
        (include_str!("pages/with-rules-1.0.1.prom"), false),
        (include_str!("pages/without-rules-0.20.0.prom"), true),
        (include_str!("pages/without-rules-1.0.1.prom"), true),
    ] {
        let of = page.lines().next().unwrap();
        let readings = read(page);
        let value = |name: &str, label: Option<&str>| {
            let mut same = readings
                .iter()
                .filter(|one| one.name == name && one.label.as_deref() == label);
            let value = same.next().map(|one| one.value);
            assert!(same.next().is_none(), "{of}: {name} twice");
            value
        };
        for (name, label, expected) in [
            ("x-messages-in", None, 340.0),
            ("x-topic-messages-in", Some("orders"), 300.0),
            ("x-topic-messages-in", Some("a.b_c"), 40.0),
            ("x-bytes-in", None, 37_418.0),
            ("x-topic-bytes-in", Some("orders"), 32_997.0),
            ("x-bytes-out", None, 0.0),
            ("x-bytes-rejected", None, 0.0),
            ("x-failed-produce-requests", None, 0.0),
            ("replication-bytes-in", None, 0.0),
            ("x-replication-bytes-out", None, 0.0),
            ("x-produce-requests", None, 2.0),
            ("x-fetch-consumer-requests", None, 0.0),
            ("x-fetch-follower-requests", None, 0.0),
            ("x-under-replicated-partitions", None, 0.0),
            ("x-isr-shrinks", None, 0.0),
            ("x-isr-expands", None, 0.0),
        ] {
            assert_eq!(value(name, label), Some(expected), "{of}: {name} {label:?}");
        }
        let flushes = value("x-log-flushes", None).unwrap();
        assert!(flushes >= 2.0, "{of}: {flushes}");
        let heap = value("x-heap-bytes", None).unwrap();
        assert!((1e7..1e9).contains(&heap), "{of}: {heap}");
        let young = Some("G1 Young Generation");
        let [pauses, ms] = ["x-gc-pauses", "x-gc-ms"].map(|name| value(name, young).unwrap());
        assert!(pauses >= 1.0 && ms > pauses, "{of}: {pauses} in {ms} ms");
        // The rules leave means out, and then the sums are not known.
        let total = value("x-produce-ms", Some("Total"));
        assert_eq!(total.is_some(), has_means, "{of}: {total:?}");
        assert_eq!(value("x-log-flush-ms", None).is_some(), has_means, "{of}");
        let phases = readings.iter().filter(|one| one.name == "x-produce-ms");
        assert_eq!(phases.count(), if has_means { 7 } else { 0 }, "{of}");
    }
}
