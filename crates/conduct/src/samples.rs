//! The per-second table of a trial, `samples.csv`.

use std::fmt::Write;

use tare_schema::agent::Sample;

/// Header of the table; times are in ns, counts are per sample.
const HEAD: &str = "role,offset_ns,length_ns,intended,released,ok,errors,latency_p50_ns,latency_p99_ns,latency_max_ns,lateness_p99_ns,in_flight,connections\n";

/// The samples of a trial as CSV; a missing value is an empty field.
#[must_use]
pub fn to_csv(samples: &[(String, Sample)]) -> String {
    let mut text = String::from(HEAD);
    let field = |value: Option<u64>| value.map(|value| value.to_string()).unwrap_or_default();
    for (role, sample) in samples {
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "{role},{},{},{},{},{},{},{},{},{},{},{},{}",
            sample.offset_ns,
            sample.length_ns,
            sample.intended,
            sample.released,
            sample.ok,
            sample.errors,
            field(sample.latency_p50_ns),
            field(sample.latency_p99_ns),
            field(sample.latency_max_ns),
            field(sample.lateness_p99_ns),
            sample.in_flight,
            sample.connections,
        );
    }
    text
}
