//! The Kafka producer against malformed input: every record ends once.

use std::sync::Arc;

use crate::script::{ADDRESS, run_script};
use tare_load::protocols::kafka::ClusterPlan;
use tare_load::protocols::kafka::cluster::Security;
use tare_load::protocols::kafka::names::{Found, Resolve};
use tare_load::protocols::kafka::produce::{
    APIS, Acks, Compression, Contents, Idempotence, Keys, Partitioner, Produce, ProducePlan, Random,
};

#[derive(Debug)]
struct Loopback;

impl Resolve for Loopback {
    fn ask(&self, _host: &str) -> Found {
        Found::Address(ADDRESS.ip())
    }
}

/// Runs one input.
pub fn run(data: &[u8]) {
    let Some((&kind, script)) = data.split_first() else {
        return;
    };
    let acks = match kind % 3 {
        0 => Acks::None,
        1 => Acks::Leader,
        _ => Acks::All,
    };
    let plan = ProducePlan {
        cluster: ClusterPlan {
            seeds: Arc::new([ADDRESS]),
            first: 0,
            topics: vec!["t".into()],
            client_id: "fuzz".into(),
            apis: APIS,
            connect_timeout_ns: 100_000,
            request_timeout_ns: 50_000,
            names: Arc::new(Loopback),
            address_overrides: Arc::new([]),
            security: Security::Plain,
            login: None,
        },
        contents: vec![Contents::new(&[vec![7; 20]], &[], Keys::None, None)],
        acks,
        idempotence: if kind % 3 == 2 && kind & 0x80 != 0 {
            Idempotence::On
        } else {
            Idempotence::Off
        },
        linger_ns: u64::from(kind & 0x40) * 100,
        batch_bytes: 200,
        request_bytes_max: 1000,
        in_flight_max: 2,
        serials: Some(tare_kafka::audit::Serials::of(1, 0)),
        compression: (Compression::None, None),
        partitioner: Partitioner::Sticky,
        keys: Keys::None,
        buffer_bytes: 2000,
        timeout_ns: 150_000,
        waiting_max: 100,
        worker: (0, 1),
        random: Random::from_seed(1),
        epoch_offset_ns: 0,
    };
    let Ok(produce) = Produce::new(plan) else {
        return;
    };
    run_script(produce, script);
}
