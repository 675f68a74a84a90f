//! A view as CSV in long form: one value per line, for spreadsheets and statistics programs.

use tare_schema::metric::Unit;
use tare_schema::shown::shown;
use tare_schema::view::{CellView, View, WaterfallSequence, WaterfallView};

/// The view as CSV (RFC 4180 quoting, line feeds): level, arm, block, metric, value, unit. Values are unrounded; those that could
/// not be measured have no line. Then follow, over all blocks and so without a block: the share of failed exchanges, traffic of
/// pods and links, usage of the machine, target counters, and the increments of waterfalls. Round trips between sites have no
/// level and no arm.
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
    for level in &view.levels {
        for cell in &level.cells {
            if let Some(share) = cell.failed.share {
                let (level, arm) = (quoted(&level.name), quoted(&cell.arm));
                text.push_str(&format!("{level},{arm},,failed,{share},share\n"));
            }
        }
    }
    for level in &view.levels {
        for cell in &level.cells {
            network(&mut text, &level.name, cell);
        }
    }
    link_rtts(&mut text, view);
    for waterfall in &view.waterfalls {
        for sequence in &waterfall.sequences {
            waterfall_lines(&mut text, waterfall, sequence);
        }
    }
    text
}

/// Round trips of the links, measured before the first block.
fn link_rtts(text: &mut String, view: &View) {
    for distance in &view.link_rtts {
        for (what, ns) in [("median", distance.p50_ns), ("p99", distance.p99_ns)] {
            let Some(ns) = ns else { continue };
            let metric = quoted(&format!("round trip {}, {what}", distance.link));
            text.push_str(&format!(",,,{metric},{ns},ns\n"));
        }
    }
}

/// Traffic of pods and links, usage of the machine, and target counters: medians over all blocks.
fn network(text: &mut String, level: &str, cell: &CellView) {
    let mut line = |metric: &str, value: Option<f64>, unit: &str| {
        let Some(value) = value else { return };
        let fields = [
            quoted(level),
            quoted(&cell.arm),
            String::new(),
            quoted(metric),
        ];
        text.push_str(&format!("{},{value},{unit}\n", fields.join(",")));
    };
    for pod in &cell.pods {
        let name = |what: &str| format!("{what}, pod {}", pod.pod);
        line(&name("packets in"), pod.packets_in_per_1000, "per 1000");
        line(&name("packets out"), pod.packets_out_per_1000, "per 1000");
        line(
            &name("bytes in"),
            pod.bytes_in_per_exchange,
            "bytes per exchange",
        );
        line(
            &name("bytes out"),
            pod.bytes_out_per_exchange,
            "bytes per exchange",
        );
        line(&name("TCP connections"), pod.tcp_connections, "per window");
        line(&name("TCP retransmits"), pod.tcp_retransmits, "per window");
    }
    for way in &cell.directions {
        let name = |what: &str| format!("{what}, {} to {}", way.from, way.to);
        line(&name("packets"), way.packets_per_1000, "per 1000");
        line(&name("bytes"), way.bytes_per_exchange, "bytes per exchange");
        line(&name("packets lost"), way.lost_share, "share");
        line(
            &name("packets before a full queue"),
            way.queue_full_packets,
            "per window",
        );
        let unintended_drops = way.unintended_drops.map(|packets| packets as f64);
        line(&name("unintended drops"), unintended_drops, "per window");
        line(&name("late writes"), way.late_writes, "per window");
    }
    let machine = &cell.machine;
    line("softirq", machine.softirq_share, "share");
    line("steal", machine.steal_share, "share");
    line("parts' cores busy", machine.part_cores_busy, "share");
    line(
        "other programs on the parts' cores",
        machine.background_part_share,
        "share",
    );
    line(
        "other programs on the generator's cores",
        machine.background_agent_share,
        "share",
    );
    line(
        "other arms on the parts' cores",
        machine.other_arms_share,
        "share",
    );
    line("busiest core", machine.busiest_core, "share");
    line("throttled", machine.throttled_share, "share");
    for row in &cell.target_counters.rows {
        for (instance, value) in cell.target_counters.instances.iter().zip(&row.values) {
            // Milliseconds have a unit; that of the others is in the name.
            let unit = if row.name.contains("-ms") {
                "ms"
            } else {
                "as named"
            };
            line(&format!("{}, {instance}", row.name), *value, unit);
        }
    }
}

/// The increment of each step of a sequence, and the total, each with its interval.
fn waterfall_lines(text: &mut String, view: &WaterfallView, sequence: &WaterfallSequence) {
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
        Unit::BytesPerSecond => "bytes per s",
        Unit::CpuSecondsPer1000 => "CPU-s per 1000",
        Unit::Bytes => "bytes",
    }
}

/// A text field, quoted if necessary. An apostrophe before text that begins like a formula keeps spreadsheets from running it.
fn quoted(field: &str) -> String {
    let apostrophe = if field.starts_with(['=', '+', '-', '@']) {
        "'"
    } else {
        ""
    };
    let field = format!("{apostrophe}{}", shown(field));
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
