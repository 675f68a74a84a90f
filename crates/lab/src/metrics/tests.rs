//! Tests of addresses, of what is refused before anything is asked, and of what is said of those who do not answer.

use std::io::{Read, Write};
use std::net::TcpListener;

use tare_experiment::target::TargetDef;

use super::*;

const DEFINITION: &str = r#"
target: app
about: A Java process
get: [{path: app}]
version: {command: ["{{ bin }}"], pattern: '(\d+)'}
roles: [app]
protocols: [tcp]
start: ["{{ bin }}"]
ready: {tcp: "{{ listen }}", timeout: 5s}
counters:
  - {name: x-in, from: {jmx: {bean: "a:name=In", attribute: Count}}}
  - {name: connections, from: {jmx: {bean: "a:port={{ port }}", attribute: Count}}}
jmx: {jolokia: "http://{{ admin }}/", sign: x-in, remote: [java, "{{ folder }}/A.java"]}
"#;

fn target() -> Target {
    Target {
        def: TargetDef::from_yaml(DEFINITION, Path::new("app/target.yaml")).unwrap(),
        folder: "/targets/app".into(),
        version: None,
    }
}

fn reader(way: MetricsWay, at: &str, login: Option<Login>) -> Result<MetricsReader, LabError> {
    let mut source = MetricsSourceDef::default();
    let list = match way {
        MetricsWay::Jolokia => &mut source.jolokia,
        MetricsWay::Prometheus => &mut source.prometheus,
        MetricsWay::Jmx => &mut source.jmx,
    };
    list.push(at.to_owned());
    MetricsReader::new(&target(), &source, login, AddressPolicy::Private)
}

const LONG: Duration = Duration::from_secs(60);

/// What the only instance tells.
fn told(reader: &MetricsReader, within: Duration) -> Result<Vec<CounterReading>, String> {
    let mut all = reader.read(|_| true, within);
    assert_eq!(all.len(), 1);
    all.remove(0).readings.map_err(|error| error.to_string())
}

/// Answers one connection that comes to nothing, and one with this text.
fn answering(text: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap().to_string();
    let text = text.to_owned();
    std::thread::spawn(move || {
        let _tried = listener.accept().unwrap();
        let (mut stream, _) = listener.accept().unwrap();
        let mut head = [0; 4096];
        let read = stream.read(&mut head).unwrap();
        let head = String::from_utf8_lossy(&head[..read]).into_owned();
        stream.write_all(text.as_bytes()).unwrap();
        head
    });
    at
}

#[test]
fn addresses_have_a_port_and_a_usual_path() {
    let at = |way, named: &str| place(way, named).map(|place| (place.authority, place.path));
    let is = |authority: &str, path: &str| Ok((authority.to_owned(), path.to_owned()));
    use MetricsWay::{Jmx, Jolokia, Prometheus};
    assert_eq!(at(Jolokia, "k1:8778"), is("k1:8778", "/jolokia/"));
    assert_eq!(at(Jolokia, "http://k1:8778/"), is("k1:8778", "/jolokia/"));
    assert_eq!(at(Jolokia, "http://k1:80/j"), is("k1:80", "/j"));
    assert_eq!(at(Prometheus, "[::1]:9404"), is("[::1]:9404", "/metrics"));
    assert_eq!(at(Jmx, "k1:9999"), is("k1:9999", ""));
    for (way, wrong, said) in [
        (Jolokia, "https://k1:8778/jolokia", "TLS"),
        (Jolokia, "k1", "no port"),
        (Jolokia, "http://k1/jolokia", "no port"),
        (Jolokia, "http://ann:secret@k1:80/", "password"),
        (Jolokia, "ftp://k1:80/", "http://"),
        (Prometheus, "k1:0", "no port"),
        (Prometheus, "::1:80", "not an address"),
        (Prometheus, "http://unix:/tmp/a:/b", "no port"),
        (Prometheus, "k1:80/a b", "blanks"),
        (
            Jmx,
            "service:jmx:rmi:///jndi/rmi://k1:9999/jmxrmi",
            "HOST:PORT",
        ),
        (Jmx, "k 1:9999", "not an address"),
        (Jmx, ":9999", "not an address"),
    ] {
        let refused = at(way, wrong).unwrap_err();
        assert!(
            refused.contains(said) && refused.contains("HOST:PORT"),
            "{wrong}: {refused}"
        );
        assert!(!refused.contains("secret"), "{refused}");
    }
}

#[test]
fn counters_of_listeners_are_not_asked_of_others() {
    let reader = reader(MetricsWay::Jmx, "127.0.0.1:1", None).unwrap();
    assert_eq!(reader.bean_queries.len(), 1);
    assert_eq!(reader.bean_queries[0].bean, "a:name=In");
    assert_eq!(reader.remote, ["java", "/targets/app/A.java"]);
}

#[test]
fn a_login_cannot_bring_lines_of_its_own() {
    let login = Login {
        user: "ann".to_owned(),
        password: "a\nb".to_owned(),
    };
    let said = reader(MetricsWay::Jmx, "127.0.0.1:1", Some(login)).unwrap_err();
    assert!(said.to_string().contains("control character"), "{said}");
}

#[test]
fn a_public_address_is_not_called() {
    for way in [MetricsWay::Jolokia, MetricsWay::Prometheus, MetricsWay::Jmx] {
        let reader = reader(way, "203.0.113.7:9999", None).unwrap();
        let said = told(&reader, LONG).unwrap_err();
        assert!(said.contains("--allow-public-target"), "{said}");
    }
}

#[test]
fn those_who_do_not_answer_as_they_should_are_told_with_the_next_step() {
    let page = |status: &str, body: &str| {
        format!(
            "HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    for (answer, said) in [
        (page("401 No", ""), "--metrics-user"),
        (page("404 None", ""), "whole address"),
        (page("500 Broken", ""), "status 500"),
        (page("200 OK", "<html>"), "not valid JSON"),
        (page("200 OK", r#"[{"status": 404}]"#), "right process"),
        (
            page("200 OK", r#"[{"status": 403, "error": "not you"}]"#),
            "not you",
        ),
        ("SSH-2.0-x\r\n".to_owned(), "without TLS"),
    ] {
        let reader = reader(MetricsWay::Jolokia, &answering(&answer), None).unwrap();
        let refused = told(&reader, LONG).unwrap_err();
        assert!(refused.contains(said), "{answer}: {refused}");
    }
    let reader = reader(
        MetricsWay::Prometheus,
        &answering(&page("200 OK", "other 1\n")),
        None,
    );
    assert!(
        told(&reader.unwrap(), LONG)
            .unwrap_err()
            .contains("right process")
    );
}

#[test]
fn one_that_refuses_and_one_that_hangs_are_told_apart() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap().to_string();
    let hanging = reader(MetricsWay::Prometheus, &at, None).unwrap();
    // It is waited for as long as finding it has left: long enough that a busy machine leaves something.
    let said = told(&hanging, Duration::from_secs(2)).unwrap_err();
    assert!(
        said.contains("no whole answer within 2.0 s")
            || said.contains("no whole answer within 1.")
            || said.contains("no whole answer within 0."),
        "{said}"
    );
    drop(listener);
    let said = told(&hanging, LONG).unwrap_err();
    assert!(said.contains("no connection to 127.0.0.1:"), "{said}");
}

#[test]
fn the_login_is_shown_to_a_page() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap().to_string();
    let served = std::thread::spawn(move || {
        let _tried = listener.accept().unwrap();
        let (mut stream, _) = listener.accept().unwrap();
        let mut head = [0; 4096];
        let read = stream.read(&mut head).unwrap();
        stream
            .write_all(b"HTTP/1.1 200 OK\r\n\r\na_In_Count 4\n")
            .unwrap();
        String::from_utf8_lossy(&head[..read]).into_owned()
    });
    let login = Login {
        user: "Aladdin".to_owned(),
        password: "open sesame".to_owned(),
    };
    let reader = reader(MetricsWay::Prometheus, &at, Some(login)).unwrap();
    let readings = told(&reader, LONG).unwrap();
    assert_eq!(readings.len(), 1);
    assert_eq!(
        (readings[0].name.as_str(), readings[0].value),
        ("x-in", 4.0)
    );
    let head = served.join().unwrap();
    assert!(head.starts_with("GET /metrics HTTP/1.1\r\n"), "{head}");
    assert!(
        head.contains("Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n"),
        "{head}"
    );
}
