//! The curve as a self-contained SVG: no script, font or link; with a dark colour scheme.

use std::fmt::Write as _;

use tare_record::escape::escape_xml;

use super::{Point, QUANTILES, ends, knee_of, line};
use crate::objective::time;

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 520.0;
const LEFT: f64 = 84.0;
const RIGHT: f64 = 96.0;
const TOP: f64 = 84.0;
const BOTTOM: f64 = 64.0;

/// Colours that differ in lightness as well, on light and on dark.
const STYLE: &str = "
  svg { --paper: #ffffff; --ink: #1c2430; --soft: #5d6876; --grid: #e3e7ec; --knee: #c2410c; --over: #fdf1ea;
        --p50: #0f766e; --p90: #2563a8; --p99: #6d3fc0; --p999: #b4307a; font-family: system-ui, sans-serif }
  @media (prefers-color-scheme: dark) {
    svg { --paper: #14181f; --ink: #e8ecf1; --soft: #9aa5b3; --grid: #2a313b; --knee: #fb923c; --over: #241c18;
          --p50: #2dd4bf; --p90: #60a5fa; --p99: #b794f6; --p999: #f472b6 }
  }
  text { fill: var(--soft); font-size: 13px; font-variant-numeric: tabular-nums } .title { fill: var(--ink); font-size: 20px; font-weight: 600 }
  .grid { stroke: var(--grid) } .line { fill: none; stroke-width: 2.5; stroke-linejoin: round }
  .knee { stroke: var(--knee); stroke-dasharray: 5 4 } .knee-text { fill: var(--knee); font-weight: 600; paint-order: stroke; stroke: var(--paper); stroke-width: 5px }
";
const COLOURS: [&str; 4] = ["--p50", "--p90", "--p99", "--p999"];

/// The axes: maps a rate and a latency to coordinates.
struct Frame {
    most_per_s: f64,
    low: f64,
    high: f64,
}

impl Frame {
    fn of(points: &[Point]) -> Option<Self> {
        let (low, high) = ends(&[0, 1, 2, 3].map(|quantile| line(points, quantile)))?;
        let most_per_s = points
            .iter()
            .map(|point| point.rate_per_s)
            .reduce(f64::max)?;
        Some(Self {
            most_per_s: most_per_s * 1.03,
            low: low - 0.1,
            high: (high + 0.1).max(low + 0.5),
        })
    }

    fn x(&self, rate_per_s: f64) -> f64 {
        LEFT + rate_per_s / self.most_per_s * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, log_ns: f64) -> f64 {
        let share = (self.high - log_ns) / (self.high - self.low);
        TOP + share * (HEIGHT - TOP - BOTTOM)
    }
}

/// Draws the curve below `title` and `subtitle`.
#[must_use]
pub fn svg(points: &[Point], title: &str, subtitle: &str) -> String {
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\">\n<title>{0}</title>\n\
         <style>{STYLE}</style>\n<rect width=\"100%\" height=\"100%\" style=\"fill: var(--paper)\"/>\n\
         <text class=\"title\" x=\"24\" y=\"36\">{0}</text>\n<text x=\"24\" y=\"58\">{1}</text>\n",
        escape_xml(title),
        escape_xml(subtitle)
    );
    if let Some(frame) = Frame::of(points) {
        beyond(&mut out, &frame, points);
        axes(&mut out, &frame);
        lines(&mut out, &frame, points);
        knee(&mut out, &frame, points);
    }
    out.push_str("</svg>\n");
    out
}

/// Shades the rates beyond the knee; drawn first.
fn beyond(out: &mut String, frame: &Frame, points: &[Point]) {
    let Some(at) = knee_of(points) else { return };
    let (x, end, base) = (
        frame.x(points[at].rate_per_s),
        WIDTH - RIGHT,
        HEIGHT - BOTTOM,
    );
    let _ = writeln!(
        out,
        "<rect x=\"{x:.1}\" y=\"{TOP}\" width=\"{:.1}\" height=\"{:.1}\" style=\"fill: var(--over)\"/>",
        end - x,
        base - TOP
    );
}

/// The knee's line and label; drawn last. The label is left of the line if there is room.
fn knee(out: &mut String, frame: &Frame, points: &[Point]) {
    const ROOM: f64 = 120.0;
    let Some(at) = knee_of(points) else { return };
    let rate = points[at].rate_per_s;
    let (x, base) = (frame.x(rate), HEIGHT - BOTTOM);
    let (anchor, beside) = match x - LEFT < ROOM {
        true => ("start", x + 8.0),
        false => ("end", x - 8.0),
    };
    let _ = writeln!(
        out,
        "<line class=\"knee\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{TOP}\" y2=\"{base}\"/>\n\
         <text class=\"knee-text\" text-anchor=\"{anchor}\" x=\"{beside:.1}\" y=\"{:.1}\">knee {rate}/s</text>",
        TOP + 16.0
    );
}

fn axes(out: &mut String, frame: &Frame) {
    let (end, base) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
    for power in frame.low.floor() as i32..=frame.high.ceil() as i32 {
        for factor in [1.0, 2.0, 5.0] {
            let ns = factor * 10_f64.powi(power);
            if !(frame.low..=frame.high).contains(&ns.log10()) {
                continue;
            }
            let y = frame.y(ns.log10());
            let _ = writeln!(
                out,
                "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{end}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\n\
                 <text text-anchor=\"end\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                LEFT - 10.0,
                y + 4.0,
                time(ns)
            );
        }
    }
    let step = step(frame.most_per_s);
    let mut rate = 0.0;
    while rate <= frame.most_per_s {
        let _ = writeln!(
            out,
            "<text text-anchor=\"middle\" x=\"{:.1}\" y=\"{:.1}\">{rate}</text>",
            frame.x(rate),
            base + 22.0
        );
        rate += step;
    }
    let _ = writeln!(
        out,
        "<line x1=\"{LEFT}\" x2=\"{end}\" y1=\"{base}\" y2=\"{base}\" style=\"stroke: var(--soft)\"/>\n\
         <text text-anchor=\"middle\" x=\"{:.1}\" y=\"{:.1}\">requests per second</text>",
        f64::midpoint(LEFT, end),
        HEIGHT - 16.0
    );
}

/// A round step for about five to ten ticks.
fn step(most: f64) -> f64 {
    let power = 10_f64.powf((most / 8.0).log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
    steps
        .into_iter()
        .find(|step| most / step <= 10.0)
        .unwrap_or(power * 10.0)
}

fn lines(out: &mut String, frame: &Frame, points: &[Point]) {
    let mut lowest_free = HEIGHT;
    for (quantile, colour) in COLOURS.iter().enumerate() {
        let known = line(points, quantile).into_iter();
        let known: Vec<_> = known
            .map(|(rate, log)| (frame.x(rate), frame.y(log)))
            .collect();
        let Some(&(last_x, last_y)) = known.last() else {
            continue;
        };
        let path: Vec<String> = known
            .iter()
            .map(|(x, y)| format!("{x:.1},{y:.1}"))
            .collect();
        let _ = writeln!(
            out,
            "<polyline class=\"line\" style=\"stroke: var({colour})\" points=\"{}\"/>",
            path.join(" ")
        );
        for (x, y) in &known {
            let _ = writeln!(
                out,
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\" style=\"fill: var({colour})\"/>"
            );
        }
        // Curves converge beyond the knee: labels must not overlap.
        let label_y = (last_y + 4.0).min(lowest_free - 16.0);
        lowest_free = label_y;
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{label_y:.1}\" style=\"fill: var({colour}); font-weight: 600\">{}</text>",
            last_x + 10.0,
            QUANTILES[quantile]
        );
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::queue;
    use super::*;

    #[test]
    fn the_picture_stands_alone_and_has_every_line_and_the_knee() {
        let text = svg(&queue(), "a <server> & more", "10 s each");
        assert!(text.contains("a &lt;server&gt; &amp; more"));
        assert_eq!(text.matches("<polyline").count(), 4);
        assert!(text.contains("knee 960/s") && text.contains("prefers-color-scheme: dark"));
        assert!(!text.contains("href") && !text.contains("<script"));
        assert!(!text.contains("NaN") && !text.contains("inf"));
    }

    #[test]
    fn a_picture_of_nothing_has_its_title() {
        let text = svg(&[], "none", "");
        assert!(text.contains("none") && text.ends_with("</svg>\n"));
    }
}
