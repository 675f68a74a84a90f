//! Finds runs: by folder, by name in the folder of runs, or `latest`.

use std::path::{Path, PathBuf};

use tare_report::Run;

use crate::exit::bad_input;

/// Most names that are suggested when a run is not found.
const OFFERED: usize = 5;

/// Finds and reads a run.
pub fn open(name: &str, runs: &Path) -> anyhow::Result<Run> {
    tare_report::read(&find(name, runs)?).map_err(bad_input)
}

/// The folder of a run.
pub fn find(name: &str, runs: &Path) -> anyhow::Result<PathBuf> {
    let is_run = |path: &Path| path.join("plan.json").is_file();
    let known = known(runs);
    let found = if name == "latest" {
        known.last().cloned()
    } else {
        [PathBuf::from(name), runs.join(name)]
            .into_iter()
            .find(|path| is_run(path))
    };
    found.ok_or_else(|| {
        let names: Vec<String> = known
            .iter()
            .rev()
            .take(OFFERED)
            .filter_map(|run| Some(run.file_name()?.to_string_lossy().into_owned()))
            .collect();
        bad_input(if names.is_empty() {
            format!(
                "no run {name}, and none in {}: measure one with `tare run NAME`, or say --out DIR",
                runs.display()
            )
        } else {
            format!(
                "no run {name}: neither a run's folder nor one in {}; the latest there: {}",
                runs.display(),
                names.join(", ")
            )
        })
    })
}

/// All runs in a folder, oldest first: names begin with the start time.
pub fn known(runs: &Path) -> Vec<PathBuf> {
    let mut known: Vec<PathBuf> = std::fs::read_dir(runs)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.join("plan.json").is_file())
        .collect();
    known.sort();
    known
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latest_is_the_last_by_time_and_names_are_offered() {
        let runs = tempfile::tempdir().unwrap();
        for name in ["2026-01-02-b", "2026-01-01-a"] {
            std::fs::create_dir(runs.path().join(name)).unwrap();
            std::fs::write(runs.path().join(name).join("plan.json"), "{}").unwrap();
        }
        assert!(
            find("latest", runs.path())
                .unwrap()
                .ends_with("2026-01-02-b")
        );
        assert!(
            find("2026-01-01-a", runs.path())
                .unwrap()
                .ends_with("2026-01-01-a")
        );
        let error = find("nonsense", runs.path()).unwrap_err().to_string();
        assert!(error.contains("2026-01-02-b, 2026-01-01-a"), "{error}");
    }
}
