//! Values as text, and tables of them.

use std::time::Duration;

use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};
use tare_record::escape::escape_line;
use tare_record::metric::Unit;
use tare_report::quantity;
use tare_stats::{Latencies, Quantile};

use crate::screen::screen;

pub use tare_report::quantity::MISSING;

/// A value, or [`MISSING`].
pub fn maybe(value: Option<impl ToString>) -> String {
    value.map_or_else(|| MISSING.to_owned(), |value| value.to_string())
}

/// A time.
pub fn time(ns: u64) -> String {
    quantity::value(Unit::Nanoseconds, ns as f64)
}

/// A time, or [`MISSING`].
pub fn maybe_time(ns: Option<u64>) -> String {
    maybe(ns.map(time))
}

/// A quantile; more than a time where unanswered exchanges reach into it.
pub fn quantile(quantile: Quantile) -> String {
    match quantile {
        Quantile::Exact(ns) => time(ns),
        Quantile::Above(ns) => format!("> {}", time(ns)),
        Quantile::TooFew => MISSING.to_owned(),
    }
}

/// The value of an exact quantile; `None` for a bound.
pub fn exact(quantile: Quantile) -> Option<u64> {
    match quantile {
        Quantile::Exact(ns) => Some(ns),
        Quantile::Above(_) | Quantile::TooFew => None,
    }
}

/// The value of a quantile, or the bound that it is above.
pub fn at_least(quantile: Quantile) -> Option<u64> {
    match quantile {
        Quantile::Exact(ns) | Quantile::Above(ns) => Some(ns),
        Quantile::TooFew => None,
    }
}

/// The largest value.
pub fn largest(latencies: &Latencies) -> String {
    maybe(latencies.max().map(quantile))
}

/// A rate.
pub fn per_s(rate: f64) -> String {
    quantity::value(Unit::PerSecond, rate)
}

/// Bytes with a decimal unit.
pub fn bytes(count: f64) -> String {
    quantity::value(Unit::Bytes, count)
}

/// "1 topic", "2 topics".
pub fn counted(number: impl TryInto<u64>, noun: &str) -> String {
    let number = number.try_into().unwrap_or(u64::MAX);
    quantity::counted(number, noun, &format!("{noun}s"))
}

/// `3:07`, `1:02:03`.
pub fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match hours {
        0 => format!("{minutes}:{seconds:02}"),
        _ => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

/// A table that fits the terminal, with a line below its head; columns whose name ends in ` #` are right-aligned numbers.
pub fn table(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = drawn(header, rows);
    table.set_width(screen(&console::Term::stdout()).width);
    format!("{}\n", table.trim_fmt())
}

/// Builds the table. Names come from brokers, clients and folders: their control characters are escaped.
fn drawn(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::UTF8_HORIZONTAL_ONLY)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_header(header.iter().map(|name| name.trim_end_matches(" #")));
    for row in rows {
        let cells = row.into_iter().zip(header).map(|(text, name)| {
            let side = match name.ends_with(" #") {
                true => CellAlignment::Right,
                false => CellAlignment::Left,
            };
            Cell::new(escape_line(&text)).set_alignment(side)
        });
        table.add_row(cells);
    }
    table
}

/// Rows as lines without rules: names in the first column, numbers in the others. Columns are as wide as their widest text.
pub fn columns(rows: &[Vec<String>]) -> Vec<String> {
    let widths: Vec<usize> = (0..rows.iter().map(Vec::len).max().unwrap_or(0))
        .map(|column| {
            let texts = rows.iter().filter_map(|row| row.get(column));
            let widths = texts.map(|text| console::measure_text_width(text));
            widths.max().unwrap_or(0)
        })
        .collect();
    let line = |row: &Vec<String>| {
        let mut line = String::new();
        for (column, (text, width)) in row.iter().zip(&widths).enumerate() {
            let blank = " ".repeat(width - console::measure_text_width(text));
            line.push_str(&match column {
                0 => format!("{text}{blank}"),
                _ => format!("  {blank}{text}"),
            });
        }
        line.trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_broker_or_client_calls_itself_is_shown_and_not_obeyed() {
        use tare_record::escape::is_terminal_control;
        let nasty = "g\u{1b}]0;owned\u{7}\r\nerror: \u{9b}2J\u{202e}x";
        let table = drawn(
            &["group", "lag #"],
            [vec![nasty.to_owned(), "3".to_owned()]],
        )
        .to_string();
        assert!(
            !table.contains(|c| is_terminal_control(c) && c != '\n'),
            "{table:?}"
        );
        assert!(table.contains(r"\u{1b}]0;owned"), "{table}");
        assert!(!table.contains("\nerror"), "{table}");
    }

    #[test]
    fn bytes_have_the_unit_that_keeps_them_short() {
        assert_eq!(bytes(0.0), "0 B");
        assert_eq!(bytes(999.0), "999 B");
        assert_eq!(bytes(1_500.0), "1.50 kB");
        assert_eq!(bytes(20_953_112_576.0), "21.0 GB");
    }

    #[test]
    fn time_left_reads_as_a_clock() {
        assert_eq!(clock(Duration::from_secs(41)), "0:41");
        assert_eq!(clock(Duration::from_secs(187)), "3:07");
        assert_eq!(clock(Duration::from_secs(3_661)), "1:01:01");
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_text() {
        let rows = [["", "p50"], ["latency", "1.00 ms"], ["x", ""]];
        let rows = rows.map(|row| row.map(str::to_owned).to_vec());
        let lines = columns(&rows);
        assert_eq!(lines, ["             p50", "latency  1.00 ms", "x"]);
    }
}
