//! Per-connection state of the HTTP/1.1 client.

use super::codec::{Codec, Limits};
use crate::roster::ConnectionState;

/// One connection.
#[derive(Debug)]
pub struct Conn<P> {
    /// Parses the responses.
    pub codec: Codec,
    /// Check state of the current response.
    pub progress: P,
}

impl<P: Default> Conn<P> {
    /// A connection that is not open yet.
    #[must_use]
    pub fn new() -> Self {
        let limits = Limits {
            pipeline_max: 1,
            ..Limits::default()
        };
        Self {
            codec: Codec::new(limits),
            progress: P::default(),
        }
    }
}

impl<P> ConnectionState for Conn<P> {
    fn reset(&mut self) {
        self.codec.reset();
    }
}
