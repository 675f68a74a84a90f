//! A partition that is fetched: its position and its known end.

/// ListOffsets timestamp for the end of the log.
pub const LATEST: i64 = -1;

/// ListOffsets timestamp for the start of the log.
pub const EARLIEST: i64 = -2;

/// A partition and its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionCursor {
    /// Index of its topic in the plan.
    pub topic: u16,
    /// Its index in the topic.
    pub partition: i32,
    /// The next offset to fetch; `None` until it is known.
    pub position: Option<i64>,
    /// ListOffsets timestamp to look up an unknown position: a time in ms, [`LATEST`] or [`EARLIEST`].
    pub offset_spec: i64,
    /// Whether a ListOffsets request for it is in flight.
    pub offset_requested: bool,
    /// As of the last fetch response.
    pub high_watermark: Option<i64>,
    /// The first known high watermark: the end of the backlog at the start.
    pub initial_end: Option<i64>,
    /// The first position, once known.
    pub begin: Option<i64>,
    /// Not fetched before this time, after an error.
    pub paused_until_ns: u64,
    /// Failed permanently.
    pub broken: bool,
}

impl PartitionCursor {
    /// A partition at an offset, or whose offset is to be looked up.
    pub fn new(topic: u16, partition: i32, position: Option<i64>, offset_spec: i64) -> Self {
        Self {
            topic,
            partition,
            position,
            offset_spec,
            offset_requested: false,
            high_watermark: None,
            initial_end: None,
            begin: position,
            paused_until_ns: 0,
            broken: false,
        }
    }

    /// Records between position and high watermark.
    pub fn backlog(&self) -> Option<u64> {
        let left = self.high_watermark? - self.position?;
        Some(left.max(0).unsigned_abs())
    }

    /// Goes back to the first position, if everything is read.
    pub fn rewind(&mut self) {
        if let (Some(begin), Some(position), Some(high_watermark)) =
            (self.begin, self.position, self.high_watermark)
            && position >= high_watermark
            && high_watermark > begin
        {
            self.position = Some(begin);
        }
    }

    /// Whether the backlog at the start is read, or the partition failed.
    pub fn is_read(&self) -> bool {
        let at_end = |initial_end| {
            self.position
                .is_some_and(|position| position >= initial_end)
        };
        self.broken || self.initial_end.is_some_and(at_end)
    }
}
