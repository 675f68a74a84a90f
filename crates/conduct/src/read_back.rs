//! Compares the acknowledged records of a trial with those read back after it.

use tare_lab::LabError;
use tare_lab::environment::TestBed;
use tare_schema::agent::Acknowledged;
use tare_schema::plan::{Cell, Promise, ReadBackPlan};
use tare_schema::record::{ReadBackRecord, TrialRecord};

use crate::error::is_infrastructure;

/// Reads the topic of a cell back, fills the record, and returns the violated promises as texts.
///
/// # Errors
/// When the environment itself fails.
pub(crate) fn read(
    cell: &Cell,
    (trial, seed): (u32, u64),
    bed: &mut dyn TestBed,
    record: &mut TrialRecord,
) -> Result<Vec<String>, LabError> {
    let Some(plan) = &cell.read_back else {
        return Ok(Vec::new());
    };
    let acknowledged = record.load.iter().flat_map(|result| &result.acknowledged);
    let acknowledged: Vec<Acknowledged> = acknowledged.cloned().collect();
    match bed.read_back(&plan.topic.of_trial(trial), seed, &acknowledged) {
        Ok(found) => {
            let found = check_promises(plan, found);
            let broken = found.broken.clone();
            record.read_back = Some(found);
            Ok(broken)
        }
        Err(error) if is_infrastructure(&error) => Err(error),
        // A topic that cannot be read back makes the trial invalid.
        Err(error) => Ok(vec![error.to_string()]),
    }
}

/// Fills in the violated promises.
fn check_promises(plan: &ReadBackPlan, mut found: ReadBackRecord) -> ReadBackRecord {
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
        let broken = |plan: &ReadBackPlan, lost, duplicated| {
            check_promises(plan, found(lost, duplicated)).broken
        };
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
    }
}
