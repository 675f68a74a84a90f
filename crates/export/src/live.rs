//! What is measured now: the last events of a run or a load as metrics.

use std::collections::BTreeMap;

use tare_record::agent::Sample;
use tare_record::event::{LoadEvent, RunEvent};

use crate::metrics::{self, Metrics};

/// Metrics of the last events of a run.
pub fn run(to: &mut Metrics, id: &str, events: &[RunEvent]) {
    let mut sources: BTreeMap<&str, (&Sample, u64)> = BTreeMap::new();
    let mut usage = None;
    for event in events {
        match event {
            RunEvent::Sample { at, source, sample } => {
                sources.insert(source, (sample, at.left_ns));
            }
            RunEvent::Usage { .. } => usage = Some(event),
            _ => {}
        }
    }
    for (source, (of_source, left_ns)) in sources {
        sample(to, &[("run", id), ("source", source)], of_source);
        to.set(&metrics::RUN_LEFT, &[("run", id)], left_ns as f64 / 1e9);
    }
    let Some(RunEvent::Usage {
        length_ns,
        parts,
        background_cpu_ns,
        ..
    }) = usage
    else {
        return;
    };
    let cores = |cpu_ns: u64| cpu_ns as f64 / (*length_ns).max(1) as f64;
    for part in parts {
        let labels = [
            ("run", id),
            ("part", part.instance.as_str()),
            ("role", part.role.as_str()),
        ];
        to.maybe(&metrics::LIVE_PART_CPU, &labels, part.cpu_ns.map(cores));
        let memory = part.rss_bytes.map(|bytes| bytes as f64);
        to.maybe(&metrics::LIVE_PART_MEMORY, &labels, memory);
    }
    let background = background_cpu_ns.map(cores);
    to.maybe(&metrics::LIVE_BACKGROUND_CPU, &[("run", id)], background);
}

/// Metrics of the last events of a load.
pub fn load(to: &mut Metrics, id: &str, events: &[LoadEvent]) {
    let last = events.iter().rev().find_map(|event| match event {
        LoadEvent::Sample(sample) => Some(sample),
        _ => None,
    });
    if let Some(last) = last {
        sample(to, &[("load", id)], last);
    }
}

fn sample(to: &mut Metrics, labels: &[(&'static str, &str)], sample: &Sample) {
    let seconds = (sample.length_ns as f64 / 1e9).max(1e-9);
    let per_s = |count: u64| count as f64 / seconds;
    let answered = per_s(sample.ok + sample.errors);
    to.set(&metrics::LIVE_RESPONSES, labels, answered);
    to.set(
        &metrics::LIVE_ERRORS,
        labels,
        per_s(sample.errors + sample.never_sent),
    );
    let in_seconds = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e9);
    for (quantile, ns) in [
        ("0.5", sample.latency_p50_ns),
        ("0.99", sample.latency_p99_ns),
        ("1", sample.latency_max_ns),
    ] {
        let labels = [labels, &[("quantile", quantile)]].concat();
        to.maybe(&metrics::LIVE_LATENCY, &labels, in_seconds(ns));
    }
    let lateness = in_seconds(sample.lateness_p99_ns);
    to.maybe(&metrics::LIVE_LATENESS, labels, lateness);
}
