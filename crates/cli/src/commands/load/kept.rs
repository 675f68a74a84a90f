//! A load that is kept (`--out`): a folder of its own with progress, report and histograms.

use std::fs;
use std::path::{Path, PathBuf};

use tare_conduct::{EventFile, EventWeight, RunFolder, write_synced};
use tare_record::agent::LoadResult;
use tare_record::api::LOAD_REPORT;
use tare_record::event::LoadEvent;
use tare_record::load_report::LoadReport;
use tare_record::profile::{PROFILES, Profile};
use tare_report::flame_graphs;

/// The folder of a load that is kept.
pub struct KeptLoad {
    folder: RunFolder,
    progress: EventFile,
}

impl KeptLoad {
    /// Creates the folder below a directory; its name is the time.
    pub fn create(out: &Path) -> anyhow::Result<KeptLoad> {
        let now = jiff::ZonedDateTime::now().strftime("%Y-%m-%dT%H-%M-%S");
        let folder = RunFolder::create(out, &format!("{now}-load"))?;
        let mut kept = KeptLoad {
            progress: EventFile::open(folder.path()),
            folder,
        };
        kept.progress(&kept.created());
        Ok(kept)
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The event that names the folder.
    pub fn created(&self) -> LoadEvent {
        LoadEvent::Created {
            folder: self.folder().display().to_string(),
        }
    }

    /// Adds a line to `progress.jsonl`.
    pub fn progress(&mut self, event: &LoadEvent) {
        let weight = match event {
            LoadEvent::Sample(_) => EventWeight::Sample,
            _ => EventWeight::Step,
        };
        self.progress.write(event, weight);
    }

    /// The flame graph of a process.
    pub fn flame_graph(&self, instance: &str) -> PathBuf {
        self.folder().join(PROFILES).join(format!("{instance}.svg"))
    }

    /// Writes what was sampled, with a flame graph of each process.
    pub fn write_profiles(&self, profiles: &[Profile]) -> anyhow::Result<()> {
        for (profile, graph) in profiles.iter().zip(flame_graphs(profiles)) {
            let svg = self.flame_graph(&profile.instance);
            fs::create_dir_all(self.folder().join(PROFILES))?;
            write_synced(&svg, graph.svg.as_bytes())?;
            write_synced(&svg.with_extension("json"), &serde_json::to_vec(profile)?)?;
        }
        Ok(())
    }

    /// Writes the result.
    pub fn finish(&mut self, report: &LoadReport, result: &LoadResult) -> anyhow::Result<()> {
        self.folder.write_load(
            (LOAD_REPORT, report),
            [
                ("latency.hlog", &result.latency_hlog),
                ("lateness.hlog", &result.lateness_hlog),
            ],
        )?;
        self.progress(&LoadEvent::Result(Box::new(report.clone())));
        Ok(())
    }
}
