//! Suites: what is read, and what is refused with its place.

use std::fs;

use tempfile::TempDir;

use super::*;

const EXPERIMENT: &str = "question: Why?\n";

/// A library with two experiments, and a folder of suites beside it.
fn place(files: &[(&str, &str)]) -> (TempDir, Library) {
    let place = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = place.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("experiments/mesh/sidecar.yaml", EXPERIMENT);
    write("experiments/mesh/grid.yaml", EXPERIMENT);
    for (name, text) in files {
        write(&format!("suites/{name}"), text);
    }
    let library = Library::in_directory(place.path(), &[]);
    (place, library)
}

fn read(files: &[(&str, &str)]) -> Result<Suite, String> {
    let (place, library) = place(files);
    let file = place.path().join("suites").join(files[0].0);
    Suite::read(&file, &library).map_err(|problems| {
        let root = place.path().canonicalize().unwrap();
        let text = problems.to_string();
        let text = text.replace(&format!("{}/", root.display()), "");
        text.replace(&format!("{}/", place.path().display()), "")
    })
}

#[test]
fn experiments_loads_and_suites_become_one_list() {
    let suite = read(&[
        (
            "night.yaml",
            "budget: 6h\nacknowledged: known.yaml\nentries:\n\
             - {experiment: mesh/sidecar, limit: 30m}\n\
             - suite: more/loads.yaml\n\
             - {experiment: sidecar, quick: true, blocks: 9}\n\
             - experiment: own.yaml\n\
             - perfcheck: {folder: ../experiments, options: {margin: 3%, benchmarks: -x}}\n",
        ),
        ("own.yaml", EXPERIMENT),
        (
            "more/loads.yaml",
            "budget: 1m\nentries:\n- load: {url: \"http://127.0.0.1:1/\", labels: echo, \
             options: {rate: 2000, duration: 10s, http2: true, grpc: false, header: [a, b]}}\n",
        ),
        (
            "known.yaml",
            "changes:\n- {experiment: mesh/sidecar, arm: direct, metric: p99, since: 2026-11-26, note: as planned}\n",
        ),
    ]);
    let suite = suite.unwrap();
    assert_eq!(suite.budget, Some(Duration::from_secs(6 * 3600)));
    let names: Vec<&str> = suite
        .entries
        .iter()
        .map(|entry| entry.name.as_str())
        .collect();
    assert_eq!(
        names,
        [
            "mesh/sidecar",
            "load echo",
            "mesh/sidecar (quick) (9 blocks)",
            "own",
            "perfcheck ../experiments",
        ]
    );
    assert_eq!(suite.entries[0].limit, Some(Duration::from_secs(1800)));
    let Work::Load { arguments, .. } = &suite.entries[1].work else {
        panic!("{:?}", suite.entries[1]);
    };
    let mut sorted = arguments.clone();
    sorted.sort();
    assert_eq!(
        sorted.join(" "),
        "-- --duration=10s --header=a --header=b --http2 --labels=echo --rate=2000 http://127.0.0.1:1/"
    );
    assert_eq!(
        arguments[arguments.len() - 2..],
        ["--", "http://127.0.0.1:1/"]
    );
    let Work::Perfcheck { arguments, .. } = &suite.entries[4].work else {
        panic!("{:?}", suite.entries[4]);
    };
    assert_eq!(arguments, &["--margin=3%", "--benchmarks=-x"]);
    assert_eq!(suite.acknowledged[0].note, "as planned");
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    for (text, said) in [
        ("entries: []\n", "night.yaml:1:10"),
        (
            "entries:\n- {experiment: mesh/sidecar, golden: x}\n",
            "night.yaml:2:30: unknown key \"golden\"",
        ),
        (
            "entries:\n- {experiment: mesh/sidecars}\n",
            "2:16: there is no experiment \"mesh/sidecars\"",
        ),
        (
            "entries:\n- perfcheck: {folder: ../gone}\n",
            "2:23: suites/../gone is not a folder",
        ),
        (
            "entries:\n- perfcheck: {folder: ., options: {markdown: x}}\n",
            "2:36: a suite gives json and markdown itself",
        ),
        (
            "entries:\n- {perfcheck: {folder: .}, export: [{as: bmf}]}\n",
            "2:28: a golden check is not exported",
        ),
        ("entries:\n- {}\n", "2:3: an entry has exactly one of"),
        (
            "entries:\n- {experiment: grid, suite: night.yaml}\n",
            "2:3: an entry has exactly one of",
        ),
        (
            "entries:\n- {experiment: grid}\n- {experiment: mesh/grid}\n",
            "3:3: mesh/grid is in this suite already",
        ),
        (
            "entries:\n- {load: {labels: a}, quick: true}\n",
            "2:23: \"quick\" is for experiments",
        ),
        (
            "entries:\n- {suite: night.yaml, limit: 3s}\n",
            "2:23: a suite has no limit",
        ),
        (
            "entries:\n- {suite: night.yaml, export: [{as: bmf}]}\n",
            "2:23: a suite is not exported",
        ),
        (
            "entries:\n- {experiment: grid, export: [{as: xunit}]}\n",
            "night.yaml:2:",
        ),
        (
            "entries:\n- {experiment: grid, export: [{as: otlp}]}\n",
            "2:30: otlp needs its \"endpoint\"",
        ),
        (
            "entries:\n- {experiment: grid, export: [{as: bmf, endpoint: x}]}\n",
            "2:30: \"endpoint\" is for otlp",
        ),
        (
            "entries:\n- {experiment: grid, export: [{as: bmf, better: higher}]}\n",
            "2:30: \"better\" is for github-action-benchmark",
        ),
        (
            "entries:\n- {experiment: grid, export: [{as: bmf, file: ../x}]}\n",
            "2:30: \"../x\" leads out of",
        ),
        ("entries:\n- {suite: ../night.yaml}\n", "2:11: "),
        (
            "entries:\n- {load: {labels: a, options: {out: x}}}\n",
            "2:32: a suite gives",
        ),
        (
            "entries:\n- {load: {labels: a, options: {-x: x}}}\n",
            "2:32: an option is written as",
        ),
        (
            "entries:\n- {load: {labels: a, options: {rate: {}}}}\n",
            "2:32: an option is a number",
        ),
        (
            "acknowledged: none.yaml\nentries:\n- {experiment: grid}\n",
            "1:15: ",
        ),
    ] {
        let refused = read(&[("night.yaml", text)]).unwrap_err();
        assert!(refused.contains(said), "{text}{refused}");
    }
}

#[test]
fn suites_that_include_each_other_are_refused_with_the_circle() {
    let refused = read(&[
        ("a.yaml", "entries:\n- suite: b.yaml\n"),
        ("b.yaml", "entries:\n- suite: deeper/c.yaml\n"),
        ("deeper/c.yaml", "entries:\n- experiment: grid\n"),
    ]);
    assert_eq!(refused.unwrap().entries.len(), 1);
    let refused = read(&[
        ("a.yaml", "entries:\n- suite: b.yaml\n"),
        ("b.yaml", "entries:\n- experiment: grid\n- suite: a.yaml\n"),
    ]);
    assert_eq!(
        refused.unwrap_err(),
        "suites/b.yaml:3:10: suites include each other: suites/a.yaml includes suites/b.yaml includes suites/a.yaml"
    );
    let own = read(&[("a.yaml", "entries:\n- suite: a.yaml\n")]).unwrap_err();
    assert!(
        own.ends_with("suites/a.yaml includes suites/a.yaml"),
        "{own}"
    );
}

#[test]
fn the_suite_of_the_repository_is_read() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let library = Library::in_directory(&root, &[]);
    let suite = Suite::read(&root.join("suites/nightly.yaml"), &library).unwrap();
    let names = suite.entries.iter().map(|entry| entry.name.as_str());
    let study = "istio-performance";
    let wanted = ["sidecar", "grid", "acmeair"].map(|name| format!("{study}/{name}"));
    assert!(names.eq(wanted.iter()), "{:?}", suite.entries);
    assert!(suite.budget.is_some() && suite.acknowledged.is_empty());
}
