//! The template engine in strict mode.

use std::path::{Component, Path, PathBuf};

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, merge_maps};
use minijinja::{AutoEscape, Environment, ErrorKind, UndefinedBehavior, Value};
use serde::Serialize;
use tare_experiment::yaml::FILE_BYTES_MAX;
use tare_record::regular::read_regular_text;

use super::{Context, wrong};
use crate::LabError;

/// More open files than any test bed needs.
const DESCRIPTORS_MAX: u64 = 65_536;

/// Templates of a target folder with one context.
pub(super) struct Templates<'a> {
    engine: Environment<'a>,
    folder: PathBuf,
    context: Value,
}

/// Additional values for templates.
#[derive(Serialize)]
struct Shortcuts {
    /// `address:port` of the first route that listens here.
    #[serde(skip_serializing_if = "Option::is_none")]
    listen: Option<String>,
    /// Each `address:port` that listens here, once.
    listen_addresses: Vec<String>,
    /// Parts of `admin`, for software that wants them apart.
    admin_address: String,
    admin_port: u16,
    /// Open files that a process may have at most (the hard limit); capped, because some servers
    /// make a table of that size.
    descriptors: u64,
    /// Whether Tare runs as root (some servers drop to another user then unless told).
    root: bool,
}

impl Templates<'_> {
    pub(super) fn new(folder: &Path, context: &Context) -> Result<Self, LabError> {
        let mut engine = Environment::new();
        // Errors then point at the wrong expression.
        engine.set_debug(true);
        engine.set_undefined_behavior(UndefinedBehavior::Strict);
        engine.set_auto_escape_callback(|_| AutoEscape::None);
        let syntax = SyntaxConfig::builder()
            .trim_blocks(true)
            .lstrip_blocks(true)
            .keep_trailing_newline(true)
            .build()
            .map_err(|error| wrong(&folder.display().to_string(), error.to_string()))?;
        engine.set_syntax(syntax);
        let root = folder.to_owned();
        engine.set_loader(move |name| load(&root, name));
        let mut listen_addresses: Vec<String> = Vec::new();
        for listen in context
            .routes
            .iter()
            .filter_map(|route| route.listen.as_ref())
        {
            let at = std::net::SocketAddr::new(listen.address, listen.port).to_string();
            if !listen_addresses.contains(&at) {
                listen_addresses.push(at);
            }
        }
        let shortcuts = Shortcuts {
            listen: listen_addresses.first().cloned(),
            listen_addresses,
            admin_address: context.admin.ip().to_string(),
            admin_port: context.admin.port(),
            descriptors: rustix::process::getrlimit(rustix::process::Resource::Nofile)
                .maximum
                .map_or(DESCRIPTORS_MAX, |hard| hard.min(DESCRIPTORS_MAX)),
            root: rustix::process::geteuid().is_root(),
        };
        Ok(Templates {
            engine,
            folder: folder.to_owned(),
            context: merge_maps([Value::from(Serde(shortcuts)), Value::from(Serde(context))]),
        })
    }

    /// Renders a template file of the folder with additional values.
    pub(super) fn file(&self, name: &str, extra: &Value) -> Result<String, LabError> {
        let fallback = self.folder.join(name).display().to_string();
        let context = merge_maps([extra.clone(), self.context.clone()]);
        self.engine
            .get_template(name)
            .and_then(|template| template.render(context))
            .map_err(|error| self.explain(&error, &fallback))
    }

    /// Renders a text of `target.yaml`; `key` names its place in errors.
    pub(super) fn text(&self, key: &str, text: &str) -> Result<String, LabError> {
        self.text_with(key, text, &Value::from_pairs::<_, &str, &str>([]))
    }

    /// The same with additional values.
    pub(super) fn text_with(
        &self,
        key: &str,
        text: &str,
        extra: &Value,
    ) -> Result<String, LabError> {
        let context = merge_maps([extra.clone(), self.context.clone()]);
        self.engine
            .render_str(text, context)
            .map_err(|error| wrong(key, format!("{} in `{text}`", self.reason(&error))))
    }

    /// Renders the words of a command; empty ones are left out.
    pub(super) fn words(&self, key: &str, words: &[String]) -> Result<Vec<String>, LabError> {
        let mut rendered = Vec::with_capacity(words.len());
        for word in words {
            let word = self.text(key, word)?;
            if !word.is_empty() {
                rendered.push(word);
            }
        }
        if rendered.is_empty() {
            return Err(wrong(key, "the command comes out empty"));
        }
        Ok(rendered)
    }

    fn explain(&self, error: &minijinja::Error, fallback: &str) -> LabError {
        let file = error.name().map_or_else(
            || fallback.to_owned(),
            |name| self.folder.join(name).display().to_string(),
        );
        LabError::Template {
            file,
            line: error.line().unwrap_or(1),
            reason: self.reason(error),
        }
    }

    /// The engine only says "undefined value"; its name is taken from the source.
    fn reason(&self, error: &minijinja::Error) -> String {
        let detail = error.detail().unwrap_or_default();
        let source = error
            .template_source()
            .zip(error.range())
            .and_then(|(source, range)| source.get(range));
        match (error.kind(), source) {
            (ErrorKind::UndefinedError, Some(source)) => {
                format!(
                    "`{source}` is not there (see docs/ADDING-A-TARGET.md for what templates see)"
                )
            }
            (kind, _) if detail.is_empty() => kind.to_string(),
            (kind, _) => format!("{kind}: {detail}"),
        }
    }
}

/// Reads a template, only from below the target's folder.
fn load(folder: &Path, name: &str) -> Result<Option<String>, minijinja::Error> {
    let inside = Path::new(name)
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    if !inside {
        return Err(minijinja::Error::new(
            ErrorKind::TemplateNotFound,
            format!("{name} is not in the target's folder"),
        ));
    }
    match read_regular_text(&folder.join(name), FILE_BYTES_MAX as u64) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(minijinja::Error::new(
            ErrorKind::TemplateNotFound,
            format!("cannot read {name}: {error}"),
        )),
    }
}
