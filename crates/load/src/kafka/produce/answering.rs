//! What brokers say of batches, and what becomes of those they say nothing of.

use std::fmt::Display;

use tare_kafka::kafka_protocol::ResponseError;

use super::framing;
use super::identity::IDENTITY;
use super::{EXPIRE, Produce};
use crate::arrivals::NEVER;
use crate::client::{Bound, Done, ErrorClass, Outcome, Outlet, Stamp, Status};
use crate::kafka::cluster::Answer;
use crate::kafka::errors::{Code, Remedy};

/// First pause before a batch is sent again (`retry.backoff.ms`).
const PAUSE_FIRST_NS: u64 = 100_000_000;
/// Longest (`retry.backoff.max.ms`).
const PAUSE_MAX_NS: u64 = 1_000_000_000;

/// How a batch ended.
#[derive(Clone, Copy)]
pub(super) struct End<'a> {
    outcome: Outcome,
    ended: Stamp,
    bound: Bound,
    example: &'a dyn Display,
}

/// What a broker said of a batch.
#[derive(Debug)]
struct Verdict {
    batch: u32,
    code: Code,
    words: Option<String>,
}

impl Produce {
    /// A broker answered.
    pub(super) fn answered(&mut self, answer: Answer<'_>, stamp: Stamp, out: &mut impl Outlet) {
        if answer.token == IDENTITY {
            return self.identified(answer, out);
        }
        let (broker, sent_ns, bound) = (answer.broker, answer.sent_ns, answer.bound);
        let mut flight = std::mem::take(&mut self.flights[answer.token as usize]);
        for &batch in &flight {
            self.store.slot_mut(batch).sent_ns.get_or_insert(sent_ns);
        }
        let mut failed = Vec::new();
        let mut told = 0;
        let body = answer.frame.get(4..).unwrap_or_default();
        let read = framing::read(body, answer.version, |one| {
            let of = |batch: &&u32| {
                let slot = self.store.slot(**batch);
                let partition = &self.partitions[slot.partition as usize];
                partition.index == one.partition
                    && self.plan.cluster.topics[partition.topic].as_bytes() == one.topic
            };
            let Some(&batch) = flight[told.min(flight.len())..]
                .iter()
                .find(of)
                .or_else(|| flight.iter().find(of))
            else {
                return;
            };
            told += 1;
            if one.code != 0 {
                let words = one
                    .message
                    .map(|words| String::from_utf8_lossy(words).into_owned());
                failed.push(Verdict {
                    batch,
                    code: Code(one.code),
                    words,
                });
            }
        });
        let token = answer.token;
        self.cluster.give_back(broker, answer.frame);
        let problem = match read {
            Ok(throttle_ms) => {
                self.counts.throttled += u64::from(throttle_ms > 0);
                (told != flight.len()).then(|| "an answer that leaves batches out".to_owned())
            }
            Err(error) => Some(error.to_string()),
        };
        if let Some(problem) = problem {
            self.cluster.distrust(broker, &problem, out);
            for &batch in &flight {
                self.store.slot_mut(batch).in_doubt = true;
                self.come_back(batch, ErrorClass::RUBBISH, &problem, out);
            }
        } else {
            for &batch in &flight {
                if !failed.iter().any(|verdict| verdict.batch == batch) {
                    self.acknowledged(batch, stamp, bound, out);
                }
            }
            for verdict in failed {
                self.refused(broker, &verdict, stamp, bound, out);
            }
        }
        flight.clear();
        self.flights[token as usize] = flight;
        self.free_flights.push(token);
        self.settle_waiting(out);
    }

    /// A batch is written.
    fn acknowledged(&mut self, batch: u32, ended: Stamp, bound: Bound, out: &mut impl Outlet) {
        let slot = self.store.slot(batch);
        let partition = &mut self.partitions[slot.partition as usize];
        if self.plan.serials.is_some() {
            let count = u64::from(slot.batch.count());
            // Beyond so many gaps a record counts as not acknowledged: an audit then says less, but nothing wrong.
            let _ = partition.acknowledged.add_range(slot.first, count);
        }
        let values = self.plan.contents[partition.topic].value_bytes();
        self.last_refusal = None;
        self.counts.batches += 1;
        self.counts.batch_bytes += slot.batch.sealed_bytes() as u64;
        self.counts.payload_bytes += values * u64::from(slot.batch.count());
        let end = End {
            outcome: Outcome::Right(Status::NONE),
            ended,
            bound,
            example: &"",
        };
        self.end_flying(batch, end, out);
    }

    /// A broker refused a batch.
    fn refused(
        &mut self,
        broker: u32,
        verdict: &Verdict,
        ended: Stamp,
        bound: Bound,
        out: &mut impl Outlet,
    ) {
        use ResponseError as E;
        let (batch, code) = (verdict.batch, verdict.code);
        let idempotent = self.identity.is_idempotent();
        match code.error() {
            Some(E::DuplicateSequenceNumber) if idempotent => {
                self.counts.duplicates += 1;
                return self.acknowledged(batch, ended, bound, out);
            }
            // What stands before it is still to come, or was given up: it has not been written.
            Some(E::OutOfOrderSequenceNumber) if idempotent && !self.identity.is_known() => {
                self.unsign(batch);
            }
            Some(E::OutOfOrderSequenceNumber) if idempotent && self.has_earlier(batch) => {}
            // Nothing stands before it: the leader has lost what was written. It would know this batch if it had it.
            Some(E::OutOfOrderSequenceNumber) if idempotent => {
                self.identity.renew();
                self.unsign(batch);
            }
            Some(E::UnknownProducerId | E::InvalidProducerEpoch)
                if idempotent && !self.store.slot(batch).in_doubt =>
            {
                self.identity.renew();
                self.unsign(batch);
            }
            // A leader that had written it before it was one no more says so too.
            Some(
                E::RequestTimedOut
                | E::NotEnoughReplicasAfterAppend
                | E::NotLeaderOrFollower
                | E::KafkaStorageError,
            ) => {
                self.store.slot_mut(batch).in_doubt = true;
            }
            _ if code.remedy() == Remedy::GiveUp => {
                let words = self.complaint(broker, verdict);
                if self.store.slot(batch).sequence.is_some() {
                    // Its numbers will never be written: those behind it need others.
                    self.identity.renew();
                }
                let end = End {
                    outcome: Outcome::Wrong(code.class()),
                    ended,
                    bound,
                    example: &words,
                };
                return self.end_flying(batch, end, out);
            }
            _ => {}
        }
        if code.remedy() == Remedy::Refresh {
            self.cluster.refresh(out);
        }
        let words = self.complaint(broker, verdict);
        self.come_back(batch, code.class(), &words, out);
        self.last_refusal = Some((code.class(), words));
    }

    /// Whether an earlier batch of the same partition is under way or has come back.
    fn has_earlier(&self, batch: u32) -> bool {
        let slot = self.store.slot(batch);
        let partition = slot.partition;
        let earlier = |other: &super::store::Slot| {
            other.partition == partition && other.order < slot.order && !other.pieces.is_empty()
        };
        self.store.all().any(|(_, other)| earlier(other))
    }

    /// A batch gets another number when it is sent again.
    fn unsign(&mut self, batch: u32) {
        if self.store.slot_mut(batch).sequence.take().is_some() {
            self.identity.settled();
        }
    }

    fn complaint(&self, broker: u32, verdict: &Verdict) -> String {
        let slot = self.store.slot(verdict.batch);
        let partition = &self.partitions[slot.partition as usize];
        let topic = &self.plan.cluster.topics[partition.topic];
        let name = self.cluster.name(broker);
        let words = verdict.words.as_deref();
        let words = words.map_or_else(String::new, |words| format!(" ({words})"));
        format!(
            "{name} refuses {} records for partition {} of {topic:?}: {}{words}",
            slot.batch.count(),
            partition.index,
            verdict.code
        )
    }

    /// A request will not be answered.
    pub(super) fn lost(
        &mut self,
        _broker: u32,
        token: u32,
        sent_ns: Option<u64>,
        (class, why): (ErrorClass, &str),
        out: &mut impl Outlet,
    ) {
        if token == IDENTITY {
            return self.not_identified(out);
        }
        let mut flight = std::mem::take(&mut self.flights[token as usize]);
        for &batch in &flight {
            if let Some(sent_ns) = sent_ns {
                let slot = self.store.slot_mut(batch);
                slot.sent_ns.get_or_insert(sent_ns);
                slot.in_doubt = true;
            }
            // Nobody answers without acknowledgements: whether it was written is not known, and will not be.
            if self.plan.acks == super::Acks::None && sent_ns.is_some() {
                let end = End {
                    outcome: Outcome::Wrong(class),
                    ended: Stamp::event(out.now_ns()),
                    bound: Bound::Upper,
                    example: &why,
                };
                self.end_flying(batch, end, out);
            } else {
                self.come_back(batch, class, &why, out);
            }
        }
        flight.clear();
        self.flights[token as usize] = flight;
        self.free_flights.push(token);
        self.settle_waiting(out);
    }

    /// A request that nobody answers has been written.
    pub(super) fn written(&mut self, token: u32, sent_ns: u64, out: &mut impl Outlet) {
        let mut flight = std::mem::take(&mut self.flights[token as usize]);
        let ended = Stamp::event(out.now_ns());
        for &batch in &flight {
            self.store.slot_mut(batch).sent_ns.get_or_insert(sent_ns);
            self.acknowledged(batch, ended, Bound::Upper, out);
        }
        flight.clear();
        self.flights[token as usize] = flight;
        self.free_flights.push(token);
        self.settle_waiting(out);
    }

    /// A batch under way is to be sent again, unless its time is over.
    fn come_back(
        &mut self,
        batch: u32,
        class: ErrorClass,
        why: &dyn Display,
        out: &mut impl Outlet,
    ) {
        let now_ns = out.now_ns();
        let slot = self.store.slot(batch);
        if slot.opened_ns.saturating_add(self.plan.timeout_ns) <= now_ns {
            if slot.sequence.is_some() {
                self.identity.renew();
            }
            let end = End {
                outcome: Outcome::Wrong(class),
                ended: Stamp::event(now_ns),
                bound: Bound::Upper,
                example: why,
            };
            return self.end_flying(batch, end, out);
        }
        let doublings = slot.tries.saturating_sub(1).min(4);
        let pause_ns = (PAUSE_FIRST_NS << doublings).min(PAUSE_MAX_NS);
        let at = slot.partition as usize;
        let partition = &mut self.partitions[at];
        partition.landed();
        partition.returned.push(batch);
        partition.paused_until_ns = partition
            .paused_until_ns
            .max(now_ns.saturating_add(pause_ns));
        let until_ns = slot.opened_ns.saturating_add(self.plan.timeout_ns);
        Self::timer_by(&mut self.expire_at_ns, EXPIRE, until_ns, out);
        self.settle_returned(at);
    }

    /// Ends the records of a batch that is under way.
    fn end_flying(&mut self, batch: u32, end: End<'_>, out: &mut impl Outlet) {
        let at = self.store.slot(batch).partition as usize;
        self.partitions[at].landed();
        self.end_batch(batch, end, out);
        self.settle_returned(at);
    }

    /// Ends the records of a batch.
    fn end_batch(&mut self, batch: u32, end: End<'_>, out: &mut impl Outlet) {
        let slot = self.store.slot_mut(batch);
        let done = Done {
            outcome: end.outcome,
            sent_ns: slot.sent_ns,
            ended: end.ended,
            bound: end.bound,
            waited: slot.blocked,
            example: end.example,
        };
        for &(ticket, count) in &slot.pieces {
            out.done_some(ticket, count, &done);
        }
        if slot.sequence.is_some() {
            self.identity.settled();
        }
        self.store.close(batch);
        self.stirred = true;
    }

    /// Gives up what has waited too long: closed batches that are not under way, and what waits for one.
    pub(super) fn expire(&mut self, out: &mut impl Outlet) {
        self.expire_at_ns = NEVER;
        let now_ns = out.now_ns();
        let (class, why) = match (&self.last_refusal, self.cluster.last_end()) {
            (Some((class, why)), _) => {
                (*class, format!("not taken in time; the last answer: {why}"))
            }
            (None, Some((class, why))) => (
                if class == ErrorClass::RUBBISH {
                    class
                } else {
                    ErrorClass::TIMEOUT
                },
                format!("not sent in time; the last thing heard: {why}"),
            ),
            (None, None) => (ErrorClass::TIMEOUT, "not sent in time".to_owned()),
        };
        let end = End {
            outcome: Outcome::Wrong(class),
            ended: Stamp::event(now_ns),
            bound: Bound::Upper,
            example: &why,
        };
        for at in 0..self.partitions.len() {
            while let Some(&batch) = self.partitions[at].queue.front() {
                let slot = self.store.slot(batch);
                let until_ns = slot.opened_ns.saturating_add(self.plan.timeout_ns);
                if until_ns > now_ns {
                    Self::timer_by(&mut self.expire_at_ns, EXPIRE, until_ns, out);
                    break;
                }
                if slot.sequence.is_some() {
                    self.identity.renew();
                }
                self.partitions[at].queue.pop_front();
                self.end_batch(batch, end, out);
            }
        }
        while let Some(&(run, cause)) = self.waiting.front() {
            let until_ns = run.released_ns.saturating_add(self.plan.timeout_ns);
            if until_ns > now_ns {
                Self::timer_by(&mut self.expire_at_ns, EXPIRE, until_ns, out);
                break;
            }
            self.waiting.pop_front();
            self.waiting_records -= run.count as usize;
            let done = Done {
                outcome: end.outcome,
                sent_ns: None,
                ended: end.ended,
                bound: end.bound,
                waited: Some(cause),
                example: end.example,
            };
            out.done_some(run.due.ticket, run.count, &done);
        }
        self.settle_waiting(out);
    }
}
