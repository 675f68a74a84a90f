//! Compares the acknowledged records of a trial with those read back after it.

use tare_lab::LabError;
use tare_lab::environment::TestBed;
use tare_record::agent::Acknowledged;
use tare_record::plan::{Cell, Guarantee, ReadBackPlan};
use tare_record::record::{ReadBackRecord, TrialRecord};

/// Reads the topic of a cell back, fills the record, and returns the violated guarantees as texts.
/// Fails when the environment itself fails.
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
    let topic = plan.topic.of_trial(trial);
    let found = bed
        .topics()
        .and_then(|topics| topics.read_back(&topic, seed, &acknowledged));
    match found {
        Ok(found) => {
            let found = check_guarantees(plan, found);
            let violations = found.violations.clone();
            record.read_back = Some(found);
            Ok(violations)
        }
        Err(error) if error.is_ours() => Err(error),
        // A topic that cannot be read back makes the trial invalid.
        Err(error) => Ok(vec![error.to_string()]),
    }
}

/// Fills in the violated guarantees.
fn check_guarantees(plan: &ReadBackPlan, mut found: ReadBackRecord) -> ReadBackRecord {
    let of = |count: u64, what: &str| {
        format!(
            "{count} of {} acknowledged records {what} ({} read back)",
            found.acknowledged, found.read
        )
    };
    let mut violations = Vec::new();
    for guarantee in &plan.guarantees {
        match guarantee {
            Guarantee::NoneLost if found.lost > 0 => violations.push(of(found.lost, "are lost")),
            Guarantee::NoneDuplicated if found.duplicated > 0 => {
                violations.push(format!(
                    "{} records are stored twice or more ({} read back)",
                    found.duplicated, found.read
                ));
            }
            Guarantee::NoneLost | Guarantee::NoneDuplicated => {}
        }
    }
    if found.acknowledged == 0 {
        violations.push(String::from(
            "nothing was acknowledged, so nothing could be checked",
        ));
    }
    found.violations = violations;
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_record::plan::PreparedTopic;

    fn found(lost: u64, duplicated: u64) -> ReadBackRecord {
        ReadBackRecord {
            topic: "t-1".into(),
            acknowledged: 100,
            read: 100 - lost + duplicated,
            lost,
            duplicated,
            unacknowledged: 0,
            reordered: 0,
            unexpected: 0,
            violations: Vec::new(),
        }
    }

    fn plan(guarantees: &[Guarantee]) -> ReadBackPlan {
        ReadBackPlan {
            topic: PreparedTopic {
                step: "topic".into(),
                part: "broker".into(),
                port: "plain".into(),
                topic: "t-{trial}".into(),
            },
            guarantees: guarantees.to_vec(),
        }
    }

    #[test]
    fn only_a_violated_guarantee_makes_a_trial_invalid() {
        let both = plan(&[Guarantee::NoneLost, Guarantee::NoneDuplicated]);
        let violations = |plan: &ReadBackPlan, lost, duplicated| {
            check_guarantees(plan, found(lost, duplicated)).violations
        };
        assert!(violations(&both, 0, 0).is_empty());
        let said = violations(&both, 3, 0);
        assert_eq!(
            said,
            ["3 of 100 acknowledged records are lost (97 read back)"]
        );
        assert_eq!(violations(&both, 3, 2).len(), 2);
        assert!(
            violations(&plan(&[]), 3, 2).is_empty(),
            "acks=1 guarantees nothing"
        );
    }
}
