//! Takes out of an answer what a session needs later.

use std::sync::Arc;

use tare_schema::load::session::Missing;

use super::jar::name_and_value;
use super::json::{Pointer, write_value};
use super::program::{Captured, Compiled, From};
use crate::http1::{Wrong, WrongCapture};
use crate::template::Value;

/// An answer as far as it was kept.
#[derive(Debug, Clone, Copy)]
pub struct Answer<'a> {
    /// Lines of the head, as [`crate::http1::codec::Keep`] says.
    pub head: &'a [u8],
    /// Whether the lines have names, or are the values of `Set-Cookie`.
    pub lines: Lines,
    /// The body, up to the limit.
    pub body: &'a [u8],
    /// Bytes that the body had.
    pub body_bytes: u64,
}

/// What the lines of a kept head are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lines {
    /// `name: value`.
    Fields,
    /// Values of `Set-Cookie`.
    Cookies,
}

impl<'a> Answer<'a> {
    /// The values of a header.
    pub fn header(self, name: &'a str) -> impl Iterator<Item = &'a [u8]> {
        let lines = self
            .head
            .split(|&byte| byte == b'\n')
            .filter(|line| !line.is_empty());
        lines.filter_map(move |line| match self.lines {
            Lines::Cookies => name.eq_ignore_ascii_case("set-cookie").then_some(line),
            Lines::Fields => {
                let (known, value) = line.split_at(line.iter().position(|&byte| byte == b':')?);
                let value = value.get(2..).unwrap_or_default();
                known.eq_ignore_ascii_case(name.as_bytes()).then_some(value)
            }
        })
    }
}

/// Takes all captures of a step.
///
/// # Errors
/// The first that must be there and is not.
pub(super) fn take(
    step: &Compiled,
    answer: Answer<'_>,
    variables: &mut [Value],
) -> Result<(), Wrong> {
    for capture in &step.captures {
        let value = &mut variables[capture.variable];
        let taken = take_one(capture, step.body_bytes_max, answer, value);
        let why = match taken {
            Ok(true) => continue,
            Ok(false) => {
                value.clear();
                if capture.missing == Missing::Unset {
                    continue;
                }
                WrongCapture::Missing
            }
            Err(why) => {
                value.clear();
                why
            }
        };
        return Err(Wrong::Capture {
            name: Arc::clone(&capture.name),
            why,
        });
    }
    Ok(())
}

/// Whether there was anything to take.
fn take_one(
    capture: &Captured,
    max_bytes: u32,
    answer: Answer<'_>,
    value: &mut Value,
) -> Result<bool, WrongCapture> {
    let set = |value: &mut Value, bytes: &[u8]| value.begin_text().extend_from_slice(bytes);
    match &capture.from {
        From::Header(name) => {
            let found = answer.header(name).next();
            return Ok(found.map(|bytes| set(value, bytes)).is_some());
        }
        From::Cookie(name) => {
            let mut pairs = answer.header("set-cookie").filter_map(name_and_value);
            let found = pairs.find(|(known, _)| *known == name.as_bytes());
            return Ok(found.map(|(_, bytes)| set(value, bytes)).is_some());
        }
        From::Body | From::Json(_) | From::JsonAll { .. } | From::Regex(_) => {}
    }
    if answer.body_bytes > u64::from(max_bytes) {
        return Err(WrongCapture::TooLarge { max_bytes });
    }
    match &capture.from {
        From::Json(pointer) => take_json(pointer, answer.body, value),
        From::JsonAll { pointer, skip } => take_list(pointer, *skip, answer.body, value),
        From::Regex(pattern) => {
            let Some(found) = pattern.captures(answer.body) else {
                return Ok(false);
            };
            let group = found.get(1).or_else(|| found.get(0));
            Ok(group.map(|group| set(value, group.as_bytes())).is_some())
        }
        From::Body | From::Header(_) | From::Cookie(_) => {
            set(value, answer.body);
            Ok(true)
        }
    }
}

/// The first value at the pointer; null is no value.
fn take_json(pointer: &Pointer, body: &[u8], value: &mut Value) -> Result<bool, WrongCapture> {
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
) -> Result<bool, WrongCapture> {
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
    // A list without items is an answer too.
    Ok(true)
}

fn bad(error: &serde_json::Error) -> WrongCapture {
    WrongCapture::BadJson {
        line: error.line(),
        column: error.column(),
    }
}
