//! Metrics of brokers as tables.

use crate::screen::print as out;

use super::super::output::{bytes, count, maybe, table};
use super::view::{Figures, MetricsView, Rate, Requests, Traffic};

/// Most topics that are shown, the busiest first.
const TOPICS_MAX: usize = 20;

/// Prints the brokers that could be read.
pub fn print(view: &MetricsView) -> anyhow::Result<()> {
    let known = view.brokers.iter();
    let known = known.filter_map(|broker| Some((broker.at.as_str(), broker.metrics.as_ref()?)));
    let known: Vec<(&str, &Figures)> = known.collect();
    if known.is_empty() {
        return Ok(());
    }
    let traffic = known.iter().map(|(at, metrics)| {
        vec![
            (*at).to_owned(),
            per_s(metrics.messages_in),
            bytes_per_s(metrics.bytes_in),
            bytes_per_s(metrics.bytes_out),
            bytes_per_s(metrics.replication_bytes_in),
            bytes_per_s(metrics.replication_bytes_out),
        ]
    });
    let header = [
        "broker",
        "records/s #",
        "in/s #",
        "out/s #",
        "copied in/s #",
        "copied out/s #",
    ];
    table(&header, traffic)?;
    let requests = known.iter().flat_map(|(at, metrics)| {
        // Reversed, so that `produce` comes first.
        let kinds = metrics.requests.iter().rev();
        kinds.map(move |(kind, requests)| request_row(at, kind, requests))
    });
    let header = [
        "broker", "request", "per s #", "ms #", "queue #", "local #", "remote #", "answer #",
    ];
    table(&header, requests)?;
    let state = known.iter().map(|(at, metrics)| {
        vec![
            (*at).to_owned(),
            maybe(metrics.under_replicated_partitions),
            per_s(metrics.isr_shrinks),
            per_s(metrics.isr_expands),
            maybe(metrics.heap_bytes.map(whole_bytes)),
            per_s(metrics.gc_pauses),
            per_s(metrics.gc_ms),
        ]
    });
    let header = [
        "broker",
        "under-repl. #",
        "shrinks/s #",
        "expands/s #",
        "heap #",
        "GC/s #",
        "GC ms/s #",
    ];
    table(&header, state)?;
    topics(view)?;
    for (at, metrics) in known {
        if metrics.restarted {
            out(&format!(
                "{at} was started again meanwhile: it has no rates\n"
            ))?;
        }
        if !metrics.missing.is_empty() {
            let missing = metrics.missing.join(", ");
            out(&format!("{at} does not tell:\n  {missing}\n"))?;
        }
    }
    Ok(())
}

fn request_row(at: &str, kind: &str, requests: &Requests) -> Vec<String> {
    let sum = |phases: &[&str]| {
        let mut known = phases
            .iter()
            .filter_map(|phase| requests.mean_ms.get(*phase));
        known
            .next()
            .map(|first| format!("{:.2}", first + known.sum::<f64>()))
    };
    let whose = match kind {
        "fetch-consumer" => "consume",
        "fetch-follower" => "replicate",
        other => other,
    };
    vec![
        at.to_owned(),
        whose.to_owned(),
        per_s(requests.rate),
        maybe(sum(&["Total"])),
        maybe(sum(&["RequestQueue"])),
        maybe(sum(&["Local"])),
        maybe(sum(&["Remote"])),
        maybe(sum(&["ResponseQueue", "ResponseSend"])),
    ]
}

fn topics(view: &MetricsView) -> anyhow::Result<()> {
    let busy = |traffic: &Traffic| {
        let rates = [traffic.bytes_in, traffic.bytes_out];
        let known = rates.into_iter().flatten().filter_map(|rate| rate.per_s);
        known.sum::<f64>()
    };
    let mut all: Vec<_> = view.topics.iter().collect();
    all.sort_by(|(_, one), (_, two)| busy(two).total_cmp(&busy(one)));
    let hidden = all.len().saturating_sub(TOPICS_MAX);
    let rows = all.into_iter().take(TOPICS_MAX).map(|(topic, traffic)| {
        vec![
            topic.clone(),
            per_s(traffic.messages_in),
            bytes_per_s(traffic.bytes_in),
            bytes_per_s(traffic.bytes_out),
            maybe(traffic.messages_in.map(|rate| rate.total)),
        ]
    });
    let header = [
        "topic",
        "records/s #",
        "in/s #",
        "out/s #",
        "records so far #",
    ];
    table(&header, rows)?;
    match hidden {
        0 => Ok(()),
        _ => out(&format!(
            "{} more: --json tells all\n",
            count(hidden, "topic")
        )),
    }
}

fn per_s(rate: Option<Rate>) -> String {
    let per_s = rate.and_then(|rate| rate.per_s);
    maybe(per_s.map(|per_s| match per_s < 100.0 {
        true => format!("{per_s:.1}"),
        false => format!("{per_s:.0}"),
    }))
}

fn bytes_per_s(rate: Option<Rate>) -> String {
    maybe(rate.and_then(|rate| rate.per_s).map(whole_bytes))
}

fn whole_bytes(value: f64) -> String {
    bytes(value.round() as i64)
}
