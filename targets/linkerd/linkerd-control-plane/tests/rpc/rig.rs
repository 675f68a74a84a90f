//! A control plane that runs, and a client that connects as proxies do.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use hyper_util::rt::TokioIo;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, KeyUsagePurpose,
};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_rustls::TlsConnector;
use tonic::transport::{Channel, Endpoint};

pub const NAME: &str =
    "linkerd-control-plane.linkerd.serviceaccount.identity.linkerd.cluster.local";
pub const CLIENT: &str = "client.tare.serviceaccount.identity.linkerd.cluster.local";
pub const SERVER: &str = "server.tare.serviceaccount.identity.linkerd.cluster.local";
pub const TOKEN: &str = "the token of the server";

/// Longest wait for anything.
const LONG: Duration = Duration::from_secs(30);

fn ca(name: &str) -> CertificateParams {
    let mut ca = CertificateParams::default();
    ca.distinguished_name.push(DnType::CommonName, name);
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    ca.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    ca
}

/// A mesh of two workloads; four services: over HTTP, over TCP, without proxy, at a virtual address with two endpoints.
fn config(folder: &Path) -> Value {
    json!({
        "listen": "127.0.0.1:0",
        "admin": "127.0.0.1:0",
        "name": NAME,
        "ca": {
            "certificate": folder.join("issuer.pem"),
            "key": folder.join("issuer.key"),
            "root": folder.join("root.pem")
        },
        "trust_domain": "cluster.local",
        "certificate_lifetime_s": 3600,
        "mtls": true,
        "http2_between": true,
        "policy": "all-unauthenticated",
        "workloads": [
            {"pod": "client", "namespace": "tare", "address": "10.77.1.2", "identity": CLIENT, "token": "another"},
            {"pod": "server", "namespace": "tare", "address": "10.77.1.3", "identity": SERVER, "token": TOKEN}
        ],
        "services": [
            {"name": "server", "namespace": "tare", "address": "10.77.1.3", "port": 20001, "protocol": "http1",
             "endpoints": [{"address": "10.77.1.3", "port": 20001, "identity": SERVER}]},
            {"name": "stream", "namespace": "tare", "address": "10.77.1.3", "port": 20002, "protocol": "tcp",
             "endpoints": [{"address": "10.77.1.3", "port": 20002, "identity": SERVER}]},
            {"name": "outside", "namespace": "tare", "address": "10.77.1.4", "port": 20003, "protocol": "http2",
             "endpoints": [{"address": "10.77.1.4", "port": 20003, "identity": null}]},
            {"name": "virtual", "namespace": "tare", "address": "10.96.0.10", "port": 80, "protocol": "grpc",
             "endpoints": [
                {"address": "10.77.1.3", "port": 20004, "identity": SERVER},
                {"address": "10.77.1.4", "port": 20004, "identity": null}]}
        ]
    })
}

/// A control plane; it ends with this value.
pub struct Rig {
    child: Child,
    lines: Receiver<String>,
    log: Arc<Mutex<String>>,
    pub address: SocketAddr,
    pub admin: SocketAddr,
    pub root: CertificateDer<'static>,
    pub issuer: CertificateDer<'static>,
    _folder: TempDir,
}

impl Rig {
    /// Starts with the configuration, changed.
    pub fn start(change: impl FnOnce(&mut Value)) -> Rig {
        let folder = tempfile::tempdir().unwrap();
        let root = CertifiedIssuer::self_signed(ca("root"), KeyPair::generate().unwrap()).unwrap();
        let key = KeyPair::generate().unwrap();
        let issuer = ca("issuer").signed_by(&key, &root).unwrap();
        let write = |name: &str, text: String| fs::write(folder.path().join(name), text).unwrap();
        write("root.pem", root.pem());
        write("issuer.pem", issuer.pem());
        write("issuer.key", key.serialize_pem());
        let mut config = config(folder.path());
        change(&mut config);
        write("config.json", config.to_string());
        let mut child = Command::new(env!("CARGO_BIN_EXE_linkerd-control-plane"))
            .arg("--config")
            .arg(folder.path().join("config.json"))
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let log = Arc::<Mutex<String>>::default();
        let (said, lines) = channel();
        let seen = Arc::clone(&log);
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                *seen.lock().unwrap() += &format!("{line}\n");
                let _ = said.send(line);
            }
        });
        let mut rig = Rig {
            child,
            lines,
            log,
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            admin: SocketAddr::from(([127, 0, 0, 1], 0)),
            root: root.der().clone(),
            issuer: issuer.der().clone(),
            _folder: folder,
        };
        rig.address = rig.after("linkerd-control-plane listens on ");
        rig.admin = rig.after("linkerd-control-plane admin listens on ");
        rig
    }

    fn after(&self, start: &str) -> SocketAddr {
        loop {
            let line = self.lines.recv_timeout(LONG).unwrap();
            if let Some(rest) = line.strip_prefix(start) {
                return rest.parse().unwrap();
            }
        }
    }

    /// Waits until a line of the log contains these words.
    pub fn wait_for_log(&self, words: &str) {
        let end = Instant::now() + LONG;
        while !self.log.lock().unwrap().contains(words) {
            assert!(
                Instant::now() < end,
                "no {words:?}: {}",
                self.log.lock().unwrap()
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// A connection as a proxy makes it: TLS by the trust anchor and the name, no protocol asked for.
    pub async fn connect(&self) -> Channel {
        self.try_connect(NAME).await.unwrap()
    }

    pub async fn try_connect(&self, name: &str) -> Result<Channel, tonic::transport::Error> {
        let mut roots = RootCertStore::empty();
        roots.add(self.root.clone()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let tls = TlsConnector::from(Arc::new(tls));
        let name = ServerName::try_from(name.to_owned()).unwrap();
        let address = self.address;
        let connector = tower::service_fn(move |_| {
            let (tls, name) = (tls.clone(), name.clone());
            async move {
                let stream = tokio::net::TcpStream::connect(address).await?;
                stream.set_nodelay(true)?;
                tls.connect(name, stream).await.map(TokioIo::new)
            }
        });
        let endpoint = Endpoint::try_from(format!("http://{address}")).unwrap();
        endpoint.connect_with_connector(connector).await
    }

    /// A page of the administration address, with its status line.
    pub fn page(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(self.admin).unwrap();
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n"
        )
        .unwrap();
        let mut page = String::new();
        stream.read_to_string(&mut page).unwrap();
        page
    }

    /// Waits until a line of the metrics has this value.
    pub fn wait_for_metric(&self, line: &str) {
        let end = Instant::now() + LONG;
        loop {
            let page = self.page("/metrics");
            if page.lines().any(|one| one == line) {
                return;
            }
            assert!(Instant::now() < end, "no {line:?}: {page}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Ends it by SIGTERM.
    pub fn terminate(&mut self) -> ExitStatus {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        self.child.wait().unwrap()
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
