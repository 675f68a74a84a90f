//! Captures values of a response into variables of a session.

use std::sync::Arc;

use tare_record::load::session::OnMissing;

use super::jar::name_and_value;
use super::json::{Pointer, write_value};
use super::program::{CaptureSpec, CompiledRequest, CompiledSource};
use crate::protocols::http1::{CaptureError, ResponseMismatch};
use crate::template::Value;

/// The kept parts of a response.
#[derive(Debug, Clone, Copy)]
pub struct CapturedResponse<'a> {
    /// Lines of the head, as selected by [`crate::protocols::http1::codec::Keep`].
    pub head: &'a [u8],
    /// Format of the lines.
    pub lines: HeadLines,
    /// The body, up to the capture limit.
    pub body: &'a [u8],
    /// Length of the whole body.
    pub body_bytes: u64,
}

/// Format of the lines of a kept head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeadLines {
    /// `name: value`.
    Fields,
    /// Values of `Set-Cookie`.
    Cookies,
}

impl<'a> CapturedResponse<'a> {
    /// The values of a header.
    pub fn header(self, name: &'a str) -> impl Iterator<Item = &'a [u8]> {
        let lines = self
            .head
            .split(|&byte| byte == b'\n')
            .filter(|line| !line.is_empty());
        lines.filter_map(move |line| match self.lines {
            HeadLines::Cookies => name.eq_ignore_ascii_case("set-cookie").then_some(line),
            HeadLines::Fields => {
                let (known, value) = line.split_at(line.iter().position(|&byte| byte == b':')?);
                let value = value.get(2..).unwrap_or_default();
                known.eq_ignore_ascii_case(name.as_bytes()).then_some(value)
            }
        })
    }
}

/// Performs all captures of a step.
///
/// # Errors
/// The first capture that fails.
pub(super) fn take(
    step: &CompiledRequest,
    answer: CapturedResponse<'_>,
    variables: &mut [Value],
) -> Result<(), ResponseMismatch> {
    for capture in &step.captures {
        let value = &mut variables[capture.variable];
        let taken = take_one(capture, step.body_bytes_max, answer, value);
        let why = match taken {
            Ok(true) => continue,
            Ok(false) => {
                value.clear();
                if capture.missing == OnMissing::Unset {
                    continue;
                }
                CaptureError::Missing
            }
            Err(why) => {
                value.clear();
                why
            }
        };
        return Err(ResponseMismatch::Capture {
            name: Arc::clone(&capture.name),
            why,
        });
    }
    Ok(())
}

/// Performs one capture; returns whether the response has the value.
fn take_one(
    capture: &CaptureSpec,
    max_bytes: u32,
    answer: CapturedResponse<'_>,
    value: &mut Value,
) -> Result<bool, CaptureError> {
    let set = |value: &mut Value, bytes: &[u8]| value.begin_text().extend_from_slice(bytes);
    match &capture.from {
        CompiledSource::Header(name) => {
            let found = answer.header(name).next();
            return Ok(found.map(|bytes| set(value, bytes)).is_some());
        }
        CompiledSource::Cookie(name) => {
            let mut pairs = answer.header("set-cookie").filter_map(name_and_value);
            let found = pairs.find(|(known, _)| *known == name.as_bytes());
            return Ok(found.map(|(_, bytes)| set(value, bytes)).is_some());
        }
        CompiledSource::Body
        | CompiledSource::Json(_)
        | CompiledSource::JsonAll { .. }
        | CompiledSource::Regex(_) => {}
    }
    if answer.body_bytes > u64::from(max_bytes) {
        return Err(CaptureError::TooLarge { max_bytes });
    }
    match &capture.from {
        CompiledSource::Json(pointer) => take_json(pointer, answer.body, value),
        CompiledSource::JsonAll { pointer, skip } => take_list(pointer, *skip, answer.body, value),
        CompiledSource::Regex(pattern) => {
            let Some(found) = pattern.captures(answer.body) else {
                return Ok(false);
            };
            let group = found.get(1).or_else(|| found.get(0));
            Ok(group.map(|group| set(value, group.as_bytes())).is_some())
        }
        CompiledSource::Body | CompiledSource::Header(_) | CompiledSource::Cookie(_) => {
            set(value, answer.body);
            Ok(true)
        }
    }
}

/// Captures the first value at the pointer; null counts as missing.
fn take_json(pointer: &Pointer, body: &[u8], value: &mut Value) -> Result<bool, CaptureError> {
    let mut first: Option<&str> = None;
    pointer
        .find(body, &mut |raw| {
            first.get_or_insert(raw);
        })
        .map_err(|error| bad(&error))?;
    match first {
        None | Some("null") => Ok(false),
        Some(raw) => {
            write_value(raw, value.begin_text()).map_err(|error| bad(&error))?;
            Ok(true)
        }
    }
}

fn take_list(
    pointer: &Pointer,
    skip: u32,
    body: &[u8],
    value: &mut Value,
) -> Result<bool, CaptureError> {
    value.begin_list();
    let mut left = skip;
    let mut written = Ok(());
    let read = pointer.find(body, &mut |raw| {
        if left > 0 {
            left -= 1;
        } else if written.is_ok() {
            written = value.item(|out| write_value(raw, out));
        }
    });
    read.and(written).map_err(|error| bad(&error))?;
    // An empty list is a value.
    Ok(true)
}

fn bad(error: &serde_json::Error) -> CaptureError {
    CaptureError::BadJson {
        line: error.line(),
        column: error.column(),
    }
}
