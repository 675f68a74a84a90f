//! Who may ask, and what no request can do.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::json;

use crate::rig::Server;

fn server() -> (tempfile::TempDir, Server) {
    let place = tempfile::tempdir().unwrap();
    let server = Server::start(&place.path().join("runs"));
    (place, server)
}

#[test]
fn without_token_cookie_or_password_nothing_is_answered() {
    let (_place, server) = server();
    let host = format!("Host: {}\r\n", server.address);
    for path in [
        "/",
        "/api/v1/runs",
        "/metrics",
        "/assets/app.js",
        "/api/v1/openapi.json",
        "/nothing",
    ] {
        assert_eq!(
            server.with_headers("GET", path, &host).status,
            401,
            "{path}"
        );
    }
    for wrong in ["Bearer x", "Bearer ", "Basic dGFyZTp4", "Bearer\t", "x"] {
        let headers = format!("{host}Authorization: {wrong}\r\n");
        assert_eq!(
            server.with_headers("GET", "/api/v1/runs", &headers).status,
            401,
            "{wrong}"
        );
    }
    assert_eq!(server.ask("GET", "/api/v1/runs", None).status, 200);
    assert_eq!(server.ask("GET", "/metrics", None).status, 200);
}

#[test]
fn the_printed_link_opens_the_page_once() {
    let (_place, server) = server();
    let host = format!("Host: {}\r\n", server.address);
    let link = format!("/?token={}", server.link);
    let opened = server.with_headers("GET", &link, &host);
    assert_eq!((opened.status, opened.header("location")), (303, Some("/")));
    let cookie = opened.header("set-cookie").unwrap();
    assert!(
        cookie.contains("; HttpOnly") && cookie.contains("; SameSite=Strict"),
        "{cookie}"
    );
    let cookie = cookie.split(';').next().unwrap();
    let with_cookie = format!("{host}Cookie: other=1; {cookie}\r\n");
    assert_eq!(server.with_headers("GET", "/", &with_cookie).status, 200);
    assert_eq!(
        server
            .with_headers("GET", "/api/v1/runs", &with_cookie)
            .status,
        200
    );
    assert_eq!(server.with_headers("GET", &link, &host).status, 401);
    let wrong = format!("{host}Cookie: {cookie}x\r\n");
    assert_eq!(server.with_headers("GET", "/", &wrong).status, 401);
}

#[test]
fn the_token_of_scripts_is_for_this_user_alone() {
    use std::os::unix::fs::PermissionsExt;
    let (_place, server) = server();
    let mode = |path: &str| {
        server
            .runs
            .join(path)
            .metadata()
            .unwrap()
            .permissions()
            .mode()
            & 0o777
    };
    assert_eq!((mode(".serve"), mode(".serve/token")), (0o700, 0o600));
}

#[test]
fn a_name_that_was_rebound_and_another_site_are_refused() {
    let (_place, server) = server();
    let port = server.address.rsplit(':').next().unwrap();
    let token = format!("Authorization: Bearer {}\r\n", server.token);
    for host in [
        "evil.example",
        "evil.example:80",
        "127.0.0.1",
        "127.0.0.1:1",
        "localhost.evil.example",
        "",
    ] {
        let headers = format!("Host: {host}\r\n{token}");
        assert_eq!(
            server.with_headers("GET", "/api/v1/runs", &headers).status,
            403,
            "{host}"
        );
    }
    let twice = format!("Host: {0}\r\nHost: {0}\r\n{token}", server.address);
    assert!(server.with_headers("GET", "/api/v1/runs", &twice).status >= 400);
    let ours = format!("Host: localhost:{port}\r\n{token}");
    assert_eq!(
        server.with_headers("GET", "/api/v1/runs", &ours).status,
        200
    );
    for origin in [
        "http://evil.example",
        "null",
        "https://evil.example:7979",
        "http://127.0.0.1:1",
    ] {
        let headers = format!("{ours}Origin: {origin}\r\n");
        for method in ["GET", "POST", "DELETE"] {
            assert_eq!(
                server.with_headers(method, "/api/v1/runs", &headers).status,
                403,
                "{method} {origin}"
            );
        }
    }
    let own = format!("{ours}Origin: http://localhost:{port}\r\n");
    assert_eq!(server.with_headers("GET", "/api/v1/runs", &own).status, 200);
    let cross = format!("{ours}Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\n");
    assert_eq!(
        server.with_headers("GET", "/api/v1/runs", &cross).status,
        403
    );
}

#[test]
fn every_answer_forbids_scripts_of_others() {
    let (_place, server) = server();
    for path in [
        "/",
        "/api/v1/runs",
        "/api/v1/nothing",
        "/metrics",
        "/runs/x/trials/1",
    ] {
        let answer = server.ask("GET", path, None);
        let policy = answer.header("content-security-policy").unwrap();
        assert!(
            policy.starts_with("default-src 'none'; script-src 'self';"),
            "{policy}"
        );
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(answer.header("cache-control"), Some("no-store"));
    }
}

#[test]
fn no_path_leads_out_of_the_folder_of_runs() {
    let (place, server) = server();
    std::fs::write(place.path().join("plan.json"), "{}").unwrap();
    std::fs::create_dir_all(server.runs.join("run/trials")).unwrap();
    std::fs::write(server.runs.join("run/plan.json"), "{}").unwrap();
    std::os::unix::fs::symlink("/etc", server.runs.join("link")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", server.runs.join("run/passwd")).unwrap();
    let long = "a".repeat(10_000);
    let names = [
        "..",
        "%2e%2e",
        "..%2f..%2fetc",
        "%2fetc",
        ".serve",
        "link",
        "%00",
        "a%0ab",
        "%3Cscript%3E",
        "run%2f..",
        long.as_str(),
    ];
    for name in names {
        for rest in [
            "",
            "/view",
            "/archive",
            "/events",
            "/files/plan.json",
            "/report.html",
        ] {
            let status = server
                .ask("GET", &format!("/api/v1/runs/{name}{rest}"), None)
                .status;
            assert!(matches!(status, 400 | 404 | 414), "{name}{rest}: {status}");
        }
        for path in ["/api/v1/loads/", "/api/v1/starts/", "/api/v1/schemas/"] {
            let status = server.ask("GET", &format!("{path}{name}"), None).status;
            assert!(status >= 400, "{path}{name}: {status}");
        }
        let status = server
            .ask("DELETE", &format!("/api/v1/runs/{name}"), None)
            .status;
        assert!(status >= 400, "{name}: {status}");
    }
    for path in [
        "../plan.json",
        "..%2fplan.json",
        "%2e%2e/plan.json",
        "passwd",
        "/etc/passwd",
        "trials",
        "trials/../plan.json/x",
    ] {
        let status = server
            .ask("GET", &format!("/api/v1/runs/run/files/{path}"), None)
            .status;
        assert_eq!(status, 404, "{path}");
    }
    assert!(server.runs.join("run").is_dir() && place.path().join("plan.json").is_file());
}

#[test]
fn every_error_is_json_with_a_message_whoever_made_it() {
    let (_place, server) = server();
    let unread = |kind: &str, body: &str| {
        let head = format!(
            "POST /api/v1/loads HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Type: {kind}\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            server.address,
            server.token,
            body.len()
        );
        server.raw(head.as_bytes())
    };
    let large = json!({ "url": "x".repeat(2 << 20) });
    let ask = |method: &str, path: &str| server.ask(method, path, None);
    for (wanted, answer) in [
        (404, ask("GET", "/api/v1/nothing")),
        (404, ask("GET", "/api/v1/runs/none/trials/abc")),
        (404, ask("GET", "/api/v1/schemas/none")),
        (400, ask("GET", "/api/v1/runs/%ff")),
        (400, ask("GET", "/api/v1/runs/none/trials/%ff")),
        (400, ask("GET", "/api/v1/audit?last=many")),
        (400, ask("GET", "/api/v1/history/points")),
        (405, ask("PUT", "/api/v1/runs")),
        (
            405,
            ask("POST", "/api/v1/kafka/clusters/a/topics/b/records"),
        ),
        (405, ask("POST", "/history")),
        (413, server.ask("POST", "/api/v1/loads", Some(&large))),
        (415, unread("text/plain", "{}")),
        (400, unread("application/json", "{")),
        (
            422,
            unread(
                "application/json",
                "{\"url\": \"\", \"pace\": {\"kind\": \"maximum\"}, \"stop\": {\"kind\": \"stopped\"}}",
            ),
        ),
        (
            401,
            server.with_headers(
                "GET",
                "/api/v1/runs",
                &format!("Host: {}\r\n", server.address),
            ),
        ),
    ] {
        assert_eq!(answer.status, wanted, "{}: {}", answer.head, answer.text());
        assert_eq!(
            answer.header("content-type"),
            Some("application/json"),
            "{}",
            answer.head
        );
        let said: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
        assert!(
            said["message"].as_str().is_some_and(|text| text.len() > 10),
            "{said}"
        );
        assert_eq!(
            answer.header("allow").is_some(),
            wanted == 405,
            "{}",
            answer.head
        );
    }
    let twice = server.ask("GET", "/api/v1/compare?run=a%2Fb&run=%61", None);
    assert!(twice.text().contains("there is no"), "{}", twice.text());
}

#[test]
fn bodies_are_bounded_in_size_and_time() {
    let (_place, server) = server();
    let large = json!({ "yaml": "x".repeat(2 << 20) });
    assert_eq!(server.ask("POST", "/api/v1/plan", Some(&large)).status, 413);
    for text in [
        "",
        "{",
        "[]",
        "{\"unknown\":1}",
        "{}",
        "{\"experiment\":\"../x\"}",
    ] {
        let head = format!(
            "POST /api/v1/plan HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n{text}",
            server.address,
            server.token,
            text.len()
        );
        let answer = server.raw(head.as_bytes());
        assert!(
            matches!(answer.status, 400 | 404 | 422),
            "{text}: {}",
            answer.status
        );
    }
    let form = format!(
        "Host: {}\r\nAuthorization: Bearer {}\r\nContent-Type: text/plain\r\n",
        server.address, server.token
    );
    assert_eq!(
        server.with_headers("POST", "/api/v1/runs", &form).status,
        415
    );
    // A body that never comes.
    let mut slow = TcpStream::connect(&server.address).unwrap();
    slow.set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    write!(
        slow,
        "POST /api/v1/plan HTTP/1.1\r\n{form}Content-Length: 10\r\n\r\n"
    )
    .unwrap();
    let slow = slow;
    let mut other = String::new();
    // Refused at once for its type, or after the time for a body; never kept.
    let _ = (&slow).take(64).read_to_string(&mut other);
    assert!(other.starts_with("HTTP/1.1 4"), "{other}");
}

#[test]
fn a_server_that_only_shows_changes_nothing() {
    let place = tempfile::tempdir().unwrap();
    let runs = place.path().join("runs");
    std::fs::create_dir_all(runs.join("run")).unwrap();
    std::fs::write(runs.join("run/run.json"), "{}").unwrap();
    let server = Server::start_with(&runs, &json!({ "read_only": true }));
    for (method, path) in [
        ("POST", "/api/v1/runs"),
        ("POST", "/api/v1/runs/import"),
        ("POST", "/api/v1/runs/run/stop"),
        ("POST", "/api/v1/runs/run/resume"),
        ("DELETE", "/api/v1/runs/run"),
        ("POST", "/api/v1/loads"),
        ("POST", "/api/v1/loads/import"),
    ] {
        assert_eq!(
            server.ask(method, path, Some(&json!({}))).status,
            403,
            "{method} {path}"
        );
    }
    assert_eq!(server.get("/api/v1/server")["read_only"], true);
    assert!(runs.join("run/run.json").is_file());
}

#[test]
fn an_experiment_from_the_page_names_no_targets_and_no_files() {
    let (place, server) = server();
    let secret = place.path().join("secret.yaml");
    std::fs::write(&secret, "question: x").unwrap();
    for request in [
        json!({ "experiment": secret }),
        json!({ "experiment": "--targets=/tmp" }),
        json!({ "experiment": "sidecar", "targets": "/tmp" }),
        json!({ "yaml": "targets_dir: /tmp" }),
        json!({ "experiment": "istio-performance/sidecar", "external": { "server": ["8.8.8.8:80"] } }),
    ] {
        for path in ["/api/v1/plan", "/api/v1/runs"] {
            let answer = server.ask("POST", path, Some(&request));
            if answer.status != 201 {
                assert!(
                    matches!(answer.status, 400 | 404 | 422),
                    "{request}: {} {}",
                    answer.status,
                    answer.text()
                );
                continue;
            }
            // A start is refused by `tare run` itself.
            let start: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
            let path = format!("/api/v1/starts/{}", start["id"].as_str().unwrap());
            let ended = server.until(&path, |found| {
                found["state"] == "ended" && !found["exit_code"].is_null()
            });
            assert_eq!(ended["exit_code"], 2, "{ended:#}");
        }
    }
}

#[test]
fn a_load_from_the_page_goes_to_no_public_address_and_shows_no_secret() {
    let (_place, server) = server();
    let request = |url: &str| {
        json!({
            "url": url, "pace": { "kind": "maximum" }, "stop": { "kind": "count", "requests": 1 },
            "headers": ["authorization: planted-secret"], "body": "planted-body",
        })
    };
    for url in ["http://8.8.8.8/", "http://127.0.0.1:1/\n", "--help", ""] {
        let answer = server.ask("POST", "/api/v1/loads", Some(&request(url)));
        if answer.status == 422 {
            continue;
        }
        let start: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
        let path = format!("/api/v1/starts/{}", start["id"].as_str().unwrap());
        let ended = server.until(&path, |found| {
            found["state"] == "ended" && !found["exit_code"].is_null()
        });
        assert_eq!(ended["exit_code"], 2, "{ended:#}");
        assert!(!ended.to_string().contains("planted"), "{ended:#}");
        // What was secret is removed with the process.
        let folder = server
            .runs
            .join(".serve/starts")
            .join(start["id"].as_str().unwrap());
        assert!(!folder.join("headers").exists() && !folder.join("body").exists());
    }
    let mut file = request("http://127.0.0.1:1/");
    file["cacert"] = json!("/etc/passwd");
    assert_eq!(server.ask("POST", "/api/v1/loads", Some(&file)).status, 422);
}
