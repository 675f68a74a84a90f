//! After warm-up, the threads that measure allocate nothing, however many exchanges they make.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot be set up fails"
)]

#[path = "rig/broker.rs"]
mod broker;
#[path = "../../load/tests/rig/counting.rs"]
mod counting;
#[path = "../../load/tests/rig/plan.rs"]
mod rig;

use counting::check;
use rig::plan;
use tare_record::load::{
    ClientSpec, FetchAssignment, FetchDecode, FetchFrom, FetchSpec, FetchUntil, ProduceSpec,
};

#[test]
fn clients_of_kafka_allocate_per_sample_and_not_per_exchange() {
    tare_load_kafka::install();
    for (name, client) in [
        ("kafka-fetch by batches", reading(FetchDecode::Batches)),
        ("kafka-fetch by records", reading(FetchDecode::Records)),
        ("kafka-produce", writing()),
    ] {
        let mut plan = plan(broker::broker());
        plan.load.requests.truncate(1);
        plan.load.requests[0].path = broker::TOPIC.into();
        plan.load.client = client;
        check(name, plan);
    }
}

fn reading(decode: FetchDecode) -> ClientSpec {
    let fetch = FetchSpec {
        topics: vec![broker::TOPIC.into()],
        client_id: "tare".into(),
        in_flight_max: 1,
        assignment: FetchAssignment::Static,
        from: FetchFrom::Start,
        min_bytes: 1,
        max_wait_ms: 500,
        max_bytes: 50 << 20,
        partition_max_bytes: 1 << 20,
        check_crc: true,
        decode,
        until: FetchUntil::default(),
        sasl: None,
        ..FetchSpec::default()
    };
    ClientSpec::with(1, &fetch)
}

fn writing() -> ClientSpec {
    // Few records at a time: the broker of this test is slow.
    let produce = ProduceSpec {
        batch_bytes: 10_000,
        ..ProduceSpec::default()
    };
    ClientSpec::with(1, &produce)
}
