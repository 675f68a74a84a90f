//! The requests of the arguments.

use std::path::Path;

use anyhow::{Context, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tare_experiment::script;
use tare_record::files::{USER_FILE_BYTES_MAX, read_user_file, read_user_text};
use tare_record::load::{
    Body, Expect, ExpectBody, ExpectStatus, Mix, RequestSpec, STATUS_MAX, TemplateMode,
};

use super::super::args::{Args, RequestArgs};
use super::super::target::LoadUrl;
use super::{paths, targets};
use crate::exit::bad_input;

/// Requests, before the URL is resolved.
#[derive(Debug, Clone, PartialEq)]
pub struct Content {
    /// The URL from the command line or a file.
    pub url: String,
    /// The requests.
    pub requests: Vec<RequestSpec>,
    /// Their order and data, or a session.
    pub mix: Mix,
}

impl Content {
    /// Reads the arguments and the files that they name.
    pub fn read(args: &Args) -> anyhow::Result<Self> {
        let request = &args.request;
        let script = if let Some(path) = &request.session {
            script::read_session(path)?
        } else if let Some(path) = &request.requests {
            script::read_requests(path)?
        } else if let Some(path) = &request.targets {
            targets::read(path, request)?
        } else if let Some(path) = &request.paths {
            paths::read(path, args)?
        } else {
            let url = args.url.clone().context(NO_URL)?;
            let path = LoadUrl::split(&url)?.1;
            let mix = Mix::default();
            let requests = vec![one(request, path)?];
            return Ok(Self { url, requests, mix });
        };
        let takes_arguments = request.targets.is_some() || request.paths.is_some();
        let url = args.url.clone().or(script.url).context(NO_URL)?;
        if LoadUrl::split(&url)?.1 != "/" {
            bail!("{url}: the paths are said by the file, so the URL ends with the port");
        }
        if !request.headers.is_empty() && !takes_arguments {
            bail!("headers belong into the file of requests: leave out --header");
        }
        if request.expect_status.is_some() && !takes_arguments {
            bail!("the expected status belongs into the file: leave out --expect-status");
        }
        Ok(Self {
            url,
            requests: script.requests,
            mix: script.mix,
        })
    }
}

/// Error without a URL.
const NO_URL: &str = "no target: give a URL, as in tare load http://host:port, or url: in the file";

fn one(args: &RequestArgs, path: String) -> anyhow::Result<RequestSpec> {
    let headers = headers(args)?;
    let body = match (&args.body, &args.body_file, args.body_size) {
        (Some(text), _, _) => match text.strip_prefix('@') {
            None => Body::Text { text: text.clone() },
            Some(file) => body_of(file_of(Path::new(file))?),
        },
        (None, Some(path), _) => body_of(file_of(path)?),
        (None, None, Some(size)) => Body::Filler { bytes: size.0 },
        (None, None, None) => Body::None,
    };
    let default_method = if body == Body::None { "GET" } else { "POST" };
    Ok(RequestSpec {
        name: "request".into(),
        weight: 1.0,
        method: args.method.clone().unwrap_or_else(|| default_method.into()),
        path,
        headers,
        body,
        template: template(args),
        expect: Expect {
            status: status(args.expect_status.as_deref())?,
            body: match (&args.expect_body, &args.expect_match, args.expect_length) {
                (Some(text), _, _) => match text.strip_prefix('@') {
                    None => ExpectBody::Text(text.clone()),
                    Some(file) => expected_body(file_of(Path::new(file))?),
                },
                (None, Some(pattern), _) => ExpectBody::Matches {
                    pattern: pattern.clone(),
                    match_limit_bytes: WITHIN_BYTES,
                },
                (None, None, Some(size)) => ExpectBody::Length(size.0),
                (None, None, None) => ExpectBody::Any,
            },
        },
    })
}

/// The bytes of a file that an argument names.
fn file_of(path: &Path) -> anyhow::Result<Vec<u8>> {
    read_user_file(path, USER_FILE_BYTES_MAX).map_err(bad_input)
}

/// A file's bytes as an expected body.
fn expected_body(bytes: Vec<u8>) -> ExpectBody {
    match String::from_utf8(bytes) {
        Ok(text) => ExpectBody::Text(text),
        Err(error) => ExpectBody::Base64(STANDARD.encode(error.as_bytes())),
    }
}

/// Largest file of headers.
const HEADER_FILE_BYTES_MAX: u64 = 64 << 10;

/// Bytes of a body that a regular expression searches.
const WITHIN_BYTES: u32 = 64 << 10;

/// Whether texts have placeholders.
pub(super) fn template(args: &RequestArgs) -> TemplateMode {
    match args.templates {
        true => TemplateMode::Random,
        false => TemplateMode::None,
    }
}

/// The headers of the command line.
pub(super) fn headers(args: &RequestArgs) -> anyhow::Result<Vec<(String, String)>> {
    headers_of(&args.headers)
}

/// Headers as the command line has them: each is a header, or `@FILE` with one in each line.
pub(super) fn headers_of<'a>(
    texts: impl IntoIterator<Item = &'a String>,
) -> anyhow::Result<Vec<(String, String)>> {
    let mut headers = Vec::new();
    for text in texts {
        let Some(path) = text.strip_prefix('@') else {
            headers.push(header(text)?);
            continue;
        };
        let lines = read_user_text(Path::new(path), HEADER_FILE_BYTES_MAX).map_err(bad_input)?;
        for line in lines.lines().filter(|line| !line.trim().is_empty()) {
            // The line may be a credential: it is not repeated.
            let found = header(line).map_err(|_| {
                bad_input(format!(
                    "a line of {path} is not a header: write Name: value"
                ))
            })?;
            headers.push(found);
        }
    }
    Ok(headers)
}

/// A file's bytes as a body.
pub(super) fn body_of(bytes: Vec<u8>) -> Body {
    match String::from_utf8(bytes) {
        Ok(text) => Body::Text { text },
        Err(error) => Body::Base64 {
            base64: STANDARD.encode(error.as_bytes()),
        },
    }
}

pub(super) fn header(text: &str) -> anyhow::Result<(String, String)> {
    let (name, value) = text
        .split_once(':')
        .with_context(|| format!("{text:?} is not a header: write -H 'Name: value'"))?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

pub(super) fn status(text: Option<&str>) -> anyhow::Result<ExpectStatus> {
    match text {
        None => Ok(ExpectStatus::Success),
        Some("any") => Ok(ExpectStatus::Any),
        Some(text) => {
            let number = |part: &str| {
                let number = part.trim().parse().ok();
                number.filter(|status| (200..=STATUS_MAX).contains(status))
            };
            let several: Option<Vec<u16>> = text.split(',').map(number).collect();
            match several.as_deref() {
                Some([one]) => Ok(ExpectStatus::Exactly(*one)),
                Some(several) => Ok(ExpectStatus::Among(several.to_vec())),
                None => bail!(
                    "{text:?} is not a status: write numbers from 200 to 999 as in 200,304, or any"
                ),
            }
        }
    }
}
