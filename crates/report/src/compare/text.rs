//! A comparison of two runs for a terminal and for Markdown.

use tare_record::escape::escape_line;
use tare_record::view::{Family, Table};

use super::{Row, RunComparison, RunName};
use crate::tables::{figure, group, name, text, words};
use crate::terminal::{Colour, Screen, sentences, table};

fn figures(comparison: &RunComparison, family: Family) -> Table {
    let rows = comparison.rows.iter();
    let rows: Vec<&Row> = rows.filter(|row| row.family == family).collect();
    Table::new("compared-runs", "", "").fill(
        &rows,
        [
            group("level", |row| text(&row.level)),
            group("arm", |row| text(&row.arm)),
            name("metric", |row| text(row.metric.label())),
            figure("before", |row| text(&row.before)),
            figure("after", |row| text(&row.after)),
            figure("change", |row| text(&row.ratio_text)),
            words("outcome", |row| text(&row.outcome_text)),
        ],
    )
}

/// For a terminal: tables, then the verdict.
#[must_use]
pub fn terminal(comparison: &RunComparison, screen: Screen) -> String {
    let mut text = format!(
        "before: {}\nafter:  {}\n",
        described(&comparison.before),
        described(&comparison.after)
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
    let plain = Screen {
        colour: Colour::Off,
        ..screen
    };
    text.push_str(&sentences(&comparison.verdict, plain));
    text
}

fn described(run: &RunName) -> String {
    let blocks = crate::quantity::counted(run.blocks.into(), "block", "blocks");
    format!(
        "{}, {blocks}, started {}",
        escape_line(&run.id),
        run.started
    )
}

/// For a pull request: the verdict, then the primary figures.
#[must_use]
pub fn markdown(comparison: &RunComparison) -> String {
    let verdict = crate::markdown::sentences(&comparison.verdict);
    let figures = crate::markdown::table(&figures(comparison, Family::Primary));
    format!("{verdict}\n{figures}")
}
