//! What was acknowledged, held against what is there after a trial.

use tare_lab::LabError;
use tare_lab::environment::Bed;
use tare_schema::agent::Acknowledged;
use tare_schema::plan::{Cell, Promise, ReadBackPlan};
use tare_schema::record::{ReadBackRecord, TrialStatus};

use crate::trial::{self, Measured};

/// Reads back what a cell wants read back. Without a record there are words why not.
///
/// # Errors
/// When the laboratory itself cannot go on.
pub(crate) fn read(
    cell: &Cell,
    (trial, seed): (u32, u64),
    acknowledged: &[Acknowledged],
    bed: &mut dyn Bed,
) -> Result<Option<Result<ReadBackRecord, String>>, LabError> {
    let Some(plan) = &cell.read_back else {
        return Ok(None);
    };
    match bed.read_back(&plan.topic.of_trial(trial), seed, acknowledged) {
        Ok(found) => Ok(Some(Ok(judged(plan, found)))),
        Err(error) if trial::is_ours(&error) => Err(error),
        Err(error) => Ok(Some(Err(error.to_string()))),
    }
}

/// Says which promises were not kept.
fn judged(plan: &ReadBackPlan, mut found: ReadBackRecord) -> ReadBackRecord {
    let of = |count: u64, what: &str| {
        format!(
            "{count} of {} acknowledged records {what} ({} read back)",
            found.acknowledged, found.read
        )
    };
    let mut broken = Vec::new();
    for promise in &plan.promises {
        match promise {
            Promise::NoneLost if found.lost > 0 => broken.push(of(found.lost, "are lost")),
            Promise::NoneDuplicated if found.duplicated > 0 => {
                broken.push(format!(
                    "{} records are there twice or more ({} read back)",
                    found.duplicated, found.read
                ));
            }
            Promise::NoneLost | Promise::NoneDuplicated => {}
        }
    }
    if found.acknowledged == 0 {
        broken.push(String::from(
            "nothing was acknowledged, so nothing could be held against it",
        ));
    }
    found.broken = broken;
    found
}

/// Lays what was found into what was measured: a promise that was broken makes it invalid.
pub(crate) fn lay(measured: &mut Measured, found: Option<Result<ReadBackRecord, String>>) {
    let wrong = match found {
        None => return,
        Some(Ok(found)) => {
            let broken = found.broken.clone();
            measured.read_back = Some(found);
            broken
        }
        Some(Err(why)) => vec![why],
    };
    if wrong.is_empty() {
        return;
    }
    match &mut measured.status {
        TrialStatus::Failed { .. } => {}
        TrialStatus::Invalid { reasons } => reasons.extend(wrong),
        TrialStatus::Fit | TrialStatus::Unfit { .. } => {
            measured.status = TrialStatus::Invalid { reasons: wrong };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_schema::plan::TopicOf;

    fn found(lost: u64, duplicated: u64) -> ReadBackRecord {
        ReadBackRecord {
            topic: "t-1".into(),
            acknowledged: 100,
            read: 100 - lost + duplicated,
            lost,
            duplicated,
            unacknowledged: 0,
            disordered: 0,
            foreign: 0,
            broken: Vec::new(),
        }
    }

    fn plan(promises: &[Promise]) -> ReadBackPlan {
        ReadBackPlan {
            topic: TopicOf {
                step: "topic".into(),
                part: "broker".into(),
                port: "plain".into(),
                topic: "t-{trial}".into(),
            },
            promises: promises.to_vec(),
        }
    }

    #[test]
    fn only_what_was_promised_makes_a_trial_invalid() {
        let both = plan(&[Promise::NoneLost, Promise::NoneDuplicated]);
        let broken =
            |plan: &ReadBackPlan, lost, duplicated| judged(plan, found(lost, duplicated)).broken;
        assert!(broken(&both, 0, 0).is_empty());
        let said = broken(&both, 3, 0);
        assert_eq!(
            said,
            ["3 of 100 acknowledged records are lost (97 read back)"]
        );
        assert_eq!(broken(&both, 3, 2).len(), 2);
        assert!(
            broken(&plan(&[]), 3, 2).is_empty(),
            "acks=1 promises nothing"
        );

        let mut measured = Measured::failed("x".into(), Vec::new());
        measured.status = TrialStatus::Fit;
        lay(&mut measured, Some(Ok(judged(&both, found(0, 0)))));
        assert!(measured.status.is_fit() && measured.read_back.is_some());
        lay(&mut measured, Some(Ok(judged(&both, found(1, 0)))));
        assert!(matches!(measured.status, TrialStatus::Invalid { .. }));
        measured.status = TrialStatus::Fit;
        lay(&mut measured, Some(Err("it cannot be read".into())));
        assert!(
            !measured.status.is_fit(),
            "what cannot be read back is not proven"
        );
    }
}
