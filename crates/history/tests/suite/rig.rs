//! A home with experiments and a suite, and a stand-in for `tare` that does what a test says.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use crate::maker::{DAY, edit, measure};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tare_record::api::{
    EntryOutcome, HistoryCommand, HistoryOptions, HistoryOutput, NightReport, ScreenOptions,
    SeriesFilter, SuiteOptions,
};

/// Start of the first run: 2026-11-21.
pub const START: u64 = 1_795_252_364_000_000;
/// Longest wait for what a test waits for.
const WAIT: Duration = Duration::from_secs(60);

const SCREEN: ScreenOptions = ScreenOptions {
    width: 100,
    colour: false,
};

/// Notes the call, then does what the file of the experiment says, or `ab`.
const STAND_IN: &str = r#"#!/bin/sh
here=$(dirname "$0")
echo "$*" >> "$here/calls"
case "$1" in
run) name=$(basename "$2" .yaml) ;;
*) name=$1 ;;
esac
for out; do :; done
. "$here/do/$name"
"#;

/// Moves the next prepared run into the directory of runs.
pub const NEXT_RUN: &str = r#"
next=$(ls "$here/pool" | head -n 1)
mv "$here/pool/$next" "$out/$next"
echo "{\"event\":\"started\",\"folder\":\"$out/$next\",\"trials\":1,\"done\":0}"
"#;

/// Goes on until it is interrupted, and says so.
pub const UNTIL_INTERRUPTED: &str = r#"
trap 'echo interrupted >> "$here/calls"; exit 130' INT
echo started > "$here/started"
while :; do sleep 0.05; done
"#;

/// A home with experiments, a suite, and the stand-in.
pub struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    /// Experiments by name, with what the stand-in does for each.
    pub fn new(suite: &str, does: &[(&str, &str)]) -> Place {
        let place = Place {
            folder: tempfile::tempdir().unwrap(),
        };
        for folder in ["experiments/mesh", "do", "pool", "targets/envoy"] {
            fs::create_dir_all(place.at(folder)).unwrap();
        }
        place.write("targets/envoy/target.yaml", "");
        place.write("suite.yaml", suite);
        place.write("tare", STAND_IN);
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(place.at("tare"), mode).unwrap();
        for (name, text) in does {
            place.write(&format!("experiments/mesh/{name}.yaml"), "question: Why?\n");
            place.write(&format!("do/{name}"), text);
        }
        place
    }

    pub fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        fs::write(self.at(name), text).unwrap();
    }

    pub fn calls(&self) -> Vec<String> {
        let calls = fs::read_to_string(self.at("calls")).unwrap_or_default();
        fs::write(self.at("calls"), "").unwrap();
        let short = |line: &str| {
            let root = format!("{}/", self.folder.path().canonicalize().unwrap().display());
            let named = format!("{}/", self.folder.path().display());
            line.replace(&root, "").replace(&named, "")
        };
        calls.lines().map(short).collect()
    }

    pub fn command(&self, edit: impl Fn(&mut SuiteOptions)) -> Command {
        let mut options = SuiteOptions {
            file: self.at("suite.yaml"),
            runs: self.at("runs"),
            quick: false,
            confirm: false,
            json: true,
            tare: self.at("tare"),
            home: self.folder.path().to_owned(),
            screen: SCREEN,
        };
        edit(&mut options);
        let mut command = Command::new(env!("CARGO_BIN_EXE_tare-history"));
        command.arg(serde_json::to_string(&HistoryCommand::Suite(options)).unwrap());
        command
    }

    pub fn run(&self) -> NightReport {
        report(&self.command(|_| {}).output().unwrap())
    }

    /// What `tare history EXPERIMENT --changes` prints.
    pub fn history(&self, experiment: &str) -> String {
        let options = HistoryOptions {
            runs: self.at("runs"),
            filter: SeriesFilter {
                experiment: Some(experiment.to_owned()),
                ..SeriesFilter::default()
            },
            changes: true,
            last: 50,
            output: HistoryOutput::Text,
            screen: SCREEN,
        };
        let mut command = Command::new(env!("CARGO_BIN_EXE_tare-history"));
        command.arg(serde_json::to_string(&HistoryCommand::History(options)).unwrap());
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    }

    pub fn start(&self) -> Child {
        let mut command = self.command(|_| {});
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    /// Waits until a file is there.
    pub fn wait_for(&self, name: &str) {
        let looks = WAIT.as_millis() / 20;
        for _ in 0..looks {
            if self.at(name).exists() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("{name} did not appear");
    }

    /// Prepares a run for [`NEXT_RUN`]: night, what the proxy adds to a latency, version of the proxy.
    pub fn prepare(&self, night: u64, added_us: f64, version: &str) {
        let name = format!("night-{night:02}");
        let pool = self.at("pool");
        measure(&pool, &name, (START + night * DAY, added_us), &json!({}));
        let file = pool.join(name).join("environment.json");
        let mut environment: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        environment["targets"]["envoy"]["version"] = version.into();
        edit(&file, &json!({ "targets": environment["targets"] }));
    }
}

pub fn report(output: &Output) -> NightReport {
    let report: NightReport = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    assert_eq!(output.status.code(), Some(i32::from(report.exit_code)));
    report
}

pub fn outcomes(report: &NightReport) -> Vec<(&str, EntryOutcome)> {
    let entries = report.entries.iter();
    entries
        .map(|entry| (entry.name.as_str(), entry.outcome))
        .collect()
}

pub fn nights(place: &Place) -> Vec<PathBuf> {
    let nights = fs::read_dir(place.at("runs/nights")).unwrap();
    let mut nights: Vec<PathBuf> = nights.map(|night| night.unwrap().path()).collect();
    nights.sort_by_key(|night| {
        let name = night.file_name().unwrap().to_string_lossy().into_owned();
        (name.len(), name)
    });
    nights
}

pub fn interrupt(child: &Child) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
}
