//! Sentences and texts on faults.

use std::collections::BTreeMap;

use tare_record::metric::Unit;
use tare_record::plan::{FaultKind, PlannedFault};
use tare_record::record::FaultRecord;
use tare_record::view::{FaultMark, FaultTrial};

use crate::cells::median;
use crate::quantity::{self, MISSING};

/// The sentences on a cell; with several arms they begin with its arm.
pub fn sentences(
    arm: Option<&str>,
    planned: &[PlannedFault],
    faults: &[FaultMark],
    trials: &[FaultTrial],
) -> Vec<String> {
    let mut all = Vec::new();
    if !planned.is_empty() && !faults.is_empty() {
        all.push(effects_sentence(planned, faults, trials));
    }
    all.extend(read_back(trials));
    if let Some(arm) = arm {
        for sentence in &mut all {
            *sentence = format!("{arm}: {sentence}");
        }
    }
    all
}

/// `In 20 trials: kill one of broker-1, broker-2, broker-3 at 3 s (…): no answer for 1.8 s (0.4–2.3 s), …`.
fn effects_sentence(
    planned: &[PlannedFault],
    faults: &[FaultMark],
    trials: &[FaultTrial],
) -> String {
    let done = |mark: &FaultMark| {
        mark.done_ns.map_or_else(String::new, |done_ns| {
            let took_ns = done_ns.saturating_sub(mark.began_ns);
            format!(", done after {}", time(took_ns as f64))
        })
    };
    let first = planned.first().map_or_else(String::new, |fault| {
        // A signal is done at once.
        let took = match fault.action {
            FaultKind::Change { .. } => done(&faults[0]),
            _ => String::new(),
        };
        let at = time(fault.at_ns as f64);
        format!("{} at {at}{took}", fault.action.in_words())
    });
    let again: Vec<String> = faults[1..]
        .iter()
        .map(|mark| {
            let at = time(mark.began_ns as f64);
            format!("{} at {at}{}", mark.label, done(mark))
        })
        .collect();
    let again = match again.is_empty() {
        true => String::new(),
        false => format!(" ({})", again.join("; ")),
    };
    let silent = spread(trials.iter().map(|trial| trial.outage_ns));
    let slowest = spread(trials.iter().map(|trial| trial.slowest_ns));
    let retried: Option<u64> = trials.iter().map(|trial| trial.retried).sum();
    let retried = retried.map_or_else(String::new, |count| {
        let batches = quantity::counted(count, "batch", "batches");
        format!("; {batches} retried")
    });
    let errors: u64 = trials.iter().map(|trial| trial.errors).sum();
    let count = quantity::counted(trials.len() as u64, "trial", "trials");
    let errors = quantity::counted(errors, "error", "errors");
    format!(
        "In {count}: {first}{again}. Longest outage {silent}, maximum latency {slowest}{retried}; {errors}."
    )
}

/// `0 of 160,000 acknowledged records lost, 0 duplicated, in 20 trials (160,000 read back).`
fn read_back(trials: &[FaultTrial]) -> Option<String> {
    let all_read: Vec<_> = trials.iter().filter_map(|trial| trial.read_back).collect();
    if all_read.is_empty() {
        return None;
    }
    let sum = |count: fn(&tare_record::view::ReadBackView) -> u64| -> String {
        quantity::count(all_read.iter().map(count).sum::<u64>() as f64)
    };
    let trials = match (all_read.len(), trials.len()) {
        (read, all) if read == all => quantity::counted(read as u64, "trial", "trials"),
        (read, all) => format!("{read} of {all} trials"),
    };
    Some(format!(
        "{} of {} acknowledged records lost, {} duplicated, in {trials} ({} read back).",
        sum(|found| found.lost),
        sum(|found| found.acknowledged),
        sum(|found| found.duplicated),
        sum(|found| found.read),
    ))
}

/// A median with its extremes.
fn spread(values: impl Iterator<Item = Option<u64>>) -> String {
    let mut known: Vec<f64> = values.flatten().map(|value| value as f64).collect();
    known.sort_by(f64::total_cmp);
    let (Some(least), Some(most)) = (known.first().copied(), known.last().copied()) else {
        return MISSING.to_owned();
    };
    let median = median(known.iter().copied().map(Some).collect()).unwrap_or(least);
    match known.len() {
        1 => time(median),
        _ => format!("{} ({} to {})", time(median), time(least), time(most)),
    }
}

fn time(ns: f64) -> String {
    quantity::value(Unit::Nanoseconds, ns)
}

/// The label of a fault: `kill broker-1`, or `kill broker-1 (× 3), broker-2 (× 2)`.
pub fn label(faults: &[&FaultRecord]) -> String {
    let action = faults.first().map_or("", |fault| fault.action.as_str());
    let mut to: BTreeMap<String, u64> = BTreeMap::new();
    for fault in faults {
        *to.entry(fault.subjects.join(" and ")).or_default() += 1;
    }
    let names: Vec<String> = match to.len() {
        1 => to.into_keys().collect(),
        _ if action == "elect" || action == "reassign" => Vec::new(),
        _ => to
            .into_iter()
            .filter(|(name, _)| !name.is_empty())
            .map(|(name, count)| format!("{name} (× {count})"))
            .collect(),
    };
    format!("{action} {}", names.join(", "))
        .trim_end()
        .to_owned()
}

/// The faults of one trial, as text.
pub fn done(faults: &[FaultRecord]) -> String {
    let words = faults.iter().map(|fault| {
        let to = fault.subjects.join(" and ");
        let at = fault.began_ns.unwrap_or(fault.at_ns);
        let failed = match fault.failed {
            true => format!(": {}", fault.result),
            false => String::new(),
        };
        format!("{} {to} at {}{failed}", fault.action, time(at as f64))
    });
    words.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_record::view::ReadBackView;

    fn trial(silent_ms: u64, lost: u64) -> FaultTrial {
        FaultTrial {
            trial: 1,
            done: String::new(),
            outage_ns: Some(silent_ms * 1_000_000),
            slowest_ns: Some(3_400_000_000),
            retried: Some(6),
            errors: 0,
            read_back: Some(ReadBackView {
                acknowledged: 8000,
                read: 8000 - lost,
                lost,
                duplicated: 0,
            }),
        }
    }

    #[test]
    fn what_was_done_noticed_and_read_back_is_said_in_two_sentences() {
        let of = vec!["broker-1".to_owned(), "broker-2".to_owned()];
        let planned = [PlannedFault {
            at_ns: 3_000_000_000,
            action: FaultKind::Kill { of },
        }];
        let mark = |label: &str, began_ns, done_ns| FaultMark {
            label: label.to_owned(),
            began_ns,
            done_ns,
        };
        let faults = [
            mark("kill", 3_000_000_000, Some(3_001_000_000)),
            mark("start broker-1", 9_000_000_000, Some(14_200_000_000)),
        ];
        let trials = [trial(300, 0), trial(500, 1), trial(400, 0)];
        let said = sentences(None, &planned, &faults, &trials);
        let of_arm = sentences(Some("direct"), &planned, &faults, &trials);
        assert!(of_arm.iter().all(|one| one.starts_with("direct: ")));
        assert_eq!(
            said,
            [
                "In 3 trials: kill one of broker-1, broker-2 at 3.00 s (start broker-1 at 9.00 s, done after 5.20 s). \
                 Longest outage 400 ms (300 ms to 500 ms), maximum latency 3.40 s (3.40 s to 3.40 s); \
                 18 batches retried; 0 errors.",
                "1 of 24,000 acknowledged records lost, 0 duplicated, in 3 trials (23,999 read back)."
            ]
        );
    }
}
