//! What the driver knows of exchanges: when they were due, what became of them, and all that is counted of it.

use std::fmt;

use tare_schema::agent::RequestCount;
use tare_stats::random::Random;

use super::counts::Counts;
use super::sessions::SessionWindow;
use super::tickets::{Exchange, Tickets};
use crate::arrivals::Arrivals;
use crate::classes::{BEFORE, ClassNumbers, RIGHT, of_right};
use crate::client::{Bound, Connected, Done, Due, ErrorClass, Outcome, StampSource, Ticket};
use crate::tally::{Part, Quantity, Series, Tally};

const SECOND_NS: u64 = 1_000_000_000;

/// Numbers that requests can have. The counts of those that are never seen take address space and no memory.
const REQUESTS_MAX: usize = u16::MAX as usize + 1;

/// Tables kept ready for the hand-over.
const SPARE_MAX: usize = 4;

/// Which request an exchange sends.
#[derive(Debug)]
pub enum Choice {
    /// There is only one.
    Only,
    /// By weight, from a seed.
    Weighted {
        /// Sums of the weights up to and with each request.
        sums: Vec<f64>,
        /// Where chance comes from.
        random: Random,
    },
    /// One after the other.
    InTurn {
        /// The next one.
        next: u64,
        /// How far the one behind it is: the workers share the turns.
        step: u64,
        /// How many there are.
        count: u64,
    },
}

impl Choice {
    /// Chooses among requests of these weights.
    #[must_use]
    pub fn new(weights: &[f64], random: Random) -> Self {
        if weights.len() < 2 {
            return Choice::Only;
        }
        let mut sum = 0.0;
        let sums = weights
            .iter()
            .map(|weight| {
                sum += weight;
                sum
            })
            .collect();
        Choice::Weighted { sums, random }
    }

    /// Takes so many requests in turn, as worker `worker` of `workers`.
    #[must_use]
    pub fn in_turn(count: usize, (worker, workers): (u32, u32)) -> Self {
        Choice::InTurn {
            next: u64::from(worker),
            step: u64::from(workers.max(1)),
            count: count.max(1) as u64,
        }
    }

    fn next(&mut self) -> u16 {
        match self {
            Choice::Only => 0,
            Choice::Weighted { sums, random } => {
                let Some(&all) = sums.last() else { return 0 };
                let at = random.unit() * all;
                let chosen = sums.partition_point(|&sum| sum <= at);
                chosen.min(sums.len() - 1) as u16
            }
            Choice::InTurn { next, step, count } => {
                let chosen = *next % *count;
                *next = next.wrapping_add(*step);
                chosen as u16
            }
        }
    }
}

/// The book of one worker.
#[derive(Debug)]
pub struct Book {
    arrivals: Arrivals,
    tickets: Tickets,
    choice: Choice,
    classes: ClassNumbers,
    tally: Tally,
    spare: Vec<Tally>,
    full: Vec<Tally>,
    counts: Counts,
    start_ns: u64,
    window_start_ns: u64,
    session_window: SessionWindow,
}

impl Book {
    /// An empty one for at most `exchanges_max` exchanges at once.
    #[must_use]
    pub fn new(
        arrivals: Arrivals,
        choice: Choice,
        classes: ClassNumbers,
        exchanges_max: usize,
    ) -> Self {
        Self {
            arrivals,
            tickets: Tickets::new(exchanges_max),
            choice,
            classes,
            tally: Tally::new(),
            spare: vec![Tally::new()],
            full: Vec::with_capacity(SPARE_MAX),
            counts: Counts {
                faults: Vec::with_capacity(16),
                by_request: Vec::with_capacity(REQUESTS_MAX),
                ..Counts::default()
            },
            start_ns: 0,
            window_start_ns: 0,
            session_window: SessionWindow::Timed,
        }
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

    /// Ends the window here.
    pub fn cut(&mut self, end_ns: u64) {
        self.arrivals.cut(end_ns);
    }

    /// What is counted so far.
    #[must_use]
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    pub(super) fn counts_mut(&mut self) -> &mut Counts {
        &mut self.counts
    }

    /// Exchanges released and not done.
    #[must_use]
    pub fn under_way(&self) -> usize {
        self.tickets.count()
    }

    /// Takes the next arrival if it is due: `Some(None)` when it found no place.
    #[inline]
    pub fn release(&mut self, now_ns: u64) -> Option<Option<Due>> {
        if self.arrivals.next_ns() > now_ns {
            return None;
        }
        let intended_ns = self.arrivals.take()?;
        let in_window = intended_ns >= self.window_start_ns;
        let request = self.choice.next();
        let ticket = self.tickets.open(Exchange {
            intended_ns,
            released_ns: now_ns,
            first_ns: 0,
            request,
        });
        let is_released = ticket.is_some();
        self.count(in_window, |stages| {
            stages.intended += 1;
            stages.released += u64::from(is_released);
            stages.overflow += u64::from(!is_released);
        });
        if !is_released {
            self.arrivals.ended(now_ns);
        }
        Some(ticket.map(|ticket| Due { ticket, request }))
    }

    /// Counts the arrivals of the window that the loop never came to.
    pub fn forsake(&mut self, now_ns: u64) {
        self.arrivals.cut(now_ns);
        while self.arrivals.next_ns() <= now_ns {
            let Some(intended_ns) = self.arrivals.take() else {
                return;
            };
            let in_window = intended_ns >= self.window_start_ns;
            self.count(in_window, |stages| stages.intended += 1);
        }
    }

    /// Enters a connection, by the second in which its attempt began. Those begun before the window are told apart, since a
    /// pool opened at once meets a server that is not under load yet; before the start they count in its first second.
    pub fn opened(&mut self, opening: &Connected) {
        let started = self.start_ns > 0;
        let in_window = started && opening.begun_ns >= self.window_start_ns;
        let second = match started {
            true => (opening.begun_ns.saturating_sub(self.start_ns) / SECOND_NS) as u32,
            false => 0,
        };
        let of = |quantity| Series {
            second,
            part: Part::Window,
            request: 0,
            class: if in_window { RIGHT } else { BEFORE },
            quantity,
        };
        self.tally.record(of(Quantity::Connect), opening.connect_ns);
        if let Some(handshake_ns) = opening.handshake_ns {
            self.tally.record(of(Quantity::Handshake), handshake_ns);
        }
        if self.tally.is_full() {
            self.replace_tally();
        }
    }

    /// Notes the first byte of an answer that comes in parts.
    pub fn first_byte(&mut self, ticket: Ticket, arrived_ns: u64) {
        self.tickets.first_byte(ticket, arrived_ns);
    }

    pub(super) fn set_session_window(&mut self, window: SessionWindow) {
        self.session_window = window;
    }

    pub(super) fn session_window(&self) -> SessionWindow {
        self.session_window
    }

    pub(super) fn window_start_ns(&self) -> u64 {
        self.window_start_ns
    }

    /// When an exchange under way was intended, and when it was released.
    pub(super) fn released(&self, ticket: Ticket) -> Option<(u64, u64)> {
        let exchange = self.tickets.get(ticket)?;
        Some((exchange.intended_ns, exchange.released_ns))
    }

    pub(super) fn number(&mut self, class: ErrorClass, example: &dyn fmt::Display) -> u8 {
        self.classes.number(class, example)
    }

    /// Tells the schedule that one of its exchanges ended.
    pub(super) fn ended(&mut self, at_ns: u64) {
        self.arrivals.ended(at_ns);
    }

    /// Takes an exchange out.
    #[inline]
    pub(super) fn close(&mut self, ticket: Ticket) -> Exchange {
        let exchange = self.tickets.close(ticket);
        assert!(
            exchange.is_some(),
            "a client ends each exchange exactly once"
        );
        exchange.unwrap_or(Exchange {
            intended_ns: 0,
            released_ns: 0,
            first_ns: 0,
            request: 0,
        })
    }

    /// Observes one value of an exchange.
    pub(super) fn record(
        &mut self,
        exchange: &Exchange,
        (request, class): (u16, u8),
        (quantity, value_ns): (Quantity, u64),
        in_window: bool,
    ) {
        let since_ns = exchange.intended_ns.saturating_sub(self.start_ns);
        let series = Series {
            second: (since_ns / SECOND_NS) as u32,
            part: if in_window {
                Part::Window
            } else {
                Part::WarmUp
            },
            request,
            class,
            quantity,
        };
        self.tally.record(series, value_ns);
        if self.tally.is_full() {
            self.replace_tally();
        }
    }

    /// Enters the end of an exchange.
    ///
    /// # Panics
    /// When the client ends an exchange twice: its counts would be worth nothing.
    pub fn done(&mut self, ticket: Ticket, done: &Done<'_>) {
        let exchange = self.close(ticket);
        let class = match done.outcome {
            Outcome::Right(status) => of_right(status),
            Outcome::Wrong(class) => self.classes.number(class, done.example),
            Outcome::Unfinished => self.classes.number(ErrorClass::UNFINISHED, done.example),
        };
        let in_window = exchange.intended_ns >= self.window_start_ns;
        let sent = done.sent_ns.is_some();
        self.count(in_window, |stages| {
            stages.sent += u64::from(sent);
            match done.outcome {
                Outcome::Right(_) => stages.right += 1,
                Outcome::Wrong(_) => stages.errors += 1,
                Outcome::Unfinished => stages.unfinished += 1,
            }
        });
        self.count_request(exchange.request, done);
        self.count_arrival(done);
        self.observe(&exchange, done, class, in_window);
        self.arrivals.ended(done.ended.seen_ns);
    }

    /// Enters a fault that no exchange is blamed with.
    pub fn fault(&mut self, class: ErrorClass, example: &dyn fmt::Display) {
        let class = self.classes.number(class, example);
        self.counts.add_faults(class, 1);
    }

    /// Takes the tables to hand over; the current one too if `current` says so.
    pub fn hand_over(&mut self, current: HandOver) -> impl Iterator<Item = Tally> + '_ {
        if current == HandOver::Everything {
            self.replace_tally();
        }
        self.full.drain(..)
    }

    /// Gets an emptied table back.
    pub fn give_back(&mut self, tally: Tally) {
        if self.spare.len() < SPARE_MAX {
            self.spare.push(tally);
        }
    }

    #[inline]
    pub(super) fn count(
        &mut self,
        in_window: bool,
        mut each: impl FnMut(&mut super::counts::Stages),
    ) {
        each(&mut self.counts.all);
        if in_window {
            each(&mut self.counts.window);
        }
    }

    /// Counts an exchange by its request.
    #[inline]
    pub(super) fn count_request(&mut self, request: u16, done: &Done<'_>) {
        let count = RequestCount {
            sent: u64::from(done.sent_ns.is_some()),
            right: u64::from(matches!(done.outcome, Outcome::Right(_))),
        };
        self.counts.add_exchanges(usize::from(request), count);
    }

    /// Counts an answer by when it arrived: CPU and rates are observed over the window, so they are per what was answered in it.
    /// The end may still be unknown (a closed loop's count, an order to come): then the last answer of the window ends it.
    #[inline]
    pub(super) fn count_arrival(&mut self, done: &Done<'_>) {
        let arrived_ns = done.ended.arrived_ns;
        if !(self.window_start_ns..self.arrivals.window_end_ns()).contains(&arrived_ns) {
            return;
        }
        let answered = &mut self.counts.answered_in_window;
        match done.outcome {
            Outcome::Right(_) => answered.right += 1,
            Outcome::Wrong(_) => answered.errors += 1,
            Outcome::Unfinished => {}
        }
    }

    #[inline]
    pub(super) fn observe(
        &mut self,
        exchange: &Exchange,
        done: &Done<'_>,
        class: u8,
        in_window: bool,
    ) {
        let &Exchange {
            intended_ns,
            released_ns,
            first_ns,
            request,
        } = exchange;
        let ended = done.ended;
        let second = (intended_ns.saturating_sub(self.start_ns) / SECOND_NS) as u32;
        let part = if in_window {
            Part::Window
        } else {
            Part::WarmUp
        };
        let of = |quantity, request, class| Series {
            second,
            part,
            request,
            class,
            quantity,
        };
        let tally = &mut self.tally;
        let felt_ns = ended.arrived_ns.saturating_sub(intended_ns);
        tally.record(of(Quantity::Felt, request, class), felt_ns);
        if let Some(sent_ns) = done.sent_ns {
            let service_ns = ended.arrived_ns.saturating_sub(sent_ns);
            if first_ns == 0 || first_ns == ended.arrived_ns {
                tally.record(of(Quantity::Service, request, class), service_ns);
            } else {
                tally.record(of(Quantity::ServiceInParts, request, class), service_ns);
                let to_first_ns = first_ns.saturating_sub(sent_ns);
                tally.record(of(Quantity::FirstByte, request, class), to_first_ns);
            }
        }
        tally.record(
            of(Quantity::Lateness, 0, 0),
            released_ns.saturating_sub(intended_ns),
        );
        if ended.source != StampSource::Event {
            tally.record(
                of(Quantity::Lag, 0, 0),
                ended.seen_ns.saturating_sub(ended.arrived_ns),
            );
        }
        if let (Some(cause), true) = (done.waited, in_window) {
            let until_ns = done.sent_ns.unwrap_or(ended.arrived_ns);
            let wait_ns = until_ns.saturating_sub(released_ns);
            tally.record(of(Quantity::Wait, 0, cause as u8), wait_ns);
            let waits = &mut self.counts.waits[cause as usize];
            waits.count += 1;
            waits.total_ns += wait_ns;
        }
        if in_window {
            if let Outcome::Right(status) = done.outcome {
                self.counts.right_by_status.add(status);
            }
            match (ended.source, done.bound) {
                (StampSource::Kernel, bound) => {
                    self.counts.stamped_by_kernel += 1;
                    self.counts.stamp_upper_bounds += u64::from(bound == Bound::Upper);
                }
                (StampSource::Own, _) => self.counts.stamped_by_us += 1,
                (StampSource::Event, _) => {}
            }
            self.counts.last_done_ns = self.counts.last_done_ns.max(ended.arrived_ns);
        }
        if self.tally.is_full() {
            self.replace_tally();
        }
    }

    #[cold]
    fn replace_tally(&mut self) {
        let fresh = self.spare.pop().unwrap_or_default();
        self.counts.out_of_range += self.tally.out_of_range();
        self.full.push(std::mem::replace(&mut self.tally, fresh));
    }
}

/// What [`Book::hand_over`] gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandOver {
    /// Tables that are full.
    Full,
    /// The current one too.
    Everything,
}
