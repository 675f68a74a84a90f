//! TLS over a blocking stream, for what is asked before a load: rustls as it is, with nothing spared.

use std::io::{Error, ErrorKind, Read, Write};

use rustls::{ClientConnection, StreamOwned};

use super::config::TlsClient;

impl TlsClient {
    /// Shakes hands over a stream whose reads and writes have a limit, and gives what is inside of it.
    ///
    /// # Errors
    /// When the two cannot come together; the error says why.
    pub fn over<S: Read + Write>(&self, mut stream: S) -> Result<impl Read + Write, Error> {
        let connection = ClientConnection::new(self.config.clone(), self.server.clone());
        let mut connection =
            connection.map_err(|error| Error::new(ErrorKind::InvalidInput, error))?;
        while connection.is_handshaking() {
            connection.complete_io(&mut stream)?;
        }
        match (connection.alpn_protocol(), &self.needed) {
            (Some(chosen), Some(needed)) if chosen != &needed[..] => Err(Error::new(
                ErrorKind::InvalidData,
                "the server chose another protocol than http/2",
            )),
            _ => Ok(StreamOwned::new(connection, stream)),
        }
    }
}
