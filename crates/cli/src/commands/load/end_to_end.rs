//! `--end-to-end`: a producer that writes the time into its records, and a consumer in the same process that reads them at once.

use std::ops::ControlFlow;
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::bail;
use tare_load::{LoadError, LoadOutcome, LoadProgress, StopHandle};
use tare_record::agent::Sample;
use tare_record::event::LoadEvent;
use tare_record::load::{
    Body, ClientSpec, FetchDecode, FetchFrom, FetchUntil, LoadPlan, Mix, Pacing, Payloads,
    ProduceSpec, Stop,
};
use tare_stats::Latencies;

use super::args::Args;
use super::generator_check::GeneratorCheck;
use super::plan::{self, ResolvedLoad};
use super::profiles::Profiles;
use super::summary::{LoadRate, Summary};
use super::{classify_load_error, measure, output, throughput, was_cut};
use crate::exit::{Exit, bad_input};
use crate::json_output::JsonOutput;
use crate::screen;
use crate::values::{exact, largest, maybe, quantile};

/// Bytes of the timestamp in a record's value.
const STAMP_BYTES: u64 = 8;

/// The quantiles in text and JSON.
const QUANTILES: [(&str, f64); 6] = [
    ("p50", 0.5),
    ("p75", 0.75),
    ("p90", 0.9),
    ("p99", 0.99),
    ("p99.9", 0.999),
    ("p99.99", 0.9999),
];

/// Runs producer and consumer, and prints the result.
pub fn run(
    args: &Args,
    resolved: &ResolvedLoad,
    files: output::Files,
    stop: &StopHandle,
) -> anyhow::Result<ExitCode> {
    let run = run_number();
    let mut producing = resolved.clone();
    let topic = add_timestamps(&mut producing.plan, run).map_err(bad_input)?;
    let consumer = consumer(args, &producing.plan, &topic, run).map_err(bad_input)?;
    let both = both(args, &producing, &consumer, stop).map_err(classify_load_error)?;
    files.write(&consumer, &topic, &both.read, &both.read_samples)?;
    let rate = LoadRate::new(&producing.plan.load.pacing, &both.written.result);
    let generator_check = GeneratorCheck::new(&both.written, rate, producing.plan.load.sched);
    let summary = Summary {
        words: &producing.words,
        rate,
        generator_check: &generator_check,
        assertions: &[],
        profiled: &[],
    };
    let end_to_end = both.read.sum(|tag| tag.quantity == "end-to-end");
    let report = || json(&summary, &producing.plan, &both, end_to_end.as_ref());
    match args.output.form() {
        JsonOutput::Document => screen::print_json(&report())?,
        JsonOutput::Lines => {
            // That nobody reads it changes nothing any more.
            let fields = report().as_object().cloned().unwrap_or_default();
            let _ = screen::print_event(&LoadEvent::EndToEndResult(fields));
        }
        JsonOutput::No if args.output.printed_files() > 0 => summary.say_warnings(),
        JsonOutput::No => {
            let screen = screen::screen(&console::Term::stdout());
            screen::print_raw(&summary.text(&both.written, screen))?;
            for words in [
                throughput::words(&producing.plan.load, &both.written.result),
                throughput::words(&consumer.load, &both.read.result),
                Some(text(&both, end_to_end.as_ref())),
            ] {
                screen::print(&format!("{}\n", words.unwrap_or_default()))?;
            }
        }
    }
    let mut sides = [&both.written.result, &both.read.result].into_iter();
    if let Some(why) = sides.find_map(|result| result.abort_reason.as_ref()) {
        screen::say(format_args!("error: the load was aborted: {why}"));
        let exit = end_to_end.map_or(Exit::NothingMeasured, |_| Exit::Failed);
        return Ok(exit.into());
    }
    if was_cut(&producing.plan, &both.written.result) {
        return Ok(Exit::of_cut(stop.signal()).into());
    }
    Ok(match (both.missing(), end_to_end) {
        (_, None) => Exit::NothingMeasured.into(),
        (1.., _) => {
            screen::say(format_args!(
                "error: {} records were acknowledged and not received",
                both.missing()
            ));
            Exit::Failed.into()
        }
        (0, _) => Exit::Done.into(),
    })
}

/// The outcomes of producer and consumer.
struct BothSides {
    written: LoadOutcome,
    read: LoadOutcome,
    read_samples: Vec<Sample>,
}

impl BothSides {
    /// Records that the brokers acknowledged.
    fn acknowledged(&self) -> u64 {
        acknowledged(&self.written)
    }

    /// Records of this run that the consumer received.
    fn received(&self) -> u64 {
        self.read.result.records.map_or(0, |records| records.total)
    }

    fn missing(&self) -> u64 {
        self.acknowledged().saturating_sub(self.received())
    }
}

fn acknowledged(written: &LoadOutcome) -> u64 {
    written.result.by_request.values().map(|one| one.ok).sum()
}

/// A number that identifies the records of this run.
fn run_number() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let now_ns = since.map_or(0, |since| since.as_nanos() as u64);
    now_ns ^ (u64::from(std::process::id()) << 40)
}

/// Makes the producer write timestamps into its records; returns the topic.
fn add_timestamps(plan: &mut LoadPlan, run: u64) -> anyhow::Result<String> {
    let [request] = plan.load.requests.as_slice() else {
        bail!("one topic a load: leave out the file of requests");
    };
    let Some(mut produce) = plan.load.client.get::<ProduceSpec>() else {
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
    let topic = request.path.trim_start_matches('/').to_owned();
    produce.timestamp_run = Some(run);
    plan.load.client.set(&produce);
    Ok(topic)
}

/// The consumer's plan: from the end of the topic, all records of the run.
fn consumer(args: &Args, producer: &LoadPlan, topic: &str, run: u64) -> anyhow::Result<LoadPlan> {
    let mut fetch = plan::fetch_spec(args, topic)?;
    fetch.from = FetchFrom::End;
    fetch.decode = FetchDecode::Timestamps { run };
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
    load.client = ClientSpec::with(load.workers, &fetch);
    Ok(consumer)
}

/// Runs the consumer, then the producer; ends the consumer when it has received all records or after a timeout.
fn both(
    args: &Args,
    producing: &ResolvedLoad,
    consumer: &LoadPlan,
    stop: &StopHandle,
) -> Result<BothSides, LoadError> {
    let stop_reading = StopHandle::new();
    let stop_consumer = &stop_reading;
    thread::scope(|scope| {
        let (event_sender, events) = channel();
        let reading = thread::Builder::new()
            .name("consumer".into())
            .spawn_scoped(scope, move || read(consumer, stop_consumer, &event_sender));
        let reading = reading.map_err(|source| LoadError::System {
            what: "start a thread for the consumer",
            source,
        })?;
        let mut written = Err(LoadError::Worker("the consumer did not start".into()));
        let mut received = 0;
        if let Ok(ConsumerEvent::Ready) = events.recv() {
            written = measure(args, producing, stop, None, &mut Profiles::default())
                .map(|(written, _)| written);
            if let Ok(written) = &written {
                wait(
                    &events,
                    acknowledged(written),
                    &mut received,
                    consumer.load.timeout_ns,
                );
            }
        }
        stop_consumer.end();
        // Further events are not needed; sending fails from now on, and does not block.
        drop(events);
        let read = reading.join();
        let (read, read_samples) =
            read.unwrap_or_else(|_| Err(LoadError::Worker("it panicked".into())))?;
        Ok(BothSides {
            written: written?,
            read,
            read_samples,
        })
    })
}

/// Messages of the consumer's thread.
enum ConsumerEvent {
    Ready,
    Received(u64),
}

fn read(
    plan: &LoadPlan,
    stop: &StopHandle,
    event_sender: &Sender<ConsumerEvent>,
) -> Result<(LoadOutcome, Vec<Sample>), LoadError> {
    let mut samples = Vec::new();
    let outcome = tare_load::run(plan, stop, &mut |progress| {
        // Fails when the receiver has been dropped: then the events are not needed.
        let _ = event_sender.send(match progress {
            LoadProgress::Ready { .. } => ConsumerEvent::Ready,
            LoadProgress::Sample(sample) => {
                samples.push(sample);
                ConsumerEvent::Received(sample.records.map_or(0, |records| records.count))
            }
        });
        ControlFlow::Continue(())
    })?;
    Ok((outcome, samples))
}

/// Waits until the consumer has received the acknowledged records, or for the timeout of an exchange.
fn wait(events: &Receiver<ConsumerEvent>, acknowledged: u64, received: &mut u64, timeout_ns: u64) {
    // There is one sample per second.
    let samples_max = timeout_ns.div_ceil(1_000_000_000) + 1;
    let mut samples = 0;
    while let Ok(ConsumerEvent::Received(count)) = events.try_recv() {
        *received += count;
    }
    while *received < acknowledged && samples < samples_max {
        match events.recv_timeout(Duration::from_secs(2)) {
            Ok(ConsumerEvent::Received(count)) => *received += count,
            Ok(ConsumerEvent::Ready) => {}
            Err(_) => return,
        }
        samples += 1;
    }
}

fn text(both: &BothSides, end_to_end: Option<&Latencies>) -> String {
    let count = |name: &str| both.read.result.protocol_counts.get(name).copied();
    let percentiles = end_to_end.map(|end_to_end| {
        let all = QUANTILES.iter();
        let mut all: Vec<String> = all
            .map(|&(name, q)| format!("{name} {}", quantile(end_to_end.quantile(q))))
            .collect();
        all.push(format!("max {}", largest(end_to_end)));
        all.join("  ")
    });
    format!(
        "\nend to end   {}\nrecords      {} acknowledged, {} received, {} missing, {} unrelated",
        maybe(percentiles),
        both.acknowledged(),
        both.received(),
        both.missing(),
        count("records-of-other-runs").unwrap_or(0)
    )
}

fn json(
    summary: &Summary<'_>,
    plan: &LoadPlan,
    both: &BothSides,
    end_to_end: Option<&Latencies>,
) -> serde_json::Value {
    let quantiles: serde_json::Map<String, serde_json::Value> = end_to_end
        .into_iter()
        .flat_map(|end_to_end| {
            QUANTILES
                .iter()
                .map(|&(name, q)| (name.to_owned(), exact(end_to_end.quantile(q)).into()))
        })
        .collect();
    let mut read = both.read.result.clone();
    read.latency_hlog.clear();
    read.lateness_hlog.clear();
    serde_json::json!({
        "producer": output::json_report(summary, plan, &both.written, (Vec::new(), None)),
        "consumer": read,
        "consumer_samples": both.read_samples,
        "end_to_end_ns": {
            "count": end_to_end.map_or(0, Latencies::count),
            "quantiles": quantiles,
            "max": end_to_end.and_then(Latencies::max).and_then(exact),
        },
        "acknowledged": both.acknowledged(),
        "received": both.received(),
        "missing": both.missing(),
    })
}
