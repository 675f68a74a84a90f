//! Loads: those that were kept, results of Fortio beside them, and starting one.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use tare_export::lock;
use tare_record::api::{
    KafkaLoadRequest, LOAD_REPORT, LoadDetail, LoadEntry, LoadPace, LoadRequest, LoadStop,
    StartReply,
};
use tare_record::event::PROGRESS;
use tare_record::regular::{JSON_BYTES_MAX, read_regular};
use tare_report::loads;

use crate::error::{Refusal, Reply};
use crate::server::Server;
use crate::{kafka, places};

/// Most header lines of a request.
const HEADERS_MAX: usize = 100;
/// End of the name of a result of Fortio.
const FORTIO_END: &str = ".json";

/// All loads, the newest first.
pub fn list(runs: &Path) -> Vec<LoadEntry> {
    let entries = fs::read_dir(runs).into_iter().flatten().flatten();
    let mut ids: Vec<String> = entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|id| places::name(id).is_ok() && is_load(&runs.join(id)))
        .collect();
    ids.sort();
    let entry = |id: &String| {
        let mut entry = detail_of(runs, id).entry;
        if let Some(figures) = &mut entry.figures {
            figures.histogram.clear();
        }
        entry
    };
    ids.iter().rev().map(entry).collect()
}

/// One load.
pub fn detail(runs: &Path, id: &str) -> Reply<LoadDetail> {
    match is_load(&runs.join(places::name(id)?)) {
        true => Ok(detail_of(runs, id)),
        false => Err(Refusal::not_found(format!("there is no load {id}"))),
    }
}

/// The folder of a load of Tare.
pub fn folder(runs: &Path, id: &str) -> Reply<PathBuf> {
    let folder = places::folder(runs, id)?;
    match is_load(&folder) {
        true => Ok(folder),
        false => Err(Refusal::not_found(format!("there is no load {id}"))),
    }
}

/// Whether a path is the folder of a load, or a result of Fortio.
fn is_load(path: &Path) -> bool {
    let is_file = |path: &Path| path.symlink_metadata().is_ok_and(|found| found.is_file());
    let is_folder = path.symlink_metadata().is_ok_and(|found| found.is_dir());
    let is_run = is_file(&path.join("plan.json")) || is_file(&path.join("run.json"));
    match is_folder {
        true => !is_run && (is_file(&path.join(LOAD_REPORT)) || is_file(&path.join(PROGRESS))),
        false => is_file(path) && path.to_string_lossy().ends_with(FORTIO_END),
    }
}

fn detail_of(runs: &Path, id: &str) -> LoadDetail {
    let path = runs.join(id);
    let mut entry = LoadEntry {
        id: id.to_owned(),
        running: false,
        figures: None,
        problem: None,
    };
    if path.is_file() {
        let read = read_regular(&path, JSON_BYTES_MAX).map_err(loads::LoadReadError::from);
        match read.and_then(|text| loads::fortio(&text)) {
            Ok(figures) => entry.figures = Some(figures),
            Err(error) => entry.problem = Some(error.to_string()),
        }
        return LoadDetail {
            entry,
            report: None,
        };
    }
    entry.running = lock::is_held(&path);
    let report = match loads::report(&path) {
        Ok(report) => {
            entry.figures = Some(loads::figures(&report, &path));
            Some(Box::new(report))
        }
        Err(_) if entry.running => None,
        Err(_) if !path.join(LOAD_REPORT).exists() => {
            entry.problem = Some("it ended without a result".to_owned());
            None
        }
        Err(error) => {
            entry.problem = Some(error.to_string());
            None
        }
    };
    LoadDetail { entry, report }
}

/// Keeps a result of Fortio: whole and for good once it is answered, or not at all.
pub fn import(runs: &Path, own: &Path, text: &[u8]) -> Reply<String> {
    let figures = loads::fortio(text).map_err(|error| Refusal::invalid(error.to_string()))?;
    let at = figures.started_unix_us.unwrap_or_default() / 1000;
    let mut file = tempfile::Builder::new()
        .permissions(fs::Permissions::from_mode(0o644))
        .tempfile_in(own)?;
    file.write_all(text)?;
    file.as_file().sync_all()?;
    for number in 1..1000 {
        let id = format!("fortio-{at:013}-{number}{FORTIO_END}");
        match file.persist_noclobber(runs.join(&id)) {
            Ok(_) => {
                fs::File::open(runs)?.sync_all()?;
                return Ok(id);
            }
            Err(failed) if failed.error.kind() == std::io::ErrorKind::AlreadyExists => {
                file = failed.file;
            }
            Err(failed) => return Err(failed.error.into()),
        }
    }
    Err(Refusal::conflict("this result is there already"))
}

/// Removes a load that is not running.
pub fn delete(runs: &Path, id: &str, own: &Path) -> Reply<()> {
    let path = runs.join(places::name(id)?);
    if !is_load(&path) {
        return Err(Refusal::not_found(format!("there is no load {id}")));
    }
    match path.is_file() {
        true => Ok(fs::remove_file(path)?),
        false => crate::runs::remove(&path, id, own),
    }
}

/// Starts a load: `tare load` with the words of a request, each checked.
pub fn start(server: &Server, request: &LoadRequest) -> Reply<StartReply> {
    let url = plain(&request.url, "the URL")?;
    if url.starts_with('-') {
        return Err(Refusal::invalid(
            "the URL begins with a scheme: http://127.0.0.1:8080/",
        ));
    }
    let prepared = server.children.prepare()?;
    let mut command = Command::new(&server.options.tare);
    command.arg("load");
    if kafka::load::is_topic(url) {
        let load = server.kafka.load(url, &request.kafka, &prepared)?;
        command.arg(load.url).args(load.arguments);
    } else if request.kafka != KafkaLoadRequest::default() {
        return Err(Refusal::invalid(
            "the settings of Kafka belong to a URL kafka://…",
        ));
    } else {
        command.arg(url);
    }
    command
        .arg("--json-lines")
        .arg("--out")
        .arg(&server.options.runs);
    match request.pace {
        LoadPace::Rate { per_s } => command.arg("--rate").arg(number(per_s, "the rate")?),
        LoadPace::Clients { clients } => command.arg("--clients").arg(clients.to_string()),
        LoadPace::Maximum => &mut command,
    };
    match request.stop {
        LoadStop::Duration { seconds } => command
            .arg("--duration")
            .arg(format!("{}s", number(seconds, "the duration")?)),
        LoadStop::Count { requests } => command.arg("--count").arg(requests.to_string()),
        LoadStop::Stopped => command.arg("--duration").arg("forever"),
    };
    if let Some(connections) = request.connections {
        command.arg("--connections").arg(connections.to_string());
    }
    for (flag, seconds) in [
        ("--warmup", request.warmup_s),
        ("--timeout", request.timeout_s),
    ] {
        if let Some(seconds) = seconds {
            command
                .arg(flag)
                .arg(format!("{}s", number(seconds, flag)?));
        }
    }
    for (flag, is_on) in [("--http2", request.http2), ("--insecure", request.insecure)] {
        if is_on {
            command.arg(flag);
        }
    }
    if let Some(method) = &request.method {
        command.arg(format!("--method={}", plain(method, "the method")?));
    }
    if let Some(labels) = &request.labels {
        command.arg(format!("--labels={}", plain(labels, "the labels")?));
    }
    if !request.headers.is_empty() {
        if request.headers.len() > HEADERS_MAX {
            return Err(Refusal::invalid(format!("at most {HEADERS_MAX} headers")));
        }
        for header in &request.headers {
            plain(header, "a header")?;
        }
        // In a file: other users can see a command line.
        let file = prepared.write_secret("headers", &(request.headers.join("\n") + "\n"))?;
        command.arg("--header").arg(format!("@{}", file.display()));
    }
    if let Some(body) = &request.body {
        let file = prepared.write_secret("body", body)?;
        command.arg("--body-file").arg(&file);
    }
    if let Some(bytes) = request.body_bytes {
        command.arg("--body-size").arg(bytes.to_string());
    }
    for (flag, name) in [
        ("--cacert", &request.cacert),
        ("--cert", &request.cert),
        ("--key", &request.key),
    ] {
        if let Some(name) = name {
            command
                .arg(flag)
                .arg(named_file(&server.options.files, name)?);
        }
    }
    server.start(&prepared, command)
}

/// Whom the load of a URL goes to, for a log: without user, path and query, which may be secret.
pub fn target(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    format!("{scheme}://{host}")
}

/// A text without control characters.
pub fn plain<'a>(text: &'a str, what: &str) -> Reply<&'a str> {
    match text.is_empty() || text.chars().any(char::is_control) {
        true => Err(Refusal::invalid(format!(
            "{what} is empty or has control characters"
        ))),
        false => Ok(text),
    }
}

fn number(value: f64, what: &str) -> Reply<String> {
    match value.is_finite() && value >= 0.0 {
        true => Ok(value.to_string()),
        false => Err(Refusal::invalid(format!(
            "{what} is not a number of 0 or more"
        ))),
    }
}

/// A file in one of the directories that were named at the start.
fn named_file(directories: &[PathBuf], name: &str) -> Reply<PathBuf> {
    if directories.is_empty() {
        return Err(Refusal::invalid(
            "this server reads no files: start it with --files DIR",
        ));
    }
    directories
        .iter()
        .find(|directory| places::open_below(directory, name).is_ok())
        .map(|directory| directory.join(name))
        .ok_or_else(|| Refusal::invalid("there is no such file in the directories of --files"))
}
