//! Exponential backoff after failed connections.

/// First pause.
const FIRST_NS: u64 = 10_000_000;
/// Longest pause.
const LONGEST_NS: u64 = 1_000_000_000;

/// Doubles the pause with each round of failures, up to a second; a success resets it.
#[derive(Debug, Default)]
pub struct Backoff {
    pause_ns: u64,
    until_ns: Option<u64>,
}

impl Backoff {
    /// An attempt failed; returns the end of the pause. Failures during a pause count once.
    pub fn failed(&mut self, now_ns: u64) -> u64 {
        if let Some(until_ns) = self.until_ns {
            return until_ns;
        }
        self.pause_ns = (self.pause_ns * 2).clamp(FIRST_NS, LONGEST_NS);
        let until_ns = now_ns.saturating_add(self.pause_ns);
        self.until_ns = Some(until_ns);
        until_ns
    }

    /// A connection works: resets the pause.
    pub fn succeeded(&mut self) {
        self.pause_ns = 0;
        self.until_ns = None;
    }

    /// The pause is over.
    pub fn elapsed(&mut self) {
        self.until_ns = None;
    }

    /// Whether a pause is on.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        self.until_ns.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_to_a_second_and_a_success_ends_them() {
        let mut backoff = Backoff::default();
        let mut pauses = Vec::new();
        for _ in 0..9 {
            pauses.push(backoff.failed(0) / 1_000_000);
            assert_eq!(
                backoff.failed(5_000),
                backoff.failed(0),
                "one round counts once"
            );
            backoff.elapsed();
        }
        assert_eq!(pauses, [10, 20, 40, 80, 160, 320, 640, 1000, 1000]);
        backoff.succeeded();
        assert_eq!(backoff.failed(0), FIRST_NS);
    }
}
