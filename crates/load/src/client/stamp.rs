//! When bytes arrived, and who says so.

/// When bytes arrived, and how that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// When the last byte arrived.
    pub arrived_ns: u64,
    /// When our code saw it.
    pub seen_ns: u64,
    /// Who says so.
    pub source: StampSource,
}

/// Who stamped an arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StampSource {
    /// The kernel, when the segment came in.
    Kernel,
    /// Our clock, because the kernel gave no stamp.
    Own,
    /// Nothing arrived: the exchange ended by an event of ours (a timeout, a reset).
    Event,
}

impl Stamp {
    /// The end of an exchange that no arrival ended.
    #[must_use]
    pub fn event(now_ns: u64) -> Self {
        Self {
            arrived_ns: now_ns,
            seen_ns: now_ns,
            source: StampSource::Event,
        }
    }
}
