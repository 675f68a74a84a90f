//! The standard HdrHistogram log: one line per interval and tag, readable by every HdrHistogram tool.
//!
//! Format: <https://github.com/HdrHistogram/HdrHistogram> (`HistogramLogWriter`, version 1.3): comment lines, a
//! legend, then `Tag=name,start,length,maximum,histogram` with seconds to three places, the maximum in milliseconds and the
//! histogram in base64 of its V2 + DEFLATE encoding. Starts are offsets from `BaseTime`, which equals `StartTime`.
//!
//! What the format cannot say, which observations are unfinished or out of range, stands in a comment line directly
//! above the interval it belongs to: `#[Censored: unfinished=2 youngest_ns=1000000000 out_of_range=0]`. Other tools skip it and
//! still have every observation.

mod decode;
mod read;
#[cfg(test)]
mod tests;
mod write;

pub use read::{Interval, ReadError, ReadErrorKind, Reader, read_merged};
pub use write::{WriteError, Writer};

/// What begins the comment about censored observations.
const CENSORED: &str = "#[Censored: ";

/// Whether the format allows this text as a tag: something, without comma, white space or control characters.
fn is_tag(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 256
        && !text
            .chars()
            .any(|c| c == ',' || c.is_whitespace() || c.is_control())
}
