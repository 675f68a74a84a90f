//! What a command prints: a table for people, JSON for programs.

use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};
use serde::Serialize;
use tare_kafka::admin::Outcome;

use crate::exit::bad_input;
use crate::screen::{print, screen};

use super::Manner;

/// What is shown where there is nothing.
pub const MISSING: &str = "–";

/// Prints a value as JSON.
pub fn json(value: &impl Serialize) -> anyhow::Result<()> {
    print(&(serde_json::to_string_pretty(value)? + "\n"))
}

/// Prints a table that fits the terminal; columns whose name ends in `#` hold numbers.
pub fn table(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> anyhow::Result<()> {
    let mut table = Table::new();
    table
        .load_style(presets::UTF8_HORIZONTAL_ONLY)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(screen(&console::Term::stdout()).width);
    let name = |word: &&str| word.trim_end_matches(" #").to_owned();
    table.set_header(header.iter().map(name));
    for row in rows {
        let cells = row.into_iter().zip(header).map(|(text, word)| {
            let side = match word.ends_with(" #") {
                true => CellAlignment::Right,
                false => CellAlignment::Left,
            };
            Cell::new(text).set_alignment(side)
        });
        table.add_row(cells);
    }
    print(&format!("{}\n", table.trim_fmt()))
}

/// A number, or nothing.
pub fn maybe(value: Option<impl ToString>) -> String {
    value.map_or_else(|| MISSING.to_owned(), |value| value.to_string())
}

/// `1,2,3`.
pub fn list(ids: &[i32]) -> String {
    match ids {
        [] => MISSING.to_owned(),
        some => some
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(","),
    }
}

/// Bytes with a unit of 1000.
pub fn bytes(count: i64) -> String {
    let mut value = count as f64;
    let mut unit = "B";
    for next in ["kB", "MB", "GB", "TB"] {
        if value.abs() < 1000.0 {
            break;
        }
        value /= 1000.0;
        unit = next;
    }
    match unit {
        "B" => format!("{count} B"),
        _ => format!("{value:.1} {unit}"),
    }
}

/// "1 topic", "2 topics".
pub fn count(number: usize, word: &str) -> String {
    match number {
        1 => format!("1 {word}"),
        _ => format!("{number} {word}s"),
    }
}

/// Prints how several things went; what was refused makes the whole an error.
pub fn outcomes(outcomes: &[Outcome], done: &str, manner: &Manner) -> anyhow::Result<()> {
    if manner.json {
        json(&outcomes)?;
    } else {
        for one in outcomes.iter().filter(|one| one.refusal.is_none()) {
            print(&format!("{}: {done}\n", one.name))?;
        }
    }
    let refused: Vec<String> = outcomes
        .iter()
        .filter_map(|one| Some(format!("{}: {}", one.name, one.refusal.as_ref()?)))
        .collect();
    match refused.is_empty() {
        true => Ok(()),
        false => Err(bad_input(refused.join("\n  "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_the_unit_that_keeps_them_short() {
        assert_eq!(bytes(0), "0 B");
        assert_eq!(bytes(999), "999 B");
        assert_eq!(bytes(1_500), "1.5 kB");
        assert_eq!(bytes(20_953_112_576), "21.0 GB");
    }
}
