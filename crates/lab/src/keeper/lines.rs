//! Splits a byte stream into lines of limited length.

use std::io::{self, ErrorKind, Read};

/// Buffer of received bytes.
pub(crate) struct Lines {
    buffer: Vec<u8>,
    /// No line end before this offset: a long line is searched only once.
    searched: usize,
    bytes_max: usize,
    ended: bool,
}

impl Lines {
    pub(crate) fn new(bytes_max: usize) -> Lines {
        Lines {
            buffer: Vec::new(),
            searched: 0,
            bytes_max,
            ended: false,
        }
    }

    /// Reads once. A stream without data (non-blocking, or timed out) is no error.
    pub(crate) fn fill(&mut self, stream: &mut impl Read) -> io::Result<()> {
        let mut chunk = [0u8; 64 << 10];
        match stream.read(&mut chunk) {
            Ok(0) => self.ended = true,
            Ok(count) => {
                self.buffer.extend_from_slice(&chunk[..count]);
                if self.buffer.len() > self.bytes_max && !self.buffer.contains(&b'\n') {
                    let reason = format!("a line of more than {} bytes", self.bytes_max);
                    return Err(io::Error::new(ErrorKind::InvalidData, reason));
                }
            }
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
                ) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// The next whole line, without its end.
    pub(crate) fn next(&mut self) -> Option<Vec<u8>> {
        let found = self.buffer[self.searched..]
            .iter()
            .position(|b| *b == b'\n');
        let Some(position) = found else {
            self.searched = self.buffer.len();
            return None;
        };
        let mut line: Vec<u8> = self.buffer.drain(..=self.searched + position).collect();
        line.pop();
        self.searched = 0;
        Some(line)
    }

    /// Whether end-of-file was read.
    pub(crate) fn ended(&self) -> bool {
        self.ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_out_whole_however_they_arrive() {
        let mut lines = Lines::new(100);
        for piece in ["on", "e\ntw", "o\n", "\nthree"] {
            lines.fill(&mut piece.as_bytes()).unwrap();
        }
        let mut found = Vec::new();
        while let Some(line) = lines.next() {
            found.push(String::from_utf8(line).unwrap());
        }
        assert_eq!(found, ["one", "two", ""]);
        lines.fill(&mut &b""[..]).unwrap();
        assert!(lines.ended());
    }

    #[test]
    fn an_endless_line_is_refused() {
        let mut lines = Lines::new(100);
        lines.fill(&mut &[b'x'; 90][..]).unwrap();
        assert!(lines.fill(&mut &[b'x'; 90][..]).is_err());
    }
}
