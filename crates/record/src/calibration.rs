//! Performance of the idle machine (network, disk): the reference for results.

use crate::schemas::JsonSchema;
use serde::{Deserialize, Serialize};

/// Performance of the idle machine, measured within a day and the same boot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostBaseline {
    /// Time of the measurement, seconds since the Unix epoch.
    pub measured_unix_s: u64,
    /// Boot ID of the kernel.
    pub boot_id: String,
    /// Network, one entry per kind of path.
    pub paths: Vec<PathFigures>,
    /// Disk under the run folders; `None`: it could not be measured.
    pub disk: Option<DiskFigures>,
}

/// Performance of a network path between two pods, without proxies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PathFigures {
    /// Kind of the path: `two loopback addresses`, `two pods`.
    pub between: String,
    /// Plain TCP.
    pub plain: StreamFigures,
    /// TLS 1.3 over TCP.
    pub tls: StreamFigures,
}

/// Performance of one TCP connection.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StreamFigures {
    /// Median round-trip time of 64 bytes.
    pub round_trip_p50_ns: Option<u64>,
    /// 99th percentile of the round-trip time; `None` with fewer than ten observations beyond it.
    pub round_trip_p99_ns: Option<u64>,
    /// Throughput of one stream, payload bits per second.
    pub bits_per_s: f64,
}

/// Sequential write and read throughput of one file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DiskFigures {
    /// Folder of the file.
    pub folder: String,
    /// Write throughput, fsync included, bytes per second.
    pub write_bytes_per_s: f64,
    /// Read throughput after dropping the page cache, bytes per second (no effect on tmpfs).
    pub read_bytes_per_s: f64,
}

impl HostBaseline {
    /// Rows of text: what was measured, and the result.
    #[must_use]
    pub fn in_words(&self) -> Vec<(String, String)> {
        let mut words = Vec::new();
        for way in &self.paths {
            words.push((format!("TCP, {}", way.between), way.plain.in_words()));
            words.push((format!("TLS, {}", way.between), way.tls.in_words()));
        }
        if let Some(disk) = &self.disk {
            let mb = |bytes: f64| format!("{:.0} MB/s", bytes / 1e6);
            let found = format!(
                "written {}, read {}",
                mb(disk.write_bytes_per_s),
                mb(disk.read_bytes_per_s)
            );
            words.push((format!("disk, {}", disk.folder), found));
        }
        words
    }
}

impl StreamFigures {
    fn in_words(&self) -> String {
        let us = |ns: Option<u64>| {
            ns.map_or_else(
                || String::from("–"),
                |ns| format!("{:.0} µs", ns as f64 / 1e3),
            )
        };
        format!(
            "{:.2} Gbit/s on one stream, round trip {} (p99 {})",
            self.bits_per_s / 1e9,
            us(self.round_trip_p50_ns),
            us(self.round_trip_p99_ns)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_told_in_words_and_what_is_missing_is_a_dash() {
        let plain = StreamFigures {
            round_trip_p50_ns: Some(31_400),
            round_trip_p99_ns: None,
            bits_per_s: 17_234_000_000.0,
        };
        let told = HostBaseline {
            measured_unix_s: 0,
            boot_id: String::new(),
            paths: vec![PathFigures {
                between: String::from("two pods"),
                plain,
                tls: plain,
            }],
            disk: Some(DiskFigures {
                folder: String::from("/runs"),
                write_bytes_per_s: 412e6,
                read_bytes_per_s: 1.9e9,
            }),
        }
        .in_words();
        let found = "17.23 Gbit/s on one stream, round trip 31 µs (p99 –)";
        assert_eq!(told[0], (String::from("TCP, two pods"), found.to_owned()));
        assert_eq!(told[1].0, "TLS, two pods");
        assert_eq!(
            told[2],
            (
                String::from("disk, /runs"),
                String::from("written 412 MB/s, read 1900 MB/s")
            )
        );
    }
}
