//! Targets in vegeta's format: `METHOD URL`, header lines, `@file` for the body, an empty line; or a JSON object on each line.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::Path;

use anyhow::{Context, bail};
use serde::Deserialize;
use tare_experiment::script::Script;
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
    #[serde(default)]
    header: std::collections::BTreeMap<String, Vec<String>>,
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
    names: BTreeSet<String>,
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
        (text, Path::new("."))
    } else {
        let text = read_user_text(path, BYTES_MAX).map_err(anyhow::Error::msg)?;
        (text, path.parent().unwrap_or(Path::new(".")))
    };
    if text.len() as u64 > BYTES_MAX {
        bail!("the targets have more than {BYTES_MAX} bytes: take a part of them");
    }
    let shared = Shared {
        headers: headers(args)?,
        status: status(args.expect_status.as_deref())?,
        template: template(args),
    };
    parse(&text, folder, &shared)
}

fn parse(text: &str, folder: &Path, shared: &Shared) -> anyhow::Result<Script> {
    let mut found = ParsedTargets::default();
    if text.trim_start().starts_with('{') {
        json_lines(text, shared, &mut found)?;
    } else {
        plain(text, folder, shared, &mut found)?;
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
            .flat_map(|(name, values)| values.into_iter().map(move |value| (name.clone(), value)));
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
    folder: &Path,
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
                let bytes = read_inside(folder, file.trim(), FILE_BYTES_MAX);
                let bytes = bytes.map_err(anyhow::Error::msg);
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

impl ParsedTargets {
    fn add(
        &mut self,
        method: &str,
        url: &str,
        mut headers: Vec<(String, String)>,
        body: Body,
        shared: &Shared,
    ) -> anyhow::Result<()> {
        let (base, path) = LoadUrl::split(url)?;
        match &self.base {
            None => self.base = Some(base),
            Some(first) if *first == base => {}
            Some(first) => bail!(
                "{base} is another host than {first}: all targets of a load go to one; run one load for each"
            ),
        }
        headers.extend(shared.headers.iter().cloned());
        let name = self.name(method, &path);
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

    /// A name from method and path, made unique by a number.
    fn name(&mut self, method: &str, path: &str) -> String {
        let path = path.split('?').next().unwrap_or_default();
        let text = format!("{method}{path}");
        let words = text
            .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .filter(|word| !word.is_empty());
        let mut stem = words.collect::<Vec<_>>().join("-");
        stem.truncate(50);
        let mut name = stem.clone();
        let mut number = 2;
        while !self.names.insert(name.clone()) {
            name = format!("{stem}-{number}");
            number += 1;
        }
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(text: &str) -> anyhow::Result<Script> {
        script_in(text, Path::new("/nowhere"))
    }

    fn script_in(text: &str, folder: &Path) -> anyhow::Result<Script> {
        let shared = Shared {
            headers: vec![("X-All".into(), "1".into())],
            status: ExpectStatus::Success,
            template: TemplateMode::None,
        };
        parse(text, folder, &shared)
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
    fn a_body_is_a_file_of_the_folder_of_the_targets() {
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
            assert!(said.contains("of its own folder only"), "{said}");
        }
    }
}
