//! Targets in vegeta's format: `METHOD URL`, header lines, `@file` for the body, an empty line; or a JSON object on each line.

use std::io::Read as _;
use std::path::Path;

use anyhow::{Context, anyhow, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use tare_experiment::script::Script;
use tare_load::paths::{RequestNames, percent_encoded};
use tare_record::files::{FILE_BYTES_MAX, read_inside, read_user_text};
use tare_record::load::{
    Body, Expect, ExpectBody, ExpectStatus, Mix, Order, RequestSpec, TemplateMode,
};

use super::super::args::RequestArgs;
use super::super::target::LoadUrl;
use super::request::{body_of, headers, status, template};
use crate::arguments::is_standard_stream;

/// Largest list of targets.
const BYTES_MAX: u64 = 16 << 20;

/// One line of vegeta's JSON.
#[derive(Debug, Deserialize)]
struct Line {
    method: String,
    url: String,
    #[serde(default)]
    body: Option<String>,
    /// Null where Go has none, also the values of one.
    #[serde(default)]
    header: Option<std::collections::BTreeMap<String, Option<Vec<String>>>>,
}

/// Settings of all targets.
struct Shared {
    headers: Vec<(String, String)>,
    status: ExpectStatus,
    template: TemplateMode,
}

/// The targets read so far.
#[derive(Default)]
struct ParsedTargets {
    base: Option<String>,
    names: RequestNames,
    requests: Vec<RequestSpec>,
}

/// Reads a file of targets, or standard input for `-`.
pub(super) fn read(path: &Path, args: &RequestArgs) -> anyhow::Result<Script> {
    let (text, folder) = if is_standard_stream(path) {
        let mut text = String::new();
        let mut input = std::io::stdin().lock().take(BYTES_MAX + 1);
        input
            .read_to_string(&mut text)
            .context("cannot read standard input")?;
        (text, None)
    } else {
        let text = read_user_text(path, BYTES_MAX).map_err(anyhow::Error::msg)?;
        (text, path.parent())
    };
    let folders = BodyFolders {
        current: Path::new("."),
        own: folder.filter(|folder| !folder.as_os_str().is_empty()),
    };
    if text.len() as u64 > BYTES_MAX {
        bail!("the targets have more than {BYTES_MAX} bytes: take a part of them");
    }
    let shared = Shared {
        headers: headers(args)?,
        status: status(args.expect_status.as_deref())?,
        template: template(args),
    };
    parse(&text, folders, &shared)
}

/// Where the body files of targets are.
#[derive(Debug, Clone, Copy)]
struct BodyFolders<'a> {
    /// What vegeta's relative paths are relative to.
    current: &'a Path,
    /// That of the targets.
    own: Option<&'a Path>,
}

impl BodyFolders<'_> {
    /// Reads a body file in the current folder or below, else in that of the targets.
    fn read(self, file: &str) -> anyhow::Result<Vec<u8>> {
        let current = read_inside(self.current, file, FILE_BYTES_MAX);
        let own = |_| self.own.map(|own| read_inside(own, file, FILE_BYTES_MAX));
        match current.as_ref().err().and_then(own) {
            Some(Ok(bytes)) => Ok(bytes),
            _ => current.map_err(|why| {
                anyhow!(
                    "{why}; body files are in the current folder, in that of the targets, or below: start tare in a folder above {file}"
                )
            }),
        }
    }
}

fn parse(text: &str, folders: BodyFolders<'_>, shared: &Shared) -> anyhow::Result<Script> {
    let mut found = ParsedTargets::default();
    if text.trim_start().starts_with('{') {
        json_lines(text, shared, &mut found)?;
    } else {
        plain(text, folders, shared, &mut found)?;
    }
    if found.requests.is_empty() {
        bail!("there are no targets: write GET http://host:port/path, one a line");
    }
    Ok(Script {
        url: found.base,
        requests: found.requests,
        mix: Mix {
            order: Order::RoundRobin,
            ..Mix::default()
        },
    })
}

fn json_lines(text: &str, shared: &Shared, found: &mut ParsedTargets) -> anyhow::Result<()> {
    let lines = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty());
    for (at, line) in lines {
        let number = at + 1;
        let line: Line = serde_json::from_str(line)
            .with_context(|| format!("line {number} of the targets is not vegeta's JSON"))?;
        let headers = line
            .header
            .into_iter()
            .flatten()
            .flat_map(|(name, values)| {
                let values = values.into_iter().flatten();
                values.map(move |value| (name.clone(), value))
            });
        let body = match line.body.filter(|body| !body.is_empty()) {
            Some(base64) => Body::Base64 { base64 },
            None => Body::None,
        };
        found
            .add(&line.method, &line.url, headers.collect(), body, shared)
            .with_context(|| format!("line {number} of the targets"))?;
    }
    Ok(())
}

fn plain(
    text: &str,
    folders: BodyFolders<'_>,
    shared: &Shared,
    found: &mut ParsedTargets,
) -> anyhow::Result<()> {
    let mut lines = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim_start().starts_with('#'))
        .peekable();
    while let Some((at, line)) = lines.next() {
        let number = at + 1;
        if line.trim().is_empty() {
            continue;
        }
        let (method, url) = line
            .trim()
            .split_once(' ')
            .with_context(|| format!("line {number} of the targets: write METHOD URL"))?;
        let mut headers = Vec::new();
        let mut body = Body::None;
        while let Some((at, line)) = lines.next_if(|(_, line)| !begins_another(line)) {
            let number = at + 1;
            if let Some(file) = line.strip_prefix('@') {
                let bytes = folders.read(file.trim());
                body = body_of(bytes.with_context(|| format!("line {number} of the targets"))?);
                continue;
            }
            let (name, value) = line.split_once(':').with_context(|| {
                format!("line {number} of the targets: write Header: value, or @file")
            })?;
            headers.push((name.trim().to_owned(), value.trim().to_owned()));
        }
        found
            .add(method, url.trim(), headers, body, shared)
            .with_context(|| format!("line {number} of the targets"))?;
    }
    Ok(())
}

/// Whether a line ends a target: it is empty or the first line of the next one.
fn begins_another(line: &str) -> bool {
    let method = line.split(' ').next().unwrap_or_default();
    let is_first = line.contains("://") && method.bytes().all(|byte| byte.is_ascii_uppercase());
    line.trim().is_empty() || (is_first && !method.is_empty())
}

/// Headers of a target that Go does not send as they stand: they follow from the body.
const FROM_THE_BODY: [&str; 3] = ["content-length", "transfer-encoding", "trailer"];

/// The header value for `user:password@` of a URL, as Go's client sends it, and the URL without it.
fn take_login(url: &str) -> (Option<String>, String) {
    let start = url.find("://").map_or(0, |at| at + 3);
    let (scheme, rest) = url.split_at(start);
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let Some((login, _)) = rest[..end].rsplit_once('@') else {
        return (None, url.to_owned());
    };
    let (user, password) = login.split_once(':').unwrap_or((login, ""));
    let pair = [&percent_decoded(user)[..], b":", &percent_decoded(password)].concat();
    let value = format!("Basic {}", STANDARD.encode(pair));
    (Some(value), format!("{scheme}{}", &rest[login.len() + 1..]))
}

fn percent_decoded(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, behind)) = rest.split_first() {
        rest = behind;
        let digits = behind.get(..2).filter(|_| byte == b'%');
        let digits = digits.and_then(|two| std::str::from_utf8(two).ok());
        match digits.and_then(|two| u8::from_str_radix(two, 16).ok()) {
            Some(decoded) => {
                out.push(decoded);
                rest = &behind[2..];
            }
            None => out.push(byte),
        }
    }
    out
}

impl ParsedTargets {
    fn add(
        &mut self,
        method: &str,
        url: &str,
        mut headers: Vec<(String, String)>,
        body: Body,
        shared: &Shared,
    ) -> anyhow::Result<()> {
        let (login, url) = take_login(url);
        let (base, path) = LoadUrl::split(&url)?;
        // As Go's client sends it.
        let path = percent_encoded(path.as_bytes());
        headers.retain(|(name, _)| {
            !FROM_THE_BODY
                .iter()
                .any(|one| name.eq_ignore_ascii_case(one))
        });
        let is_login = |(name, _): &(String, String)| name.eq_ignore_ascii_case("authorization");
        if let Some(login) = login.filter(|_| !headers.iter().any(is_login)) {
            headers.push(("Authorization".to_owned(), login));
        }
        match &self.base {
            None => self.base = Some(base),
            Some(first) if *first == base => {}
            Some(first) => bail!(
                "{base} is another host than {first}: all targets of a load go to one; run one load for each"
            ),
        }
        headers.extend(shared.headers.iter().cloned());
        let name = self.names.of(method, &path);
        self.requests.push(RequestSpec {
            name,
            weight: 1.0,
            method: method.to_owned(),
            path,
            headers,
            body,
            expect: Expect {
                status: shared.status.clone(),
                body: ExpectBody::Any,
            },
            template: shared.template,
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(text: &str) -> anyhow::Result<Script> {
        script_in(text, Path::new("/nowhere"))
    }

    fn script_in(text: &str, own: &Path) -> anyhow::Result<Script> {
        let current = Path::new("/nowhere");
        script_of(
            text,
            BodyFolders {
                current,
                own: Some(own),
            },
        )
    }

    fn script_of(text: &str, folders: BodyFolders<'_>) -> anyhow::Result<Script> {
        let shared = Shared {
            headers: vec![("X-All".into(), "1".into())],
            status: ExpectStatus::Success,
            template: TemplateMode::None,
        };
        parse(text, folders, &shared)
    }

    #[test]
    fn vegetas_text_gives_method_path_headers_and_names() {
        let text = "# a comment\nGET http://h:1/a?x=1\nAccept: text/html\n\nPOST http://h:1/b/c\nGET http://h:1/a\n";
        let script = script(text).unwrap();
        assert_eq!(script.url.as_deref(), Some("http://h:1"));
        let names: Vec<_> = script.requests.iter().map(|r| r.name.as_str()).collect();
        assert_eq!(names, ["GET-a", "POST-b-c", "GET-a-2"]);
        assert_eq!(script.requests[0].path, "/a?x=1");
        let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let expected = [header("Accept", "text/html"), header("X-All", "1")];
        assert_eq!(script.requests[0].headers, expected);
        assert_eq!(script.mix.order, Order::RoundRobin);
    }

    #[test]
    fn vegetas_json_lines_give_bodies_in_base64() {
        let text =
            r#"{"method":"PUT","url":"http://h:1/x","body":"aGk=","header":{"A":["1","2"]}}"#;
        let script = script(text).unwrap();
        let request = &script.requests[0];
        assert_eq!(
            request.body,
            Body::Base64 {
                base64: "aGk=".into()
            }
        );
        assert_eq!(request.headers.len(), 3);
    }

    #[test]
    fn another_host_is_refused_by_name_and_mistakes_by_line() {
        let said = |text: &str| format!("{:#}", script(text).unwrap_err());
        let two = said("GET http://h:1/\nGET http://other:1/");
        assert!(two.contains("line 2") && two.contains("other:1"), "{two}");
        assert!(said("GET http://h:1/\nno header").contains("line 2"));
        assert!(said("nonsense").contains("METHOD URL"));
        assert!(said("{\"method\":1}").contains("line 1"));
        assert!(said("  ").contains("no targets"));
        assert!(said("GET http://h:1/\n@missing").contains("missing"));
    }

    #[test]
    fn what_go_ignores_or_encodes_in_a_target_is_no_error() {
        let text =
            "POST http://me:p%40ss@h:1/a b/ü?q=ü\nContent-Length: 3\ntransfer-encoding: chunked\n";
        let one = script(text).unwrap();
        assert_eq!(one.url.as_deref(), Some("http://h:1"));
        assert_eq!(one.requests[0].path, "/a%20b/%C3%BC?q=%C3%BC");
        let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let login = header("Authorization", "Basic bWU6cEBzcw==");
        assert_eq!(one.requests[0].headers, [login, header("X-All", "1")]);
        let own = "GET http://me@h:1/\nauthorization: Bearer x\n";
        let own = script(own).unwrap();
        assert_eq!(
            own.requests[0].headers[0],
            header("authorization", "Bearer x")
        );
        assert_eq!(own.requests[0].headers.len(), 2);
        for line in [
            r#"{"method":"GET","url":"http://h:1/x","body":null,"header":null}"#,
            r#"{"method":"GET","url":"http://h:1/x","header":{"A":null}}"#,
        ] {
            let headers = &script(line).unwrap().requests[0].headers;
            assert_eq!(headers, &[header("X-All", "1")], "{line}");
        }
        let cut = format!("{:#}", script("GET http://user:pa/ss@h:1/").unwrap_err());
        assert!(cut.contains("%2F") && !cut.contains("user:pa"), "{cut}");
    }

    #[test]
    fn a_body_is_a_file_of_the_current_folder_or_of_that_of_the_targets() {
        let place = tempfile::tempdir().unwrap();
        let (current, own) = (place.path().join("current"), place.path().join("own"));
        for folder in [current.join("vegeta"), own.clone()] {
            std::fs::create_dir_all(&folder).unwrap();
        }
        std::fs::write(current.join("vegeta/a.json"), "of the current one").unwrap();
        std::fs::write(current.join("b.json"), "of the current one").unwrap();
        std::fs::write(own.join("b.json"), "of the other").unwrap();
        std::fs::write(own.join("c.json"), "of the other").unwrap();
        let folders = BodyFolders {
            current: &current,
            own: Some(&own),
        };
        let absolute = current.join("b.json").display().to_string();
        for (file, expected) in [
            ("./vegeta/a.json", "of the current one"),
            ("b.json", "of the current one"),
            ("c.json", "of the other"),
            (&absolute, "of the current one"),
        ] {
            let read = script_of(&format!("POST http://h:1/\n@{file}\n"), folders).unwrap();
            let text = expected.to_owned();
            assert_eq!(read.requests[0].body, Body::Text { text }, "{file}");
        }
    }

    #[test]
    fn a_body_is_no_file_of_any_other_folder() {
        let place = tempfile::tempdir().unwrap();
        let own = place.path().join("own");
        std::fs::create_dir(&own).unwrap();
        std::fs::write(own.join("own"), "x").unwrap();
        std::fs::write(place.path().join("secret"), "secret").unwrap();
        let with = |file: &str| script_in(&format!("POST http://h:1/\n@{file}\n"), &own);
        let text = String::from("x");
        assert_eq!(with("own").unwrap().requests[0].body, Body::Text { text });
        for foreign in ["../secret", "/etc/passwd", "/dev/zero"] {
            let said = format!("{:#}", with(foreign).unwrap_err());
            assert!(said.starts_with("line 2 of the targets"), "{said}");
            assert!(said.contains("start tare in a folder above"), "{said}");
        }
    }
}
