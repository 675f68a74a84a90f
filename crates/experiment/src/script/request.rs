//! Resolves requests of requests files and session scripts.

use std::collections::BTreeMap;
use std::path::Path;

use tare_record::files;
use tare_record::load::session::SESSION_NAME;
use tare_record::load::template::{Delimiter, Encoding, TemplatePiece, ValueSource, parse};
use tare_record::load::{
    Body, Expect, ExpectBody, ExpectStatus, RequestSpec, STATUS_MAX, TemplateMode,
};

use super::Scope;
use super::def::{Scalar, ScriptExpectDef, ScriptRequestDef, SessionStepDef};
use crate::def::OneOrSeveral;
use crate::problem::hint;
use crate::yaml::Node;

/// Default length of the searched beginning of a body.
const WITHIN_BYTES: u64 = 64 << 10;
/// Greatest length of the searched beginning of a body.
const WITHIN_BYTES_MAX: u64 = 16 << 20;

/// The request of a session step.
pub(super) fn of_step(def: &SessionStepDef, name: &str) -> ScriptRequestDef {
    ScriptRequestDef {
        name: name.to_owned(),
        weight: None,
        method: def.method.clone(),
        path: def.path.clone(),
        headers: def.headers.clone(),
        body: def.body.clone(),
        body_file: def.body_file.clone(),
        form: def.form.clone(),
        json: def.json.clone(),
        expect: def.expect.clone(),
    }
}

/// Resolves a request.
pub(super) fn request(
    scope: &mut Scope<'_>,
    def: &ScriptRequestDef,
    template: TemplateMode,
    node: &Node,
) -> Option<RequestSpec> {
    name(scope, &def.name, node);
    let mut text = |text: &str, path: &[&str]| check_text(scope, text, template, node, path);
    let path = def.path.as_deref().unwrap_or("/");
    text(path, &["path"]);
    let mut headers = Vec::new();
    for (name, value) in ordered(&def.headers, node.get("headers")) {
        text(&value, &["headers", &name]);
        headers.push((name, value));
    }
    let bodies = [
        def.body.is_some(),
        def.body_file.is_some(),
        def.form.is_some(),
        def.json.is_some(),
    ];
    if bodies.iter().filter(|&&written| written).count() > 1 {
        let message = "a request has one body: body, body-file, form or json";
        return scope.reject(node.mark, message);
    }
    let body = body(scope, def, template, node)?;
    let usual = if body == Body::None { "GET" } else { "POST" };
    let request = RequestSpec {
        name: def.name.clone(),
        weight: def.weight.unwrap_or(1.0),
        method: def.method.as_deref().unwrap_or(usual).to_owned(),
        path: path.to_owned(),
        headers,
        body,
        expect: expect(scope, def.expect.as_ref(), node),
        template,
    };
    Some(request)
}

fn name(scope: &mut Scope<'_>, name: &str, node: &Node) {
    let mark = node.mark_at(&["name"]);
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || name.len() > 64 || !name.chars().all(fits) {
        let message =
            format!("\"{name}\" cannot name a series: use letters, digits, - and _, at most 64");
        scope.problem(mark, message);
    } else if name == SESSION_NAME {
        scope.problem(
            mark,
            "\"session\" is the series of whole sessions: name the step otherwise",
        );
    } else if scope.names.iter().any(|known| known == name) {
        scope.problem(
            mark,
            format!("two requests are named \"{name}\": name them apart"),
        );
    }
    scope.names.push(name.to_owned());
}

/// Entries in the order of the file.
pub(super) fn ordered(
    words: &BTreeMap<String, Scalar>,
    node: Option<&Node>,
) -> Vec<(String, String)> {
    let entries = node.map_or(&[][..], Node::entries);
    entries
        .iter()
        .filter_map(|entry| Some((entry.key.clone(), words.get(&entry.key)?.to_string())))
        .collect()
}

fn body(
    scope: &mut Scope<'_>,
    def: &ScriptRequestDef,
    template: TemplateMode,
    node: &Node,
) -> Option<Body> {
    if let Some(text) = &def.body {
        check_text(scope, text, template, node, &["body"]);
        return Some(Body::Text { text: text.clone() });
    }
    if let Some(file) = &def.body_file {
        return match read_body(scope.folder, file) {
            Ok(body) => Some(body),
            Err(message) => scope.reject(node.mark_at(&["body-file"]), message),
        };
    }
    if let Some(form) = &def.form {
        let fields = ordered(form, node.get("form"));
        for (name, value) in &fields {
            check_text(scope, value, template, node, &["form", name]);
        }
        return Some(Body::Form { fields });
    }
    if let Some(json) = &def.json {
        let text = json_text(json);
        check_text(scope, &text, template, node, &["json"]);
        return Some(Body::Json { text });
    }
    Some(Body::None)
}

/// Reads a file as a body.
fn read_body(folder: &Path, file: &str) -> Result<Body, String> {
    let bytes = files::read_inside(folder, file, files::FILE_BYTES_MAX)?;
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Body::Text { text }),
        Err(_) => Err(format!(
            "{file} is not valid UTF-8 text; binary bodies are possible with --body-file only"
        )),
    }
}

/// JSON as it is sent. A string that is nothing but a placeholder marked `raw` is replaced by the value itself, unquoted.
fn json_text(json: &serde_json::Value) -> String {
    let mut text = json.to_string();
    let mut from = 0;
    while let Some(at) = text[from..].find("\"{{").map(|at| at + from) {
        let Some(end) = text[at..].find("}}\"").map(|end| end + at) else {
            break;
        };
        let inside = text[at + 3..end].trim();
        let is_raw = inside.starts_with("raw:") && !inside.contains('"');
        from = end;
        if is_raw {
            text.replace_range(end + 2..end + 3, "");
            text.replace_range(at..at + 1, "");
        }
    }
    text
}

/// Checks the placeholders of a text.
pub(super) fn check_text(
    scope: &mut Scope<'_>,
    text: &str,
    template: TemplateMode,
    node: &Node,
    path: &[&str],
) {
    let braces = match template {
        TemplateMode::None => return,
        TemplateMode::Random => Delimiter::Single,
        TemplateMode::Session => Delimiter::Double,
    };
    let mark = node.mark_at(path);
    let pieces = match parse(text, braces) {
        Ok(pieces) => pieces,
        Err(error) => return scope.problem(mark, error.to_string()),
    };
    for piece in pieces {
        let TemplatePiece::Placeholder(fill) = piece else {
            continue;
        };
        debug_assert!(matches!(
            fill.encoding,
            Encoding::Contextual | Encoding::Raw
        ));
        match fill.with {
            ValueSource::Variable(name) if !scope.known.contains(&name) => {
                let hint = hint(&name, &scope.known);
                let message = format!("no step before captures or sets \"{name}\"{hint}");
                scope.problem(mark, message);
            }
            ValueSource::Column { table, column } => {
                let known = scope.tables.iter().find(|known| known.name == table);
                let message = match known {
                    None => {
                        let tables = scope.tables.iter().map(|table| &table.name);
                        format!("there is no data \"{table}\"{}", hint(&table, tables))
                    }
                    Some(known) if !known.columns.contains(&column) => {
                        let hint = hint(&column, &known.columns);
                        format!("data \"{table}\" has no \"{column}\"{hint}")
                    }
                    Some(_) => continue,
                };
                scope.problem(mark, message);
            }
            _ => {}
        }
    }
}

fn expect(scope: &mut Scope<'_>, def: Option<&ScriptExpectDef>, node: &Node) -> Expect {
    let Some(def) = def else {
        return Expect::default();
    };
    let status = match &def.status {
        None => ExpectStatus::Success,
        Some(OneOrSeveral::One(status)) => ExpectStatus::Exactly(*status),
        Some(OneOrSeveral::Several(several)) => ExpectStatus::Among(several.clone()),
    };
    let listed = def.status.as_ref().map_or(&[200][..], OneOrSeveral::all);
    if listed.is_empty()
        || listed
            .iter()
            .any(|status| !(200..=STATUS_MAX).contains(status))
    {
        let message = "a status is a number from 200 to 999";
        scope.problem(node.mark_at(&["expect", "status"]), message);
    }
    let within = def.match_limit.map_or(WITHIN_BYTES, |size| size.0);
    if within == 0 || within > WITHIN_BYTES_MAX {
        let message = "match_limit must be from 1 to 16MiB";
        scope.problem(node.mark_at(&["expect", "match_limit"]), message);
    }
    let body = match (&def.text, &def.matches, def.length) {
        (None, None, None) => ExpectBody::Any,
        (Some(text), None, None) => ExpectBody::Text(text.clone()),
        (None, Some(pattern), None) => ExpectBody::Matches {
            pattern: pattern.clone(),
            match_limit_bytes: within.min(WITHIN_BYTES_MAX) as u32,
        },
        (None, None, Some(length)) => ExpectBody::Length(length.0),
        _ => {
            let message = "expect text, matches or length, one of them";
            scope.problem(node.mark_at(&["expect"]), message);
            ExpectBody::Any
        }
    };
    Expect { status, body }
}
