//! Differences between two runs: those that make them incomparable, and possible causes of different figures.

use std::collections::BTreeSet;

use tare_record::record::EnvironmentRecord;

use crate::read::Run;

/// All differences between two runs.
pub fn all(before: &Run, after: &Run) -> Vec<String> {
    let mut found = blocking(before, after);
    found.extend(possible_causes(before, after));
    found
}

/// Differences that make the runs incomparable: another machine, another experiment.
pub fn blocking(before: &Run, after: &Run) -> Vec<String> {
    let mut found = Vec::new();
    let (a, b) = (&before.plan, &after.plan);
    if a.experiment != b.experiment {
        found.push(format!(
            "they are runs of {} and of {}",
            a.experiment, b.experiment
        ));
    } else if a.file_digest != b.file_digest {
        found.push("the experiment's file was changed between them".into());
    }
    if a.form != b.form {
        found.push("one is the quick form of the experiment".into());
    }
    match (&before.environment, &after.environment) {
        (Some(a), Some(b)) if a.fingerprint != b.fingerprint => found.push(machines(a, b)),
        (Some(a), Some(b)) if a.addressing != b.addressing => found.push(format!(
            "the pods of one have {} as addresses, those of the other {}",
            a.addressing, b.addressing
        )),
        (Some(_), Some(_)) => {}
        _ => found.push("the machine of one of them is not recorded".into()),
    }
    found
}

fn machines(a: &EnvironmentRecord, b: &EnvironmentRecord) -> String {
    let pairs = [
        ("processor", a.cpu_model.clone(), b.cpu_model.clone()),
        ("cores", a.cores.to_string(), b.cores.to_string()),
        ("kernel", a.kernel.clone(), b.kernel.clone()),
        ("addressing", a.addressing.clone(), b.addressing.clone()),
        ("environment", a.environment.clone(), b.environment.clone()),
        ("cluster", cluster(a), cluster(b)),
    ];
    let differing: Vec<String> = pairs
        .into_iter()
        .filter(|(_, a, b)| a != b)
        .map(|(name, a, b)| format!("{name} {a} against {b}"))
        .collect();
    let differing = if differing.is_empty() {
        String::new()
    } else {
        format!(" ({})", differing.join(", "))
    };
    format!(
        "the machines differ: fingerprint {} against {}{differing}",
        a.fingerprint, b.fingerprint
    )
}

fn cluster(environment: &EnvironmentRecord) -> String {
    let ids = environment.clusters().map(|one| one.id.as_str());
    let ids: Vec<&str> = ids.collect();
    match ids.is_empty() {
        true => String::from("none"),
        false => ids.join(", "),
    }
}

/// Whether both are known and not the same.
fn differ(a: &Option<String>, b: &Option<String>) -> bool {
    a.is_some() && b.is_some() && a != b
}

/// Differences that may cause different figures.
pub fn possible_causes(before: &Run, after: &Run) -> Vec<String> {
    let mut found = Vec::new();
    if before.plan.seed != after.plan.seed {
        found.push(format!(
            "the seed of the order, {} and {}",
            before.plan.seed, after.plan.seed
        ));
    }
    let (Some(a), Some(b)) = (&before.environment, &after.environment) else {
        return found;
    };
    let build = |of: &EnvironmentRecord| of.tare_build.as_ref().unwrap_or(&of.tare).clone();
    if build(a) != build(b) {
        found.push(format!("tare, {} and {}", build(a), build(b)));
    } else if differ(&a.tare_sha256, &b.tare_sha256) {
        found.push(String::from("tare, which was built anew"));
    }
    if a.boot_id != b.boot_id {
        found.push("the boot of the machine".into());
    }
    for (a, b) in a.clusters().zip(b.clusters()) {
        let of = match a.sites.is_empty() {
            true => String::new(),
            false => format!(" of {}", a.sites.join(", ")),
        };
        if a.kubernetes != b.kubernetes {
            found.push(format!(
                "Kubernetes{of}, {} and {}",
                a.kubernetes, b.kubernetes
            ));
        }
        if a.nodes != b.nodes {
            found.push(format!("the nodes of the cluster{of}"));
        }
        if a.load_cores != b.load_cores {
            found.push(format!("the exclusive cores of agents{of}"));
        }
    }
    let names: BTreeSet<&String> = a.targets.keys().chain(b.targets.keys()).collect();
    for name in names {
        let version = |e: &EnvironmentRecord| {
            e.targets.get(name).map_or_else(
                || "absent".into(),
                |v| format!("{} ({})", v.version, v.source),
            )
        };
        if version(a) != version(b) {
            found.push(format!("{name}, {} and {}", version(a), version(b)));
        } else if let (Some(a), Some(b)) = (a.targets.get(name), b.targets.get(name)) {
            if differ(&a.sha256, &b.sha256) {
                found.push(format!("the program of {name}"));
            }
            if differ(&a.folder_sha256, &b.folder_sha256) {
                found.push(format!("the target folder of {name}"));
            }
        }
    }
    for (name, value) in &a.facts {
        if let Some(other) = b.facts.get(name).filter(|other| *other != value) {
            found.push(format!("{name}, {value} and {other}"));
        }
    }
    found
}
