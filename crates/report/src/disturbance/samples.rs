//! The samples of a trial, read back from its table and added up over agents.

use std::collections::BTreeMap;
use std::path::Path;

use tare_schema::regular::read_regular_text;

/// Longest table that is read: at ten samples a second, days.
const BYTES_MAX: u64 = 256 << 20;

/// Most moments that are held: at ten samples a second, a day.
const MOMENTS_MAX: usize = 1 << 20;

/// What happened in one sample, all agents together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Moment {
    /// Its end, from the start of the warm-up.
    pub offset_ns: u64,
    /// Its length.
    pub length_ns: u64,
    /// Right answers.
    pub right: u64,
    /// Errors.
    pub errors: u64,
    /// Slowest answer.
    pub slowest_ns: Option<u64>,
}

/// Reads `samples.csv` of a trial's folder, in order of time.
///
/// # Errors
/// Why it cannot be read, in words.
pub fn read(folder: &Path) -> Result<Vec<Moment>, String> {
    let path = folder.join("samples.csv");
    let text = read_regular_text(&path, BYTES_MAX).map_err(|error| error.to_string())?;
    of_text(&text)
}

/// The same from its text.
fn of_text(text: &str) -> Result<Vec<Moment>, String> {
    let mut lines = text.lines();
    let head: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let column = |name: &str| {
        let found = head.iter().position(|one| *one == name);
        found.ok_or_else(|| format!("it has no column {name}"))
    };
    let [offset, length] = [column("offset_ns")?, column("length_ns")?];
    let [right, errors] = [column("right")?, column("errors")?];
    let slowest = column("latency_max_ns")?;
    let mut all: BTreeMap<u64, Moment> = BTreeMap::new();
    for line in lines {
        let fields: Vec<&str> = line.split(',').collect();
        let field = |at: usize| fields.get(at).and_then(|text| text.parse::<u64>().ok());
        // A line that was cut off when the run ended is the last one.
        let (Some(offset_ns), Some(length_ns)) = (field(offset), field(length)) else {
            break;
        };
        let moment = all.entry(offset_ns).or_insert(Moment {
            offset_ns,
            length_ns,
            ..Moment::default()
        });
        moment.right = moment.right.saturating_add(field(right).unwrap_or(0));
        moment.errors = moment.errors.saturating_add(field(errors).unwrap_or(0));
        moment.slowest_ns = moment.slowest_ns.max(field(slowest));
        if all.len() > MOMENTS_MAX {
            return Err(format!(
                "more than {MOMENTS_MAX} samples are no table of a trial"
            ));
        }
    }
    Ok(all.into_values().collect())
}

/// Longest time without a right answer that reaches beyond a moment.
pub fn silence(moments: &[Moment], from_ns: u64) -> Option<u64> {
    let mut longest = None;
    let mut silent_ns = 0;
    for moment in moments.iter().filter(|one| one.offset_ns > from_ns) {
        silent_ns = match moment.right {
            0 => moment.length_ns.saturating_add(silent_ns),
            _ => 0,
        };
        longest = longest.max(Some(silent_ns));
    }
    longest
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test says where by panicking")]

    use super::*;

    const HEAD: &str = "role,offset_ns,length_ns,intended,released,right,errors,latency_p50_ns,latency_p99_ns,latency_max_ns,lateness_p99_ns,in_flight,connections\n";

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
        let moments = of_text(&text).unwrap();
        assert_eq!(moments.len(), 6);
        assert_eq!((moments[0].right, moments[0].errors), (10, 1));
        assert_eq!(moments[1].slowest_ns, Some(2));
        assert_eq!(silence(&moments, 0), Some(200));
        assert_eq!(silence(&moments, 500), Some(100), "from an event on");
        assert_eq!(silence(&[], 0), None);
        assert!(of_text("role,offset_ns\n").is_err());
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
        let mut text = "offset_ns,length_ns,right,errors,latency_max_ns\n".to_owned();
        for offset in 0..=MOMENTS_MAX {
            text += &format!("{offset},1\n");
        }
        let said = of_text(&text).unwrap_err();
        assert!(said.contains("more than 1048576 samples"), "{said}");
    }
}
