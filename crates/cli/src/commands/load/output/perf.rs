//! The result of a Kafka load as one line of CSV, with columns and units of Kafka's perf tools: their MB are MiB.

use tare_load::LoadOutcome;
use tare_record::load::{FetchSpec, LoadSpec, ProduceSpec};
use tare_stats::Latencies;

use crate::commands::load::throughput;
use crate::values::exact;

/// Header line of kafka-consumer-perf-test.
const CONSUMER: &str = "start.time, end.time, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, \
rebalance.time.ms, fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec";

/// The figures that kafka-producer-perf-test prints in a sentence.
const PRODUCER: &str = "start.time, end.time, records.sent, records.sec, MB.sec, avg.latency.ms, max.latency.ms, \
50th.ms, 95th.ms, 99th.ms, 99.9th.ms";

/// A figure that there is not, as those tools print it.
const NONE: &str = "NaN";

const MIB: f64 = (1_u64 << 20) as f64;

/// Header and values; empty for other protocols.
pub fn csv(load: &LoadSpec, outcome: &LoadOutcome) -> String {
    if load.client.is::<FetchSpec>() {
        format!("{CONSUMER}\n{}\n", consumed(load, outcome))
    } else if load.client.is::<ProduceSpec>() {
        format!("{PRODUCER}\n{}\n", produced(outcome))
    } else {
        String::new()
    }
}

fn consumed(load: &LoadSpec, outcome: &LoadOutcome) -> String {
    let result = &outcome.result;
    let records = result.records.unwrap_or_default();
    // Up to the last record: waiting for more is not counted.
    let all_ns = match records.last_arrival_ns {
        0 => result.window_ns,
        last_ns => last_ns,
    };
    let count = |name: &str| result.protocol_counts.get(name).copied().unwrap_or(0);
    // The group was first joined before the load began. Every worker is a member.
    let rebalancing_us =
        count("group-rebalance-time-us").saturating_sub(count("group-join-time-us"));
    let rebalancing_us = rebalancing_us / u64::from(load.workers.max(1));
    let fetch_ns = all_ns.saturating_sub(rebalancing_us * 1000);
    let mib = records.bytes_in_window as f64 / MIB;
    let of = |amount: f64, ns: u64| per_s(amount, ns);
    let count = records.in_window as f64;
    [
        time(result.window_start_unix_us),
        time(result.window_start_unix_us + all_ns / 1000),
        format!("{mib:.4}"),
        of(mib, all_ns),
        records.in_window.to_string(),
        of(count, all_ns),
        (rebalancing_us / 1000).to_string(),
        (fetch_ns / 1_000_000).to_string(),
        of(mib, fetch_ns),
        of(count, fetch_ns),
    ]
    .join(", ")
}

fn produced(outcome: &LoadOutcome) -> String {
    let result = &outcome.result;
    let sent = result.completed_in_window.ok;
    let value_bytes = throughput::value_bytes(result).unwrap_or_default();
    let latency = outcome.latency();
    let of = |value: &dyn Fn(&Latencies) -> Option<f64>| {
        let ns = latency.as_ref().and_then(value);
        ns.map_or_else(|| NONE.to_owned(), |ns| format!("{:.3}", ns / 1e6))
    };
    let quantile = |q: f64| of(&|latency| Some(exact(latency.quantile(q))? as f64));
    [
        time(result.window_start_unix_us),
        time(result.window_start_unix_us + result.window_ns / 1000),
        sent.to_string(),
        per_s(sent as f64, result.window_ns),
        per_s(sent as f64 * value_bytes / MIB, result.window_ns),
        of(&Latencies::mean_ns),
        of(&|latency| Some(exact(latency.max()?)? as f64)),
        quantile(0.5),
        quantile(0.95),
        quantile(0.99),
        quantile(0.999),
    ]
    .join(", ")
}

/// Amount per second.
fn per_s(amount: f64, ns: u64) -> String {
    match ns {
        0 => NONE.to_owned(),
        ns => format!("{:.4}", amount * 1e9 / ns as f64),
    }
}

/// A time in the format of those tools, in UTC.
fn time(unix_us: u64) -> String {
    i64::try_from(unix_us)
        .ok()
        .and_then(|us| jiff::Timestamp::from_microsecond(us).ok())
        .unwrap_or(jiff::Timestamp::UNIX_EPOCH)
        .strftime("%Y-%m-%d %H:%M:%S:%3f")
        .to_string()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use tare_record::agent::{GeneratorStats, RecordCounts};
    use tare_record::load::ClientSpec;

    use super::*;

    #[test]
    fn a_time_is_written_as_those_tools_do() {
        assert_eq!(time(0), "1970-01-01 00:00:00:000");
        assert_eq!(time(951_782_400_000_000), "2000-02-29 00:00:00:000");
        assert_eq!(time(1_795_264_496_789_000), "2026-11-21 12:34:56:789");
    }

    #[test]
    fn what_took_no_time_has_no_rate() {
        assert_eq!(per_s(5.0, 0), "NaN");
        assert_eq!(per_s(5.0, 2_000_000_000), "2.5000");
    }

    #[test]
    fn the_first_line_of_a_consumer_is_that_of_kafkas_own_tool() {
        assert_eq!(CONSUMER.split(", ").count(), 10);
        assert_eq!(PRODUCER.split(", ").count(), 11);
    }

    /// The result of a load with this window, these records and these counts.
    fn outcome(window_ns: u64, records: RecordCounts, counts: serde_json::Value) -> LoadOutcome {
        let result = serde_json::json!({
            "version": 5, "role": "client", "ended": "completed",
            "window_start_unix_us": 1, "window_ns": window_ns, "offered_per_s": null,
            "intended": 0, "released": 0, "sent": 0, "ok": 0, "errors": 0, "unfinished": 0, "overflow": 0,
            "records": records, "outcomes": [], "requests_sent_total": 0, "protocol_counts": counts,
            "connections": {"opened": 1, "reconnects": 0, "failed": 0, "peak": 1},
            "bytes_sent": 1, "bytes_received": 1, "queue_waits": [],
            "generator": GeneratorStats::default(),
        });
        LoadOutcome {
            result: serde_json::from_value(result).unwrap(),
            totals: BTreeMap::new(),
        }
    }

    #[test]
    fn joining_a_group_before_the_load_is_no_part_of_its_time_and_no_field_is_empty() {
        let mut load = tare_load::Load::get("http://127.0.0.1:1/").unwrap();
        let mut load = load.plan_mut().load.clone();
        load.client = ClientSpec::with(2, &FetchSpec::default());
        load.workers = 2;
        let records = RecordCounts {
            in_window: 20,
            bytes_in_window: 1 << 20,
            last_arrival_ns: 25_000_000,
            ..RecordCounts::default()
        };
        let counts = serde_json::json!({
            "group-rebalance-time-us": 250_000,
            "group-join-time-us": 240_000,
        });
        let text = csv(&load, &outcome(30_000_000, records, counts));
        let fields: Vec<&str> = text.lines().nth(1).unwrap().split(", ").collect();
        // Rebalancing took 5 ms of each member's 25 ms.
        assert_eq!(fields[6..], ["5", "20", "50.0000", "1000.0000"], "{text}");
        let nothing = outcome(0, RecordCounts::default(), serde_json::json!({}));
        for client in [
            ClientSpec::with(1, &FetchSpec::default()),
            ClientSpec::with(1, &ProduceSpec::default()),
        ] {
            load.client = client;
            let text = csv(&load, &nothing);
            let line = text.lines().nth(1).unwrap();
            assert!(
                line.split(", ").all(|field| !field.trim().is_empty()),
                "{line}"
            );
        }
    }
}
