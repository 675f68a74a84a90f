//! Experiments: the library, plans, and starting runs. Each is the work of `tare` itself, as in a terminal.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::Value;
use tare_lab::seal::RunKey;
use tare_record::api::{
    ArmRoute, ExperimentLibrary, ExperimentRequest, LibraryEntry, PlanReply, StartReply,
};
use tare_record::files::FILE_BYTES_MAX;
use tare_record::plan::Plan;
use tare_record::regular::{read_regular, read_regular_text};
use tare_report::routes;

use crate::children::PreparedStart;
use crate::error::{Refusal, Reply};
use crate::loads::plain;
use crate::server::Server;
use crate::{places, sys};

/// Largest experiment file.
const YAML_BYTES_MAX: u64 = 1 << 20;
/// Name of an experiment that was sent without one.
const UNNAMED: &str = "experiment";
/// Longest time of a command that answers a request.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// Output of such a command that is read.
const ANSWER_BYTES_MAX: u64 = 64 << 20;

/// The part of an experiment file that a list shows.
#[derive(Deserialize)]
struct Head {
    #[serde(default)]
    question: String,
    quick: Option<serde::de::IgnoredAny>,
}

/// All experiments.
pub fn library(home: &Path) -> ExperimentLibrary {
    let entries = |folder: &Path| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        paths.sort();
        paths
    };
    let studies = entries(&home.join("experiments"));
    let files = studies.iter().flat_map(|study| entries(study));
    let experiments = files.filter_map(|file| {
        let study = file.parent()?.file_name()?.to_str()?;
        let stem = file.file_name()?.to_str()?.strip_suffix(".yaml")?;
        let text = read_regular_text(&file, YAML_BYTES_MAX).ok()?;
        let head: Head = serde_saphyr::from_str(&text).ok()?;
        Some(LibraryEntry {
            name: format!("{study}/{stem}"),
            question: head.question.trim().to_owned(),
            has_quick: head.quick.is_some(),
        })
    });
    ExperimentLibrary {
        experiments: experiments.collect(),
    }
}

/// The text of an experiment of the library.
pub fn text(home: &Path, name: &str) -> Reply<String> {
    let known = library(home)
        .experiments
        .into_iter()
        .any(|entry| entry.name == name);
    if !known {
        return Err(Refusal::not_found(format!("there is no experiment {name}")));
    }
    let path = home.join("experiments").join(format!("{name}.yaml"));
    Ok(read_regular_text(&path, YAML_BYTES_MAX)?)
}

/// The plan of an experiment, as `tare plan` makes it.
pub fn plan(server: &Server, request: &ExperimentRequest) -> Reply<PlanReply> {
    let place = tempfile::Builder::new()
        .prefix("plan-")
        .tempdir_in(server.own_folder())?;
    let words = arguments(server, request, |name, text| {
        let path = place.path().join(name);
        fs::write(&path, text)?;
        Ok(path)
    })?;
    let answer = |more: &[&str]| {
        let mut command = Command::new(&server.options.tare);
        command.arg("plan").args(&words).args(more);
        command.arg("--out").arg(&server.options.runs);
        answer(server, command).map_err(|refusal| placed(refusal, &words))
    };
    let json = answer(&["--json"])?;
    let plan: Value =
        serde_json::from_str(&json).map_err(|error| Refusal::failed(error.to_string()))?;
    let arms: Vec<ArmRoute> = plan
        .get("plan")
        .and_then(|plan| Plan::deserialize(plan).ok())
        .map(|plan| plan.arms.iter().map(routes::arm_route).collect())
        .unwrap_or_default();
    Ok(PlanReply {
        text: answer(&[])?,
        plan,
        arms,
    })
}

/// Starts a run.
pub fn start(server: &Server, request: &ExperimentRequest) -> Reply<StartReply> {
    let prepared = server.children.prepare()?;
    let words = arguments(
        server,
        request,
        |name, text| Ok(prepared.write(name, text)?),
    )?;
    begin(server, &prepared, |command| {
        command.args(words);
    })
}

/// Resumes a run that this user began. (`tare run` checks that itself: here it is refused before a process starts.)
pub fn resume(server: &Server, folder: &Path) -> Reply<StartReply> {
    let opened = RunKey::of_user().and_then(|key| key.open(folder));
    opened.map_err(|why| Refusal::conflict(format!("this run cannot be resumed: {why}")))?;
    let prepared = server.children.prepare()?;
    begin(server, &prepared, |command| {
        command.arg("--resume").arg(folder);
    })
}

fn begin(
    server: &Server,
    prepared: &PreparedStart,
    words: impl FnOnce(&mut Command),
) -> Reply<StartReply> {
    let mut command = Command::new(&server.options.tare);
    command.arg("run");
    words(&mut command);
    command
        .arg("--json-lines")
        .arg("--out")
        .arg(&server.options.runs);
    command.env("TARE_HOME", &server.options.home);
    server.start(prepared, command)
}

/// The words of a request for `tare plan` and `tare run`. Targets can be neither named nor sent: they are code.
fn arguments(
    server: &Server,
    request: &ExperimentRequest,
    file: impl FnOnce(&str, &str) -> Reply<PathBuf>,
) -> Reply<Vec<String>> {
    let mut words = Vec::new();
    match (&request.experiment, &request.yaml) {
        (Some(name), None) => {
            // Only a name of the library: a path would be read as a file.
            text(&server.options.home, name)?;
            words.push(name.clone());
        }
        (None, Some(yaml)) => {
            let name = places::name(request.name.as_deref().unwrap_or(UNNAMED)).map_err(|_| {
                Refusal::invalid(
                    "the name of an experiment has letters, digits, “.”, “_” and “-” only",
                )
            })?;
            let path = file(&format!("{name}.yaml"), yaml)?;
            add_files(&server.options.files, yaml, &path)?;
            words.push(path.display().to_string());
        }
        _ => return Err(Refusal::invalid("name an experiment, or send one as YAML")),
    }
    for (flag, is_on) in [("--quick", request.quick), ("--no-aa", request.no_aa)] {
        if is_on {
            words.push(flag.to_owned());
        }
    }
    words.extend(request.blocks.map(|blocks| format!("--blocks={blocks}")));
    words.extend(request.seed.map(|seed| format!("--seed={seed}")));
    for (part, addresses) in &request.external {
        let addresses = addresses.join(",");
        words.push(format!(
            "--external={}={}",
            plain(part, "the name of an external part")?,
            plain(&addresses, "the addresses of an external part")?
        ));
    }
    Ok(words)
}

/// Copies the files that an experiment names, from the directories that were named at the start, beside it: it may name files of
/// its own folder only.
fn add_files(directories: &[PathBuf], yaml: &str, beside: &Path) -> Reply<()> {
    for directory in directories {
        for entry in fs::read_dir(directory)?.flatten() {
            let name = entry.file_name();
            let Some(name) = name.to_str().filter(|name| yaml.contains(*name)) else {
                continue;
            };
            let target = beside.with_file_name(name);
            if let Ok(text) = read_regular(&entry.path(), FILE_BYTES_MAX)
                && !target.exists()
            {
                fs::write(target, text)?;
            }
        }
    }
    Ok(())
}

/// What a command prints. Its error is that of the request.
pub fn answer(server: &Server, mut command: Command) -> Reply<String> {
    command
        .env("TARE_HOME", &server.options.home)
        .env("NO_COLOR", "1")
        .env("COLUMNS", "120")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = Reaped(server.children.spawner().spawn(command)?);
    let (out, err) = (child.0.stdout.take(), child.0.stderr.take());
    let read = |stream: Option<Box<dyn Read + Send>>| {
        std::thread::Builder::new().spawn(move || {
            let mut text = Vec::new();
            // What is not read because of an error is missing in a message only.
            let _ = stream.map(|stream| stream.take(ANSWER_BYTES_MAX).read_to_end(&mut text));
            String::from_utf8_lossy(&text).into_owned()
        })
    };
    let out = read(out.map(|stream| Box::new(stream) as Box<dyn Read + Send>))?;
    let err = read(err.map(|stream| Box::new(stream) as Box<dyn Read + Send>))?;
    let begun = Instant::now();
    let status = loop {
        match child.0.try_wait()? {
            Some(status) => break status,
            None if begun.elapsed() > ANSWER_TIMEOUT => {
                // It inherits that it runs on idle cores only.
                return Err(match sys::runs_when_idle() {
                    true => Refusal::busy(
                        "it took more than 30 seconds beside what is measured: try again later",
                    ),
                    false => Refusal::failed("it took more than 30 seconds"),
                });
            }
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    let (out, err) = (
        out.join().unwrap_or_default(),
        err.join().unwrap_or_default(),
    );
    match status.success() {
        true => Ok(out),
        false => Err(refusal(&err)),
    }
}

/// A process that is ended and waited for with this.
struct Reaped(Child);

impl Drop for Reaped {
    fn drop(&mut self) {
        // Errors mean that it has ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The error of a command.
fn refusal(messages: &str) -> Refusal {
    let message = messages.trim();
    Refusal::invalid(message.strip_prefix("error: ").unwrap_or(message))
}

/// The error with its place in the file that was sent, whose name says nothing to whoever sent it:
/// `…/experiment.yaml:12:3: what is wrong`.
fn placed(mut refusal: Refusal, words: &[String]) -> Refusal {
    let error = &mut refusal.error;
    let Some(file) = words.first().filter(|word| word.starts_with('/')) else {
        return refusal;
    };
    let file = format!("{file}:");
    if let Some((_, rest)) = error.message.split_once(&file) {
        let mut numbers = rest.splitn(3, ':').map(|word| word.trim().parse().ok());
        error.line = numbers.next().flatten();
        error.column = error.line.and(numbers.next().flatten());
    }
    error.message = error.message.replace(&file, "line ");
    refusal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_in_yaml_has_its_place_and_not_the_name_of_a_temporary_file() {
        let words = ["/runs/.serve/plan-x/mine.yaml".to_owned()];
        let error = refusal("error: /runs/.serve/plan-x/mine.yaml:12:3: unknown field `arm`\n");
        let error = placed(error, &words).error;
        assert_eq!((error.line, error.column), (Some(12), Some(3)));
        assert_eq!(error.message, "line 12:3: unknown field `arm`");
        assert_eq!(placed(refusal("no such target"), &words).error.line, None);
    }
}
