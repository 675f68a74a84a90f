//! Output of a process: written to a file up to a limit; its end is also kept in memory.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Bytes of the end that are kept.
const TAIL_BYTES: usize = 8 << 10;
/// Lines of the end that are reported.
const TAIL_LINES: usize = 20;
/// Reads of one output before others are served.
const READS_PER_TURN: usize = 16;

/// Whether more output may come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    /// The pipe is open.
    Open,
    /// End of file.
    Ended,
}

/// The read end of a process's output.
pub(crate) struct Output {
    pipe: Option<OwnedFd>,
    file: Option<File>,
    written_bytes: u64,
    bytes_max: u64,
    tail: VecDeque<u8>,
}

impl Output {
    pub(crate) fn new(pipe: OwnedFd, file: File, bytes_max: u64) -> Output {
        Output {
            pipe: Some(pipe),
            file: Some(file),
            written_bytes: 0,
            bytes_max,
            tail: VecDeque::with_capacity(TAIL_BYTES),
        }
    }

    /// The pipe to poll; `None` after the end of file.
    pub(crate) fn pipe(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(AsFd::as_fd)
    }

    /// Reads pending output (the pipe is non-blocking), within the limit of one turn.
    pub(crate) fn take(&mut self) -> Flow {
        let mut buffer = [0u8; 16 << 10];
        for _ in 0..READS_PER_TURN {
            let Some(pipe) = &self.pipe else {
                return Flow::Ended;
            };
            match rustix::io::read(pipe, &mut buffer[..]) {
                Ok(0) => {
                    self.pipe = None;
                    return Flow::Ended;
                }
                Ok(count) => self.keep(&buffer[..count]),
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::AGAIN) => return Flow::Open,
                Err(_) => {
                    self.pipe = None;
                    return Flow::Ended;
                }
            }
        }
        Flow::Open
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.write(bytes);
        let recent = &bytes[bytes.len().saturating_sub(TAIL_BYTES)..];
        let surplus = (self.tail.len() + recent.len()).saturating_sub(TAIL_BYTES);
        self.tail.drain(..surplus.min(self.tail.len()));
        self.tail.extend(recent);
    }

    fn write(&mut self, bytes: &[u8]) {
        let Some(file) = &mut self.file else {
            return;
        };
        let room = usize::try_from(self.bytes_max - self.written_bytes).unwrap_or(usize::MAX);
        let fits = &bytes[..bytes.len().min(room)];
        // A full disk must not stop the measured process: its last output is still in memory.
        let mut kept = file.write_all(fits).is_ok();
        self.written_bytes += fits.len() as u64;
        if fits.len() < bytes.len() {
            let note = format!(
                "\n[cut here: the limit of {} bytes is reached]\n",
                self.bytes_max
            );
            let _ = file.write_all(note.as_bytes());
            kept = false;
        }
        if !kept {
            self.file = None;
        }
    }

    /// The last lines.
    pub(crate) fn tail(&self) -> Vec<String> {
        let bytes: Vec<u8> = self.tail.iter().copied().collect();
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(TAIL_LINES)..]
            .iter()
            .map(|line| (*line).to_owned())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Seek};

    fn output(bytes_max: u64) -> (Output, OwnedFd, File) {
        let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::NONBLOCK).unwrap();
        let file = rustix::fs::memfd_create("log", rustix::fs::MemfdFlags::empty()).unwrap();
        let file = File::from(file);
        let again = file.try_clone().unwrap();
        (Output::new(read, file, bytes_max), write, again)
    }

    fn text(mut file: File) -> String {
        let mut text = String::new();
        file.rewind().unwrap();
        file.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn a_flood_is_cut_in_the_file_and_its_end_is_remembered() {
        let (mut output, pipe, file) = output(10);
        for number in 0..5000 {
            rustix::io::write(&pipe, format!("line {number}\n").as_bytes()).unwrap();
            output.take();
        }
        let kept = text(file);
        assert!(kept.starts_with("line 0\nlin\n[cut here"), "{kept}");
        assert!(kept.len() < 100);
        let tail = output.tail();
        assert_eq!(tail.len(), TAIL_LINES);
        assert_eq!(tail.last().unwrap(), "line 4999");
    }

    #[test]
    fn the_end_of_all_writers_is_noticed() {
        let (mut output, pipe, file) = output(100);
        rustix::io::write(&pipe, b"last words").unwrap();
        drop(pipe);
        assert_eq!(output.take(), Flow::Ended);
        assert_eq!(output.tail(), ["last words"]);
        assert_eq!(text(file), "last words");
    }
}
