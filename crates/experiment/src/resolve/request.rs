//! Requests of a workload at one level, with settings filled in: `/?size={{ payload }}`.

use serde_json::Value;
use tare_record::load::{Body, Expect, ExpectBody, ExpectStatus, RequestSpec, TemplateMode};
use tare_record::topology::Settings;
use tare_record::units::Size;

use super::Scope;
use super::load::Role;
use crate::def::{LoadKindDef, RequestDef};
use crate::problem::hint;
use crate::script::NO_SESSION;
use crate::yaml::Node;

/// All requests of a load.
pub(super) fn requests(
    scope: &mut Scope<'_>,
    root: &Node,
    role: &Role<'_>,
    kind: &LoadKindDef,
    settings: &Settings,
) -> Vec<RequestSpec> {
    let resolved = kind.requests.iter().filter_map(|def| {
        let wrong =
            |message: String| format!("request \"{}\" of the workload: {message}", def.name);
        let request = request(def, settings).map_err(wrong);
        let mark = root.key_mark_at(&role.path);
        request.map_or_else(|message| scope.reject(mark, message), Some)
    });
    resolved.collect()
}

/// Resolves one request.
///
/// # Errors
/// What is wrong with it, in words.
pub(super) fn request(def: &RequestDef, settings: &Settings) -> Result<RequestSpec, String> {
    let fill = |text: &str| fill(text, settings);
    let size = |text: &str| -> Result<u64, String> {
        fill(text)?
            .parse::<Size>()
            .map(|size| size.0)
            .map_err(|error| error.to_string())
    };
    let template = def.template.unwrap_or_default();
    if template == TemplateMode::Session {
        return Err(NO_SESSION.to_owned());
    }
    let body = def.body.as_ref().map(|body| (&body.text, &body.filler));
    let body = match body {
        None => Body::None,
        Some((Some(text), None)) => Body::Text { text: fill(text)? },
        Some((None, Some(filler))) => Body::Filler {
            bytes: size(filler)?,
        },
        Some(_) => return Err(String::from("a body is text or filler, one of them")),
    };
    let expect = match &def.expect {
        None => Expect::default(),
        Some(expect) => Expect {
            status: expect
                .status
                .map_or(ExpectStatus::Success, ExpectStatus::Exactly),
            body: match (&expect.length, &expect.text) {
                (None, None) => ExpectBody::Any,
                (Some(length), None) => ExpectBody::Length(size(length)?),
                (None, Some(text)) => ExpectBody::Text(fill(text)?),
                (Some(_), Some(_)) => {
                    return Err(String::from("expect a length or a text, one of them"));
                }
            },
        },
    };
    let mut headers = Vec::new();
    for (name, value) in &def.headers {
        headers.push((name.clone(), fill(value)?));
    }
    Ok(RequestSpec {
        name: def.name.0.clone(),
        weight: def.weight.unwrap_or(1.0),
        method: def.method.clone().unwrap_or_else(|| String::from("GET")),
        path: fill(def.path.as_deref().unwrap_or("/"))?,
        headers,
        body,
        expect,
        template,
    })
}

/// Inserts settings into a text.
///
/// # Errors
/// Unclosed braces, and unknown settings.
pub(super) fn fill(text: &str, settings: &Settings) -> Result<String, String> {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find("{{") {
        filled.push_str(&rest[..open]);
        let inside = &rest[open + 2..];
        let Some(close) = inside.find("}}") else {
            return Err(format!(
                "\"{text}\": the braces are not closed: write {{{{ name }}}}"
            ));
        };
        let key = inside[..close].trim();
        match settings.get(key) {
            Some(Value::String(text)) => filled.push_str(text),
            Some(other) => filled.push_str(&other.to_string()),
            None => {
                let known = settings.keys().map(String::as_str);
                return Err(format!("unknown setting \"{key}\"{}", hint(key, known)));
            }
        }
        rest = &inside[close + 2..];
    }
    filled.push_str(rest);
    Ok(filled)
}
