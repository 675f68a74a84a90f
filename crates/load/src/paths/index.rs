//! Finds lines in a file of paths: an entry for every 64 lines, and one read of the file for each 64 that are sent.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use tare_record::load::PathList;

/// Lines of a block.
const BLOCK_LINES: u64 = 64;

/// A file of paths, ready to be sent.
#[derive(Debug, Clone)]
pub struct PathIndex {
    file: Arc<File>,
    /// Where each block begins, and the end of the last.
    blocks: Arc<[u64]>,
    lines: u32,
}

/// Reads the lines of a file of paths; one block of them is kept.
#[derive(Debug)]
pub struct PathReader {
    index: PathIndex,
    block: Option<u64>,
    bytes: Vec<u8>,
    /// Beginnings of the block's lines in `bytes`, and the end of the last.
    starts: Vec<u32>,
}

impl PathIndex {
    /// Opens a file and checks each line: the number of one of so many routes, and what can be sent.
    ///
    /// # Errors
    /// When it cannot be read, or is not what the list says.
    pub fn open(list: &PathList, routes: usize) -> io::Result<Self> {
        let file = File::open(&list.file)?;
        let mut blocks = Vec::new();
        let (mut at, mut lines) = (0, 0);
        let mut line = Vec::new();
        let mut reader = BufReader::new(&file);
        while reader.read_until(b'\n', &mut line)? > 0 {
            if lines % BLOCK_LINES == 0 {
                blocks.push(at);
            }
            let fits = parsed(&line).is_some_and(|(route, path)| {
                usize::from(route) < routes && path.starts_with(b"/") && is_graphic(path)
            });
            if !fits {
                return Err(io::Error::other(format!(
                    "line {} is not ROUTE PATH",
                    lines + 1
                )));
            }
            at += line.len() as u64;
            lines += 1;
            line.clear();
        }
        blocks.push(at);
        let count = u32::try_from(lines).ok().filter(|&count| count > 0);
        match count.filter(|_| lines == list.lines) {
            Some(lines) => Ok(Self {
                file: Arc::new(file),
                blocks: blocks.into(),
                lines,
            }),
            None => Err(io::Error::other(format!(
                "it has {lines} paths, not {}: 1 to {} are possible",
                list.lines,
                u32::MAX
            ))),
        }
    }

    pub(crate) fn reader(&self) -> PathReader {
        PathReader {
            index: self.clone(),
            block: None,
            bytes: Vec::new(),
            starts: Vec::with_capacity(BLOCK_LINES as usize + 1),
        }
    }
}

impl PathReader {
    /// Lines of the file.
    pub(crate) fn lines(&self) -> u32 {
        self.index.lines
    }

    /// Route and path of a line.
    #[inline]
    pub(crate) fn line(&mut self, number: u32) -> (u16, &[u8]) {
        let (block, within) = (
            u64::from(number) / BLOCK_LINES,
            (u64::from(number) % BLOCK_LINES) as usize,
        );
        if self.block != Some(block) {
            self.read(block);
        }
        let bounds = self.starts.get(within).zip(self.starts.get(within + 1));
        let line = bounds.and_then(|(&start, &end)| self.bytes.get(start as usize..end as usize));
        // Each line was checked when the file was opened.
        let found = line.and_then(parsed);
        assert!(
            found.is_some(),
            "the file of paths was changed while it was sent"
        );
        found.unwrap_or((0, b"/"))
    }

    fn read(&mut self, block: u64) {
        let at = block as usize;
        let (start, end) = (self.index.blocks[at], self.index.blocks[at + 1]);
        self.bytes.resize((end - start) as usize, 0);
        let read = self.index.file.read_exact_at(&mut self.bytes, start);
        assert!(
            read.is_ok(),
            "the file of paths cannot be read any more: {read:?}"
        );
        self.starts.clear();
        self.starts.push(0);
        let ends = self.bytes.iter().enumerate();
        let ends = ends.filter(|(_, byte)| **byte == b'\n');
        self.starts.extend(ends.map(|(at, _)| at as u32 + 1));
        self.block = Some(block);
    }
}

/// Route and path of `ROUTE PATH\n`.
fn parsed(line: &[u8]) -> Option<(u16, &[u8])> {
    let line = line.strip_suffix(b"\n")?;
    let space = line.iter().position(|&byte| byte == b' ')?;
    let route = std::str::from_utf8(&line[..space]).ok()?.parse().ok()?;
    Some((route, &line[space + 1..]))
}

fn is_graphic(path: &[u8]) -> bool {
    path.iter().all(u8::is_ascii_graphic)
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::path::Path;

    use super::*;

    fn list(file: &Path, lines: u64) -> PathList {
        PathList {
            name: "list".into(),
            sha256: String::new(),
            file: file.to_owned(),
            lines,
        }
    }

    #[test]
    fn every_line_is_found_in_any_order() {
        let place = tempfile::NamedTempFile::new().unwrap();
        let mut text = String::new();
        for number in 0..1000 {
            writeln!(text, "{} /item/{number}", number % 3).unwrap();
        }
        std::fs::write(place.path(), text).unwrap();
        let index = PathIndex::open(&list(place.path(), 1000), 3).unwrap();
        let mut reader = index.reader();
        for number in (0..1000).chain([63, 64, 0, 999]) {
            let expected = format!("/item/{number}");
            let route = (number % 3) as u16;
            assert_eq!(reader.line(number), (route, expected.as_bytes()));
        }
    }

    #[test]
    fn a_file_that_is_not_what_the_plan_says_is_refused() {
        let place = tempfile::NamedTempFile::new().unwrap();
        for (text, lines) in [
            ("0 /a\n", 2),
            ("", 0),
            ("1 /a\n", 1),
            ("0 a\n", 1),
            ("0 /a b\n", 1),
            ("/a\n", 1),
            ("0 /a", 1),
        ] {
            std::fs::write(place.path(), text).unwrap();
            let opened = PathIndex::open(&list(place.path(), lines), 1);
            assert!(opened.is_err(), "{text:?}");
        }
    }
}
