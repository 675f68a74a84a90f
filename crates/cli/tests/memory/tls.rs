//! Servers that have TLS answer for them, between one byte of data and the next, and read none of it.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use rcgen::{CertificateParams, KeyPair};
use rustls::crypto::cipher::{AeadKey, MessageEncrypter, OutboundChunks, OutboundPlainMessage};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{
    ConnectionTrafficSecrets, ContentType, ProtocolVersion, ServerConfig, ServerConnection,
    SupportedCipherSuite, SupportedProtocolVersion,
};
use std::net::TcpListener;

use super::{says, server_at, survives};

const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n";

/// One suite, whose keys are all of the same length.
fn config(
    suite: SupportedCipherSuite,
    version: &'static SupportedProtocolVersion,
) -> Arc<ServerConfig> {
    let provider = CryptoProvider {
        cipher_suites: vec![suite],
        ..ring::default_provider()
    };
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let certificate = params.self_signed(&key).unwrap();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let mut config = ServerConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(&[version])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .unwrap();
    config.enable_secret_extraction = true;
    Arc::new(config)
}

/// Shakes hands, and reads the first request.
fn opened(stream: &mut TcpStream, config: &Arc<ServerConfig>) -> io::Result<ServerConnection> {
    let mut conn = ServerConnection::new(Arc::clone(config)).unwrap();
    let mut tls = rustls::Stream::new(&mut conn, stream);
    let mut request = [0; 4096];
    match tls.read(&mut request)? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(conn),
    }
}

/// Fails the load because of what is never read.
fn is_found_out(serve: impl Fn(TcpStream) -> io::Result<()> + Send + Sync + 'static, words: &str) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = server_at(listener, serve);
    let how = [
        "--insecure",
        "--clients",
        "1",
        "--count",
        "1",
        "--timeout",
        "20s",
    ];
    let outcomes = survives(&format!("https://{address}/"), &how);
    assert!(says(&outcomes, words), "{outcomes:?}");
    assert!(
        outcomes.iter().all(|one| one.class != "timeout"),
        "{outcomes:?}"
    );
}

#[test]
fn keys_that_are_to_be_updated_without_end_are_found_out() {
    let config = config(
        ring::cipher_suite::TLS13_CHACHA20_POLY1305_SHA256,
        &rustls::version::TLS13,
    );
    is_found_out(
        move |mut stream| {
            let mut conn = opened(&mut stream, &config)?;
            conn.writer().write_all(HEAD)?;
            loop {
                for _ in 0..100 {
                    conn.refresh_traffic_keys().unwrap();
                    conn.writer().write_all(b"x")?;
                }
                while conn.wants_write() {
                    conn.write_tls(&mut stream)?;
                }
            }
        },
        "does not read requests",
    );
}

/// Seals what rustls' server would not say, in TLS 1.2.
struct Sealer {
    encrypter: Box<dyn MessageEncrypter>,
    sequence: u64,
}

impl Sealer {
    fn of(conn: ServerConnection) -> Self {
        let Some(SupportedCipherSuite::Tls12(suite)) = conn.negotiated_cipher_suite() else {
            panic!("no suite of TLS 1.2");
        };
        let (sequence, secrets) = conn.dangerous_extract_secrets().unwrap().tx;
        let ConnectionTrafficSecrets::Chacha20Poly1305 { key, iv } = secrets else {
            panic!("another suite than the only one");
        };
        let key: [u8; 32] = key.as_ref().try_into().unwrap();
        let encrypter = suite
            .aead_alg
            .encrypter(AeadKey::from(key), iv.as_ref(), &[]);
        Self {
            encrypter,
            sequence,
        }
    }

    fn seal(&mut self, typ: ContentType, payload: &[u8]) -> Vec<u8> {
        let message = OutboundPlainMessage {
            typ,
            version: ProtocolVersion::TLSv1_2,
            payload: OutboundChunks::Single(payload),
        };
        let sealed = self.encrypter.encrypt(message, self.sequence).unwrap();
        self.sequence += 1;
        sealed.encode()
    }
}

/// Greets without end, so many times in each record, with a byte of data behind it.
fn greeting(requests: usize) -> impl Fn(TcpStream) -> io::Result<()> + Send + Sync + 'static {
    let config = config(
        ring::cipher_suite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
        &rustls::version::TLS12,
    );
    move |mut stream| {
        let mut sealer = Sealer::of(opened(&mut stream, &config)?);
        stream.write_all(&sealer.seal(ContentType::ApplicationData, HEAD))?;
        loop {
            let mut many = Vec::new();
            while many.len() < 32 * 1024 {
                many.extend(sealer.seal(ContentType::Handshake, &[0; 4].repeat(requests)));
                many.extend(sealer.seal(ContentType::ApplicationData, b"x"));
            }
            stream.write_all(&many)?;
        }
    }
}

#[test]
fn hello_requests_between_bytes_of_data_are_found_out() {
    is_found_out(greeting(1), "does not read requests");
}

#[test]
fn hello_requests_are_counted_and_not_the_records_they_come_in() {
    is_found_out(greeting(4096), "TLS");
}
