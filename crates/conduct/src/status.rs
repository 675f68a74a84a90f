//! What becomes of a trial: from what was measured and proved to its status.

use std::collections::BTreeMap;

use tare_schema::agent::{Ended, LoadResult};
use tare_schema::plan::{Cell, Plan};
use tare_schema::record::{TrialRecord, TrialStatus};

use crate::fitness;

/// Judges a trial that came to its end; `unread` is what is wrong with what was read back.
pub(crate) fn judge(plan: &Plan, cell: &Cell, unread: Vec<String>, record: &mut TrialRecord) {
    by_their_own_account(cell, record);
    let mut unfit = record.load.iter().flat_map(cut_short).collect::<Vec<_>>();
    for result in &record.load {
        let passed = plan.fitness.unfit(result);
        unfit.extend(passed.iter().map(ToString::to_string));
    }
    match &mut record.machine {
        Some(machine) => {
            // Whether an external part ran on these cores is not known.
            machine.foreign = match record.not_proved.is_empty() {
                true => fitness::foreign_load(&plan.placement, machine, &record.parts),
                false => None,
            };
            record.saturated = fitness::is_saturated(&plan.fitness, &plan.placement, machine);
        }
        None => {
            unfit.push("the load was over before it could be observed: make it longer".into());
        }
    }
    let wrong: Vec<String> = disproved(record).chain(unread).collect();
    // One right answer is enough: the instrument may have been as good as ever. Whether so few carry a verdict is judged with
    // the other arm, from what failed of both.
    let answered: u64 = record.load.iter().map(|result| result.right).sum();
    let released: u64 = record.load.iter().map(|result| result.released).sum();
    // Where nothing was even released, the target has not failed, unless it has never answered.
    let is_hung = never_answered(&record.load);
    if released == 0 && !is_hung && unfit.is_empty() {
        unfit.push(
            "nothing was sent in the window: the generator got no CPU in it, or no connection came up"
                .into(),
        );
    }
    record.status = if answered == 0 && (released > 0 || is_hung) {
        TrialStatus::Failed {
            reason: nothing_right(&record.load),
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

/// Why a load did not come to its end.
fn cut_short(result: &LoadResult) -> Option<String> {
    let role = &result.role;
    match (result.ended, &result.broke_off) {
        (Ended::Completed, _) => None,
        (Ended::BrokeOff, Some(why)) => Some(format!("the load of role {role} broke off: {why}")),
        (Ended::BrokeOff | Ended::Interrupted, _) => {
            Some(format!("the agent of role {role} was cut short"))
        }
    }
}

/// Proofs and audits that do not hold.
fn disproved(record: &TrialRecord) -> impl Iterator<Item = String> {
    let proofs = record.proofs.iter().filter(|proof| !proof.holds);
    let proofs = proofs.map(|p| {
        let over = p.edge.as_ref();
        let over = over.map_or_else(String::new, |edge| format!(" over {edge}"));
        format!(
            "{} {}{over}: {} instead of {}",
            p.instance, p.what, p.found, p.expected
        )
    });
    let audits = record.audits.iter().filter(|audit| !audit.holds);
    proofs.chain(audits.map(|audit| format!("audit {}: {}", audit.asked, audit.found)))
}

/// An agent has no more to do when its window ends: one that was gone before it could be read tells its CPU and memory itself.
fn by_their_own_account(cell: &Cell, record: &mut TrialRecord) {
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
        if let Some(part) = record.parts.iter_mut().find(|part| part.instance == name) {
            let own = &result.instrument;
            part.cpu_ns.get_or_insert(own.cpu_ns);
            part.rss_peak_bytes.get_or_insert(own.peak_rss_bytes);
        }
    }
}

/// Whether requests were sent, in the warm-up at least, and none was answered rightly.
fn never_answered(load: &[LoadResult]) -> bool {
    let sent = load.iter().any(|result| result.requests_sent_total > 0);
    let mut requests = load.iter().flat_map(|result| result.by_request.values());
    sent && requests.all(|request| request.right == 0)
}

fn nothing_right(load: &[LoadResult]) -> String {
    let worst = load
        .iter()
        .flat_map(|result| &result.outcomes)
        .filter(|outcome| outcome.class != "right")
        .max_by_key(|outcome| outcome.count);
    match worst {
        Some(outcome) => format!(
            "no exchange was answered rightly; most ended as {} ({})",
            outcome.class,
            outcome.example.as_deref().unwrap_or("no example")
        ),
        None => "no exchange was answered".to_owned(),
    }
}
