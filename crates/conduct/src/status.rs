//! The status of a trial, from its results, proofs and audits.

use std::collections::BTreeMap;

use tare_record::agent::{LoadEnd, LoadResult};
use tare_record::plan::{Cell, Plan};
use tare_record::record::{TrialRecord, TrialStatus};

use crate::cpu_load;

/// Sets the status of a trial that was completed.
pub(crate) fn judge(
    plan: &Plan,
    cell: &Cell,
    read_back_violations: Vec<String>,
    record: &mut TrialRecord,
) {
    fill_usage_from_agents(cell, record);
    let mut unfit = record
        .load
        .iter()
        .flat_map(incomplete_load)
        .collect::<Vec<_>>();
    for result in &record.load {
        let passed = plan.fitness.unfit(result);
        unfit.extend(passed.iter().map(ToString::to_string));
    }
    match &mut record.machine {
        Some(machine) => {
            // An external part may have run on these cores: that is not known.
            if record.not_proved.is_empty() {
                let parts = &record.instances;
                machine.background = cpu_load::background_load(&plan.placement, machine, parts);
                let known = machine.background_cpu_ns;
                machine.background_cpu_ns =
                    known.or_else(|| cpu_load::background_cpu_ns(machine, parts));
            }
            machine.other_arms = cpu_load::other_arms(&plan.placement, machine);
            record.saturated = cpu_load::is_saturated(&plan.fitness, &plan.placement, machine);
        }
        None => {
            unfit.push("the load ended before it could be observed: make it longer".into());
        }
    }
    let wrong: Vec<String> = failed_checks(record).chain(read_back_violations).collect();
    // One success is enough here. Whether the error rate allows a verdict is decided together with the other arm.
    let answered: u64 = record.load.iter().map(|result| result.ok).sum();
    let released: u64 = record.load.iter().map(|result| result.released).sum();
    // When nothing was released, that is not the target's failure, unless it has never answered at all.
    let is_hung = never_answered(&record.load);
    if released == 0 && !is_hung && unfit.is_empty() {
        unfit.push(
            "nothing was sent in the window: the generator got no CPU in it, or no connection came up"
                .into(),
        );
    }
    record.status = if answered == 0 && (released > 0 || is_hung) {
        TrialStatus::Failed {
            reason: no_success_reason(&record.load),
            log_tail: Vec::new(),
        }
    } else if !wrong.is_empty() {
        TrialStatus::Invalid { reasons: wrong }
    } else if !unfit.is_empty() {
        TrialStatus::Unfit { reasons: unfit }
    } else {
        TrialStatus::Fit
    };
}

/// Why a load ended early, if it did.
fn incomplete_load(result: &LoadResult) -> Option<String> {
    let role = &result.role;
    match (result.ended, &result.abort_reason) {
        (LoadEnd::Completed, _) => None,
        (LoadEnd::Aborted, Some(why)) => {
            Some(format!("the load of role {role} was aborted: {why}"))
        }
        (LoadEnd::Aborted | LoadEnd::Interrupted, _) => {
            Some(format!("the agent of role {role} was cut short"))
        }
    }
}

/// Proofs and audits that failed.
fn failed_checks(record: &TrialRecord) -> impl Iterator<Item = String> {
    let proofs = record.proofs.iter().filter(|proof| !proof.passed);
    let proofs = proofs.map(|p| {
        let over = p.edge.as_ref();
        let over = over.map_or_else(String::new, |edge| format!(" over {edge}"));
        format!(
            "{} {}{over}: {} instead of {}",
            p.instance, p.check, p.actual, p.expected
        )
    });
    let audits = record.audits.iter().filter(|audit| !audit.passed);
    proofs.chain(audits.map(|audit| format!("audit {}: {}", audit.request, audit.actual)))
}

/// Fills in CPU and memory of agents that exited before they could be read, from their own results.
fn fill_usage_from_agents(cell: &Cell, record: &mut TrialRecord) {
    let mut numbers: BTreeMap<&str, u32> = BTreeMap::new();
    for result in &record.load {
        let Some(role) = cell.load.iter().find(|role| role.role == result.role) else {
            continue;
        };
        let number = numbers.entry(&role.instance).or_default();
        *number += 1;
        let name = match *number {
            1 => role.instance.clone(),
            more => format!("{}-{more}", role.instance),
        };
        if let Some(part) = record
            .instances
            .iter_mut()
            .find(|part| part.instance == name)
        {
            let own = &result.generator;
            part.cpu_ns.get_or_insert(own.cpu_ns);
            part.rss_peak_bytes.get_or_insert(own.peak_rss_bytes);
        }
    }
}

/// Whether requests were sent, warm-up included, and none succeeded.
fn never_answered(load: &[LoadResult]) -> bool {
    let sent = load.iter().any(|result| result.requests_sent_total > 0);
    let mut requests = load.iter().flat_map(|result| result.by_request.values());
    sent && requests.all(|request| request.ok == 0)
}

fn no_success_reason(load: &[LoadResult]) -> String {
    let worst = load
        .iter()
        .flat_map(|result| &result.outcomes)
        .filter(|outcome| outcome.class != "ok")
        .max_by_key(|outcome| outcome.count);
    match worst {
        Some(outcome) => format!(
            "no request succeeded; most failed with {} ({})",
            outcome.class,
            outcome.example.as_deref().unwrap_or("no example")
        ),
        None => "no exchange was answered".to_owned(),
    }
}
