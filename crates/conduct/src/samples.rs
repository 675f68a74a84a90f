//! The per-second table of a load: `samples.csv` of a trial, and `tare load --csv`.

use std::fmt::Write;

use tare_record::agent::Sample;

/// A column: its name, and its value in a sample. Times are in ns, counts are per sample.
type Column = (&'static str, fn(&Sample) -> Option<u64>);

static COLUMNS: [Column; 13] = [
    ("offset_ns", |s| Some(s.offset_ns)),
    ("length_ns", |s| Some(s.length_ns)),
    ("intended", |s| Some(s.intended)),
    ("released", |s| Some(s.released)),
    ("ok", |s| Some(s.ok)),
    ("errors", |s| Some(s.errors)),
    ("never_sent", |s| Some(s.never_sent)),
    ("latency_p50_ns", |s| s.latency_p50_ns),
    ("latency_p99_ns", |s| s.latency_p99_ns),
    ("latency_max_ns", |s| s.latency_max_ns),
    ("lateness_p99_ns", |s| s.lateness_p99_ns),
    ("in_flight", |s| Some(s.in_flight)),
    ("connections", |s| Some(u64::from(s.connections))),
];

/// Further columns where exchanges carry records.
static RECORD_COLUMNS: [Column; 6] = [
    ("records", |s| Some(s.records?.count)),
    ("record_bytes", |s| Some(s.records?.bytes)),
    ("consumer_lag_records", |s| s.records?.consumer_lag),
    ("end_to_end_p50_ns", |s| s.records?.end_to_end_p50_ns),
    ("end_to_end_p99_ns", |s| s.records?.end_to_end_p99_ns),
    ("end_to_end_max_ns", |s| s.records?.end_to_end_max_ns),
];

/// The samples of each role as CSV; a missing value is an empty field.
#[must_use]
pub fn to_csv(samples: &[(String, Sample)]) -> String {
    let with_records = samples.iter().any(|(_, sample)| sample.records.is_some());
    let columns = match with_records {
        true => [&COLUMNS[..], &RECORD_COLUMNS[..]].concat(),
        false => COLUMNS.to_vec(),
    };
    let mut text = String::from("role");
    for (name, _) in &columns {
        text.push(',');
        text.push_str(name);
    }
    for (role, sample) in samples {
        text.push('\n');
        text.push_str(role);
        for (_, value) in &columns {
            text.push(',');
            if let Some(value) = value(sample) {
                // Writing to a String cannot fail.
                let _ = write!(text, "{value}");
            }
        }
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use tare_record::agent::RecordSample;

    use super::*;

    fn lines(sample: Sample) -> Vec<String> {
        let text = to_csv(&[("load".to_owned(), sample)]);
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn every_field_of_a_sample_has_its_column_and_a_missing_one_is_empty() {
        let sample = Sample {
            offset_ns: 1_500_000_000,
            latency_p50_ns: Some(7),
            connections: 3,
            ..Sample::default()
        };
        let lines = lines(sample);
        let fields = serde_json::to_value(sample).unwrap();
        let names: Vec<&String> = fields.as_object().unwrap().keys().collect();
        assert_eq!(lines[0].split(',').skip(1).collect::<Vec<_>>(), names);
        assert_eq!(lines[1], "load,1500000000,0,0,0,0,0,0,7,,,,0,3");
        assert_eq!(lines.len(), 2);
    }

    #[test]
    fn records_have_columns_of_their_own_where_there_are_any() {
        let sample = Sample {
            records: Some(RecordSample {
                count: 5,
                bytes: 50,
                consumer_lag: Some(3),
                ..RecordSample::default()
            }),
            ..Sample::default()
        };
        let lines = lines(sample);
        assert!(lines[0].ends_with(",end_to_end_max_ns"), "{}", lines[0]);
        assert!(lines[1].ends_with(",5,50,3,,,"), "{}", lines[1]);
        let count = |line: &str| line.split(',').count();
        assert_eq!(count(&lines[0]), count(&lines[1]));
    }
}
