//! Throughput of loads that move blocks or records, as text.

use tare_load::protocols::tcp::{Direction, TcpExchange};
use tare_record::agent::LoadResult;
use tare_record::load::{Body, FetchDecode, FetchSpec, LoadSpec, Payloads, ProduceSpec};
use tare_record::metric::Unit;
use tare_report::quantity;

/// Throughput within the window; `None` for a load that does not measure it.
///
/// TCP counts whole blocks: up, when the kernel has taken the last byte; down, when the last byte has been received.
pub fn words(load: &LoadSpec, result: &LoadResult) -> Option<String> {
    if load.client.is::<ProduceSpec>() {
        return Some(format!("throughput   {}", records(result)));
    }
    if let Some(fetch) = load.client.get::<FetchSpec>() {
        return Some(read(fetch.decode, result));
    }
    let Some(TcpExchange::Throughput {
        direction,
        block_bytes,
    }) = load.client.get()
    else {
        return None;
    };
    let way = match direction {
        Direction::Up => "up",
        Direction::Down => "down",
        Direction::Both => "each way",
    };
    let words = match result.window_ns {
        0 => "–".to_owned(),
        window_ns => {
            let bytes = result.completed_in_window.ok as f64 * block_bytes as f64;
            let per_s = bytes * 1e9 / window_ns as f64;
            let bits = per_s * 8.0 / 1e9;
            let bytes = quantity::value(Unit::Bytes, per_s);
            format!("{bytes}/s {way} ({bits:.2} Gbit/s)")
        }
    };
    Some(format!("throughput   {words}"))
}

/// Records read, as Kafka's own tool counts them: from the start to the last record.
fn read(decode: FetchDecode, result: &LoadResult) -> String {
    let records = result.records.unwrap_or_default();
    let seconds = records.last_arrival_ns as f64 / 1e9;
    if records.in_window == 0 || seconds <= 0.0 {
        return format!(
            "read         0 records in {}",
            quantity::span(result.window_ns)
        );
    }
    let of = match decode {
        FetchDecode::Batches => "of batches",
        FetchDecode::Records | FetchDecode::Timestamps { .. } => "of keys and values",
    };
    let mib = f64::from(1 << 20);
    let bytes = records.bytes_in_window as f64;
    let count = |name: &str| result.protocol_counts.get(name).copied().unwrap_or(0);
    let mut lines = vec![
        format!(
            "read         {} records, {:.0} records/s, in {}",
            records.in_window,
            records.in_window as f64 / seconds,
            quantity::span(records.last_arrival_ns)
        ),
        format!(
            "             {:.2} MB ({:.2} MiB) {of}, {:.2} MB/s ({:.2} MiB/s)",
            bytes / 1e6,
            bytes / mib,
            bytes / seconds / 1e6,
            bytes / seconds / mib
        ),
    ];
    if result.protocol_counts.contains_key("group-assignments") {
        lines.push(format!(
            "group        {}, {} without partitions, {}",
            quantity::counted(count("group-rebalances"), "rebalance", "rebalances"),
            quantity::span(count("group-rebalance-time-us") * 1000),
            quantity::counted(count("group-commits"), "commit", "commits")
        ));
    }
    if records.negative_end_to_end > 0 {
        lines.push(format!(
            "end to end   {} negative latencies, because clocks differ: they are in no figure, and the others are wrong\n             \
             by as much; set the clocks by one time source",
            records.negative_end_to_end
        ));
    }
    let corrupt = count("corrupt-batches") + count("invalid-batches");
    if corrupt > 0 {
        lines.push(format!(
            "corrupt      {corrupt} batches could not be read: see the outcomes"
        ));
    }
    lines.join("\n")
}

/// Records written and the bytes of their values, as Kafka's own tools count them.
fn records(result: &LoadResult) -> String {
    let ok = result.completed_in_window.ok as f64;
    if result.window_ns == 0 || ok == 0.0 {
        return "–".to_owned();
    }
    let value_bytes = value_bytes(result).unwrap_or_default();
    let records_per_s = ok * 1e9 / result.window_ns as f64;
    let bytes_per_s = records_per_s * value_bytes;
    format!(
        "{} records, {records_per_s:.0} records/s, {:.2} MB/s ({:.2} MiB/s)",
        result.completed_in_window.ok,
        bytes_per_s / 1e6,
        bytes_per_s / f64::from(1 << 20)
    )
}

/// Mean bytes of the values written.
pub fn value_bytes(result: &LoadResult) -> Option<f64> {
    let bytes = *result.protocol_counts.get("payload-bytes")?;
    let records: u64 = result.by_request.values().map(|one| one.ok).sum();
    (records > 0).then(|| bytes as f64 / records as f64)
}

/// Mean bytes of a value by the plan, before anything was counted; `None` for a load that does not write records.
pub fn planned_bytes(load: &LoadSpec) -> Option<f64> {
    let produce = load.client.get::<ProduceSpec>()?;
    let body = load.requests.first().map(|request| &request.body);
    match (&produce.payloads, body) {
        (Payloads::Drawn { bytes, .. }, _) => Some(f64::from(*bytes)),
        // Four base64 letters are three bytes; padding is ignored.
        (Payloads::Given { base64 }, _) => {
            let letters: usize = base64.iter().map(String::len).sum();
            Some(letters as f64 * 0.75 / base64.len().max(1) as f64)
        }
        (Payloads::Body, Some(Body::Filler { bytes })) => Some(*bytes as f64),
        (Payloads::Body, Some(Body::Text { text })) => Some(text.len() as f64),
        (Payloads::Body, _) => None,
    }
}
