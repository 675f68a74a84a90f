//! TLS over a blocking stream, for requests before a load: plain rustls, not optimised.

use std::io::{Error, ErrorKind, Read, Write};

use rustls::{ClientConnection, StreamOwned};

use super::config::TlsClient;

impl TlsClient {
    /// Performs the handshake over a stream whose reads and writes have timeouts, and returns the decrypted stream.
    ///
    /// # Errors
    /// When the handshake fails; the error says why.
    pub fn over<S: Read + Write>(&self, mut stream: S) -> Result<impl Read + Write, Error> {
        let connection = ClientConnection::new(self.config.clone(), self.server.clone());
        let mut connection =
            connection.map_err(|error| Error::new(ErrorKind::InvalidInput, error))?;
        while connection.is_handshaking() {
            connection.complete_io(&mut stream)?;
        }
        match (connection.alpn_protocol(), &self.required_alpn) {
            (Some(chosen), Some(required_alpn)) if chosen != &required_alpn[..] => Err(Error::new(
                ErrorKind::InvalidData,
                "the server chose another protocol than http/2",
            )),
            _ => Ok(StreamOwned::new(connection, stream)),
        }
    }
}
