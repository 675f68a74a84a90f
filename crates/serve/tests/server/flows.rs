//! What is done with the server: runs and loads, from their start to their archive.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use serde_json::{Value, json};

use crate::history::maker::measure;
use crate::history::night;
use crate::rig::{PATIENCE, Server, events_until, tare};

/// A short run without proxies: nothing has to be fetched.
pub fn experiment(blocks: u32) -> Value {
    let text = format!(
        "question: What does nothing cost?\n\
         workload: {{use: echo}}\n\
         arms:\n  - {{name: direct}}\n  - {{name: again}}\n\
         load: {{model: constant, rate: 200, duration: 1500ms, warmup: 100ms, connections: 4}}\n\
         blocks: {blocks}\n\
         seed: 11\n"
    );
    json!({ "yaml": text, "no_aa": true })
}

/// A server to load.
pub struct Origin {
    process: Child,
    pub url: String,
}

impl Origin {
    pub fn start() -> Origin {
        let mut process = Command::new(tare())
            .args(["origin", "--listen", "127.0.0.1:0"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let said = lines.next().unwrap().unwrap();
        let at = said.find("127.0.0.1:").unwrap_or_else(|| panic!("{said}"));
        let address = said[at..]
            .split(|c: char| c.is_whitespace() || c == '/' || c == ',')
            .next()
            .unwrap();
        let url = format!("http://{address}/");
        std::thread::spawn(move || lines.for_each(drop));
        Origin { process, url }
    }

    fn load(&self, pace: &Value, stop: &Value) -> Value {
        json!({ "url": self.url, "pace": pace, "stop": stop, "connections": 2, "labels": "a \"label\"" })
    }
}

impl Drop for Origin {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn is_ended(event: &Value) -> bool {
    event["event"] == "ended" || event["event"] == "result"
}

#[test]
fn a_run_is_planned_started_watched_and_kept() {
    let place = tempfile::tempdir().unwrap();
    let server = Server::start(&place.path().join("runs"));
    let plan = server.post("/api/v1/plan", &experiment(3));
    assert_eq!(
        plan["plan"]["estimate"]["trials_max"], 6,
        "{}",
        plan["plan"]["estimate"]
    );
    assert_eq!(
        plan["arms"][0]["routes"][0],
        json!(["client", "plaintext", "server"])
    );

    let start = server.post("/api/v1/runs", &experiment(3));
    let id = server.folder_of(&start);
    let run = format!("/api/v1/runs/{id}");
    let events = events_until(&server, &format!("{run}/events"), is_ended);
    let kinds: Vec<&str> = events
        .iter()
        .filter_map(|(_, event)| event["event"].as_str())
        .collect();
    for kind in [
        "started",
        "trial-started",
        "sample",
        "usage",
        "trial-done",
        "block-done",
        "ended",
    ] {
        assert!(kinds.contains(&kind), "no {kind} in {kinds:?}");
    }
    let usage = events
        .iter()
        .find(|(_, event)| event["event"] == "usage")
        .unwrap();
    let parts = usage.1["parts"].as_array().unwrap();
    let part = |role: &str| {
        parts
            .iter()
            .find(|part| part["role"] == role)
            .unwrap_or_else(|| panic!("no {role}: {usage:?}"))
    };
    assert!(
        part("app")["cpu_ns"].is_u64() && part("agent")["rss_bytes"].as_u64() > Some(1 << 20),
        "{usage:?}"
    );

    // From any place on.
    let (place_of, _) = &events[events.len() - 3];
    let again = resumed(&server, &format!("{run}/events"), place_of);
    assert_eq!(again.last(), events.last());
    assert_eq!(again.len(), 2);

    let list = server.until("/api/v1/runs", |list| {
        list["runs"][0]["summary"].is_object()
    });
    let entry = &list["runs"][0];
    assert_eq!(
        (&entry["id"], &entry["state"]),
        (&json!(id), &json!("complete"))
    );
    assert_eq!(entry["summary"]["question"], "What does nothing cost?");
    assert_eq!(entry["summary"]["blocks_complete"], 3);
    assert_eq!(server.get(&format!("{run}/view"))["run"]["id"], id.as_str());
    let detail = server.get(&run);
    assert!(
        detail["bytes"].as_u64() > Some(10_000)
            && detail["plan_text"].as_str().unwrap().contains("echo")
    );
    let trial = server.get(&format!("{run}/trials/1"));
    let files: Vec<&str> = trial["files"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|file| file["path"].as_str())
        .collect();
    let log = files
        .iter()
        .find(|path| path.starts_with("testbeds/"))
        .unwrap_or_else(|| panic!("{files:?}"));
    assert_eq!(
        server
            .ask("GET", &format!("{run}/files/{log}"), None)
            .status,
        200,
        "{log}"
    );
    let report = server.ask("GET", &format!("{run}/report.html"), None);
    assert!(report.text().contains("What does nothing cost?"));
    assert!(
        report
            .header("content-disposition")
            .unwrap()
            .starts_with("attachment")
    );

    let archive = server.ask("GET", &format!("{run}/archive"), None);
    assert_eq!(archive.status, 200);
    let imported = send_archive(&server, &archive.body);
    assert_eq!(imported["id"], format!("{id}-2"));
    // It is shown and compared, and nothing of it is carried out.
    assert_eq!(server.get(&run)["entry"]["origin"], "begun");
    assert_eq!(
        server.get(&format!("{run}-2"))["entry"]["origin"],
        "imported"
    );
    let starts = || {
        server.get("/api/v1/starts")["starts"]
            .as_array()
            .map(Vec::len)
    };
    let before = starts();
    let refused = server.ask("POST", &format!("{run}-2/resume"), Some(&json!({})));
    assert_eq!(refused.status, 409, "{}", refused.text());
    assert!(
        refused.text().contains("it was imported"),
        "{}",
        refused.text()
    );
    assert_eq!(starts(), before, "no process was started");
    let both = server.get(&format!("/api/v1/compare?run={id}&run={id}-2"));
    assert_eq!(both["runs"].as_array().unwrap().len(), 2);
    assert_eq!(both["runs"][0]["cells"], both["runs"][1]["cells"]);
    assert!(both["comparison"]["rows"].is_array(), "{both:#}");
    assert!(both["runs"][0]["cells"][0]["min_ns"].as_u64() > Some(0));

    let metrics = server.ask("GET", "/metrics", None).text();
    assert!(
        metrics.contains("tare_result_latency_seconds{experiment=\"experiment\""),
        "{metrics}"
    );
    assert!(metrics.ends_with("# EOF\n"));
    assert_eq!(server.ask("DELETE", &format!("{run}-2"), None).status, 204);
    assert_eq!(server.ask("DELETE", &format!("{run}-2"), None).status, 404);
    assert_eq!(
        server.get("/api/v1/runs")["runs"].as_array().unwrap().len(),
        1
    );
}

/// Events after a place.
fn resumed(server: &Server, path: &str, after: &str) -> Vec<(String, Value)> {
    let answer = server.with_headers(
        "GET",
        path,
        &format!(
            "Host: {}\r\nAuthorization: Bearer {}\r\nLast-Event-ID: {after}\r\n",
            server.address, server.token
        ),
    );
    let text = answer.text();
    let ids = text
        .lines()
        .filter_map(|line| line.strip_prefix("id: ").map(str::to_owned));
    let events = text
        .lines()
        .filter_map(|line| serde_json::from_str(line.strip_prefix("data: ")?).ok());
    ids.zip(events).collect()
}

fn send_archive(server: &Server, archive: &[u8]) -> Value {
    let head = format!(
        "POST /api/v1/runs/import HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Type: application/x-tar\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n",
        server.address,
        server.token,
        archive.len()
    );
    let answer = server.raw(&[head.as_bytes(), archive].concat());
    assert_eq!(answer.status, 201, "{}", answer.text());
    serde_json::from_slice(&answer.body).unwrap()
}

/// The archive of a run, with another name of its folder.
fn renamed(archive: &[u8], name: &str) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for entry in tar::Archive::new(archive).entries().unwrap() {
        let entry = entry.unwrap();
        let path = entry.path().unwrap().into_owned();
        let below = path.components().skip(1).collect::<PathBuf>();
        let mut header = entry.header().clone();
        let path = Path::new(name).join(below);
        builder.append_data(&mut header, path, entry).unwrap();
    }
    builder.into_inner().unwrap()
}

#[test]
fn an_archive_of_any_name_hides_neither_the_nights_nor_the_newest_run_nor_itself() {
    let place = tempfile::tempdir().unwrap();
    let runs = place.path().join("runs");
    let own = "2023-11-20T10-00-00-own";
    measure(&runs, own, (1_700_000_000_000_000, 150.0), &json!({}));
    let server = Server::start(&runs);
    let archive = server.ask("GET", &format!("/api/v1/runs/{own}/archive"), None);
    let mut ids = vec![own.to_owned()];
    for (name, id) in [
        // The suite keeps its nights there, the server has a path of that name, and commands mean the newest run by it.
        ("nights", "2023-11-14T22-13-20-nights"),
        ("import", "2023-11-14T22-13-20-import"),
        ("latest", "2023-11-14T22-13-20-latest"),
        // They would be the newest.
        ("zzz", "2023-11-14T22-13-20-zzz"),
        (
            "9999-01-01T00-00-00-x",
            "2023-11-14T22-13-20-9999-01-01T00-00-00-x",
        ),
        // Names of runs are kept.
        ("2023-11-19T10-00-00-mesh", "2023-11-19T10-00-00-mesh"),
        (own, "2023-11-20T10-00-00-own-2"),
        ("nights", "2023-11-14T22-13-20-nights-2"),
    ] {
        let imported = send_archive(&server, &renamed(&archive.body, name));
        assert_eq!(imported["id"], id, "{name}");
        let detail = server.get(&format!("/api/v1/runs/{id}"));
        assert_eq!(detail["entry"]["origin"], "imported", "{name}");
        ids.push(id.to_owned());
    }
    let list = server.get("/api/v1/runs");
    let listed: Vec<&str> = list["runs"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|run| run["id"].as_str())
        .collect();
    ids.sort();
    ids.reverse();
    assert_eq!(listed, ids);
    assert!(!runs.join("nights").exists());
    night(&runs, "2023-11-20", own);
    let nights = server.get("/api/v1/history/nights");
    let names: Vec<&Value> = nights["nights"]
        .as_array()
        .unwrap()
        .iter()
        .map(|night| &night["night"])
        .collect();
    assert_eq!(names, ["2023-11-20"]);
}

#[test]
fn a_run_outlives_the_server_is_stopped_by_the_next_and_resumed() {
    let place = tempfile::tempdir().unwrap();
    let runs = place.path().join("runs");
    let mut first = Server::start(&runs);
    let start = first.post("/api/v1/runs", &experiment(40));
    let id = first.folder_of(&start);
    events_until(&first, &format!("/api/v1/runs/{id}/events"), |event| {
        event["event"] == "block-done"
    });
    first.kill();
    let mut second = Server::start(&runs);
    assert_eq!(
        second.get(&format!("/api/v1/runs/{id}"))["entry"]["state"],
        "running"
    );
    second.terminate();

    let server = Server::start(&runs);
    let run = format!("/api/v1/runs/{id}");
    assert_eq!(server.get(&run)["entry"]["state"], "running");
    assert_eq!(server.ask("DELETE", &run, None).status, 409);
    assert_eq!(server.ask("POST", &format!("{run}/stop"), None).status, 202);
    let events = events_until(&server, &format!("{run}/events"), is_ended);
    assert_eq!(
        events.last().unwrap().1["progress"],
        "interrupted",
        "{:?}",
        events.last()
    );
    let entry = server.until(&run, |found| {
        found["entry"]["state"] == "interrupted" && found["entry"]["summary"].is_object()
    });
    let kept = entry["entry"]["summary"]["blocks_complete"]
        .as_u64()
        .unwrap();
    assert!(kept >= 1, "{entry:#}");

    let again = server.post(&format!("{run}/resume"), &json!({}));
    assert_eq!(server.folder_of(&again), id);
    server.until(&run, |found| found["entry"]["state"] == "running");
    assert_eq!(server.ask("POST", &format!("{run}/stop"), None).status, 202);
    server.until(&run, |found| found["entry"]["state"] == "interrupted");
    assert_eq!(server.ask("POST", &format!("{run}/stop"), None).status, 409);
    // It waits for the last process of the run before its folder goes.
    server.until(
        &format!("/api/v1/starts/{}", again["id"].as_str().unwrap()),
        |start| start["state"] == "ended",
    );
}

#[test]
fn a_run_from_the_page_has_the_plan_of_the_terminal() {
    let place = tempfile::tempdir().unwrap();
    let runs = place.path().join("runs");
    let server = Server::start(&runs);
    let id = server.folder_of(&server.post("/api/v1/runs", &experiment(1)));
    let of_page = server.until(&format!("/api/v1/runs/{id}"), |found| {
        found["entry"]["state"] == "complete"
    });
    assert!(of_page["plan_text"].is_string());
    let file = place.path().join("experiment.yaml");
    std::fs::write(&file, experiment(1)["yaml"].as_str().unwrap()).unwrap();
    let out = place.path().join("terminal");
    let ended = Command::new(tare())
        .args(["run", "--no-aa", "--json", "--out"])
        .args([&out, &file])
        .env("TARE_HOME", crate::rig::home())
        .output()
        .unwrap();
    assert!(
        ended.status.success(),
        "{}",
        String::from_utf8_lossy(&ended.stderr)
    );
    let run = std::fs::read_dir(&out)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let plan = |run: &std::path::Path| -> Value {
        let text = std::fs::read(run.join("plan.json")).unwrap();
        let mut plan: Value = serde_json::from_slice(&text).unwrap();
        // Where the file is.
        plan["file"].take();
        plan
    };
    assert_eq!(plan(&runs.join(&id)), plan(&run));
}

#[test]
fn a_load_is_started_watched_stopped_and_laid_over_one_of_fortio() {
    let place = tempfile::tempdir().unwrap();
    let server = Server::start(&place.path().join("runs"));
    let origin = Origin::start();
    let forever = origin.load(
        &json!({ "kind": "rate", "per_s": 200.0 }),
        &json!({ "kind": "stopped" }),
    );
    let id = server.folder_of(&server.post("/api/v1/loads", &forever));
    let load = format!("/api/v1/loads/{id}");
    events_until(&server, &format!("{load}/events"), |event| {
        event["event"] == "sample" && event["ok"].as_u64() > Some(10)
    });
    assert_eq!(server.get(&load)["entry"]["running"], true);
    let metrics = server.ask("GET", "/metrics", None).text();
    assert!(
        metrics.contains("tare_live_responses_per_second{load="),
        "{metrics}"
    );
    assert_eq!(
        server.ask("POST", &format!("{load}/stop"), None).status,
        202
    );
    events_until(&server, &format!("{load}/events"), is_ended);
    let ended = server.until(&load, |found| found["entry"]["running"] == false);
    let figures = &ended["entry"]["figures"];
    assert_eq!(figures["labels"], "a \"label\"");
    assert!(
        figures["ok"].as_u64() > Some(10) && figures["errors"] == 0,
        "{figures:#}"
    );
    assert!(
        figures["curve"].as_array().unwrap().len() > 5,
        "{figures:#}"
    );
    assert_eq!(ended["report"]["rate"]["offered_per_s"], 200.0);
    let buckets = figures["histogram"].as_array().unwrap();
    let counted: u64 = buckets.iter().filter_map(|one| one["count"].as_u64()).sum();
    assert_eq!(Some(counted), figures["ok"].as_u64(), "{figures:#}");

    let counted = origin.load(
        &json!({ "kind": "clients", "clients": 2 }),
        &json!({ "kind": "count", "requests": 50 }),
    );
    let other = server.folder_of(&server.post("/api/v1/loads", &counted));
    server.until(&format!("/api/v1/loads/{other}"), |found| {
        found["entry"]["figures"]["ok"] == 50
    });
    let fortio = json!({
        "StartTime": "2019-03-01T10:00:00Z", "RequestedQPS": "8", "ActualQPS": 8.0, "ActualDuration": 1_000_000_000_u64, "Version": "1.3.0",
        "DurationHistogram": { "Count": 8, "Min": 0.001, "Max": 0.002, "Avg": 0.0015,
            "Data": [{ "Start": 0.001, "End": 0.002, "Percent": 100.0, "Count": 8 }] },
        "RetCodes": { "200": 8 }, "URL": "http://old/",
    });
    let imported = server.post("/api/v1/loads/import", &fortio);
    let list = server.get("/api/v1/loads");
    let tools: Vec<&str> = list["loads"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|load| load["figures"]["tool"].as_str())
        .collect();
    assert!(
        tools.len() == 3 && tools.contains(&"fortio 1.3.0"),
        "{list:#}"
    );
    let of_list = |load: &Value| load["figures"]["histogram"] == json!([]);
    assert!(list["loads"].as_array().unwrap().iter().all(of_list));
    assert_eq!(server.get("/api/v1/runs")["runs"], json!([]));
    let path = format!("/api/v1/loads/{}", imported["id"].as_str().unwrap());
    assert_eq!(
        server.get(&path)["entry"]["figures"]["histogram"],
        json!([{ "start_ns": 1_000_000, "end_ns": 2_000_000, "count": 8, "cumulative_percent": 100.0 }])
    );
    assert_eq!(server.ask("DELETE", &path, None).status, 204);
    assert_eq!(server.ask("DELETE", &load, None).status, 204);
    assert_eq!(
        server.get("/api/v1/loads")["loads"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[test]
fn an_error_in_an_experiment_is_answered_with_its_line() {
    let place = tempfile::tempdir().unwrap();
    let server = Server::start(&place.path().join("runs"));
    let mut wrong = experiment(1);
    let text = wrong["yaml"]
        .as_str()
        .unwrap()
        .replace("seed: 11", "sede: 11");
    wrong["yaml"] = json!(text);
    let answer = server.ask("POST", "/api/v1/plan", Some(&wrong));
    let error: Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!(
        (answer.status, &error["line"]),
        (422, &json!(8)),
        "{error:#}"
    );
    assert!(
        !error["message"].as_str().unwrap().contains("plan-"),
        "{error:#}"
    );
}

#[test]
fn the_library_the_machine_and_the_schemas_are_those_of_the_commands() {
    let place = tempfile::tempdir().unwrap();
    let server = Server::start(&place.path().join("runs"));
    let library = server.get("/api/v1/library");
    let all = library["experiments"].as_array().unwrap();
    let sidecar = all
        .iter()
        .find(|entry| entry["name"] == "istio-performance/sidecar")
        .unwrap();
    assert!(
        sidecar["question"].as_str().unwrap().ends_with('?') && sidecar["has_quick"] == true,
        "{sidecar}"
    );
    for entry in all {
        let path = format!("/api/v1/library/{}", entry["name"].as_str().unwrap());
        assert!(
            server.ask("GET", &path, None).text().contains("question:"),
            "{path}"
        );
    }
    assert!(server.get("/api/v1/machine")["cores"].as_u64() > Some(0));
    assert!(server.get("/api/v1/schemas/experiment")["properties"]["arms"].is_object());
    assert_eq!(server.get("/api/v1/openapi.json")["openapi"], "3.1.0");
}

#[test]
fn the_commands_of_the_page_about_the_server_do_what_they_say() {
    let place = tempfile::tempdir().unwrap();
    let runs = place.path().join("runs");
    // What the page starts, it does not wait for.
    let server = Server::start_with(&runs, &json!({ "parallel": 4 }));
    let id = server.folder_of(&server.post("/api/v1/runs", &experiment(1)));
    server.until(&format!("/api/v1/runs/{id}"), |found| {
        found["entry"]["state"] == "complete"
    });
    let history = server.get("/api/v1/history");
    let known = &history["experiments"][0];
    assert_eq!(
        (&known["runs"], &known["arms"]),
        (&json!(1), &json!(["direct", "again"])),
        "{history}"
    );
    let experiment_name = known["experiment"].as_str().unwrap();
    crate::history::night(&runs, "2026-11-26", &id);
    let brokers = crate::kafka::cluster();
    let bootstrap = brokers.at("plain")[0];
    let page = std::fs::read_to_string(crate::rig::home().join("docs/SERVER.md")).unwrap();
    let commands: Vec<&str> = page
        .lines()
        .filter(|line| line.starts_with("curl "))
        .collect();
    assert!(commands.len() > 12, "{commands:?}");
    for command in commands {
        let script = format!(
            "url=http://{}/api/v1; auth='Authorization: Bearer {}'; json='Content-Type: application/json'; run={id}; kafka=$url/kafka/clusters; bootstrap={bootstrap}; experiment={experiment_name}; night=2026-11-26; {command}",
            server.address, server.token
        );
        let begun = Instant::now();
        loop {
            let ended = Command::new("bash")
                .args(["-c", &script])
                .current_dir(place.path())
                .output()
                .unwrap();
            if ended.status.success() {
                break;
            }
            // Beside what is measured on a busy machine some answers are not made in time. The server says so, with this status.
            let said = String::from_utf8_lossy(&ended.stderr);
            let is_busy = said.contains("error: 503") && begun.elapsed() < 2 * PATIENCE;
            assert!(is_busy, "{command}: {said}");
        }
    }
    // What the page starts is ended: the experiment, and a load of one second.
    for start in server.get("/api/v1/starts")["starts"].as_array().unwrap() {
        let path = format!("/api/v1/starts/{}", start["id"].as_str().unwrap());
        server.ask("POST", &format!("{path}/stop"), None);
        server.until(&path, |found| found["state"] == "ended");
    }
}
