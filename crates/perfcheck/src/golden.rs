//! Golden files: read, checked, and written with one more session.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use serde_json::Value;
use tare_experiment::problem::Problems;
use tare_experiment::yaml::Mark;
use tare_record::api::{GOLDEN_VERSION, GoldenFile, GoldenMachine, GoldenSession, GoldenUpdate};
use tare_record::regular::read_regular_text;

use crate::error::CheckError;

/// Largest golden file.
const FILE_BYTES_MAX: u64 = 16 << 20;
/// Sessions that are kept for each machine.
pub const SESSIONS_MAX: usize = 10;
/// Beginnings of the lines that git leaves in a file with a conflict.
const CONFLICT_MARKS: [&str; 3] = ["<<<<<<<", "=======", ">>>>>>>"];

/// Reads a golden file; `None`: there is none.
pub fn read(path: &Path) -> Result<Option<GoldenFile>, Problems> {
    let file = path.display().to_string();
    match read_regular_text(path, FILE_BYTES_MAX) {
        Ok(text) => parse(&file, &text).map(Some),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Problems::one(
            &file,
            Mark::START,
            format!("cannot be read: {error}"),
        )),
    }
}

fn parse(file: &str, text: &str) -> Result<GoldenFile, Problems> {
    let problem =
        |line: usize, column: usize, text: String| Problems::one(file, Mark { line, column }, text);
    let is_conflict = |line: &str| CONFLICT_MARKS.iter().any(|mark| line.starts_with(mark));
    if let Some(at) = text.lines().position(is_conflict) {
        let next =
            "a merge left a conflict here: take one side, or both sides' sessions in order of time";
        return Err(problem(at + 1, 1, next.to_owned()));
    }
    let wrong = |error: serde_json::Error| {
        let (line, column) = (error.line().max(1), error.column().max(1));
        let text = error.to_string();
        // The place is in front already.
        let text = text.split(" at line ").next().unwrap_or(&text).to_owned();
        problem(
            line,
            column,
            format!(
                "{text}: restore the file from its repository, or delete it and begin with --update"
            ),
        )
    };
    let any: Value = serde_json::from_str(text).map_err(wrong)?;
    let version = any.get("version").and_then(Value::as_u64);
    if version.is_some_and(|version| version > u64::from(GOLDEN_VERSION)) {
        let line = text.lines().position(|line| line.contains("\"version\""));
        let text = format!(
            "version {} is of a newer Tare: this one reads version {GOLDEN_VERSION}",
            version.unwrap_or_default()
        );
        return Err(problem(line.unwrap_or_default() + 1, 1, text));
    }
    serde_json::from_str(text).map_err(wrong)
}

/// Adds a session; the oldest ones go.
pub fn add(
    golden: Option<GoldenFile>,
    update: GoldenUpdate,
    machine: &str,
    about: &str,
    session: GoldenSession,
) -> GoldenFile {
    let mut golden = golden.unwrap_or_else(|| GoldenFile {
        version: GOLDEN_VERSION,
        machines: [].into(),
    });
    let known = golden
        .machines
        .entry(machine.to_owned())
        .or_insert_with(|| GoldenMachine {
            about: about.to_owned(),
            sessions: Vec::new(),
        });
    if update == GoldenUpdate::Reset {
        known.sessions.clear();
    }
    known.sessions.push(session);
    let excess = known.sessions.len().saturating_sub(SESSIONS_MAX);
    known.sessions.drain(..excess);
    golden
}

/// Writes a golden file atomically: readers see the old one or the new one.
pub fn write(path: &Path, golden: &GoldenFile) -> Result<(), CheckError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let text = render(golden).map_err(|error| CheckError::at(path)(error.into()))?;
    let mut new = tempfile::Builder::new()
        .prefix(".perf.golden.")
        .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))
        .tempfile_in(folder)
        .map_err(CheckError::at(path))?;
    new.write_all(text.as_bytes())
        .map_err(CheckError::at(path))?;
    new.as_file().sync_all().map_err(CheckError::at(path))?;
    if fs::symlink_metadata(path).is_ok_and(|found| !found.is_file()) {
        return Err(CheckError::Input(format!(
            "{} is not a regular file: move it away",
            path.display()
        )));
    }
    new.persist(path)
        .map_err(|error| CheckError::at(path)(error.error))?;
    Ok(())
}

/// The file as text: a line for the values of a benchmark and unit, so that differences can be read.
fn render(golden: &GoldenFile) -> serde_json::Result<String> {
    let mut text = format!("{{\n  \"version\": {},\n  \"machines\": {{", golden.version);
    for (number, (hash, machine)) in golden.machines.iter().enumerate() {
        text.push_str(comma(number));
        text.push_str(&format!(
            "\n    {}: {{\n      \"about\": {},\n      \"sessions\": [",
            serde_json::to_string(hash)?,
            serde_json::to_string(&machine.about)?
        ));
        for (number, session) in machine.sessions.iter().enumerate() {
            text.push_str(comma(number));
            text.push_str("\n        {\n");
            for (key, value) in [
                ("started", serde_json::to_string(&session.started)?),
                ("revision", serde_json::to_string(&session.revision)?),
                ("tare", serde_json::to_string(&session.tare)?),
                ("kernel", serde_json::to_string(&session.kernel)?),
                ("versions", serde_json::to_string(&session.versions)?),
            ] {
                text.push_str(&format!("          \"{key}\": {value},\n"));
            }
            text.push_str("          \"values\": {");
            for (number, (benchmark, values)) in session.values.iter().enumerate() {
                text.push_str(&format!(
                    "{}\n            {}: {}",
                    comma(number),
                    serde_json::to_string(benchmark)?,
                    serde_json::to_string(values)?
                ));
            }
            text.push_str("\n          }\n        }");
        }
        text.push_str("\n      ]\n    }");
    }
    text.push_str("\n  }\n}\n");
    Ok(text)
}

fn comma(number: usize) -> &'static str {
    match number {
        0 => "",
        _ => ",",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(started: &str) -> GoldenSession {
        GoldenSession {
            started: started.to_owned(),
            revision: Some("0123456789ab+".into()),
            tare: "0.1.0".into(),
            kernel: "6.18".into(),
            versions: [("go".to_owned(), "go1.26".to_owned())].into(),
            values: [
                (
                    "go: A".to_owned(),
                    [("ns/op".to_owned(), vec![1.5, 2.0])].into(),
                ),
                (
                    "go: \"B\"".to_owned(),
                    [("ns/op".to_owned(), vec![0.0])].into(),
                ),
            ]
            .into(),
        }
    }

    fn with_sessions(count: usize) -> GoldenFile {
        let mut golden = None;
        for number in 0..count {
            let one = session(&number.to_string());
            golden = Some(add(golden, GoldenUpdate::Add, "0a1b", "a machine", one));
        }
        golden.unwrap()
    }

    #[test]
    fn a_file_is_read_back_as_it_was_written_with_a_line_for_each_benchmark() {
        let golden = with_sessions(2);
        let text = render(&golden).unwrap();
        assert_eq!(parse("f", &text).unwrap(), golden);
        assert!(
            text.contains("\n            \"go: A\": {\"ns/op\":[1.5,2.0]}\n"),
            "{text}"
        );
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("perf.golden.json");
        assert_eq!(read(&path).unwrap(), None);
        write(&path, &golden).unwrap();
        assert_eq!(read(&path).unwrap(), Some(golden));
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
    }

    #[test]
    fn the_oldest_of_ten_sessions_goes_and_reset_begins_anew_for_this_machine_only() {
        let golden = with_sessions(12);
        let sessions = &golden.machines["0a1b"].sessions;
        let started: Vec<&str> = sessions.iter().map(|one| one.started.as_str()).collect();
        assert_eq!(
            started,
            ["2", "3", "4", "5", "6", "7", "8", "9", "10", "11"]
        );
        let golden = add(
            Some(golden),
            GoldenUpdate::Add,
            "ffff",
            "another",
            session("x"),
        );
        let golden = add(
            Some(golden),
            GoldenUpdate::Reset,
            "0a1b",
            "a machine",
            session("new"),
        );
        assert_eq!(golden.machines["0a1b"].sessions, [session("new")]);
        assert_eq!(golden.machines["ffff"].sessions, [session("x")]);
    }

    #[test]
    fn what_cannot_be_used_is_refused_with_its_line() {
        let text = render(&with_sessions(1)).unwrap();
        let told = |text: &str| parse("golden", text).unwrap_err().to_string();
        let conflict = told(&text.replace("  \"machines\"", "<<<<<<< HEAD\n  \"machines\""));
        assert!(
            conflict.contains("golden:3:1") && conflict.contains("conflict"),
            "{conflict}"
        );
        let newer = told(&text.replace("\"version\": 1", "\"version\": 2"));
        assert!(
            newer.contains("golden:2:1") && newer.contains("newer Tare"),
            "{newer}"
        );
        let cut = told(&text[..text.len() / 2]);
        assert!(cut.contains("golden:") && cut.contains("EOF"), "{cut}");
        let unknown = told(&text.replace("\"kernel\"", "\"kernal\""));
        assert!(
            unknown.contains("golden:11:") && unknown.contains("kernal"),
            "{unknown}"
        );
        assert!(told("[]").contains("golden:1:"));
    }

    #[test]
    fn a_link_in_the_place_of_the_file_is_not_followed() {
        let place = tempfile::tempdir().unwrap();
        let (path, other) = (
            place.path().join("perf.golden.json"),
            place.path().join("other"),
        );
        fs::write(&other, "mine").unwrap();
        std::os::unix::fs::symlink(&other, &path).unwrap();
        assert!(read(&path).is_err());
        assert!(write(&path, &with_sessions(1)).is_err());
        assert_eq!(fs::read_to_string(&other).unwrap(), "mine");
    }
}
