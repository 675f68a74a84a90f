//! JUnit XML: a suite per run, with the run itself and each assertion as test cases.

use tare_record::record::RunProgress;
use tare_record::view::AssertionOutcome;
use tare_report::junit::{JunitCase, JunitEnding, JunitSuite, document};

use crate::error::ExportError;
use crate::formats::{Format, FormatOptions};
use crate::subject::ExportSubject;

/// The format.
pub struct Junit;

impl Format for Junit {
    fn text(&self, subjects: &[ExportSubject], _: FormatOptions) -> Result<String, ExportError> {
        let suites: Vec<JunitSuite> = subjects.iter().map(suite).collect();
        Ok(document(&suites))
    }
}

fn suite(subject: &ExportSubject) -> JunitSuite {
    let view = &subject.view;
    let run = &view.run;
    let took_s = run.took_ns as f64 / 1e9;
    let case = |name: &str, took_s, ending| JunitCase {
        class: run.experiment.clone(),
        name: name.to_owned(),
        took_s,
        ending,
    };
    // The time is that of the run: an assertion takes none.
    let mut cases = vec![case("run", took_s, run_ending(subject))];
    cases.extend(view.assertions.iter().map(|one| {
        let ending = match one.outcome {
            AssertionOutcome::Passed => JunitEnding::Passed(None),
            // Neither passed nor failed.
            AssertionOutcome::Undecided => {
                JunitEnding::Skipped(format!("undecided: {}", one.reason))
            }
            AssertionOutcome::Failed => JunitEnding::Failed(one.reason.clone()),
        };
        case(&one.text, 0.0, ending)
    }));
    let sentences: Vec<&str> = view.verdict.iter().map(|one| one.text.as_str()).collect();
    JunitSuite {
        name: run.experiment.clone(),
        took_s,
        started: Some(run.started.trim_end_matches('Z').to_owned()),
        properties: vec![("run", run.id.clone()), ("tare", run.tare.clone())],
        cases,
        output: Some(sentences.join("\n")),
    }
}

fn run_ending(subject: &ExportSubject) -> JunitEnding {
    let run = &subject.view.run;
    let note = || subject.note().unwrap_or_default();
    match run.progress {
        RunProgress::Complete => JunitEnding::Passed(None),
        RunProgress::Running => JunitEnding::Skipped(note()),
        RunProgress::Interrupted => JunitEnding::Error(note()),
        RunProgress::Failed => {
            let reason = run.end_reason.as_deref().unwrap_or_default();
            JunitEnding::Error(format!("{}: {reason}", note()))
        }
    }
}
