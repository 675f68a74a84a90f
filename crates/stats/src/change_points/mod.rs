//! Change points in a series of run values: E-divisive, with Student's t test for the significance.
//!
//! **Method.** D. S. Matteson and N. A. James, "A nonparametric approach for multiple change point analysis of multivariate
//! data", JASA 109 (2014) 334–345, find the split of a series that maximises the energy distance between its parts, and split
//! again while a split is significant. M. Fleming et al., "Hunter: Using change point detection to hunt for performance
//! regressions", ICPE 2023 (now Apache Otava), replace the permutation test by Student's t test, which is deterministic and
//! exact enough for means; they split inside sliding windows at a weaker p value, and then remove points from the whole series
//! until each that remains is significant at the stricter value and at least as large as the smallest change of interest. Both
//! halves are necessary: at the stricter value alone a step hides behind the next one (the test sees both segments as one with a
//! large variance), and in one window over the whole series an old step hides a new one.
//!
//! **Time.** A window of w values costs O(w²); windows overlap by half, so the series costs O(n·w). Removal costs O(log n) each:
//! segments are merged by their moments (T. F. Chan, G. H. Golub and R. J. LeVeque, COMPSTAT 1982), not read again.
//!
//! Four things differ from Otava 0.8.0. Segments have a smallest length, as Matteson and James's have. A change must show in
//! the medians, too: one outlier beside a long, quiet segment is significant and moves the mean of a short one, but not its
//! median. Otava's t test divides the variance of a segment by its number of values and not by one less; here the test is
//! Student's own. And when Otava removes a point it does not test the one before it again; here both neighbours are.

mod segments;
mod window;

use segments::Segments;

/// What counts as a change.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    /// The largest p value of a change point, two-sided.
    pub max_p: f64,
    /// The smallest change of the mean (0.05 is 5 %), in the direction in which it is larger: +100 % and −50 % are equal.
    pub min_change: f64,
    /// The fewest values between two change points, and between one and the start or the end of the series. With 1 or 2 an
    /// outlier is a change; from 3 on, the medians must change as well.
    pub min_segment: usize,
    /// The length of the windows in which splits are searched.
    pub window: usize,
}

/// The longest window: its table of distances takes 8 MB.
pub const WINDOW_MAX: usize = 1000;

impl Default for Options {
    /// Of the simulated settings those with which one series in fifty alarms, and nineteen steps of twenty are found within
    /// five values (METHODOLOGY has the table).
    fn default() -> Self {
        Self {
            max_p: 0.002,
            min_change: 0.05,
            min_segment: 3,
            window: 50,
        }
    }
}

impl Options {
    /// The p value for splits inside windows: most of these are removed again.
    fn weak_p(&self) -> f64 {
        (10.0 * self.max_p).min(0.5).max(self.max_p)
    }
}

/// A place at which the mean of a series changes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChangePoint {
    /// The first value after the change.
    pub index: usize,
    /// Mean of the values since the change point before, or since the start.
    pub before: f64,
    /// Mean of the values up to the next change point, or to the end.
    pub after: f64,
    /// p value of Student's two-sided test between the two segments. It is not corrected for the choice of the place.
    pub p: f64,
}

impl ChangePoint {
    /// The ratio of the means: 1.1 is 10 % more.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        self.after / self.before
    }
}

/// Why a series has no answer.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum SeriesError {
    /// Ratios need positive values.
    #[error("value {index} of the series is {value}: change points need positive, finite numbers")]
    NotPositive {
        /// Its place, from 0.
        index: usize,
        /// The value.
        value: f64,
    },
    /// A window must contain a split, and its table must fit into memory.
    #[error(
        "a window of {window} values with segments of at least {min_segment}: give two segments or more, and at most {WINDOW_MAX} values"
    )]
    Window {
        /// The length of the windows.
        window: usize,
        /// The fewest values of a segment.
        min_segment: usize,
    },
}

/// All change points of a series of run values in the order of time, ascending.
///
/// # Errors
/// When a value is not a positive number, or the window is out of range.
pub fn find(values: &[f64], options: &Options) -> Result<Vec<ChangePoint>, SeriesError> {
    let Options {
        window,
        min_segment,
        ..
    } = *options;
    if min_segment == 0 || window > WINDOW_MAX || window / 2 < min_segment {
        return Err(SeriesError::Window {
            window,
            min_segment,
        });
    }
    if let Some((index, &value)) = values
        .iter()
        .enumerate()
        .find(|(_, value)| !(value.is_finite() && **value > 0.0))
    {
        return Err(SeriesError::NotPositive { index, value });
    }
    // Of order 1, so that no square overflows; the answer does not depend on the unit.
    let largest = values.iter().copied().fold(0.0, f64::max);
    let scaled: Vec<f64> = values.iter().map(|value| value / largest).collect();
    let mut segments = Segments::new(&scaled, &window::splits(&scaled, options));
    segments.remove_weak(options);
    // The median of one or two values is their mean.
    while options.min_segment >= 3 && segments.remove_outliers(&scaled) {
        segments.remove_weak(options);
    }
    let mut points = segments.change_points();
    for point in &mut points {
        point.before *= largest;
        point.after *= largest;
    }
    Ok(points)
}
