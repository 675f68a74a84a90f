//! A view as CSV in long form: one value per line, for spreadsheets and statistics programs.

use tare_record::escape::escape_line;
use tare_record::metric::Unit;
use tare_record::view::{Table, View, WaterfallSequence, WaterfallView};

/// The view as CSV (RFC 4180 quoting, line feeds): level, arm, block, metric, value, unit. Values are unrounded; those that could
/// not be measured have no line. Then follow, over all blocks and so without a block: the share of failed exchanges, the values
/// of tables (traffic of pods and links, usage of the machine, target counters), and the increments of waterfalls. Round trips
/// between sites have no level and no arm.
#[must_use]
pub fn csv(view: &View) -> String {
    let mut text = String::from("level,arm,block,metric,value,unit\n");
    for level in &view.levels {
        for cell in &level.cells {
            for figure in &cell.figures {
                for (place, value) in figure.by_block.iter().enumerate() {
                    let block = (place + 1).to_string();
                    let at = [level.name.as_str(), &cell.arm, &block];
                    line(
                        &mut text,
                        at,
                        &figure.metric.name(),
                        *value,
                        unit(figure.unit),
                    );
                }
            }
        }
    }
    for level in &view.levels {
        for cell in &level.cells {
            let at = [level.name.as_str(), &cell.arm, ""];
            line(&mut text, at, "failed", cell.failed.share, "share");
        }
    }
    view.tables.iter().for_each(|one| table(&mut text, one));
    for waterfall in &view.waterfalls {
        for sequence in &waterfall.sequences {
            waterfall_lines(&mut text, waterfall, sequence);
        }
    }
    text
}

/// A line, if there is a value. `at`: level, arm, block.
fn line(text: &mut String, at: [&str; 3], metric: &str, value: Option<f64>, unit: &str) {
    let Some(value) = value else { return };
    let [level, arm, block] = at.map(quoted);
    let metric = quoted(metric);
    text.push_str(&format!("{level},{arm},{block},{metric},{value},{unit}\n"));
}

/// The values of a table, in the columns that name a metric.
fn table(text: &mut String, table: &Table) {
    let level = table.level.as_deref().unwrap_or_default();
    for row in &table.rows {
        let at = [level, row.arm.as_deref().unwrap_or_default(), ""];
        for (column, cell) in table.columns.iter().zip(&row.cells) {
            let Some(metric) = &column.metric else {
                continue;
            };
            let metric = metric.replace("{}", row.subject.as_deref().unwrap_or_default());
            let unit = row.unit.as_ref().or(column.unit.as_ref());
            line(
                text,
                at,
                &metric,
                cell.value,
                unit.map_or("", String::as_str),
            );
        }
    }
}

/// The increment of each step of a sequence, and the total, each with its interval.
fn waterfall_lines(text: &mut String, view: &WaterfallView, sequence: &WaterfallSequence) {
    let steps = sequence.steps.iter();
    let added = steps.map(|step| (step.what.as_str(), step.arm.as_str(), step.added));
    let last = sequence.steps.last().map(|step| step.arm.as_str());
    let total = ("total", last.unwrap_or_default(), sequence.total);
    for (what, arm, interval) in added.chain([total]) {
        let Some(interval) = interval else { continue };
        for (end, value) in [
            ("", Some(interval.estimate)),
            (", low", interval.low),
            (", high", interval.high),
        ] {
            let verb = if what == "total" { "added" } else { "adds" };
            let name = view.metric.name();
            let metric = format!("{name}: {what} {verb}{end} ({})", sequence.name);
            line(
                text,
                [&view.level, arm, ""],
                &metric,
                value,
                unit(view.unit),
            );
        }
    }
}

/// The unit of a metric in words.
#[must_use]
pub fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Nanoseconds => "ns",
        Unit::PerSecond => "per s",
        Unit::BytesPerSecond => "bytes per s",
        Unit::CpuSecondsPer1000 => "CPU-s per 1000",
        Unit::Cores => "cores",
        Unit::Own => "own",
        Unit::Bytes => "bytes",
    }
}

/// A text field, quoted if necessary. An apostrophe before text that begins like a formula keeps spreadsheets from running it.
#[must_use]
pub fn quoted(field: &str) -> String {
    let apostrophe = if field.starts_with(['=', '+', '-', '@']) {
        "'"
    } else {
        ""
    };
    let field = format!("{apostrophe}{}", escape_line(field));
    if field.contains([',', '"']) {
        return format!("\"{}\"", field.replace('"', "\"\""));
    }
    field
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_with_a_comma_or_a_quote_is_quoted() {
        assert_eq!(quoted("replicas=3, acks=all"), "\"replicas=3, acks=all\"");
        assert_eq!(quoted("a \"b\""), "\"a \"\"b\"\"\"");
        assert_eq!(quoted("2000/s"), "2000/s");
    }

    #[test]
    fn a_field_of_text_is_no_formula_and_moves_no_cursor() {
        assert_eq!(quoted("=cmd|' /C calc'!A0"), "'=cmd|' /C calc'!A0");
        assert_eq!(quoted("@SUM(1,2)"), "\"'@SUM(1,2)\"");
        for text in ["+1", "-1"] {
            assert_eq!(quoted(text), format!("'{text}"));
        }
        assert_eq!(quoted("a\n\u{1b}[2J"), "a\\n\\u{1b}[2J");
        assert_eq!(quoted("\t=1"), "\\t=1");
    }
}
