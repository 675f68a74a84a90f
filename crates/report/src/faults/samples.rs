//! The samples of a trial, read from `samples.csv` and summed over agents.

use std::collections::BTreeMap;
use std::path::Path;

use tare_record::regular::read_regular_text;

/// Upper limit of the file's bytes: days at ten samples per second.
const BYTES_MAX: u64 = 256 << 20;

/// Upper limit of samples: a day at ten samples per second.
const SAMPLES_MAX: usize = 1 << 20;

/// One sample, all agents together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MergedSample {
    /// Its end, from the start of the warm-up.
    pub offset_ns: u64,
    pub length_ns: u64,
    /// Successful exchanges.
    pub ok: u64,
    pub errors: u64,
    /// Largest latency.
    pub slowest_ns: Option<u64>,
}

/// Reads `samples.csv` of a trial's folder, in order of time.
///
/// # Errors
/// Why it cannot be read, as text.
pub fn read(folder: &Path) -> Result<Vec<MergedSample>, String> {
    let path = folder.join("samples.csv");
    let text = read_regular_text(&path, BYTES_MAX).map_err(|error| error.to_string())?;
    parse(&text)
}

fn parse(text: &str) -> Result<Vec<MergedSample>, String> {
    let mut lines = text.lines();
    let head: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let column = |name: &str| {
        let found = head.iter().position(|one| *one == name);
        found.ok_or_else(|| format!("it has no column {name}"))
    };
    let [offset, length] = [column("offset_ns")?, column("length_ns")?];
    let [ok, errors] = [column("ok")?, column("errors")?];
    let slowest = column("latency_max_ns")?;
    let mut all: BTreeMap<u64, MergedSample> = BTreeMap::new();
    for line in lines {
        let fields: Vec<&str> = line.split(',').collect();
        let field = |at: usize| fields.get(at).and_then(|text| text.parse::<u64>().ok());
        // An incomplete line, cut off when the run ended, is the last one.
        let (Some(offset_ns), Some(length_ns)) = (field(offset), field(length)) else {
            break;
        };
        let sample = all.entry(offset_ns).or_insert(MergedSample {
            offset_ns,
            length_ns,
            ..MergedSample::default()
        });
        sample.ok = sample.ok.saturating_add(field(ok).unwrap_or(0));
        sample.errors = sample.errors.saturating_add(field(errors).unwrap_or(0));
        sample.slowest_ns = sample.slowest_ns.max(field(slowest));
        if all.len() > SAMPLES_MAX {
            return Err(format!(
                "more than {SAMPLES_MAX} samples are no table of a trial"
            ));
        }
    }
    Ok(all.into_values().collect())
}

/// Longest outage (time without a successful exchange) in the samples that end after `from_ns`; `None` without such samples.
pub fn longest_outage(samples: &[MergedSample], from_ns: u64) -> Option<u64> {
    let mut longest = None;
    let mut outage_ns = 0;
    for sample in samples.iter().filter(|one| one.offset_ns > from_ns) {
        outage_ns = match sample.ok {
            0 => sample.length_ns.saturating_add(outage_ns),
            _ => 0,
        };
        longest = longest.max(Some(outage_ns));
    }
    longest
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test says where by panicking")]

    use super::*;

    const HEAD: &str = "role,offset_ns,length_ns,intended,released,ok,errors,latency_p50_ns,latency_p99_ns,latency_max_ns,lateness_p99_ns,in_flight,connections\n";

    #[test]
    fn samples_of_several_agents_are_added_up_and_the_longest_silence_is_found() {
        let mut text = HEAD.to_owned();
        for (offset, a, b) in [
            (1, 5, 5),
            (2, 0, 1),
            (3, 0, 0),
            (4, 0, 0),
            (5, 9, 0),
            (6, 0, 0),
        ] {
            text += &format!("a,{offset}00,100,1,1,{a},1,,,{offset},,0,1\n");
            text += &format!("b,{offset}00,100,1,1,{b},0,,,,,0,1\n");
        }
        text += "a,7";
        let samples = parse(&text).unwrap();
        assert_eq!(samples.len(), 6);
        assert_eq!((samples[0].ok, samples[0].errors), (10, 1));
        assert_eq!(samples[1].slowest_ns, Some(2));
        assert_eq!(longest_outage(&samples, 0), Some(200));
        assert_eq!(longest_outage(&samples, 500), Some(100), "from a fault on");
        assert_eq!(longest_outage(&[], 0), None);
        assert!(parse("role,offset_ns\n").is_err());
    }

    #[test]
    fn a_table_that_is_a_link_or_longer_than_any_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (table, other) = (
            folder.path().join("samples.csv"),
            folder.path().join("other"),
        );
        std::fs::write(&other, HEAD).unwrap();
        std::os::unix::fs::symlink(&other, &table).unwrap();
        let said = read(folder.path()).unwrap_err();
        assert!(said.contains("samples.csv is a link"), "{said}");
        std::fs::remove_file(&table).unwrap();
        std::fs::File::create(&table)
            .and_then(|file| file.set_len(BYTES_MAX + 1))
            .unwrap();
        let said = read(folder.path()).unwrap_err();
        assert!(said.contains("samples.csv has 268435457 bytes"), "{said}");
    }

    #[test]
    fn more_samples_than_any_trial_has_are_refused() {
        let mut text = "offset_ns,length_ns,ok,errors,latency_max_ns\n".to_owned();
        for offset in 0..=SAMPLES_MAX {
            text += &format!("{offset},1\n");
        }
        let said = parse(&text).unwrap_err();
        assert!(said.contains("more than 1048576 samples"), "{said}");
    }
}
