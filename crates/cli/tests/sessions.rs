//! Scripted sessions and random parts, as users start them, against a server that remembers what it was asked.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on says where by panicking"
)]

mod rig;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rig::{finish, stderr, stdout, tare, turn};

const LIMIT: Duration = Duration::from_secs(60);

/// One request as the server saw it.
#[derive(Debug, Clone)]
struct Asked {
    method: String,
    path: String,
    cookie: Option<String>,
    body: String,
}

/// An airline in small: a login that sets a cookie, offers for some pairs only, bookings for those who have the cookie.
struct Airline {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Airline {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let shared = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let shared = Arc::clone(&shared);
                std::thread::spawn(move || serve(stream.unwrap(), &shared));
            }
        });
        Self { address, asked }
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// Requests by the first word of their path.
    fn counts(&self) -> BTreeMap<String, u64> {
        let mut counts = BTreeMap::new();
        for asked in self.asked() {
            let word = asked.path.split(['/', '?']).nth(1).unwrap().to_owned();
            *counts.entry(word).or_default() += 1;
        }
        counts
    }
}

fn serve(stream: TcpStream, shared: &Mutex<Vec<Asked>>) {
    stream.set_nodelay(true).unwrap();
    let mut writer = stream.try_clone().unwrap();
    let mut reader = BufReader::new(stream);
    while let Some(asked) = read(&mut reader) {
        let (status, more, body) = answer(&asked);
        shared.lock().unwrap().push(asked);
        let length = body.len();
        let text = format!("HTTP/1.1 {status} x\r\n{more}Content-Length: {length}\r\n\r\n{body}");
        if writer.write_all(text.as_bytes()).is_err() {
            return;
        }
    }
}

fn read(reader: &mut BufReader<TcpStream>) -> Option<Asked> {
    let mut line = String::new();
    if reader.read_line(&mut line).ok()? == 0 {
        return None;
    }
    let mut words = line.split(' ');
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let (mut length, mut cookie) = (0, None);
    loop {
        let mut field = String::new();
        reader.read_line(&mut field).ok()?;
        let Some((name, value)) = field.trim_end().split_once(": ") else {
            break;
        };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse().unwrap(),
            "cookie" => cookie = Some(value.to_owned()),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Asked {
        method,
        path,
        cookie,
        body: String::from_utf8(body).unwrap(),
    })
}

/// Status, header lines and body.
fn answer(asked: &Asked) -> (u16, String, String) {
    let user = asked
        .cookie
        .as_deref()
        .and_then(|cookie| cookie.strip_prefix("Bearer=jwt-"));
    match (asked.path.as_str(), user) {
        ("/login", _) => {
            let login = asked.body.strip_prefix("login=").unwrap_or("nobody");
            let cookie = format!("Set-Cookie: Bearer=jwt-{login}; Path=/; HttpOnly\r\n");
            (200, cookie, "logged in".into())
        }
        (_, None) => (403, String::new(), "who are you?".into()),
        ("/query", Some(_)) if asked.body.contains("to=AMS") => {
            let found = r#"{"flights":[{"id":"f 7&x"}]}"#;
            (200, String::new(), found.into())
        }
        ("/query", Some(_)) => (200, String::new(), r#"{"flights":[]}"#.into()),
        ("/list", Some(_)) => {
            let bookings = r#"[{"n":"1"},{"n":"2"},{"n":"3"},{"n":"4"}]"#;
            (200, String::new(), bookings.into())
        }
        ("/broken", Some(_)) => (500, String::new(), "broken".into()),
        _ => (200, String::new(), "{}".into()),
    }
}

const SESSION: &str = r#"
session: airline
data:
  users: {rows: [{login: ann}, {login: bob}, {login: cid}], order: random}
steps:
  - name: login
    path: /login
    form: {login: "{{ users.login }}"}
  - loop: 4
    steps:
      - name: query
        path: /query
        form: {from: BOM, to: "{{ cycle:AMS,DEL }}"}
        capture:
          flight: {json: /flights/0/id, missing: unset}
      - if: flight
        name: book
        path: /book
        form: {flight: "{{ flight }}", user: "{{ users.login }}"}
      - name: list
        path: /list
        capture: {bookings: {all: /*/n, skip: 2}}
      - for: booking
        in: bookings
        steps:
          - name: cancel
            path: /cancel
            form: {number: "{{ booking }}"}
"#;

fn load(url: &str, args: &[&str]) -> (serde_json::Value, Option<i32>) {
    let args = [args, &["-q", "--no-calibrate"]].concat();
    let (found, output) = rig::load(url, &args, LIMIT);
    (found, output.status.code())
}

/// Successful responses by name.
fn ok(found: &serde_json::Value) -> BTreeMap<String, u64> {
    let outcomes = found["result"]["outcomes"].as_array().unwrap();
    outcomes
        .iter()
        .filter(|one| one["class"] == "ok" && one["request"] != "session")
        .map(|one| {
            let name = one["request"].as_str().unwrap().to_owned();
            (name, one["count"].as_u64().unwrap())
        })
        .collect()
}

#[test]
fn every_step_of_every_session_was_asked_as_often_as_the_result_says() {
    let _turn = turn();
    let airline = Airline::start();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("airline.yaml");
    std::fs::write(&file, SESSION).unwrap();
    let session = ["--session", file.to_str().unwrap()];

    let mut check = tare(&["load", &airline.url(), "--dry-run"]);
    let output = finish(check.args(session), LIMIT);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("/login"), "{}", stdout(&output));
    assert!(airline.asked().is_empty(), "a check sends nothing");

    for pace in [["--clients", "4"], ["--rate", "50"]] {
        let before = airline.asked().len();
        let more = [&session[..], &pace[..], &["-n", "20"]].concat();
        let (found, code) = load(&airline.url(), &more);
        assert_eq!(code, Some(0), "{found:#}");
        assert_eq!(found["result"]["errors"], 0, "{found:#}");
        let counts = ok(&found);
        let asked = airline.asked().split_off(before);
        for (name, count) in &counts {
            let path = format!("/{name}");
            let there = asked.iter().filter(|asked| asked.path == path).count();
            assert_eq!(there as u64, *count, "{name}");
        }
        let of = |name: &str| counts.get(name).copied().unwrap_or(0);
        assert_eq!(
            (of("login"), of("query"), of("list"), of("cancel")),
            (20, 80, 80, 160)
        );
        // Every second pair has a flight, in turn.
        assert_eq!(of("book"), 40);
    }
    for asked in airline.asked() {
        match asked.path.as_str() {
            "/login" => assert_eq!(asked.cookie, None, "each session begins without cookies"),
            "/book" => {
                let user = asked.cookie.unwrap().split_off("Bearer=jwt-".len());
                assert_eq!(asked.body, format!("flight=f+7%26x&user={user}"));
                assert_eq!(asked.method, "POST");
            }
            "/cancel" => assert!(["number=3", "number=4"].contains(&asked.body.as_str())),
            _ => assert!(asked.cookie.is_some(), "{asked:?}"),
        }
    }
}

#[test]
fn a_step_that_fails_ends_its_session_and_is_told_by_its_class() {
    let _turn = turn();
    let airline = Airline::start();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("broken.yaml");
    let text = "
session: broken
steps:
  - {name: login, path: /login, form: {login: ann}}
  - {name: broken, path: /broken}
  - {name: never, path: /never}
";
    std::fs::write(&file, text).unwrap();
    let args = ["--session", file.to_str().unwrap(), "-c", "2", "-n", "6"];
    let (found, _) = load(&airline.url(), &args);
    let outcomes = found["result"]["outcomes"].as_array().unwrap();
    let is_broken = |one: &&serde_json::Value| one["request"] == "broken";
    let broken = outcomes.iter().find(is_broken).unwrap();
    assert_eq!(
        (&broken["class"], &broken["count"]),
        (&"status-500".into(), &6.into())
    );
    let counts = airline.counts();
    assert_eq!((counts["login"], counts["broken"]), (6, 6));
    assert_eq!(counts.get("never"), None);
}

#[test]
fn random_parts_reach_the_server_each_number_once() {
    let _turn = turn();
    let airline = Airline::start();
    let url = format!("{}/item/{{seq}}?n={{int:1..9}}&id={{uuid}}", airline.url());
    let args = [
        "--templates",
        "--expect-status",
        "any",
        "-n",
        "200",
        "-c",
        "4",
    ];
    let (found, code) = load(&url, &[&args[..], &["-w", "2"]].concat());
    assert_eq!(code, Some(0), "{found:#}");
    let mut numbers: Vec<u64> = airline
        .asked()
        .iter()
        .map(|asked| {
            let rest = asked.path.strip_prefix("/item/").unwrap();
            let (seq, rest) = rest.split_once("?n=").unwrap();
            let (n, id) = rest.split_once("&id=").unwrap();
            assert!((1..=9).contains(&n.parse::<u64>().unwrap()), "{n}");
            assert_eq!(id.len(), 36, "{id}");
            seq.parse().unwrap()
        })
        .collect();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), 200);
}
