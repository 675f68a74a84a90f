//! The curve for a terminal: braille dots, rate on the x axis, latency on a logarithmic y axis.

use std::fmt::Write as _;

use super::{Point, ends, knee_of, line};
use crate::objective::time;

/// Rows of the chart.
const ROWS: usize = 14;
/// Width of the labels on the left.
const LABELS: usize = 10;
/// Columns of the narrowest chart, without labels.
const COLUMNS_MIN: usize = 20;

/// Draws p50 and p99 in the given number of columns.
#[must_use]
pub fn chart(points: &[Point], columns: usize) -> String {
    let columns = columns.saturating_sub(LABELS + 1).max(COLUMNS_MIN);
    let lines = [0, 2].map(|quantile| line(points, quantile));
    let rates = points.iter().map(|point| point.rate_per_s);
    let most_per_s = rates.fold(0.0, f64::max);
    let Some((low, high)) = ends(&lines).filter(|_| most_per_s > 0.0) else {
        return String::from("no answers, no curve\n");
    };
    let high = high.max(low + 0.05);
    let mut dots = Dots::new(columns, ROWS);
    let (across, up) = ((columns * 2 - 1) as f64, (ROWS * 4 - 1) as f64);
    let place =
        |(rate, log): (f64, f64)| (rate / most_per_s * across, (high - log) / (high - low) * up);
    for line in &lines {
        for pair in line.windows(2) {
            dots.line(place(pair[0]), place(pair[1]));
        }
        if let [only] = line.as_slice() {
            dots.line(place(*only), place(*only));
        }
    }
    let knee = knee_of(points).map(|at| points[at].rate_per_s);
    let knee_column = knee.map(|rate| (rate / most_per_s * across / 2.0) as usize);
    let latency = |log: f64| time(10_f64.powf(log));
    let mut text = String::new();
    for row in 0..ROWS {
        let label = match row {
            0 => latency(high),
            row if row == ROWS - 1 => latency(low),
            row if row == ROWS / 2 => latency(f64::midpoint(low, high)),
            _ => String::new(),
        };
        let _ = write!(text, "{label:>LABELS$} ");
        for column in 0..columns {
            let cell = dots.cell(column, row);
            let is_knee = knee_column == Some(column) && cell == EMPTY;
            text.push(if is_knee { '┊' } else { cell });
        }
        text.push('\n');
    }
    let end = format!("{most_per_s}/s");
    let pad = columns.saturating_sub(end.chars().count() + 1);
    let _ = writeln!(text, "{:>LABELS$} 0{:>pad$}{end}", "", "");
    let _ = writeln!(text, "{:>LABELS$} p50 below, p99 above", "");
    if let Some(rate) = knee {
        let _ = writeln!(text, "{:>LABELS$} ┊ the knee at {rate}/s", "");
    }
    text
}

/// A braille cell without dots.
const EMPTY: char = '\u{2800}';

/// Dots in braille cells, two across and four down each.
struct Dots {
    columns: usize,
    rows: usize,
    cells: Vec<u8>,
}

impl Dots {
    fn new(columns: usize, rows: usize) -> Self {
        Self {
            columns,
            rows,
            cells: vec![0; columns * rows],
        }
    }

    fn set(&mut self, x: usize, y: usize) {
        /// Bits of a cell by column and row (Unicode 16, block 2800).
        const BITS: [[u8; 4]; 2] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];
        let (column, row) = (x / 2, y / 4);
        if column < self.columns && row < self.rows {
            self.cells[row * self.columns + column] |= BITS[x % 2][y % 4];
        }
    }

    fn line(&mut self, from: (f64, f64), to: (f64, f64)) {
        let steps = (to.0 - from.0)
            .abs()
            .max((to.1 - from.1).abs())
            .ceil()
            .max(1.0);
        for step in 0..=steps as usize {
            let share = step as f64 / steps;
            let x = from.0 + (to.0 - from.0) * share;
            let y = from.1 + (to.1 - from.1) * share;
            self.set(x.round() as usize, y.round() as usize);
        }
    }

    fn cell(&self, column: usize, row: usize) -> char {
        let bits = self.cells[row * self.columns + column];
        char::from_u32(0x2800 + u32::from(bits)).unwrap_or(EMPTY)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::queue;
    use super::*;

    #[test]
    fn the_chart_fits_its_width_and_marks_the_knee() {
        for columns in [40, 80, 200] {
            let text = chart(&queue(), columns);
            assert!(
                text.lines().all(|line| line.chars().count() <= columns),
                "{text}"
            );
            assert_eq!(text.lines().count(), ROWS + 3);
            assert!(
                text.contains('┊') && text.contains("the knee at 960/s"),
                "{text}"
            );
            assert!(text.chars().any(|c| ('\u{2801}'..='\u{28ff}').contains(&c)));
        }
    }

    #[test]
    fn without_answers_there_is_no_chart() {
        assert_eq!(chart(&[], 80), "no answers, no curve\n");
    }
}
