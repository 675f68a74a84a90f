//! `--end-to-end`: a producer that puts the time into its records, and a consumer that reads them at once, on one clock.

use std::ops::ControlFlow;
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::bail;
use tare_load::{LoadError, Outcome, Progress, StopHandle};
use tare_report::quantity;
use tare_schema::agent::Sample;
use tare_schema::load::{
    Body, ClientSpec, FetchDepth, FetchFrom, FetchUntil, LoadPlan, Mix, Pacing, Payloads, Stop,
};
use tare_schema::metric::Unit;
use tare_stats::{Latencies, Quantile};

use super::args::Args;
use super::judgement::Judgement;
use super::plan::{self, Wanted};
use super::summary::{Rate, Summary};
use super::{measure, output, throughput};
use crate::exit::{Exit, bad_input};
use crate::screen;

/// Bytes of a value that the time takes.
const STAMP_BYTES: u64 = 8;

/// The quantiles that are told.
const TOLD: [(&str, f64); 6] = [
    ("p50", 0.5),
    ("p75", 0.75),
    ("p90", 0.9),
    ("p99", 0.99),
    ("p99.9", 0.999),
    ("p99.99", 0.9999),
];

/// Runs both sides.
pub fn run(
    args: &Args,
    wanted: &Wanted,
    files: output::Files,
    stop: &StopHandle,
) -> anyhow::Result<ExitCode> {
    let run = run_number();
    let mut producing = wanted.clone();
    let topic = stamped(&mut producing.plan, run).map_err(bad_input)?;
    let consumer = consumer(args, &producing.plan, &topic, run).map_err(bad_input)?;
    let both = match both(args, &producing, &consumer, stop) {
        Ok(both) => both,
        Err(error @ (LoadError::NoConnection { .. } | LoadError::Refused(_))) => {
            screen::say(format_args!("error: {error}"));
            return Ok(Exit::NoVerdict.into());
        }
        Err(error @ (LoadError::Plan(_) | LoadError::Tls(_) | LoadError::Descriptors { .. })) => {
            return Err(bad_input(error));
        }
        Err(error) => return Err(error.into()),
    };
    files.write(&consumer, &topic, &both.read, &both.read_samples)?;
    let rate = Rate::new(&producing.plan.load.pacing, &both.written.result);
    let judgement = Judgement::new(&both.written, rate, producing.plan.load.sched);
    let summary = Summary {
        words: &producing.words,
        rate,
        judgement: &judgement,
        assertions: &[],
    };
    let ages = both.read.sum(|tag| tag.quantity == "end-to-end");
    if args.output.json {
        screen::print_json(&json(&summary, &producing.plan, &both, ages.as_ref()))?;
    } else {
        let screen = screen::screen(&console::Term::stdout());
        screen::print_raw(&summary.text(&both.written, screen))?;
        for words in [
            throughput::words(&producing.plan.load, &both.written.result),
            throughput::words(&consumer.load, &both.read.result),
            Some(text(&both, ages.as_ref())),
        ] {
            screen::print(&format!("{}\n", words.unwrap_or_default()))?;
        }
    }
    let mut sides = [&both.written.result, &both.read.result].into_iter();
    if let Some(why) = sides.find_map(|result| result.broke_off.as_ref()) {
        screen::say(format_args!("error: the load broke off: {why}"));
        return Ok(Exit::NoVerdict.into());
    }
    Ok(match (both.missing(), ages) {
        (_, None) => Exit::NoVerdict.into(),
        (1.., _) => {
            screen::say(format_args!(
                "error: {} records were taken by the brokers and did not arrive",
                both.missing()
            ));
            Exit::NoVerdict.into()
        }
        (0, _) => Exit::Done.into(),
    })
}

/// What both sides left.
struct Both {
    written: Outcome,
    read: Outcome,
    read_samples: Vec<Sample>,
}

impl Both {
    /// Records that the brokers took.
    fn taken(&self) -> u64 {
        taken(&self.written)
    }

    /// Records of this run that arrived.
    fn arrived(&self) -> u64 {
        self.read.result.records.map_or(0, |records| records.total)
    }

    fn missing(&self) -> u64 {
        self.taken().saturating_sub(self.arrived())
    }
}

fn taken(written: &Outcome) -> u64 {
    written
        .result
        .by_request
        .values()
        .map(|one| one.right)
        .sum()
}

/// A number that no run on this machine had lately.
fn run_number() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let now_ns = since.map_or(0, |since| since.as_nanos() as u64);
    now_ns ^ (u64::from(std::process::id()) << 40)
}

/// Has the producer put times into its records; the topic.
fn stamped(plan: &mut LoadPlan, run: u64) -> anyhow::Result<String> {
    let [request] = plan.load.requests.as_slice() else {
        bail!("one topic a load: leave out the file of requests");
    };
    let ClientSpec::KafkaProduce { produce, .. } = &mut plan.load.client else {
        bail!("--end-to-end is for Kafka: write kafka://host:port/topic");
    };
    let bytes = match (&produce.payloads, &request.body) {
        (Payloads::Drawn { bytes, .. }, _) => u64::from(*bytes),
        (Payloads::Body, Body::Filler { bytes }) => *bytes,
        (Payloads::Body, Body::Text { text }) => text.len() as u64,
        _ => STAMP_BYTES,
    };
    if bytes < STAMP_BYTES {
        bail!(
            "the time in a record takes {STAMP_BYTES} bytes of its value: use --payload {STAMP_BYTES}B or more"
        );
    }
    produce.stamps_of_run = Some(run);
    Ok(request.path.trim_start_matches('/').to_owned())
}

/// The other side: from the end of the topic, all records of the run.
fn consumer(args: &Args, producer: &LoadPlan, topic: &str, run: u64) -> anyhow::Result<LoadPlan> {
    let mut fetch = plan::consumer_of(args, topic)?;
    fetch.from = FetchFrom::End;
    fetch.depth = FetchDepth::Stamps { run };
    fetch.until = FetchUntil::default();
    let mut consumer = producer.clone();
    consumer.role = "consumer".into();
    let load = &mut consumer.load;
    load.pacing = Pacing::Max;
    load.stop = Stop::Interrupted;
    load.warmup_ns = 0;
    load.mix = Mix::default();
    for request in &mut load.requests {
        request.name = "fetch".into();
        request.body = Body::None;
        request.headers.clear();
    }
    load.client = ClientSpec::KafkaFetch {
        connections: load.workers,
        fetch: Box::new(fetch),
    };
    Ok(consumer)
}

/// Starts the consumer, then the producer, and ends the consumer when everything has arrived or nothing more comes.
fn both(
    args: &Args,
    producing: &Wanted,
    consumer: &LoadPlan,
    stop: &StopHandle,
) -> Result<Both, LoadError> {
    let stop_reading = StopHandle::new();
    let order = &stop_reading;
    thread::scope(|scope| {
        let (tell, told) = channel();
        let reading = thread::Builder::new()
            .name("consumer".into())
            .spawn_scoped(scope, move || read(consumer, order, &tell));
        let reading = reading.map_err(|source| LoadError::System {
            what: "start a thread for the consumer",
            source,
        })?;
        let mut written = Err(LoadError::Worker("the consumer did not start".into()));
        let mut arrived = 0;
        if let Ok(Told::Ready) = told.recv() {
            written = measure(args, producing, stop).map(|(written, _)| written);
            if let Ok(written) = &written {
                wait(
                    &told,
                    taken(written),
                    &mut arrived,
                    consumer.load.timeout_ns,
                );
            }
        }
        order.end();
        // What is still told is of no use; without a reader, the other side is not held up.
        drop(told);
        let read = reading.join();
        let (read, read_samples) =
            read.unwrap_or_else(|_| Err(LoadError::Worker("it panicked".into())))?;
        Ok(Both {
            written: written?,
            read,
            read_samples,
        })
    })
}

/// What the consumer tells.
enum Told {
    Ready,
    Arrived(u64),
}

fn read(
    plan: &LoadPlan,
    stop: &StopHandle,
    tell: &Sender<Told>,
) -> Result<(Outcome, Vec<Sample>), LoadError> {
    let mut samples = Vec::new();
    let outcome = tare_load::run(plan, stop, &mut |progress| {
        // Fails only when nobody waits for it any more.
        let _ = tell.send(match progress {
            Progress::Ready { .. } => Told::Ready,
            Progress::Sample(sample) => {
                samples.push(sample);
                Told::Arrived(sample.records.map_or(0, |records| records.count))
            }
        });
        ControlFlow::Continue(())
    })?;
    Ok((outcome, samples))
}

/// Waits until so many records have arrived, or for as long as one may take.
fn wait(told: &Receiver<Told>, taken: u64, arrived: &mut u64, timeout_ns: u64) {
    // A sample comes every second.
    let samples_max = timeout_ns.div_ceil(1_000_000_000) + 1;
    let mut samples = 0;
    while let Ok(Told::Arrived(count)) = told.try_recv() {
        *arrived += count;
    }
    while *arrived < taken && samples < samples_max {
        match told.recv_timeout(Duration::from_secs(2)) {
            Ok(Told::Arrived(count)) => *arrived += count,
            Ok(Told::Ready) => {}
            Err(_) => return,
        }
        samples += 1;
    }
}

fn ns(quantile: Quantile) -> String {
    let value = |ns: u64| quantity::value(Unit::Nanoseconds, ns as f64);
    match quantile {
        Quantile::Exact(ns) => value(ns),
        Quantile::Above(ns) => format!("> {}", value(ns)),
        Quantile::TooFew => quantity::MISSING.to_owned(),
    }
}

fn text(both: &Both, ages: Option<&Latencies>) -> String {
    let count = |name: &str| both.read.result.protocol_counts.get(name).copied();
    let mut lines = vec![String::new()];
    let ladder = ages.map_or_else(
        || quantity::MISSING.to_owned(),
        |ages| {
            let each = TOLD
                .iter()
                .map(|&(name, q)| format!("{name} {}", ns(ages.quantile(q))));
            let mut all: Vec<String> = each.collect();
            all.push(format!(
                "max {}",
                ages.max().map_or_else(|| quantity::MISSING.to_owned(), ns)
            ));
            all.join("  ")
        },
    );
    lines.push(format!("end to end   {ladder}"));
    lines.push(format!(
        "records      {} taken by the brokers, {} arrived, {} missing, {} of others",
        both.taken(),
        both.arrived(),
        both.missing(),
        count("records-of-others").unwrap_or(0)
    ));
    lines.join("\n")
}

fn json(
    summary: &Summary<'_>,
    plan: &LoadPlan,
    both: &Both,
    ages: Option<&Latencies>,
) -> serde_json::Value {
    let value = |quantile: Quantile| match quantile {
        Quantile::Exact(ns) => Some(ns),
        Quantile::Above(_) | Quantile::TooFew => None,
    };
    let quantiles: serde_json::Map<String, serde_json::Value> = ages
        .into_iter()
        .flat_map(|ages| {
            TOLD.iter()
                .map(|&(name, q)| (name.to_owned(), value(ages.quantile(q)).into()))
        })
        .collect();
    let mut read = both.read.result.clone();
    read.latency_hlog.clear();
    read.lateness_hlog.clear();
    serde_json::json!({
        "producer": output::json_report(summary, plan, &both.written, Vec::new()),
        "consumer": read,
        "consumer_samples": both.read_samples,
        "end_to_end_ns": {
            "count": ages.map_or(0, Latencies::count),
            "quantiles": quantiles,
            "max": ages.and_then(Latencies::max).and_then(value),
        },
        "taken": both.taken(),
        "arrived": both.arrived(),
        "missing": both.missing(),
    })
}
