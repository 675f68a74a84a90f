//! Suites: experiments, loads and golden checks that `tare suite` runs in turn, and the changes that their readers know of.

use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use tare_record::export::ExportFormat;
use tare_record::files::resolve_inside;
use tare_record::metric::Metric;
use tare_record::schemas::JsonSchema;
use tare_record::text::word_of;
use tare_record::units::Period;
use tare_record::view::Better;

use crate::document;
use crate::find::Library;
use crate::problem::{Problems, list};
use crate::yaml::{Mark, Node};

/// Most entries of a suite, those of included suites among them.
const ENTRIES_MAX: usize = 1000;
/// Options of a load that the suite gives itself.
const LOAD_OPTIONS: [&str; 4] = ["json", "json-lines", "labels", "out"];
/// Options of a golden check that the suite gives itself.
const PERFCHECK_OPTIONS: [&str; 2] = ["json", "markdown"];

/// A suite.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SuiteDef {
    /// Time for all entries. What is left when it ends is run first by the next call. That of an included suite does not count.
    /// Default: no limit.
    pub budget: Option<Period>,
    /// File with acknowledged changes, in the folder of the suite. Default: none.
    pub acknowledged: Option<String>,
    /// What is run, in this order.
    #[schemars(length(min = 1))]
    pub entries: Vec<EntryDef>,
}

/// An entry of a suite. Exactly one of `experiment`, `load`, `perfcheck` and `suite`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "entry"))]
pub struct EntryDef {
    /// An experiment of the library, `study/name`, or a file below the folder of the suite.
    pub experiment: Option<String>,
    /// A load.
    pub load: Option<SuiteLoadDef>,
    /// A golden check of micro-benchmarks.
    pub perfcheck: Option<SuitePerfcheckDef>,
    /// A suite whose entries are run in this place: a file below the folder of this one.
    pub suite: Option<String>,
    /// Whether the experiment is run in its quick form. Default: false, unless the suite is started with `--quick`.
    #[serde(default)]
    pub quick: bool,
    /// Number of blocks of the experiment. Default: its own.
    #[schemars(range(min = 1))]
    pub blocks: Option<u32>,
    /// Time after which the entry is interrupted and counts as failed. Default: no limit.
    pub limit: Option<Period>,
    /// What its result is exported as, with `tare export`. Default: nothing.
    #[serde(default)]
    pub export: Vec<SuiteExportDef>,
}

/// An export of a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "export"))]
pub struct SuiteExportDef {
    /// Format.
    #[serde(rename = "as")]
    pub format: ExportFormat,
    /// File, below the folder of the suite. Default: in the folder of the night's results.
    pub file: Option<String>,
    /// URL of the collector, for `otlp`.
    pub endpoint: Option<String>,
    /// Metrics of which direction, for `github-action-benchmark`: `lower` is better, or `higher`. Default: lower.
    pub better: Option<Better>,
}

/// A load, as of `tare load`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "load"))]
pub struct SuiteLoadDef {
    /// URL of the server.
    pub url: Option<String>,
    /// Labels of the load: its values form a series under this name.
    #[schemars(length(min = 1, max = 200))]
    pub labels: String,
    /// Options of `tare load` without dashes: `rate: 2000`, `duration: 10s`, `http2: true`, `header: [a, b]`.
    #[serde(default)]
    pub options: Map<String, Json>,
}

/// A golden check, as of `tare perfcheck`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "golden check"))]
pub struct SuitePerfcheckDef {
    /// Folder below which benchmarks are looked for, from the folder of the suite.
    pub folder: String,
    /// Options of `tare perfcheck` without dashes: `against: main`, `require-golden: true`, `margin: 3%`.
    #[serde(default)]
    pub options: Map<String, Json>,
}

/// Changes that are known and accepted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AcknowledgedDef {
    /// The changes.
    #[serde(default)]
    pub changes: Vec<AcknowledgedChange>,
}

/// A change that is known and accepted. It is shown, and does not change the exit code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "change"))]
pub struct AcknowledgedChange {
    /// Experiment, `study/name`.
    pub experiment: String,
    /// Arm. Default: all arms.
    pub arm: Option<String>,
    /// Level. Default: all levels.
    pub level: Option<String>,
    /// Metric. Default: all metrics.
    pub metric: Option<Metric>,
    /// First run after the change, or its date (`2026-11-26`).
    #[schemars(length(min = 10))]
    pub since: String,
    /// Why it is accepted.
    pub note: String,
}

/// A suite with all its files.
#[derive(Debug, Clone, PartialEq)]
pub struct Suite {
    /// Its file, as an absolute path without links.
    pub file: PathBuf,
    /// Time for all entries.
    pub budget: Option<Duration>,
    /// What is run.
    pub entries: Vec<SuiteEntry>,
    /// Changes that are known and accepted.
    pub acknowledged: Vec<AcknowledgedChange>,
    /// The files that name them.
    pub acknowledged_files: Vec<PathBuf>,
}

/// What is run in one process.
#[derive(Debug, Clone, PartialEq)]
pub struct SuiteEntry {
    /// Its name, unique in the suite.
    pub name: String,
    /// What is run.
    pub work: Work,
    /// Time after which it is interrupted.
    pub limit: Option<Duration>,
    /// What its result is exported as; files are absolute paths.
    pub export: Vec<SuiteExportDef>,
}

/// The work of an entry.
#[derive(Debug, Clone, PartialEq)]
pub enum Work {
    /// A run of an experiment.
    Experiment {
        /// Its name in runs and histories.
        experiment: String,
        /// Its file.
        file: PathBuf,
        /// Whether in its quick form.
        quick: bool,
        /// Number of blocks; `None`: its own.
        blocks: Option<u32>,
    },
    /// A load.
    Load {
        /// Its labels.
        labels: String,
        /// Arguments of `tare load`.
        arguments: Vec<String>,
    },
    /// A golden check.
    Perfcheck {
        /// Its folder as the suite names it.
        named: String,
        /// Its folder.
        folder: PathBuf,
        /// Arguments of `tare perfcheck`.
        arguments: Vec<String>,
    },
}

impl Suite {
    /// Reads a suite and the files that it names.
    ///
    /// # Errors
    /// All problems of the files, each with its position: unknown experiments, suites that include each other, …
    pub fn read(file: &Path, library: &Library) -> Result<Suite, Problems> {
        let named = file.display().to_string();
        let file = file.canonicalize().map_err(|error| {
            Problems::one(&named, Mark::START, format!("cannot be read: {error}"))
        })?;
        let mut suite = Suite {
            file: file.clone(),
            budget: None,
            entries: Vec::new(),
            acknowledged: Vec::new(),
            acknowledged_files: Vec::new(),
        };
        let mut reader = Reader {
            library,
            open: Vec::new(),
            suite: &mut suite,
        };
        let def = reader.add(&named, &file)?;
        suite.budget = def.budget.map(|budget| budget.0);
        Ok(suite)
    }
}

/// Reads a file of acknowledged changes.
///
/// # Errors
/// Problems of the file, each with its position.
pub fn read_acknowledged(path: &Path) -> Result<AcknowledgedDef, Problems> {
    let text = document::read_text(path)?;
    document::read(&path.display().to_string(), &text).map(|(def, _)| def)
}

struct Reader<'a> {
    library: &'a Library,
    /// The files that are being read: those that include this one, and itself.
    open: Vec<PathBuf>,
    suite: &'a mut Suite,
}

impl Reader<'_> {
    /// Adds the entries of a file. `named` is the file as messages name it.
    fn add(&mut self, named: &str, file: &Path) -> Result<SuiteDef, Problems> {
        let (def, node) = document::read::<SuiteDef>(named, &document::read_text(file)?)?;
        let folder = file.parent().unwrap_or(Path::new("/")).to_owned();
        self.open.push(file.to_owned());
        let mut problems = Problems::default();
        let marks = node.get("entries").map_or(&[][..], Node::items);
        for (entry, node) in def.entries.iter().zip(marks) {
            if self.suite.entries.len() >= ENTRIES_MAX {
                let text = format!("a suite has at most {ENTRIES_MAX} entries: make two of it");
                problems.add(named, node.mark, text);
                break;
            }
            if let Err(found) = self.add_entry(named, &folder, entry, node) {
                problems.extend(found);
            }
        }
        if let Some(name) = &def.acknowledged {
            let mark = node.mark_at(&["acknowledged"]);
            let read = resolve_inside(&folder, name)
                .map_err(|text| Problems::one(named, mark, text))
                .and_then(|path| Ok((read_acknowledged(&path)?, path)));
            match read {
                Ok((read, path)) => {
                    self.suite.acknowledged.extend(read.changes);
                    self.suite.acknowledged_files.push(path);
                }
                Err(found) => problems.extend(found),
            }
        }
        self.open.pop();
        problems.into_result(def)
    }

    fn add_entry(
        &mut self,
        named: &str,
        folder: &Path,
        entry: &EntryDef,
        node: &Node,
    ) -> Result<(), Problems> {
        let problem =
            |key: &str, text: String| Problems::one(named, node.key_mark_at(&[key]), text);
        let at = |key: &str| node.mark_at(&[key]);
        let for_experiments = || {
            let keys = [("quick", entry.quick), ("blocks", entry.blocks.is_some())];
            let wrong = keys.into_iter().find(|(_, is_given)| *is_given);
            wrong.map_or(Ok(()), |(key, _)| {
                let text =
                    format!("\"{key}\" is for experiments: leave it out, or give it to them");
                Err(problem(key, text))
            })
        };
        let work = match (
            &entry.experiment,
            &entry.load,
            &entry.perfcheck,
            &entry.suite,
        ) {
            (Some(name), None, None, None) => {
                let wrong = |text: String| Problems::one(named, at("experiment"), text);
                let is_file = [".yaml", ".yml"].iter().any(|end| name.ends_with(end));
                let found = match is_file {
                    true => resolve_inside(folder, name)
                        .map_err(wrong)?
                        .display()
                        .to_string(),
                    false => name.clone(),
                };
                let found = self.library.find(&found);
                let found = found.map_err(|error| wrong(error.to_string()))?;
                Work::Experiment {
                    experiment: found.experiment,
                    file: PathBuf::from(found.file),
                    quick: entry.quick,
                    blocks: entry.blocks,
                }
            }
            (None, Some(load), None, None) => {
                for_experiments()?;
                let options = &|key: &str| node.key_mark_at(&["load", "options", key]);
                Work::Load {
                    labels: load.labels.clone(),
                    arguments: arguments(load)
                        .map_err(|(key, text)| Problems::one(named, options(&key), text))?,
                }
            }
            (None, None, Some(check), None) => {
                for_experiments()?;
                if !entry.export.is_empty() {
                    let text =
                        "a golden check is not exported: `junit` of its options writes a file";
                    return Err(problem("export", text.to_owned()));
                }
                let options = &|key: &str| node.key_mark_at(&["perfcheck", "options", key]);
                let path = folder.join(&check.folder);
                if !path.is_dir() {
                    let text = format!("{} is not a folder", path.display());
                    return Err(Problems::one(
                        named,
                        node.mark_at(&["perfcheck", "folder"]),
                        text,
                    ));
                }
                Work::Perfcheck {
                    named: check.folder.clone(),
                    folder: path,
                    arguments: option_words(&check.options, &PERFCHECK_OPTIONS)
                        .map_err(|(key, text)| Problems::one(named, options(&key), text))?,
                }
            }
            (None, None, None, Some(name)) => {
                for_experiments()?;
                if entry.limit.is_some() {
                    let text = "a suite has no limit: give one to each of its entries".to_owned();
                    return Err(problem("limit", text));
                }
                if !entry.export.is_empty() {
                    let text = "a suite is not exported: its entries are".to_owned();
                    return Err(problem("export", text));
                }
                let wrong = |text: String| Problems::one(named, at("suite"), text);
                let file = resolve_inside(folder, name).map_err(wrong)?;
                let file = file
                    .canonicalize()
                    .map_err(|error| wrong(error.to_string()))?;
                if let Some(from) = self.open.iter().position(|open| *open == file) {
                    let circle = self.open[from..].iter().chain([&file]);
                    let circle: Vec<String> =
                        circle.map(|file| file.display().to_string()).collect();
                    let circle = circle.join(" includes ");
                    return Err(wrong(format!("suites include each other: {circle}")));
                }
                self.add(&folder.join(name).display().to_string(), &file)?;
                return Ok(());
            }
            _ => {
                let text = "an entry has exactly one of \"experiment\", \"load\", \"perfcheck\" and \"suite\"";
                return Err(Problems::one(named, node.mark, text));
            }
        };
        let name = work.name();
        if self.suite.entries.iter().any(|known| known.name == name) {
            let text = format!("{name} is in this suite already: leave one of them out");
            return Err(Problems::one(named, node.mark, text));
        }
        let exports = entry.export.iter().map(|def| export(folder, def));
        let export = exports
            .collect::<Result<Vec<_>, _>>()
            .map_err(|text| Problems::one(named, at("export"), text))?;
        self.suite.entries.push(SuiteEntry {
            name,
            work,
            limit: entry.limit.map(|limit| limit.0),
            export,
        });
        Ok(())
    }
}

impl Work {
    fn name(&self) -> String {
        match self {
            Work::Experiment {
                experiment,
                quick,
                blocks,
                ..
            } => {
                let mut name = experiment.clone();
                if *quick {
                    name.push_str(" (quick)");
                }
                if let Some(blocks) = blocks {
                    name.push_str(&format!(" ({blocks} blocks)"));
                }
                name
            }
            Work::Load { labels, .. } => format!("load {labels}"),
            Work::Perfcheck { named, .. } => format!("perfcheck {named}"),
        }
    }
}

/// An export with the absolute path of its file.
fn export(folder: &Path, def: &SuiteExportDef) -> Result<SuiteExportDef, String> {
    let format = word_of(&def.format);
    let is_otlp = def.format == ExportFormat::Otlp;
    if is_otlp != def.endpoint.is_some() {
        return Err(match is_otlp {
            true => "otlp needs its \"endpoint\": http://127.0.0.1:4318".to_owned(),
            false => format!("\"endpoint\" is for otlp: {format} is written to a file"),
        });
    }
    if is_otlp && def.file.is_some() {
        return Err("otlp is sent to its \"endpoint\": leave out \"file\"".to_owned());
    }
    if def.better.is_some() && def.format != ExportFormat::GithubActionBenchmark {
        return Err(format!(
            "\"better\" is for github-action-benchmark: {format} has the metrics of both directions"
        ));
    }
    let path = |name: &String| {
        let is_inside = |part| matches!(part, Component::Normal(_));
        match !name.is_empty() && Path::new(name).components().all(is_inside) {
            true => Ok(folder.join(name).display().to_string()),
            false => Err(format!(
                "\"{name}\" leads out of the folder of the suite: name a file below it"
            )),
        }
    };
    Ok(SuiteExportDef {
        file: def.file.as_ref().map(path).transpose()?,
        ..def.clone()
    })
}

/// Arguments of `tare load`; an error names the key of the option.
fn arguments(load: &SuiteLoadDef) -> Result<Vec<String>, (String, String)> {
    let mut words = option_words(&load.options, &LOAD_OPTIONS)?;
    words.push(format!("--labels={}", load.labels));
    if let Some(url) = &load.url {
        // What begins with a dash would be an option.
        words.extend(["--".to_owned(), url.clone()]);
    }
    Ok(words)
}

/// Options as arguments, without those that the suite gives itself; an error names the key.
fn option_words(
    options: &Map<String, Json>,
    own: &[&str],
) -> Result<Vec<String>, (String, String)> {
    let mut words = Vec::new();
    for (key, value) in options {
        let wrong = |text: String| (key.clone(), text);
        let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if key.is_empty() || key.starts_with('-') || !key.chars().all(is_word) {
            let text =
                "an option is written as in the help of the command, without the dashes before it";
            return Err(wrong(text.to_owned()));
        }
        if own.contains(&key.as_str()) {
            let own = list(own);
            return Err(wrong(format!("a suite gives {own} itself: leave it out")));
        }
        let values = match value {
            Json::Array(values) => values.as_slice(),
            one => std::slice::from_ref(one),
        };
        for value in values {
            match value {
                Json::Bool(true) => words.push(format!("--{key}")),
                Json::Bool(false) => {}
                Json::Number(number) => words.push(format!("--{key}={number}")),
                Json::String(text) => words.push(format!("--{key}={text}")),
                Json::Null | Json::Array(_) | Json::Object(_) => {
                    let text = "an option is a number, a text, true or false, or a list of these";
                    return Err(wrong(text.to_owned()));
                }
            }
        }
    }
    Ok(words)
}

#[cfg(test)]
mod tests;
