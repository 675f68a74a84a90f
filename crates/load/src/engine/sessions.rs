//! Recording of sessions: the exchanges within them, and their own ends.

use super::counts::{ArrivalKind, ExchangeCounts};
use super::exchanges::Exchange;
use super::recorder::ExchangeRecorder;
use crate::arrivals::NEVER;
use crate::client::{Completion, ExchangeId, ExchangeOutcome, NestedExchange, NestedStart};
use crate::tally::Quantity;

/// Which exchanges of sessions belong to the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionWindow {
    /// Those intended before the planned end of the window.
    Timed,
    /// All that are intended after its start, however long its sessions last: the window is a number of sessions.
    Counted,
}

impl ExchangeRecorder {
    /// Treats what the schedule releases as sessions.
    #[must_use]
    pub fn for_sessions(mut self, window: SessionWindow) -> Self {
        self.counts.released = ArrivalKind::Sessions;
        self.session_window = window;
        self
    }

    /// Counts sessions that never began as one request each, their first: what they would have sent is not known. Its number.
    pub(super) fn count_session_never_started(&mut self, in_window: bool, times: u64) -> u16 {
        let enter = |stages: &mut ExchangeCounts| {
            stages.intended += times;
            stages.never_sent += times;
        };
        enter(&mut self.counts.within.all);
        if in_window {
            enter(&mut self.counts.within.window);
        }
        0
    }

    /// Records the end of an exchange within a session.
    pub fn complete_nested(&mut self, within: &NestedExchange, done: &Completion<'_>) {
        let start = match within.start {
            NestedStart::Released(ticket) => {
                let exchange = self.exchanges.get(ticket);
                exchange.map(|exchange| (exchange.intended_ns, exchange.released_ns))
            }
            NestedStart::Own {
                intended_ns,
                released_ns,
            } => Some((intended_ns, released_ns)),
        };
        let Some((intended_ns, released_ns)) = start else {
            return;
        };
        let exchange = Exchange {
            intended_ns,
            released_ns,
            // Not recorded within sessions.
            first_ns: 0,
            request: within.request,
            count: 1,
        };
        let class = self.class(done);
        let end_ns = match self.session_window {
            SessionWindow::Timed => self.arrivals().window_end_ns(),
            SessionWindow::Counted => NEVER,
        };
        let in_window = (self.window_start_ns..end_ns).contains(&intended_ns);
        let enter = |stages: &mut ExchangeCounts| {
            stages.intended += 1;
            stages.released += 1;
            stages.sent += u64::from(done.sent_ns.is_some());
            stages.end(done.outcome, 1);
        };
        let counts = &mut self.counts.within;
        enter(&mut counts.all);
        if in_window {
            enter(&mut counts.window);
        }
        self.count_request(within.request, 1, done);
        self.count_arrival(1, done);
        self.observe(&exchange, done, class, in_window);
    }

    /// Records the end of a session: its duration, under a request number of its own.
    ///
    /// # Panics
    /// When the client ends it twice.
    pub fn complete_session(&mut self, ticket: ExchangeId, series: u16, done: &Completion<'_>) {
        let exchange = self.close(ticket);
        let class = self.class(done);
        let in_window = exchange.intended_ns >= self.window_start_ns;
        self.count(in_window, |stages| stages.end(done.outcome, 1));
        let ended_ns = done.ended.arrived_ns;
        let window = self.window_start_ns..self.arrivals().window_end_ns();
        if done.outcome != ExchangeOutcome::Unfinished && window.contains(&ended_ns) {
            self.counts.within.ended_in_window += 1;
        }
        for (quantity, since_ns) in [
            (Quantity::LatencyOnly, exchange.released_ns),
            (Quantity::Response, exchange.intended_ns),
        ] {
            let took_ns = ended_ns.saturating_sub(since_ns);
            let series = (series, class, quantity);
            self.record_at(exchange.intended_ns, in_window, series, took_ns);
        }
        self.arrivals.ended(done.ended.seen_ns, 1);
    }
}
