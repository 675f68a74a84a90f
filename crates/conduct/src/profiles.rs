//! Profiles: one more trial per cell after the blocks, in which stacks are sampled. It has no record, so nothing of it is judged.

use std::time::{Duration, Instant};

use tare_lab::environment::TestBed;
use tare_lab::profile::{HERTZ, Sampling};
use tare_record::checksums::{CHECKSUMS, Checksums};
use tare_record::load::Stop;
use tare_record::plan::{Arm, Cell, Plan};
use tare_record::profile::Profile;

use crate::ConductError;
use crate::disk::write_synced;
use crate::error::TrialError;
use crate::folder::json_text;
use crate::trial::Task;

/// The instances of an arm that are profiled: those that the plan names, and all instances of parts that it names.
pub(crate) fn instances(plan: &Plan, arm: &Arm) -> Vec<String> {
    let names = arm.topology.parts().map(|instance| &instance.name);
    let is_named = |name: &&String| {
        plan.profile
            .iter()
            .any(|wanted| is_instance_of(name, wanted))
    };
    names.filter(is_named).cloned().collect()
}

/// Whether an instance is the named one, or one of several of a part: `broker-2` of `broker`.
#[must_use]
pub fn is_instance_of(instance: &str, name: &str) -> bool {
    let Some(rest) = instance.strip_prefix(name) else {
        return false;
    };
    let digits = rest.strip_prefix('-').unwrap_or_default();
    rest.is_empty() || (!digits.is_empty() && digits.bytes().all(|one| one.is_ascii_digit()))
}

/// Shortest window of a profile: shorter ones have too few samples.
const WINDOW_MIN: Duration = Duration::from_secs(5);

/// The same cell with windows that are long enough for a profile.
pub(crate) fn long_enough(mut cell: Cell) -> Cell {
    for role in &mut cell.load {
        if let Stop::Duration { window_ns } = &mut role.load.stop {
            *window_ns = (*window_ns).max(WINDOW_MIN.as_nanos() as u64);
        }
    }
    cell
}

/// The profiles that are being made in a window.
pub(crate) struct Profiles(Vec<(Profile, Sampling)>);

impl Profiles {
    /// Begins to sample when the window starts.
    pub(crate) fn start(
        task: &Task<'_>,
        bed: &mut dyn TestBed,
        window_start: Instant,
    ) -> Result<Profiles, TrialError> {
        let length = window(task.cell);
        let mut all = Vec::new();
        for instance in task.profile {
            let profiler = bed.profiler(instance)?;
            let profile = Profile {
                version: tare_record::FORMAT_VERSION,
                arm: task.cell.arm.clone(),
                level: task.cell.level.clone(),
                instance: instance.clone(),
                software: profiler.software.clone(),
                window_ns: length.as_nanos() as u64,
                hertz: HERTZ,
                samples: 0,
                stacks: std::collections::BTreeMap::new(),
            };
            all.push((profile, profiler.start(window_start, length)));
        }
        Ok(Profiles(all))
    }

    /// Writes what was sampled, one file per instance.
    pub(crate) fn write(self, task: &Task<'_>) -> Result<(), TrialError> {
        if self.0.is_empty() {
            return Ok(());
        }
        let mut sums = Checksums::default();
        for (mut profile, sampling) in self.0 {
            let instance = &profile.instance;
            let stacks = sampling.finish();
            profile.stacks = stacks.map_err(|why| {
                TrialError::Failed(format!("{instance} could not be profiled: {why}"))
            })?;
            profile.samples = profile.stacks.values().sum();
            let name = format!("{instance}.json");
            let file = task.folder.join(&name);
            let text = json_text(&file, &profile)?;
            sums.add(&name, &text);
            write_synced(&file, &text)?;
        }
        let written = sums.write(task.folder);
        Ok(written.map_err(ConductError::file("write", &task.folder.join(CHECKSUMS)))?)
    }
}

/// Length of the longest window; a load that ends by a number of requests is sampled for ten seconds at most.
fn window(cell: &Cell) -> Duration {
    let lengths = cell.load.iter().map(|role| match role.load.stop {
        Stop::Duration { window_ns } => Duration::from_nanos(window_ns),
        Stop::Count { .. } | Stop::Interrupted => Duration::from_secs(10),
    });
    lengths.max().unwrap_or_default()
}
