//! `progress.jsonl` of a run: its events, one JSON object a line, for those who watch from outside.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use serde::Serialize;
use tare_record::escape::escape_json;
use tare_record::event::PROGRESS;
use tare_record::regular::OPEN_UNTRUSTED;

use crate::event::{Event, StopDecision, Watcher};

/// Size above which samples and usage are left out: a day of a run with twenty parts.
const BYTES_MAX: u64 = 256 << 20;

/// `progress.jsonl` of a folder, open for writing.
#[derive(Debug)]
pub struct EventFile {
    file: Option<File>,
    bytes: u64,
}

/// Whether an event may be left out of a large file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventWeight {
    /// One of many: a sample.
    Sample,
    /// One of few.
    Step,
}

impl EventFile {
    /// Opens the file in a folder. That it cannot be written is no reason not to measure.
    #[must_use]
    pub fn open(folder: &Path) -> EventFile {
        let opened = open_to_append(&folder.join(PROGRESS)).ok();
        EventFile {
            bytes: opened.as_ref().map_or(0, |(_, bytes)| *bytes),
            file: opened.map(|(file, _)| file),
        }
    }

    /// Adds a line.
    pub fn write(&mut self, event: &impl Serialize, weight: EventWeight) {
        if weight == EventWeight::Sample && self.bytes > BYTES_MAX {
            return;
        }
        let (Some(file), Ok(text)) = (&mut self.file, serde_json::to_string(event)) else {
            return;
        };
        let line = escape_json(&text).into_owned() + "\n";
        // In one piece: a reader sees whole lines, but for a full disk.
        match file.write_all(line.as_bytes()) {
            Ok(()) => self.bytes += line.len() as u64,
            Err(_) => self.file = None,
        }
    }
}

/// Writes the events of a run to its folder, and forwards them.
pub(crate) struct ProgressLog<'a> {
    watcher: &'a mut dyn Watcher,
    file: EventFile,
}

impl<'a> ProgressLog<'a> {
    pub(crate) fn open(folder: &Path, watcher: &'a mut dyn Watcher) -> ProgressLog<'a> {
        ProgressLog {
            watcher,
            file: EventFile::open(folder),
        }
    }
}

/// Opens the file at its end; also its size. A line that a killed process left unfinished is ended.
fn open_to_append(path: &Path) -> io::Result<(File, u64)> {
    let mut file = OpenOptions::new()
        .read(true)
        .append(true)
        .create(true)
        .custom_flags(OPEN_UNTRUSTED)
        .open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let bytes = file.seek(SeekFrom::End(0))?;
    if bytes > 0 {
        file.seek(SeekFrom::End(-1))?;
        let mut last = [0];
        file.read_exact(&mut last)?;
        if last != *b"\n" {
            file.write_all(b"\n")?;
        }
    }
    Ok((file, bytes))
}

impl Watcher for ProgressLog<'_> {
    fn on_event(&mut self, event: &Event<'_>) {
        let weight = match event {
            Event::Sampled(..) | Event::Usage(..) => EventWeight::Sample,
            _ => EventWeight::Step,
        };
        self.file.write(&event.line(), weight);
        self.watcher.on_event(event);
    }

    fn should_stop(&mut self, folder: &Path) -> StopDecision {
        self.watcher.should_stop(folder)
    }

    fn interrupted(&self) -> bool {
        self.watcher.interrupted()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Nobody;

    impl Watcher for Nobody {
        fn on_event(&mut self, _: &Event<'_>) {}

        fn should_stop(&mut self, _: &Path) -> StopDecision {
            StopDecision::Continue
        }

        fn interrupted(&self) -> bool {
            false
        }
    }

    #[test]
    fn a_resumed_run_goes_on_after_a_line_that_was_cut_off() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join(PROGRESS);
        std::fs::write(&path, r#"{"event":"no"#).unwrap();
        let mut nobody = Nobody;
        let mut log = ProgressLog::open(place.path(), &mut nobody);
        log.on_event(&Event::Note("a \u{202e} note"));
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2, "{text}");
        assert!(lines[1].contains(r"a \u202e note"), "{text}");
    }

    #[test]
    fn a_link_is_not_written_through_and_does_not_stop_the_run() {
        let place = tempfile::tempdir().unwrap();
        let other = place.path().join("other");
        std::fs::write(&other, "").unwrap();
        std::os::unix::fs::symlink(&other, place.path().join(PROGRESS)).unwrap();
        let mut nobody = Nobody;
        let mut log = ProgressLog::open(place.path(), &mut nobody);
        log.on_event(&Event::Note("lost"));
        assert_eq!(std::fs::read_to_string(&other).unwrap(), "");
    }
}
