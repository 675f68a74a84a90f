//! Receive timestamps and their source.

/// Receive timestamp of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// When the last byte arrived.
    pub arrived_ns: u64,
    /// When the generator read it.
    pub seen_ns: u64,
    /// Where `arrived_ns` is from.
    pub source: StampSource,
}

/// Source of a receive timestamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StampSource {
    /// Kernel timestamp of the segment.
    Kernel,
    /// Our clock, because the kernel gave no timestamp.
    Own,
    /// Nothing arrived: the exchange was ended by the generator (a timeout, a reset).
    Event,
}

impl Stamp {
    /// End of an exchange without an arrival.
    #[must_use]
    pub fn event(now_ns: u64) -> Self {
        Self {
            arrived_ns: now_ns,
            seen_ns: now_ns,
            source: StampSource::Event,
        }
    }
}
