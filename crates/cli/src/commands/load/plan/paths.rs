//! A list of paths: an access log, or a file of URLs.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter};
use std::os::fd::IntoRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use anyhow::{Context, bail};
use tare_experiment::script::Script;
use tare_load::paths::{Collected, LeftOut, collect};
use tare_record::load::{Body, Expect, ExpectBody, Mix, PathList, RequestSpec, TemplateMode};

use super::super::args::Args;
use super::request::{headers, status};
use crate::arguments::is_standard_stream;
use crate::screen;
use crate::values::counted;

/// The first bytes of a gzip'd file (RFC 1952 §2.3.1).
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Reads a list, or standard input for `-`, once; what is to be sent is kept in a file without a name.
pub(super) fn read(path: &Path, args: &Args) -> anyhow::Result<Script> {
    let is_input = is_standard_stream(path);
    let name = match is_input {
        true => String::from("standard input"),
        false => path.display().to_string(),
    };
    let mut list: Box<dyn BufRead> = match is_input {
        true => Box::new(io::stdin().lock()),
        false => Box::new(BufReader::new(
            File::open(path).with_context(|| format!("cannot read {name}"))?,
        )),
    };
    let begins = list.fill_buf();
    if begins
        .with_context(|| format!("cannot read {name}"))?
        .starts_with(&GZIP)
    {
        bail!(
            "{name} is compressed: give it to standard input, as in zcat {name} | tare load --paths - URL"
        );
    }
    let file = unnamed_file()
        .context("cannot make a file for the paths in the folder for temporary files (TMPDIR)")?;
    let mut out = BufWriter::new(&file);
    let found = collect(list, &mut out, args.url.is_some());
    let found =
        found.with_context(|| format!("cannot read {name}, or write its paths (TMPDIR)"))?;
    drop(out);
    if found.lines == 0 {
        bail!(
            "{name} has no GET or HEAD request{}: each line is a path, a URL, or one of an access log",
            text(&found.left_out).map_or(String::new(), |left_out| format!(" ({left_out})"))
        );
    }
    if let Some(left_out) = text(&found.left_out).filter(|_| !args.output.quiet) {
        screen::say(format_args!("note: {name}: {left_out}"));
    }
    // Open as long as this process: a search or a curve reads it again.
    let descriptor = file.into_raw_fd();
    let list = PathList {
        name,
        sha256: found.sha256.clone(),
        file: format!("/proc/self/fd/{descriptor}").into(),
        lines: found.lines,
    };
    script(found, list, args)
}

fn script(found: Collected, list: PathList, args: &Args) -> anyhow::Result<Script> {
    let headers = headers(&args.request)?;
    let status = status(args.request.expect_status.as_deref())?;
    let requests = found.routes.into_iter().map(|route| RequestSpec {
        name: route.name,
        weight: 1.0,
        method: route.method,
        path: route.path,
        headers: headers.clone(),
        body: Body::None,
        expect: Expect {
            status: status.clone(),
            body: ExpectBody::Any,
        },
        template: TemplateMode::None,
    });
    Ok(Script {
        url: found.base,
        requests: requests.collect(),
        mix: Mix {
            paths: Some(list),
            ..Mix::default()
        },
    })
}

/// What of a list is not sent; `None` if all of it is.
fn text(left_out: &LeftOut) -> Option<String> {
    let lines = |count: u64| counted(count, "line");
    let mut parts = Vec::new();
    if left_out.other_methods > 0 {
        let lines = lines(left_out.other_methods);
        parts.push(format!(
            "{lines} of other methods, whose bodies no list has"
        ));
    }
    if left_out.other_hosts > 0 {
        let lines = lines(left_out.other_hosts);
        parts.push(format!(
            "{lines} of other hosts (with a URL on the command line all are sent to it)"
        ));
    }
    if let Some(first) = left_out.first_without_request {
        let lines = lines(left_out.without_request);
        parts.push(format!(
            "{lines} without a request, the first is line {first}"
        ));
    }
    (!parts.is_empty()).then(|| format!("left out: {}", parts.join("; ")))
}

/// A file in the folder for temporary files that has no name any more: it goes with this process.
fn unnamed_file() -> io::Result<File> {
    let since = std::time::UNIX_EPOCH.elapsed().unwrap_or_default();
    let name = format!("tare-paths-{}-{}", std::process::id(), since.as_nanos());
    let path = std::env::temp_dir().join(name);
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path)?;
    fs::remove_file(&path)?;
    Ok(file)
}
