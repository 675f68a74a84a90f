//! What a worker counts beside its histograms.

use tare_schema::agent::{Answered, ConnectionCounts, RequestCount, StatusCount};

use super::records::Records;
use crate::client::{Status, WaitCause};

/// Exchanges by stage. Each is counted once it has come so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stages {
    /// Arrivals.
    pub intended: u64,
    /// Taken by our loop.
    pub released: u64,
    /// First byte with the kernel.
    pub sent: u64,
    /// Answered rightly.
    pub right: u64,
    /// Answered wrongly or not.
    pub errors: u64,
    /// Not done when the drain ended.
    pub unfinished: u64,
    /// Arrivals that found no place.
    pub overflow: u64,
}

impl Stages {
    /// Adds another worker's.
    pub fn add(&mut self, other: &Stages) {
        self.intended += other.intended;
        self.released += other.released;
        self.sent += other.sent;
        self.right += other.right;
        self.errors += other.errors;
        self.unfinished += other.unfinished;
        self.overflow += other.overflow;
    }

    /// What came since an earlier state.
    #[must_use]
    pub fn since(&self, earlier: &Stages) -> Stages {
        Stages {
            intended: self.intended - earlier.intended,
            released: self.released - earlier.released,
            sent: self.sent - earlier.sent,
            right: self.right - earlier.right,
            errors: self.errors - earlier.errors,
            unfinished: self.unfinished - earlier.unfinished,
            overflow: self.overflow - earlier.overflow,
        }
    }
}

/// Exchanges that waited for one cause.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Waits {
    /// How many.
    pub count: u64,
    /// How long together.
    pub total_ns: u64,
}

/// What the exchanges are that the schedule releases.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Released {
    /// Exchanges with the other side.
    #[default]
    Exchanges,
    /// Sessions of several such exchanges.
    Sessions,
}

/// Exchanges within sessions, and sessions that ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WithinSessions {
    /// Exchanges of the window.
    pub window: Stages,
    /// All of them.
    pub all: Stages,
    /// Sessions that ended in the window, whenever they began.
    pub ended_in_window: u64,
}

/// Right answers by status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statuses(Box<[u64; Status::MAX + 1]>);

impl Default for Statuses {
    fn default() -> Self {
        Self(Box::new([0; Status::MAX + 1]))
    }
}

impl Statuses {
    /// Counts so many.
    #[inline]
    pub fn add(&mut self, status: Status, times: u64) {
        self.0[status.index()] += times;
    }

    /// Those that occurred, with their counts; answers without a status are not among them.
    pub fn seen(&self) -> impl Iterator<Item = StatusCount> + '_ {
        let all = (0_u16..).zip(self.0.iter().copied());
        let all = all.map(|(status, count)| StatusCount { status, count });
        all.skip(1).filter(|one| one.count > 0)
    }

    fn merge(&mut self, other: &Statuses) {
        for (sum, one) in self.0.iter_mut().zip(other.0.iter()) {
            *sum += one;
        }
    }
}

/// Everything one worker counts.
#[derive(Debug, Clone, Default)]
pub struct Counts {
    /// Of the window.
    pub window: Stages,
    /// Of the whole load, warm-up and drain included.
    pub all: Stages,
    /// What `window` and `all` count.
    pub released: Released,
    /// The exchanges, where those are sessions.
    pub within: WithinSessions,
    /// Records within exchanges, if the protocol tells of any.
    pub records: Records,
    /// Answers that arrived in the window, whenever their exchange was intended.
    pub answered_in_window: Answered,
    /// Right answers of the window by status.
    pub right_by_status: Statuses,
    /// Of the window, by [`WaitCause`].
    pub waits: [Waits; WaitCause::ALL.len()],
    /// Exchanges of the window released so late that they left in a burst.
    pub bunched: u64,
    /// Answers of the window stamped by the kernel.
    pub stamped_by_kernel: u64,
    /// Answers of the window stamped by us.
    pub stamped_by_us: u64,
    /// Of the kernel's, upper bounds.
    pub stamp_upper_bounds: u64,
    /// Observations of the window beyond the histograms' range.
    pub out_of_range: u64,
    /// Connections of the whole load.
    pub connections: ConnectionCounts,
    /// Connections open now.
    pub open: u32,
    /// When the last exchange of the window ended.
    pub last_done_ns: u64,
    /// Faults of connections that no exchange is blamed with, by class number.
    pub faults: Vec<(u8, u64)>,
    /// Exchanges of the whole load by number of their request.
    pub by_request: Vec<RequestCount>,
}

impl Counts {
    /// The exchanges of the window.
    #[must_use]
    pub fn exchanges_of_window(&self) -> &Stages {
        match self.released {
            Released::Exchanges => &self.window,
            Released::Sessions => &self.within.window,
        }
    }

    /// All exchanges.
    #[must_use]
    pub fn exchanges(&self) -> &Stages {
        match self.released {
            Released::Exchanges => &self.all,
            Released::Sessions => &self.within.all,
        }
    }

    /// Adds another worker's.
    pub fn add(&mut self, other: &Counts) {
        self.window.add(&other.window);
        self.all.add(&other.all);
        self.released = other.released;
        self.within.window.add(&other.within.window);
        self.within.all.add(&other.within.all);
        self.within.ended_in_window += other.within.ended_in_window;
        self.answered_in_window.right += other.answered_in_window.right;
        self.answered_in_window.errors += other.answered_in_window.errors;
        self.records.add(&other.records);
        self.right_by_status.merge(&other.right_by_status);
        for (sum, one) in self.waits.iter_mut().zip(&other.waits) {
            sum.count += one.count;
            sum.total_ns += one.total_ns;
        }
        self.bunched += other.bunched;
        self.stamped_by_kernel += other.stamped_by_kernel;
        self.stamped_by_us += other.stamped_by_us;
        self.stamp_upper_bounds += other.stamp_upper_bounds;
        self.out_of_range += other.out_of_range;
        self.connections.opened += other.connections.opened;
        self.connections.reconnects += other.connections.reconnects;
        self.connections.failed += other.connections.failed;
        self.connections.peak += other.connections.peak;
        self.open += other.open;
        self.last_done_ns = self.last_done_ns.max(other.last_done_ns);
        for &(class, count) in &other.faults {
            self.add_faults(class, count);
        }
        for (request, count) in other.by_request.iter().enumerate() {
            self.add_exchanges(request, *count);
        }
    }

    /// Counts exchanges with a request. Room for every number is reserved, so nothing is allocated when one is seen first.
    #[inline]
    pub fn add_exchanges(&mut self, request: usize, count: RequestCount) {
        if request >= self.by_request.len() {
            self.by_request.resize(request + 1, RequestCount::default());
        }
        let sum = &mut self.by_request[request];
        sum.sent += count.sent;
        sum.right += count.right;
    }

    /// Counts faults of a class.
    pub fn add_faults(&mut self, class: u8, count: u64) {
        match self.faults.iter_mut().find(|(known, _)| *known == class) {
            Some((_, sum)) => *sum += count,
            None => self.faults.push((class, count)),
        }
    }
}
