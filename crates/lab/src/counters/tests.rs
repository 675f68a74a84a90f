//! Tests of reading counters from pages, logs and commands.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::thread::JoinHandle;

use proptest::prelude::*;
use tare_record::counter::{
    CommandSource, CounterKind, JmxSource, JsonSource, LogSource, PrometheusSource, TextSource,
};

use super::*;

fn prometheus(url: &str) -> PrometheusSource {
    PrometheusSource {
        url: url.to_owned(),
        metric: "rq_total".to_owned(),
        edge: Some("route".to_owned()),
        label: None,
        fixed_label: None,
        only: BTreeMap::new(),
        missing: IfAbsent::Unknown,
        self_counted: false,
    }
}

fn reader(sources: Vec<(&str, CounterSource)>, edges: &[(&str, &str)]) -> CounterReader {
    let counters = sources.into_iter().map(|(name, source)| Counter {
        name: name.to_owned(),
        edge: None,
        source,
        scale: 1.0,
        kind: CounterKind::Counter,
    });
    CounterReader {
        connector: Connector::Host,
        instance: "proxy".to_owned(),
        edges: edges
            .iter()
            .map(|(id, name)| ((*id).to_owned(), (*name).to_owned()))
            .collect(),
        counters: counters.collect(),
        beans: None,
        own_readings: BTreeMap::new(),
        login: Some(Login::random().unwrap()),
    }
}

/// Serves these pages, one connection each, and ends.
fn serve(pages: Vec<String>) -> (String, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/stats", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        for page in pages {
            let (mut stream, _) = listener.accept().unwrap();
            let mut head = [0; 1024];
            assert!(stream.read(&mut head).unwrap() > 0);
            write!(
                stream,
                "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{page}",
                page.len()
            )
            .unwrap();
        }
    });
    (url, server)
}

const PAGE: &str = r#"
# HELP rq_total Requests
# TYPE rq_total counter
rq_total{route="a__b",code="200"} 5
rq_total{route="a__b",code="500"} 2 1700000000000
rq_total{route="admin",code="200"} 99
rq_total_more{route="a__b"} 1000
rq_total{code="200"} 7
rq_total{route="a__b",code="nan"} NaN
rubbish {{{ "
"#;

fn only(readings: &[CounterReading], name: &str) -> f64 {
    let all: Vec<&CounterReading> = readings
        .iter()
        .filter(|reading| reading.name == name)
        .collect();
    assert_eq!(all.len(), 1, "{readings:?}");
    all[0].value
}

#[test]
fn samples_of_an_edge_are_added_up_and_those_of_others_left_out() {
    let (url, server) = serve(vec![PAGE.to_owned()]);
    let source = CounterSource::Prometheus(prometheus(&url));
    let read = reader(
        vec![("requests", source)],
        &[("a__b", "a->b"), ("c__d", "c->d")],
    )
    .read();
    let readings = read.unwrap().readings;
    assert_eq!(only(&readings, "requests"), 7.0);
    assert_eq!(readings[0].edge.as_deref(), Some("a->b"));
    server.join().unwrap();
}

#[test]
fn several_counters_of_one_page_are_read_at_once_and_feed_one_name() {
    let (url, server) = serve(vec![PAGE.to_owned()]);
    let by_code = |code: &str| {
        CounterSource::Prometheus(PrometheusSource {
            only: BTreeMap::from([("code".to_owned(), code.to_owned())]),
            ..prometheus(&url)
        })
    };
    let sources = vec![
        ("requests", by_code("200")),
        ("requests", by_code("500")),
        ("x-ok", by_code("200")),
    ];
    let readings = reader(sources, &[("a__b", "a->b")])
        .read()
        .unwrap()
        .readings;
    assert_eq!(only(&readings, "requests"), 7.0);
    assert_eq!(only(&readings, "x-ok"), 5.0);
    server.join().unwrap();
}

#[test]
fn a_metric_that_is_not_there_is_unknown_unless_it_means_zero() {
    let (url, server) = serve(vec![PAGE.to_owned()]);
    let source = |missing| {
        CounterSource::Prometheus(PrometheusSource {
            metric: "tls_total".to_owned(),
            edge: None,
            missing,
            ..prometheus(&url)
        })
    };
    let sources = vec![
        ("tls-handshakes", source(IfAbsent::Zero)),
        ("tls-failures", source(IfAbsent::Unknown)),
    ];
    let readings = reader(sources, &[("a__b", "a->b")])
        .read()
        .unwrap()
        .readings;
    assert_eq!(only(&readings, "tls-handshakes"), 0.0);
    assert_eq!(readings.len(), 1, "unknown is no zero: {readings:?}");
    server.join().unwrap();
}

#[test]
fn a_counter_told_apart_by_edge_is_zero_for_each_edge_that_is_missing() {
    let (url, server) = serve(vec![PAGE.to_owned()]);
    let source = CounterSource::Prometheus(PrometheusSource {
        missing: IfAbsent::Zero,
        ..prometheus(&url)
    });
    let edges = [("a__b", "a->b"), ("c__d", "c->d")];
    let readings = reader(vec![("requests", source)], &edges)
        .read()
        .unwrap()
        .readings;
    let values: Vec<_> = readings
        .iter()
        .map(|reading| (reading.edge.as_deref().unwrap(), reading.value))
        .collect();
    assert_eq!(values, [("a->b", 7.0), ("c->d", 0.0)]);
    server.join().unwrap();
}

#[test]
fn a_counter_that_counts_its_own_readings_is_told_without_them() {
    // One real request between the two readings; each reading counts itself.
    let (url, server) = serve(vec!["requests 1\n".to_owned(), "requests 3\n".to_owned()]);
    let source = CounterSource::Text(TextSource {
        url,
        pattern: r"requests (?<value>\d+)".to_owned(),
        self_counted: true,
    });
    let mut reader = reader(vec![("requests", source)], &[("a__b", "a->b")]);
    assert_eq!(only(&reader.read().unwrap().readings, "requests"), 0.0);
    let readings = reader.read().unwrap().readings;
    assert_eq!(only(&readings, "requests"), 1.0);
    assert_eq!(
        readings[0].edge.as_deref(),
        Some("a->b"),
        "there is only one edge"
    );
    server.join().unwrap();
}

#[test]
fn a_number_in_json_is_found_by_its_pointer() {
    let (url, server) = serve(vec![r#"{"edges": [{"n": 4}], "name": "x"}"#.to_owned()]);
    let source = |pointer: &str, missing| {
        CounterSource::Json(JsonSource {
            url: url.clone(),
            pointer: pointer.to_owned(),
            missing,
            self_counted: false,
        })
    };
    let sources = vec![
        ("requests", source("/edges/0/n", IfAbsent::Unknown)),
        ("retries", source("/edges/0/m", IfAbsent::Zero)),
        ("connections", source("/edges/0/m", IfAbsent::Unknown)),
    ];
    let readings = reader(sources, &[("a__b", "a->b")])
        .read()
        .unwrap()
        .readings;
    assert_eq!(only(&readings, "requests"), 4.0);
    assert_eq!(only(&readings, "retries"), 0.0);
    assert_eq!(readings.len(), 2);
    server.join().unwrap();
}

#[test]
fn all_beans_are_asked_at_once_with_the_login() {
    let page = r#"[{"status": 200, "value": {"Count": 3}},
        {"status": 200, "value": {"m:name=In,topic=a": {"Count": 2}, "m:name=In,topic=b": {"Count": 1}}}]"#;
    let (url, server) = serve(vec![page.to_owned()]);
    let source = |bean: &str| {
        CounterSource::Jmx(JmxSource {
            bean: bean.to_owned(),
            attribute: "Count".to_owned(),
            multiply_by: None,
        })
    };
    let sources = [source("m:name=In"), source("m:name=In,topic=<*>")];
    let mut reader = reader(
        vec![
            ("x-in", sources[0].clone()),
            ("x-topic-in", sources[1].clone()),
        ],
        &[],
    );
    let sources = sources.iter().map(|source| match source {
        CounterSource::Jmx(from) => from,
        other => panic!("{other:?}"),
    });
    reader.beans = Some(Beans {
        url,
        bean_queries: bean_queries(sources).unwrap(),
    });
    let readings = reader.read().unwrap().readings;
    let values: Vec<_> = readings
        .iter()
        .map(|reading| (&*reading.name, reading.label.as_deref(), reading.value))
        .collect();
    let expected = [
        ("x-in", None, 3.0),
        ("x-topic-in", Some("a"), 2.0),
        ("x-topic-in", Some("b"), 1.0),
    ];
    assert_eq!(values, expected);
    server.join().unwrap();
}

#[test]
fn malformed_input_is_an_error_that_names_instance_and_counter() {
    for page in ["", "<html>", "{\"n\": \"many\"}", "\u{0}\u{1}"] {
        let (url, server) = serve(vec![page.to_owned()]);
        let source = CounterSource::Json(JsonSource {
            url,
            pointer: "/n".to_owned(),
            missing: IfAbsent::Zero,
            self_counted: false,
        });
        let said = reader(vec![("requests", source)], &[])
            .read()
            .unwrap_err()
            .to_string();
        assert!(
            said.contains("proxy") && said.contains("requests"),
            "{said}"
        );
        server.join().unwrap();
    }
}

fn log(file: PathBuf, pattern: &str) -> CounterSource {
    CounterSource::Log(LogSource {
        file: file.display().to_string(),
        pattern: pattern.to_owned(),
    })
}

#[test]
fn whole_lines_that_match_are_counted_by_edge_and_label() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("tls.log");
    let pattern = r"^tls (?<edge>\S+) (?<label>\S+)$";
    let mut reader = reader(
        vec![("tls-version", log(file.clone(), pattern))],
        &[("a__b", "a->b")],
    );
    assert!(
        reader.read().unwrap().readings.is_empty(),
        "no file, no lines"
    );
    fs::write(
        &file,
        "tls a__b TLSv1.3\nother\ntls a__b TLSv1.2\ntls a__b TLSv1.3\ntls z TLSv1.3\ntls a__b TLS",
    )
    .unwrap();
    let readings = reader.read().unwrap().readings;
    let values: Vec<_> = readings
        .iter()
        .map(|reading| (reading.label.as_deref().unwrap(), reading.value))
        .collect();
    assert_eq!(values, [("TLSv1.2", 1.0), ("TLSv1.3", 2.0)]);
    fs::write(&file, vec![0xff; 200_000]).unwrap();
    assert!(
        reader.read().unwrap().readings.is_empty(),
        "rubbish has no lines of ours"
    );
}

#[test]
fn a_log_and_a_page_that_are_longer_than_is_read_are_an_error() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("long.log");
    let file = fs::File::create(&path).unwrap();
    let mut lines = reader(vec![("lines", log(path, "x"))], &[]);
    file.set_len((256 << 20) + 1).unwrap();
    let said = lines.read().unwrap_err().to_string();
    assert!(said.contains("larger than 268435456 bytes"), "{said}");

    let (url, server) = serve(vec![" ".repeat((32 << 20) + 1)]);
    let source = CounterSource::Prometheus(prometheus(&url));
    let said = reader(vec![("requests", source)], &[])
        .read()
        .unwrap_err()
        .to_string();
    assert!(said.contains("larger than 33554432 bytes"), "{said}");
    // Its client is gone before the end.
    let _ = server.join();
}

#[test]
fn what_a_command_says_is_read_and_its_failure_told() {
    let source = |script: &str| {
        CounterSource::Command(CommandSource {
            command: vec!["sh".into(), "-c".into(), script.into()],
            pattern: r"n=(?<value>\S+)".to_owned(),
        })
    };
    let read = |script: &str| reader(vec![("requests", source(script))], &[]).read();
    assert_eq!(
        only(&read("echo n=3 n=4").unwrap().readings, "requests"),
        7.0
    );
    assert!(
        read("echo n=x")
            .unwrap_err()
            .to_string()
            .contains("not a number")
    );
    assert!(
        read("echo broken >&2; exit 1")
            .unwrap_err()
            .to_string()
            .contains("broken")
    );
}

#[test]
fn an_empty_label_is_none_and_a_fixed_label_names_the_only_series() {
    let page = "rq_total{id=\"a\"} 2\nrq_total{id=\"\"} 3\nrq_total 4\n";
    let mut from = prometheus("");
    from.edge = None;
    from.label = Some("id".to_owned());
    let by_label = |from: &PrometheusSource| -> Vec<(Option<String>, f64)> {
        let found = super::prometheus::find(page, from).into_iter();
        found.map(|one| (one.label, one.value)).collect()
    };
    assert_eq!(by_label(&from), [(Some("a".to_owned()), 2.0)]);
    from.label = None;
    from.fixed_label = Some("TLSv1.3".to_owned());
    assert_eq!(by_label(&from), [(Some("TLSv1.3".to_owned()), 9.0)]);
}

#[test]
fn escapes_in_labels_are_undone() {
    let sample = prometheus::sample(r#"m{a="x\"y\\z\n",b="{},="} 1e3"#).unwrap();
    assert_eq!(sample.labels["a"], "x\"y\\z\n");
    assert_eq!(sample.labels["b"], "{},=");
    assert_eq!(sample.value, 1000.0);
}

proptest! {
    #[test]
    fn no_line_whatever_makes_the_parser_panic(line in "\\PC{0,60}", tail in "[a-z{}=\",\\\\ 0-9é]{0,60}") {
        let _ = prometheus::sample(&line);
        let _ = prometheus::sample(&tail);
    }

    #[test]
    fn what_is_written_in_the_format_is_read_back(value in "[ -~]{0,20}", number in -1e12..1e12) {
        let escaped = value.replace('\\', "\\\\").replace('"', "\\\"");
        let line = format!("metric{{first=\"{escaped}\",second=\"x\"}} {number}");
        let sample = prometheus::sample(&line).unwrap();
        prop_assert_eq!(&sample.labels["first"], &value);
        prop_assert_eq!(&sample.labels["second"], "x");
        prop_assert_eq!(sample.value, number);
    }
}
