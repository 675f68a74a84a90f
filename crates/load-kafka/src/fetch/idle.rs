//! The idle timeout: a load that waits for records which do not come ends, and says what is missing.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::Fetch;
use tare_record::units::Period;

/// Watches the time since the last record.
#[derive(Debug)]
pub struct IdleTimer {
    limit_ns: Option<u64>,
    /// Since when nothing came; `None` before the first fetch.
    since_ns: Option<u64>,
    /// Records that had arrived by then, at all workers.
    arrived: u64,
}

impl IdleTimer {
    /// A timer that has not begun; without a limit it never elapses.
    pub fn new(limit_ns: Option<u64>) -> Self {
        Self {
            limit_ns,
            since_ns: None,
            arrived: 0,
        }
    }

    /// The load has begun.
    pub fn begin(&mut self, now_ns: u64) {
        self.since_ns.get_or_insert(now_ns);
    }

    /// No record could come before this time: it does not count.
    pub fn excuse(&mut self, until_ns: u64) {
        if let Some(since_ns) = &mut self.since_ns {
            *since_ns = until_ns.max(*since_ns);
        }
    }

    /// When the time is over, if no record comes; so many have arrived.
    pub fn deadline_ns(&mut self, arrived: u64, now_ns: u64) -> Option<u64> {
        if arrived != self.arrived {
            self.arrived = arrived;
            self.excuse(now_ns);
        }
        Some(self.since_ns?.saturating_add(self.limit_ns?))
    }
}

impl Fetch {
    /// Ends the load when no record has come for too long.
    pub(super) fn end_if_idle(&mut self, now_ns: u64) {
        if self.finished || self.plan.spec.until.idle_ns.is_none() {
            return;
        }
        // A member without partitions, and one whose brokers read nothing, cannot get any.
        if self
            .group
            .as_ref()
            .is_some_and(|group| !group.member.is_stable())
        {
            self.idle.excuse(now_ns);
        }
        for broker in 0..self.broker_fetches.len() as u32 {
            self.idle.excuse(self.cluster.muted_until_ns(broker));
        }
        let arrived = self.plan.arrived.load(Ordering::Relaxed);
        let Some(deadline_ns) = self.idle.deadline_ns(arrived, now_ns) else {
            return;
        };
        if deadline_ns > now_ns {
            self.wake_ns = self.wake_ns.min(deadline_ns);
            return;
        }
        self.finished = true;
        let why = self.idle_problem(arrived);
        self.problem.get_or_insert(why);
    }

    /// What came, what did not, and why, as far as that is known.
    fn idle_problem(&self, arrived: u64) -> String {
        let until = &self.plan.spec.until;
        let limit = Period(Duration::from_nanos(until.idle_ns.unwrap_or(0)));
        let found = match (arrived, until.records) {
            (0, Some(most)) => format!("none of {most} records came within {limit}"),
            (0, None) => format!("no record came within {limit}"),
            (_, Some(most)) => format!("{arrived} of {most} records came, then none for {limit}"),
            (_, None) => format!("{arrived} records came, then none for {limit}"),
        };
        let mut why: Vec<String> = self.without_leader().collect();
        let mut leaders = self.reader.cursors.iter().filter_map(|cursor| {
            let topic = &self.cluster.topics()[usize::from(cursor.topic)];
            topic.partitions.get(cursor.partition as usize)?.leader
        });
        if leaders.any(|leader| !self.cluster.is_usable(leader))
            && let Some((_, words)) = self.cluster.last_disconnect()
        {
            why.push(format!("last error: {words}"));
        }
        let why: String = why.iter().map(|words| format!("; {words}")).collect();
        format!("{found}{why}; ask for fewer records, or wait longer for them (--idle-timeout)")
    }

    /// The partitions of this worker that have no leader, for messages.
    pub(super) fn without_leader(&self) -> impl Iterator<Item = String> {
        self.cluster
            .topics()
            .iter()
            .flat_map(|topic| topic.without_leader())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_time_in_which_a_record_could_have_come_counts() {
        let mut idle = IdleTimer::new(Some(10));
        assert_eq!(idle.deadline_ns(0, 5), None, "the load has not begun");
        idle.begin(7);
        idle.begin(8);
        assert_eq!(idle.deadline_ns(0, 9), Some(17));
        assert_eq!(idle.deadline_ns(3, 12), Some(22), "a record came");
        assert_eq!(idle.deadline_ns(3, 14), Some(22));
        idle.excuse(20);
        idle.excuse(18);
        assert_eq!(idle.deadline_ns(3, 21), Some(30));
        let mut never = IdleTimer::new(None);
        never.begin(0);
        assert_eq!(never.deadline_ns(0, u64::MAX), None);
    }
}
