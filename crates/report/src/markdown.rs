//! A view as Markdown for a pull request or a README: the verdict first, then the tables.

use std::fmt::Write as _;

use tare_schema::plan::Compare;
use tare_schema::shown::{is_obeyed, shown};
use tare_schema::view::{
    Family, FaultView, LevelView, SentenceKind, View, ViewState, WaterfallView,
};

use crate::grid::{self, Cost, Grid};
use crate::quantity;

/// The view as Markdown that ends with a line break.
#[must_use]
pub fn markdown(view: &View) -> String {
    let run = &view.run;
    let mut text = format!(
        "## {}\n\n{}\n\n",
        escape(&run.experiment),
        escape(&run.question)
    );
    match run.state {
        ViewState::Complete => {}
        ViewState::Partial => text.push_str("**Partial**: more blocks are planned.\n\n"),
        ViewState::Provisional => {
            text.push_str(
                "**Provisional**: fewer than 3 blocks, so no intervals and no verdict.\n\n",
            );
        }
    }
    for sentence in &view.verdict {
        let line = escape(&sentence.text);
        let line = match sentence.kind {
            SentenceKind::Finding => format!("- {line}"),
            SentenceKind::Warning => format!("- **Warning:** {line}"),
            SentenceKind::Note => format!("- *{line}*"),
        };
        text.push_str(&line);
        text.push('\n');
    }
    section(&mut text, "Assertions", &grid::assertions(view));
    section(
        &mut text,
        "Round trips between sites, before the first block",
        &grid::network::link_rtts(view),
    );
    match view.compare {
        Compare::Arms => levels_apart(&mut text, view),
        Compare::Levels => levels_together(&mut text, view),
    }
    section(&mut text, "What failed", &grid::failures::failures(view));
    section(
        &mut text,
        "Throughput by level: successful responses per second, median of the blocks",
        &grid::requests::throughput(view),
    );
    if let Some(level) = grid::requests::shown(view) {
        let title = format!(
            "{}: each request by itself, median of the blocks",
            level.name
        );
        section(&mut text, &title, &grid::requests::requests(level));
    }
    for faults in &view.faults {
        fault_sections(&mut text, faults);
    }
    for waterfall in &view.waterfalls {
        waterfall_sections(&mut text, waterfall);
    }
    section(
        &mut text,
        "Published and measured",
        &grid::published::figures(view),
    );
    section(
        &mut text,
        "The same by source: what is added, of the baseline its value",
        &grid::published::columns(view),
    );
    if let Some(rule) = grid::published::as_published_rule(view) {
        let title = format!("As the published study prints it: {rule}");
        section(&mut text, &title, &grid::published::study_summary(view));
    }
    section(
        &mut text,
        "Trials that do not count",
        &grid::excluded_trials(view),
    );
    footer(&mut text, view);
    text
}

/// Arms compared: the tables of each level.
fn levels_apart(text: &mut String, view: &View) {
    for level in &view.levels {
        section(text, &level.name, &grid::figures(view, level));
        for missing in &level.missing {
            text.push_str(&format!("\n{}\n", escape(missing)));
        }
        generator(text, level);
        let costs = format!(
            "{}: CPU-seconds per 1000 {} and peak memory of each part; all: what is under test",
            level.name,
            grid::exchanges(view)
        );
        section(text, &costs, &grid::costs_wide(level, Cost::Both));
        for (family, title) in [
            (Family::Primary, "overhead"),
            (Family::Step, "incremental overhead"),
        ] {
            let grid = grid::overheads(view, level, family);
            section(text, &format!("{}: {title}", level.name), &grid);
        }
        let pods = format!("{}: pod network traffic", level.name);
        section(text, &pods, &grid::network::pods(level));
        let directions = format!("{}: link traffic", level.name);
        section(text, &directions, &grid::network::directions(level));
        let machine = format!("{}: host", level.name);
        section(text, &machine, &grid::network::machine(level));
    }
}

/// Levels compared: tables with a row for each, then the target counters.
fn levels_together(text: &mut String, view: &View) {
    section(text, "Levels", &grid::levels::figures(view));
    section(
        text,
        "What each part used: CPU and peak memory",
        &grid::levels::used(view),
    );
    section(
        text,
        "What each part moved: bytes written to disk, packets in and out",
        &grid::levels::moved(view),
    );
    section(
        text,
        "Levels compared with the first",
        &grid::levels::compared(view),
    );
    for level in &view.levels {
        generator(text, level);
        let directions = format!("{}: link traffic", level.name);
        section(text, &directions, &grid::network::directions(level));
        let machine = format!("{}: host", level.name);
        section(text, &machine, &grid::network::machine(level));
    }
    for factor in &view.factors {
        let title = format!("{} against {}", factor.label, factor.factor);
        section(text, &title, &grid::levels::factor(factor));
    }
    for (level, cell) in view
        .levels
        .iter()
        .flat_map(|l| l.cells.iter().map(move |c| (l, c)))
    {
        let title = format!("{}: target counters of {}", level.name, cell.arm);
        section(
            text,
            &title,
            &grid::levels::target_counters(&cell.target_counters),
        );
    }
}

fn generator(text: &mut String, level: &LevelView) {
    let title = format!("{}: {}", level.name, grid::INSTRUMENT);
    section(text, &title, &grid::generator(level));
}

fn section(text: &mut String, title: &str, grid: &Grid) {
    if grid.rows.is_empty() {
        return;
    }
    text.push_str(&format!("\n### {}\n\n", escape(title)));
    text.push_str(&table(grid));
}

fn fault_sections(text: &mut String, view: &FaultView) {
    let title = format!("{}, {}: faults, trial by trial", view.arm, view.level);
    section(text, &title, &grid::faults::trials(view));
    let title = format!(
        "{}, {}: answers by the second in which they came, medians over the trials",
        view.arm, view.level
    );
    section(text, &title, &grid::faults::seconds(view));
}

fn waterfall_sections(text: &mut String, view: &WaterfallView) {
    let (level, label) = (&view.level, &view.label);
    for sequence in &view.sequences {
        let title = format!(
            "{level}: what adds up to the {label}, order {}",
            sequence.name
        );
        match &sequence.missing {
            Some(reason) => {
                text.push_str(&format!("\n### {}\n\n{}\n", escape(&title), escape(reason)))
            }
            None => {
                let grid = grid::waterfall::steps(view, sequence).without(&["bar"]);
                section(text, &title, &grid);
                text.push_str(&format!("\nOrder: {}\n", escape(&sequence.order)));
            }
        }
    }
    let title = format!("{level}: parts of the {label} by order");
    section(text, &title, &grid::waterfall::parts(view));
    for check in &view.checks {
        text.push_str(&format!("\n{}\n", escape(check)));
    }
}

/// A grid as a Markdown table.
pub(crate) fn table(grid: &Grid) -> String {
    let row = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| escape(cell)).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let rule: Vec<&str> = (0..grid.header.len())
        .map(|place| if place < grid.names { "---" } else { "---:" })
        .collect();
    let mut text = row(&grid.header);
    text.push_str(&format!("| {} |\n", rule.join(" | ")));
    for cells in &grid.rows {
        text.push_str(&row(cells));
    }
    text
}

fn footer(text: &mut String, view: &View) {
    let run = &view.run;
    let fact = |title: &str, name: &str| {
        let group = view.facts.iter().find(|group| group.title == title)?;
        group
            .facts
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.clone())
    };
    let machine = [
        fact("machine", "processor"),
        fact("machine", "cores").map(|c| format!("{c} cores")),
    ];
    let machine: Vec<String> = machine.into_iter().flatten().collect();
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "\n{} of {} blocks, {}, on {}; run `{}`, tare {}. Reproduce: `{}`",
        run.blocks_complete,
        run.blocks_planned,
        quantity::span(run.took_ns),
        if machine.is_empty() {
            "an unknown machine".into()
        } else {
            escape(&machine.join(", "))
        },
        code(&run.id),
        escape(&run.tare),
        code(&run.command)
    );
}

/// Text for a code span; backticks are replaced.
fn code(text: &str) -> String {
    shown(text).replace('`', "'")
}

/// Text with Markdown and HTML escaped.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '|' | '\\' | '`' | '*' | '_' | '[' | ']' | '#' | '~' => {
                escaped.push('\\');
                escaped.push(c);
            }
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '\n' | '\r' => escaped.push(' '),
            // The backslash is doubled, since Markdown removes one.
            c if is_obeyed(c) => {
                escaped.push_str(&shown(c.encode_utf8(&mut [0; 4])).replace('\\', "\\\\"))
            }
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_cannot_break_out_of_its_table() {
        let grid = Grid {
            header: vec!["a|b".into()],
            rows: vec![vec!["x\ny <b>*z*".into()]],
            names: 1,
        };
        assert_eq!(
            table(&grid),
            "| a\\|b |\n| --- |\n| x y &lt;b&gt;\\*z\\* |\n"
        );
    }
}
