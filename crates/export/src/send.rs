//! Sends metrics to a collector of OpenTelemetry: OTLP over HTTP, with a few attempts.

use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use serde::Deserialize;
use tare_lab::environment::HttpResponse;
use tare_record::escape::escape_line;

use crate::error::ExportError;
use crate::http::{self, Url};

/// Path of metrics (OTLP 1.5, OTLP/HTTP request).
const PATH: &str = "/v1/metrics";
/// Waits between attempts.
const WAITS: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(2)];
/// Answers after which a request may be repeated (OTLP 1.5, retryable response codes).
const RETRYABLE: [u16; 4] = [429, 502, 503, 504];
/// Longest part of an answer that is said.
const SAID_CHARS_MAX: usize = 200;

/// A collector.
#[derive(Debug)]
pub struct Collector {
    url: Url,
    cacert: Option<PathBuf>,
    headers: Vec<(String, String)>,
}

/// An answer, as far as it says what was not taken.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Accepted {
    partial_success: Option<PartialSuccess>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct PartialSuccess {
    /// A number; as a text in the JSON of Protocol Buffers.
    rejected_data_points: serde_json::Value,
    error_message: String,
}

impl Collector {
    /// A collector by its URL; `headers` as in `OTEL_EXPORTER_OTLP_HEADERS`.
    ///
    /// # Errors
    /// When the URL or the headers are wrong; values of headers are not repeated.
    pub fn new(
        endpoint: &str,
        cacert: Option<PathBuf>,
        headers: Option<&str>,
    ) -> Result<Collector, ExportError> {
        let url = Url::parse(endpoint)
            .map_err(|error| ExportError::Input(format!("the endpoint is no URL: {error}")))?;
        Ok(Collector {
            url: url.ending_with(PATH),
            cacert,
            headers: parse_headers(headers.unwrap_or_default())?,
        })
    }

    /// Sends a document.
    ///
    /// # Errors
    /// When it was not taken, after all attempts.
    pub fn send(&self, document: &str) -> Result<(), ExportError> {
        let mut attempts = 0;
        loop {
            let (error, may_repeat) = match self.attempt(document) {
                Ok(()) => return Ok(()),
                Err(failed) => failed,
            };
            attempts += 1;
            match WAITS.get(attempts - 1).filter(|_| may_repeat) {
                Some(wait) => thread::sleep(*wait),
                None => {
                    let times = if attempts == 1 { "attempt" } else { "attempts" };
                    let url = &self.url;
                    return Err(ExportError::Endpoint(format!(
                        "{url}: {error} ({attempts} {times})"
                    )));
                }
            }
        }
    }

    /// One attempt; an error with whether another one may help.
    fn attempt(&self, document: &str) -> Result<(), (String, bool)> {
        let trust = http::trust(self.cacert.as_ref());
        let answer = http::post(&self.url, &trust, &self.headers, document);
        let answer = answer.map_err(|error| (error, true))?;
        if !(200..300).contains(&answer.status) {
            let may_repeat = RETRYABLE.contains(&answer.status);
            let said = said(&answer);
            return Err((format!("status {}{said}", answer.status), may_repeat));
        }
        match rejected(&answer.text) {
            Some(rejected) => Err((rejected, false)),
            None => Ok(()),
        }
    }
}

fn said(answer: &HttpResponse) -> String {
    let text: String = answer.text.trim().chars().take(SAID_CHARS_MAX).collect();
    match text.is_empty() {
        true => text,
        false => format!(": {}", escape_line(&text)),
    }
}

/// What was not taken, if so.
fn rejected(body: &str) -> Option<String> {
    let accepted: Accepted = serde_json::from_str(body).ok()?;
    let partial = accepted.partial_success?;
    let count = match &partial.rejected_data_points {
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let message = escape_line(&partial.error_message);
    (!matches!(count.as_str(), "0" | "null"))
        .then(|| format!("{count} points were rejected: {message}"))
}

/// `name=value,…`; values are percent-encoded.
fn parse_headers(text: &str) -> Result<Vec<(String, String)>, ExportError> {
    let pairs = text.split(',').filter(|pair| !pair.trim().is_empty());
    let pair = |pair: &str| {
        let (name, value) = pair.split_once('=')?;
        let (name, value) = (name.trim(), decoded(value.trim())?);
        let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let is_sound =
            !name.is_empty() && name.chars().all(is_name) && !value.chars().any(|c| c.is_control());
        is_sound.then(|| (name.to_owned(), value))
    };
    let all: Option<Vec<(String, String)>> = pairs.map(pair).collect();
    all.ok_or_else(|| {
        ExportError::Input(
            "OTEL_EXPORTER_OTLP_HEADERS is not of the form name=value,name=value".to_owned(),
        )
    })
}

fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        match first {
            b'%' => {
                let code = std::str::from_utf8(rest.get(..2)?).ok()?;
                bytes.push(u8::from_str_radix(code, 16).ok()?);
                rest = &rest[2..];
            }
            other => bytes.push(*other),
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_decoded_and_cannot_begin_another_line() {
        let found = parse_headers("authorization=Basic%20YWI=, x-scope=a,").unwrap();
        let expected = [("authorization", "Basic YWI="), ("x-scope", "a")];
        assert_eq!(
            found,
            expected.map(|(name, value)| (name.to_owned(), value.to_owned()))
        );
        for wrong in ["a", "=secret", "a=secret%0d%0ab: c", "a b=secret", "a=%4"] {
            let said = parse_headers(wrong).unwrap_err().to_string();
            assert!(!said.contains("secret"), "{said}");
        }
    }

    #[test]
    fn what_a_collector_rejects_is_said() {
        assert_eq!(rejected("{\"partialSuccess\":{}}"), None);
        assert_eq!(rejected("{}"), None);
        assert_eq!(rejected(""), None);
        let some =
            "{\"partialSuccess\":{\"rejectedDataPoints\":\"3\",\"errorMessage\":\"too old\"}}";
        assert_eq!(rejected(some).unwrap(), "3 points were rejected: too old");
    }
}
