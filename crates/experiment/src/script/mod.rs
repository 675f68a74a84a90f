//! Requests files and session scripts (`tare load --requests` and `--session`): definitions and their resolution.

mod data;
mod def;
mod request;
mod steps;
#[cfg(test)]
mod tests;

use std::path::Path;

pub use data::rows;
pub use def::{
    DataDef, RequestsDef, ScriptExpectDef, ScriptRequestDef, SessionDef, SessionStepDef,
};
use tare_record::files;
use tare_record::load::session::Cookies;
use tare_record::load::{Mix, Order, RequestSpec, SessionSpec, TemplateMode};

use crate::document;
use crate::problem::Problems;
use crate::yaml::{FILE_BYTES_MAX, Mark, Node};

/// Why plain requests are no part of a session.
pub(crate) const NO_SESSION: &str =
    "only the requests of a session are templates of a session: write random";

/// A resolved requests file or session script.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    /// URL of the server, if given.
    pub url: Option<String>,
    /// Plain requests; empty for a session.
    pub requests: Vec<RequestSpec>,
    /// Order, data tables, and the session.
    pub mix: Mix,
}

/// State while a file is resolved.
struct Scope<'a> {
    file: &'a str,
    /// Folder of data files and bodies.
    folder: &'a Path,
    problems: Problems,
    tables: Vec<tare_record::load::DataTable>,
    /// Variables that a previous step may have set.
    known: Vec<String>,
    /// Names of requests so far.
    names: Vec<String>,
}

impl<'a> Scope<'a> {
    fn new(file: &'a str, folder: &'a Path) -> Self {
        Self {
            file,
            folder,
            problems: Problems::default(),
            tables: Vec::new(),
            known: Vec::new(),
            names: Vec::new(),
        }
    }

    fn problem(&mut self, mark: Mark, text: impl Into<String>) {
        self.problems.add(self.file, mark, text);
    }

    /// Reports a problem that leaves nothing.
    fn reject<T>(&mut self, mark: Mark, text: impl Into<String>) -> Option<T> {
        self.problem(mark, text);
        None
    }
}

/// Reads a file of plain requests. Data files are beside it.
///
/// # Errors
/// All problems, each with its position.
pub fn read_requests(path: &Path) -> Result<Script, Problems> {
    let text = document::read_text(path)?;
    let file = path.display().to_string();
    requests_of(&file, path.parent().unwrap_or(Path::new(".")), &text)
}

/// Resolves the text of a requests file; `folder` is that of its data files.
///
/// # Errors
/// All problems, each with its position.
pub fn requests_of(file: &str, folder: &Path, text: &str) -> Result<Script, Problems> {
    let (def, node): (RequestsDef, Node) = document::read(file, text)?;
    let mut scope = Scope::new(file, folder);
    data::read(&mut scope, &def.data, &node);
    let template = def.template.unwrap_or_default();
    if template == TemplateMode::Session {
        scope.problem(node.mark_at(&["template"]), NO_SESSION);
    }
    let mut requests = Vec::new();
    for (at, request) in def.requests.iter().enumerate() {
        let node = &node.get("requests").map_or(&[][..], Node::items)[at];
        requests.extend(request::request(&mut scope, request, template, node));
    }
    if template == TemplateMode::None && !scope.tables.is_empty() {
        let message = "data is only used by requests with placeholders: add template: random";
        scope.problem(node.key_mark_at(&["data"]), message);
    }
    let mix = Mix {
        order: def.order.unwrap_or(Order::Weighted),
        tables: std::mem::take(&mut scope.tables),
        ..Mix::default()
    };
    scope.problems.into_result(Script {
        url: def.url,
        requests,
        mix,
    })
}

/// Reads a session script. Data files are beside it.
///
/// # Errors
/// All problems, each with its position.
pub fn read_session(path: &Path) -> Result<Script, Problems> {
    let text = document::read_text(path)?;
    let file = path.display().to_string();
    session_of(&file, path.parent().unwrap_or(Path::new(".")), &text)
}

/// Reads a session script that another file names.
///
/// # Errors
/// All problems, each with its position.
pub fn session_beside(file: &Path, name: &str) -> Result<Script, Problems> {
    let folder = file.parent().unwrap_or(Path::new(""));
    let path = folder.join(name);
    let shown = path.display().to_string();
    let refuse = |message: String| Problems::one(&shown, Mark::START, message);
    let bytes = files::read_inside(folder, name, FILE_BYTES_MAX as u64).map_err(refuse)?;
    let text = String::from_utf8(bytes);
    let text = text.map_err(|_| refuse("it is not valid UTF-8 text".into()))?;
    session_of(&shown, path.parent().unwrap_or(Path::new("")), &text)
}

/// Resolves the text of a session script; `folder` is that of its data files.
///
/// # Errors
/// All problems, each with its position.
pub fn session_of(file: &str, folder: &Path, text: &str) -> Result<Script, Problems> {
    let (def, node): (SessionDef, Node) = document::read(file, text)?;
    let mut scope = Scope::new(file, folder);
    data::read(&mut scope, &def.data, &node);
    let steps = match node.get("steps") {
        Some(steps) => steps::steps(&mut scope, &def.steps, steps),
        None => Vec::new(),
    };
    let session = SessionSpec {
        steps,
        cookies: match def.cookies.unwrap_or(true) {
            true => Cookies::Kept,
            false => Cookies::Ignored,
        },
    };
    if session.request_steps().is_empty() && scope.problems.is_empty() {
        scope.problem(
            node.mark,
            "the session sends nothing: give a step a name and a path",
        );
    }
    let mix = Mix {
        order: Order::Weighted,
        tables: std::mem::take(&mut scope.tables),
        session: Some(session),
        ..Mix::default()
    };
    scope.problems.into_result(Script {
        url: def.url,
        requests: Vec::new(),
        mix,
    })
}
