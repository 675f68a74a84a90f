//! Why comparisons have no verdict: one sentence per reason, with all comparisons that have it.

use tare_record::metric::Metric;
use tare_record::plan::Plan;
use tare_record::view::{Family, Outcome, Overhead, View};

use super::at_level;
use super::clauses::{list, object};
use crate::cells::distinct;
use crate::failures::is_unjudged;

/// Comparisons of one level and the same metrics without a verdict, for one reason.
struct Group<'a> {
    reason: &'a str,
    level: &'a str,
    arms: Vec<String>,
    metrics: Vec<Metric>,
}

/// One sentence per reason; comparisons without a verdict because of failures are reported with the failures.
pub fn reasons(plan: &Plan, view: &View) -> Vec<String> {
    let primary: Vec<&Overhead> = view
        .overheads
        .iter()
        .filter(|one| one.family == Family::Primary && !is_unjudged(view, one))
        .collect();
    let whys = distinct(primary.iter().filter_map(|one| match &one.outcome {
        Outcome::None { reason } => Some(reason.as_str()),
        _ => None,
    }));
    let sentence = |reason: &&str| {
        let is_all = primary.iter().all(|one| has_reason(one, reason));
        match is_all {
            true => format!("No verdict on any comparison: {reason}."),
            false => group_sentence(plan, &groups(view, &primary, reason)),
        }
    };
    whys.iter().map(sentence).collect()
}

fn has_reason(overhead: &Overhead, reason: &str) -> bool {
    matches!(&overhead.outcome, Outcome::None { reason: known } if known == reason)
}

/// Cells of one level with the same metrics are in one group.
fn groups<'a>(view: &'a View, primary: &[&Overhead], reason: &'a str) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    for level in &view.levels {
        for arm in &view.arms {
            let here = primary.iter().filter(|one| {
                one.arm == arm.name && one.level == level.name && has_reason(one, reason)
            });
            let metrics: Vec<Metric> = here.map(|one| one.metric).collect();
            if metrics.is_empty() {
                continue;
            }
            let alike = groups
                .iter_mut()
                .find(|group| group.level == level.name && group.metrics == metrics);
            match alike {
                Some(group) => group.arms.push(arm.name.clone()),
                None => groups.push(Group {
                    reason,
                    level: &level.name,
                    arms: vec![arm.name.clone()],
                    metrics,
                }),
            }
        }
    }
    groups
}

/// "No verdict on p99 of client-sidecar and both-sidecars at 2000 requests/s; on CPU of direct at 400 requests/s: only …"
fn group_sentence(plan: &Plan, groups: &[Group<'_>]) -> String {
    let each: Vec<String> = groups
        .iter()
        .map(|group| {
            let metrics: Vec<String> = group.metrics.iter().map(|m| object(*m).into()).collect();
            let at = at_level(plan, group.level);
            format!("on {} of {}{at}", list(&metrics), list(&group.arms))
        })
        .collect();
    let reason = groups.first().map_or("", |group| group.reason);
    format!("No verdict {}: {reason}.", each.join("; "))
}
