//! Puts records into batches: partition, open batch, and records that wait for a free batch.

use tare_kafka::batch::ValuePrefix;
use tare_record::load::Partitioner;

use super::contents::{partition_of, parts};
use super::{EXPIRE, LINGER, Produce};
use tare_load::client::{ExchangeBatch, Outlet, WaitCause};

/// The next partition of a topic, round-robin.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Turn {
    next: usize,
}

impl Produce {
    /// Puts records into batches; those without a free batch wait.
    #[inline]
    pub(super) fn fill(&mut self, mut exchanges: ExchangeBatch, out: &mut impl Outlet) {
        let topic = exchanges.due.request as usize % self.topics.len().max(1);
        let partitions = self.topics[topic].len();
        if partitions == 0 {
            return self.wait(exchanges, WaitCause::Connection, out);
        }
        let uniform = self.plan.contents[topic].is_uniform();
        while exchanges.count > 0 {
            let taken = match (self.plan.spec.partitioner, uniform) {
                (Partitioner::Sticky, true) => {
                    let at = self.turn(topic);
                    self.repeat(at as usize, &exchanges, exchanges.count, out)
                }
                (Partitioner::RoundRobin, true) => {
                    // Each partition gets its share in one go; the remainder goes one by one.
                    let share = (exchanges.count / partitions as u32).max(1);
                    let at = self.turn(topic);
                    self.turns[topic].next += 1;
                    self.repeat(at as usize, &exchanges, share, out)
                }
                (_, false) => self.fill_one(topic, &exchanges, out),
            };
            match taken {
                0 => return self.wait(exchanges, WaitCause::Window, out),
                taken => exchanges.count -= taken,
            }
        }
    }

    /// The partition of the next record without a key: as Java's producer, one that has a leader, if any has.
    #[inline]
    fn turn(&mut self, topic: usize) -> u32 {
        let partitions = &self.topics[topic];
        let next = self.turns[topic].next;
        let led = (next..next + partitions.len()).find(|turn| {
            let at = partitions[turn % partitions.len()];
            self.partitions[at as usize].leader.is_some()
        });
        let turn = led.unwrap_or(next);
        self.turns[topic].next = turn;
        partitions[turn % partitions.len()]
    }

    /// Adds up to `most` equal records to the open batches of a partition; returns how many were added.
    #[inline]
    fn repeat(
        &mut self,
        at: usize,
        exchanges: &ExchangeBatch,
        most: u32,
        out: &mut impl Outlet,
    ) -> u32 {
        let mut done = 0;
        while done < most {
            let Some(batch) = self.open_batch(at, exchanges.released_ns, out) else {
                break;
            };
            let topic = self.partitions[at].topic;
            let timestamp_ms = self.timestamp_ms(exchanges.released_ns);
            let marks = self.marks(topic, at, exchanges.intended_ns);
            let slot = self.batch_pool.slot_mut(batch);
            let taken = slot.batch.repeat(most - done, timestamp_ms, marks);
            if taken > 0 {
                slot.add_records(exchanges.due.ticket, taken);
            }
            self.partitions[at].filled += u64::from(taken);
            done += taken;
            if done < most {
                self.close_open(at);
            }
        }
        done
    }

    /// Adds one record with its own key or value to a batch; returns 0 when none is free.
    fn fill_one(&mut self, topic: usize, exchanges: &ExchangeBatch, out: &mut impl Outlet) -> u32 {
        let partitions = self.topics[topic].len();
        let value = self.selector.value(&self.plan.contents[topic]);
        let key = self.selector.key().map(<[u8]>::to_vec);
        let at = match &key {
            // After its length.
            Some(key) => self.topics[topic][partition_of(&key[1..], partitions)],
            None => {
                let at = self.turn(topic);
                if self.plan.spec.partitioner == Partitioner::RoundRobin {
                    self.turns[topic].next += 1;
                }
                at
            }
        };
        let at = at as usize;
        let timestamp_ms = self.timestamp_ms(exchanges.released_ns);
        for _ in 0..2 {
            let Some(batch) = self.open_batch(at, exchanges.released_ns, out) else {
                return 0;
            };
            let marks = self.marks(topic, at, exchanges.intended_ns);
            let slot = self.batch_pool.slot_mut(batch);
            let contents = &self.plan.contents[topic];
            let parts = parts(contents, value, key.as_deref());
            if slot.batch.push(&parts, timestamp_ms) {
                let (from_end, bytes) = contents.place_of(value);
                slot.batch.mark(from_end, bytes, marks);
                slot.add_records(exchanges.due.ticket, 1);
                self.partitions[at].filled += 1;
                return 1;
            }
            self.close_open(at);
        }
        0
    }

    /// Send timestamp and serial of the values that go next into a partition.
    #[inline]
    fn marks(&self, topic: usize, at: usize, intended_ns: u64) -> ValuePrefix {
        let filled = self.partitions[at].filled;
        ValuePrefix {
            stamp: self.plan.contents[topic].stamp(intended_ns),
            serial: self.serials.map(|serials| serials.write(filled)),
        }
    }

    #[inline]
    fn timestamp_ms(&self, now_ns: u64) -> i64 {
        ((i128::from(now_ns) + self.plan.epoch_offset_ns) / 1_000_000) as i64
    }

    /// The open batch of a partition, or a new one; `None` when all are in use.
    #[inline]
    fn open_batch(&mut self, at: usize, now_ns: u64, out: &mut impl Outlet) -> Option<u32> {
        let partition = &mut self.partitions[at];
        if let Some(batch) = partition.open {
            return Some(batch);
        }
        let topic = partition.topic;
        let batch = self
            .batch_pool
            .open(topic, at as u32, self.next_order, now_ns)?;
        self.next_order += 1;
        partition.open = Some(batch);
        self.batch_pool.slot_mut(batch).first = partition.filled;
        if self.plan.spec.linger_ns == 0 {
            self.send_due = true;
        } else {
            let at_ns = now_ns.saturating_add(self.plan.spec.linger_ns);
            Self::timer_by(&mut self.linger_at_ns, LINGER, at_ns, out);
        }
        Some(batch)
    }

    /// Closes the open batch of a partition and queues it; the sticky partitioner moves on.
    pub(super) fn close_open(&mut self, at: usize) {
        let partition = &mut self.partitions[at];
        let Some(batch) = partition.open.take() else {
            return;
        };
        partition.queue.push_back(batch);
        self.send_due = true;
        let topic = partition.topic;
        let turn = &mut self.turns[topic];
        let partitions = &self.topics[topic];
        if self.plan.spec.partitioner == Partitioner::Sticky
            && partitions[turn.next % partitions.len()] as usize == at
        {
            turn.next += 1;
        }
    }

    /// Closes batches that have lingered.
    pub(super) fn lingered(&mut self, out: &mut impl Outlet) {
        let now_ns = out.now_ns();
        self.linger_at_ns = tare_load::arrivals::NEVER;
        for at in 0..self.partitions.len() {
            let Some(batch) = self.partitions[at].open else {
                continue;
            };
            let until_ns = self
                .batch_pool
                .slot(batch)
                .opened_ns
                .saturating_add(self.plan.spec.linger_ns);
            if until_ns <= now_ns {
                self.close_open(at);
            } else {
                Self::timer_by(&mut self.linger_at_ns, LINGER, until_ns, out);
            }
        }
    }

    /// Queues records that wait for a free batch.
    pub(super) fn wait(
        &mut self,
        exchanges: ExchangeBatch,
        cause: WaitCause,
        out: &mut impl Outlet,
    ) {
        let until_ns = exchanges.released_ns.saturating_add(self.plan.timeout_ns);
        Self::timer_by(&mut self.expire_at_ns, EXPIRE, until_ns, out);
        self.waiting.push_back((exchanges, cause));
    }

    /// Puts waiting records into batches, as far as some are free.
    pub(super) fn fill_waiting(&mut self, out: &mut impl Outlet) {
        for _ in 0..self.waiting.len() {
            let Some((exchanges, cause)) = self.waiting.pop_front() else {
                return;
            };
            let before = self.waiting.len();
            self.fill(exchanges, out);
            if self.waiting.len() > before {
                // No batch for some of them: they keep their place.
                if let Some((left, _)) = self.waiting.pop_back() {
                    self.waiting.push_front((left, cause));
                }
                return;
            }
        }
    }
}
