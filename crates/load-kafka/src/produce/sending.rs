//! Puts batches into requests: which batches may be sent, to which broker, and in which request.

use tare_kafka::kafka_protocol::messages::ApiKey;
use tare_record::load::{Acks, Codec};

use super::framing::PartitionBatch;
use super::partitions::sequence_after;
use super::{BACKOFF, EXPIRE, Produce};
use crate::cluster::ExpectsResponse;
use tare_load::client::{Outlet, WaitCause};

impl Produce {
    /// Sends ready batches, as far as the limit of requests in flight allows.
    pub(super) fn send_ready(&mut self, out: &mut impl Outlet) {
        self.request_producer_id(out);
        let now_ns = out.now_ns();
        let mut after = None;
        while let Some(broker) = self.next_broker(after, now_ns, out) {
            while self.cluster.in_flight(broker) < usize::from(self.plan.spec.in_flight_max) {
                if !self.choose(broker, now_ns) {
                    break;
                }
                self.send(broker, out);
            }
            after = Some(broker);
        }
    }

    /// The next broker after this one that leads a partition with a batch ready to send.
    fn next_broker(
        &mut self,
        after: Option<u32>,
        now_ns: u64,
        out: &mut impl Outlet,
    ) -> Option<u32> {
        let mut next: Option<u32> = None;
        for at in 0..self.partitions.len() {
            if !self.is_ready(at, now_ns, out) {
                continue;
            }
            let leader = self.partitions[at].leader;
            let usable = leader.filter(|&broker| self.cluster.is_usable(broker));
            let Some(broker) = usable else {
                if after.is_none() {
                    self.block(at, WaitCause::Connection, out);
                }
                continue;
            };
            let muted_until_ns = self.cluster.muted_until_ns(broker);
            if muted_until_ns > now_ns {
                Self::timer_by(&mut self.backoff_at_ns, BACKOFF, muted_until_ns, out);
                if after.is_none() {
                    self.block(at, WaitCause::Quota, out);
                }
                continue;
            }
            if self.cluster.in_flight(broker) >= usize::from(self.plan.spec.in_flight_max) {
                if after.is_none_or(|after| broker > after) {
                    self.block(at, WaitCause::Window, out);
                }
                continue;
            }
            if after.is_none_or(|after| broker > after) && next.is_none_or(|next| broker < next) {
                next = Some(broker);
            }
        }
        next
    }

    /// Whether a partition has a batch to send now.
    #[inline]
    fn is_ready(&mut self, at: usize, now_ns: u64, out: &mut impl Outlet) -> bool {
        let partition = &self.partitions[at];
        let has_closed = !partition.queue.is_empty();
        let has_open = self.plan.spec.linger_ns == 0 && partition.open.is_some();
        if !(has_closed || has_open) || partition.is_held() {
            return false;
        }
        if partition.paused_until_ns > now_ns {
            let at_ns = partition.paused_until_ns;
            Self::timer_by(&mut self.backoff_at_ns, BACKOFF, at_ns, out);
            return false;
        }
        self.can_be_numbered(at)
    }

    /// Whether the first batch of a partition has a sequence or can get one.
    fn can_be_numbered(&self, at: usize) -> bool {
        let front = self.partitions[at].queue.front();
        let has_sequence =
            front.is_some_and(|&batch| self.batch_pool.slot(batch).sequence.is_some());
        has_sequence || self.producer_id.is_known()
    }

    /// Records why the first batch of a partition is not sent, and sets the timer for its timeout.
    fn block(&mut self, at: usize, cause: WaitCause, out: &mut impl Outlet) {
        let partition = &self.partitions[at];
        let Some(batch) = partition.queue.front().copied().or(partition.open) else {
            return;
        };
        let slot = self.batch_pool.slot_mut(batch);
        slot.blocked.get_or_insert(cause);
        let until_ns = slot.opened_ns.saturating_add(self.plan.timeout_ns);
        Self::timer_by(&mut self.expire_at_ns, EXPIRE, until_ns, out);
    }

    /// Chooses the batches of the next request to a broker: one of each partition, also those that could linger longer.
    fn choose(&mut self, broker: u32, now_ns: u64) -> bool {
        self.chosen.clear();
        let count = self.partitions.len();
        let mut bytes = 0;
        let mut due = false;
        for turn in 0..count {
            let at = (self.first_to_send + turn) % count;
            let partition = &self.partitions[at];
            if partition.leader != Some(broker)
                || partition.is_held()
                || partition.paused_until_ns > now_ns
            {
                continue;
            }
            let closed = !partition.queue.is_empty();
            let Some(batch) = partition.queue.front().copied().or(partition.open) else {
                continue;
            };
            if !self.can_be_numbered(at) {
                continue;
            }
            let size = self.batch_pool.slot(batch).batch.size_bytes();
            if bytes > 0 && bytes + size > self.plan.spec.request_bytes_max as usize {
                self.first_to_send = at;
                break;
            }
            due |= closed || self.plan.spec.linger_ns == 0;
            bytes += size;
            self.chosen.push(batch);
        }
        due && !self.chosen.is_empty()
    }

    /// Sends the chosen batches as one request.
    fn send(&mut self, broker: u32, out: &mut impl Outlet) {
        let mut chosen = std::mem::take(&mut self.chosen);
        for &batch in &chosen {
            self.dequeue(batch);
        }
        let topic_of = |produce: &Self, batch: u32| {
            let at = produce.batch_pool.slot(batch).partition as usize;
            produce.partitions[at].topic
        };
        if self.topics.len() > 1 {
            chosen.sort_by_key(|&batch| topic_of(self, batch));
        }
        let version = self.cluster.version(broker, ApiKey::Produce);
        let correlation = self.cluster.correlation(broker);
        let part = |&batch: &u32| {
            let slot = self.batch_pool.slot(batch);
            let partition = &self.partitions[slot.partition as usize];
            PartitionBatch {
                topic: &self.plan.cluster.topics[partition.topic],
                partition: partition.index,
                bytes: slot.batch.sealed_bytes(),
            }
        };
        self.framing.write(
            &mut self.prefixes,
            (version, correlation),
            chosen.iter().map(part),
        );
        for (at, &batch) in chosen.iter().enumerate() {
            let prefix = self.prefixes.of(at);
            let slot = self.batch_pool.slot_mut(batch);
            slot.batch.frame(prefix, &[]);
            slot.prefix_bytes = prefix.len();
        }
        let token = match self.free_tokens.pop() {
            Some(token) => token,
            None => {
                self.request_batches.push(Vec::with_capacity(16));
                (self.request_batches.len() - 1) as u32
            }
        };
        let batches = &mut self.request_batches[token as usize];
        batches.clear();
        batches.extend_from_slice(&chosen);
        let expects_response = match self.plan.spec.acks {
            Acks::None => ExpectsResponse::No,
            Acks::Leader | Acks::All => ExpectsResponse::Yes,
        };
        let request = (token, version, correlation);
        self.cluster
            .send_segments(broker, request, &chosen, expects_response, out);
        self.counts.requests += 1;
        self.chosen = chosen;
    }

    /// Takes a batch from its partition for a request: closed, compressed and sealed.
    fn dequeue(&mut self, batch: u32) {
        let at = self.batch_pool.slot(batch).partition as usize;
        if self.partitions[at].open == Some(batch) {
            self.close_open(at);
        }
        let partition = &mut self.partitions[at];
        partition.queue.pop_front();
        partition.in_flight_batches += 1;
        let slot = self.batch_pool.slot_mut(batch);
        slot.tries += 1;
        self.counts.retries += u64::from(slot.tries > 1);
        if slot.blocked.is_none() && self.plan.spec.linger_ns > 0 {
            slot.blocked = Some(WaitCause::Linger);
        }
        if slot.tries == 1 && self.plan.spec.compression != Codec::None {
            // If compression fails, the batch is sent uncompressed.
            let _ = slot.batch.compress(&mut self.compressor);
        }
        if slot.sequence.is_none() {
            let producer = self.producer_id.register_batch(partition.sequence);
            if producer.sequence >= 0 {
                slot.sequence = Some(producer.sequence);
                partition.sequence = sequence_after(producer.sequence, slot.batch.count());
            }
            // Without a sequence it is sealed once.
            if producer.sequence >= 0 || slot.tries == 1 {
                slot.batch.seal(producer);
            }
        }
        partition.exclusive = slot.tries > 1 || slot.sequence == Some(0);
    }
}
