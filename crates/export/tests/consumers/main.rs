//! What is exported is read by the programs that it is for, and has the values of the run.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on says where by panicking"
)]

#[path = "../../../report/tests/fixture/mod.rs"]
#[allow(
    dead_code,
    reason = "each test binary uses its own part of the fixture"
)]
mod fixture;
mod programs;

use std::fs;
use std::path::{Path, PathBuf};

use fixture::{SampleRun, write_json};
use programs::{fortio, read};
use serde_json::{Value, json};
use tare_export::ExportSubject;
use tare_export::formats::{self, FormatOptions};
use tare_record::export::ExportFormat;
use tare_record::metric::Metric;
use tare_record::plan::{Assertion, AssertionSubject, Comparator, Plan};
use tare_record::record::{RunProgress, TargetCounter};
use tare_record::view::Better;

/// A name that every format has to escape.
const AWKWARD: &str = "study/a \"b\" <c> & d\\e ü";

const OPTIONS: FormatOptions = FormatOptions {
    better: Better::Lower,
    trial: None,
};

fn awkward(plan: &mut Plan) {
    plan.experiment = AWKWARD.to_owned();
    let claim = |text: &str, limit| Assertion {
        text: text.to_owned(),
        arm: Some("both-sidecars-mtls".to_owned()),
        level: Some("2000/s".to_owned()),
        of: AssertionSubject::Added(Metric::Median),
        comparison: Comparator::Below,
        limit,
    };
    plan.assertions = vec![
        claim("adds < 0.4 ms", 400_000.0),
        claim("adds < 0.315 ms", 315_000.0),
        claim("adds < 0.2 ms\u{7}", 200_000.0),
    ];
}

fn sample() -> SampleRun {
    let run = SampleRun {
        plan_edit: Some(awkward),
        ..SampleRun::sidecar()
    };
    run.edit(|record, _| {
        let counter = |name: &str, label: Option<&str>, value| TargetCounter {
            instance: "server".to_owned(),
            name: name.to_owned(),
            label: label.map(str::to_owned),
            value,
        };
        record.target_counters = vec![
            counter("messages-in", Some("orders"), 1000.0),
            counter("produce-ms", None, f64::from(record.block)),
        ];
    })
}

/// A place with a run.
struct Place {
    folder: tempfile::TempDir,
    run: PathBuf,
}

impl Place {
    fn of(run: &SampleRun) -> Place {
        let folder = tempfile::tempdir().unwrap();
        let run = run.write(folder.path()).unwrap();
        Place { folder, run }
    }

    fn subject(&self) -> ExportSubject {
        ExportSubject::read(&self.run).unwrap()
    }

    /// The document of a format, in a file.
    fn export(&self, format: ExportFormat, options: FormatOptions) -> String {
        self.export_all(format, &[self.subject()], options)
    }

    fn export_all(
        &self,
        format: ExportFormat,
        subjects: &[ExportSubject],
        options: FormatOptions,
    ) -> String {
        let text = formats::text(format, subjects, options).unwrap();
        let file = self.folder.path().join("exported");
        fs::write(&file, text).unwrap();
        file.display().to_string()
    }
}

/// The value of a metric of an arm at 2000/s, in Tare's unit.
fn value(subject: &ExportSubject, arm: &str, metric: Metric) -> f64 {
    let level = subject.view.levels.iter().find(|one| one.name == "2000/s");
    let cell = level.unwrap().cells.iter().find(|one| one.arm == arm);
    let mut figures = cell.unwrap().figures.iter();
    figures
        .find(|one| one.metric == metric)
        .unwrap()
        .value
        .unwrap()
}

/// The value of the only sample with these labels.
fn sample_of(families: &Value, name: &str, labels: &[(&str, &str)]) -> f64 {
    let base = name.strip_suffix("_total").unwrap_or(name);
    let samples = families[base]["samples"].as_array().unwrap();
    let has = |sample: &&Value| {
        labels
            .iter()
            .all(|(label, value)| sample[1][label] == *value)
    };
    let found: Vec<&Value> = samples.iter().filter(has).collect();
    assert_eq!(found.len(), 1, "{name} {labels:?}: {found:?}");
    assert_eq!(found[0][0], name);
    found[0][2].as_f64().unwrap()
}

fn is_near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * b.abs()
}

#[test]
fn the_client_of_prometheus_reads_every_family_with_its_unit() {
    let place = Place::of(&sample());
    let subject = place.subject();
    let families = read(
        "openmetrics",
        &[&place.export(ExportFormat::Openmetrics, OPTIONS)],
    );
    let latency = &families["tare_result_latency_seconds"];
    assert_eq!(
        (&latency["type"], &latency["unit"]),
        (&json!("gauge"), &json!("seconds"))
    );
    assert_eq!(families["tare_run_exchanges"]["type"], "counter");
    let cell = [("arm", "both-sidecars-mtls"), ("level", "2000/s")];
    let of = |name: &str, more: &[(&str, &str)]| {
        let named = [("experiment", AWKWARD)];
        sample_of(&families, name, &[&named[..], &cell, more].concat())
    };
    let p99 = of("tare_result_latency_seconds", &[("metric", "p99")]);
    assert!(
        is_near(p99 * 1e9, value(&subject, cell[0].1, Metric::P99)),
        "{p99}"
    );
    let cpu = of("tare_result_exchange_cpu_seconds", &[("metric", "cpu")]);
    assert!(
        is_near(cpu * 1e3, value(&subject, cell[0].1, Metric::Cpu)),
        "{cpu}"
    );
    let ends = ["low", "estimate", "high"].map(|bound| {
        let more = [
            ("metric", "median"),
            ("family", "primary"),
            ("bound", bound),
        ];
        of("tare_added_latency_seconds", &more)
    });
    assert!(ends[0] < ends[1] && ends[1] < ends[2], "{ends:?}");
    // The planted truth.
    assert!(ends[0] < 310e-6 && 310e-6 < ends[2], "{ends:?}");
    let more = [
        ("metric", "median"),
        ("family", "primary"),
        ("outcome", "differs"),
    ];
    assert_eq!(of("tare_verdict", &more), 1.0);
    assert!(of("tare_run_exchanges_total", &[("outcome", "ok")]) > 1000.0);
    assert_eq!(
        of(
            "tare_target_counter",
            &[("counter", "messages-in"), ("label", "orders")]
        ),
        1000.0
    );
    // 1, 2, 3, 4 and 5 ms in the five blocks.
    assert_eq!(
        of(
            "tare_target_counter_time_seconds",
            &[("counter", "produce")]
        ),
        0.003
    );
    assert!(of("tare_part_memory_bytes", &[("part", "server")]) > 0.0);
}

#[test]
fn the_messages_of_opentelemetry_take_the_request_and_keep_its_values() {
    let place = Place::of(&sample());
    let subject = place.subject();
    let request = read("otlp", &[&place.export(ExportFormat::Otlp, OPTIONS)]);
    let resource = &request["resourceMetrics"][0];
    let attribute = |of: &Value, key: &str| {
        let mut all = of["attributes"].as_array().unwrap().iter();
        let found = all.find(|one| one["key"] == key);
        found.map(|one| one["value"]["stringValue"].as_str().unwrap().to_owned())
    };
    let named = |key: &str| attribute(&resource["resource"], key).unwrap();
    assert_eq!(named("service.name"), "tare");
    assert_eq!(named("tare.run.id"), "2026-11-21T09-12-44-sidecar");
    assert_eq!(named("tare.experiment"), AWKWARD);
    let metrics = resource["scopeMetrics"][0]["metrics"].as_array().unwrap();
    let metric = |name: &str| metrics.iter().find(|one| one["name"] == name).unwrap();
    let latency = metric("tare.result.latency");
    assert_eq!(latency["unit"], "s");
    let points = latency["gauge"]["dataPoints"].as_array().unwrap();
    let mut of_cell = points.iter().filter(|point| {
        let is = |key, value: &str| attribute(point, key).as_deref() == Some(value);
        is("arm", "direct") && is("level", "2000/s") && is("metric", "p99")
    });
    let point = of_cell.next().unwrap();
    assert!(of_cell.next().is_none());
    let p99 = point["asDouble"].as_f64().unwrap();
    assert!(
        is_near(p99 * 1e9, value(&subject, "direct", Metric::P99)),
        "{p99}"
    );
    assert_eq!(point["timeUnixNano"], subject.ended_unix_ns().to_string());
    let exchanges = &metric("tare.run.exchanges")["sum"];
    assert_eq!(
        exchanges["aggregationTemporality"],
        "AGGREGATION_TEMPORALITY_CUMULATIVE"
    );
    assert_eq!(exchanges["isMonotonic"], true);
}

#[test]
fn a_parser_of_junit_finds_the_assertions_with_their_outcomes() {
    let place = Place::of(&sample());
    let found = read("junit", &[&place.export(ExportFormat::Junit, OPTIONS)]);
    let suite = &found[0];
    assert_eq!(suite["name"], AWKWARD);
    assert_eq!(suite["timestamp"], "2026-11-21T09:12:44");
    assert_eq!(suite["properties"]["run"], "2026-11-21T09-12-44-sidecar");
    let cases = suite["cases"].as_array().unwrap();
    let ended: Vec<(&str, Option<&str>)> = cases
        .iter()
        .map(|case| (case[0].as_str().unwrap(), case[2][0][0].as_str()))
        .collect();
    assert_eq!(
        ended,
        [
            ("run", None),
            ("adds < 0.4 ms", None),
            ("adds < 0.315 ms", Some("skipped")),
            ("adds < 0.2 ms\\u{7}", Some("failure")),
        ]
    );
    assert!(suite["out"].as_str().unwrap().contains("median"), "{suite}");

    for (progress, kind, said) in [
        (RunProgress::Running, "skipped", "was killed"),
        (RunProgress::Interrupted, "error", "was interrupted"),
    ] {
        let place = Place::of(&SampleRun {
            progress,
            ..sample()
        });
        let found = read("junit", &[&place.export(ExportFormat::Junit, OPTIONS)]);
        let ending = &found[0]["cases"][0][2][0];
        assert_eq!(ending[0], kind);
        let why = ending[1].as_str().unwrap();
        assert!(why.contains(said) && why.contains("5 of 5 blocks"), "{why}");
    }
}

#[test]
fn bencher_and_the_action_get_each_figure_once() {
    let place = Place::of(&sample());
    let subject = place.subject();
    let benchmarks = read("bmf", &[&place.export(ExportFormat::Bmf, OPTIONS)]);
    let direct = &benchmarks[format!("{AWKWARD}: direct at 2000/s")];
    let median = value(&subject, "direct", Metric::Median);
    assert_eq!(direct["latency"]["value"], median);
    let ends = ["lower_value", "upper_value"].map(|end| direct["latency"][end].as_f64().unwrap());
    assert!(ends[0] <= median && median <= ends[1], "{ends:?}");
    assert_eq!(
        direct["throughput"]["value"],
        value(&subject, "direct", Metric::Throughput)
    );

    for (better, wanted, other, unit) in [
        (Better::Lower, "median", "throughput", "ns"),
        (Better::Higher, "throughput", "median", "per s"),
    ] {
        let options = FormatOptions { better, ..OPTIONS };
        let file = place.export(ExportFormat::GithubActionBenchmark, options);
        let results = read("github_action_benchmark", &[&file]);
        let of = |metric: &str| {
            let name = format!("{AWKWARD}: direct at 2000/s, {metric}");
            let mut all = results.as_array().unwrap().iter();
            all.find(|one| one["name"] == name).cloned()
        };
        assert_eq!(of(wanted).unwrap()["unit"], unit);
        assert!(
            of(wanted).unwrap()["range"]
                .as_str()
                .unwrap()
                .starts_with("± ")
        );
        assert_eq!(of(other), None);
    }
}

/// Twelve runs, the last six of them slower by a planted half of a millisecond.
#[test]
fn otava_finds_the_planted_change_in_the_rows() {
    let place = Place::of(&sample());
    let mut subjects = Vec::new();
    for number in (0..12).rev() {
        let mut run = SampleRun {
            rates_per_s: vec![400],
            blocks: 3,
            blocks_planned: 3,
            window_s: 2,
            aa_check: false,
            seed: number,
            plan_edit: Some(awkward),
            ..SampleRun::sidecar()
        };
        run.arms.truncate(2);
        if number >= 6 {
            run.arms[1].added_us += 500.0;
        }
        let parent = place.folder.path().join(number.to_string());
        let folder = run.write(&parent).unwrap();
        let mut state: Value =
            serde_json::from_slice(&fs::read(folder.join("run.json")).unwrap()).unwrap();
        let last = state["started_unix_us"].as_u64().unwrap();
        // Otava leaves out what is in the future.
        state["started_unix_us"] = (last - (30 - number) * 86_400_000_000).into();
        write_json(&folder.join("run.json"), &state).unwrap();
        let named = parent.join(format!("run-{number}"));
        fs::rename(folder, &named).unwrap();
        subjects.push(ExportSubject::read(&named).unwrap());
    }
    let arm = subjects[0].view.arms[1].name.clone();
    let file = place.export_all(ExportFormat::Otava, &subjects, OPTIONS);
    let changes = read("otava", &[&file, &format!("{arm} 400/s median")]);
    let changes = changes.as_array().unwrap();
    assert_eq!(changes.len(), 1, "{changes:?}");
    assert_eq!(changes[0]["attributes"]["run"], "run-6");
    assert_eq!(changes[0]["changes"][0]["index"], 6);

    let other = place.subject();
    let refused = formats::text(
        ExportFormat::Otava,
        &[
            other,
            ExportSubject::read(&rewritten(place.folder.path())).unwrap(),
        ],
        OPTIONS,
    );
    let said = refused.unwrap_err().to_string();
    assert!(said.contains("several experiments"), "{said}");
}

/// A run of another experiment.
fn rewritten(parent: &Path) -> PathBuf {
    let run = SampleRun {
        plan_edit: Some(|plan| plan.experiment = "another".to_owned()),
        ..SampleRun::sidecar()
    };
    run.write(&parent.join("another")).unwrap()
}

#[test]
fn fortio_reads_a_trial_as_its_own_result() {
    let place = Place::of(&sample());
    let subject = place.subject();
    let mut numbers = subject.view.trials.iter();
    let trial = numbers.find(|one| one.level == "2000/s").unwrap().trial;
    let options = FormatOptions {
        trial: Some(trial),
        ..OPTIONS
    };
    let said = fortio(&place.export(ExportFormat::Fortio, options));
    // 2000 requests a second for 6 seconds.
    assert!(said.starts_with("requests 12000, errors 0,"), "{said}");
    assert!(said.contains("# target 99%"), "{said}");

    for trial in [None, Some(9999)] {
        let options = FormatOptions { trial, ..OPTIONS };
        let refused = formats::text(ExportFormat::Fortio, &[place.subject()], options);
        let said = refused.unwrap_err().to_string();
        assert!(said.contains("say --trial N, 1 to"), "{said}");
    }
}
