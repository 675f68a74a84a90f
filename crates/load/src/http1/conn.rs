//! What the pool keeps of one connection.

use super::codec::{Codec, Limits};
use crate::roster::Kept;

/// One connection.
#[derive(Debug)]
pub struct Conn<P> {
    /// Its answers.
    pub codec: Codec,
    /// How far the answer under way was looked at.
    pub progress: P,
}

impl<P: Default> Conn<P> {
    /// A connection that was never opened.
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

impl<P> Kept for Conn<P> {
    fn reset(&mut self) {
        self.codec.reset();
    }
}
