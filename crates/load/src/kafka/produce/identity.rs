//! The number by which brokers know a producer, so that they take each of its batches once.

use tare_kafka::batch::Producer;
use tare_kafka::bytes::Bytes;
use tare_kafka::frame;
use tare_kafka::kafka_protocol::messages::{InitProducerIdRequest, ProducerId};

use super::{AGAIN, Idempotence, Produce};
use crate::client::Outlet;
use crate::kafka::cluster::Answer;
use crate::kafka::errors::{Code, Remedy};

/// The word for a question for the number, where the others are numbers of requests.
pub(super) const IDENTITY: u32 = u32::MAX;

/// Pause before the question is asked again.
const PAUSE_NS: u64 = 100_000_000;

/// Who we are to the brokers.
#[derive(Debug)]
pub(super) struct Identity {
    idempotence: Idempotence,
    producer: Option<(i64, i16)>,
    asking: bool,
    next_ns: u64,
    /// Batches that have been sent under a number and are not settled. A new number is asked for when there are none.
    unsettled: u32,
    problem: Option<String>,
    asked_before: bool,
}

impl Identity {
    pub fn new(idempotence: Idempotence) -> Self {
        Self {
            idempotence,
            producer: None,
            asking: false,
            next_ns: 0,
            unsettled: 0,
            problem: None,
            asked_before: false,
        }
    }

    /// Whether batches can be sent that were not sent before.
    #[inline]
    pub fn is_known(&self) -> bool {
        self.idempotence == Idempotence::Off || self.producer.is_some()
    }

    pub fn is_idempotent(&self) -> bool {
        self.idempotence == Idempotence::On
    }

    pub fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    /// Whose a batch is that begins with this record of its partition, from now on under way.
    pub fn sign(&mut self, sequence: i32) -> Producer {
        match (self.idempotence, self.producer) {
            (Idempotence::On, Some((id, epoch))) => {
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

    /// A signed batch is over, or will be signed again.
    pub fn settled(&mut self) {
        self.unsettled = self.unsettled.saturating_sub(1);
    }

    /// The number cannot be used any more: something sent under it was given up.
    pub fn renew(&mut self) {
        self.producer = None;
    }
}

impl Produce {
    /// Asks for a number, if one is wanted and can be asked for now.
    pub(super) fn identify(&mut self, out: &mut impl Outlet) {
        let identity = &mut self.identity;
        if identity.is_known() || identity.asking || identity.unsettled > 0 {
            return;
        }
        let now_ns = out.now_ns();
        if now_ns < identity.next_ns {
            let at_ns = identity.next_ns;
            return Self::timer_by(&mut self.again_at_ns, AGAIN, at_ns, out);
        }
        let Some(broker) = self.cluster.any_usable() else {
            return;
        };
        let request = InitProducerIdRequest::default()
            .with_transactional_id(None)
            .with_producer_id(ProducerId(-1))
            .with_producer_epoch(-1);
        let limit_ns = self.plan.cluster.request_timeout_ns;
        match self.cluster.send(broker, IDENTITY, &request, limit_ns, out) {
            Ok(()) => {
                let identity = &mut self.identity;
                identity.asking = true;
                self.counts.renewals += u64::from(identity.asked_before);
                identity.asked_before = true;
            }
            Err(error) => self.identity.problem = Some(error.to_string()),
        }
    }

    /// A broker answered with a number.
    pub(super) fn identified(&mut self, answer: Answer<'_>, out: &mut impl Outlet) {
        self.identity.asking = false;
        let broker = answer.broker;
        let bytes = Bytes::copy_from_slice(&answer.frame);
        self.cluster.give_back(broker, answer.frame);
        let told = match frame::read::<InitProducerIdRequest>(bytes, answer.version) {
            Ok(told) => told,
            Err(error) => return self.cluster.distrust(broker, &error, out),
        };
        let code = Code(told.error_code);
        if !code.is_error() {
            self.identity.producer = Some((told.producer_id.0, told.producer_epoch));
            for partition in &mut self.partitions {
                partition.sequence = 0;
            }
            self.stirred = true;
            return;
        }
        if code.remedy() == Remedy::GiveUp {
            let name = self.cluster.name(broker);
            self.identity.problem = Some(format!(
                "{name} gives no number to an idempotent producer: {code}, or use --idempotence off"
            ));
        }
        self.not_identified(out);
    }

    /// The question was not answered.
    pub(super) fn not_identified(&mut self, out: &mut impl Outlet) {
        self.identity.asking = false;
        self.identity.next_ns = out.now_ns().saturating_add(PAUSE_NS);
        let at_ns = self.identity.next_ns;
        Self::timer_by(&mut self.again_at_ns, AGAIN, at_ns, out);
    }
}
