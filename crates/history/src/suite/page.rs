//! The result of a night as text, Markdown and a page: the same sentences in each.

use tare_record::api::{
    Confirmation, EntryOutcome, NightChange, NightEntry, NightReport, SeriesDetail,
};
use tare_record::escape::escape_xml;
use tare_report::junit::{self, JunitCase, JunitEnding, JunitSuite};
use tare_report::{markdown as escaping, quantity};

use crate::chart;
use crate::text::{self, date};

/// Charts in the page: with hundreds of series it would not open.
const CHARTS_MAX: usize = 40;

/// Characters of the reason in the title.
const REASON_CHARS_MAX: usize = 240;

/// Sentences under a heading.
struct Section {
    title: &'static str,
    lines: Vec<Line>,
}

/// A sentence with those that belong to it.
struct Line {
    text: String,
    /// Run folder with the report.
    run: Option<String>,
    below: Vec<String>,
}

impl From<String> for Line {
    fn from(text: String) -> Line {
        Line {
            text,
            run: None,
            below: Vec::new(),
        }
    }
}

/// All that is said; sections without a line are left out.
fn sections(report: &NightReport) -> Vec<Section> {
    let changes = |wanted: fn(&NightChange) -> bool| {
        let changes = report.changes.iter().filter(|change| wanted(change));
        changes.map(|one| Line::from(change_line(one))).collect()
    };
    let left = report.left_reason.iter().flat_map(|reason| {
        let left = report.left.join(", ");
        [Line::from(format!(
            "{reason}; the next call runs these first: {left}"
        ))]
    });
    let entries = |is_wanted: fn(EntryOutcome) -> bool| {
        let entries = report
            .entries
            .iter()
            .filter(|entry| is_wanted(entry.outcome));
        let line = |entry: &NightEntry| Line {
            text: entry_head(entry),
            // Only a run has a report to link to: `load LABELS`, `perfcheck FOLDER`. Names of experiments have no space before `(`.
            run: entry.run.clone().filter(|_| {
                let has_none = ["load ", "perfcheck "];
                !has_none.iter().any(|kind| entry.name.starts_with(kind))
            }),
            below: below(entry),
        };
        entries.map(line).collect()
    };
    let sections = [
        Section {
            title: "Changes for the worse",
            lines: changes(|one| one.change.is_worse && one.acknowledged.is_none()),
        },
        Section {
            title: "Failed or interrupted",
            lines: entries(|outcome| outcome != EntryOutcome::Done),
        },
        Section {
            title: "Left",
            lines: left.collect(),
        },
        Section {
            title: "History",
            lines: report
                .history_problem
                .clone()
                .into_iter()
                .map(Line::from)
                .collect(),
        },
        Section {
            title: "Measured",
            lines: entries(|outcome| outcome == EntryOutcome::Done),
        },
        Section {
            title: "Changes for the better",
            lines: changes(|one| !one.change.is_worse),
        },
        Section {
            title: "Acknowledged changes",
            lines: changes(|one| one.change.is_worse && one.acknowledged.is_some()),
        },
        Section {
            title: "Acknowledged without a change",
            lines: report.unmatched.iter().cloned().map(Line::from).collect(),
        },
    ];
    let is_said = |section: &Section| !section.lines.is_empty();
    sections.into_iter().filter(is_said).collect()
}

/// What became of an entry, with its first finding.
pub fn entry_line(entry: &NightEntry) -> String {
    match entry.findings.first() {
        Some(finding) => format!("{}: {finding}", entry_head(entry)),
        None => entry_head(entry),
    }
}

/// What was found, and the exports that failed.
fn below(entry: &NightEntry) -> Vec<String> {
    let failed = entry.export_problems.iter();
    let failed = failed.map(|problem| format!("not exported as {problem}"));
    // What is in the reason is said in the line above.
    let reason = entry.reason.as_deref().unwrap_or_default();
    let findings = entry.findings.iter();
    let findings = findings.filter(|finding| !reason.contains(finding.as_str()));
    findings.cloned().chain(failed).collect()
}

fn entry_head(entry: &NightEntry) -> String {
    let took = quantity::span(entry.took_ns);
    let ended = match entry.outcome {
        EntryOutcome::Done => format!("done in {took}"),
        EntryOutcome::AssertionFailed => format!("a check failed after {took}"),
        EntryOutcome::Failed => format!("failed after {took}"),
        EntryOutcome::Interrupted => format!("interrupted after {took}"),
    };
    let mut line = format!("{}: {ended}", entry.name);
    if let Some(reason) = &entry.reason {
        line.push_str(&format!(": {reason}"));
    }
    if let Some(run) = &entry.run {
        line.push_str(&format!(" ({run})"));
    }
    line
}

/// A change: of what, and how much.
pub fn change_text(night: &NightChange) -> String {
    let (key, change) = (&night.key, night.change.change);
    let sign = if change > 0.0 { "+" } else { "" };
    format!(
        "{}, {}{}: {} {sign}{}",
        key.experiment,
        key.arm,
        text::at_level(key),
        night.label,
        quantity::percent(change),
    )
}

/// A change: how much, since when, what changed with it, and what is known of it.
pub fn change_line(night: &NightChange) -> String {
    let change = &night.change;
    let value = |value| quantity::value(night.unit, value);
    let mut line = format!(
        "{} ({} to {}) since {} of {}",
        change_text(night),
        value(change.before),
        value(change.after),
        change.run,
        date(change.started_unix_us)
    );
    let changed =
        change
            .changed
            .iter()
            .map(|one| match (one.before.as_str(), one.after.as_str()) {
                ("", after) => format!("{} {after} was added", one.axis),
                (before, "") => format!("{} {before} was removed", one.axis),
                (before, after) => format!("{} {before} became {after}", one.axis),
            });
    let changed: Vec<String> = changed.collect();
    match changed.is_empty() {
        true => line.push_str("; no version that is recorded changed with it"),
        false => line.push_str(&format!("; {}", changed.join(", "))),
    }
    if night.is_new {
        line.push_str("; new");
    }
    match &night.confirmation {
        None => {}
        Some(Confirmation::Confirmed) => line.push_str("; confirmed by a run of both versions"),
        Some(Confirmation::NotConfirmed) => {
            line.push_str("; not confirmed: in a run of both versions the new one is not worse");
        }
        Some(Confirmation::Undecided) => line.push_str("; undecided in a run of both versions"),
        Some(Confirmation::NotTestable { reason }) => {
            line.push_str(&format!("; not testable: {reason}"));
        }
    }
    if let Some(note) = &night.acknowledged {
        line.push_str(&format!("; acknowledged: {note}"));
    }
    line
}

fn title(report: &NightReport) -> String {
    let worse = report.changes.iter();
    let worse = worse
        .filter(|one| one.change.is_worse && one.acknowledged.is_none())
        .count();
    let changes = quantity::counted(
        worse as u64,
        "change for the worse",
        "changes for the worse",
    );
    let done = report
        .entries
        .iter()
        .filter(|entry| {
            matches!(
                entry.outcome,
                EntryOutcome::Done | EntryOutcome::AssertionFailed
            )
        })
        .count();
    let failed = report.reason.as_ref().map_or_else(String::new, |reason| {
        format!(" failed: {};", cut(reason, REASON_CHARS_MAX))
    });
    let between = if failed.is_empty() { ":" } else { "" };
    format!(
        "Suite of {}{failed}{between} {changes}, {done} of {} measured",
        date(report.started_unix_us),
        quantity::counted(report.entries.len() as u64, "entry", "entries")
    )
}

/// The beginning of a text that is longer.
fn cut(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn footer(report: &NightReport) -> String {
    let took = quantity::span(report.took_ns);
    format!("{}, {took}, tare {}", report.suite, report.tare)
}

/// The result as plain text.
#[must_use]
pub fn text(report: &NightReport) -> String {
    let mut text = format!("{}\n", title(report));
    for section in sections(report) {
        text.push_str(&format!("\n{}\n", section.title));
        for line in section.lines {
            text.push_str(&format!("  {}\n", line.text));
            for below in line.below {
                text.push_str(&format!("    {below}\n"));
            }
        }
    }
    tare_record::escape::escape_lines(&text).into_owned()
}

/// The result as Markdown.
pub fn markdown(report: &NightReport) -> String {
    let mut text = format!("# {}\n", escaping::escape(&title(report)));
    for section in sections(report) {
        text.push_str(&format!("\n## {}\n\n", section.title));
        for line in section.lines {
            text.push_str(&format!("- {}\n", escaping::escape(&line.text)));
            for below in line.below {
                text.push_str(&format!("  - {}\n", escaping::escape(&below)));
            }
        }
    }
    text.push_str(&format!("\n{}\n", escaping::escape(&footer(report))));
    text
}

/// The result as JUnit, a test case for each entry.
pub fn junit(report: &NightReport) -> String {
    let case = |entry: &NightEntry| {
        let reason = entry.reason.clone().unwrap_or_default();
        JunitCase {
            class: "tare suite".to_owned(),
            name: entry.name.clone(),
            took_s: entry.took_ns as f64 / 1e9,
            ending: match entry.outcome {
                EntryOutcome::Done => JunitEnding::Passed(entry.findings.first().cloned()),
                EntryOutcome::AssertionFailed => JunitEnding::Failed(reason),
                EntryOutcome::Failed | EntryOutcome::Interrupted => JunitEnding::Error(reason),
            },
        }
    };
    junit::document(&[JunitSuite {
        name: "tare suite".to_owned(),
        took_s: report.took_ns as f64 / 1e9,
        properties: vec![("tare", report.tare.clone())],
        cases: report.entries.iter().map(case).collect(),
        output: Some(text(report)),
        ..JunitSuite::default()
    }])
}

/// Layout and colours of the page; the charts have their own.
pub(crate) const STYLE: &str = "body { max-width: 1000px; margin: 2em auto; padding: 0 1em; font: 15px/1.5 Inter, \"Helvetica Neue\", Arial, \"Liberation Sans\", sans-serif; color: #1b1c1e; background: #ffffff; overflow-wrap: anywhere; }
h1 { font-size: 24px; line-height: 1.25; } h2 { font-size: 18px; } ul { padding-left: 20px; } li { margin-top: 4px; } a { color: inherit; }
svg { max-width: 100%; height: auto; }
@media (prefers-color-scheme: dark) { body { color: #e8e7e4; background: #141517; } }";

/// The result as one page that needs no network, with a chart of each series that changed.
pub fn html(report: &NightReport, series: &[SeriesDetail]) -> String {
    let title = escape_xml(&title(report));
    let mut text = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
    );
    for section in sections(report) {
        text.push_str(&format!("<h2>{}</h2>\n<ul>\n", section.title));
        for line in section.lines {
            let said = escape_xml(&line.text);
            text.push_str(&match line.run.as_deref().filter(|run| is_plain(run)) {
                Some(run) => {
                    format!("<li><a href=\"../../{run}/report.html\">{said}</a>\n")
                }
                None => format!("<li>{said}\n"),
            });
            if !line.below.is_empty() {
                let below = line.below.iter();
                let below = below.map(|one| format!("<li>{}</li>\n", escape_xml(one)));
                text.push_str(&format!("<ul>\n{}</ul>\n", below.collect::<String>()));
            }
            text.push_str("</li>\n");
        }
        text.push_str("</ul>\n");
    }
    if !series.is_empty() {
        text.push_str("<h2>Series that changed</h2>\n");
    }
    for one in series.iter().take(CHARTS_MAX) {
        text.push_str(&chart::svg(one));
    }
    if let Some(more) = series
        .len()
        .checked_sub(CHARTS_MAX)
        .filter(|more| *more > 0)
    {
        text.push_str(&format!(
            "<p>{more} more: <code>tare history EXPERIMENT --svg FILE</code></p>\n"
        ));
    }
    text.push_str(&format!(
        "<p>{}</p>\n</body>\n</html>\n",
        escape_xml(&footer(report))
    ));
    text
}

/// Whether the name of a run's folder is an address as it is.
fn is_plain(run: &str) -> bool {
    let is_plain = |one: char| one.is_ascii_alphanumeric() || "-_.".contains(one);
    run.chars().all(is_plain) && !run.starts_with('.')
}
