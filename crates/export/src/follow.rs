//! Follows a run or a load from outside, by the events in its folder.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::time::Duration;

use serde::de::DeserializeOwned;
use tare_record::event::PROGRESS;
use tare_record::regular::open_regular;

/// Bytes that are read at a time.
const CHUNK_BYTES: usize = 16 << 10;
/// Longest line that is read; the result of a load has all of its samples.
const LINE_BYTES_MAX: usize = 16 << 20;
/// Bytes of the past that a new reader gets; what is before is in the records.
const PAST_BYTES_MAX: u64 = 8 << 20;
/// End of the events in which the last ones are looked for.
const LAST_BYTES: u64 = 64 << 10;
/// Interval at which the file is looked at. Its size is one system call, so that fifty readers cost less than a notification each.
pub const LOOK_EVERY: Duration = Duration::from_millis(250);

fn open(folder: &Path) -> io::Result<File> {
    Ok(open_regular(&folder.join(PROGRESS), u64::MAX)?.into_inner())
}

/// The last events of a run or a load; none if they cannot be read.
#[must_use]
pub fn last_events<T: DeserializeOwned>(folder: &Path) -> Vec<T> {
    let read = || -> io::Result<String> {
        let mut file = open(folder)?;
        let bytes = file.metadata()?.len();
        file.seek(SeekFrom::Start(bytes.saturating_sub(LAST_BYTES)))?;
        let mut text = Vec::new();
        file.take(LAST_BYTES).read_to_end(&mut text)?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    };
    let text = read().unwrap_or_default();
    text.lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

/// The lines of a file from a place on.
#[derive(Debug)]
pub struct Tail {
    file: File,
    /// Read, and not yet returned.
    buffer: Vec<u8>,
    /// Place of the buffer's first byte.
    at: u64,
    /// Whether the line that the buffer begins with is incomplete.
    skips: bool,
}

impl Tail {
    /// Opens the events of a folder, from this byte on; `None`: the last ones, and all that follow.
    ///
    /// # Errors
    /// When there are none.
    pub fn open(folder: &Path, from: Option<u64>) -> io::Result<Tail> {
        let mut file = open(folder)?;
        let bytes = file.metadata()?.len();
        let (at, skips) = match from {
            Some(from) if from <= bytes => (from, false),
            _ => {
                let at = bytes.saturating_sub(PAST_BYTES_MAX);
                (at, at > 0)
            }
        };
        file.seek(SeekFrom::Start(at))?;
        Ok(Tail {
            file,
            buffer: Vec::new(),
            at,
            skips,
        })
    }

    /// The next whole line, and the place behind it.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn next_line(&mut self) -> io::Result<Option<(String, u64)>> {
        loop {
            if let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.buffer.drain(..=end).collect();
                self.at += line.len() as u64;
                if std::mem::take(&mut self.skips) {
                    continue;
                }
                let line = String::from_utf8_lossy(&line[..end]);
                // A line that a killed process left unfinished is no event.
                if serde_json::from_str::<serde::de::IgnoredAny>(&line).is_ok() {
                    return Ok(Some((line.into_owned(), self.at)));
                }
                continue;
            }
            if self.buffer.len() > LINE_BYTES_MAX {
                self.at += self.buffer.len() as u64;
                self.buffer.clear();
                self.skips = true;
            }
            let before = self.buffer.len();
            self.buffer.resize(before + CHUNK_BYTES, 0);
            let read = self.file.read(&mut self.buffer[before..])?;
            self.buffer.truncate(before + read);
            if read == 0 {
                return Ok(None);
            }
        }
    }

    /// Whether everything was read that is there.
    ///
    /// # Errors
    /// When the file is gone.
    pub fn is_at_end(&self) -> io::Result<bool> {
        Ok(self.file.metadata()?.len() <= self.at + self.buffer.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn lines(tail: &mut Tail) -> Vec<String> {
        std::iter::from_fn(|| tail.next_line().unwrap())
            .map(|(line, _)| line)
            .collect()
    }

    #[test]
    fn a_stream_goes_on_where_the_last_one_was_left() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join(PROGRESS);
        std::fs::write(&path, "{\"a\":1}\n{\"b\":\n{\"c\":3}\n{\"d\"").unwrap();
        let mut tail = Tail::open(place.path(), None).unwrap();
        let (first, end) = tail.next_line().unwrap().unwrap();
        assert_eq!((first.as_str(), end), ("{\"a\":1}", 8));
        assert_eq!(lines(&mut tail), ["{\"c\":3}"]);
        let mut file = std::fs::OpenOptions::new()
            .append(true)
            .open(&path)
            .unwrap();
        file.write_all(b":4}\n").unwrap();
        assert_eq!(lines(&mut tail), ["{\"d\":4}"]);
        let mut again = Tail::open(place.path(), Some(end)).unwrap();
        assert_eq!(lines(&mut again), ["{\"c\":3}", "{\"d\":4}"]);
        assert!(again.is_at_end().unwrap());
    }

    #[test]
    fn only_the_end_of_a_long_past_is_sent() {
        let place = tempfile::tempdir().unwrap();
        let line = format!("{{\"x\":\"{}\"}}\n", "y".repeat(1 << 20));
        std::fs::write(place.path().join(PROGRESS), line.repeat(12)).unwrap();
        let mut tail = Tail::open(place.path(), None).unwrap();
        assert_eq!(lines(&mut tail).len(), 7);
    }
}
