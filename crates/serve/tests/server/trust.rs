//! What protects those who share a server, and what it works on: locks, sessions, limits of attempts, the log of changes, starts.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::{Value, json};

use crate::flows::{Origin, experiment};
use crate::rig::{PATIENCE, Server};

/// A folder that looks like a run of which somebody says that it goes on.
fn running(runs: &Path, id: &str) -> File {
    let folder = runs.join(id);
    fs::create_dir_all(&folder).unwrap();
    let state = json!({ "version": 5, "started_unix_us": 1, "ended_unix_us": null, "state": "running", "reason": null, "command": [], "resumed": 0 });
    fs::write(folder.join("run.json"), state.to_string()).unwrap();
    File::create(folder.join("lock")).unwrap()
}

/// Words before the server that give it process numbers of its own, as in a container; none where that is not allowed.
fn own_pids() -> Option<Vec<&'static str>> {
    let namespace = ["--pid", "--fork", "--mount-proc", "--kill-child"];
    let as_user = ["--user", "--map-root-user"];
    let words = [namespace.to_vec(), [&as_user[..], &namespace].concat()];
    words.into_iter().find(|words| {
        let tried = Command::new("unshare").args(words).arg("true").output();
        tried.is_ok_and(|ended| ended.status.success())
    })
}

#[test]
fn a_run_that_somebody_measures_is_not_deleted_also_where_nobody_is_seen() {
    let place = tempfile::tempdir().unwrap();
    let runs = place.path().join("runs");
    let id = "2026-01-01T00-00-00-held";
    let lock = running(&runs, id);
    lock.try_lock().unwrap();
    let Some(words) = own_pids() else {
        eprintln!("skipped: this user may make no PID namespace");
        return;
    };
    let mut command = Command::new("unshare");
    command
        .args(words)
        .arg(env!("CARGO_BIN_EXE_tare-serve"))
        .arg(Server::options(&runs, &json!({})).to_string());
    for server in [Server::of(command, &runs), Server::start(&runs)] {
        let path = format!("/api/v1/runs/{id}");
        assert_eq!(server.get(&path)["entry"]["state"], "running");
        let refused = server.ask("DELETE", &path, None);
        assert_eq!(refused.status, 409, "{}", refused.text());
        assert!(runs.join(id).join("run.json").is_file());
        // Another measurement would spoil it.
        let other = server.ask("POST", "/api/v1/runs", Some(&experiment(1)));
        assert_eq!(other.status, 409, "{}", other.text());
        assert!(other.text().contains(id), "{}", other.text());
    }
    drop(lock);
    let server = Server::start(&runs);
    let path = format!("/api/v1/runs/{id}");
    assert_eq!(server.get(&path)["entry"]["state"], "killed");
    assert_eq!(server.ask("DELETE", &path, None).status, 204);
    assert!(!runs.join(id).exists());
}

#[test]
fn a_run_that_is_measured_is_known_however_many_names_come_after_it() {
    let place = tempfile::tempdir().unwrap();
    let runs = place.path().join("runs");
    let id = "2026-01-01T00-00-00-held";
    let lock = running(&runs, id);
    lock.try_lock().unwrap();
    for number in 0..200 {
        running(&runs, &format!("2026-09-09T00-00-00-{number}"));
    }
    let server = Server::start(&runs);
    let refused = server.ask("POST", "/api/v1/runs", Some(&experiment(1)));
    assert_eq!(refused.status, 409, "{}", refused.text());
    assert!(refused.text().contains(id), "{}", refused.text());
}

#[test]
fn one_thing_is_measured_at_a_time_unless_the_server_is_told_otherwise() {
    let place = tempfile::tempdir().unwrap();
    let runs = place.path().join("runs");
    let origin = Origin::start();
    let load = json!({ "url": origin.url, "pace": { "kind": "rate", "per_s": 100.0 }, "stop": { "kind": "stopped" } });
    let server = Server::start(&runs);
    let first = server.folder_of(&server.post("/api/v1/loads", &load));
    for (path, body) in [
        ("/api/v1/loads".to_owned(), &load),
        ("/api/v1/runs".to_owned(), &experiment(1)),
    ] {
        let refused = server.ask("POST", &path, Some(body));
        assert_eq!(refused.status, 409, "{path}: {}", refused.text());
        assert!(refused.text().contains(&first), "{}", refused.text());
    }
    assert_eq!(server.get("/api/v1/server")["parallel"], 1);
    let two = Server::start_with(&runs, &json!({ "parallel": 2 }));
    let second = two.folder_of(&two.post("/api/v1/loads", &load));
    for id in [&first, &second] {
        let path = format!("/api/v1/loads/{id}");
        assert_eq!(two.ask("POST", &format!("{path}/stop"), None).status, 202);
        two.until(&path, |found| found["entry"]["running"] == false);
    }
}

#[test]
fn who_does_not_read_does_not_stop_those_who_do() {
    let place = tempfile::tempdir().unwrap();
    let runs = place.path().join("runs");
    let id = "2026-01-01T00-00-00-large";
    drop(running(&runs, id));
    // More than sockets hold.
    File::create(runs.join(id).join("large.log"))
        .and_then(|file| file.set_len(64 << 20))
        .unwrap();
    let held = running(&runs, "2026-01-01T00-00-00-held");
    held.try_lock().unwrap();
    let server = Server::start(&runs);
    let path = format!("/api/v1/runs/{id}/archive");
    let idle: Vec<TcpStream> = (0..20)
        .map(|_| {
            let mut stream = TcpStream::connect(&server.address).unwrap();
            let head = format!(
                "GET {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\r\n",
                server.address, server.token
            );
            stream.write_all(head.as_bytes()).unwrap();
            stream
        })
        .collect();
    // Those that are answered have the memory: the others wait for it.
    let mut first = &idle[0];
    first.set_read_timeout(Some(PATIENCE)).unwrap();
    first.read_exact(&mut [0; 12]).unwrap();
    let begun = Instant::now();
    for path in ["/api/v1/runs", "/api/v1/server", "/api/v1/starts"] {
        // On a busy machine it may take more than the time that a request waits.
        while server.ask("GET", path, None).status != 200 {
            assert!(begun.elapsed() < PATIENCE, "{path} is not answered");
        }
    }
    // Refused for what it asks, not for lack of memory.
    let delete = server.ask("DELETE", "/api/v1/runs/2026-01-01T00-00-00-held", None);
    assert_eq!(delete.status, 409, "{}", delete.text());
}

fn sign_in(server: &Server) -> String {
    let opened = server.with_headers(
        "GET",
        &format!("/?token={}", server.link),
        &format!("Host: {}\r\n", server.address),
    );
    assert_eq!(opened.status, 303, "{}", opened.text());
    opened.header("set-cookie").unwrap().to_owned()
}

#[test]
fn a_session_is_of_one_port_has_an_age_and_ends_when_its_browser_signs_out() {
    let place = tempfile::tempdir().unwrap();
    let runs = place.path().join("runs");
    // It can be left where nothing else can be changed.
    let server = Server::start_with(&runs, &json!({ "read_only": true }));
    let cookie = sign_in(&server);
    let port = server.address.rsplit(':').next().unwrap();
    assert!(cookie.starts_with(&format!("tare-{port}=")), "{cookie}");
    assert!(cookie.contains("; Max-Age=604800;"), "{cookie}");
    let cookie = cookie.split(';').next().unwrap();
    let headers = format!("Host: {}\r\nCookie: {cookie}\r\n", server.address);
    let info = server.with_headers("GET", "/api/v1/server", &headers);
    let info: Value = serde_json::from_slice(&info.body).unwrap();
    assert_eq!(info["caller"]["kind"], "session");
    // A stolen session is not made into another one.
    let link = server.with_headers("POST", "/api/v1/links", &headers);
    assert_eq!(link.status, 403, "{}", link.text());
    let left = server.with_headers("DELETE", "/api/v1/session", &headers);
    assert_eq!(left.status, 204, "{}", left.text());
    assert!(left.header("set-cookie").unwrap().contains("; Max-Age=0;"));
    let after = server.with_headers("GET", "/api/v1/server", &headers);
    assert_eq!(after.status, 401);
    assert_eq!(server.ask("DELETE", "/api/v1/session", None).status, 409);
}

#[test]
fn another_link_is_printed_only_when_somebody_asks_for_one() {
    let place = tempfile::tempdir().unwrap();
    let mut process = Command::new(env!("CARGO_BIN_EXE_tare-serve"))
        .arg(Server::options(&place.path().join("runs"), &json!({})).to_string())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(process.stderr.take().unwrap()).lines();
    let mut line = || lines.next().unwrap().unwrap();
    let token = fs::read_to_string(line().rsplit(' ').next().unwrap()).unwrap();
    let said = line();
    let (address, link) = said
        .rsplit_once("://")
        .and_then(|(_, rest)| rest.split_once("/?token="))
        .unwrap();
    let note = line();
    assert!(
        note.ends_with(&format!("kill -USR1 {}", process.id())),
        "{note}"
    );
    let ask = |method: &str, path: &str, more: &str| {
        let mut stream = TcpStream::connect(address).unwrap();
        let text = format!(
            "{method} {path} HTTP/1.1\r\nHost: {address}\r\n{more}Content-Length: 0\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(text.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    assert!(ask("GET", &format!("/?token={link}"), "").starts_with("HTTP/1.1 303"));
    // The next line is that of the signal, not one of its own.
    let pid = rustix::process::Pid::from_child(&process);
    rustix::process::kill_process(pid, rustix::process::Signal::USR1).unwrap();
    let said = line();
    assert!(said.starts_with("for another browser: http://"), "{said}");
    let printed = said.rsplit_once("/?token=").unwrap().1;
    let bearer = format!("Authorization: Bearer {}\r\n", token.trim());
    let made = ask("POST", "/api/v1/links", &bearer);
    let body: Value = serde_json::from_str(made.rsplit_once("\r\n\r\n").unwrap().1).unwrap();
    let made = body["link"]
        .as_str()
        .unwrap()
        .rsplit_once("/?token=")
        .unwrap()
        .1
        .to_owned();
    // The last one is good.
    assert!(ask("GET", &format!("/?token={printed}"), "").starts_with("HTTP/1.1 401"));
    assert!(ask("GET", &format!("/?token={made}"), "").starts_with("HTTP/1.1 303"));
    process.kill().unwrap();
    process.wait().unwrap();
}

#[test]
fn passwords_are_guessed_five_times_and_the_log_says_so() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("password");
    fs::write(&file, "a long password").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let runs = place.path().join("runs");
    let server = Server::start_with(&runs, &json!({ "password_file": file }));
    // `tare:` with a wrong password, and with the right one.
    let basic = |text: &str| {
        let headers = format!(
            "Host: {}\r\nAuthorization: Basic {text}\r\n",
            server.address
        );
        server.with_headers("GET", "/api/v1/runs", &headers)
    };
    let (wrong, right) = ("dGFyZTp3cm9uZw==", "dGFyZTphIGxvbmcgcGFzc3dvcmQ=");
    assert_eq!(basic(right).status, 200);
    for _ in 0..5 {
        assert_eq!(basic(wrong).status, 401);
    }
    for guess in [wrong, right] {
        let refused = basic(guess);
        assert_eq!(refused.status, 429, "{}", refused.text());
        let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
        assert!((1..=300).contains(&wait), "{wait}");
    }
    // What cannot be guessed is taken.
    assert_eq!(server.ask("GET", "/api/v1/runs", None).status, 200);
    sign_in(&server);
    let audit = server.get("/api/v1/audit");
    let entries = audit["entries"].as_array().unwrap();
    let problems: Vec<_> = entries
        .iter()
        .filter_map(|one| one["problem"].as_str())
        .collect();
    assert_eq!(
        problems,
        [
            ["too many attempts"; 2].as_slice(),
            &["a wrong password"; 5]
        ]
        .concat()
    );
    assert_eq!(entries[1]["address"], "127.0.0.1");
    assert_eq!(entries[1]["caller"]["kind"], "unknown");
}

#[test]
fn each_change_has_a_line_that_says_who_what_and_when() {
    let place = tempfile::tempdir().unwrap();
    let runs = place.path().join("runs");
    drop(running(&runs, "2026-01-01T00-00-00-one"));
    let server = Server::start(&runs);
    let cookie = sign_in(&server);
    let headers = format!(
        "Host: {}\r\nCookie: {}\r\n",
        server.address,
        cookie.split(';').next().unwrap()
    );
    let delete = "/api/v1/runs/2026-01-01T00-00-00-one";
    assert_eq!(server.with_headers("DELETE", delete, &headers).status, 204);
    assert_eq!(server.ask("DELETE", delete, None).status, 404);
    let load = json!({
        "url": "http://user:planted@8.8.8.8/planted?planted", "pace": { "kind": "maximum" },
        "stop": { "kind": "count", "requests": 1 }, "headers": ["authorization: planted\n"],
    });
    assert_eq!(server.ask("POST", "/api/v1/loads", Some(&load)).status, 422);
    // What changes nothing has none.
    server.post("/api/v1/plan", &experiment(1));
    server.get("/api/v1/runs");
    let audit = server.get("/api/v1/audit?last=3");
    let entries = audit["entries"].as_array().unwrap();
    let short: Vec<Value> = entries
        .iter()
        .map(|one| {
            json!([
                one["caller"]["kind"],
                one["method"],
                one["path"],
                one["status"],
                one["subject"]
            ])
        })
        .collect();
    assert_eq!(
        short,
        [
            json!(["token", "POST", "/api/v1/loads", 422, "http://8.8.8.8"]),
            json!(["token", "DELETE", delete, 404, null]),
            json!(["session", "DELETE", delete, 204, null]),
        ]
    );
    assert!(
        entries[0]["problem"]
            .as_str()
            .unwrap()
            .contains("control characters")
    );
    assert!(entries[0]["at_unix_us"].as_u64() >= entries[1]["at_unix_us"].as_u64());
    let file = server.runs.join(".serve/audit.jsonl");
    let text = fs::read_to_string(&file).unwrap();
    assert!(
        !text.contains("planted") && !text.contains(&server.token),
        "{text}"
    );
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    // It is there after the next start, too.
    drop(server);
    let next = Server::start(&runs);
    let all = next.get("/api/v1/audit");
    assert_eq!(all["entries"].as_array().unwrap().len(), 4, "{all:#}");
}

#[test]
fn on_a_full_disk_nothing_is_started_that_nobody_knows() {
    let place = tempfile::tempdir().unwrap();
    let runs = place.path().join("runs");
    fs::create_dir(&runs).unwrap();
    let mount = |words: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(["--mount", "bash", "-c"]);
        command.arg("mount -t tmpfs -o size=1m tmpfs \"$0\" && exec \"$@\"");
        command.arg(&runs).args(words);
        command
    };
    if !mount(&["true"])
        .output()
        .is_ok_and(|ended| ended.status.success())
    {
        eprintln!("skipped: this user may mount nothing");
        return;
    }
    let options = Server::options(&runs, &json!({})).to_string();
    let server = Server::of(mount(&[env!("CARGO_BIN_EXE_tare-serve"), &options]), &runs);
    // Its folder of runs as it sees it.
    let seen = |name: &str| {
        Path::new(&format!("/proc/{}/root", server.pid()))
            .join(runs.join(name).strip_prefix("/").unwrap())
    };
    server.get("/api/v1/audit");
    let mut fill = File::create(seen("fill")).unwrap();
    while fill.write_all(&[7; 4096]).is_ok() {}
    let origin = Origin::start();
    let load = json!({ "url": origin.url, "pace": { "kind": "rate", "per_s": 1.0 }, "stop": { "kind": "stopped" } });
    let refused = server.ask("POST", "/api/v1/loads", Some(&load));
    assert_eq!(refused.status, 500, "{}", refused.text());
    assert_eq!(fs::read_dir(seen(".serve/starts")).unwrap().count(), 0);
    let tasks = fs::read_dir(format!("/proc/{}/task", server.pid())).unwrap();
    let children: String = tasks
        .map(|task| fs::read_to_string(task.unwrap().path().join("children")).unwrap_or_default())
        .collect();
    assert_eq!(children.trim(), "", "it left a process");
    drop(fill);
    fs::remove_file(seen("fill")).unwrap();
    let start = server.post("/api/v1/loads", &load);
    let path = format!("/api/v1/starts/{}", start["id"].as_str().unwrap());
    server.folder_of(&start);
    assert_eq!(
        server.ask("POST", &format!("{path}/stop"), None).status,
        202
    );
    server.until(&path, |found| found["state"] == "ended");
}
