//! A view as Markdown for a pull request or a README: the verdict first, then the tables.

use std::fmt::Write as _;

use tare_record::escape::{escape_line, is_terminal_control};
use tare_record::view::{ColumnKind, Output, Sentence, SentenceKind, Table, View, ViewState};

use crate::{quantity, tables};

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
    text.push_str(&sentences(&view.verdict));
    for one in tables::ordered(view, Output::Markdown) {
        let mut heading = tables::heading(one);
        // Names of levels and quantiles stay as they are.
        let is_word = heading.chars().nth(1).is_some_and(char::is_lowercase);
        if let Some(first) = heading.get_mut(..1)
            && one.level.is_none()
            && is_word
        {
            first.make_ascii_uppercase();
        }
        text.push_str(&format!("\n### {}\n", escape(&heading)));
        if !one.rows.is_empty() {
            text.push_str(&format!("\n{}", table(one)));
        }
        for sentence in &one.footnotes {
            text.push_str(&format!("\n{}\n", escape(sentence)));
        }
    }
    footer(&mut text, view);
    text
}

/// The sentences of a verdict as a list.
pub(crate) fn sentences(verdict: &[Sentence]) -> String {
    let line = |sentence: &Sentence| {
        let line = escape(&sentence.text);
        match sentence.kind {
            SentenceKind::Finding => format!("- {line}\n"),
            SentenceKind::Warning => format!("- **Warning:** {line}\n"),
            SentenceKind::Note => format!("- *{line}*\n"),
        }
    };
    verdict.iter().map(line).collect()
}

/// A table in Markdown.
#[must_use]
pub fn table(table: &Table) -> String {
    let (columns, rows) = tables::texts(table, Output::Markdown, 0);
    let rule = columns.iter().map(|column| match column.kind {
        ColumnKind::Figure => "---:",
        _ => "---",
    });
    let rule: Vec<&str> = rule.collect();
    let mut text = row(columns.iter().map(|column| &column.label));
    text.push_str(&format!("| {} |\n", rule.join(" | ")));
    for cells in &rows {
        text.push_str(&row(cells.iter()));
    }
    text
}

fn row<'a>(cells: impl Iterator<Item = &'a String>) -> String {
    let cells: Vec<String> = cells.map(|cell| escape(cell)).collect();
    format!("| {} |\n", cells.join(" | "))
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
    escape_line(text).replace('`', "'")
}

/// Text with Markdown and HTML escaped.
#[must_use]
pub fn escape(text: &str) -> String {
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
            c if is_terminal_control(c) => {
                escaped.push_str(&escape_line(c.encode_utf8(&mut [0; 4])).replace('\\', "\\\\"))
            }
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use tare_record::view::TableColumn;

    use super::*;

    #[test]
    fn a_cell_cannot_break_out_of_its_table() {
        let mut nasty = Table::new("nasty", "", "").columns([TableColumn::name("a|b")]);
        nasty.push(["x\ny <b>*z*".into()]);
        assert_eq!(
            table(&nasty),
            "| a\\|b |\n| --- |\n| x y &lt;b&gt;\\*z\\* |\n"
        );
    }
}
