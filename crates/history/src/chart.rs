//! A series as a chart in SVG, for a page or a picture: every run, its range over the blocks, and the means between change points.

use tare_record::api::{SeriesChange, SeriesDetail};
use tare_record::escape::escape_xml;
use tare_record::plan::Form;
use tare_report::quantity;

use crate::text;

/// Size, and the frame of the values within it.
const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 360.0;
const LEFT: f64 = 80.0;
const RIGHT: f64 = 936.0;
const TOP: f64 = 92.0;
const BOTTOM: f64 = 316.0;
/// Rows for the words of change points, so that those of neighbours do not overlap.
const ROWS: usize = 3;
/// Height of a row.
const ROW: f64 = 14.0;
/// Characters of the words of a change point.
const WORDS_MAX: usize = 60;
/// Points from which on they are only a line.
const DOTS_MAX: usize = 400;
/// Labels of an axis.
const LABELS: usize = 6;

/// Colours of the report's page.
const STYLE: &str = "
  svg { --paper: #ffffff; --ink: #1b1c1e; --quiet: #5d6167; --grid: #e8e9eb; --range: #a9c6e2; --line: #0063a8; --worse: #a3142a; --better: #00795a; }
  @media (prefers-color-scheme: dark) {
    svg { --paper: #141517; --ink: #e8e7e4; --quiet: #a0a4aa; --grid: #292c30; --range: #2f4a66; --line: #6db1ee; --worse: #ff8a94; --better: #5cc3a0; }
  }
  text { font: 12px Inter, \"Helvetica Neue\", Helvetica, Arial, \"Liberation Sans\", sans-serif; fill: var(--ink); }
  .title { font-size: 15px; font-weight: 600; }
  .quiet { fill: var(--quiet); }
  .grid { stroke: var(--grid); }
  .range { stroke: var(--range); stroke-width: 3; stroke-linecap: round; }
  .line { stroke: var(--line); fill: none; stroke-width: 1.2; }
  .dot { fill: var(--line); }
  .worse { stroke: var(--worse); } .better { stroke: var(--better); } text.worse { stroke: none; fill: var(--worse); } text.better { stroke: none; fill: var(--better); }
  .mean { stroke: var(--ink); stroke-width: 1.5; stroke-dasharray: 6 3; }
  .version { stroke: var(--quiet); }
";

/// The chart.
#[must_use]
pub fn svg(series: &SeriesDetail) -> String {
    let chart = Chart::of(series);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" role=\"img\">\n\
         <style>{STYLE}</style>\n<rect width=\"100%\" height=\"100%\" fill=\"var(--paper)\"/>\n"
    );
    chart.head(&mut out);
    chart.axes(&mut out);
    chart.points(&mut out);
    chart.changes(&mut out);
    out.push_str("</svg>\n");
    out
}

struct Chart<'a> {
    series: &'a SeriesDetail,
    low: f64,
    high: f64,
}

impl<'a> Chart<'a> {
    fn of(series: &'a SeriesDetail) -> Chart<'a> {
        let points = series.points.iter();
        let all = points
            .flat_map(|one| [Some(one.value), one.low, one.high])
            .flatten();
        let (low, high) = all.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        // A flat series is a line in the middle.
        let room = match high > low {
            true => (high - low) * 0.06,
            false => (high.abs() * 0.1).max(f64::MIN_POSITIVE),
        };
        Chart {
            series,
            low: (low - room).max(0.0),
            high: high + room,
        }
    }

    /// Runs stand at equal distances, in order: a change is one of their order, too.
    fn x(&self, place: usize) -> f64 {
        match self.series.points.len() {
            0 | 1 => f64::midpoint(LEFT, RIGHT),
            count => LEFT + (RIGHT - LEFT) * place as f64 / (count - 1) as f64,
        }
    }

    fn y(&self, value: f64) -> f64 {
        BOTTOM - (BOTTOM - TOP) * (value - self.low) / (self.high - self.low)
    }

    fn head(&self, out: &mut String) {
        let key = &self.series.key;
        let form = match key.form {
            Form::Full => "",
            Form::Quick => " (quick)",
        };
        let title = format!(
            "{} of {}{}",
            self.series.label,
            key.arm,
            text::at_level(key)
        );
        let runs = quantity::counted(self.series.points.len() as u64, "run", "runs");
        let about = format!(
            "{}{form} · {} · {runs}",
            key.experiment, self.series.machine
        );
        for (y, class, words) in [(22.0, "title", title), (40.0, "quiet", about)] {
            out.push_str(&format!(
                "<text x=\"{LEFT}\" y=\"{y}\" class=\"{class}\">{}</text>\n",
                escape_xml(&words)
            ));
        }
    }

    fn axes(&self, out: &mut String) {
        for value in ticks(self.low, self.high) {
            let y = self.y(value);
            let label = escape_xml(&quantity::value(self.series.unit, value));
            out.push_str(&format!(
                "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>\n",
                LEFT - 8.0,
                y + 4.0
            ));
        }
        let count = self.series.points.len();
        let labels = count.min(LABELS);
        for label in 0..labels {
            let place = match labels {
                1 => 0,
                _ => label * (count - 1) / (labels - 1),
            };
            let anchor = match label {
                _ if labels == 1 => "middle",
                0 => "start",
                last if last + 1 == labels => "end",
                _ => "middle",
            };
            let date = text::date(self.series.points[place].started_unix_us);
            out.push_str(&format!(
                "<text class=\"quiet\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{date}</text>\n",
                self.x(place),
                BOTTOM + 24.0
            ));
        }
    }

    fn points(&self, out: &mut String) {
        let points = &self.series.points;
        let with_dots = points.len() <= DOTS_MAX;
        let mut line = String::new();
        let mut dots = String::new();
        for (place, point) in points.iter().enumerate() {
            let (x, y) = (self.x(place), self.y(point.value));
            line.push_str(&format!("{x:.1},{y:.1} "));
            if let Some((low, high)) = point.low.zip(point.high).filter(|_| with_dots) {
                let (low, high) = (self.y(low), self.y(high));
                out.push_str(&format!(
                    "<line class=\"range\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{low:.1}\" y2=\"{high:.1}\"/>\n"
                ));
            }
            let changed = text::versions(&point.changed);
            if changed.is_some() {
                out.push_str(&format!(
                    "<line class=\"version\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{BOTTOM}\" y2=\"{:.1}\"/>\n",
                    BOTTOM + 8.0
                ));
            }
            if with_dots {
                let value = quantity::value(self.series.unit, point.value);
                let words = [
                    Some(text::time(point.started_unix_us)),
                    Some(point.run.clone()),
                    Some(value),
                    changed,
                ];
                let words: Vec<String> = words.into_iter().flatten().collect();
                dots.push_str(&format!(
                    "<circle class=\"dot\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\"><title>{}</title></circle>\n",
                    escape_xml(&words.join(" · "))
                ));
            }
        }
        out.push_str(&format!(
            "<polyline class=\"line\" points=\"{}\"/>\n{dots}",
            line.trim_end()
        ));
    }

    /// Means between change points, and the words of each change point above it.
    fn changes(&self, out: &mut String) {
        let first = self.series.left_out;
        let place = |index: u64| usize::try_from(index.saturating_sub(first)).unwrap_or(usize::MAX);
        let changes = &self.series.changes;
        for (number, change) in changes.iter().enumerate() {
            let end = changes
                .get(number + 1)
                .map_or(self.series.points.len(), |next| place(next.index));
            if number == 0 {
                self.mean(out, 0, place(change.index), change.before);
            }
            self.mean(out, place(change.index), end, change.after);
        }
        let shown = changes.iter().filter(|change| change.index >= first);
        for (number, change) in shown.enumerate() {
            self.change(out, number, place(change.index), change);
        }
    }

    fn mean(&self, out: &mut String, start: usize, end: usize, mean: f64) {
        if end > start {
            let y = self.y(mean);
            out.push_str(&format!(
                "<line class=\"mean\" x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\n",
                self.x(start),
                self.x(end - 1)
            ));
        }
    }

    fn change(&self, out: &mut String, number: usize, place: usize, change: &SeriesChange) {
        let class = match change.is_worse {
            true => "worse",
            false => "better",
        };
        let x = self.x(place);
        let y = TOP - 6.0 - ROW * (number % ROWS) as f64;
        let anchor = match x > f64::midpoint(LEFT, RIGHT) {
            true => "end",
            false => "start",
        };
        let mut words = text::relative(change.change);
        if let Some(changed) = text::versions(&change.changed) {
            words = format!("{words}, {changed}");
        }
        if words.chars().count() > WORDS_MAX {
            words = words.chars().take(WORDS_MAX - 1).chain(['…']).collect();
        }
        out.push_str(&format!(
            "<line class=\"{class}\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{:.1}\" y2=\"{BOTTOM}\"/>\
             <text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>\n",
            y + 3.0,
            escape_xml(&words)
        ));
    }
}

/// Round values within a range, about five.
pub(crate) fn ticks(low: f64, high: f64) -> Vec<f64> {
    let rough = (high - low) / 6.0;
    let power = 10f64.powf(rough.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
    let step = steps
        .into_iter()
        .find(|step| *step >= rough)
        .unwrap_or(rough);
    let first = (low / step).ceil();
    let ticks = (0..12).map(|number| (first + f64::from(number)) * step);
    ticks.take_while(|tick| *tick <= high).collect()
}
