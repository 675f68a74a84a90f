//! Certificates made on the spot, and servers that speak TLS with rustls.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{HandshakeKind, RootCertStore, ServerConfig, ServerConnection};
use tare_record::load::{Identity, LoadPlan, Resumption, TlsSpec, TlsVersion, Transport, Trust};

use super::plan;

/// An authority, and a folder for its files.
pub struct Authority {
    folder: tempfile::TempDir,
    issuer: Issuer<'static, KeyPair>,
    der: CertificateDer<'static>,
}

/// A certificate and its key.
pub struct Shown {
    pub chain: Vec<CertificateDer<'static>>,
    pub key: PrivateKeyDer<'static>,
    pub identity: Identity,
}

/// How long a certificate holds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Validity {
    Now,
    Past,
}

impl Authority {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::SeqCst);
        let name = format!("authority {number}");
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).unwrap();
        std::fs::write(folder.path().join("ca.pem"), certificate.pem()).unwrap();
        Self {
            der: certificate.der().clone(),
            folder,
            issuer: Issuer::new(params, key),
        }
    }

    pub fn file(&self) -> String {
        self.path("ca.pem")
    }

    fn path(&self, name: &str) -> String {
        let path: PathBuf = self.folder.path().join(name);
        path.to_str().unwrap().to_owned()
    }

    pub fn roots(&self) -> Arc<RootCertStore> {
        let mut roots = RootCertStore::empty();
        roots.add(self.der.clone()).unwrap();
        Arc::new(roots)
    }

    pub fn sign(&self, name: &str, validity: Validity) -> Shown {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        if validity == Validity::Past {
            params.not_before = rcgen::date_time_ymd(2001, 1, 1);
            params.not_after = rcgen::date_time_ymd(2002, 1, 1);
        }
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let (certificate_path, key_path) = (
            self.path(&format!("{name}.pem")),
            self.path(&format!("{name}.key")),
        );
        std::fs::write(&certificate_path, certificate.pem()).unwrap();
        std::fs::write(&key_path, key.serialize_pem()).unwrap();
        Shown {
            chain: vec![certificate.der().clone()],
            key: PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der())),
            identity: Identity {
                certificate: certificate_path,
                key: key_path,
            },
        }
    }
}

/// A server's configuration with both versions and no client certificates.
pub fn serving(shown: Shown) -> ServerConfig {
    serving_of(shown, rustls::ALL_VERSIONS)
}

/// The same with these versions.
pub fn serving_of(
    shown: Shown,
    versions: &[&'static rustls::SupportedProtocolVersion],
) -> ServerConfig {
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(versions)
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(shown.chain, shown.key)
        .unwrap();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config
}

/// One that wants a client certificate of this authority.
pub fn serving_mutually(shown: Shown, clients: &Authority) -> ServerConfig {
    let provider = Arc::new(ring::default_provider());
    let verifier =
        WebPkiClientVerifier::builder_with_provider(clients.roots(), Arc::clone(&provider))
            .build()
            .unwrap();
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(rustls::ALL_VERSIONS)
        .unwrap()
        .with_client_cert_verifier(verifier)
        .with_single_cert(shown.chain, shown.key)
        .unwrap();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    config
}

/// A server over TLS that answers every request alike.
pub struct TlsServer {
    pub address: SocketAddr,
    pub full: Arc<AtomicU64>,
    pub resumed: Arc<AtomicU64>,
    /// Connections that ended with a close_notify.
    pub goodbyes: Arc<AtomicU64>,
    /// Of the last handshake: the name that was asked for.
    pub asked: Arc<Mutex<Option<String>>>,
}

/// What a server does with an open connection.
pub type Serve = dyn Fn(&mut Secured) + Send + Sync;

/// The server's side of a connection.
pub struct Secured {
    pub conn: ServerConnection,
    pub stream: TcpStream,
    text: Vec<u8>,
}

impl Secured {
    /// Reads one request without a body; false when the client has gone.
    pub fn request(&mut self) -> bool {
        loop {
            if let Some(end) = self.text.windows(4).position(|w| w == b"\r\n\r\n") {
                self.text.drain(..end + 4);
                return true;
            }
            let mut part = [0; 4096];
            let mut stream = rustls::Stream::new(&mut self.conn, &mut self.stream);
            match stream.read(&mut part) {
                Ok(count) if count > 0 => self.text.extend_from_slice(&part[..count]),
                _ => return false,
            }
        }
    }

    pub fn send(&mut self, bytes: &[u8]) -> bool {
        let mut stream = rustls::Stream::new(&mut self.conn, &mut self.stream);
        stream
            .write_all(bytes)
            .and_then(|()| stream.flush())
            .is_ok()
    }

    /// Says that no more comes.
    pub fn goodbye(&mut self) {
        self.conn.send_close_notify();
        let _ = self.conn.write_tls(&mut self.stream);
    }
}

impl TlsServer {
    pub fn start(
        config: ServerConfig,
        serve: impl Fn(&mut Secured) + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Self {
            address: listener.local_addr().unwrap(),
            full: Arc::default(),
            resumed: Arc::default(),
            goodbyes: Arc::default(),
            asked: Arc::default(),
        };
        let (full, resumed, goodbyes, asked) = (
            Arc::clone(&server.full),
            Arc::clone(&server.resumed),
            Arc::clone(&server.goodbyes),
            Arc::clone(&server.asked),
        );
        let (config, serve) = (Arc::new(config), Arc::new(serve));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let stream = stream.unwrap();
                stream.set_nodelay(true).unwrap();
                let conn = ServerConnection::new(Arc::clone(&config)).unwrap();
                let mut secured = Secured {
                    conn,
                    stream,
                    text: Vec::new(),
                };
                let (full, resumed, goodbyes, asked, serve) = (
                    Arc::clone(&full),
                    Arc::clone(&resumed),
                    Arc::clone(&goodbyes),
                    Arc::clone(&asked),
                    Arc::clone(&serve),
                );
                std::thread::spawn(move || {
                    let Secured { conn, stream, .. } = &mut secured;
                    while conn.is_handshaking() {
                        if conn.complete_io(stream).is_err() {
                            // The alert, which complete_io leaves behind.
                            let _ = conn.write_tls(stream);
                            return;
                        }
                    }
                    *asked.lock().unwrap() = conn.server_name().map(str::to_owned);
                    match conn.handshake_kind() {
                        Some(HandshakeKind::Resumed) => resumed.fetch_add(1, Ordering::SeqCst),
                        _ => full.fetch_add(1, Ordering::SeqCst),
                    };
                    serve(&mut secured);
                    let mut rest = [0; 64];
                    let Secured { conn, stream, .. } = &mut secured;
                    if matches!(rustls::Stream::new(conn, stream).read(&mut rest), Ok(0)) {
                        goodbyes.fetch_add(1, Ordering::SeqCst);
                    }
                });
            }
        });
        server
    }

    pub fn answering(config: ServerConfig, answer: &'static [u8]) -> Self {
        Self::start(
            config,
            move |conn| while conn.request() && conn.send(answer) {},
        )
    }

    pub fn handshakes(&self) -> (u64, u64) {
        (
            self.full.load(Ordering::SeqCst),
            self.resumed.load(Ordering::SeqCst),
        )
    }
}

/// The TLS of a client that believes this authority.
pub fn believing(authority: &Authority) -> TlsSpec {
    TlsSpec {
        trust: Trust::File {
            path: authority.file(),
        },
        identity: None,
        server_name: None,
        alpn: None,
        oldest: TlsVersion::V1_2,
        newest: TlsVersion::V1_3,
        resumption: Resumption::Off,
    }
}

/// A plan over TLS to a server named `localhost`.
pub fn tls_plan(address: SocketAddr, spec: TlsSpec) -> LoadPlan {
    let mut plan = plan(address);
    plan.endpoint.host = format!("localhost:{}", address.port());
    plan.load.transport = Transport::Tls(spec);
    plan
}
