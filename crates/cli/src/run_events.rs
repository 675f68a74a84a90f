//! Events of a run as lines of `tare run --json-lines`.

use tare_conduct::{Event, TrialProgress};
use tare_record::event::{RunEvent, TrialPosition};

/// The line of an event.
pub fn line(event: &Event<'_>) -> RunEvent {
    match event {
        Event::Preparing(what) => RunEvent::Preparing {
            what: (*what).to_owned(),
        },
        Event::Note(text) => RunEvent::Note {
            text: (*text).to_owned(),
        },
        Event::Started {
            folder,
            trials,
            done,
        } => RunEvent::Started {
            folder: folder.display().to_string(),
            trials: *trials,
            done: *done,
        },
        Event::TrialStarted(at) => RunEvent::TrialStarted { at: position(at) },
        Event::Starting(at, instance, waited) => RunEvent::Starting {
            at: position(at),
            instance: (*instance).to_owned(),
            waited_ns: waited.as_nanos() as u64,
        },
        Event::Step(at, step) => RunEvent::Step {
            at: position(at),
            step: (*step).to_owned(),
        },
        Event::Sampled(at, source, sample) => RunEvent::Sample {
            at: position(at),
            source: (*source).to_owned(),
            sample: Box::new(**sample),
        },
        Event::TrialDone(record) => RunEvent::TrialDone {
            trial: record.trial,
            block: record.block,
            arm: record.arm.clone(),
            level: record.level.clone(),
            aa_copy: record.aa_copy,
            attempt: record.attempt,
            status: record.status.clone(),
        },
        Event::BlockDone { block, of, .. } => RunEvent::BlockDone {
            block: *block,
            blocks: *of,
        },
    }
}

fn position(at: &TrialProgress<'_>) -> TrialPosition {
    TrialPosition {
        block: at.block,
        blocks: at.blocks,
        arm: at.slot.arm.clone(),
        level: at.slot.level.clone(),
        aa_copy: at.slot.copy,
        attempt: at.attempt,
        left_ns: at.left.as_nanos() as u64,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tare_conduct::Slot;
    use tare_record::agent::Sample;

    use super::*;

    #[test]
    fn a_sample_says_of_which_trial_it_is() {
        let slot = Slot {
            arm: "direct".into(),
            level: "400/s".into(),
            copy: 1,
        };
        let at = TrialProgress {
            block: 2,
            blocks: 5,
            slot: &slot,
            attempt: 0,
            left: Duration::from_secs(3),
        };
        let sample = Sample {
            ok: 7,
            ..Sample::default()
        };
        let line = serde_json::to_value(line(&Event::Sampled(&at, "client", &sample))).unwrap();
        assert_eq!(line["event"], "sample");
        assert_eq!(line["source"], "client");
        assert_eq!(line["sample"]["ok"], 7);
        let at = &line["at"];
        assert_eq!((&at["block"], &at["aa_copy"]), (&2.into(), &1.into()));
        assert_eq!(at["left_ns"], 3_000_000_000_u64);
    }
}
