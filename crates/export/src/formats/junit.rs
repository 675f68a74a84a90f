//! JUnit XML, as CI servers read it: a suite per run, with the run itself and each assertion as test cases.

use std::fmt::Write as _;

use tare_record::escape::escape_line;
use tare_record::record::RunProgress;
use tare_record::view::{AssertionOutcome, View};

use crate::error::ExportError;
use crate::formats::{Format, FormatOptions};
use crate::subject::ExportSubject;

/// The format.
pub struct Junit;

/// How a test case ended, if it did not pass: its element, and why.
type Ending = Option<(&'static str, String)>;

impl Format for Junit {
    fn text(&self, subjects: &[ExportSubject], _: FormatOptions) -> Result<String, ExportError> {
        let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
        for subject in subjects {
            suite(&mut text, subject);
        }
        Ok(text + "</testsuites>\n")
    }
}

fn suite(text: &mut String, subject: &ExportSubject) {
    let view = &subject.view;
    let run = &view.run;
    let cases = cases(subject);
    let count = |wanted: &str| {
        let all = cases.iter();
        all.filter(|(_, ending)| ending.as_ref().is_some_and(|(kind, _)| *kind == wanted))
            .count()
    };
    let name = escaped(&run.experiment);
    let took = run.took_ns as f64 / 1e9;
    // Readers want a local time without a zone; it is UTC.
    let started = escaped(run.started.trim_end_matches('Z'));
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "  <testsuite name=\"{name}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{took:.3}\" timestamp=\"{started}\">",
        cases.len(),
        count("failure"),
        count("error"),
        count("skipped")
    );
    text.push_str("    <properties>\n");
    for (property, value) in [("run", &run.id), ("tare", &run.tare)] {
        let value = escaped(value);
        let _ = writeln!(
            text,
            "      <property name=\"{property}\" value=\"{value}\"/>"
        );
    }
    text.push_str("    </properties>\n");
    for (place, (case, ending)) in cases.iter().enumerate() {
        // The time is that of the run: an assertion takes none.
        let took = if place == 0 { took } else { 0.0 };
        let case = escaped(case);
        let open = format!("    <testcase classname=\"{name}\" name=\"{case}\" time=\"{took:.3}\"");
        let _ = match ending {
            None => writeln!(text, "{open}/>"),
            Some((kind, why)) => {
                let why = escaped(why);
                writeln!(
                    text,
                    "{open}>\n      <{kind} message=\"{why}\"/>\n    </testcase>"
                )
            }
        };
    }
    let _ = writeln!(text, "    <system-out>{}</system-out>", verdict(view));
    text.push_str("  </testsuite>\n");
}

/// The run, then its assertions. What is undecided is neither passed nor failed: it is skipped, with the reason.
fn cases(subject: &ExportSubject) -> Vec<(&str, Ending)> {
    let run = &subject.view.run;
    let note = || subject.note().unwrap_or_default();
    let of_run = match run.progress {
        RunProgress::Complete => None,
        RunProgress::Running => Some(("skipped", note())),
        RunProgress::Interrupted => Some(("error", note())),
        RunProgress::Failed => {
            let reason = run.end_reason.as_deref().unwrap_or_default();
            Some(("error", format!("{}: {reason}", note())))
        }
    };
    let assertions = subject.view.assertions.iter().map(|one| {
        let ending = match one.outcome {
            AssertionOutcome::Passed => None,
            AssertionOutcome::Undecided => Some(("skipped", format!("undecided: {}", one.reason))),
            AssertionOutcome::Failed => Some(("failure", one.reason.clone())),
        };
        (one.text.as_str(), ending)
    });
    std::iter::once(("run", of_run)).chain(assertions).collect()
}

fn verdict(view: &View) -> String {
    let sentences = view.verdict.iter();
    let sentences: Vec<String> = sentences.map(|one| escaped(&one.text)).collect();
    sentences.join("\n")
}

/// Text for XML; control characters, which XML does not have, are escaped as everywhere in Tare.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in escape_line(text).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            // No characters of XML 1.0.
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}
