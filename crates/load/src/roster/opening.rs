//! Schedule of the first opening of connections: all immediately, or one after the other.

use std::time::Duration;

/// The opening schedule of one worker's connections.
#[derive(Debug, Clone, Default)]
pub struct Opening {
    /// Interval between two connections of the whole load.
    gap_ns: f64,
    /// Index of this worker's next connection in the whole load.
    next: usize,
    /// One past its last index.
    end: usize,
    start_ns: Option<u64>,
}

impl Opening {
    /// Connections `first` to `first + count` of `all`, spread over a time. All workers start at the same time, so connections
    /// are opened one by one.
    #[must_use]
    pub fn spread(over: Duration, first: usize, count: usize, all: usize) -> Self {
        Self {
            gap_ns: over.as_nanos() as f64 / all.max(1) as f64,
            next: first,
            end: if over.is_zero() { first } else { first + count },
            start_ns: None,
        }
    }

    /// Whether the next connection may be opened.
    ///
    /// # Errors
    /// When it may not yet: the time at which it may.
    #[inline]
    pub fn pass(&mut self, now_ns: u64) -> Result<(), u64> {
        if self.next >= self.end {
            // All were opened once: connections are reopened immediately.
            return Ok(());
        }
        let start_ns = *self.start_ns.get_or_insert(now_ns);
        let due_ns = start_ns.saturating_add((self.next as f64 * self.gap_ns).round() as u64);
        if now_ns < due_ns {
            return Err(due_ns);
        }
        self.next += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_workers_open_one_after_the_other_and_again_at_once() {
        let over = Duration::from_nanos(400);
        let mut first = Opening::spread(over, 0, 2, 4);
        let mut second = Opening::spread(over, 2, 2, 4);
        assert_eq!(first.pass(1000), Ok(()));
        assert_eq!(first.pass(1000), Err(1100));
        assert_eq!(second.pass(1000), Err(1200));
        assert_eq!(first.pass(1100), Ok(()));
        assert_eq!(first.pass(1100), Ok(()), "one that is opened again");
        assert_eq!(second.pass(1350), Ok(()));
        assert_eq!(second.pass(1350), Ok(()));
    }

    #[test]
    fn without_a_time_all_are_opened_at_once() {
        let mut opening = Opening::spread(Duration::ZERO, 7, 9, 20);
        assert!((0..20).all(|_| opening.pass(5) == Ok(())));
    }
}
