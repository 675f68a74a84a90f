//! The first words of a connection: TLS, who calls, and what each side has received already.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::version::TLS13;
use rustls::{
    ClientConfig, ClientConnection, Connection, RootCertStore, ServerConfig, ServerConnection,
};
use serde::{Deserialize, Serialize};

use super::connection::Peer;
use super::frame::{Frame, HEAD_BYTES, Kind, encoded, head};

/// Largest first frame: its sender is not yet known.
const GREETING_BYTES_MAX: usize = 4 << 10;
/// Time for a connection to be made and greeted.
const GREETING_WITHIN: Duration = Duration::from_secs(10);
/// Name in the certificate of a run keeper.
pub(crate) const SERVER_NAME: &str = "run-keeper";

/// First message of who connects.
#[derive(Serialize, Deserialize)]
pub(crate) struct Hello {
    pub token: String,
    pub name: String,
    /// Differs with every process.
    pub instance: u64,
    pub received: u64,
}

/// The answer to it.
#[derive(Serialize, Deserialize)]
struct Welcome {
    instance: u64,
    received: u64,
}

/// A connection over which both sides have greeted each other.
pub(crate) struct TlsLink {
    pub(super) socket: TcpStream,
    pub(super) tls: Connection,
    /// The last message that the peer has received.
    pub(super) acknowledged: u64,
}

/// Why a connection was not made.
pub(crate) enum NotConnected {
    /// It may be tried again.
    Failed(String),
    /// The other side wants no connection.
    Refused(String),
}

pub(super) fn failed(error: impl std::fmt::Display) -> NotConnected {
    NotConnected::Failed(error.to_string())
}

/// TLS of those who connect: they trust this authority only.
pub(crate) fn client_config(authority_pem: &str) -> Result<Arc<ClientConfig>, String> {
    let mut roots = RootCertStore::empty();
    let root = CertificateDer::from_pem_slice(authority_pem.as_bytes());
    let added = root.map_err(|error| error.to_string())?;
    roots.add(added).map_err(|error| error.to_string())?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13])
        .map_err(|error| error.to_string())?;
    let config = builder.with_root_certificates(roots);
    Ok(Arc::new(config.with_no_client_auth()))
}

/// TLS of a run keeper.
pub(crate) fn server_config(
    certificate_pem: &str,
    key_pem: &str,
) -> Result<Arc<ServerConfig>, String> {
    let certificate = CertificateDer::from_pem_slice(certificate_pem.as_bytes());
    let certificate = certificate.map_err(|error| error.to_string())?;
    let key = PrivateKeyDer::from_pem_slice(key_pem.as_bytes());
    let key = key.map_err(|error| error.to_string())?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13])
        .map_err(|error| error.to_string())?;
    let config = builder.with_no_client_auth();
    let config = config.with_single_cert(vec![certificate], key);
    config.map(Arc::new).map_err(|error| error.to_string())
}

/// Reads one frame; the rest stays in the connection.
fn read_greeting(stream: &mut impl Read) -> Result<Frame, NotConnected> {
    let mut first = [0; HEAD_BYTES];
    stream.read_exact(&mut first).map_err(failed)?;
    let (kind, number, length) = head(&first, GREETING_BYTES_MAX).map_err(NotConnected::Failed)?;
    let mut payload = vec![0; length];
    stream.read_exact(&mut payload).map_err(failed)?;
    match kind {
        Kind::End => Err(NotConnected::Refused(
            String::from_utf8_lossy(&payload).into_owned(),
        )),
        kind => Ok(Frame {
            kind,
            number,
            payload,
        }),
    }
}

fn limited(socket: &TcpStream) -> io::Result<()> {
    socket.set_nonblocking(false)?;
    socket.set_read_timeout(Some(GREETING_WITHIN))?;
    socket.set_write_timeout(Some(GREETING_WITHIN))
}

/// Greets a run keeper. Returns the connection and the instance that answered.
pub(crate) fn greet(
    socket: TcpStream,
    config: &Arc<ClientConfig>,
    hello: &Hello,
) -> Result<(TlsLink, u64), NotConnected> {
    limited(&socket).map_err(failed)?;
    let name = ServerName::try_from(SERVER_NAME).map_err(failed)?;
    let tls = ClientConnection::new(Arc::clone(config), name).map_err(failed)?;
    let mut stream = tare_tls::over(tls, socket);
    let greeting = serde_json::to_vec(hello).map_err(failed)?;
    let frame = encoded(Kind::Hello, 0, &greeting);
    stream.write_all(&frame).map_err(failed)?;
    stream.flush().map_err(failed)?;
    let answer = read_greeting(&mut stream)?;
    let welcome: Welcome = serde_json::from_slice(&answer.payload).map_err(failed)?;
    let link = TlsLink {
        socket: stream.sock.0,
        tls: Connection::Client(stream.conn),
        acknowledged: welcome.received,
    };
    Ok((link, welcome.instance))
}

/// Lets a peer in that knows the token; `find` gives its session, or why it has none.
pub(crate) fn let_in(
    socket: TcpStream,
    config: &Arc<ServerConfig>,
    (token, instance): (&str, u64),
    find: impl FnOnce(&Hello) -> Result<Arc<Peer>, String>,
) -> Result<(TlsLink, Arc<Peer>, Hello), NotConnected> {
    limited(&socket).map_err(failed)?;
    let tls = ServerConnection::new(Arc::clone(config)).map_err(failed)?;
    let mut stream = tare_tls::over(tls, socket);
    let greeting = read_greeting(&mut stream)?;
    let hello: Hello = serde_json::from_slice(&greeting.payload).map_err(failed)?;
    let found = match is_equal(&hello.token, token) {
        true => find(&hello),
        false => Err(String::from("the token is wrong")),
    };
    let frame = match &found {
        Ok(peer) => {
            let received = peer.received();
            let welcome = Welcome { instance, received };
            let welcome = serde_json::to_vec(&welcome).map_err(failed)?;
            encoded(Kind::Welcome, 0, &welcome)
        }
        Err(reason) => encoded(Kind::End, 0, reason.as_bytes()),
    };
    stream.write_all(&frame).map_err(failed)?;
    stream.flush().map_err(failed)?;
    let peer = found.map_err(NotConnected::Refused)?;
    let link = TlsLink {
        socket: stream.sock.0,
        tls: Connection::Server(stream.conn),
        acknowledged: hello.received,
    };
    Ok((link, peer, hello))
}

/// Takes the same time wherever they differ.
fn is_equal(one: &str, other: &str) -> bool {
    let pairs = one.bytes().zip(other.bytes());
    one.len() == other.len() && pairs.fold(0, |sum, (a, b)| sum | (a ^ b)) == 0
}
