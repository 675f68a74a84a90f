//! What becomes of a trial: from results, usage and proofs to its status.

use std::collections::BTreeMap;

use tare_schema::agent::{Ended, LoadResult};
use tare_schema::load::Deal;
use tare_schema::plan::{Plan, RoleLoad};
use tare_schema::record::{PartUsage, RoleResult, TrialStatus};

use crate::evidence::Evidence;
use crate::fitness;
use crate::trial::{Measured, RunningAgent, Usage};

/// Judges a trial that came to its end.
pub(crate) fn judge(
    plan: &Plan,
    agents: Vec<RunningAgent>,
    mut usage: Usage,
    evidence: Evidence,
) -> Measured {
    by_their_own_account(&mut usage.parts, &agents);
    let Evidence { proofs, audits, .. } = evidence;
    let mut unfit = Vec::new();
    let mut load = Vec::new();
    let endpoints = agents.iter().map(|agent| agent.endpoint.clone()).collect();
    for agent in agents {
        let Some(result) = agent.result else { continue };
        match (result.ended, &result.broke_off) {
            (Ended::Completed, _) => {}
            (Ended::BrokeOff, Some(why)) => {
                unfit.push(format!("the load of role {} broke off: {why}", result.role));
            }
            (Ended::BrokeOff | Ended::Interrupted, _) => {
                unfit.push(format!("the agent of role {} was cut short", result.role));
            }
        }
        let passed = plan.fitness.unfit(&result);
        unfit.extend(passed.iter().map(ToString::to_string));
        load.push(role_result(&agent.role, result));
    }
    if let Some(machine) = &mut usage.machine {
        machine.foreign = fitness::foreign_load(&plan.placement, machine, &usage.parts);
    } else {
        unfit.push("the load was over before it could be observed: make it longer".into());
    }
    let mut wrong: Vec<String> = proofs
        .iter()
        .filter(|proof| !proof.holds)
        .map(|p| {
            let over = p.edge.as_ref();
            let over = over.map_or_else(String::new, |edge| format!(" over {edge}"));
            format!(
                "{} {}{over}: {} instead of {}",
                p.instance, p.what, p.found, p.expected
            )
        })
        .collect();
    let audited = audits.iter().filter(|audit| !audit.holds);
    wrong.extend(audited.map(|audit| format!("audit {}: {}", audit.asked, audit.found)));
    // One right answer is enough: the instrument may have been as good as ever. Whether so few carry a verdict is judged with
    // the other arm, from what failed of both.
    let answered: u64 = load.iter().map(|role| role.right).sum();
    let status = if answered == 0 {
        TrialStatus::Failed {
            reason: nothing_right(&load),
            log_tail: Vec::new(),
        }
    } else if !wrong.is_empty() {
        TrialStatus::Invalid { reasons: wrong }
    } else if !unfit.is_empty() {
        TrialStatus::Unfit { reasons: unfit }
    } else {
        TrialStatus::Fit
    };
    let saturated = usage
        .machine
        .as_ref()
        .is_some_and(|machine| fitness::is_saturated(&plan.fitness, &plan.placement, machine));
    Measured {
        status,
        saturated,
        load,
        parts: usage.parts,
        machine: usage.machine,
        proofs,
        audits,
        endpoints,
        told: Vec::new(),
        events: Vec::new(),
        read_back: None,
    }
}

/// An agent has no more to do when its window ends: one that was gone before it could be read tells its CPU and memory itself.
fn by_their_own_account(parts: &mut [PartUsage], agents: &[RunningAgent]) {
    let mut numbers: BTreeMap<&str, u32> = BTreeMap::new();
    for agent in agents {
        let number = numbers.entry(&agent.role.instance).or_default();
        *number += 1;
        let name = match *number {
            1 => agent.role.instance.clone(),
            more => format!("{}-{more}", agent.role.instance),
        };
        let part = parts.iter_mut().find(|part| part.instance == name);
        if let (Some(part), Some(result)) = (part, &agent.result) {
            let own = &result.instrument;
            part.cpu_ns.get_or_insert(own.cpu_ns);
            part.rss_peak_bytes.get_or_insert(own.peak_rss_bytes);
        }
    }
}

fn nothing_right(load: &[RoleResult]) -> String {
    let worst = load
        .iter()
        .flat_map(|role| &role.outcomes)
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

fn role_result(role: &RoleLoad, result: LoadResult) -> RoleResult {
    let share = role.load.pacing.share(Deal {
        parts: role.agents,
        part: 0,
    });
    RoleResult {
        records: result.flow(&role.load.client),
        offered_per_s: match &result.sessions {
            // A rate of sessions is none of requests.
            Some(_) => None,
            None => share.offered_per_s(result.intended, result.window_ns),
        },
        role: result.role,
        ended: result.ended,
        window_start_unix_us: result.window_start_unix_us,
        window_ns: result.window_ns,
        intended: result.intended,
        released: result.released,
        sent: result.sent,
        right: result.right,
        errors: result.errors,
        unfinished: result.unfinished,
        answered_in_window: result.answered_in_window,
        overflow: result.overflow,
        outcomes: result.outcomes,
        requests_sent_total: result.requests_sent_total,
        by_request: result.by_request,
        sessions: result.sessions,
        connections: result.connections,
        protocol_counts: result.protocol_counts,
        bytes_sent: result.bytes_sent,
        bytes_received: result.bytes_received,
        waits: result.waits,
        instrument: result.instrument,
    }
}
