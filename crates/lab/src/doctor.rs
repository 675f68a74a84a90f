//! What limits a measurement on this machine, and what to do about it; in less than 3 s.

mod describe;
mod disk;
mod load;
mod system;
mod timing;

use std::path::Path;

use tare_schema::record::{Check, Grade};

pub use describe::describe;
pub(crate) use disk::existing as nearest_folder;
pub(crate) use disk::file_system;
pub use load::OtherPrograms;

/// A program that something needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tool {
    /// Its name, looked for in `PATH` and the system's `sbin` folders.
    pub program: String,
    /// The Debian package that has it.
    pub package: String,
    /// What it is needed for.
    pub needed_for: String,
}

/// Examines the machine. `out` is the folder in which runs are written; `tools` are looked for.
#[must_use]
pub fn examine(out: &Path, tools: &[Tool]) -> Vec<Check> {
    // First: none of it is ours then.
    let others = OtherPrograms::watch();
    let activity = load::Activity::begin();
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
    // Last: it judges what the host did meanwhile.
    checks.extend(activity.end());
    checks.extend(tools.iter().map(system::tool));
    checks
}

/// The worst grade of all.
#[must_use]
pub fn worst(checks: &[Check]) -> Grade {
    checks
        .iter()
        .map(|check| check.grade)
        .max()
        .unwrap_or(Grade::Good)
}

/// A check without a figure.
fn check(name: &str, found: impl Into<String>) -> Check {
    Check {
        name: name.to_owned(),
        found: found.into(),
        value: None,
        unit: None,
        grade: Grade::Good,
        advice: None,
    }
}

/// The same with a figure.
fn figure(name: &str, found: impl Into<String>, value: f64, unit: &str) -> Check {
    Check {
        value: Some(value),
        unit: Some(unit.to_owned()),
        ..check(name, found)
    }
}

/// A check that is not good, with what to do.
fn but(check: Check, grade: Grade, advice: impl Into<String>) -> Check {
    Check {
        grade,
        advice: Some(advice.into()),
        ..check
    }
}

#[cfg(test)]
mod tests;
