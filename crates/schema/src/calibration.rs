//! What the machine carries without anything to be measured on it: the limits that a figure is read against.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Limits of the machine, measured within a day and the same boot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Calibration {
    /// When, in seconds of Unix time.
    pub measured_unix_s: u64,
    /// Identity of the boot.
    pub boot_id: String,
    /// The network, one entry per kind of way.
    pub ways: Vec<WayFigures>,
    /// The disk under the runs; `None`: it could not be measured.
    pub disk: Option<DiskFigures>,
}

/// A way between two pods with no proxy on it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WayFigures {
    /// What it leads between: `two loopback addresses`, `two pods`.
    pub between: String,
    /// TCP as it is.
    pub plain: StreamFigures,
    /// The same through TLS 1.3.
    pub tls: StreamFigures,
}

/// One TCP connection at a time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StreamFigures {
    /// Round trip of 64 bytes, half are shorter.
    pub round_trip_p50_ns: Option<u64>,
    /// One in a hundred is longer; `None` when fewer than ten lie beyond it.
    pub round_trip_p99_ns: Option<u64>,
    /// Payload of one stream, bits per second.
    pub bits_per_s: f64,
}

/// Sequential writing and reading of one file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DiskFigures {
    /// Folder of the file.
    pub folder: String,
    /// Written and synced, bytes per second.
    pub write_bytes_per_s: f64,
    /// Read after the system was asked to forget it, bytes per second; a file system in memory does not forget.
    pub read_bytes_per_s: f64,
}

impl Calibration {
    /// Everything in words for people: what, and what it carries.
    #[must_use]
    pub fn in_words(&self) -> Vec<(String, String)> {
        let mut words = Vec::new();
        for way in &self.ways {
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
        let told = Calibration {
            measured_unix_s: 0,
            boot_id: String::new(),
            ways: vec![WayFigures {
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
