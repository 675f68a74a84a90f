//! A partition that is fetched: how far we are, and what is known of its end.

/// As `ListOffsets` asks for it: the first offset behind all records.
pub const LATEST: i64 = -1;

/// As `ListOffsets` asks for it: the oldest one.
pub const EARLIEST: i64 = -2;

/// A partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Number of its topic in the plan.
    pub topic: u16,
    /// Its number.
    pub partition: i32,
    /// The next offset wanted; `None` until it is known where to begin.
    pub position: Option<i64>,
    /// What to ask for when it is not known: a time, [`LATEST`] or [`EARLIEST`].
    pub ask: i64,
    /// Whether that is being asked.
    pub asked: bool,
    /// The offset behind its last record, as the last answer said.
    pub high: Option<i64>,
    /// What that was when it was first told: the end of what was there at the start.
    pub goal: Option<i64>,
    /// Where it was begun, once that is known.
    pub begin: Option<i64>,
    /// Not fetched before this time, because something went wrong.
    pub hold_until_ns: u64,
    /// What is there cannot be read, ever.
    pub broken: bool,
}

impl Source {
    /// One at an offset, or to be asked where to begin.
    pub fn new(topic: u16, partition: i32, position: Option<i64>, ask: i64) -> Self {
        Self {
            topic,
            partition,
            position,
            ask,
            asked: false,
            high: None,
            goal: None,
            begin: position,
            hold_until_ns: 0,
            broken: false,
        }
    }

    /// Records that are there and were not read.
    pub fn backlog(&self) -> Option<u64> {
        let left = self.high? - self.position?;
        Some(left.max(0).unsigned_abs())
    }

    /// Goes back to where it was begun, if everything was read that is there.
    pub fn begin_again(&mut self) {
        if let (Some(begin), Some(position), Some(high)) = (self.begin, self.position, self.high)
            && position >= high
            && high > begin
        {
            self.position = Some(begin);
        }
    }

    /// Whether everything was read that was there at the start.
    pub fn is_read(&self) -> bool {
        let at_end = |goal| self.position.is_some_and(|position| position >= goal);
        self.broken || self.goal.is_some_and(at_end)
    }
}
