//! The first words of a connection: TLS, who calls, and what each side has received already.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ring::hmac;
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
/// Time for a connection to be greeted, from the first byte to the last.
pub(super) const GREETING_WITHIN: Duration = Duration::from_secs(10);
/// Name in the certificate of a run keeper.
pub(crate) const SERVER_NAME: &str = "run-keeper";

/// First message of who connects.
#[derive(Serialize, Deserialize)]
pub(crate) struct Hello {
    /// Of this name, by the secret of the run.
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

/// By what a peer shows that it is the one of this name. Who has it learns nothing of the tokens of others.
pub(crate) fn token_of(secret: &str, name: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    let tag = hmac::sign(&key, name.as_bytes());
    tag.as_ref()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// A socket that fails once a time is over, however little arrives at a time.
pub(crate) struct Within {
    socket: TcpStream,
    deadline: Instant,
}

impl Within {
    pub(crate) fn new(socket: TcpStream, limit: Duration) -> io::Result<Within> {
        socket.set_nonblocking(false)?;
        let deadline = Instant::now() + limit;
        Ok(Within { socket, deadline })
    }

    fn left(&self) -> io::Result<Option<Duration>> {
        let left = self.deadline.checked_duration_since(Instant::now());
        let left = left.filter(|left| !left.is_zero());
        left.map(Some)
            .ok_or_else(|| io::Error::new(io::ErrorKind::TimedOut, "the greeting took too long"))
    }

    /// The socket, for what follows the greeting.
    fn greeted(self) -> io::Result<TcpStream> {
        self.socket.set_write_timeout(Some(GREETING_WITHIN))?;
        Ok(self.socket)
    }
}

impl Read for Within {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.socket.set_read_timeout(self.left()?)?;
        self.socket.read(into)
    }
}

impl Write for Within {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.set_write_timeout(self.left()?)?;
        self.socket.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
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

/// Greets a run keeper. Returns the connection and the instance that answered.
pub(crate) fn greet(
    socket: TcpStream,
    config: &Arc<ClientConfig>,
    hello: &Hello,
) -> Result<(TlsLink, u64), NotConnected> {
    let socket = Within::new(socket, GREETING_WITHIN).map_err(failed)?;
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
        socket: stream.sock.0.greeted().map_err(failed)?,
        tls: Connection::Client(stream.conn),
        acknowledged: welcome.received,
    };
    Ok((link, welcome.instance))
}

/// Lets a peer in that has the token of its name; `find` gives its session, or why it has none.
pub(crate) fn let_in(
    socket: Within,
    config: &Arc<ServerConfig>,
    (secret, instance): (&str, u64),
    find: impl FnOnce(&Hello) -> Result<Arc<Peer>, String>,
) -> Result<(TlsLink, Arc<Peer>, Hello), NotConnected> {
    let tls = ServerConnection::new(Arc::clone(config)).map_err(failed)?;
    let mut stream = tare_tls::over(tls, socket);
    let greeting = read_greeting(&mut stream)?;
    let hello: Hello = serde_json::from_slice(&greeting.payload).map_err(failed)?;
    let found = match is_equal(&hello.token, &token_of(secret, &hello.name)) {
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
        socket: stream.sock.0.greeted().map_err(failed)?,
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

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_greeting_that_drips_ends_at_its_limit() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut drips = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (socket, _) = listener.accept().unwrap();
        std::thread::spawn(move || {
            while drips.write_all(&[0]).is_ok() {
                std::thread::sleep(Duration::from_millis(10));
            }
        });
        let limit = Duration::from_millis(300);
        let mut socket = Within::new(socket, limit).unwrap();
        let mut all = vec![0; 100_000];
        let kind = socket.read_exact(&mut all).unwrap_err().kind();
        let is_late = [io::ErrorKind::TimedOut, io::ErrorKind::WouldBlock];
        assert!(is_late.contains(&kind), "{kind}");
    }
}
