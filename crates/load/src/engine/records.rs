//! The book's entries for records: many of them in one exchange, counted when they arrive, aged by the time they carry.

use tare_schema::agent::RecordCounts;

use super::book::Book;
use crate::client::{Age, Aged, RecordsIn, Ticket};
use crate::tally::{Part, Quantity};

/// Records of one worker.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Records {
    /// What goes into results.
    pub counts: RecordCounts,
    /// Whether the protocol tells of records at all.
    pub are_told: bool,
}

impl Records {
    /// Adds another worker's.
    pub fn add(&mut self, other: &Records) {
        self.counts.in_window += other.counts.in_window;
        self.counts.total += other.counts.total;
        self.counts.bytes_in_window += other.counts.bytes_in_window;
        self.counts.bytes_total += other.counts.bytes_total;
        self.counts.last_arrival_ns = self
            .counts
            .last_arrival_ns
            .max(other.counts.last_arrival_ns);
        self.counts.negative_ages += other.counts.negative_ages;
        self.are_told |= other.are_told;
    }
}

impl Book {
    /// Enters records that arrived.
    #[inline]
    pub fn records(&mut self, records: &RecordsIn) {
        let window = self.window_start_ns()..self.arrivals().window_end_ns();
        let is_in = window.contains(&records.arrived_ns);
        let book = &mut self.counts_mut().records;
        book.are_told = true;
        book.counts.total += records.count;
        book.counts.bytes_total += records.bytes;
        if is_in && records.count > 0 {
            book.counts.in_window += records.count;
            book.counts.bytes_in_window += records.bytes;
            book.counts.last_arrival_ns = records.arrived_ns - window.start;
        }
    }

    /// Enters how old a record was when it arrived, by the second in which it should have been sent. One that is from the future is
    /// counted only: a histogram has no place for it, and 0 would be made up.
    #[inline]
    pub fn aged(&mut self, aged: &Aged) {
        let Ok(age_ns) = u64::try_from(aged.age_ns) else {
            self.counts_mut().records.counts.negative_ages += 1;
            return;
        };
        let window = self.window_start_ns()..self.arrivals().window_end_ns();
        let part = match window.contains(&aged.since_ns) {
            true => Part::Window,
            false => Part::WarmUp,
        };
        let quantity = match aged.age {
            Age::EndToEnd => Quantity::EndToEnd,
            Age::OfTimestamp => Quantity::Age,
        };
        self.record_at(aged.since_ns, part, (aged.request, quantity), age_ns);
    }

    /// Takes an exchange back that was given to the client and never begun: the load ended before.
    ///
    /// # Panics
    /// When it is not under way.
    pub fn withdraw(&mut self, ticket: Ticket) {
        let exchange = self.close(ticket);
        let in_window = exchange.intended_ns >= self.window_start_ns();
        self.count(in_window, |stages| {
            stages.intended = stages.intended.saturating_sub(1);
            stages.released = stages.released.saturating_sub(1);
        });
    }
}
