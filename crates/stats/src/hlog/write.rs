//! Writes the log.

use std::io::{self, Write};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::serialization::{Serializer as _, V2DeflateSerializer};

use super::{CENSORED, is_tag};
use crate::latencies::Latencies;

/// Writes intervals in time order.
pub struct Writer<W: Write> {
    out: W,
    serializer: V2DeflateSerializer,
    encoded: Vec<u8>,
    text: String,
    latest_start: Duration,
}

/// Why an interval was not written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The tag is not allowed in a log.
    #[error(
        "tag {0:?} cannot stand in a histogram log: use 1 to 256 characters without commas and spaces"
    )]
    Tag(String),
    /// The interval starts before one already written.
    #[error("interval at {start:?} after one at {latest:?}: write intervals in time order")]
    Order {
        /// Start of the interval.
        start: Duration,
        /// Latest start written before.
        latest: Duration,
    },
    /// The histogram could not be encoded.
    #[error("the histogram cannot be encoded: {0}")]
    Encode(String),
    /// The log could not be written.
    #[error("the histogram log cannot be written: {0}")]
    Io(#[from] io::Error),
}

impl<W: Write> Writer<W> {
    /// Starts a log: interval starts are offsets from `started` (since the epoch); `comments` become comment lines
    /// (a line break makes two).
    ///
    /// # Errors
    /// When the header cannot be written.
    pub fn begin(mut out: W, started: Duration, comments: &[&str]) -> Result<Self, WriteError> {
        for comment in comments {
            for line in comment.lines() {
                // With a blank after #, no comment can be read as one of the format's own, #[….
                writeln!(out, "# {line}")?;
            }
        }
        let epoch = started.as_secs_f64();
        writeln!(out, "#[Histogram log format version 1.3]")?;
        writeln!(out, "#[StartTime: {epoch:.3} (seconds since epoch)]")?;
        writeln!(out, "#[BaseTime: {epoch:.3} (seconds since epoch)]")?;
        writeln!(
            out,
            "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\""
        )?;
        Ok(Self {
            out,
            serializer: V2DeflateSerializer::new(),
            encoded: Vec::new(),
            text: String::new(),
            latest_start: Duration::ZERO,
        })
    }

    /// Writes one interval: its tag, its start after the log's start, its length and its latencies. Times are rounded to
    /// the millisecond, the format's resolution.
    ///
    /// # Errors
    /// When the tag is not allowed, the interval is out of order, or writing fails.
    pub fn interval(
        &mut self,
        tag: &str,
        start: Duration,
        length: Duration,
        latencies: &Latencies,
    ) -> Result<(), WriteError> {
        if !is_tag(tag) {
            return Err(WriteError::Tag(tag.to_owned()));
        }
        if start < self.latest_start {
            return Err(WriteError::Order {
                start,
                latest: self.latest_start,
            });
        }
        self.encoded.clear();
        self.serializer
            .serialize(latencies.histogram(), &mut self.encoded)
            .map_err(|error| WriteError::Encode(error.to_string()))?;
        self.text.clear();
        STANDARD.encode_string(&self.encoded, &mut self.text);
        if latencies.unfinished() > 0 || latencies.out_of_range() > 0 {
            writeln!(
                self.out,
                "{CENSORED}unfinished={} youngest_ns={} out_of_range={}]",
                latencies.unfinished(),
                latencies.youngest_unfinished_ns().unwrap_or(0),
                latencies.out_of_range()
            )?;
        }
        let max_ms = if latencies.is_empty() {
            0.0
        } else {
            latencies.histogram().max() as f64 / 1e6
        };
        writeln!(
            self.out,
            "Tag={tag},{:.3},{:.3},{max_ms:.3},{}",
            start.as_secs_f64(),
            length.as_secs_f64(),
            self.text
        )?;
        self.latest_start = start;
        Ok(())
    }

    /// Flushes and returns the inner writer.
    ///
    /// # Errors
    /// When flushing fails.
    pub fn finish(mut self) -> Result<W, WriteError> {
        self.out.flush()?;
        Ok(self.out)
    }
}
