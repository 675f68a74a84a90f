//! The standard HdrHistogram log: one line per interval and tag, readable by every HdrHistogram tool.
//!
//! Format: <https://github.com/HdrHistogram/HdrHistogram> (`HistogramLogWriter`, version 1.3): comment lines, a
//! legend, then `Tag=name,start,length,maximum,histogram` with seconds to three places, the maximum in milliseconds and the
//! histogram in base64 of its V2 + DEFLATE encoding. Starts are offsets from `BaseTime`, which equals `StartTime`.
//!
//! The format has no field for censored observations (unfinished or out of range): their counts are in a comment line directly
//! above their interval: `#[Censored: unfinished=2 youngest_ns=1000000000 out_of_range=0]`. Other tools skip it and still read
//! every observation.

mod decode;
mod read;
#[cfg(test)]
mod tests;
mod write;

pub use read::{HlogError, HlogErrorKind, LogInterval, Reader, read_merged};
pub use write::{WriteError, Writer};

/// Prefix of the comment line about censored observations.
const CENSORED: &str = "#[Censored: ";

/// Whether the format allows this text as a tag: 1 to 256 bytes without comma, white space or control characters.
fn is_tag(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 256
        && !text
            .chars()
            .any(|c| c == ',' || c.is_whitespace() || c.is_control())
}
