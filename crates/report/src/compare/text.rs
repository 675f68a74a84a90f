//! A comparison of two runs for a terminal and for Markdown.

use tare_schema::shown::shown;
use tare_schema::view::{Family, SentenceKind};

use super::RunComparison;
use crate::grid::Grid;
use crate::markdown::escape;
use crate::terminal::{Screen, table, wrap};

fn grid(comparison: &RunComparison, family: Family) -> Grid {
    let head = [
        "level", "arm", "metric", "before", "after", "change", "outcome",
    ];
    let mut before = (String::new(), String::new());
    let mut rows = Vec::new();
    for row in comparison.rows.iter().filter(|row| row.family == family) {
        let here = (row.level.clone(), row.arm.clone());
        let level = if here.0 == before.0 {
            String::new()
        } else {
            here.0.clone()
        };
        let arm = if here == before {
            String::new()
        } else {
            here.1.clone()
        };
        before = here;
        rows.push(vec![
            level,
            arm,
            row.metric.label().into(),
            row.before.clone(),
            row.after.clone(),
            row.ratio_text.clone(),
            row.outcome_text.clone(),
        ]);
    }
    Grid {
        header: head.map(String::from).to_vec(),
        rows,
        names: 3,
    }
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
        let whole = grid(comparison, family);
        let whole = if family == Family::Primary {
            whole
        } else {
            whole.without(&["outcome"])
        };
        if !whole.rows.is_empty() {
            text.push_str(&format!("\n{title}\n"));
            text.push_str(&table(&[whole], screen));
        }
    }
    text.push_str("\nverdict\n");
    for sentence in &comparison.verdict {
        let mark = match sentence.kind {
            SentenceKind::Finding => "",
            SentenceKind::Warning => "! ",
            SentenceKind::Note => "· ",
        };
        let indent = " ".repeat(mark.chars().count());
        let words = format!("{mark}{}", shown(&sentence.text));
        text.push_str(&wrap(&words, width, &indent));
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
    text.push_str(&crate::markdown::table(&grid(comparison, Family::Primary)));
    text
}
