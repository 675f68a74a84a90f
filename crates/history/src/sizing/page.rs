//! A sizing as text and as a page: the same tables in both, and CPU over the rate as a chart.

use std::collections::BTreeMap;

use tare_record::api::{RepeatUnit, Side, SizedGroup, SizedValue, SizingReport, TopologySize};
use tare_record::escape::{escape_lines, escape_xml};
use tare_record::metric::Unit;
use tare_record::view::ColumnKind::{self, Figure, Name, Words};
use tare_record::view::Interval;
use tare_report::quantity::{self, MISSING, Sign, counted};
use tare_report::terminal::{Screen, columns};

use super::answer::words;
use crate::chart::ticks;
use crate::suite::page::STYLE;

/// A table with the sentences above it.
struct Table {
    title: String,
    about: Vec<String>,
    heads: Vec<(&'static str, ColumnKind)>,
    rows: Vec<Vec<String>>,
    below: Vec<String>,
}

fn tables(report: &SizingReport) -> Vec<Table> {
    let mut tables: Vec<Table> = report.topology.iter().map(topology).collect();
    tables.push(cpu(report));
    tables.push(memory(report));
    if !report.published.is_empty() {
        tables.push(published(report));
    }
    tables
}

fn topology(size: &TopologySize) -> Table {
    let services = size.services.iter().map(|one| {
        vec![
            one.service.clone(),
            one.sidecars.to_string(),
            rate(one.received_per_s),
            rate(one.sent_per_s),
            figure(Unit::Cores, Some(&one.cores)),
            figure(Unit::Bytes, Some(&one.memory)),
        ]
    });
    let mut rows: Vec<Vec<String>> = services.collect();
    rows.push(vec![
        "all".into(),
        size.sidecars.to_string(),
        String::new(),
        String::new(),
        figure(Unit::Cores, Some(&size.cores)),
        figure(Unit::Bytes, Some(&size.memory)),
    ]);
    let needs = format!(
        "{} as in arm {} need {} and {} of memory.",
        counted(size.sidecars, "sidecar", "sidecars"),
        size.arm,
        figure(Unit::Cores, Some(&size.cores)),
        figure(Unit::Bytes, Some(&size.memory)),
    );
    Table {
        title: size.name.clone(),
        about: vec![needs],
        heads: vec![
            ("service", Name),
            ("sidecars", Figure),
            ("received", Figure),
            ("sent", Figure),
            ("CPU", Figure),
            ("memory", Figure),
        ],
        rows,
        below: size.limits.clone(),
    }
}

fn cpu(report: &SizingReport) -> Table {
    let mut rows = Vec::new();
    for group in &report.groups {
        let parts = group.parts.iter();
        for (place, part) in parts
            .filter(|part| part.side != Side::ControlPlane)
            .enumerate()
        {
            let first = |text: String| match place {
                0 => text,
                _ => String::new(),
            };
            rows.push(vec![
                first(group.arm.clone()),
                first(words(&group.features)),
                first(
                    group
                        .workers
                        .map_or(MISSING.into(), |count| count.to_string()),
                ),
                first(highest(group)),
                part.instance.clone(),
                figure(Unit::Cores, part.cores_per_1000.as_ref()),
            ]);
        }
    }
    Table {
        title: "CPU per 1000 requests/s".into(),
        about: vec![format!(
            "At the highest measured rate with {}.",
            report.objective
        )],
        heads: vec![
            ("arm", Name),
            ("features", Name),
            ("workers", Figure),
            ("rate", Figure),
            ("part", Name),
            ("CPU per 1000/s", Figure),
        ],
        rows,
        below: vec![
            "≥: no higher rate was measured. Arms are measured with all their features; their values are not added up.".into(),
        ],
    }
}

fn memory(report: &SizingReport) -> Table {
    let mut rows = Vec::new();
    for group in &report.groups {
        for (place, part) in group.parts.iter().enumerate() {
            let first = match place {
                0 => group.arm.clone(),
                _ => String::new(),
            };
            let workers = group.workers.filter(|_| place == 0);
            rows.push(vec![
                first,
                workers.map_or(String::new(), |count| count.to_string()),
                part.instance.clone(),
                figure(Unit::Bytes, part.memory_base.as_ref()),
                figure(Unit::Bytes, part.memory_per_connection.as_ref()),
                figure(Unit::Bytes, part.memory_per_service.as_ref()),
            ]);
        }
    }
    Table {
        title: "Memory".into(),
        about: vec!["Base, and what each connection and each configured service adds.".into()],
        heads: vec![
            ("arm", Name),
            ("workers", Figure),
            ("part", Name),
            ("base", Figure),
            ("per connection", Figure),
            ("per service", Figure),
        ],
        rows,
        below: vec![format!("{MISSING}: only one number was measured.")],
    }
}

fn published(report: &SizingReport) -> Table {
    let rows = report.published.iter().map(|one| {
        let measured = one.measured.iter();
        let measured: Vec<String> = measured
            .map(|cores| figure(Unit::Cores, Some(cores)))
            .collect();
        let source = one.caveat.as_ref().map_or_else(
            || one.source.clone(),
            |caveat| format!("{} ({caveat})", one.source),
        );
        vec![
            one.arm.clone(),
            one.published.clone(),
            one.instance.clone().unwrap_or(MISSING.into()),
            measured.join(", "),
            source,
        ]
    });
    Table {
        title: "Published figures".into(),
        about: Vec::new(),
        heads: vec![
            ("arm", Name),
            ("published", Words),
            ("part", Name),
            ("CPU per 1000/s", Figure),
            ("source", Words),
        ],
        rows: rows.collect(),
        below: Vec::new(),
    }
}

fn highest(group: &SizedGroup) -> String {
    match group.rate_per_s {
        None => "none".into(),
        Some(per_s) if group.is_highest_measured => format!("≥ {}", rate(per_s)),
        Some(per_s) => rate(per_s),
    }
}

fn rate(per_s: f64) -> String {
    quantity::value(Unit::PerSecond, per_s)
}

/// A value with its interval.
fn figure(unit: Unit, estimate: Option<&SizedValue>) -> String {
    let Some(estimate) = estimate.filter(|one| one.value.is_finite()) else {
        return MISSING.into();
    };
    let interval = Interval {
        estimate: estimate.value,
        low: estimate.low,
        high: estimate.high,
    };
    quantity::difference(unit, &interval, Sign::Spoken)
}

fn head(report: &SizingReport) -> Vec<String> {
    let repeats = match report.repeat_is {
        RepeatUnit::Block => counted(report.repeats, "block", "blocks"),
        RepeatUnit::Run => counted(report.repeats, "run", "runs"),
    };
    let runs = report.runs.join(", ");
    let mut head = vec![format!(
        "{}: 95 % intervals over {repeats} of {runs}.",
        report.experiment
    )];
    head.extend(report.conditions.iter().cloned());
    head
}

/// The sizing for the terminal.
#[must_use]
pub fn text(report: &SizingReport, screen: Screen) -> String {
    let mut text = String::new();
    for line in head(report) {
        text.push_str(&format!("{line}\n"));
    }
    let mut text = escape_lines(&text).into_owned();
    for table in tables(report) {
        let above = format!("\n{}\n{}", table.title, lines(&table.about));
        text.push_str(&escape_lines(&above));
        text.push_str(&columns(&table.heads, &table.rows, screen));
        text.push_str(&escape_lines(&lines(&table.below)));
    }
    text
}

fn lines(sentences: &[String]) -> String {
    sentences.iter().map(|line| format!("{line}\n")).collect()
}

/// The sizing as one page that needs no network.
#[must_use]
pub fn html(report: &SizingReport) -> String {
    let title = escape_xml(&format!("Sizing: {}", report.experiment));
    let paragraphs = |sentences: &[String]| -> String {
        let each = sentences
            .iter()
            .map(|line| format!("<p>{}</p>\n", escape_xml(line)));
        each.collect()
    };
    let mut text = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n<style>{STYLE}\n{TABLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n{}",
        paragraphs(&head(report))
    );
    for table in tables(report) {
        let title = escape_xml(&table.title);
        text.push_str(&format!(
            "<h2>{title}</h2>\n{}<div class=\"scroll\"><table>\n<tr>",
            paragraphs(&table.about)
        ));
        for (label, kind) in &table.heads {
            text.push_str(&format!("<th{}>{label}</th>", class(*kind)));
        }
        text.push_str("</tr>\n");
        for row in &table.rows {
            text.push_str("<tr>");
            for (cell, (_, kind)) in row.iter().zip(&table.heads) {
                text.push_str(&format!("<td{}>{}</td>", class(*kind), escape_xml(cell)));
            }
            text.push_str("</tr>\n");
        }
        text.push_str(&format!("</table></div>\n{}", paragraphs(&table.below)));
    }
    text.push_str("<h2>CPU over the rate</h2>\n");
    text.push_str(&format!("<div class=\"scroll\">{}</div>\n", charts(report)));
    text.push_str("</body>\n</html>\n");
    text
}

const TABLE: &str = ".scroll { overflow-x: auto; overflow-wrap: normal; } table { border-collapse: collapse; font-size: 14px; } \
th { text-align: left; } th, td { padding: 3px 14px 3px 0; vertical-align: top; } .figure { text-align: right; white-space: nowrap; } .words { min-width: 13em; } \
tr { border-bottom: 1px solid #8884; } .scroll svg { min-width: 720px; }";

fn class(kind: ColumnKind) -> &'static str {
    match kind {
        Figure => " class=\"figure\"",
        Words => " class=\"words\"",
        _ => "",
    }
}

/// Size of a chart, and the frame of the values within it.
const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 320.0;
const LEFT: f64 = 90.0;
const RIGHT: f64 = 700.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 280.0;
/// Colours of the report's charts.
const COLOURS: [&str; 6] = [
    "#0063a8", "#b4540a", "#00795a", "#a3142a", "#6b4fa0", "#7a6a00",
];

/// CPU over the rate, with the name of arm and workers.
type NamedLine = (String, Vec<(f64, SizedValue)>);

/// A chart per side: the lines of all arms with the fewest connections.
fn charts(report: &SizingReport) -> String {
    let mut sides: BTreeMap<Side, Vec<NamedLine>> = BTreeMap::new();
    for group in &report.groups {
        for part in group
            .parts
            .iter()
            .filter(|part| part.side != Side::ControlPlane)
        {
            let Some(first) = part.points.first() else {
                continue;
            };
            let alike = part.points.iter().filter(|point| {
                (point.services, point.connections) == (first.services, first.connections)
            });
            let line = alike.map(|point| (point.rate_per_s, point.cores)).collect();
            let workers = group.workers.filter(|count| *count > 1);
            let name = match workers {
                Some(count) => format!("{}, {count} workers", group.arm),
                None => group.arm.clone(),
            };
            sides.entry(part.side).or_default().push((name, line));
        }
    }
    sides
        .iter()
        .map(|(side, lines)| chart(side_words(*side), lines))
        .collect()
}

fn side_words(side: Side) -> &'static str {
    match side {
        Side::Caller => "of the proxy beside the caller",
        Side::Between => "of the proxy between caller and called service",
        Side::Called => "of the proxy beside the called service",
        Side::Authorizer => "of the external authorization server",
        Side::ControlPlane => "of the control plane",
    }
}

fn chart(title: &str, lines: &[NamedLine]) -> String {
    let points = || lines.iter().flat_map(|(_, line)| line);
    let most_rate = points().map(|(rate, _)| *rate).fold(1.0, f64::max) * 1.02;
    let most_cores = points()
        .map(|(_, cores)| cores.high.unwrap_or(cores.value))
        .fold(0.001, f64::max)
        * 1.05;
    let x = |rate: f64| LEFT + (RIGHT - LEFT) * rate / most_rate;
    let y = |cores: f64| BOTTOM - (BOTTOM - TOP) * cores / most_cores;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" role=\"img\" fill=\"currentColor\" font-size=\"12\">\n\
         <text x=\"{LEFT}\" y=\"20\" font-size=\"15\" font-weight=\"600\">CPU {title}</text>\n"
    );
    for value in ticks(0.0, most_cores) {
        out.push_str(&format!(
            "<line x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{0:.1}\" y2=\"{0:.1}\" stroke=\"currentColor\" stroke-opacity=\"0.15\"/>\
             <text x=\"{1:.1}\" y=\"{2:.1}\" text-anchor=\"end\">{3}</text>\n",
            y(value), LEFT - 8.0, y(value) + 4.0, escape_xml(&quantity::value(Unit::Cores, value))
        ));
    }
    for value in ticks(0.0, most_rate) {
        out.push_str(&format!(
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\n",
            x(value),
            BOTTOM + 20.0,
            escape_xml(&rate(value))
        ));
    }
    for (place, (name, line)) in lines.iter().enumerate() {
        let colour = COLOURS[place % COLOURS.len()];
        let dashed = match place < COLOURS.len() {
            true => "",
            false => " stroke-dasharray=\"5 3\"",
        };
        let path: String = line
            .iter()
            .map(|(rate, cores)| format!("{:.1},{:.1} ", x(*rate), y(cores.value)))
            .collect();
        out.push_str(&format!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\"{dashed}/>\n",
            path.trim_end()
        ));
        for (rate_per_s, cores) in line {
            if let Some((low, high)) = cores.low.zip(cores.high) {
                out.push_str(&format!(
                    "<line x1=\"{0:.1}\" x2=\"{0:.1}\" y1=\"{1:.1}\" y2=\"{2:.1}\" stroke=\"{colour}\" stroke-width=\"3\" stroke-opacity=\"0.4\"/>",
                    x(*rate_per_s), y(low), y(high)
                ));
            }
            out.push_str(&format!(
                "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\" fill=\"{colour}\"><title>{} at {}: {}</title></circle>\n",
                x(*rate_per_s), y(cores.value), escape_xml(name), escape_xml(&rate(*rate_per_s)), escape_xml(&figure(Unit::Cores, Some(cores)))
            ));
        }
        let legend = TOP + 16.0 * place as f64;
        out.push_str(&format!(
            "<line x1=\"{0}\" x2=\"{1}\" y1=\"{2}\" y2=\"{2}\" stroke=\"{colour}\" stroke-width=\"2\"{dashed}/><text x=\"{3}\" y=\"{4}\">{5}</text>\n",
            RIGHT + 20.0, RIGHT + 40.0, legend, RIGHT + 46.0, legend + 4.0, escape_xml(name)
        ));
    }
    out.push_str("</svg>\n");
    out
}
