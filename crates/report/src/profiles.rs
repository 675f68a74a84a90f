//! Profiles of a run: reading them, a table of the functions that take most CPU time, and their flame graphs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use tare_record::profile::{PROFILES, Profile};
use tare_record::view::{FlameGraphView, Table, TableCell, TableColumn, TableRow};

use crate::flame_graph;
use crate::read::{FileError, checked_json, or_skip};
use crate::tables::TableInputs;

/// Most profiles that are read.
const PROFILES_MAX: usize = 500;
/// Share of samples without a name that is worth a sentence.
const UNNAMED: f64 = 0.1;
/// Functions in a table.
const FUNCTIONS: usize = 12;

/// Reads the profiles of a run's folder.
pub fn read(folder: &Path, skipped: &mut Vec<String>) -> Vec<Profile> {
    let mut files: Vec<_> = entries(&folder.join(PROFILES))
        .flat_map(|cell| entries(&cell))
        .filter(|file| file.extension().is_some_and(|end| end == "json"))
        .collect();
    files.sort();
    let profiles = files.into_iter().take(PROFILES_MAX).filter_map(|file| {
        let name = file
            .strip_prefix(folder)
            .unwrap_or(&file)
            .display()
            .to_string();
        let read: Result<Profile, FileError> = checked_json(&file);
        or_skip(skipped, &name, read)
    });
    profiles.collect()
}

fn entries(folder: &Path) -> impl Iterator<Item = std::path::PathBuf> + use<> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path())
}

/// A flame graph of every profile, and for arms after the first one also the differential graph against the first.
pub fn flame_graphs(profiles: &[Profile]) -> Vec<FlameGraphView> {
    let mut graphs = Vec::new();
    for profile in profiles {
        let graph = |against: Option<&Profile>| FlameGraphView {
            arm: profile.arm.clone(),
            level: profile.level.clone(),
            instance: profile.instance.clone(),
            against: against.map(|other| other.arm.clone()),
            svg: flame_graph::svg(profile, against),
        };
        graphs.push(graph(None));
        let first = profiles.iter().find(|other| is_same_part(profile, other));
        graphs.extend(
            first
                .filter(|first| first.arm != profile.arm)
                .map(|first| graph(Some(first))),
        );
    }
    graphs
}

fn is_same_part(a: &Profile, b: &Profile) -> bool {
    (&a.level, &a.instance) == (&b.level, &b.instance)
}

/// Share of the samples in which each function was the innermost one.
fn own_shares(profile: &Profile) -> BTreeMap<&str, f64> {
    let mut shares = BTreeMap::new();
    for (stack, samples) in &profile.stacks {
        let innermost = stack.rsplit(';').next().unwrap_or_default();
        *shares.entry(innermost).or_insert(0.0) += *samples as f64 / profile.samples.max(1) as f64;
    }
    shares
}

/// The functions that take most CPU time themselves, one table per instance and level with a column per arm.
pub fn tables(source: &TableInputs<'_>) -> Vec<Table> {
    let profiles = &source.run.profiles;
    let parts: BTreeSet<(&str, &str)> = profiles
        .iter()
        .map(|profile| (profile.level.as_str(), profile.instance.as_str()))
        .collect();
    let tables = parts.into_iter().map(|(level, instance)| {
        let of_part: Vec<&Profile> = profiles
            .iter()
            .filter(|profile| (profile.level.as_str(), profile.instance.as_str()) == (level, instance))
            .collect();
        let shares: Vec<BTreeMap<&str, f64>> = of_part.iter().map(|one| own_shares(one)).collect();
        let mut table = Table::new(
            "profiled-functions",
            "Profiles",
            format!("CPU time of {instance} by function"),
        );
        table.level = Some(level.to_owned());
        let arms = of_part.iter().map(|profile| TableColumn::figure(&profile.arm));
        table.columns = std::iter::once(TableColumn::name("function")).chain(arms).collect();
        table.rows = most(&shares)
            .into_iter()
            .map(|function| {
                let of_arms = shares.iter().map(|of_arm| share(of_arm.get(function).copied()));
                let cells = std::iter::once(TableCell::from(function.to_owned())).chain(of_arms);
                TableRow::from(cells.collect::<Vec<_>>())
            })
            .collect();
        let samples: Vec<String> = of_part
            .iter()
            .map(|profile| format!("{} in {}", profile.samples, profile.arm))
            .collect();
        let unnamed = shares.iter().map(|of_arm| {
            let unnamed = of_arm.iter().filter(|(name, _)| name.starts_with('['));
            unnamed.map(|(_, share)| share).sum::<f64>()
        });
        let is_unnamed = unnamed.fold(0.0, f64::max) > UNNAMED;
        table.footnotes = vec![format!(
            "Share of the samples in which the function itself ran, without those that it calls; samples: {}. They are of one more trial of \
             each arm, which is not judged: sampling takes CPU time.",
            samples.join(", ")
        )];
        table.footnotes.extend(is_unnamed.then(|| {
            String::from(
                "In brackets: programs without names of functions (stripped ones); a build with symbols shows them.",
            )
        }));
        table
    });
    tables.collect()
}

/// The functions with the largest shares in any arm.
fn most<'a>(shares: &[BTreeMap<&'a str, f64>]) -> Vec<&'a str> {
    let mut largest: BTreeMap<&str, f64> = BTreeMap::new();
    for (function, share) in shares.iter().flatten() {
        let known = largest.entry(function).or_insert(0.0);
        *known = known.max(*share);
    }
    let mut all: Vec<(&str, f64)> = largest.into_iter().collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
    all.into_iter()
        .take(FUNCTIONS)
        .map(|(function, _)| function)
        .collect()
}

fn share(share: Option<f64>) -> TableCell {
    let share = share.unwrap_or(0.0);
    TableCell {
        value: Some(share),
        ..TableCell::from(format!("{:.1} %", share * 100.0))
    }
}
