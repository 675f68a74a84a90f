//! The producer id of an idempotent producer, by InitProducerId.

use tare_kafka::batch::Producer;
use tare_kafka::bytes::Bytes;
use tare_kafka::frame;
use tare_kafka::kafka_protocol::messages::{InitProducerIdRequest, ProducerId};

use super::{BACKOFF, Produce};
use crate::RETRY_BACKOFF_NS;
use crate::cluster::BrokerResponse;
use crate::errors::{ErrorCode, RetryAction};
use tare_load::client::Outlet;

/// The token of InitProducerId; those of produce requests are indices.
pub(super) const INIT_PRODUCER_ID: u32 = u32::MAX;

/// Producer id and epoch, and the state of requesting them.
#[derive(Debug)]
pub(super) struct ProducerIdentity {
    is_idempotent: bool,
    id_and_epoch: Option<(i64, i16)>,
    requesting: bool,
    next_ns: u64,
    /// Batches that have a sequence and are not settled. A new producer id is requested when there are none.
    unsettled: u32,
    problem: Option<String>,
    requested_before: bool,
}

impl ProducerIdentity {
    pub fn new(is_idempotent: bool) -> Self {
        Self {
            is_idempotent,
            id_and_epoch: None,
            requesting: false,
            next_ns: 0,
            unsettled: 0,
            problem: None,
            requested_before: false,
        }
    }

    /// Whether batches without a sequence can be sent.
    #[inline]
    pub fn is_known(&self) -> bool {
        !self.is_idempotent || self.id_and_epoch.is_some()
    }

    pub fn is_idempotent(&self) -> bool {
        self.is_idempotent
    }

    pub fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    /// Producer id, epoch and sequence of a batch, which counts as unsettled from now on.
    pub fn register_batch(&mut self, sequence: i32) -> Producer {
        match (self.is_idempotent, self.id_and_epoch) {
            (true, Some((id, epoch))) => {
                self.unsettled += 1;
                Producer {
                    id,
                    epoch,
                    sequence,
                }
            }
            _ => Producer::NONE,
        }
    }

    /// A batch with a sequence has ended, or will get a new one.
    pub fn batch_settled(&mut self) {
        self.unsettled = self.unsettled.saturating_sub(1);
    }

    /// A batch of this producer id failed, or the leader lost its state: a new id is needed.
    pub fn invalidate(&mut self) {
        self.id_and_epoch = None;
    }
}

impl Produce {
    /// Sends InitProducerId, if an id is needed and can be requested now.
    pub(super) fn request_producer_id(&mut self, out: &mut impl Outlet) {
        let producer_id = &mut self.producer_id;
        if producer_id.is_known() || producer_id.requesting || producer_id.unsettled > 0 {
            return;
        }
        let now_ns = out.now_ns();
        if now_ns < producer_id.next_ns {
            let at_ns = producer_id.next_ns;
            return Self::timer_by(&mut self.backoff_at_ns, BACKOFF, at_ns, out);
        }
        let Some(broker) = self.cluster.any_usable() else {
            return;
        };
        let request = InitProducerIdRequest::default()
            .with_transactional_id(None)
            .with_producer_id(ProducerId(-1))
            .with_producer_epoch(-1);
        let limit_ns = self.plan.cluster.request_timeout_ns;
        match self
            .cluster
            .send(broker, INIT_PRODUCER_ID, &request, limit_ns, out)
        {
            Ok(()) => {
                let producer_id = &mut self.producer_id;
                producer_id.requesting = true;
                self.counts.renewals += u64::from(producer_id.requested_before);
                producer_id.requested_before = true;
            }
            Err(error) => self.producer_id.problem = Some(error.to_string()),
        }
    }

    /// Handles the InitProducerId response.
    pub(super) fn on_producer_id(&mut self, answer: BrokerResponse<'_>, out: &mut impl Outlet) {
        self.producer_id.requesting = false;
        let broker = answer.broker;
        let bytes = Bytes::copy_from_slice(&answer.frame);
        self.cluster.recycle(broker, answer.frame);
        let response = match frame::read::<InitProducerIdRequest>(bytes, answer.version) {
            Ok(response) => response,
            Err(error) => return self.cluster.reject(broker, &error, out),
        };
        let code = ErrorCode(response.error_code);
        if !code.is_error() {
            self.producer_id.id_and_epoch = Some((response.producer_id.0, response.producer_epoch));
            for partition in &mut self.partitions {
                partition.sequence = 0;
            }
            self.send_due = true;
            return;
        }
        if code.retry_action() == RetryAction::GiveUp {
            let name = self.cluster.name(broker);
            self.producer_id.problem = Some(format!(
                "{name} refused InitProducerId: {code}, or use --idempotence off"
            ));
        }
        self.retry_producer_id(out);
    }

    /// InitProducerId failed: repeats it after a pause.
    pub(super) fn retry_producer_id(&mut self, out: &mut impl Outlet) {
        self.producer_id.requesting = false;
        self.producer_id.next_ns = out.now_ns().saturating_add(RETRY_BACKOFF_NS);
        let at_ns = self.producer_id.next_ns;
        Self::timer_by(&mut self.backoff_at_ns, BACKOFF, at_ns, out);
    }
}
