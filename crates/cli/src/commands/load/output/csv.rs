//! The samples of a load as CSV, one line each.

use std::io::{BufWriter, Write};

use tare_schema::agent::Sample;

/// The columns, in the order of the fields of a sample.
const HEAD: &str = "offset_s,length_s,intended,released,right,errors,felt_p50_ns,felt_p99_ns,felt_max_ns,\
lateness_p99_ns,in_flight,connections";

/// Writes them.
pub fn write(file: impl Write, samples: &[Sample]) -> std::io::Result<()> {
    let mut out = BufWriter::new(file);
    writeln!(out, "{HEAD}")?;
    let missing = |ns: Option<u64>| ns.map_or_else(String::new, |ns| ns.to_string());
    for s in samples {
        writeln!(
            out,
            "{:.3},{:.3},{},{},{},{},{},{},{},{},{},{}",
            s.offset_ns as f64 / 1e9,
            s.length_ns as f64 / 1e9,
            s.intended,
            s.released,
            s.right,
            s.errors,
            missing(s.felt_p50_ns),
            missing(s.felt_p99_ns),
            missing(s.felt_max_ns),
            missing(s.lateness_p99_ns),
            s.in_flight,
            s.connections
        )?;
    }
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_of_a_sample_has_its_column_and_a_missing_one_is_empty() {
        let sample = Sample {
            offset_ns: 1_500_000_000,
            felt_p50_ns: Some(7),
            connections: 3,
            ..Sample::default()
        };
        let mut text = Vec::new();
        write(&mut text, &[sample]).unwrap();
        let text = String::from_utf8(text).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let fields = serde_json::to_value(sample).unwrap();
        let columns: Vec<String> = lines[0]
            .split(',')
            .map(|c| c.replace("_s", "_ns"))
            .collect();
        let names: Vec<&String> = fields.as_object().unwrap().keys().collect();
        assert_eq!(columns.iter().collect::<Vec<_>>(), names);
        assert_eq!(lines[1], "1.500,0.000,0,0,0,0,7,,,,0,3");
    }
}
