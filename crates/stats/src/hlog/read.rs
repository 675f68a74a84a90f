//! Reads the log, line by line.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Read as _};
use std::time::Duration;

use super::{CENSORED, decode, is_tag};
use crate::latencies::{Censored, Latencies, LatenciesError};

/// Longest line read: the largest histogram this crate writes takes 0.4 MB.
const LINE_BYTES_MAX: u64 = 32 << 20;

/// Upper limit of tags that are merged: each takes a histogram.
const TAGS_MAX: usize = 4096;

/// One line of the log: the observations of an interval.
#[derive(Debug, Clone, PartialEq)]
pub struct LogInterval {
    /// The tag; empty when the line has none.
    pub tag: String,
    /// Start, as written: an offset from the log's base time when it has one.
    pub start: Duration,
    /// Length.
    pub length: Duration,
    /// The observations.
    pub latencies: Latencies,
}

/// Why a log could not be read, and where.
#[derive(Debug, thiserror::Error)]
#[error("histogram log, line {line}: {kind}")]
pub struct HlogError {
    /// Line number, from 1.
    pub line: u64,
    /// What is wrong.
    pub kind: HlogErrorKind,
}

/// What is wrong with a line.
#[derive(Debug, thiserror::Error)]
pub enum HlogErrorKind {
    /// Fewer than four fields, or a maximum that is not a number.
    #[error("expected start, length, maximum and histogram, separated by commas")]
    Fields,
    /// A tag that the format does not allow.
    #[error("the tag is empty, too long or has white space in it")]
    Tag,
    /// A time that is not a number of seconds in range.
    #[error("{0:?} is not a time in seconds")]
    Time(String),
    /// A histogram that cannot be decoded.
    #[error("the histogram is broken: {0}")]
    Histogram(String),
    /// The comment about censored observations is wrong, or contradicts its histogram.
    #[error("the comment about censored observations is broken or does not fit its histogram")]
    Censored,
    /// Histograms of one tag do not merge, or there are too many of them.
    #[error("cannot merge: {0}")]
    Merge(LatenciesError),
    /// More than 4096 tags.
    #[error("more than {TAGS_MAX} tags: this is not a log of latencies")]
    Tags,
    /// A line longer than 32 MiB.
    #[error("the line is longer than 32 MiB: this is not a histogram log")]
    Long,
    /// A line that is not UTF-8.
    #[error("the line is not UTF-8 text")]
    Text,
    /// The file could not be read.
    #[error("it cannot be read: {0}")]
    Io(#[from] io::Error),
}

/// Iterator over the intervals of a log. It ends after the first error.
pub struct Reader<R> {
    input: R,
    line: u64,
    started: Option<Duration>,
    ended: bool,
}

impl<R: BufRead> Reader<R> {
    /// A reader at the beginning of a log.
    pub fn new(input: R) -> Self {
        Self {
            input,
            line: 0,
            started: None,
            ended: false,
        }
    }

    /// The log's `StartTime` since the epoch, if it has one: known from the first interval on.
    #[must_use]
    pub fn started(&self) -> Option<Duration> {
        self.started
    }

    fn read(&mut self) -> Result<Option<LogInterval>, HlogErrorKind> {
        let mut censored = None;
        while let Some(line) = self.next_line()? {
            if let Some(rest) = line.strip_prefix(CENSORED) {
                censored = Some(parse_censored(rest).ok_or(HlogErrorKind::Censored)?);
            } else if let Some(rest) = line.strip_prefix("#[StartTime: ") {
                let seconds = rest.split([' ', ']']).next().unwrap_or_default();
                self.started = Some(parse_time(seconds)?);
            } else if line.is_empty() || line.starts_with('#') || line.starts_with('"') {
                // Comments, BaseTime (in Tare's logs equal to StartTime) and the legend.
            } else {
                return parse_interval(&line, censored).map(Some);
            }
        }
        if censored.is_some() {
            // A comment without its interval: the log was truncated between the two.
            return Err(HlogErrorKind::Censored);
        }
        Ok(None)
    }

    fn next_line(&mut self) -> Result<Option<String>, HlogErrorKind> {
        let mut bytes = Vec::new();
        self.line += 1;
        let bytes_read = (&mut self.input)
            .take(LINE_BYTES_MAX + 1)
            .read_until(b'\n', &mut bytes)?;
        if bytes_read == 0 {
            return Ok(None);
        }
        if bytes_read as u64 > LINE_BYTES_MAX {
            return Err(HlogErrorKind::Long);
        }
        let text = String::from_utf8(bytes).map_err(|_| HlogErrorKind::Text)?;
        Ok(Some(text.trim_end_matches(['\n', '\r']).to_owned()))
    }
}

impl<R: BufRead> Iterator for Reader<R> {
    type Item = Result<LogInterval, HlogError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        match self.read() {
            Ok(Some(interval)) => Some(Ok(interval)),
            Ok(None) => {
                self.ended = true;
                None
            }
            Err(kind) => {
                self.ended = true;
                Some(Err(HlogError {
                    line: self.line,
                    kind,
                }))
            }
        }
    }
}

/// Reads a whole log and merges the intervals of each tag, keeping only those that start in `window`.
///
/// # Errors
/// At the first line that is invalid or does not merge.
pub fn read_merged(
    input: impl BufRead,
    window: impl std::ops::RangeBounds<Duration>,
) -> Result<BTreeMap<String, Latencies>, HlogError> {
    let mut merged: BTreeMap<String, Latencies> = BTreeMap::new();
    let mut reader = Reader::new(input);
    while let Some(interval) = reader.next() {
        let interval = interval?;
        let line = reader.line;
        if !window.contains(&interval.start) {
            continue;
        }
        if let Some(sum) = merged.get_mut(&interval.tag) {
            sum.merge(&interval.latencies).map_err(|error| HlogError {
                line,
                kind: HlogErrorKind::Merge(error),
            })?;
        } else if merged.len() < TAGS_MAX {
            merged.insert(interval.tag, interval.latencies);
        } else {
            return Err(HlogError {
                line,
                kind: HlogErrorKind::Tags,
            });
        }
    }
    Ok(merged)
}

fn parse_interval(line: &str, censored: Option<Censored>) -> Result<LogInterval, HlogErrorKind> {
    let (tag, rest) = match line.strip_prefix("Tag=") {
        Some(tagged) => tagged.split_once(',').ok_or(HlogErrorKind::Fields)?,
        None => ("", line),
    };
    if line.starts_with("Tag=") && !is_tag(tag) {
        return Err(HlogErrorKind::Tag);
    }
    let mut fields = rest.splitn(4, ',');
    let mut field = || fields.next().ok_or(HlogErrorKind::Fields);
    let (start, length, max, encoded) = (field()?, field()?, field()?, field()?);
    // The maximum is not used, since the histogram has its own, but must be a number.
    max.trim()
        .parse::<f64>()
        .map_err(|_| HlogErrorKind::Fields)?;
    let histogram = decode::histogram(encoded)?;
    let censored = censored.unwrap_or_default();
    let censored_count = censored.unfinished.checked_add(censored.out_of_range);
    if censored_count.is_none_or(|censored_count| censored_count > histogram.len())
        || censored.youngest_ns > histogram.high()
    {
        return Err(HlogErrorKind::Censored);
    }
    Ok(LogInterval {
        tag: tag.to_owned(),
        start: parse_time(start)?,
        length: parse_time(length)?,
        latencies: Latencies::from_parts(histogram, censored),
    })
}

/// Seconds with a fraction, to the millisecond that the format keeps.
fn parse_time(text: &str) -> Result<Duration, HlogErrorKind> {
    // Ten thousand years: a larger value is malformed, and arithmetic on it would overflow.
    const SECONDS_MAX: f64 = 3.2e11;
    text.trim()
        .parse::<f64>()
        .ok()
        .filter(|seconds| (0.0..SECONDS_MAX).contains(seconds))
        .map(|seconds| Duration::from_millis((seconds * 1e3).round() as u64))
        .ok_or_else(|| HlogErrorKind::Time(text.chars().take(40).collect()))
}

/// `unfinished=2 youngest_ns=1000000000 out_of_range=0]`, exactly.
fn parse_censored(text: &str) -> Option<Censored> {
    let mut words = text.strip_suffix(']')?.split(' ');
    let mut number = |name: &str| {
        let (key, value) = words.next()?.split_once('=')?;
        (key == name).then(|| value.parse::<u64>().ok())?
    };
    let censored = Censored {
        unfinished: number("unfinished")?,
        youngest_ns: number("youngest_ns")?,
        out_of_range: number("out_of_range")?,
    };
    words.next().is_none().then_some(censored)
}
