//! Produces to Kafka as fast as it can, or at a rate: `produce BROKER:PORT[,…] TOPIC RECORDS BYTES ACKS [BATCH_BYTES [LINGER_US [RATE]]]`.
//! Prints what it cost and how it went: the smallest program around the producer, to profile.
#![allow(
    clippy::print_stdout,
    reason = "an example says what it found on its standard output"
)]

use std::error::Error;
use std::ops::ControlFlow;

use tare_load::StopHandle;
use tare_record::FORMAT_VERSION;
use tare_record::load::{
    Acks, AddressPolicy, Body, ClientSpec, ConnectionRules, Cores, Endpoint, Expect, ExpectBody,
    ExpectStatus, LoadPlan, LoadSpec, Mix, Pacing, ProduceSpec, RequestSpec, Sched, Spin, Stop,
    Transport,
};

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [brokers, topic, records, bytes, acks, rest @ ..] = words.as_slice() else {
        return Err(
            "usage: produce BROKERS TOPIC RECORDS BYTES ACKS [BATCH_BYTES [LINGER_US [RATE]]]"
                .into(),
        );
    };
    let addresses = brokers.split(',').map(str::parse);
    let mut produce = ProduceSpec::default();
    if acks == "1" {
        (produce.acks, produce.idempotence) = (Acks::Leader, false);
    }
    if let Some(batch) = rest.first() {
        produce.batch_bytes = batch.parse()?;
    }
    if let Some(linger) = rest.get(1) {
        produce.linger_ns = linger.parse::<u64>()? * 1000;
    }
    let pacing = match rest.get(2) {
        Some(rate) => Pacing::Constant {
            rate_per_s: rate.parse()?,
        },
        None => Pacing::Max,
    };
    let plan = LoadPlan {
        version: FORMAT_VERSION,
        role: "client".into(),
        start_at_unix_us: None,
        start_lead_ns: None,
        seed: 1,
        endpoint: Endpoint {
            addresses: addresses.collect::<Result<_, _>>()?,
            host: "localhost".into(),
        },
        allowed_addresses: AddressPolicy::Private,
        address_overrides: Vec::new(),
        cores: Cores::Shared,
        cpu_per_exchange_ns: None,
        load: LoadSpec {
            pacing,
            stop: Stop::Count {
                exchanges: records.parse()?,
            },
            warmup_ns: 0,
            timeout_ns: 30_000_000_000,
            workers: 1,
            spin: Spin::Bounded,
            sched: Sched::Auto,
            sample_every_ns: 1_000_000_000,
            transport: Transport::Tcp,
            client: ClientSpec::with(1, &produce),
            connections: ConnectionRules::default(),
            requests: vec![RequestSpec {
                name: "records".into(),
                weight: 1.0,
                method: "PRODUCE".into(),
                path: topic.clone(),
                headers: Vec::new(),
                body: Body::Filler {
                    bytes: bytes.parse()?,
                },
                expect: Expect {
                    status: ExpectStatus::Any,
                    body: ExpectBody::Any,
                },
                template: Default::default(),
            }],
            mix: Mix::default(),
        },
    };
    let found = tare_load::run(
        &plan,
        &StopHandle::new(),
        &mut |_| ControlFlow::Continue(()),
    )?;
    let result = &found.result;
    let seconds = result.window_ns as f64 / 1e9;
    println!(
        "{} ok, {} failed, {:.0} records/s, {:.3} s",
        result.ok,
        result.errors,
        result.ok as f64 / seconds,
        seconds
    );
    if let Some(latency) = found.latency() {
        println!(
            "latency p50 {:?} p99 {:?}",
            latency.quantile(0.5),
            latency.quantile(0.99)
        );
    }
    for outcome in &result.outcomes {
        println!(
            "{} × {}: {:?}",
            outcome.count, outcome.class, outcome.example
        );
    }
    println!("{:?}", result.protocol_counts);
    println!(
        "lateness p99 {:?}",
        found.lateness().map(|one| one.quantile(0.99))
    );
    Ok(())
}
