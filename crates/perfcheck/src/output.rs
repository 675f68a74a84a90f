//! A result as text for the terminal, Markdown and JUnit.

use tare_record::api::{BenchmarkOutcome, BenchmarkResult, PerfcheckReport};
use tare_record::escape::escape_line;
use tare_record::text::word_of;
use tare_record::view::{ColumnKind, Table, TableCell, TableColumn, TableRow};
use tare_report::junit::{self, JunitCase, JunitEnding, JunitSuite};
use tare_report::markdown;
use tare_report::quantity::{self, MISSING, Sign, counted};
use tare_report::terminal::{Screen, columns};

/// Heads of the table.
const HEADS: [(&str, ColumnKind); 7] = [
    ("project", ColumnKind::Group),
    ("benchmark", ColumnKind::Name),
    ("unit", ColumnKind::Name),
    ("before", ColumnKind::Figure),
    ("now", ColumnKind::Figure),
    ("change", ColumnKind::Figure),
    ("outcome", ColumnKind::Name),
];

/// The result for the terminal.
pub fn text(report: &PerfcheckReport, screen: Screen) -> String {
    let rows: Vec<Vec<String>> = report
        .benchmarks
        .iter()
        .map(|one| cells(one).into())
        .collect();
    let mut text = format!("{}\n", screen.colour.strong(&escape_line(&title(report))));
    if !rows.is_empty() {
        text.push_str(&columns(&HEADS, &rows, screen));
    }
    for one in &report.failed {
        text.push_str(&format!(
            "failed: {}: ",
            escape_line(&named(&one.project, &one.benchmark))
        ));
        let reason = one
            .reason
            .lines()
            .map(|line| escape_line(line).into_owned());
        text.push_str(&format!("{}\n", reason.collect::<Vec<_>>().join("\n  ")));
    }
    for note in &report.notes {
        text.push_str(&format!("{}\n", escape_line(note)));
    }
    let answer = escape_line(&report.answer).into_owned();
    let answer = match (of(report, BenchmarkOutcome::Worse), report.exit_code) {
        (1.., _) => screen.colour.bad(&answer),
        (0, 0) => screen.colour.good(&answer),
        (0, _) => answer,
    };
    format!("{text}{answer}\n")
}

/// The result for a pull request.
pub fn markdown(report: &PerfcheckReport) -> String {
    let mut table =
        Table::new("benchmarks", "Benchmarks", "").columns(HEADS.iter().map(|(label, kind)| {
            TableColumn {
                label: (*label).to_owned(),
                kind: *kind,
                ..TableColumn::default()
            }
        }));
    table.rows = report
        .benchmarks
        .iter()
        .map(|one| TableRow {
            cells: cells(one)
                .into_iter()
                .map(|text| TableCell {
                    text,
                    ..TableCell::default()
                })
                .collect(),
            ..TableRow::default()
        })
        .collect();
    let escape = markdown::escape;
    let mut text = format!(
        "## {}\n\n**{}**\n",
        escape(&title(report)),
        escape(&report.answer)
    );
    if !table.rows.is_empty() {
        text.push_str(&format!("\n{}", markdown::table(&table)));
    }
    let failed = report.failed.iter().map(|one| {
        let reason = one.reason.lines().next().unwrap_or_default();
        format!("failed: {}: {reason}", named(&one.project, &one.benchmark))
    });
    let lines: Vec<String> = failed.chain(report.notes.iter().cloned()).collect();
    if !lines.is_empty() {
        text.push('\n');
    }
    for line in lines {
        text.push_str(&format!("- {}\n", escape(&line)));
    }
    let versions = report
        .versions
        .iter()
        .map(|(name, version)| format!("{name} {version}"));
    let versions: Vec<String> = versions.collect();
    text.push_str(&format!(
        "\n{}; machine {}, {}; tare {}; {}\n",
        counted(report.repeats.into(), "repeat", "repeats"),
        report.machine,
        escape(&report.machine_about),
        report.tare,
        escape(&versions.join(", "))
    ));
    text
}

/// The result as JUnit, a test case for each value.
pub fn junit(report: &PerfcheckReport) -> String {
    let case = |project: &str, name: String, ending| JunitCase {
        class: folder(project).to_owned(),
        name,
        took_s: 0.0,
        ending,
    };
    let values = report.benchmarks.iter().map(|one| {
        let [_, _, _, before, now, change, outcome] = cells(one);
        let said = format!("{outcome}: {change}, {before} before, {now} now");
        let ending = match one.outcome {
            BenchmarkOutcome::Worse => JunitEnding::Failed(said),
            BenchmarkOutcome::Undecided | BenchmarkOutcome::New => JunitEnding::Skipped(said),
            BenchmarkOutcome::Better | BenchmarkOutcome::Same => JunitEnding::Passed(Some(said)),
        };
        case(
            &one.project,
            format!("{} {}", one.benchmark, one.unit),
            ending,
        )
    });
    let failed = report.failed.iter().map(|one| {
        let ending = JunitEnding::Error(one.reason.clone());
        case(&one.project, one.benchmark.clone(), ending)
    });
    junit::document(&[JunitSuite {
        name: "tare perfcheck".into(),
        took_s: report.took_ns as f64 / 1e9,
        cases: values.chain(failed).collect(),
        ..JunitSuite::default()
    }])
}

fn title(report: &PerfcheckReport) -> String {
    let revision = report.revision.as_deref().unwrap_or("no revision");
    match &report.against {
        Some(old) => format!("{}: {revision} against {old}", report.folder),
        None => format!("{}: {revision} against golden files", report.folder),
    }
}

/// The last line: what the exit code says.
pub fn answer(report: &PerfcheckReport) -> String {
    let words = [
        (BenchmarkOutcome::Worse, "worse"),
        (BenchmarkOutcome::Better, "better"),
        (BenchmarkOutcome::Same, "the same within the margin"),
        (BenchmarkOutcome::Undecided, "undecided"),
        (BenchmarkOutcome::New, "without a reference"),
    ];
    let counts = words
        .iter()
        .map(|(outcome, words)| (of(report, *outcome), *words));
    let mut parts: Vec<String> = counts
        .filter(|(count, _)| *count > 0)
        .map(|(count, words)| format!("{count} {words}"))
        .collect();
    if !report.failed.is_empty() {
        parts.push(format!("{} failed", report.failed.len()));
    }
    let values = counted(report.benchmarks.len() as u64, "value", "values");
    format!(
        "{values}, margin {}: {}",
        quantity::percent(report.margin),
        parts.join(", ")
    )
}

fn of(report: &PerfcheckReport, outcome: BenchmarkOutcome) -> usize {
    report
        .benchmarks
        .iter()
        .filter(|one| one.outcome == outcome)
        .count()
}

/// A project as a folder.
fn folder(project: &str) -> &str {
    match project {
        "" => ".",
        project => project,
    }
}

fn named(project: &str, benchmark: &str) -> String {
    match project {
        "" => benchmark.to_owned(),
        project => format!("{project}: {benchmark}"),
    }
}

fn cells(one: &BenchmarkResult) -> [String; 7] {
    let unit = &one.unit;
    [
        folder(&one.project).to_owned(),
        one.benchmark.clone(),
        unit.clone(),
        one.reference
            .map_or_else(|| MISSING.to_owned(), quantity::plain),
        quantity::plain(one.now),
        one.ratio.map_or_else(
            || MISSING.to_owned(),
            |ratio| quantity::change(&ratio, Sign::Shown),
        ),
        match one.outcome {
            BenchmarkOutcome::New => "no reference".to_owned(),
            outcome => word_of(&outcome),
        },
    ]
}
