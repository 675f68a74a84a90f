//! The bytes a second of a load that moves blocks.

use tare_report::quantity;
use tare_schema::agent::LoadResult;
use tare_schema::load::{ClientSpec, Direction, LoadSpec, TcpExchange};
use tare_schema::metric::Unit;

/// Bytes a second each way within the window, in words; `None` for a load that is not about bytes.
///
/// They are whole blocks: up, those whose last byte the kernel took; down, those whose last byte came.
pub fn words(load: &LoadSpec, result: &LoadResult) -> Option<String> {
    if let ClientSpec::KafkaProduce { .. } = &load.client {
        return Some(format!("throughput   {}", records(result)));
    }
    let ClientSpec::Tcp {
        exchange:
            TcpExchange::Throughput {
                direction,
                block_bytes,
            },
        ..
    } = load.client
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
            let bytes = result.answered_in_window.right as f64 * block_bytes as f64;
            let per_s = bytes * 1e9 / window_ns as f64;
            let bits = per_s * 8.0 / 1e9;
            let bytes = quantity::value(Unit::Bytes, per_s);
            format!("{bytes}/s {way} ({bits:.2} Gbit/s)")
        }
    };
    Some(format!("throughput   {words}"))
}

/// Records and the bytes of their values, as Kafka's own tools tell them.
fn records(result: &LoadResult) -> String {
    let count = |name: &str| result.protocol_counts.get(name).copied().unwrap_or(0);
    let right = result.answered_in_window.right as f64;
    let all: u64 = result.by_request.values().map(|one| one.right).sum();
    if result.window_ns == 0 || all == 0 {
        return "–".to_owned();
    }
    let value_bytes = count("payload-bytes") as f64 / all as f64;
    let records_per_s = right * 1e9 / result.window_ns as f64;
    let bytes_per_s = records_per_s * value_bytes;
    format!(
        "{} records, {records_per_s:.0} records/s, {:.2} MB/s ({:.2} MiB/s)",
        result.answered_in_window.right,
        bytes_per_s / 1e6,
        bytes_per_s / f64::from(1 << 20)
    )
}
