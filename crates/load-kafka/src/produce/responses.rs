//! Responses to produce requests: batches end, are retried, or time out.

use std::fmt::Display;

use tare_kafka::kafka_protocol::ResponseError;
use tare_record::load::Acks;

use super::framing;
use super::producer_id::INIT_PRODUCER_ID;
use super::{EXPIRE, Produce};
use crate::RETRY_BACKOFF_NS;
use crate::cluster::BrokerResponse;
use crate::errors::{ErrorCode, RetryAction};
use tare_load::client::{
    Completion, ErrorClass, ExchangeOutcome, Outlet, Stamp, Status, TimestampBound,
};

/// Longest backoff (`retry.backoff.max.ms`).
const PAUSE_MAX_NS: u64 = 1_000_000_000;

/// The error of a batch in a response.
#[derive(Debug)]
struct BatchFailure {
    batch: u32,
    code: ErrorCode,
    words: Option<String>,
}

impl Produce {
    /// Handles a response.
    pub(super) fn on_response(
        &mut self,
        answer: BrokerResponse<'_>,
        stamp: Stamp,
        out: &mut impl Outlet,
    ) {
        if answer.token == INIT_PRODUCER_ID {
            return self.on_producer_id(answer, out);
        }
        let (broker, sent_ns, bound) = (answer.broker, answer.sent_ns, answer.bound);
        let batches = std::mem::take(&mut self.request_batches[answer.token as usize]);
        for &batch in &batches {
            self.batch_pool
                .slot_mut(batch)
                .sent_ns
                .get_or_insert(sent_ns);
        }
        let mut failed = Vec::new();
        let mut matched = 0;
        let body = answer.frame.get(4..).unwrap_or_default();
        let read = framing::read(body, answer.version, |one| {
            let of = |batch: &&u32| {
                let slot = self.batch_pool.slot(**batch);
                let partition = &self.partitions[slot.partition as usize];
                partition.index == one.partition
                    && self.plan.cluster.topics[partition.topic].as_bytes() == one.topic
            };
            let Some(&batch) = batches[matched.min(batches.len())..]
                .iter()
                .find(of)
                .or_else(|| batches.iter().find(of))
            else {
                return;
            };
            matched += 1;
            if one.code != 0 {
                let words = one
                    .message
                    .map(|words| String::from_utf8_lossy(words).into_owned());
                failed.push(BatchFailure {
                    batch,
                    code: ErrorCode(one.code),
                    words,
                });
            }
        });
        let token = answer.token;
        self.cluster.recycle(broker, answer.frame);
        let problem = match read {
            Ok(throttle_ms) => {
                self.counts.throttled += u64::from(throttle_ms > 0);
                self.counts.throttled_ms += u64::from(throttle_ms.max(0).unsigned_abs());
                self.cluster.throttled(broker, throttle_ms, out);
                (matched != batches.len()).then(|| "a response without all batches".to_owned())
            }
            Err(error) => Some(error.to_string()),
        };
        if let Some(problem) = problem {
            self.cluster.reject(broker, &problem, out);
            for &batch in &batches {
                self.batch_pool.slot_mut(batch).in_doubt = true;
                self.retry_or_expire(batch, ErrorClass::MALFORMED, &problem, out);
            }
        } else {
            for &batch in &batches {
                if !failed.iter().any(|failure| failure.batch == batch) {
                    self.acknowledged(batch, stamp, bound, out);
                }
            }
            for failure in failed {
                self.on_refusal(broker, &failure, stamp, bound, out);
            }
        }
        self.end_request(token, batches, out);
    }

    /// A batch is acknowledged, or with `acks` 0 sent.
    fn acknowledged(
        &mut self,
        batch: u32,
        ended: Stamp,
        bound: TimestampBound,
        out: &mut impl Outlet,
    ) {
        let slot = self.batch_pool.slot(batch);
        let partition = &mut self.partitions[slot.partition as usize];
        if self.serials.is_some() {
            let count = u64::from(slot.batch.count());
            // Beyond the limit of gaps, records count as not acknowledged: an audit then proves less, but nothing wrong.
            let _ = partition.acknowledged.add_range(slot.first, count);
        }
        let values = self.plan.contents[partition.topic].value_bytes();
        self.last_refusal = None;
        self.counts.batches += 1;
        self.counts.batch_bytes += slot.batch.sealed_bytes() as u64;
        self.counts.payload_bytes += values * u64::from(slot.batch.count());
        let end = Completion {
            bound,
            ..Completion::unsent(ExchangeOutcome::Ok(Status::NONE), ended, &"")
        };
        self.end_in_flight(batch, end, out);
    }

    /// Handles the error of a batch.
    fn on_refusal(
        &mut self,
        broker: u32,
        failure: &BatchFailure,
        ended: Stamp,
        bound: TimestampBound,
        out: &mut impl Outlet,
    ) {
        use ResponseError as E;
        let (batch, code) = (failure.batch, failure.code);
        let idempotent = self.producer_id.is_idempotent();
        match code.error() {
            Some(E::DuplicateSequenceNumber) if idempotent => {
                self.counts.duplicates += 1;
                return self.acknowledged(batch, ended, bound, out);
            }
            // The producer id is being renewed: an earlier batch failed, so this one was not written.
            Some(E::OutOfOrderSequenceNumber) if idempotent && !self.producer_id.is_known() => {
                self.clear_sequence(batch);
            }
            Some(E::OutOfOrderSequenceNumber) if idempotent && self.has_earlier(batch) => {}
            // No earlier batch is open: the leader lost written batches. It would report a duplicate if it had this one.
            Some(E::OutOfOrderSequenceNumber) if idempotent => {
                self.producer_id.invalidate();
                self.clear_sequence(batch);
            }
            Some(E::UnknownProducerId | E::InvalidProducerEpoch)
                if idempotent && !self.batch_pool.slot(batch).in_doubt =>
            {
                self.producer_id.invalidate();
                self.clear_sequence(batch);
            }
            // The batch may have been written; a leader that wrote it and was then deposed also reports these.
            Some(
                E::RequestTimedOut
                | E::NotEnoughReplicasAfterAppend
                | E::NotLeaderOrFollower
                | E::KafkaStorageError,
            ) => {
                self.batch_pool.slot_mut(batch).in_doubt = true;
            }
            _ if code.retry_action() == RetryAction::GiveUp => {
                let words = self.refusal_message(broker, failure);
                if self.batch_pool.slot(batch).sequence.is_some() {
                    // Its sequences will never be written: later batches need new ones.
                    self.producer_id.invalidate();
                }
                let end = Completion {
                    bound,
                    ..Completion::unsent(ExchangeOutcome::Failed(code.class()), ended, &words)
                };
                return self.end_in_flight(batch, end, out);
            }
            _ => {}
        }
        if code.retry_action() == RetryAction::Refresh {
            self.cluster.refresh(out);
        }
        let words = self.refusal_message(broker, failure);
        self.retry_or_expire(batch, code.class(), &words, out);
        self.last_refusal = Some((code.class(), words));
    }

    /// Whether an earlier batch of the same partition has not ended.
    fn has_earlier(&self, batch: u32) -> bool {
        let slot = self.batch_pool.slot(batch);
        let partition = slot.partition;
        let earlier = |other: &super::batch_pool::Slot| {
            other.partition == partition && other.order < slot.order && !other.pieces.is_empty()
        };
        self.batch_pool.all().any(|(_, other)| earlier(other))
    }

    /// Has a batch get a new sequence when it is retried.
    fn clear_sequence(&mut self, batch: u32) {
        if self.batch_pool.slot_mut(batch).sequence.take().is_some() {
            self.producer_id.batch_settled();
        }
    }

    fn refusal_message(&self, broker: u32, failure: &BatchFailure) -> String {
        let slot = self.batch_pool.slot(failure.batch);
        let partition = &self.partitions[slot.partition as usize];
        let topic = &self.plan.cluster.topics[partition.topic];
        let name = self.cluster.name(broker);
        format!(
            "{name} refuses {} records for partition {} of {topic:?}: {}",
            slot.batch.count(),
            partition.index,
            failure.code.explained(failure.words.as_deref())
        )
    }

    /// Handles a request that was lost.
    pub(super) fn lost(
        &mut self,
        token: u32,
        sent_ns: Option<u64>,
        (class, why): (ErrorClass, &str),
        out: &mut impl Outlet,
    ) {
        if token == INIT_PRODUCER_ID {
            return self.retry_producer_id(out);
        }
        let batches = std::mem::take(&mut self.request_batches[token as usize]);
        for &batch in &batches {
            if let Some(sent_ns) = sent_ns {
                let slot = self.batch_pool.slot_mut(batch);
                slot.sent_ns.get_or_insert(sent_ns);
                slot.in_doubt = true;
            }
            // With `acks` 0 there is no response: whether it was written will never be known.
            if self.plan.spec.acks == Acks::None && sent_ns.is_some() {
                let ended = Stamp::event(out.now_ns());
                let end = Completion::unsent(ExchangeOutcome::Failed(class), ended, &why);
                self.end_in_flight(batch, end, out);
            } else {
                self.retry_or_expire(batch, class, &why, out);
            }
        }
        self.end_request(token, batches, out);
    }

    /// A request with `acks` 0 has been written to the socket.
    pub(super) fn written(&mut self, token: u32, sent_ns: u64, out: &mut impl Outlet) {
        let batches = std::mem::take(&mut self.request_batches[token as usize]);
        let ended = Stamp::event(out.now_ns());
        for &batch in &batches {
            self.batch_pool
                .slot_mut(batch)
                .sent_ns
                .get_or_insert(sent_ns);
            self.acknowledged(batch, ended, TimestampBound::Upper, out);
        }
        self.end_request(token, batches, out);
    }

    /// Has a batch in flight retried after a backoff, or ends it if it has timed out.
    fn retry_or_expire(
        &mut self,
        batch: u32,
        class: ErrorClass,
        why: &dyn Display,
        out: &mut impl Outlet,
    ) {
        let now_ns = out.now_ns();
        let slot = self.batch_pool.slot(batch);
        if slot.opened_ns.saturating_add(self.plan.timeout_ns) <= now_ns {
            if slot.sequence.is_some() {
                self.producer_id.invalidate();
            }
            let end = Completion::unsent(ExchangeOutcome::Failed(class), Stamp::event(now_ns), why);
            return self.end_in_flight(batch, end, out);
        }
        let doublings = slot.tries.saturating_sub(1).min(4);
        let pause_ns = (RETRY_BACKOFF_NS << doublings).min(PAUSE_MAX_NS);
        let at = slot.partition as usize;
        let partition = &mut self.partitions[at];
        partition.batch_returned();
        partition.returned.push(batch);
        partition.paused_until_ns = partition
            .paused_until_ns
            .max(now_ns.saturating_add(pause_ns));
        let until_ns = slot.opened_ns.saturating_add(self.plan.timeout_ns);
        Self::timer_by(&mut self.expire_at_ns, EXPIRE, until_ns, out);
        self.requeue_returned(at);
    }

    /// A request is over; its batches have ended or are queued again.
    fn end_request(&mut self, token: u32, mut batches: Vec<u32>, out: &mut impl Outlet) {
        batches.clear();
        self.request_batches[token as usize] = batches;
        self.free_tokens.push(token);
        self.fill_waiting(out);
    }

    /// Ends the records of a batch in flight.
    fn end_in_flight(&mut self, batch: u32, end: Completion<'_>, out: &mut impl Outlet) {
        let at = self.batch_pool.slot(batch).partition as usize;
        self.partitions[at].batch_returned();
        self.end_batch(batch, end, out);
        self.requeue_returned(at);
    }

    /// Ends the records of a batch.
    pub(super) fn end_batch(&mut self, batch: u32, end: Completion<'_>, out: &mut impl Outlet) {
        let slot = self.batch_pool.slot_mut(batch);
        let done = Completion {
            sent_ns: slot.sent_ns,
            waited: slot.blocked,
            ..end
        };
        for &(ticket, count) in &slot.pieces {
            out.complete_some(ticket, count, &done);
        }
        if slot.sequence.is_some() {
            self.producer_id.batch_settled();
        }
        self.batch_pool.close(batch);
        self.send_due = true;
    }
}
