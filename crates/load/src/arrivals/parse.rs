//! Formats of a recording: one start per line, the samples of a load as CSV, or an HdrHistogram log.

use tare_stats::hlog::Reader;

use super::trace::{STARTS_MAX, TraceError};

const SECOND_NS: f64 = 1e9;

const MILLISECOND_NS: u64 = 1_000_000;

/// Times from 2001 to 2100 in milliseconds since the epoch. As nanoseconds they are 17 minutes to an hour, where no recording of
/// offsets begins.
const UNIX_MS: std::ops::Range<u64> = 1_000_000_000_000..4_102_444_800_000;

/// Comments at the front of a log.
const HEAD_LINES: usize = 50;

/// Longest part of a wrong line that is shown.
const SHOWN_CHARS: usize = 60;

/// The starts of a recording, in nanoseconds from any origin.
///
/// One start per line is in seconds if any line has a point (`0.25`), in milliseconds if all are times of this century in them
/// (JMeter's), else in whole nanoseconds. CSV and logs have only the number of exchanges of an interval: their starts are spread
/// evenly over it.
pub(super) fn starts(file: &str, text: &str) -> Result<Vec<u64>, TraceError> {
    let is_log =
        |line: &str| line.starts_with("#[Histogram log") || line.starts_with("\"StartTimestamp\"");
    let mut head = text.lines().take(HEAD_LINES);
    if head.any(is_log) {
        return log(file, text);
    }
    let first = text.lines().find(|line| !line.trim().is_empty());
    match first {
        Some(line) if line.contains("offset_ns") => samples(file, text),
        Some(line) if line.starts_with(JMETER_COLUMN) => jmeter(file, text),
        _ => list(file, text),
    }
}

fn wrong(file: &str, line: usize, text: &str) -> TraceError {
    TraceError::Line {
        file: file.to_owned(),
        line: line + 1,
        text: text.chars().take(SHOWN_CHARS).collect(),
    }
}

/// Converts seconds to nanoseconds.
fn nanoseconds(seconds: f64) -> Option<u64> {
    // 2^53 ns is 104 days: beyond it fractions are lost.
    let is_time = seconds.is_finite() && (0.0..1e11).contains(&seconds);
    is_time.then_some((seconds * SECOND_NS).round() as u64)
}

fn list(file: &str, text: &str) -> Result<Vec<u64>, TraceError> {
    let lines = || {
        let trimmed = text.lines().map(str::trim).enumerate();
        trimmed.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
    };
    let in_seconds = lines().any(|(_, line)| line.contains(['.', 'e', 'E']));
    let one = |(number, line): (usize, &str)| {
        let start = match in_seconds {
            true => line.parse().ok().and_then(nanoseconds),
            false => line.parse().ok(),
        };
        start.ok_or_else(|| wrong(file, number, line))
    };
    let mut starts: Vec<u64> = lines().map(one).collect::<Result<_, _>>()?;
    let in_milliseconds = !in_seconds && starts.iter().all(|at| UNIX_MS.contains(at));
    if in_milliseconds {
        starts.iter_mut().for_each(|at| *at *= MILLISECOND_NS);
    }
    Ok(starts)
}

/// First column of the results that JMeter writes as CSV (JTL), and of its head.
const JMETER_COLUMN: &str = "timeStamp,";

/// JMeter's results: the start of each sample in milliseconds since the epoch, in the first column.
fn jmeter(file: &str, text: &str) -> Result<Vec<u64>, TraceError> {
    let lines = text.lines().enumerate().skip(1);
    let lines = lines.filter(|(_, line)| !line.trim().is_empty());
    let one = |(number, line): (usize, &str)| {
        let column = line.split(',').next().and_then(|at| at.parse().ok());
        let start = column.filter(|at| UNIX_MS.contains(at));
        start
            .map(|at| at * MILLISECOND_NS)
            .ok_or_else(|| wrong(file, number, line))
    };
    lines.map(one).collect()
}

/// Adds `count` starts, spread evenly; false if there would be too many.
fn spread(starts: &mut Vec<u64>, from_ns: u64, length_ns: u64, count: u64) -> bool {
    if count > (STARTS_MAX - starts.len().min(STARTS_MAX)) as u64 {
        return false;
    }
    let at = |number: u64| {
        from_ns + (u128::from(length_ns) * u128::from(number) / u128::from(count)) as u64
    };
    starts.extend((0..count).map(at));
    true
}

/// Samples from `tare load --csv` or of a trial; `offset_ns` is the end of each.
fn samples(file: &str, text: &str) -> Result<Vec<u64>, TraceError> {
    let mut lines = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty());
    let Some((number, head)) = lines.next() else {
        return Ok(Vec::new());
    };
    let column = |name: &str| {
        let at = head.split(',').position(|column| column.trim() == name);
        at.ok_or_else(|| wrong(file, number, head))
    };
    let (end_at, length_at) = (column("offset_ns")?, column("length_ns")?);
    let intended_at = column("intended")?;
    let mut starts = Vec::new();
    for (number, line) in lines {
        let fields: Vec<&str> = line.split(',').collect();
        let field = |at: usize| fields.get(at)?.trim().parse::<u64>().ok();
        let (Some(end_ns), Some(length_ns), Some(count)) =
            (field(end_at), field(length_at), field(intended_at))
        else {
            return Err(wrong(file, number, line));
        };
        let from_ns = end_ns.saturating_sub(length_ns);
        if !spread(&mut starts, from_ns, length_ns, count) {
            return Err(TraceError::TooMany(file.to_owned()));
        }
    }
    Ok(starts)
}

/// Latency histograms of a load: every exchange has one `latency`, in the second of its intended start. Other logs, without such
/// tags, count completely.
fn log(file: &str, text: &str) -> Result<Vec<u64>, TraceError> {
    let of_log = |source| TraceError::Log {
        file: file.to_owned(),
        source,
    };
    let mut intervals = Vec::new();
    for interval in Reader::new(text.as_bytes()) {
        intervals.push(interval.map_err(of_log)?);
    }
    let is_latency = |tag: &str| tag.split('.').any(|word| word == "latency");
    let only_latency = intervals.iter().any(|interval| is_latency(&interval.tag));
    let mut starts = Vec::new();
    for interval in &intervals {
        if only_latency && !is_latency(&interval.tag) {
            continue;
        }
        let (from_ns, length_ns) = (interval.start.as_nanos(), interval.length.as_nanos());
        let count = interval.latencies.count();
        if !spread(&mut starts, from_ns as u64, length_ns as u64, count) {
            return Err(TraceError::TooMany(file.to_owned()));
        }
    }
    Ok(starts)
}
