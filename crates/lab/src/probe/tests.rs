//! Tests of ready probes.

mod health;

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;

use super::*;

const LONG: Duration = Duration::from_secs(20);

fn wait(probe: &ReadinessProbe, within: Duration) -> Readiness {
    probe.wait(&Connector::Host, within, &mut || InstanceState::Running)
}

#[test]
fn a_port_is_ready_when_it_accepts() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let probe = ReadinessProbe::Tcp(listener.local_addr().unwrap().to_string());
    assert!(matches!(wait(&probe, LONG), Readiness::Ready(_)));
    drop(listener);
    assert!(
        probe
            .ask(&Connector::Host)
            .unwrap_err()
            .contains("no connection")
    );
}

#[test]
fn a_page_is_ready_with_status_200_only() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let probe = ReadinessProbe::Http(format!("http://{}/ready", listener.local_addr().unwrap()));
    let server = std::thread::spawn(move || {
        for answer in ["503 Not Yet", "200 OK"] {
            let (mut stream, _) = listener.accept().unwrap();
            let mut head = [0; 1024];
            assert!(stream.read(&mut head).unwrap() > 0);
            write!(stream, "HTTP/1.1 {answer}\r\nContent-Length: 0\r\n\r\n").unwrap();
        }
    });
    assert!(matches!(wait(&probe, LONG), Readiness::Ready(_)));
    server.join().unwrap();
}

#[test]
fn a_proxy_is_ready_when_its_page_names_all_that_it_calls() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = |path: &str| format!("http://{}/{path}", listener.local_addr().unwrap());
    let probe = ReadinessProbe::All(vec![
        ReadinessProbe::Http(url("ready")),
        ReadinessProbe::Lines {
            url: url("clusters"),
            lines: vec![String::from("a::healthy"), String::from("b::healthy")],
        },
    ]);
    let server = std::thread::spawn(move || {
        for text in [
            "",
            "a::healthy\nb::failed\n",
            "",
            "b::healthy\na::healthy\n",
        ] {
            let (mut stream, _) = listener.accept().unwrap();
            let mut head = [0; 1024];
            assert!(stream.read(&mut head).unwrap() > 0);
            let length = text.len();
            write!(
                stream,
                "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{text}"
            )
            .unwrap();
        }
    });
    let said = probe.ask(&Connector::Host).unwrap_err();
    assert!(said.contains("does not say `b::healthy`"), "{said}");
    assert_eq!(probe.ask(&Connector::Host), Ok(()));
    server.join().unwrap();
}

#[test]
fn a_log_line_makes_ready_when_it_is_written() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("output.log");
    let probe = ReadinessProbe::Log {
        file: file.clone(),
        pattern: "^all .* up$".to_owned(),
    };
    assert!(probe.ask(&Connector::Host).is_err(), "there is no file yet");
    fs::write(&file, "starting\n").unwrap();
    let mut asked = 0;
    let waited = probe.wait(&Connector::Host, LONG, &mut || {
        asked += 1;
        if asked == 3 {
            fs::write(&file, "starting\nall things up\n").unwrap();
        }
        InstanceState::Running
    });
    assert!(matches!(waited, Readiness::Ready(_)));
    assert_eq!(asked, 3);
}

#[test]
fn a_command_is_ready_when_it_ends_well() {
    let sh = |code: &str| {
        ReadinessProbe::Command(vec!["sh".into(), "-c".into(), format!("exit {code}")])
    };
    assert!(sh("0").ask(&Connector::Host).is_ok());
    assert!(sh("4").ask(&Connector::Host).unwrap_err().contains('4'));
}

#[test]
fn what_never_serves_is_told_with_the_last_answer() {
    let probe = ReadinessProbe::Tcp("127.0.0.1:1".to_owned());
    let Readiness::NotReady { answer, .. } = wait(&probe, Duration::from_millis(20)) else {
        panic!("it is ready")
    };
    assert!(answer.contains("127.0.0.1:1"), "{answer}");
}

#[test]
fn nothing_is_waited_for_when_the_process_is_gone() {
    let probe = ReadinessProbe::Tcp("127.0.0.1:1".to_owned());
    assert_eq!(
        probe.wait(&Connector::Host, LONG, &mut || InstanceState::Ended),
        Readiness::Gone
    );
}
