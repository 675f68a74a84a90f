//! The samples of a load as CSV, one per line.

use std::io::{BufWriter, Write};

use tare_schema::agent::{RecordSample, Sample};
use tare_schema::load::LoadSpec;

use crate::commands::load::throughput;

/// The columns, in the order of the fields of a sample.
const HEAD: &str = "offset_s,length_s,intended,released,ok,errors,latency_p50_ns,latency_p99_ns,latency_max_ns,\
lateness_p99_ns,in_flight,connections";

/// Further columns of a load whose exchanges carry records.
const RECORDS: &str =
    ",records,record_bytes,backlog_records,end_to_end_p50_ns,end_to_end_p99_ns,end_to_end_max_ns";

/// Writes header and samples.
pub fn write(file: impl Write, load: &LoadSpec, samples: &[Sample]) -> std::io::Result<()> {
    let mut out = BufWriter::new(file);
    // A producer's exchange is one record.
    let each_bytes = throughput::planned_bytes(load);
    let with_records =
        each_bytes.is_some() || samples.iter().any(|sample| sample.records.is_some());
    writeln!(out, "{HEAD}{}", if with_records { RECORDS } else { "" })?;
    let missing = |ns: Option<u64>| ns.map_or_else(String::new, |ns| ns.to_string());
    for s in samples {
        write!(
            out,
            "{:.3},{:.3},{},{},{},{},{},{},{},{},{},{}",
            s.offset_ns as f64 / 1e9,
            s.length_ns as f64 / 1e9,
            s.intended,
            s.released,
            s.ok,
            s.errors,
            missing(s.latency_p50_ns),
            missing(s.latency_p99_ns),
            missing(s.latency_max_ns),
            missing(s.lateness_p99_ns),
            s.in_flight,
            s.connections
        )?;
        if with_records {
            let of = s.records.unwrap_or_else(|| RecordSample {
                count: s.ok,
                bytes: (s.ok as f64 * each_bytes.unwrap_or_default()) as u64,
                ..RecordSample::default()
            });
            write!(
                out,
                ",{},{},{},{},{},{}",
                of.count,
                of.bytes,
                missing(of.backlog),
                missing(of.end_to_end_p50_ns),
                missing(of.end_to_end_p99_ns),
                missing(of.end_to_end_max_ns)
            )?;
        }
        writeln!(out)?;
    }
    out.flush()
}

#[cfg(test)]
mod tests {
    use tare_schema::load::{ClientSpec, ProduceSpec};

    use super::*;

    /// A load without records.
    fn load() -> LoadSpec {
        let mut load = tare_load::Load::get("http://127.0.0.1:1/").unwrap();
        load.plan_mut().load.clone()
    }

    #[test]
    fn of_a_producer_every_exchange_is_a_record() {
        let mut load = load();
        load.client = ClientSpec::with(1, &ProduceSpec::default());
        load.requests[0].body = tare_schema::load::Body::Filler { bytes: 100 };
        let sample = Sample {
            ok: 5,
            ..Sample::default()
        };
        let mut text = Vec::new();
        write(&mut text, &load, &[sample]).unwrap();
        let text = String::from_utf8(text).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].ends_with(RECORDS));
        assert!(lines[1].ends_with(",5,500,,,,"), "{}", lines[1]);
    }

    #[test]
    fn records_have_columns_of_their_own_where_there_are_any() {
        let sample = Sample {
            records: Some(tare_schema::agent::RecordSample {
                count: 5,
                bytes: 50,
                backlog: Some(3),
                ..Default::default()
            }),
            ..Sample::default()
        };
        let mut text = Vec::new();
        write(&mut text, &load(), &[sample]).unwrap();
        let text = String::from_utf8(text).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].ends_with(RECORDS));
        assert!(lines[1].ends_with(",5,50,3,,,"), "{}", lines[1]);
        let count = |line: &str| line.split(',').count();
        assert_eq!(count(lines[0]), count(lines[1]));
    }

    #[test]
    fn every_field_of_a_sample_has_its_column_and_a_missing_one_is_empty() {
        let sample = Sample {
            offset_ns: 1_500_000_000,
            latency_p50_ns: Some(7),
            connections: 3,
            ..Sample::default()
        };
        let mut text = Vec::new();
        write(&mut text, &load(), &[sample]).unwrap();
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
