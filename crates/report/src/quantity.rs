//! Formatting of numbers with units: one rounding rule for every renderer.

use tare_record::metric::Unit;
use tare_record::plan::Plan;
use tare_record::view::Interval;

use crate::latency::MaybeLowerBound;

/// Shown for a missing value.
pub const MISSING: &str = "–";

/// Significant digits of a value without an interval: as many as a histogram has.
const DIGITS: i32 = 3;

/// Upper limit of decimals.
const DECIMALS_MAX: i32 = 9;

/// A display unit, with its size in the metric's own unit.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Scale {
    size: f64,
    word: &'static str,
}

/// The display unit for a value of this magnitude.
fn scale(unit: Unit, magnitude: f64) -> Scale {
    let of = |size: f64, word: &'static str| Scale { size, word };
    match unit {
        // Milliseconds from 100 µs on: the usual unit for latencies of services.
        Unit::Nanoseconds if magnitude < 1e3 => of(1.0, " ns"),
        Unit::Nanoseconds if magnitude < 99_950.0 => of(1e3, " µs"),
        Unit::Nanoseconds if magnitude < 999_500_000.0 => of(1e6, " ms"),
        Unit::Nanoseconds => of(1e9, " s"),
        Unit::PerSecond => of(1.0, "/s"),
        Unit::BytesPerSecond if magnitude < 999.5 => of(1.0, " B/s"),
        Unit::BytesPerSecond if magnitude < 999_500.0 => of(1e3, " kB/s"),
        Unit::BytesPerSecond => of(1e6, " MB/s"),
        Unit::CpuSecondsPer1000 => of(1.0, " s"),
        Unit::Cores => of(1.0, " cores"),
        Unit::Own => of(1.0, ""),
        Unit::Bytes if magnitude < 999.5 => of(1.0, " B"),
        Unit::Bytes if magnitude < 999_500.0 => of(1e3, " kB"),
        Unit::Bytes if magnitude < 999_500_000.0 => of(1e6, " MB"),
        Unit::Bytes => of(1e9, " GB"),
    }
}

/// Number of decimals that shows `digits` significant digits of a value.
fn decimals(value: f64, digits: i32) -> usize {
    if value == 0.0 || !value.is_finite() {
        return 0;
    }
    let lead = value.abs().log10().floor() as i32;
    let decimals = (digits - 1 - lead).clamp(0, DECIMALS_MAX);
    // 9.996 becomes 10.0, not 10.00.
    let power = 10f64.powi(decimals);
    let rounded = (value.abs() * power).round() / power;
    if rounded == 0.0 {
        return 0;
    }
    let lead = rounded.log10().floor() as i32;
    usize::try_from((digits - 1 - lead).clamp(0, DECIMALS_MAX)).unwrap_or(0)
}

/// A number with this many decimals, U+2212 as its minus, and commas from 10,000 on.
fn number(value: f64, decimals: usize) -> String {
    let text = format!("{:.decimals$}", value.abs());
    let zero = text.chars().all(|c| c == '0' || c == '.');
    let (whole, fraction) = match text.split_once('.') {
        Some((whole, fraction)) => (whole.to_string(), format!(".{fraction}")),
        None => (text.clone(), String::new()),
    };
    let mut grouped = String::new();
    for (place, digit) in whole.chars().enumerate() {
        if whole.len() > 4 && place > 0 && (whole.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    let sign = if value < 0.0 && !zero { "−" } else { "" };
    format!("{sign}{grouped}{fraction}")
}

/// A value with its unit: `0.312 ms`, `62 µs`, `1.2 MB`, `2000/s`, `0.42 s` (CPU-seconds per 1000).
#[must_use]
pub fn value(unit: Unit, value: f64) -> String {
    if !value.is_finite() {
        return MISSING.into();
    }
    let scale = scale(unit, value.abs());
    let scaled = value / scale.size;
    let decimals = match unit {
        // Rates are counted, not read from a histogram: integers unless they are small.
        Unit::PerSecond if scaled.abs() >= 100.0 => 0,
        _ => decimals(scaled, DIGITS),
    };
    format!("{}{}", number(scaled, decimals), scale.word)
}

/// A declared value, without trailing zeros: `20 µs`, `2 ms`.
#[must_use]
pub fn declared(unit: Unit, value: f64) -> String {
    let scale = scale(unit, value.abs());
    let scaled = value / scale.size;
    let text = number(scaled, decimals(scaled, DIGITS));
    let text = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => &text,
    };
    format!("{text}{}", scale.word)
}

/// A value that may be missing or only a lower bound.
#[must_use]
pub fn figure(unit: Unit, figure: Option<MaybeLowerBound>) -> String {
    match figure {
        None => MISSING.into(),
        Some(figure) if figure.is_lower_bound => format!("> {}", value(unit, figure.value)),
        Some(figure) => value(unit, figure.value),
    }
}

/// Whether a difference has its sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// `+0.31 ms`.
    Shown,
    /// `0.31 ms`: the direction is in the words around it.
    Spoken,
}

/// A difference with its interval in the metric's unit: `+0.31 ms (0.28–0.34)`.
#[must_use]
pub fn difference(unit: Unit, interval: &Interval, sign: Sign) -> String {
    let largest = [Some(interval.estimate), interval.low, interval.high]
        .into_iter()
        .flatten()
        .fold(0.0, |largest: f64, end| largest.max(end.abs()));
    let scale = scale(unit, largest);
    with_interval(interval, scale.size, scale.word, sign)
}

/// A mean with its standard deviation: `0.312 ± 0.004 ms`, with as many decimals as the deviation needs.
#[must_use]
pub fn mean_and_deviation(unit: Unit, mean: f64, deviation: f64) -> String {
    let scale = scale(unit, mean.abs().max(deviation));
    let (mean, deviation) = (mean / scale.size, deviation / scale.size);
    let decimals = decimals(mean, DIGITS).max(decimals(deviation, 1)).min(6);
    let (mean, deviation) = (number(mean, decimals), number(deviation, decimals));
    format!("{mean} ± {deviation}{}", scale.word)
}

/// A difference of two shares with its interval: `3.2 percentage points (3.0–3.4)`.
#[must_use]
pub fn points(difference: &Interval) -> String {
    with_interval(difference, 0.01, " percentage points", Sign::Spoken)
}

/// A share with its interval: `0.02 % (0.01–0.03)`.
#[must_use]
pub fn share(share: &Interval) -> String {
    with_interval(share, 0.01, " %", Sign::Spoken)
}

/// A ratio with its interval as a percentage: `+12 % (10–14)`.
#[must_use]
pub fn change(ratio: &Interval, sign: Sign) -> String {
    with_interval(&relative(ratio), 0.01, " %", sign)
}

fn relative(ratio: &Interval) -> Interval {
    Interval {
        estimate: ratio.estimate - 1.0,
        low: ratio.low.map(|low| low - 1.0),
        high: ratio.high.map(|high| high - 1.0),
    }
}

/// The margin of an experiment: a share, and for latencies an absolute amount.
#[must_use]
pub fn margin(plan: &Plan) -> String {
    let share = percent(plan.margin);
    let amount = declared(Unit::Nanoseconds, plan.margin_absolute_ns as f64);
    match plan.margin_absolute_ns {
        0 => share,
        _ => format!("{share}, of latencies {amount} if that is more"),
    }
}

/// An estimate with the ends of its interval, if it has one.
#[must_use]
pub fn interval(estimate: f64, ends: Option<(f64, f64)>) -> Interval {
    Interval {
        estimate,
        low: ends.map(|(low, _)| low),
        high: ends.map(|(_, high)| high),
    }
}

/// Ratio of its ends from which an interval of a ratio counts as wide.
const WIDE: f64 = 3.0;

/// A ratio with its interval as a factor: `× 0.61 (0.58–0.64)`.
#[must_use]
pub fn times(ratio: &Interval) -> String {
    if let (Some(low), Some(high)) = (ratio.low, ratio.high)
        && low > 0.0
        && high > low * WIDE
    {
        // With the same decimals for all, the lower end could be shown as 0.
        let [estimate, low, high] =
            [ratio.estimate, low, high].map(|one| number(one, decimals(one, 2)));
        return format!("× {estimate} ({low}–{high})");
    }
    format!("× {}", with_interval(ratio, 1.0, "", Sign::Spoken))
}

/// A share as a percentage: `2 %`, `0.4 %`.
#[must_use]
pub fn percent(share: f64) -> String {
    if !share.is_finite() {
        return MISSING.into();
    }
    let scaled = share * 100.0;
    let text = number(scaled, decimals(scaled, 2));
    format!("{} %", text.strip_suffix(".0").unwrap_or(&text))
}

/// Further decimals for an end of an interval close to 0.
const MORE_DECIMALS_MAX: usize = 2;

/// An estimate with its interval: all three numbers with as many decimals as the width of the interval warrants.
fn with_interval(interval: &Interval, size: f64, word: &str, sign: Sign) -> String {
    if !interval.estimate.is_finite() {
        return MISSING.into();
    }
    let flip = if sign == Sign::Spoken && interval.estimate < 0.0 {
        -1.0
    } else {
        1.0
    };
    let estimate = flip * interval.estimate / size;
    let plus = if sign == Sign::Shown && estimate > 0.0 {
        "+"
    } else {
        ""
    };
    let (Some(low), Some(high)) = (interval.low, interval.high) else {
        let decimals = decimals(estimate, 2);
        return format!("{plus}{}{word}", number(estimate, decimals));
    };
    let (a, b) = (flip * low / size, flip * high / size);
    let (low, high) = (a.min(b), a.max(b));
    // An interval of a ratio may be very asymmetric: then the shorter side sets the precision.
    let (half, shorter) = ((high - low) / 2.0, (estimate - low).min(high - estimate));
    let half = if 0.0 < shorter && shorter < half / 2.0 {
        shorter
    } else {
        half
    };
    // One digit of the half width, two when it starts with 1 (and does not round to 2); never finer than a histogram.
    let lead = if half > 0.0 {
        half / 10f64.powf(half.log10().floor())
    } else {
        1.0
    };
    let wanted = decimals(half, if lead < 1.95 { 2 } else { 1 });
    let warranted = wanted.min(decimals(low.abs().max(high.abs()), DIGITS));
    // An end that is not 0 must not be shown as 0, unless it nearly is: it shows whether the interval contains 0.
    let nearest = low.abs().min(high.abs());
    let shows = |decimals: &usize| nearest * 10f64.powi(*decimals as i32) >= 0.5;
    let decimals = (warranted..=wanted + MORE_DECIMALS_MAX)
        .find(shows)
        .unwrap_or(warranted);
    let (from, to) = (number(low, decimals), number(high, decimals));
    let between = if low < 0.0 { " to " } else { "–" };
    format!(
        "{plus}{}{word} ({from}{between}{to})",
        number(estimate, decimals)
    )
}

/// A duration: `41 s`, `3 min 20 s`, `2 h 5 min`.
#[must_use]
pub fn span(length_ns: u64) -> String {
    let seconds = (length_ns as f64 / 1e9).round() as u64;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// A value of a unit that Tare does not know, without it: three digits, `27.9`, `12,345`.
#[must_use]
pub fn plain(value: f64) -> String {
    match value.is_finite() {
        true => number(value, decimals(value, DIGITS)),
        false => MISSING.into(),
    }
}

/// A count or a mean of counts: an integer from 100 on, else with one decimal unless it is an integer.
#[must_use]
pub fn count(value: f64) -> String {
    if !value.is_finite() {
        return MISSING.into();
    }
    let decimals = usize::from(value.abs() < 100.0 && value.fract() != 0.0);
    number(value, decimals)
}

/// `1 block`, `4 blocks`.
#[must_use]
pub fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests;
