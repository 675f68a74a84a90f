//! Profiles of a load (`--profile`): stacks of the generator or of other processes, sampled while it runs.

use std::fmt;
use std::fs;
use std::str::FromStr;
use std::time::{Duration, Instant};

use tare_lab::profile::{HERTZ, Profiler, Sampling};
use tare_record::FORMAT_VERSION;
use tare_record::load::LoadSpec;
use tare_record::profile::Profile;

use super::args::OutputArgs;
use super::summary::LoadRate;
use crate::screen;

/// Longest time that is sampled: samples take memory and disk.
const SAMPLED_MAX: Duration = Duration::from_secs(60);

/// A process that is profiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProfiledProcess {
    /// The generator.
    Own,
    /// Another one.
    Pid(u32),
}

impl FromStr for ProfiledProcess {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "self" {
            return Ok(ProfiledProcess::Own);
        }
        let pid = text.strip_prefix("pid:").and_then(|pid| pid.parse().ok());
        pid.map(ProfiledProcess::Pid).ok_or_else(|| {
            "a load has no parts: name a process, pid:1234, or self for the generator".to_owned()
        })
    }
}

impl fmt::Display for ProfiledProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProfiledProcess::Own => f.write_str("self"),
            ProfiledProcess::Pid(pid) => write!(f, "pid-{pid}"),
        }
    }
}

impl ProfiledProcess {
    fn pid(self) -> u32 {
        match self {
            ProfiledProcess::Own => std::process::id(),
            ProfiledProcess::Pid(pid) => pid,
        }
    }
}

fn say_missing(process: ProfiledProcess, why: &str) {
    screen::say(format_args!("note: {process} is not profiled: {why}"));
}

/// The profiles of a load, while they are being made.
#[derive(Default)]
pub struct Profiles {
    waiting: Vec<(ProfiledProcess, Profiler)>,
    running: Vec<(ProfiledProcess, String, Instant, Sampling)>,
}

impl Profiles {
    /// Finds the processes. Where stacks cannot be sampled, the load goes on without, which is said.
    ///
    /// # Errors
    /// When there is no such process, or the load shall be judged.
    pub fn prepare(args: &OutputArgs) -> Result<Profiles, String> {
        let mut profiles = Profiles::default();
        if args.profile.is_empty() {
            return Ok(profiles);
        }
        if !args.assertions.is_empty() || args.max_error_rate.is_some() || args.require_rate {
            return Err(
                "sampling takes CPU time, so a profiled load is judged by no assertion: leave out --profile, or --assert, \
                 --max-error-rate and --require-rate"
                    .to_owned(),
            );
        }
        for process in &args.profile {
            let pid = process.pid();
            let name = fs::read_to_string(format!("/proc/{pid}/comm"))
                .map_err(|_| format!("--profile: there is no process {pid}"))?;
            match Profiler::of(vec![pid], name.trim()) {
                Ok(profiler) => profiles.waiting.push((*process, profiler)),
                Err(why) => say_missing(*process, &why),
            }
        }
        Ok(profiles)
    }

    /// Begins to sample.
    pub fn begin(&mut self) {
        for (process, profiler) in self.waiting.drain(..) {
            let software = profiler.software.clone();
            match profiler.begin(SAMPLED_MAX) {
                Ok(sampling) => self
                    .running
                    .push((process, software, Instant::now(), sampling)),
                Err(why) => say_missing(process, &why),
            }
        }
    }

    /// What was sampled until the end of the load.
    pub fn finish(self, load: &LoadSpec, rate: LoadRate, labels: Option<&str>) -> Vec<Profile> {
        let level = match rate.offered_per_s {
            Some(rate) => format!("{rate:.0}/s"),
            None => format!("{} connections", load.client.connections),
        };
        let sampled =
            self.running
                .into_iter()
                .filter_map(|(process, software, began, sampling)| {
                    let sampled = began.elapsed().min(SAMPLED_MAX);
                    let stacks = sampling.finish();
                    let stacks = stacks.map_err(|why| say_missing(process, &why)).ok()?;
                    Some(Profile {
                        version: FORMAT_VERSION,
                        arm: labels.unwrap_or("load").to_owned(),
                        level: level.clone(),
                        instance: process.to_string(),
                        software,
                        window_ns: sampled.as_nanos() as u64,
                        hertz: HERTZ,
                        samples: stacks.values().sum(),
                        stacks,
                    })
                });
        sampled.collect()
    }
}
