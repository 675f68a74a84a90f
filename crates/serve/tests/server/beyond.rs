//! A server that other machines reach: TLS and a password, or it does not start.

use std::fs::Permissions;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use crate::rig::{PATIENCE, Server, home, tare};

/// An address of this machine; the server listens on all of them.
const NAME: &str = "127.0.0.2";
const PASSWORD: &str = "a long password: with signs";

/// Files that a server beyond loopback needs.
struct Files {
    place: tempfile::TempDir,
}

impl Files {
    fn make() -> Files {
        let place = tempfile::tempdir().unwrap();
        let files = Files { place };
        let made = rcgen::generate_simple_self_signed([NAME.to_owned()]).unwrap();
        std::fs::write(files.path("cert.pem"), made.cert.pem()).unwrap();
        std::fs::write(files.path("key.pem"), made.signing_key.serialize_pem()).unwrap();
        std::fs::write(files.path("password"), format!("{PASSWORD}\n")).unwrap();
        for secret in ["key.pem", "password"] {
            files.set_mode(secret, 0o600);
        }
        files
    }

    fn set_mode(&self, name: &str, mode: u32) {
        std::fs::set_permissions(self.path(name), Permissions::from_mode(mode)).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    /// `tare serve` on all addresses, with these files as options: `--tls-cert=cert.pem`.
    fn command(&self, options: &[&str]) -> Command {
        let mut command = Command::new(tare());
        command
            .args(["serve", "--listen", "0.0.0.0:0", "--out", "runs"])
            .args(options)
            .current_dir(self.place.path())
            .env("TARE_HOME", home());
        command
    }

    fn start(&self) -> Server {
        let host = format!("--host={NAME}");
        let all = [
            "--tls-cert=cert.pem",
            "--tls-key=key.pem",
            "--password-file=password",
            &host,
        ];
        Server::of(self.command(&all), &self.path("runs"))
    }

    /// A request over HTTPS that trusts this server's certificate alone: status, header lines, body.
    fn ask(&self, server: &Server, path: &str, options: &[&str]) -> (u16, String, String) {
        let ended = curl(
            &self.path("cert.pem"),
            &format!("https://{}{path}", server.address),
            options,
        );
        let text = String::from_utf8_lossy(&ended.stdout).into_owned();
        assert!(
            ended.status.success(),
            "{path}: {}",
            String::from_utf8_lossy(&ended.stderr)
        );
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, head.to_ascii_lowercase(), body.to_owned())
    }
}

fn curl(trusted: &Path, url: &str, options: &[&str]) -> Output {
    Command::new("curl")
        .args([
            "--silent",
            "--show-error",
            "--noproxy",
            "*",
            "--include",
            "--max-time",
            "60",
            "--cacert",
        ])
        .arg(trusted)
        .args(options)
        .arg(url)
        .output()
        .unwrap()
}

#[test]
fn beyond_loopback_it_starts_only_with_tls_a_password_and_a_name() {
    let files = Files::make();
    std::fs::write(files.path("short"), "eleven char\n").unwrap();
    let other = rcgen::KeyPair::generate().unwrap();
    std::fs::write(files.path("other.pem"), other.serialize_pem()).unwrap();
    std::fs::write(files.path("open"), format!("{PASSWORD}\n")).unwrap();
    std::fs::copy(files.path("key.pem"), files.path("open.pem")).unwrap();
    for (name, mode) in [
        ("short", 0o600),
        ("other.pem", 0o600),
        ("open", 0o644),
        ("open.pem", 0o604),
    ] {
        files.set_mode(name, mode);
    }
    std::fs::copy(files.path("cert.pem"), files.path("no-key.pem")).unwrap();
    files.set_mode("no-key.pem", 0o600);
    let (cert, key, password) = (
        "--tls-cert=cert.pem",
        "--tls-key=key.pem",
        "--password-file=password",
    );
    let host = format!("--host={NAME}");
    for (options, exit, word) in [
        (vec![], 2, "--password-file"),
        (vec![host.as_str(), cert, key], 2, "--password-file"),
        (vec![host.as_str(), password], 2, "--tls-cert"),
        (vec![host.as_str(), cert, password], 2, "--tls-key"),
        (vec![cert, key, password], 2, "--host"),
        (
            vec![host.as_str(), cert, key, "--password-file=short"],
            3,
            "fewer than 12",
        ),
        (
            vec![host.as_str(), cert, key, "--password-file=none"],
            3,
            "--password-file none",
        ),
        (
            vec![host.as_str(), cert, "--tls-key=other.pem", password],
            3,
            "belong together",
        ),
        (
            vec![host.as_str(), cert, "--tls-key=no-key.pem", password],
            3,
            "no private key",
        ),
        (
            vec![host.as_str(), cert, "--tls-key=open.pem", password],
            3,
            "other users (mode 0604)",
        ),
        (
            vec![host.as_str(), cert, key, "--password-file=open"],
            3,
            "other users (mode 0644)",
        ),
    ] {
        let ended = files.command(&options).output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(exit), "{options:?}: {said}");
        assert!(
            said.contains(word) && !said.contains(PASSWORD),
            "{options:?}: {said}"
        );
        assert!(!said.contains("?token="), "{options:?}: {said}");
    }
}

#[test]
fn over_https_the_password_the_token_or_the_link_is_needed() {
    let files = Files::make();
    let server = files.start();
    assert!(server.address.starts_with(NAME), "{}", server.address);
    let basic = |text: &str| vec!["--user".to_owned(), text.to_owned()];
    let header = |text: String| vec!["--header".to_owned(), text];
    let right = basic(&format!("tare:{PASSWORD}"));
    let bearer = header(format!("Authorization: Bearer {}", server.token));
    let status = |path: &str, words: &[String]| {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        files.ask(&server, path, &words).0
    };
    for path in ["/", "/api/v1/runs", "/metrics", "/assets/app.js"] {
        let (found, head, _) = files.ask(&server, path, &[]);
        assert_eq!(found, 401, "{path}");
        // The browser asks for it.
        assert!(
            head.contains("www-authenticate: basic realm=\"tare\""),
            "{head}"
        );
        assert_eq!(status(path, &right), 200, "{path}");
        assert_eq!(status(path, &bearer), 200, "{path}");
        // A password that a browser sends by itself is no help to another site.
        let of_other_site = [
            right.clone(),
            header("Origin: https://evil.example".to_owned()),
        ]
        .concat();
        assert_eq!(status(path, &of_other_site), 403, "{path}");
        let rebound = [right.clone(), header("Host: evil.example".to_owned())].concat();
        assert_eq!(status(path, &rebound), 403, "{path}");
    }
    let (opened, head, _) = files.ask(&server, &format!("/?token={}", server.link), &[]);
    assert_eq!(opened, 303);
    let cookie = head
        .lines()
        .find_map(|line| line.strip_prefix("set-cookie: "))
        .unwrap();
    for word in [
        "__host-tare-",
        "; httponly",
        "; samesite=strict",
        "; secure",
    ] {
        assert!(cookie.contains(word), "{cookie}");
    }
    assert_eq!(status(&format!("/?token={}", server.link), &[]), 401);
    // The link was one of five attempts.
    for (wrong, refused) in [
        ("tare:".to_owned(), 401),
        (format!("tare:{PASSWORD}x"), 401),
        (format!("tare:{}", &PASSWORD[..PASSWORD.len() - 1]), 401),
        (format!("root:{PASSWORD}"), 401),
        (format!("tare:{}", server.token), 429),
        (format!("tare:{PASSWORD}"), 429),
    ] {
        assert_eq!(status("/api/v1/runs", &basic(&wrong)), refused, "{wrong}");
    }
    assert_eq!(status("/api/v1/runs", &bearer), 200);

    // Without TLS nothing is answered, nor to a client that does not know the certificate.
    let plain = server.with_headers(
        "GET",
        "/api/v1/runs",
        &format!("Host: {}\r\n", server.address),
    );
    assert_eq!((plain.status, plain.text().len()), (0, 0), "{plain:?}");
    std::fs::write(
        files.path("other.pem"),
        rcgen::generate_simple_self_signed([NAME.to_owned()])
            .unwrap()
            .cert
            .pem(),
    )
    .unwrap();
    let ended = curl(
        &files.path("other.pem"),
        &format!("https://{}/", server.address),
        &[],
    );
    assert!(
        !ended.status.success() && ended.stdout.is_empty(),
        "{ended:?}"
    );
}

#[test]
fn the_clusters_of_the_user_are_lent_to_others_only_when_they_are_told() {
    let files = Files::make();
    std::fs::create_dir(files.path("tare")).unwrap();
    let clusters = "clusters:\n  mine: {bootstrap: ['127.0.0.1:9092']}\n";
    std::fs::write(files.path("tare/clusters.yaml"), clusters).unwrap();
    let host = format!("--host={NAME}");
    let open = [
        "--tls-cert=cert.pem",
        "--tls-key=key.pem",
        "--password-file=password",
        &host,
    ];
    let lent = [&open[..], &["--lend-clusters"]].concat();
    for (options, is_there) in [(&open[..], false), (&lent, true)] {
        let mut command = files.command(options);
        command.env("XDG_CONFIG_HOME", files.place.path());
        let server = Server::of(command, &files.path("runs"));
        let bearer = format!("Authorization: Bearer {}", server.token);
        let path = "/api/v1/kafka/clusters";
        let (status, _, body) = files.ask(&server, path, &["--header", &bearer]);
        assert_eq!((status, body.contains("mine")), (200, is_there), "{body}");
    }
    let mut command = Command::new(tare());
    command
        .args(["serve", "--listen", "127.0.0.1:0", "--out", "runs"])
        .current_dir(files.place.path())
        .env("TARE_HOME", home())
        .env("XDG_CONFIG_HOME", files.place.path());
    let server = Server::of(command, &files.path("runs"));
    let found = server.get("/api/v1/kafka/clusters");
    assert_eq!(found["clusters"][0]["name"], "mine", "{found}");
}

#[test]
fn handshakes_that_do_not_end_are_ended() {
    let files = Files::make();
    let server = files.start();
    // The start of a ClientHello of 512 bytes, as far as each of them comes.
    let hello = [0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3];
    let mut waiting: Vec<TcpStream> = (0..300)
        .map(|number| {
            let mut stream = TcpStream::connect(&server.address).unwrap();
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            stream.write_all(&hello[..number % hello.len()]).unwrap();
            stream
        })
        .collect();
    let password = format!("tare:{PASSWORD}");
    assert_eq!(
        files
            .ask(&server, "/api/v1/server", &["--user", &password])
            .0,
        200
    );
    // One that goes on for ever, a byte at a time.
    let mut slow = TcpStream::connect(&server.address).unwrap();
    slow.set_read_timeout(Some(Duration::from_millis(200)))
        .unwrap();
    slow.write_all(&hello).unwrap();
    let begun = Instant::now();
    // Closed without an alert: the server has waited for the rest, and no longer.
    while slow.write_all(&[0]).is_ok() && !is_closed(&mut slow) {
        assert!(begun.elapsed() < PATIENCE, "it is still open");
    }
    let ended = waiting
        .iter_mut()
        .map(is_closed)
        .filter(|closed| *closed)
        .count();
    assert_eq!(ended, waiting.len());
    assert_eq!(
        files
            .ask(&server, "/api/v1/server", &["--user", &password])
            .0,
        200
    );
}

/// Whether the peer has closed; it has sent nothing.
fn is_closed(stream: &mut TcpStream) -> bool {
    // `read_to_end` repeats interrupted calls.
    let mut answer = Vec::new();
    let ended = stream.read_to_end(&mut answer);
    assert!(answer.is_empty(), "it was answered");
    match ended {
        Ok(_) => true,
        Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
    }
}
