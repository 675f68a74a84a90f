//! Reads a list once, from its beginning to its end, and writes what is to be sent.

use std::collections::HashMap;
use std::io::{self, BufRead, Read, Write};

use ring::digest::{Context, SHA256};
use tare_record::checksums::hexadecimal;

use super::line::{Fields, asked, route};
use super::names::RequestNames;

/// Most routes with histograms of their own; further ones are counted together.
pub const ROUTES_MAX: usize = 1024;
/// Longest line that is read, in bytes.
const LINE_BYTES_MAX: u64 = 64 << 10;

/// Requests of one kind: those whose paths differ in numbers and queries only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathRoute {
    /// Its name in histograms.
    pub name: String,
    pub method: String,
    /// The path, with `id` for numbers.
    pub path: String,
}

/// What a list has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collected {
    /// The routes, in the order of their first line.
    pub routes: Vec<PathRoute>,
    /// Lines that were written.
    pub lines: u64,
    /// SHA-256 of the list, in hexadecimal digits.
    pub sha256: String,
    /// `http://host:port` of the first whole URL.
    pub base: Option<String>,
    pub left_out: LeftOut,
}

/// Lines that are not sent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Their methods may have a body, which no list has.
    pub other_methods: u64,
    /// They are of another host than the first URL.
    pub other_hosts: u64,
    /// No request was found in them.
    pub without_request: u64,
    /// Number of the first of these.
    pub first_without_request: Option<u64>,
}

/// Reads a list, and writes a line `ROUTE PATH` for each GET and HEAD. With `any_host` the hosts of URLs do not matter.
///
/// # Errors
/// When the list cannot be read, or its paths cannot be written.
pub fn collect(
    mut list: impl BufRead,
    out: &mut impl Write,
    any_host: bool,
) -> io::Result<Collected> {
    let mut digest = Context::new(&SHA256);
    let mut routes = Routes::default();
    let (mut lines, mut number, mut base) = (0, 0, None::<String>);
    let (mut left_out, mut fields) = (LeftOut::default(), None);
    let mut line = Vec::new();
    while next_line(&mut list, &mut line, &mut digest)? {
        number += 1;
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_start_matches('\u{feff}').trim();
        if text.is_empty() || text.starts_with('#') {
            fields = Fields::of(text).or(fields);
            continue;
        }
        let asked = match fields {
            Some(fields) => fields.asked(text),
            None => asked(text),
        };
        let Some(asked) = asked else {
            left_out.without_request += 1;
            left_out.first_without_request.get_or_insert(number);
            continue;
        };
        if !matches!(&*asked.method, "GET" | "HEAD") {
            left_out.other_methods += 1;
            continue;
        }
        if let Some(of_line) = asked.base {
            let first = base.get_or_insert_with(|| of_line.clone());
            if !any_host && *first != of_line {
                left_out.other_hosts += 1;
                continue;
            }
        }
        let number = routes.number(&asked.method, &asked.path);
        writeln!(out, "{number} {}", asked.path)?;
        lines += 1;
    }
    out.flush()?;
    Ok(Collected {
        routes: routes.all,
        lines,
        sha256: hexadecimal(digest.finish().as_ref()),
        base,
        left_out,
    })
}

/// Reads the next line, of which only the beginning is kept if it is too long; `false` at the end.
fn next_line(
    list: &mut impl BufRead,
    line: &mut Vec<u8>,
    digest: &mut Context,
) -> io::Result<bool> {
    line.clear();
    let mut more = Vec::new();
    loop {
        more.clear();
        let read = list
            .by_ref()
            .take(LINE_BYTES_MAX)
            .read_until(b'\n', &mut more)?;
        if read == 0 {
            return Ok(!line.is_empty());
        }
        digest.update(&more);
        let ended = more.last() == Some(&b'\n');
        match line.is_empty() {
            true => std::mem::swap(line, &mut more),
            // It cannot be sent: no request is found in this.
            false => b"too long".as_slice().clone_into(line),
        }
        if ended {
            return Ok(true);
        }
    }
}

/// The routes so far.
#[derive(Default)]
struct Routes {
    all: Vec<PathRoute>,
    numbers: HashMap<(String, String), usize>,
    names: RequestNames,
}

impl Routes {
    /// The number of a request's route.
    fn number(&mut self, method: &str, path: &str) -> usize {
        let path = match self.numbers.len() < ROUTES_MAX {
            true => route(path),
            false => {
                let known = (method.to_owned(), route(path));
                if let Some(number) = self.numbers.get(&known) {
                    return *number;
                }
                // One more for each of the two methods.
                String::from("/other-routes")
            }
        };
        let key = (method.to_owned(), path);
        if let Some(number) = self.numbers.get(&key) {
            return *number;
        }
        let number = self.all.len();
        self.all.push(PathRoute {
            name: self.names.of(method, &key.1),
            method: method.to_owned(),
            path: key.1.clone(),
        });
        self.numbers.insert(key, number);
        number
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn collected(list: &str, any_host: bool) -> (Collected, String) {
        let mut out = Vec::new();
        let found = collect(list.as_bytes(), &mut out, any_host).unwrap();
        (found, String::from_utf8(out).unwrap())
    }

    #[test]
    fn what_is_sent_is_written_and_what_is_not_is_counted() {
        let list = "\u{feff}# Software: x\r\nGET /a/1\r\nHEAD /a/2\n\nPOST /a\nGET /a/3?q\nnothing here\nGET http://h:1/b\nGET http://other/b\n";
        let (found, out) = collected(list, false);
        assert_eq!(out, "0 /a/1\n1 /a/2\n0 /a/3?q\n2 /b\n");
        let names: Vec<&str> = found.routes.iter().map(|one| &*one.name).collect();
        assert_eq!(names, ["GET-a-id", "HEAD-a-id", "GET-b"]);
        assert_eq!(
            (found.lines, found.base.as_deref()),
            (4, Some("http://h:1"))
        );
        let left_out = LeftOut {
            other_methods: 1,
            other_hosts: 1,
            without_request: 1,
            first_without_request: Some(7),
        };
        assert_eq!(found.left_out, left_out);
        assert_eq!(collected(list, true).0.lines, 5);
        // `printf abc | sha256sum`.
        assert!(
            collected("abc", false)
                .0
                .sha256
                .starts_with("ba7816bf8f01cfea")
        );
    }

    proptest! {
        #[test]
        fn every_line_is_sent_or_counted_and_routes_are_bounded(
            lines in prop::collection::vec("(GET|HEAD|POST|) ?(http://h:1|http://i|)(/[a-z0-9.\"\\\\%é ]{0,6}){0,3}", 0..200),
        ) {
            let list = lines.join("\n");
            let (found, out) = collected(&list, false);
            let LeftOut { other_methods, other_hosts, without_request, .. } = found.left_out;
            let asked = lines.iter().filter(|line| !line.trim().is_empty()).count() as u64;
            prop_assert_eq!(found.lines + other_methods + other_hosts + without_request, asked);
            prop_assert_eq!(out.lines().count() as u64, found.lines);
            prop_assert!(found.routes.len() <= ROUTES_MAX + 2);
            // What is written is what the generator takes.
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(file.path(), &out).unwrap();
            let list = tare_record::load::PathList {
                name: "list".into(),
                sha256: found.sha256,
                file: file.path().to_owned(),
                lines: found.lines,
            };
            let index = crate::paths::PathIndex::open(&list, found.routes.len());
            prop_assert_eq!(index.is_ok(), found.lines > 0, "{:?}", index);
        }
    }

    #[test]
    fn routes_beyond_the_limit_are_counted_together() {
        use std::fmt::Write as _;
        let mut list = String::new();
        for number in 0..ROUTES_MAX + 10 {
            // Letters, since digits are no part of a route.
            let word: String = number
                .to_string()
                .bytes()
                .map(|b| char::from(b + 49))
                .collect();
            writeln!(list, "/{word}").unwrap();
        }
        list.push_str("/b\n");
        let (found, out) = collected(&list, false);
        assert_eq!(found.routes.len(), ROUTES_MAX + 1);
        assert_eq!(found.routes[ROUTES_MAX].name, "GET-other-routes");
        let last: Vec<&str> = out.lines().rev().take(2).collect();
        assert_eq!(last[0], "1 /b", "a known one stays itself");
        assert!(last[1].starts_with("1024 /"), "{}", last[1]);
    }

    #[test]
    fn a_line_without_end_is_no_request_and_takes_no_memory() {
        let long = [b"/".repeat(3 << 20), b"\n/a\n".to_vec()].concat();
        let mut out = Vec::new();
        let found = collect(&long[..], &mut out, false).unwrap();
        assert_eq!(out, b"0 /a\n");
        assert_eq!(found.left_out.first_without_request, Some(1));
        assert_eq!(collected("/a", false).1, "0 /a\n");
        assert_eq!(collected("", false).0.lines, 0);
    }
}
