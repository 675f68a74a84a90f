//! Counts and ages of records: many in one exchange, counted on arrival, with the age that their timestamps give.

use super::recorder::ExchangeRecorder;
use crate::client::{AgeKind, RecordAge, RecordArrivals, Ticket};
use crate::tally::{Phase, Quantity};

impl ExchangeRecorder {
    /// Records an arrival of records.
    #[inline]
    pub fn records(&mut self, records: &RecordArrivals) {
        let window = self.window_start_ns()..self.arrivals().window_end_ns();
        let is_in = window.contains(&records.arrived_ns);
        let counts = self.counts_mut().records.get_or_insert_default();
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
    pub fn aged(&mut self, aged: &RecordAge) {
        let Ok(age_ns) = u64::try_from(aged.age_ns) else {
            let counts = self.counts_mut().records.get_or_insert_default();
            counts.negative_ages += 1;
            return;
        };
        let window = self.window_start_ns()..self.arrivals().window_end_ns();
        let phase = match window.contains(&aged.since_ns) {
            true => Phase::Window,
            false => Phase::WarmUp,
        };
        let quantity = match aged.age {
            AgeKind::EndToEnd => Quantity::EndToEnd,
            AgeKind::OfTimestamp => Quantity::Age,
        };
        self.record_at(aged.since_ns, phase, (aged.request, quantity), age_ns);
    }

    /// Takes back an exchange that the client never started because the load ended.
    ///
    /// # Panics
    /// When it is not in flight.
    pub fn withdraw(&mut self, ticket: Ticket) {
        let exchange = self.close(ticket);
        let in_window = exchange.intended_ns >= self.window_start_ns();
        self.count(in_window, |stages| {
            stages.intended = stages.intended.saturating_sub(1);
            stages.released = stages.released.saturating_sub(1);
        });
    }
}
