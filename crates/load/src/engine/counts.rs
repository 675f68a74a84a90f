//! What a worker counts beside its histograms.

use std::net::SocketAddr;
use std::ops::{AddAssign, Sub};

use tare_record::agent::{
    CompletedCounts, ConnectionCounts, GeneratorCounts, RecordCounts, RequestCount, StatusCount,
};

use crate::client::{ExchangeOutcome, Status, WaitCause};

/// The counters of exchanges, with their sum and their difference to an earlier state.
macro_rules! exchange_counts {
    ($($(#[$doc:meta])* $field:ident,)*) => {
        /// Exchanges by stage; each counts in every stage that it reached.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub struct ExchangeCounts {
            $($(#[$doc])* pub $field: u64,)*
        }

        impl AddAssign for ExchangeCounts {
            fn add_assign(&mut self, other: Self) {
                $(self.$field += other.$field;)*
            }
        }

        impl Sub for ExchangeCounts {
            type Output = Self;

            fn sub(self, earlier: Self) -> Self {
                Self { $($field: self.$field - earlier.$field,)* }
            }
        }
    };
}

exchange_counts! {
    /// Intended starts.
    intended,
    /// Taken up by the generator.
    released,
    /// First byte sent.
    sent,
    /// Correct response.
    ok,
    /// Wrong response, or none.
    errors,
    /// Not complete when the drain ended.
    unfinished,
    /// Intended and never released.
    never_sent,
    /// Of these, starts dropped because too many were in flight.
    overflow,
}

impl ExchangeCounts {
    /// Whether each intended exchange ended in exactly one way. It must be so when a load has ended.
    #[must_use]
    pub fn adds_up(&self) -> bool {
        let ended = self.ok + self.errors + self.unfinished + self.never_sent;
        self.intended == ended && self.overflow <= self.never_sent
    }

    /// Counts the end of exchanges.
    #[inline]
    pub fn end(&mut self, outcome: ExchangeOutcome, times: u64) {
        match outcome {
            ExchangeOutcome::Ok(_) => self.ok += times,
            ExchangeOutcome::Failed(_) => self.errors += times,
            ExchangeOutcome::Unfinished => self.unfinished += times,
        }
    }
}

/// Exchanges that waited for one cause.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Waits {
    pub count: u64,
    /// Total waiting time.
    pub total_ns: u64,
}

/// What the schedule releases.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ArrivalKind {
    /// Single exchanges.
    #[default]
    Exchanges,
    /// Sessions of several exchanges.
    Sessions,
}

/// Exchanges of sessions, and sessions that ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SessionTotals {
    pub window: ExchangeCounts,
    pub all: ExchangeCounts,
    /// Sessions that ended in the window, whenever they began.
    pub ended_in_window: u64,
}

/// Correct responses by status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statuses(Box<[u64; Status::MAX + 1]>);

impl Default for Statuses {
    fn default() -> Self {
        Self(Box::new([0; Status::MAX + 1]))
    }
}

impl Statuses {
    /// Counts `times` responses.
    #[inline]
    pub fn add(&mut self, status: Status, times: u64) {
        self.0[status.index()] += times;
    }

    /// Statuses that occurred, with their counts; responses without a status are left out.
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

/// Addresses and classes of failed attempts that are listed.
const FAILED_ADDRESSES_MAX: usize = 64;

/// Failed attempts to connect to an address, of one class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FailedAttempts {
    pub address: SocketAddr,
    /// Number of the class.
    pub class: u8,
    pub count: u64,
}

/// Everything one worker counts.
#[derive(Debug, Clone, Default)]
pub struct WorkerCounts {
    pub window: ExchangeCounts,
    /// Of the whole load, warm-up and drain included.
    pub all: ExchangeCounts,
    /// What `window` and `all` count.
    pub released: ArrivalKind,
    /// The exchanges, where those are sessions.
    pub within: SessionTotals,
    /// Records within exchanges, if the protocol reports any.
    pub records: Option<RecordCounts>,
    /// Responses that arrived in the window, whenever their exchange was intended.
    pub completed_in_window: CompletedCounts,
    /// Correct responses of the window by status.
    pub ok_by_status: Statuses,
    /// Of the window, by [`WaitCause`].
    pub queue_waits: [Waits; WaitCause::ALL.len()],
    /// Exchanges of the window released so late that they left in a burst.
    pub bunched: u64,
    /// Timestamps and range of the observations of the window.
    pub generator: GeneratorCounts,
    /// Connections of the whole load.
    pub connections: ConnectionCounts,
    /// Connections open now.
    pub open: u32,
    /// When the last exchange of the window ended.
    pub last_done_ns: u64,
    /// Connection errors that belong to no exchange, by class number.
    pub faults: Vec<(u8, u64)>,
    /// Failed attempts to connect, by address and class number.
    pub failed_attempts: Vec<FailedAttempts>,
    /// Exchanges of the whole load by request number.
    pub by_request: Vec<RequestCount>,
}

impl WorkerCounts {
    /// Whether each intended exchange, and each session, ended in exactly one way.
    #[must_use]
    pub fn add_up(&self) -> bool {
        let within = &self.within;
        [self.window, self.all, within.window, within.all]
            .iter()
            .all(ExchangeCounts::adds_up)
    }

    #[must_use]
    pub fn exchanges_of_window(&self) -> &ExchangeCounts {
        match self.released {
            ArrivalKind::Exchanges => &self.window,
            ArrivalKind::Sessions => &self.within.window,
        }
    }

    #[must_use]
    pub fn exchanges(&self) -> &ExchangeCounts {
        match self.released {
            ArrivalKind::Exchanges => &self.all,
            ArrivalKind::Sessions => &self.within.all,
        }
    }

    /// Adds the counts of another worker.
    pub fn add(&mut self, other: &WorkerCounts) {
        self.window += other.window;
        self.all += other.all;
        self.released = other.released;
        self.within.window += other.within.window;
        self.within.all += other.within.all;
        self.within.ended_in_window += other.within.ended_in_window;
        self.completed_in_window += other.completed_in_window;
        if let Some(records) = other.records {
            *self.records.get_or_insert_default() += records;
        }
        self.ok_by_status.merge(&other.ok_by_status);
        for (sum, one) in self.queue_waits.iter_mut().zip(&other.queue_waits) {
            sum.count += one.count;
            sum.total_ns += one.total_ns;
        }
        self.bunched += other.bunched;
        self.generator += other.generator;
        self.connections += other.connections;
        self.open += other.open;
        self.last_done_ns = self.last_done_ns.max(other.last_done_ns);
        for &(class, count) in &other.faults {
            self.add_faults(class, count);
        }
        for attempts in &other.failed_attempts {
            self.add_failed_attempts(*attempts);
        }
        for (request, count) in other.by_request.iter().enumerate() {
            self.add_exchanges(request, *count);
        }
    }

    /// Counts exchanges of a request. Memory for every number is reserved, so a new number does not allocate.
    #[inline]
    pub fn add_exchanges(&mut self, request: usize, count: RequestCount) {
        if request >= self.by_request.len() {
            self.by_request.resize(request + 1, RequestCount::default());
        }
        self.by_request[request] += count;
    }

    /// Counts failed attempts. Those of more addresses than are listed are in the total alone.
    pub fn add_failed_attempts(&mut self, attempts: FailedAttempts) {
        let alike = |known: &&mut FailedAttempts| {
            (known.address, known.class) == (attempts.address, attempts.class)
        };
        let all = &mut self.failed_attempts;
        if let Some(known) = all.iter_mut().find(alike) {
            known.count += attempts.count;
        } else if all.len() < FAILED_ADDRESSES_MAX {
            all.push(attempts);
        }
    }

    /// Counts connection errors of a class.
    pub fn add_faults(&mut self, class: u8, count: u64) {
        match self.faults.iter_mut().find(|(known, _)| *known == class) {
            Some((_, sum)) => *sum += count,
            None => self.faults.push((class, count)),
        }
    }
}
