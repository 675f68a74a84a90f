//! Records exchanges: from intended start to end, with all counts and histograms.

use std::fmt;
use std::net::SocketAddr;

use tare_record::agent::RequestCount;

use super::HandOver;
use super::counts::{ArrivalKind, FailedAttempts, WorkerCounts};
use super::exchanges::{Exchange, ExchangeSlab};
use super::request_selector::{Chosen, RequestSelector};
use super::sessions::SessionWindow;
use crate::arrivals::{Arrivals, NEVER};
use crate::classes::{BEFORE, ClassNumbers, RIGHT, of_right};
use crate::client::{
    AgeKind, Closed, Completion, Connected, DueExchange, ErrorClass, ExchangeBatch, ExchangeId,
    ExchangeOutcome, RecordAge, RecordArrivals, StampSource, TimestampBound,
};
use crate::tally::{HistogramTable, Phase, Quantity, Series, bucket_of};

const SECOND_NS: u64 = 1_000_000_000;

/// Request numbers are 16 bits. Counts of numbers that do not occur take address space, but no memory.
const REQUEST_NUMBERS_MAX: usize = u16::MAX as usize + 1;

/// Empty tables kept ready.
const SPARE_MAX: usize = 4;

/// The exchange recorder of one worker.
#[derive(Debug)]
pub struct ExchangeRecorder {
    pub(super) arrivals: Arrivals,
    pub(super) exchanges: ExchangeSlab,
    request_selector: RequestSelector,
    classes: ClassNumbers,
    table: HistogramTable,
    spare: Vec<HistogramTable>,
    full: Vec<HistogramTable>,
    pub(super) counts: WorkerCounts,
    start_ns: u64,
    pub(super) window_start_ns: u64,
    pub(super) session_window: SessionWindow,
    bunched_after_ns: u64,
    timeout_ns: u64,
}

impl ExchangeRecorder {
    /// For at most `exchanges_max` exchanges in flight.
    #[must_use]
    pub fn new(
        arrivals: Arrivals,
        request_selector: RequestSelector,
        classes: ClassNumbers,
        exchanges_max: usize,
    ) -> Self {
        Self {
            arrivals,
            exchanges: ExchangeSlab::new(exchanges_max),
            request_selector,
            classes,
            table: HistogramTable::new(),
            spare: vec![HistogramTable::new()],
            full: Vec::with_capacity(SPARE_MAX),
            counts: WorkerCounts {
                faults: Vec::with_capacity(16),
                by_request: Vec::with_capacity(REQUEST_NUMBERS_MAX),
                ..WorkerCounts::default()
            },
            start_ns: 0,
            window_start_ns: 0,
            session_window: SessionWindow::Timed,
            bunched_after_ns: NEVER,
            timeout_ns: 0,
        }
    }

    /// Records starts that find the queue full with this timeout as the lower bound of their latency: they would have waited longer.
    #[must_use]
    pub fn with_timeout(mut self, timeout_ns: u64) -> Self {
        self.timeout_ns = timeout_ns;
        self
    }

    /// Counts exchanges released later than this as bunched.
    #[must_use]
    pub fn counting_bunched(mut self, after_ns: u64) -> Self {
        self.bunched_after_ns = after_ns;
        self
    }

    /// Fixes when the load starts.
    pub fn begin(&mut self, start_ns: u64) {
        self.start_ns = start_ns;
        self.arrivals.begin(start_ns);
        self.window_start_ns = self.arrivals.window_start_ns();
    }

    /// The schedule.
    #[must_use]
    pub fn arrivals(&self) -> &Arrivals {
        &self.arrivals
    }

    /// Ends the window at this time.
    pub fn end_window_at(&mut self, end_ns: u64) {
        self.arrivals.end_window_at(end_ns);
    }

    /// The counts so far.
    #[must_use]
    pub fn counts(&self) -> &WorkerCounts {
        &self.counts
    }

    /// Exchanges released and not ended.
    #[must_use]
    pub fn under_way(&self) -> usize {
        self.exchanges.count()
    }

    /// Releases the next start if it is due, with up to `batch_max` of the same time. `Some(None)`: dropped, too many in flight.
    #[inline]
    pub fn release(&mut self, now_ns: u64, batch_max: u32) -> Option<Option<ExchangeBatch>> {
        if self.arrivals.next_ns() > now_ns {
            return None;
        }
        let (intended_ns, count) = match batch_max {
            1 => (self.arrivals.take()?, 1),
            _ => self.arrivals.take_batch(batch_max)?,
        };
        let in_window = intended_ns >= self.window_start_ns;
        let Chosen { number, request } = self.request_selector.next();
        let ticket = self.exchanges.open(Exchange {
            intended_ns,
            released_ns: now_ns,
            first_ns: 0,
            request,
            count,
        });
        let all = u64::from(count);
        self.count(in_window, |stages| stages.intended += all);
        if ticket.is_some() {
            self.count(in_window, |stages| stages.released += all);
        } else {
            self.count(in_window, |stages| stages.overflow += all);
            let why = "the queue of waiting ones was full";
            self.count_never_sent((intended_ns, request, all), self.timeout_ns, &why);
            self.arrivals.ended(now_ns, count);
        }
        let due = |ticket| DueExchange {
            ticket,
            request: number,
        };
        Some(ticket.map(|ticket| ExchangeBatch {
            due: due(ticket),
            count,
            intended_ns,
            released_ns: now_ns,
        }))
    }

    /// Counts the starts of the schedule that were never released. In a closed loop there are none: it intends what it begins.
    pub fn count_unreleased(&mut self, now_ns: u64) {
        self.arrivals.end_window_at(now_ns);
        while self.arrivals.is_open_loop() && self.arrivals.next_ns() <= now_ns {
            let Some(intended_ns) = self.arrivals.take() else {
                return;
            };
            let in_window = intended_ns >= self.window_start_ns;
            self.count(in_window, |stages| stages.intended += 1);
            let start = (intended_ns, self.request_selector.next().request, 1);
            let why = "its turn had not come when the load ended";
            self.count_never_sent(start, now_ns - intended_ns, &why);
        }
    }

    /// Records intended exchanges that were never sent, with a lower bound of their latency.
    #[cold]
    fn count_never_sent(
        &mut self,
        (intended_ns, request, times): (u64, u16, u64),
        bound_ns: u64,
        why: &dyn fmt::Display,
    ) {
        let in_window = intended_ns >= self.window_start_ns;
        self.count(in_window, |stages| stages.never_sent += times);
        let request = match self.counts.released {
            ArrivalKind::Exchanges => request,
            ArrivalKind::Sessions => self.count_session_never_started(in_window, times),
        };
        let class = self.classes.number(ErrorClass::NEVER_SENT, why);
        for _ in 0..times {
            let series = (request, class, Quantity::Latency);
            self.record_at(intended_ns, in_window, series, bound_ns);
        }
    }

    /// Records a connection, by the second in which its attempt began. Attempts before the window have a class of their own,
    /// since a pool opened all at once meets a server without load; those before the start count in the first second.
    pub fn opened(&mut self, opening: &Connected) {
        let started = self.start_ns > 0;
        let in_window = started && opening.begun_ns >= self.window_start_ns;
        let second = match started {
            true => (opening.begun_ns.saturating_sub(self.start_ns) / SECOND_NS) as u32,
            false => 0,
        };
        let of = |quantity| Series {
            second,
            phase: Phase::Window,
            request: 0,
            class: if in_window { RIGHT } else { BEFORE },
            quantity,
        };
        self.table.record(of(Quantity::Connect), opening.connect_ns);
        if let Some(handshake_ns) = opening.handshake_ns {
            self.table.record(of(Quantity::Handshake), handshake_ns);
        }
        if self.table.is_full() {
            self.replace_table();
        }
    }

    /// Records the first byte of a response that is read in several pieces.
    pub fn record_first_byte(&mut self, ticket: ExchangeId, arrived_ns: u64) {
        self.exchanges.first_byte(ticket, arrived_ns);
    }

    /// Class number of an end.
    #[inline]
    pub(super) fn class(&mut self, done: &Completion<'_>) -> u8 {
        match done.outcome {
            ExchangeOutcome::Ok(status) => of_right(status),
            ExchangeOutcome::Failed(class) => self.classes.number(class, done.example),
            ExchangeOutcome::Unfinished => {
                self.classes.number(ErrorClass::UNFINISHED, done.example)
            }
        }
    }

    /// Removes an exchange.
    #[inline]
    pub(super) fn close(&mut self, ticket: ExchangeId) -> Exchange {
        let exchange = self.exchanges.close(ticket);
        assert!(
            exchange.is_some(),
            "a client ends each exchange exactly once"
        );
        exchange.unwrap_or_default()
    }

    /// Records one value, in the second of `since_ns`.
    #[inline]
    pub(super) fn record_at(
        &mut self,
        since_ns: u64,
        in_window: bool,
        (request, class, quantity): (u16, u8, Quantity),
        value_ns: u64,
    ) {
        let series = Series {
            second: (since_ns.saturating_sub(self.start_ns) / SECOND_NS) as u32,
            phase: Phase::of(in_window),
            request,
            class,
            quantity,
        };
        self.table.record(series, value_ns);
        if self.table.is_full() {
            self.replace_table();
        }
    }

    /// Records the end of an exchange, or of the rest of a batch.
    ///
    /// # Panics
    /// When the client ends an exchange twice: the counts would be wrong.
    #[inline]
    pub fn complete(&mut self, ticket: ExchangeId, done: &Completion<'_>) {
        let exchange = self.close(ticket);
        self.record_end(&exchange, done);
    }

    /// Records the end of `count` exchanges of a batch.
    ///
    /// # Panics
    /// When fewer are in flight.
    #[inline]
    pub fn complete_some(&mut self, ticket: ExchangeId, count: u32, done: &Completion<'_>) {
        let exchange = self.exchanges.close_some(ticket, count);
        assert!(
            exchange.is_some(),
            "a client ends each exchange of a batch exactly once"
        );
        if let Some(exchange) = exchange {
            self.record_end(&exchange, done);
        }
    }

    /// Inlined into both callers: a call shows in the cost of an exchange.
    #[inline(always)]
    fn record_end(&mut self, exchange: &Exchange, done: &Completion<'_>) {
        let times = u64::from(exchange.count);
        let class = self.class(done);
        let in_window = exchange.intended_ns >= self.window_start_ns;
        let sent = done.sent_ns.is_some();
        self.count(in_window, |stages| {
            stages.sent += if sent { times } else { 0 };
            stages.end(done.outcome, times);
        });
        self.count_request(exchange.request, times, done);
        self.count_arrival(times, done);
        self.observe(exchange, done, class, in_window);
        self.arrivals.ended(done.ended.seen_ns, exchange.count);
    }

    /// Counts a failed attempt to connect.
    #[cold]
    pub fn failed_attempt(&mut self, address: Option<SocketAddr>, why: Closed) {
        self.counts.connections.failed += 1;
        let class = self.classes.number(why.class(), &why);
        if let Some(address) = address {
            self.counts.add_failed_attempts(FailedAttempts {
                address,
                class,
                count: 1,
            });
        }
    }

    /// Counts a connection error that belongs to no exchange.
    pub fn fault(&mut self, class: ErrorClass, example: &dyn fmt::Display) {
        let class = self.classes.number(class, example);
        self.counts.add_faults(class, 1);
    }

    /// Takes the full tables; the current one too if `current` says so.
    pub fn hand_over(&mut self, current: HandOver) -> impl Iterator<Item = HistogramTable> + '_ {
        if current == HandOver::Everything {
            self.replace_table();
        }
        self.full.drain(..)
    }

    /// Takes back an emptied table.
    pub fn give_back(&mut self, table: HistogramTable) {
        if self.spare.len() < SPARE_MAX {
            self.spare.push(table);
        }
    }

    #[inline]
    pub fn record_arrivals(&mut self, records: &RecordArrivals) {
        let window = self.window_start_ns..self.arrivals.window_end_ns();
        let is_in = window.contains(&records.arrived_ns);
        let counts = self.counts.records.get_or_insert_default();
        counts.total += records.count;
        counts.bytes_total += records.bytes;
        if is_in && records.count > 0 {
            counts.in_window += records.count;
            counts.bytes_in_window += records.bytes;
            counts.last_arrival_ns = records.arrived_ns - window.start;
        }
    }

    /// Records the age of a record on arrival, by the second of its intended send time. A negative age is only counted: a
    /// histogram cannot hold it, and 0 would be made up.
    #[inline]
    pub fn record_age(&mut self, aged: &RecordAge) {
        let Ok(age_ns) = u64::try_from(aged.age_ns) else {
            let counts = self.counts.records.get_or_insert_default();
            counts.negative_end_to_end += 1;
            return;
        };
        let window = self.window_start_ns..self.arrivals.window_end_ns();
        let in_window = window.contains(&aged.since_ns);
        let quantity = match aged.age {
            AgeKind::EndToEnd => Quantity::EndToEnd,
            AgeKind::OfTimestamp => Quantity::Age,
        };
        let series = (aged.request, RIGHT, quantity);
        self.record_at(aged.since_ns, in_window, series, age_ns);
    }

    /// Takes back an exchange that the client never started because the load ended.
    ///
    /// # Panics
    /// When it is not in flight.
    pub fn withdraw(&mut self, ticket: ExchangeId) {
        let exchange = self.close(ticket);
        let in_window = exchange.intended_ns >= self.window_start_ns;
        self.count(in_window, |stages| {
            stages.intended = stages.intended.saturating_sub(1);
            stages.released = stages.released.saturating_sub(1);
        });
    }

    #[inline]
    pub(super) fn count(
        &mut self,
        in_window: bool,
        mut each: impl FnMut(&mut super::counts::ExchangeCounts),
    ) {
        each(&mut self.counts.all);
        if in_window {
            each(&mut self.counts.window);
        }
    }

    /// Counts an exchange by its request.
    #[inline]
    pub(super) fn count_request(&mut self, request: u16, times: u64, done: &Completion<'_>) {
        let of = |counts: bool| if counts { times } else { 0 };
        let count = RequestCount {
            sent: of(done.sent_ns.is_some()),
            ok: of(matches!(done.outcome, ExchangeOutcome::Ok(_))),
        };
        self.counts.add_exchanges(usize::from(request), count);
    }

    /// Counts a response by its arrival: CPU and rates are measured over the window, so they are divided by the responses in it.
    /// Its end may not be known yet (closed loop by count, `StopHandle::end`): then the window ends with its last response.
    #[inline]
    pub(super) fn count_arrival(&mut self, times: u64, done: &Completion<'_>) {
        let arrived_ns = done.ended.arrived_ns;
        if !(self.window_start_ns..self.arrivals.window_end_ns()).contains(&arrived_ns) {
            return;
        }
        let answered = &mut self.counts.completed_in_window;
        match done.outcome {
            ExchangeOutcome::Ok(_) => answered.ok += times,
            ExchangeOutcome::Failed(_) => answered.errors += times,
            ExchangeOutcome::Unfinished => {}
        }
    }

    #[inline]
    pub(super) fn observe(
        &mut self,
        exchange: &Exchange,
        done: &Completion<'_>,
        class: u8,
        in_window: bool,
    ) {
        let &Exchange {
            intended_ns,
            released_ns,
            first_ns,
            request,
            count,
        } = exchange;
        let times = u64::from(count);
        let ended = done.ended;
        let second = (intended_ns.saturating_sub(self.start_ns) / SECOND_NS) as u32;
        let phase = Phase::of(in_window);
        let of = |quantity, request, class| Series {
            second,
            phase,
            request,
            class,
            quantity,
        };
        let table = &mut self.table;
        let lateness_ns = released_ns.saturating_sub(intended_ns);
        let latency_ns = ended.arrived_ns.saturating_sub(released_ns);
        let response_ns = ended.arrived_ns.saturating_sub(intended_ns);
        // On time, which closed loops always are: both are one, without comparing buckets.
        if lateness_ns == 0 || bucket_of(latency_ns) == bucket_of(response_ns) {
            table.record_times(times, of(Quantity::Latency, request, class), latency_ns);
        } else {
            table.record_times(times, of(Quantity::LatencyOnly, request, class), latency_ns);
            table.record_times(times, of(Quantity::Response, request, class), response_ns);
        }
        if let Some(sent_ns) = done.sent_ns {
            let service_ns = ended.arrived_ns.saturating_sub(sent_ns);
            if first_ns == 0 || first_ns == ended.arrived_ns {
                table.record_times(times, of(Quantity::Service, request, class), service_ns);
            } else {
                table.record_times(
                    times,
                    of(Quantity::ServiceMultiRead, request, class),
                    service_ns,
                );
                let to_first_ns = first_ns.saturating_sub(sent_ns);
                table.record_times(times, of(Quantity::FirstByte, request, class), to_first_ns);
            }
        }
        table.record_times(times, of(Quantity::Lateness, 0, 0), lateness_ns);
        if ended.source != StampSource::Event {
            table.record_times(
                times,
                of(Quantity::Lag, 0, 0),
                ended.seen_ns.saturating_sub(ended.arrived_ns),
            );
        }
        if let (Some(cause), true) = (done.waited, in_window) {
            let until_ns = done.sent_ns.unwrap_or(ended.arrived_ns);
            let wait_ns = until_ns.saturating_sub(released_ns);
            table.record_times(times, of(Quantity::Wait, 0, cause as u8), wait_ns);
            let queue_waits = &mut self.counts.queue_waits[cause as usize];
            queue_waits.count += times;
            queue_waits.total_ns += wait_ns * times;
        }
        if in_window {
            if lateness_ns > self.bunched_after_ns {
                self.counts.bunched += times;
            }
            if let ExchangeOutcome::Ok(status) = done.outcome {
                self.counts.ok_by_status.add(status, times);
            }
            match (ended.source, done.bound) {
                (StampSource::Kernel, bound) => {
                    self.counts.generator.kernel_timestamps += times;
                    let upper = if bound == TimestampBound::Upper {
                        times
                    } else {
                        0
                    };
                    self.counts.generator.timestamp_upper_bounds += upper;
                }
                (StampSource::Own, _) => self.counts.generator.user_timestamps += times,
                (StampSource::Event, _) => {}
            }
            if done
                .sent_ns
                .is_some_and(|sent_ns| ended.arrived_ns < sent_ns)
            {
                self.counts.generator.timestamps_before_send += times;
            }
            self.counts.last_done_ns = self.counts.last_done_ns.max(ended.arrived_ns);
        }
        if self.table.is_full() {
            self.replace_table();
        }
    }

    #[cold]
    fn replace_table(&mut self) {
        let fresh = self.spare.pop().unwrap_or_default();
        self.counts.generator.out_of_range += self.table.out_of_range();
        self.full.push(std::mem::replace(&mut self.table, fresh));
    }
}
