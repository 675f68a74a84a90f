//! Warnings about trials that do not count, with the causes that their records name.

use tare_record::agent::LoadEnd;
use tare_record::record::{TrialRecord, TrialStatus};

use super::clauses::list;
use crate::quantity;
use crate::read::Run;

/// Upper limit of reasons that are named for failed trials; the list of excluded trials has all.
const REASONS_NAMED: usize = 3;

/// Trials of one status with one cause.
struct Excluded<'a> {
    status: &'static str,
    /// Cause, where the reason does not begin with it.
    cause: Option<String>,
    /// Number of the first trial, and its first reason.
    trial: u32,
    reason: Option<&'a str>,
    count: u64,
}

/// One warning for each status and cause.
pub fn excluded_trials(run: &Run) -> Vec<String> {
    let records = run.trials.iter().map(|trial| &trial.record);
    let mut groups: Vec<Excluded<'_>> = Vec::new();
    for record in records.filter(|record| !record.superseded) {
        let Some(found) = excluded(record) else {
            continue;
        };
        let known = groups.iter_mut().find(|known| known.is_alike(&found));
        match known {
            Some(known) => known.count += 1,
            None => groups.push(found),
        }
    }
    let of = |status: &'static str| groups.iter().filter(move |group| group.status == status);
    let mut texts: Vec<String> = of("unfit")
        .chain(of("invalid"))
        .map(Excluded::text)
        .collect();
    texts.extend(of("failed").take(REASONS_NAMED).map(Excluded::text));
    let others: u64 = of("failed")
        .skip(REASONS_NAMED)
        .map(|group| group.count)
        .sum();
    if others > 0 {
        let trials = quantity::counted(others, "trial", "trials");
        texts.push(format!("{trials} discarded as failed, for other reasons."));
    }
    texts
}

impl Excluded<'_> {
    fn is_alike(&self, other: &Excluded<'_>) -> bool {
        // Failed trials have no cause apart from their reason.
        self.status == other.status
            && self.cause == other.cause
            && (self.cause.is_some() || self.reason == other.reason)
    }

    fn text(&self) -> String {
        let trials = quantity::counted(self.count, "trial", "trials");
        let cause = self.cause.as_ref();
        let cause = cause.map_or_else(String::new, |cause| format!(": {cause}"));
        let reason = self.reason.map(|reason| format!(": {reason}"));
        format!(
            "{trials} discarded as {}{cause} (trial {}{}).",
            self.status,
            self.trial,
            reason.unwrap_or_default()
        )
    }
}

/// Status and cause of a trial that does not count.
fn excluded(record: &TrialRecord) -> Option<Excluded<'_>> {
    let (status, cause, reason) = match &record.status {
        TrialStatus::Fit => return None,
        TrialStatus::Unfit { reasons } => {
            ("unfit", Some(limit(record).to_owned()), reasons.first())
        }
        TrialStatus::Invalid { reasons } => (
            "invalid",
            Some(failed_checks(record, reasons)),
            reasons.first(),
        ),
        TrialStatus::Failed { reason, .. } => ("failed", None, Some(reason)),
    };
    Some(Excluded {
        status,
        cause,
        trial: record.trial,
        reason: reason.map(String::as_str),
        count: 1,
    })
}

/// Cause of an unfit trial.
fn limit(record: &TrialRecord) -> &'static str {
    let load = &record.load;
    if load.iter().any(|role| role.ended != LoadEnd::Completed) {
        "a load ended early"
    } else if record.machine.is_none() {
        "a load was too short to be observed"
    } else if load.iter().all(|role| role.released == 0) {
        "nothing was sent"
    } else {
        "the load generator was the limit"
    }
}

/// Kinds of checks that failed. Reasons that are neither proofs nor audits are those of the read-back.
fn failed_checks(record: &TrialRecord, reasons: &[String]) -> String {
    let proofs = record.proofs.iter().filter(|proof| !proof.passed).count();
    let audits = record.audits.iter().filter(|audit| !audit.passed).count();
    let read_back = reasons.len().saturating_sub(proofs + audits);
    let kinds = [
        (proofs, "a path proof"),
        (audits, "an audit"),
        (read_back, "the read-back"),
    ];
    let failed = kinds.into_iter().filter(|(count, _)| *count > 0);
    let failed: Vec<String> = failed.map(|(_, kind)| kind.to_owned()).collect();
    match failed.is_empty() {
        true => "a check failed".to_owned(),
        false => format!("{} failed", list(&failed)),
    }
}
