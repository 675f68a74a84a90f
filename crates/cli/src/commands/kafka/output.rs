//! Output of the commands: tables or JSON.

use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};
use serde::Serialize;
use tare_kafka_admin::admin::Outcome;
use tare_schema::shown::shown;

use crate::exit::bad_input;
use crate::screen::{print, print_json, screen};

use super::CommonArgs;

/// Shown for a missing value.
pub const MISSING: &str = "–";

/// Prints a value as JSON.
pub fn json(value: &impl Serialize) -> anyhow::Result<()> {
    print_json(value)
}

/// Prints a table that fits the terminal; columns whose name ends in `#` are right-aligned numbers.
pub fn table(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> anyhow::Result<()> {
    let mut table = drawn(header, rows);
    table.set_width(screen(&console::Term::stdout()).width);
    print(&format!("{}\n", table.trim_fmt()))
}

/// Builds the table. Names come from brokers and clients: their control characters are escaped.
fn drawn(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::UTF8_HORIZONTAL_ONLY)
        .set_content_arrangement(ContentArrangement::Dynamic);
    let name = |word: &&str| word.trim_end_matches(" #").to_owned();
    table.set_header(header.iter().map(name));
    for row in rows {
        let cells = row.into_iter().zip(header).map(|(text, word)| {
            let side = match word.ends_with(" #") {
                true => CellAlignment::Right,
                false => CellAlignment::Left,
            };
            Cell::new(shown(&text)).set_alignment(side)
        });
        table.add_row(cells);
    }
    table
}

/// A value, or [`MISSING`].
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

/// Bytes with a decimal unit.
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

/// Prints the outcomes of several operations; a refused one makes the command fail.
pub fn outcomes(outcomes: &[Outcome], done: &str, common: &CommonArgs) -> anyhow::Result<()> {
    if common.json {
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
    fn what_a_broker_or_client_calls_itself_is_shown_and_not_obeyed() {
        use tare_schema::shown::is_obeyed;
        let nasty = "g\u{1b}]0;owned\u{7}\r\nerror: \u{9b}2J\u{202e}x";
        let table = drawn(
            &["group", "lag #"],
            [vec![nasty.to_owned(), "3".to_owned()]],
        )
        .to_string();
        assert!(!table.contains(|c| is_obeyed(c) && c != '\n'), "{table:?}");
        assert!(table.contains(r"\u{1b}]0;owned"), "{table}");
        assert!(!table.contains("\nerror"), "{table}");
    }

    #[test]
    fn bytes_have_the_unit_that_keeps_them_short() {
        assert_eq!(bytes(0), "0 B");
        assert_eq!(bytes(999), "999 B");
        assert_eq!(bytes(1_500), "1.5 kB");
        assert_eq!(bytes(20_953_112_576), "21.0 GB");
    }
}
