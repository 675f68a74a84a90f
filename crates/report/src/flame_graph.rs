//! Flame graphs as SVG: width is the share of samples, the outermost function at the bottom.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use tare_record::escape::escape_xml;
use tare_record::profile::Profile;

/// Size of the picture and of a row, in pixels.
const WIDTH: f64 = 1200.0;
const ROW: f64 = 17.0;
const MARGIN: f64 = 10.0;
/// Space above the rows: title and legend.
const HEAD: f64 = 46.0;
/// Narrowest function that is drawn: narrower ones cannot be seen.
const NARROWEST: f64 = 0.4;
/// Width of a character of the labels.
const CHARACTER: f64 = 6.6;
/// Difference of shares at which a colour of the differential graph is fullest.
const FULL_DIFFERENCE: f64 = 0.05;

/// A function with those that it calls.
#[derive(Debug, Default, PartialEq)]
struct Frame<'a> {
    samples: u64,
    /// Samples of the other profile.
    other: u64,
    callees: BTreeMap<&'a str, Frame<'a>>,
}

impl<'a> Frame<'a> {
    /// All stacks of a profile, and those of another one beside them.
    fn root(profile: &'a Profile, other: Option<&'a Profile>) -> Frame<'a> {
        let mut root = Frame::default();
        for (stack, samples) in &profile.stacks {
            root.samples = root.samples.saturating_add(*samples);
            let mut frame = &mut root;
            for name in stack.split(';') {
                frame = frame.callees.entry(name).or_default();
                frame.samples = frame.samples.saturating_add(*samples);
            }
        }
        for (stack, samples) in other.into_iter().flat_map(|other| &other.stacks) {
            root.other = root.other.saturating_add(*samples);
            let mut frame = &mut root;
            for name in stack.split(';') {
                // What only the other one has cannot be drawn at this width; its caller shows it.
                let Some(known) = frame.callees.get_mut(name) else {
                    break;
                };
                frame = known;
                frame.other = frame.other.saturating_add(*samples);
            }
        }
        root
    }

    fn depth(&self, scale: f64) -> usize {
        let callees = self.callees.values();
        let drawn = callees.filter(|frame| frame.samples as f64 * scale >= NARROWEST);
        drawn.map(|frame| 1 + frame.depth(scale)).max().unwrap_or(0)
    }
}

/// The flame graph of a profile; with another profile the differential one, coloured by the change of each function's share.
#[must_use]
pub fn svg(profile: &Profile, other: Option<&Profile>) -> String {
    let root = Frame::root(profile, other);
    let scale = match root.samples {
        0 => 0.0,
        samples => (WIDTH - 2.0 * MARGIN) / samples as f64,
    };
    let height = HEAD + ROW * root.depth(scale) as f64 + MARGIN;
    let mut drawing = Drawing {
        svg: String::new(),
        scale,
        height,
        totals: (root.samples.max(1), other.map(|_| root.other.max(1))),
    };
    let mut x = MARGIN;
    for (name, frame) in &root.callees {
        x += drawing.frame(name, frame, x, 0);
    }
    let title = format!(
        "{} in {} at {}: {}, {} samples of CPU time",
        profile.instance, profile.arm, profile.level, profile.software, profile.samples
    );
    let legend = match other {
        Some(other) => format!(
            "Width: share of the samples in {}. Red: a larger share than in {}, blue: a smaller one.",
            profile.arm, other.arm
        ),
        None => String::from(
            "Width: share of the samples. Callers are below the functions that they call.",
        ),
    };
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" \
         font-family=\"ui-monospace,Menlo,Consolas,monospace\" font-size=\"11\">\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#fff\"/>\n\
         <text x=\"{MARGIN}\" y=\"18\" font-size=\"13\" fill=\"#1b1f24\">{}</text>\n\
         <text x=\"{MARGIN}\" y=\"35\" fill=\"#57606a\">{}</text>\n{}</svg>\n",
        escape_xml(&title),
        escape_xml(&legend),
        drawing.svg
    )
}

struct Drawing {
    svg: String,
    scale: f64,
    height: f64,
    /// Samples of the profile and of the other one.
    totals: (u64, Option<u64>),
}

impl Drawing {
    /// Draws a function with those that it calls; returns its width.
    fn frame(&mut self, name: &str, frame: &Frame<'_>, x: f64, depth: usize) -> f64 {
        let width = frame.samples as f64 * self.scale;
        if width < NARROWEST {
            return width;
        }
        let y = self.height - MARGIN - ROW * (depth + 1) as f64;
        let share = frame.samples as f64 / self.totals.0 as f64;
        let before = self.totals.1.map(|total| frame.other as f64 / total as f64);
        let colour = match before {
            Some(before) => difference_colour(share - before),
            None => colour_of(name),
        };
        let percent = |share: f64| format!("{:.1} %", share * 100.0);
        let change = before.map_or_else(String::new, |before| {
            format!(", {} in the other", percent(before))
        });
        let about = format!("{name}: {}{change}", percent(share));
        // Writing to a string cannot fail.
        let _ = write!(
            self.svg,
            "<g><title>{}</title><rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{:.1}\" rx=\"1\" fill=\"{colour}\"/>",
            escape_xml(&about),
            ROW - 1.0
        );
        let fits = ((width - 6.0) / CHARACTER) as usize;
        if fits >= 3 {
            let _ = write!(
                self.svg,
                "<text x=\"{:.1}\" y=\"{:.1}\" fill=\"#1b1f24\">{}</text>",
                x + 3.0,
                y + 12.0,
                escape_xml(&shortened(name, fits))
            );
        }
        self.svg.push_str("</g>\n");
        let mut inner = x;
        for (name, callee) in &frame.callees {
            inner += self.frame(name, callee, inner, depth + 1);
        }
        width
    }
}

/// The end of a name, which tells functions apart, if there is no space for all of it.
fn shortened(name: &str, fits: usize) -> String {
    let count = name.chars().count();
    match count <= fits {
        true => name.to_owned(),
        false => {
            let rest: String = name.chars().skip(count - fits + 1).collect();
            format!("…{rest}")
        }
    }
}

/// A warm colour, the same for one function in all graphs; the kernel's are cooler.
fn colour_of(name: &str) -> String {
    let mut hash = 2_166_136_261_u32;
    for byte in name.bytes() {
        hash = (hash ^ u32::from(byte)).wrapping_mul(16_777_619);
    }
    let (hue, light) = match name.ends_with("_[k]") {
        true => (200 + hash % 25, 72 + (hash >> 8) % 8),
        false => (18 + hash % 32, 66 + (hash >> 8) % 10),
    };
    format!("hsl({hue} 78% {light}%)")
}

/// Red for a larger share, blue for a smaller one, white for the same.
fn difference_colour(difference: f64) -> String {
    let strength = (difference.abs() / FULL_DIFFERENCE).min(1.0);
    let light = 95.0 - 35.0 * strength;
    let hue = if difference > 0.0 { 8 } else { 212 };
    format!("hsl({hue} 85% {light:.0}%)")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(stacks: &[(&str, u64)]) -> Profile {
        Profile {
            version: tare_record::FORMAT_VERSION,
            arm: "new".into(),
            level: "400/s".into(),
            instance: "server-sidecar".into(),
            software: "envoy 1.40.0".into(),
            window_ns: 1,
            hertz: 997,
            samples: stacks.iter().map(|(_, count)| count).sum(),
            stacks: stacks
                .iter()
                .map(|(stack, count)| ((*stack).to_owned(), *count))
                .collect(),
        }
    }

    /// `name: 25.0 %` of every function that is drawn.
    fn titles(svg: &str) -> Vec<&str> {
        let parts = svg.split("<title>").skip(1);
        parts
            .filter_map(|part| part.split("</title>").next())
            .collect()
    }

    #[test]
    fn a_function_is_as_wide_as_its_share_and_stands_on_its_caller() {
        let svg = svg(&profile(&[("main;a", 30), ("main;b<x>", 10)]), None);
        assert_eq!(
            titles(&svg),
            ["main: 100.0 %", "a: 75.0 %", "b&lt;x&gt;: 25.0 %"]
        );
        assert!(
            svg.contains("x=\"10.0\" y=\"63.0\" width=\"1180.0\""),
            "{svg}"
        );
        assert!(
            svg.contains("x=\"10.0\" y=\"46.0\" width=\"885.0\""),
            "{svg}"
        );
        assert!(
            svg.contains("x=\"895.0\" y=\"46.0\" width=\"295.0\""),
            "{svg}"
        );
    }

    #[test]
    fn a_larger_share_is_red_and_a_smaller_one_blue() {
        let new = profile(&[("main;a", 30), ("main;b", 10)]);
        let old = profile(&[("main;a", 10), ("main;b", 30), ("main;gone", 40)]);
        let svg = svg(&new, Some(&old));
        let expected = [
            "main: 100.0 %, 100.0 % in the other",
            "a: 75.0 %, 12.5 % in the other",
            "b: 25.0 %, 37.5 % in the other",
        ];
        assert_eq!(titles(&svg), expected);
        let colours: Vec<&str> = svg
            .split("fill=\"hsl(")
            .skip(1)
            .map(|part| &part[..3])
            .collect();
        assert_eq!(colours, ["212", "8 8", "212"]);
    }

    #[test]
    fn nothing_sampled_and_hostile_names_are_drawn_safely() {
        assert_eq!(titles(&svg(&profile(&[]), None)), Vec::<&str>::new());
        let svg = svg(
            &profile(&[("</title><script>alert(1)</script>\u{1b}", 1)]),
            None,
        );
        assert!(
            !svg.contains("<script>") && !svg.contains('\u{1b}'),
            "{svg}"
        );
        let deep = vec!["f"; 200].join(";");
        assert_eq!(
            titles(&super::svg(&profile(&[(&deep, 1)]), None)).len(),
            200
        );
    }
}
