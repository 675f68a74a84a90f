//! Both ends of a TLS 1.3 connection with a self-signed certificate.

use std::io::{self, Read, Write};
use std::net::IpAddr;
use std::sync::Arc;

use rcgen::{CertificateParams, KeyPair, PKCS_ECDSA_P256_SHA256, SanType};
use rustls::crypto::ring;
use rustls::pki_types::{PrivatePkcs8KeyDer, ServerName};
use rustls::version::TLS13;
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection};
use tare_tls::TlsStream;

/// TLS configurations of both ends.
pub(super) struct TlsEnds {
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
    name: ServerName<'static>,
}

/// The client end; sends close_notify when it is dropped.
pub(super) struct Near<S: Read + Write>(TlsStream<ClientConnection, S>);

/// The server end.
pub(super) type Far<S> = TlsStream<ServerConnection, S>;

impl TlsEnds {
    /// Makes a key and a certificate for this address.
    pub(super) fn new(address: IpAddr) -> io::Result<Self> {
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).map_err(io::Error::other)?;
        let mut params = CertificateParams::default();
        params.subject_alt_names = vec![SanType::IpAddress(address)];
        let certificate = params.self_signed(&key).map_err(io::Error::other)?;
        let mut roots = RootCertStore::empty();
        roots
            .add(certificate.der().clone())
            .map_err(io::Error::other)?;
        let provider = Arc::new(ring::default_provider());
        let client = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[&TLS13])
            .map_err(io::Error::other)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let private = PrivatePkcs8KeyDer::from(key.serialize_der());
        let mut server = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&TLS13])
            .map_err(io::Error::other)?
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], private.into())
            .map_err(io::Error::other)?;
        // A client that only writes would close the connection with unread tickets, and so reset it.
        server.send_tls13_tickets = 0;
        Ok(Self {
            client: Arc::new(client),
            server: Arc::new(server),
            name: ServerName::from(address),
        })
    }

    /// Wraps both ends of a connection; the handshake happens with the first bytes.
    pub(super) fn wrap<S: Read + Write>(&self, near: S, far: S) -> io::Result<(Near<S>, Far<S>)> {
        let client = ClientConnection::new(Arc::clone(&self.client), self.name.clone())
            .map_err(io::Error::other)?;
        let server = ServerConnection::new(Arc::clone(&self.server)).map_err(io::Error::other)?;
        Ok((
            Near(tare_tls::over(client, near)),
            tare_tls::over(server, far),
        ))
    }
}

impl<S: Read + Write> Read for Near<S> {
    fn read(&mut self, data: &mut [u8]) -> io::Result<usize> {
        self.0.read(data)
    }
}

impl<S: Read + Write> Write for Near<S> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.0.write(data)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl<S: Read + Write> Drop for Near<S> {
    fn drop(&mut self) {
        // Without it the server reports a truncation attack (RFC 8446 §6.1).
        self.0.conn.send_close_notify();
        let _ = self.0.flush();
    }
}
