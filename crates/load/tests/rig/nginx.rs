//! A real nginx, ended and removed with the test.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// How long a test waits for what nginx does by itself.
const WAIT: Duration = Duration::from_secs(60);

/// What nginx writes of each request: the session, the version, the client's certificate, the protocol, the status.
const LOG: &str = "$ssl_session_reused $ssl_protocol $ssl_client_verify $server_protocol $status";

/// An address for a program that binds it itself. Those that others get when they ask the kernel for any port, or when they
/// connect, lie above; the other tests of this process have been given other ones.
fn free_address() -> SocketAddr {
    static GIVEN: AtomicU32 = AtomicU32::new(0);
    loop {
        let number = std::process::id() * 64 + GIVEN.fetch_add(1, Ordering::Relaxed);
        let port = 20_000 + (number % 12_000) as u16;
        if let Ok(listener) = TcpListener::bind(("127.0.0.1", port)) {
            return listener.local_addr().unwrap();
        }
    }
}

/// One with a single server block.
pub struct Nginx {
    child: Child,
    folder: tempfile::TempDir,
    pub address: SocketAddr,
}

impl Nginx {
    /// Starts one whose server block listens as these words say and holds these directives.
    pub fn start(listens: &str, directives: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path().display();
        let address = free_address();
        let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|kind| format!("{kind}_temp_path {here}/{kind};\n"))
            .concat();
        let text = format!(
            "daemon off; master_process off; pid {here}/pid; error_log {here}/error.log;\n\
             events {{}}\n\
             http {{ log_format sides '{LOG}'; access_log {here}/access.log sides; {temporary} \
             server {{ listen {address} {listens}; {directives} }} }}\n"
        );
        let conf = folder.path().join("nginx.conf");
        std::fs::write(&conf, text).unwrap();
        let child = Command::new("nginx")
            .arg("-c")
            .arg(&conf)
            .stderr(Stdio::null())
            .spawn()
            .expect("nginx starts: install the package nginx");
        let mut nginx = Self {
            child,
            folder,
            address,
        };
        let limit = Instant::now() + WAIT;
        while TcpStream::connect(address).is_err() {
            assert!(Instant::now() < limit, "nginx does not listen");
            let ended = nginx.child.try_wait().unwrap();
            assert_eq!(ended, None, "nginx has ended");
            std::thread::sleep(Duration::from_millis(5));
        }
        nginx
    }

    /// What it has written of its requests, once that many are there: nginx writes after it has answered.
    pub fn logged(&self, requests: usize) -> Vec<String> {
        let limit = Instant::now() + WAIT;
        loop {
            let text = std::fs::read_to_string(self.folder.path().join("access.log"));
            let lines: Vec<String> = text.unwrap().lines().map(str::to_owned).collect();
            if lines.len() >= requests {
                return lines;
            }
            assert!(Instant::now() < limit, "{} of {requests}", lines.len());
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
