//! Checks for what limits a measurement on this machine, with advice; takes less than 3 s.

mod describe;
mod disk;
mod load;
mod system;
mod timing;

use std::path::Path;

use tare_record::record::{Check, Grade};

pub use describe::describe;
pub(crate) use disk::existing as nearest_folder;
pub(crate) use disk::file_system;
pub use load::OtherPrograms;

/// A program that is required for something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequiredProgram {
    /// Its name, looked for in `PATH` and the system's `sbin` folders.
    pub program: String,
    /// The Debian package that has it.
    pub package: String,
    /// Purpose.
    pub needed_for: String,
}

/// Examines the machine. `out` is the folder in which runs are written; each of `tools` is looked up.
#[must_use]
pub fn examine(out: &Path, tools: &[RequiredProgram]) -> Vec<Check> {
    // First: none of the load is ours yet.
    let others = OtherPrograms::watch();
    let activity = load::LoadDuringCheck::begin();
    let mut checks = vec![
        others.check(),
        system::cores(),
        system::quota(),
        system::governor(),
        system::clock_source(),
        timing::timer(),
        timing::scheduling(),
        timing::loopback(),
        timing::stamps(),
        system::addresses(),
        system::descriptors(),
        system::memory(),
        disk::space(out),
        disk::speed(out),
        system::distance(),
        system::observation(),
    ];
    // Last: covers steal and load during all checks.
    checks.extend(activity.end());
    checks.extend(tools.iter().map(system::required_program));
    checks
}

#[must_use]
pub fn worst(checks: &[Check]) -> Grade {
    checks
        .iter()
        .map(|check| check.grade)
        .max()
        .unwrap_or(Grade::Ok)
}

/// A check without a number.
fn check(name: &str, found: impl Into<String>) -> Check {
    Check {
        name: name.to_owned(),
        found: found.into(),
        value: None,
        unit: None,
        grade: Grade::Ok,
        advice: None,
    }
}

fn figure(name: &str, found: impl Into<String>, value: f64, unit: &str) -> Check {
    Check {
        value: Some(value),
        unit: Some(unit.to_owned()),
        ..check(name, found)
    }
}

/// Grades of checks; of several that apply, the last one counts.
trait Graded {
    /// Limits a measurement if this holds, with advice.
    fn warn_if(self, holds: bool, advice: impl Into<String>) -> Check;
    /// Prevents a measurement if this holds, with advice.
    fn fail_if(self, holds: bool, advice: impl Into<String>) -> Check;
}

impl Graded for Check {
    fn warn_if(self, holds: bool, advice: impl Into<String>) -> Check {
        graded(self, holds.then_some(Grade::Warning), advice)
    }

    fn fail_if(self, holds: bool, advice: impl Into<String>) -> Check {
        graded(self, holds.then_some(Grade::Error), advice)
    }
}

fn graded(check: Check, grade: Option<Grade>, advice: impl Into<String>) -> Check {
    match grade {
        None => check,
        Some(grade) => Check {
            grade,
            advice: Some(advice.into()),
            ..check
        },
    }
}

#[cfg(test)]
mod tests;
