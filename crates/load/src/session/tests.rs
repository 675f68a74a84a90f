//! Complete sessions on the virtual clock: what they send, capture, repeat and count.

use std::io::Write as _;
use std::sync::{Arc, Mutex};

use flate2::write::GzEncoder;
use tare_record::load::{DataTable, SessionSpec, Stop};

use super::{Program, SessionRequests, SessionRequestsPlan, Sessions};
use crate::arrivals::{Arrivals, ClosedLoop, SharedCount};
use crate::client::ConnId;
use crate::engine::sim::{Act, MS, Rule, S, Sim, connections};
use crate::engine::{ExchangeRecorder, SessionWindow};
use crate::protocols::ConnectionSecurity;
use crate::protocols::http1::client::Http1Client;
use crate::template::{Filler, Moment};

type Log = Arc<Mutex<Vec<String>>>;

/// Result of a run: everything sent, and the counts.
struct Ran {
    sent: Vec<String>,
    counts: crate::engine::WorkerCounts,
    classes: Vec<String>,
}

impl Ran {
    fn count(&self, start: &str) -> usize {
        self.sent
            .iter()
            .filter(|sent| sent.starts_with(start))
            .count()
    }
}

/// Runs sessions of three users, one after the other; a rule maps the text of a request to the response.
fn run<R: Into<Vec<u8>>>(
    steps: serde_json::Value,
    sessions: u64,
    rule: impl Fn(&str) -> R + 'static,
) -> Ran {
    run_with(steps, sessions, Vec::new(), rule)
}

fn run_with<R: Into<Vec<u8>>>(
    steps: serde_json::Value,
    sessions: u64,
    tables: Vec<DataTable>,
    rule: impl Fn(&str) -> R + 'static,
) -> Ran {
    let spec: SessionSpec =
        serde_json::from_value(serde_json::json!({ "steps": steps, "cookies": "kept" })).unwrap();
    let program = Arc::new(Program::new(&spec, &tables, "test").unwrap());
    let filler = Filler::new(1, (0, 1), tables.into(), program.cycles, Moment::of_unix(0));
    let scripted = SessionRequests::new(SessionRequestsPlan {
        program,
        filler,
        part: (0, 1),
        clock: (S, 1_795_219_200),
        security: ConnectionSecurity::Plain,
    });
    let pool = Http1Client::new(scripted, &connections(3, 10 * S));
    let stop = Stop::Count {
        exchanges: sessions,
    };
    let shared = SharedCount::new(sessions, 1);
    let arrivals = Arrivals::ClosedLoop(ClosedLoop::new(3, 0, 0, stop, &shared));
    let log = Log::default();
    let seen = Arc::clone(&log);
    let far = Rule(move |_now: u64, _conn: ConnId, bytes: &[u8]| {
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        let answer = rule(&text);
        seen.lock().unwrap().push(text);
        vec![(MS, Act::Send(answer.into()))]
    });
    let for_sessions = |recorder: ExchangeRecorder| recorder.for_sessions(SessionWindow::Counted);
    let mut sim = Sim::with_recorder(Sessions::new(pool, 3), arrivals, 3, far, for_sessions);
    sim.run_until(3600 * S);
    let counts = sim.engine.recorder().counts().clone();
    let classes = sim
        .classes
        .seen()
        .iter()
        .map(|seen| seen.class.to_string())
        .collect();
    let sent = log.lock().unwrap().clone();
    Ran {
        sent,
        counts,
        classes,
    }
}

fn ok(headers: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\n{headers}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn request(name: &str, path: &str) -> serde_json::Value {
    request_step(name, path, serde_json::json!([]), "abort")
}

fn request_step(
    name: &str,
    path: &str,
    captures: serde_json::Value,
    on_failure: &str,
) -> serde_json::Value {
    serde_json::json!({ "probability": 1.0, "condition": null, "action": {
        "action": "request", "captures": captures, "capture_bytes_max": 100, "on_failure": on_failure,
        "request": { "name": name, "weight": 1.0, "method": "GET", "path": path, "headers": [["X-T", "{{ seq }}"]],
            "body": { "kind": "none" }, "template": "session", "expect": { "status": "success", "body": "any" } } } })
}

fn step(
    probability: f64,
    condition: serde_json::Value,
    action: serde_json::Value,
) -> serde_json::Value {
    serde_json::json!({ "probability": probability, "condition": condition, "action": action })
}

#[test]
fn values_are_captured_from_a_body_in_gzip_and_one_in_another_coding_is_named() {
    let captures = serde_json::json!([
        { "name": "id", "from": { "from": "json", "pointer": "/id" }, "missing": "fails" },
    ]);
    let steps = serde_json::json!([
        request_step("first", "/first", captures, "abort"),
        request("second", "/second/{{ id }}"),
    ]);
    let body = |coding: &str| {
        let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(br#"{"id": "seven"}"#).unwrap();
        let body = encoder.finish().unwrap();
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        [head.into_bytes(), body].concat()
    };
    let ran = run(steps.clone(), 3, move |_| body("gzip"));
    assert_eq!(ran.count("GET /second/seven "), 3, "{:?}", ran.classes);
    let ran = run(steps, 3, move |_| body("br"));
    assert_eq!(ran.classes[0], "content-encoding");
    assert_eq!(ran.count("GET /second"), 0);
}

#[test]
fn what_an_answer_gave_is_sent_later_encoded_for_its_place() {
    let captures = serde_json::json!([
        { "name": "id", "from": { "from": "json", "pointer": "/items/1/id" }, "missing": "fails" },
        { "name": "etag", "from": { "from": "header", "name": "ETag" }, "missing": "fails" },
        { "name": "word", "from": { "from": "regex", "pattern": "w=(\\w+)" }, "missing": "fails" },
        { "name": "none", "from": { "from": "json", "pointer": "/no" }, "missing": "unset" },
    ]);
    let steps = serde_json::json!([
        request_step("first", "/first", captures, "abort"),
        request("second", "/{{ id }}?e={{ etag }}&w={{ word }}"),
        step(
            1.0,
            serde_json::json!({ "has": "none" }),
            serde_json::json!({ "action": "group", "steps": [request("never", "/never")] })
        ),
    ]);
    let ran = run(steps, 5, |_| {
        ok(
            "eTag: \"a b\"\r\n",
            r#"{"items":[{},{"id":"x/y z"}],"t":"w=hi"}"#,
        )
    });
    assert_eq!(
        ran.count("GET /x%2Fy%20z?e=%22a%20b%22&w=hi HTTP/1.1\r\n"),
        5
    );
    assert_eq!((ran.count("GET /first "), ran.count("GET /never")), (5, 0));
    assert_eq!((ran.counts.window.intended, ran.counts.window.ok), (5, 5));
    assert_eq!(
        (ran.counts.within.window.ok, ran.counts.exchanges().sent),
        (10, 10)
    );
}

#[test]
fn loops_lists_choices_and_probabilities_count_as_the_seed_has_it() {
    let list = serde_json::json!([
        { "name": "ids", "from": { "from": "json-all", "pointer": "/*/id", "skip": 2 }, "missing": "fails" }]);
    let steps = serde_json::json!([
        request_step("list", "/list", list, "abort"),
        step(
            1.0,
            serde_json::Value::Null,
            serde_json::json!({ "action": "each", "item": "id", "list": "ids",
            "steps": [request("cancel", "/cancel/{{ id }}")] })
        ),
        step(
            1.0,
            serde_json::Value::Null,
            serde_json::json!({ "action": "loop", "least": 5, "most": 5, "condition": null,
            "steps": [request("look", "/look")] })
        ),
        step(
            0.25,
            serde_json::Value::Null,
            serde_json::json!({ "action": "group", "steps": [request("seldom", "/seldom")] })
        ),
        step(
            1.0,
            serde_json::Value::Null,
            serde_json::json!({ "action": "choose", "branches": [
            { "weight": 3.0, "steps": [request("often", "/often")] },
            { "weight": 1.0, "steps": [request("rare", "/rare")] }] })
        ),
    ]);
    let rule = |_: &str| ok("", r#"[{"id":1},{"id":2},{"id":3},{"id":"four"}]"#);
    let ran = run(steps.clone(), 400, rule);
    assert_eq!(
        (ran.count("GET /cancel/3 "), ran.count("GET /cancel/four ")),
        (400, 400)
    );
    assert_eq!(
        (ran.count("GET /cancel/1"), ran.count("GET /look ")),
        (0, 2000)
    );
    assert!(
        (70..=130).contains(&ran.count("GET /seldom ")),
        "{}",
        ran.count("GET /seldom ")
    );
    assert_eq!(ran.count("GET /often ") + ran.count("GET /rare "), 400);
    assert!((260..=340).contains(&ran.count("GET /often ")));
    assert_eq!(ran.counts.window.ok, 400);
    let again = run(steps, 400, rule);
    assert_eq!(
        again.count("GET /seldom "),
        ran.count("GET /seldom "),
        "the seed decides"
    );
}

#[test]
fn cookies_come_back_within_their_session_and_only_there() {
    let steps = serde_json::json!([
        request("in", "/in"),
        request("at", "/in/at"),
        request("out", "/out")
    ]);
    let rule = |sent: &str| match sent.starts_with("GET /in HTTP") {
        true => ok("Set-Cookie: a=1; Path=/in\r\nSet-Cookie: b=2\r\n", ""),
        false => ok("", ""),
    };
    let ran = run(steps, 4, rule);
    let cookies = |start: &str| -> Vec<bool> {
        let of = ran.sent.iter().filter(|sent| sent.starts_with(start));
        of.map(|sent| sent.contains("\r\nCookie: ")).collect()
    };
    assert_eq!(
        cookies("GET /in HTTP"),
        [false; 4],
        "a new session begins without any"
    );
    assert_eq!(
        ran.sent
            .iter()
            .filter(|s| s.contains("\r\nCookie: a=1; b=2\r\n\r\n"))
            .count(),
        4
    );
    assert_eq!(
        ran.sent
            .iter()
            .filter(|s| s.contains("\r\nCookie: b=2\r\n\r\n"))
            .count(),
        4
    );
}

#[test]
fn a_failed_step_ends_its_session_or_is_only_counted() {
    for (on_failure, sent, failed_at) in [("abort", 0, 6), ("continue", 6, 6)] {
        let steps = serde_json::json!([
            request_step("bad", "/bad", serde_json::json!([]), on_failure),
            request("then", "/then")
        ]);
        let rule = |sent: &str| match sent.starts_with("GET /bad") {
            true => "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n".to_owned(),
            false => ok("", ""),
        };
        let ran = run(steps, 6, rule);
        assert_eq!(ran.count("GET /then"), sent);
        assert_eq!(
            (ran.counts.window.errors, ran.counts.window.ok),
            (failed_at, 0)
        );
        assert_eq!(ran.counts.within.window.errors, 6);
        assert_eq!(ran.classes, ["status-500", "failed-step"]);
    }
}

#[test]
fn what_cannot_be_captured_is_an_error_with_its_name() {
    let json = |missing: &str| {
        serde_json::json!([
        { "name": "x", "from": { "from": "json", "pointer": "/x" }, "missing": missing }])
    };
    let class = |body: &'static str, missing: &str| {
        let steps = serde_json::json!([request_step("one", "/one", json(missing), "abort")]);
        run(steps, 1, move |_| ok("", body)).classes
    };
    assert_eq!(class("{}", "fails"), ["capture-missing", "failed-step"]);
    assert!(class("{}", "unset").is_empty());
    assert!(class("{\"x\":null}", "unset").is_empty());
    assert_eq!(
        class("{oops", "unset"),
        ["capture-invalid-json", "failed-step"]
    );
    let large = "[\"0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789\"]";
    assert_eq!(class(large, "unset"), ["capture-too-large", "failed-step"]);
}

#[test]
fn a_captured_line_break_never_reaches_the_wire() {
    let captures = serde_json::json!([
        { "name": "x", "from": { "from": "json", "pointer": "/x" }, "missing": "fails" }]);
    let mut second = request("second", "/second");
    second["action"]["request"]["headers"] = serde_json::json!([["X-Copy", "{{ x }}"]]);
    let steps = serde_json::json!([request_step("first", "/first", captures, "abort"), second]);
    let ran = run(steps, 2, |_| ok("", r#"{"x":"a\r\nEvil: 1"}"#));
    assert_eq!((ran.count("GET /first"), ran.count("GET /second")), (2, 0));
    assert_eq!(ran.classes, ["template-error", "failed-step"]);
    assert_eq!(ran.counts.within.window.errors, 2);
}

#[test]
fn a_pause_moves_the_next_start_and_is_no_part_of_any_latency() {
    let think = step(
        1.0,
        serde_json::Value::Null,
        serde_json::json!({ "action": "think", "from_ns": 1000 * MS, "to_ns": 1000 * MS }),
    );
    let steps = serde_json::json!([request("one", "/one"), think, request("two", "/two")]);
    let ran = run(steps, 30, |_| ok("", ""));
    assert_eq!(ran.counts.within.window.ok, 60);
    // Three users, ten sessions each of 1 s + 2 × 1 ms.
    let took_ns = ran.counts.last_done_ns - S;
    assert!((10_020 * MS..10_025 * MS).contains(&took_ns), "{took_ns}");
}

#[test]
fn unique_rows_are_never_shared_by_two_sessions_under_way() {
    let table = |rows: usize| DataTable {
        name: "users".into(),
        columns: vec!["name".into()],
        rows: (0..rows).map(|row| vec![format!("u{row}")]).collect(),
        order: tare_record::load::Rows::Unique,
    };
    let steps = serde_json::json!([
        request("one", "/{{ users.name }}"),
        request("two", "/2/{{ users.name }}")
    ]);
    let enough = run_with(steps.clone(), 30, vec![table(3)], |_| ok("", ""));
    assert_eq!(enough.counts.window.ok, 30);
    let few = run_with(steps, 30, vec![table(2)], |_| ok("", ""));
    assert!(few.counts.window.errors > 0);
    assert_eq!(few.classes, ["data-exhausted"]);
}
