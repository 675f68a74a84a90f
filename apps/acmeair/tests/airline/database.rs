//! A real database over TLS for the tests: the one of `ACMEAIR_TEST_DATABASE` (a URI), else FerretDB from Tare's cache; and a
//! door before it that can be shut.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

use crate::rig::LIMIT;

/// A certificate authority's certificate, and a server's for `localhost`.
struct Certificates {
    folder: tempfile::TempDir,
}

impl Certificates {
    fn new() -> Certificates {
        let folder = tempfile::tempdir().unwrap();
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let key = KeyPair::generate().unwrap();
        let server = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        let server = server.signed_by(&key, &authority).unwrap();
        let write =
            |name: &str, text: String| std::fs::write(folder.path().join(name), text).unwrap();
        write("ca.pem", authority.pem());
        write("server.pem", server.pem());
        write("server.key", key.serialize_pem());
        Certificates { folder }
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }
}

/// An authority that nobody asked.
pub fn other_authority() -> (tempfile::TempDir, String) {
    let certificates = Certificates::new();
    let path = certificates.path("ca.pem");
    (certificates.folder, path)
}

/// The database that all tests share. It ends when this process does: its keeper waits for the end of a
/// pipe that we hold, and then removes what there was, since a static is never dropped.
pub struct Server {
    at: SocketAddr,
    options: String,
    _keeper: Option<Child>,
    _kept: Option<(Certificates, tempfile::TempDir)>,
}

/// The one of all tests.
pub fn server() -> &'static Server {
    static SERVER: OnceLock<Server> = OnceLock::new();
    SERVER.get_or_init(|| match std::env::var("ACMEAIR_TEST_DATABASE") {
        Ok(uri) => Server::of(&uri),
        Err(_) => Server::ferretdb(),
    })
}

/// From `TARE_BINARY_FERRETDB`, else the newest that `tare targets fetch ferretdb` has built.
fn program() -> PathBuf {
    if let Some(path) = std::env::var_os("TARE_BINARY_FERRETDB") {
        return PathBuf::from(path);
    }
    let folder = |name| std::env::var_os(name).map(PathBuf::from);
    let cache = folder("TARE_CACHE")
        .or_else(|| Some(folder("XDG_CACHE_HOME")?.join("tare")))
        .unwrap_or_else(|| folder("HOME").unwrap().join(".cache/tare"))
        .join("go");
    let built = std::fs::read_dir(&cache).into_iter().flatten();
    let built = built.map(|entry| entry.unwrap().path().join("ferretdb"));
    let newest = built
        .filter(|path| path.is_file())
        .max_by_key(|path| path.metadata().unwrap().modified().unwrap());
    newest.unwrap_or_else(|| {
        panic!(
            "there is no ferretdb in {}: run `./tare targets fetch ferretdb`",
            cache.display()
        )
    })
}

impl Server {
    fn of(uri: &str) -> Server {
        let rest = uri
            .strip_prefix("mongodb://localhost:")
            .expect("mongodb://localhost:port/?options");
        let (port, options) = rest.split_once("/?").unwrap();
        Server {
            at: (Ipv4Addr::LOCALHOST, port.parse().unwrap()).into(),
            options: options.to_owned(),
            _keeper: None,
            _kept: None,
        }
    }

    fn ferretdb() -> Server {
        let certificates = Certificates::new();
        let folder = tempfile::tempdir().unwrap();
        let at = free_address();
        let data = folder.path().display();
        let mut keeper = Command::new("sh")
            .args([
                "-c",
                r#""$0" "$@" & server=$!; cat >/dev/null; kill $server; wait; rm -rf "$DATA" "$KEYS""#,
            ])
            .arg(program())
            .env("DATA", folder.path())
            .env("KEYS", certificates.folder.path())
            .args([
                "--handler=sqlite",
                "--telemetry=disable",
                "--debug-addr=-",
                "--listen-addr=",
            ])
            .arg(format!("--sqlite-url=file:{data}/"))
            .arg(format!("--state-dir={data}"))
            .arg(format!("--listen-tls={at}"))
            .arg(format!(
                "--listen-tls-cert-file={}",
                certificates.path("server.pem")
            ))
            .arg(format!(
                "--listen-tls-key-file={}",
                certificates.path("server.key")
            ))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let began = Instant::now();
        while TcpStream::connect(at).is_err() {
            assert!(began.elapsed() < LIMIT, "ferretdb does not listen on {at}");
            assert!(keeper.try_wait().unwrap().is_none(), "ferretdb ended");
            std::thread::sleep(Duration::from_millis(20));
        }
        let ca = certificates.path("ca.pem");
        Server {
            at,
            options: format!("tls=true&tlsCAFile={ca}&directConnection=true"),
            _keeper: Some(keeper),
            _kept: Some((certificates, folder)),
        }
    }

    /// Its URI.
    pub fn uri(&self) -> String {
        self.uri_at(self.at)
    }

    /// Its URI through a door.
    pub fn uri_at(&self, door: SocketAddr) -> String {
        format!("mongodb://localhost:{}/?{}", door.port(), self.options)
    }

    /// Its URI with another authority's certificate.
    pub fn uri_with_authority(&self, ca: &Path) -> String {
        let others = self
            .options
            .split('&')
            .filter(|option| !option.starts_with("tlsCAFile"));
        let others: Vec<&str> = others.collect();
        let (port, ca) = (self.at.port(), ca.display());
        format!(
            "mongodb://localhost:{port}/?{}&tlsCAFile={ca}",
            others.join("&")
        )
    }

    /// A door before it.
    pub fn door(&self) -> Door {
        Door::before(self.at)
    }
}

/// An address for a program that binds it itself. Those that others get when they ask the kernel for any port, or when they
/// connect, lie above; the other tests of this process have been given other ones.
pub fn free_address() -> SocketAddr {
    static GIVEN: AtomicU32 = AtomicU32::new(0);
    loop {
        let number = std::process::id() * 64 + GIVEN.fetch_add(1, Ordering::Relaxed);
        let port = 20_000 + (number % 12_000) as u16;
        if let Ok(listener) = TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
            return listener.local_addr().unwrap();
        }
    }
}

const OPEN: u8 = 0;
const SHUT: u8 = 1;
const STUCK: u8 = 2;

/// A way to the database that can be shut (connections are closed) or stuck (nothing passes any more).
pub struct Door {
    /// Where it is.
    pub at: SocketAddr,
    how: Arc<AtomicU8>,
    passed: Arc<AtomicU64>,
    /// Ways of connections that are not closed yet.
    ways: Arc<AtomicU64>,
}

impl Door {
    fn before(server: SocketAddr) -> Door {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let door = Door {
            at: listener.local_addr().unwrap(),
            how: Arc::default(),
            passed: Arc::default(),
            ways: Arc::default(),
        };
        let (how, passed) = (Arc::clone(&door.how), Arc::clone(&door.passed));
        let ways = Arc::clone(&door.ways);
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let client = client.unwrap();
                if how.load(Ordering::SeqCst) == SHUT {
                    continue;
                }
                let Ok(server) = TcpStream::connect(server) else {
                    continue;
                };
                for (from, to) in [(&client, &server), (&server, &client)] {
                    let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    let (how, passed) = (Arc::clone(&how), Arc::clone(&passed));
                    let ways = Arc::clone(&ways);
                    ways.fetch_add(1, Ordering::SeqCst);
                    std::thread::spawn(move || {
                        pass(from, to, &how, &passed);
                        ways.fetch_sub(1, Ordering::SeqCst);
                    });
                }
            }
        });
        door
    }

    pub fn open(&self) {
        self.how.store(OPEN, Ordering::SeqCst);
    }

    /// Returns when all connections are closed: what was on its way has come through or is lost.
    pub fn shut(&self) {
        self.how.store(SHUT, Ordering::SeqCst);
        let began = Instant::now();
        while self.ways.load(Ordering::SeqCst) > 0 {
            assert!(began.elapsed() < LIMIT, "a connection is still open");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub fn stick(&self) {
        self.how.store(STUCK, Ordering::SeqCst);
    }

    /// Bytes that went through.
    pub fn passed(&self) -> u64 {
        self.passed.load(Ordering::SeqCst)
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, how: &AtomicU8, passed: &AtomicU64) {
    from.set_read_timeout(Some(Duration::from_millis(20)))
        .unwrap();
    let mut chunk = [0; 1 << 16];
    loop {
        match how.load(Ordering::SeqCst) {
            SHUT => break,
            STUCK => {
                std::thread::sleep(Duration::from_millis(5));
                continue;
            }
            _ => {}
        }
        match from.read(&mut chunk) {
            Ok(0) => break,
            Ok(read) => {
                // It may have got stuck while we waited for this.
                while how.load(Ordering::SeqCst) == STUCK {
                    std::thread::sleep(Duration::from_millis(5));
                }
                passed.fetch_add(read as u64, Ordering::SeqCst);
                if to.write_all(&chunk[..read]).is_err() {
                    break;
                }
            }
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(_) => break,
        }
    }
    let _ = from.shutdown(std::net::Shutdown::Both);
    let _ = to.shutdown(std::net::Shutdown::Both);
}
