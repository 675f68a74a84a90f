//! Records that were not acknowledged in time: which ones, and whose fault that is.

use std::fmt::Display;

use super::{EXPIRE, Produce};
use crate::errors::{THROTTLED, no_leader};
use tare_load::arrivals::NEVER;
use tare_load::client::{Completion, ErrorClass, ExchangeOutcome, Outlet, Stamp};

impl Produce {
    /// Ends what has timed out: queued batches, and records that wait for a batch.
    pub(super) fn expire(&mut self, out: &mut impl Outlet) {
        self.expire_at_ns = NEVER;
        let now_ns = out.now_ns();
        for at in 0..self.partitions.len() {
            while let Some(&batch) = self.partitions[at].queue.front() {
                let slot = self.batch_pool.slot(batch);
                let until_ns = slot.opened_ns.saturating_add(self.plan.timeout_ns);
                if until_ns > now_ns {
                    Self::timer_by(&mut self.expire_at_ns, EXPIRE, until_ns, out);
                    break;
                }
                if slot.sequence.is_some() {
                    self.producer_id.invalidate();
                }
                self.partitions[at].queue.pop_front();
                let (class, why) = self.reason_of(at, now_ns);
                self.end_batch(batch, timed_out(class, now_ns, &why), out);
            }
        }
        while let Some(&(exchanges, cause)) = self.waiting.front() {
            let until_ns = exchanges.released_ns.saturating_add(self.plan.timeout_ns);
            if until_ns > now_ns {
                Self::timer_by(&mut self.expire_at_ns, EXPIRE, until_ns, out);
                break;
            }
            self.waiting.pop_front();
            let (class, why) = self.reason(now_ns);
            let done = Completion {
                waited: Some(cause),
                ..timed_out(class, now_ns, &why)
            };
            out.complete_some(exchanges.due.ticket, exchanges.count, &done);
        }
        self.fill_waiting(out);
    }

    /// Why the records of a partition were not acknowledged in time.
    fn reason_of(&self, at: usize, now_ns: u64) -> (ErrorClass, String) {
        let partition = &self.partitions[at];
        let topic = &self.cluster.topics()[partition.topic];
        if topic.lacks_leader(partition.index) {
            let name = format!("{}-{} ", topic.name, partition.index);
            let words = topic.without_leader().find(|one| one.starts_with(&name));
            let refusal = self.last_refusal.as_ref();
            let refusal = refusal.map(|(_, why)| format!("; last error: {why}"));
            let words = words.unwrap_or(name) + &refusal.unwrap_or_default();
            return (no_leader(), words);
        }
        self.reason(now_ns)
    }

    /// Why records were not acknowledged in time: a quota, the last refusal, or the last connection that ended.
    fn reason(&self, now_ns: u64) -> (ErrorClass, String) {
        if let Some(words) = self.quota_words(now_ns, "not acknowledged in time") {
            return (THROTTLED, words);
        }
        match (&self.last_refusal, self.cluster.last_disconnect()) {
            (Some((class, why)), _) => (
                *class,
                format!("not acknowledged in time; last error: {why}"),
            ),
            (None, Some((class, why))) => (
                if class == ErrorClass::MALFORMED {
                    class
                } else {
                    ErrorClass::TIMEOUT
                },
                format!("not sent in time; last error: {why}"),
            ),
            (None, None) => (ErrorClass::TIMEOUT, "not sent in time".to_owned()),
        }
    }

    /// The drain is over: ends all records, as unfinished unless a quota held them back.
    pub(super) fn end_all(&mut self, out: &mut impl Outlet) {
        let now_ns = out.now_ns();
        let quota = self.quota_words(now_ns, "not acknowledged when the drain ended");
        let outcome = match quota {
            Some(_) => ExchangeOutcome::Failed(THROTTLED),
            None => ExchangeOutcome::Unfinished,
        };
        let words = |unfinished: &'static str| quota.as_deref().unwrap_or(unfinished).to_owned();
        let example = words("not acknowledged when the drain ended");
        let done = Completion::unsent(outcome, Stamp::event(now_ns), &example);
        for at in 0..self.batch_pool.all().count() as u32 {
            let slot = self.batch_pool.slot_mut(at);
            let done = Completion {
                sent_ns: slot.sent_ns,
                waited: slot.blocked,
                ..done
            };
            for (ticket, count) in std::mem::take(&mut slot.pieces) {
                out.complete_some(ticket, count, &done);
            }
        }
        let example = words("still waiting for room in a batch when the drain ended");
        let done = Completion::unsent(outcome, Stamp::event(now_ns), &example);
        for (exchanges, cause) in std::mem::take(&mut self.waiting) {
            let done = Completion {
                waited: Some(cause),
                ..done
            };
            out.complete_some(exchanges.due.ticket, exchanges.count, &done);
        }
    }

    /// What happened, with the quota that is the reason; `None` if none was in effect for as long as a record may take.
    pub(super) fn quota_words(&self, now_ns: u64, what: &str) -> Option<String> {
        let since_ns = now_ns.saturating_sub(self.plan.timeout_ns);
        let why = self.cluster.throttle_since(since_ns)?;
        Some(format!("{what}: {why}"))
    }
}

fn timed_out(class: ErrorClass, now_ns: u64, why: &dyn Display) -> Completion<'_> {
    Completion::unsent(ExchangeOutcome::Failed(class), Stamp::event(now_ns), why)
}
