//! A comparison of two runs for a terminal and for Markdown.

use tare_schema::shown::shown;
use tare_schema::view::{Family, SentenceKind, Table, TableColumn};

use super::RunComparison;
use crate::markdown::escape;
use crate::terminal::{Screen, table, wrap};

fn figures(comparison: &RunComparison, family: Family) -> Table {
    let mut table = Table::new("compared-runs", "", "").columns([
        TableColumn::group("level"),
        TableColumn::group("arm"),
        TableColumn::name("metric"),
        TableColumn::figure("before"),
        TableColumn::figure("after"),
        TableColumn::figure("change"),
        TableColumn::words("outcome"),
    ]);
    for row in comparison.rows.iter().filter(|row| row.family == family) {
        table.push([
            row.level.as_str().into(),
            row.arm.as_str().into(),
            row.metric.label().into(),
            row.before.as_str().into(),
            row.after.as_str().into(),
            row.ratio_text.as_str().into(),
            row.outcome_text.as_str().into(),
        ]);
    }
    table
}

/// For a terminal: tables, then the verdict.
#[must_use]
pub fn terminal(comparison: &RunComparison, screen: Screen) -> String {
    let width = usize::from(screen.width);
    let mut text = format!(
        "before: {}\nafter:  {}\n",
        described(comparison, 0),
        described(comparison, 1)
    );
    for (family, title) in [
        (Family::Primary, "primary figures"),
        (Family::Descriptive, "other figures, not judged"),
    ] {
        let figures = match family {
            Family::Primary => figures(comparison, family),
            _ => figures(comparison, family).without("outcome"),
        };
        if !figures.rows.is_empty() {
            text.push_str(&format!("\n{title}\n"));
            text.push_str(&table(&figures, screen));
        }
    }
    text.push_str("\nverdict\n");
    for sentence in &comparison.verdict {
        let mark = match sentence.kind {
            SentenceKind::Finding => "",
            SentenceKind::Warning => "! ",
            SentenceKind::Note => "· ",
        };
        let words = format!("{mark}{}", shown(&sentence.text));
        text.push_str(&wrap(&words, width, mark.chars().count()));
        text.push('\n');
    }
    text
}

fn described(comparison: &RunComparison, which: usize) -> String {
    let run = if which == 0 {
        &comparison.before
    } else {
        &comparison.after
    };
    let blocks = crate::quantity::counted(run.blocks.into(), "block", "blocks");
    format!("{}, {blocks}, started {}", shown(&run.id), run.started)
}

/// For a pull request: the verdict, then the primary figures.
#[must_use]
pub fn markdown(comparison: &RunComparison) -> String {
    let mut text = String::new();
    for sentence in &comparison.verdict {
        let line = escape(&sentence.text);
        text.push_str(&match sentence.kind {
            SentenceKind::Finding => format!("- {line}\n"),
            SentenceKind::Warning => format!("- **Warning:** {line}\n"),
            SentenceKind::Note => format!("- *{line}*\n"),
        });
    }
    text.push('\n');
    text.push_str(&crate::markdown::table(&figures(
        comparison,
        Family::Primary,
    )));
    text
}
