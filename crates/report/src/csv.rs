//! A view as CSV in long form: one value a line, for spreadsheets and statistics programs.

use tare_schema::metric::Unit;
use tare_schema::view::{View, WaterfallSequence, WaterfallView};

/// The view as CSV (RFC 4180 quoting, line feeds): level, arm, block, metric, value, unit. Values that could not be measured have no
/// line; values are in the unit named, unrounded. What each step of a waterfall adds follows, over all blocks, so without one.
#[must_use]
pub fn csv(view: &View) -> String {
    let mut text = String::from("level,arm,block,metric,value,unit\n");
    for level in &view.levels {
        for cell in &level.cells {
            for figure in &cell.figures {
                for (place, value) in figure.by_block.iter().enumerate() {
                    let Some(value) = value else { continue };
                    let fields = [
                        quoted(&level.name),
                        quoted(&cell.arm),
                        (place + 1).to_string(),
                        quoted(figure.metric.label()),
                        value.to_string(),
                        unit(figure.unit).to_string(),
                    ];
                    text.push_str(&fields.join(","));
                    text.push('\n');
                }
            }
        }
    }
    for waterfall in &view.waterfalls {
        for sequence in &waterfall.sequences {
            taken_apart(&mut text, waterfall, sequence);
        }
    }
    text
}

/// What each step of an order adds, and the total, each with its interval.
fn taken_apart(text: &mut String, view: &WaterfallView, sequence: &WaterfallSequence) {
    let steps = sequence.steps.iter();
    let added = steps.map(|step| (step.what.as_str(), step.arm.as_str(), step.added));
    let last = sequence.steps.last().map(|step| step.arm.as_str());
    let total = ("all", last.unwrap_or_default(), sequence.total);
    for (what, arm, interval) in added.chain([total]) {
        let Some(interval) = interval else { continue };
        for (end, value) in [
            ("", Some(interval.estimate)),
            (", low", interval.low),
            (", high", interval.high),
        ] {
            let Some(value) = value else { continue };
            let metric = format!("{}: {what} adds{end} ({})", view.label, sequence.name);
            let fields = [
                quoted(&view.level),
                quoted(arm),
                String::new(),
                quoted(&metric),
                value.to_string(),
                unit(view.unit).to_string(),
            ];
            text.push_str(&fields.join(","));
            text.push('\n');
        }
    }
}

fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Nanoseconds => "ns",
        Unit::PerSecond => "per s",
        Unit::CpuSecondsPer1000 => "CPU-s per 1000",
        Unit::Bytes => "bytes",
    }
}

fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) {
        return format!("\"{}\"", field.replace('"', "\"\""));
    }
    field.to_string()
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
}
