//! The style that a reader relies on, checked: openings, lengths, names, arrows, freshness of what is generated.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on says where by panicking"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Longest source file; tests, tables and generated files aside.
const LINES_MAX: usize = 600;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

/// Every file below `folder` with this ending, build output and packages aside.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                if !["target", "node_modules", ".git", "runs", "dist"].contains(&name.as_str())
                    || folder.ends_with("crates/experiment/src")
                {
                    open.push(path);
                }
            } else if name.ends_with(ending) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn rust_files() -> Vec<PathBuf> {
    let mut all = files(&root().join("crates"), ".rs");
    all.extend(files(&root().join("apps"), ".rs"));
    all.extend(files(&root().join("targets"), ".rs"));
    all
}

#[test]
fn every_source_file_opens_with_one_sentence_saying_what_it_is_for() {
    let bare: Vec<_> = rust_files()
        .into_iter()
        .filter(|path| !fs::read_to_string(path).unwrap().starts_with("//! "))
        .collect();
    assert!(bare.is_empty(), "no opening sentence: {bare:#?}");
}

#[test]
fn no_source_file_is_about_two_things() {
    let long: Vec<_> = rust_files()
        .into_iter()
        .filter(|path| !path.to_string_lossy().contains("/tests"))
        .filter_map(|path| {
            let lines = fs::read_to_string(&path).unwrap().lines().count();
            (lines > LINES_MAX).then_some((path, lines))
        })
        .collect();
    assert!(long.is_empty(), "over {LINES_MAX} lines: {long:#?}");
}

#[test]
fn no_file_has_a_name_that_says_nothing() {
    let vague: Vec<_> = rust_files()
        .into_iter()
        .filter(|path| {
            let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
            [
                "util", "utils", "helper", "helpers", "common", "misc", "manager",
            ]
            .contains(&stem.as_str())
        })
        .collect();
    assert!(vague.is_empty(), "{vague:#?}");
}

#[test]
fn no_target_is_known_by_name_to_those_who_measure_judge_and_show() {
    let targets: Vec<String> = fs::read_dir(root().join("targets"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        // Tare's own server shares its name with an everyday word.
        .filter(|name| name != "origin" && !name.contains('.'))
        .collect();
    assert!(targets.len() >= 3, "targets: {targets:?}");
    let mut known = Vec::new();
    for krate in ["conduct", "stats", "report", "kubernetes"] {
        for path in files(&root().join("crates").join(krate).join("src"), ".rs") {
            if path.to_string_lossy().contains("tests") {
                continue;
            }
            let text = fs::read_to_string(&path).unwrap().to_lowercase();
            let product: String = text
                .split("#[cfg(test)]")
                .next()
                .unwrap_or_default()
                .lines()
                // An example in a comment decides nothing.
                .filter(|line| !line.trim_start().starts_with("//"))
                .collect();
            for target in targets
                .iter()
                .filter(|target| product.contains(target.as_str()))
            {
                known.push(format!("{}: {target}", path.display()));
            }
        }
    }
    assert!(known.is_empty(), "{known:#?}");
}

/// Crate → the crates of ours that it uses (tests aside), read from the manifests.
fn arrows() -> BTreeMap<String, Vec<String>> {
    let mut arrows = BTreeMap::new();
    for path in files(&root().join("crates"), "Cargo.toml") {
        let text = fs::read_to_string(&path).unwrap();
        let name = path.parent().unwrap().file_name().unwrap();
        let uses: Vec<String> = text
            .split("[dependencies]")
            .nth(1)
            .unwrap_or_default()
            .lines()
            .take_while(|line| !line.starts_with('['))
            .filter_map(|line| {
                line.strip_prefix("tare-")
                    .or(line.starts_with("no-schema").then_some(line))
            })
            .filter_map(|line| line.split(['.', ' ', '=']).next())
            .map(str::to_owned)
            .collect();
        arrows.insert(name.to_string_lossy().into_owned(), uses);
    }
    arrows
}

#[test]
fn the_architecture_page_shows_the_arrows_that_are_there() {
    let page = fs::read_to_string(root().join("docs/ARCHITECTURE.md")).unwrap();
    assert!(page.lines().count() <= 300, "the page is a map, not a book");
    let mut drawn = BTreeMap::new();
    for line in page.lines().filter(|line| line.starts_with("| `crates/")) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let name = cells[1].trim_matches('`').trim_start_matches("crates/");
        let mut uses: Vec<String> = cells[2]
            .split(',')
            .map(|word| word.trim().trim_matches('`').to_owned())
            .filter(|word| !word.is_empty() && word != "–")
            .collect();
        uses.sort();
        drawn.insert(name.to_owned(), uses);
    }
    let mut there = arrows();
    there.values_mut().for_each(|uses| uses.sort());
    assert_eq!(
        drawn, there,
        "docs/ARCHITECTURE.md (left) against the manifests (right)"
    );
}

#[test]
fn crate_arrows_never_turn_back() {
    let order = "no-schema record experiment stats tls http2-frames kafka kafka-admin mongo load load-kafka rate-search proto origin net lab lab-kafka kubernetes test-cluster conduct report program export history perfcheck serve fuzzing cli with-kafka";
    let order: Vec<&str> = order.split(' ').collect();
    let rank = |name: &str| order.iter().position(|known| *known == name);
    for (name, uses) in arrows() {
        for used in uses {
            assert!(
                rank(&used).unwrap() < rank(&name).unwrap(),
                "{name} uses {used}"
            );
        }
    }
}

/// `timestamps_before_send` stands for all counters of the generator: it was added in the place that counts, in the list of
/// counters and in the report.
#[test]
fn a_counter_is_counted_listed_and_shown_in_a_file_each() {
    let mut product = files_that_name("none", &["timestamps_before_send"]);
    product.retain(|name| !name.ends_with("tests.rs"));
    let places = [
        "crates/load/src/engine/recorder.rs",
        "crates/record/src/agent/counts.rs",
        "crates/report/src/tables/figures.rs",
    ];
    assert_eq!(product, places);
}

/// Product files outside of `own` that hold one of these texts.
fn files_that_name(own: &str, texts: &[&str]) -> Vec<String> {
    let names = rust_files().into_iter().filter_map(|path| {
        let text = fs::read_to_string(&path).unwrap();
        let name = path.strip_prefix(root()).unwrap().display().to_string();
        let is_there = texts.iter().any(|one| text.contains(one));
        (is_there && name.contains("/src/") && !name.starts_with(own)).then_some(name)
    });
    names.collect()
}

/// rustls returns an error when a signal interrupts a write or a handshake.
#[test]
fn tls_over_blocking_sockets_is_where_interrupted_calls_are_repeated() {
    let texts = [
        "StreamOwned",
        ".complete_io(",
        "rustls::Stream",
        "Stream::new(&mut",
    ];
    let found = files_that_name("crates/tls/src/blocking.rs", &texts);
    assert!(found.is_empty(), "use tare_tls::over: {found:?}");
}

/// `study_summary` stands for all sections of the report, and CSV for all outputs.
#[test]
fn a_section_of_the_report_and_an_output_are_named_in_two_files_each() {
    let section = files_that_name(
        "crates/report/src/study_summary",
        &["study_summary::table", "mod study_summary;"],
    );
    assert_eq!(
        section,
        ["crates/report/src/lib.rs", "crates/report/src/tables.rs"]
    );
    let output = files_that_name(
        "crates/report/src/csv.rs",
        &["tare_report::csv", "mod csv;"],
    );
    // The history and the exports have CSV of their own, whose fields are written in the same way.
    let own = ["crates/history/", "crates/export/"];
    let output: Vec<&String> = output
        .iter()
        .filter(|name| !own.iter().any(|crate_of| name.starts_with(crate_of)))
        .collect();
    assert_eq!(
        output,
        [
            "crates/cli/src/commands/report.rs",
            "crates/report/src/lib.rs"
        ]
    );
}

#[test]
fn a_protocol_is_named_in_its_folder_and_in_the_list_of_protocols_alone() {
    // The server's and the fuzzer's side have folders of their own.
    let allowed = [
        "crates/load/src/protocols/udp",
        "crates/load/src/protocols/mod.rs",
        "crates/origin/",
        "crates/cli/src/commands/origin.rs",
        "crates/fuzzing/",
    ];
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut found = Vec::new();
    for path in rust_files() {
        let name = path.strip_prefix(root()).unwrap().display().to_string();
        if !name.contains("/src/") || allowed.iter().any(|start| name.starts_with(start)) {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap().to_lowercase();
        // Comments name examples; those of arguments are help texts.
        let is_help = |line: &str| name.starts_with("crates/cli/") && line.starts_with("///");
        let code = text
            .lines()
            .filter(|line| !line.trim_start().starts_with("//") || is_help(line.trim_start()));
        let names = |line: &str| line.split(|c| !is_word(c)).any(|word| word == "udp");
        found.extend(
            code.filter(|line| names(line))
                .map(|line| format!("{name}: {line}")),
        );
    }
    assert!(found.is_empty(), "{found:#?}");
}

/// Names that a newcomer could not guess. What each became is in the history; docs/TERMS.md has the terms in use.
const REPLACED_NAMES: &str = "AccountError as_published asked_per_s AskError AsPublished background_part_share \
    backlog_records baseline_runs BaselineRuns Beds BehaviourValid Bell bring_back broke_off BrokeOff BrokerView \
    buried bury BytesRead BytesWritten CannotBeTold capture_port carry_out Chooser connection_faults ConnectPlan \
    core_unbooked CountsOne Deed Desk despair Dialler disordered DistanceView Disturbance DisturbanceView \
    DisturbedTrial done_some DrainState Ear EventDef EventMark EventRecord exchanges_per_connection Fed Fence \
    FetchDepth FetchShare Figured Floods foreign_cpu_ns ForeignLoad forsake Gaps GIVEN_BYTES_MAX Ground GroupSummary \
    Guarded Handshaken Heard heed_group holder_pid Impostor Inhabitant inhabitants Inlet InstrumentView is_obeyed \
    kept_per_s Lane Ledger limited_periods limits_if LinkDef Looped Meet missed_per_s MomentPoint negative_ages Noted \
    nothing_to_tell Occasion open_over OursReport Outbox OwnDef part_cores part_cores_busy part_cpus PartUsage \
    pay_debts Picture PlannedEvent PodDoor Precedence prevents_if Punctuality Ragged read_below read_given \
    ReadErrorKind ReadingCost RecordsRead RecordsWritten RecordWay Rehearsed Remedy requests_at resumable \
    right_by_status Roster RUBBISH RUN_MAX Rung say_goodbye Scene sent_again Shaken Shelf shown_json shown_lines \
    silent_ns Speaker Speaks stamped_by_us stamps_of_run Stay StepDef Storm Telescope text_given think_ns \
    think_spread TlsSeen ToldRow ToldView TopicView TryReport unasked_packets Unfilled unjudged Unlike Varied \
    VerifyView Wanted WayUsage WayView Went Worked";

#[test]
fn names_that_were_replaced_do_not_come_back() {
    let replaced: Vec<&str> = REPLACED_NAMES.split(' ').collect();
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut found = Vec::new();
    for path in rust_files() {
        if path.ends_with("tests/tidy.rs") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let code = text
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"));
        let old = code.flat_map(|line| line.split(|letter| !is_word(letter)));
        let old = old.filter(|word| replaced.contains(word));
        found.extend(old.map(|word| (path.clone(), word.to_owned())));
    }
    assert!(found.is_empty(), "see docs/TERMS.md: {found:#?}");
}

/// Public types of one name in more than one place: the name, and why each is the best name where it stands. A reader who
/// searches for a type finds several of these, so a new one needs a reason.
const SHARED_TYPE_NAMES: &[(&str, &str)] = &[
    ("Args", "arguments of a command, in the command's module"),
    (
        "Assertion",
        "of an experiment, and of `tare load`: one concept, two sets of metrics",
    ),
    (
        "Cluster",
        "a Kafka cluster: of a load's client, of the administration, of a test",
    ),
    (
        "Codec",
        "of HTTP/1.1, of HTTP/2; Kafka's word for a compression",
    ),
    (
        "CodecError",
        "sibling modules of one shape: HTTP/1.1, HTTP/2",
    ),
    (
        "Condition",
        "`p99 < 5ms` of an objective, `if:` of a session",
    ),
    ("Conn", "a connection of the protocol in whose folder it is"),
    (
        "Connector",
        "how sockets are opened: to brokers, from a pod",
    ),
    (
        "Context",
        "what a template sees; connection and time of a MongoDB command",
    ),
    ("Difference", "of two figures, of two replicas"),
    ("Direction", "of a transfer, of a difference"),
    ("ErrorCode", "as RFC 9113 and Kafka call it"),
    (
        "Event",
        "what a codec, a socket, a Kafka client or a run reports",
    ),
    (
        "Identity",
        "a certificate with its key: in a plan, in a template, of the origin",
    ),
    ("Limits", "of what it limits: a codec, the origin, a plan"),
    ("MessageError", "of a gRPC message, of a MongoDB message"),
    (
        "Outcome",
        "of a comparison, and of its row in the view (decision 0010)",
    ),
    ("Outgoing", "sibling modules of one shape: HTTP/1.1, HTTP/2"),
    (
        "Output",
        "bytes to be sent on an HTTP/2 connection, where a table is shown",
    ),
    ("Prepared", "sibling modules of one shape: HTTP/1.1, HTTP/2"),
    (
        "RequestError",
        "sibling modules of one shape: HTTP/1.1, HTTP/2",
    ),
    ("Rule", "of scripted peers in tests"),
    ("StopHandle", "stops a load, stops the origin"),
    ("Value", "of a session's variable, of YAML, of BSON"),
    ("Writer", "of a histogram log, of BSON"),
];

/// The name of the public type that a line declares.
fn public_type(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("pub ")?;
    let (kind, rest) = rest.split_once(' ')?;
    let end = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
    let name = &rest[..end.unwrap_or(rest.len())];
    ["struct", "enum", "trait", "type"]
        .contains(&kind)
        .then_some(name)
}

#[test]
fn public_types_of_one_name_have_a_reason() {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in files(&root().join("crates"), ".rs") {
        let place = path.strip_prefix(root()).unwrap().display().to_string();
        let stem = path.file_stem().unwrap().to_string_lossy();
        if !place.contains("/src/") || place.contains("/tests/") || stem.ends_with("tests") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        for name in text.lines().filter_map(public_type) {
            places
                .entry(name.to_owned())
                .or_default()
                .push(place.clone());
        }
    }
    places.retain(|_, files| files.len() > 1);
    let reason = |name: &str| SHARED_TYPE_NAMES.iter().any(|(known, _)| *known == name);
    let without: Vec<_> = places.iter().filter(|(name, _)| !reason(name)).collect();
    assert!(
        without.is_empty(),
        "rename one, or give a reason: {without:#?}"
    );
    let stale = SHARED_TYPE_NAMES
        .iter()
        .filter(|(name, _)| !places.contains_key(*name));
    let stale: Vec<_> = stale.collect();
    assert!(
        stale.is_empty(),
        "names that are not shared any more: {stale:#?}"
    );
}

/// Phrases that a reader would not search for; docs/TERMS.md has the terms.
const REPLACED_PHRASES: [&str; 35] = [
    "right answer",
    "went wrong",
    "full speed",
    "answered rightly",
    "broke off",
    "the instrument was",
    "released in bursts",
    "nobody asked",
    "not alike",
    "taken apart",
    "silent for",
    "wraps nothing",
    "bunched arrivals",
    "arrivals bunched",
    "intended arrivals",
    "stands here, not",
    "stands twice",
    "is given twice",
    "blocks are whole",
    "did not carry",
    "cores per 1000",
    "waiting for a core",
    "No knee of",
    "unknown-names",
    "unknown-connections",
    "tls-no-certificate",
    "baseline_runs",
    "counts-one",
    "records-written",
    "bytes-written",
    "produce-to-three",
    "authority.pem\"",
    "identity.authority",
    "listen.captured",
    "backlog_records",
];

#[test]
fn phrases_that_were_replaced_do_not_come_back() {
    let mut all = rust_files();
    all.retain(|path| !path.to_string_lossy().contains("/tests"));
    all.extend(files(&root().join("docs"), ".md"));
    all.extend(["web/src", "web/tests"].iter().flat_map(|at| {
        let at = root().join(at);
        [".ts", ".tsx"].iter().flat_map(move |end| files(&at, end))
    }));
    all.extend(
        ["experiments", "workloads", "targets"]
            .iter()
            .flat_map(|at| files(&root().join(at), ".yaml")),
    );
    // Decisions quote the old words.
    all.retain(|path| !path.to_string_lossy().contains("docs/decisions"));
    let found: Vec<_> = all
        .iter()
        .flat_map(|path| {
            let text = fs::read_to_string(path).unwrap();
            let old = REPLACED_PHRASES
                .iter()
                .filter(|phrase| text.contains(**phrase));
            old.map(|phrase| (path.clone(), *phrase))
                .collect::<Vec<_>>()
        })
        .collect();
    assert!(found.is_empty(), "see docs/TERMS.md: {found:#?}");
}

/// SHA-256 over name, NUL, content, NUL of every source of the pages, sorted by name (web/README.md).
fn web_sources_digest() -> String {
    use sha2::{Digest, Sha256};
    let web = root().join("web");
    let mut names: Vec<String> = [
        "index.html",
        "package.json",
        "package-lock.json",
        "tsconfig.json",
        "vite.config.ts",
    ]
    .map(str::to_owned)
    .into();
    for path in files(&web.join("src"), "") {
        let name = path.strip_prefix(&web).unwrap();
        names.push(name.to_str().unwrap().to_owned());
    }
    names.sort();
    let mut hash = Sha256::new();
    for name in names {
        hash.update(&name);
        hash.update([0]);
        hash.update(fs::read(web.join(&name)).unwrap());
        hash.update([0]);
    }
    hash.finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

#[test]
fn the_committed_pages_were_built_from_the_committed_sources() {
    for page in ["report.html", "app/index.html"] {
        let text = fs::read_to_string(root().join("web/dist").join(page)).unwrap();
        let written = text
            .split("name=\"tare-web-sources\" content=\"sha256:")
            .nth(1)
            .and_then(|rest| rest.get(..64))
            .expect("the page says the hash of its sources");
        assert_eq!(
            written,
            web_sources_digest(),
            "web/dist/{page}: run `npm run build` in web/ and commit web/dist"
        );
    }
}

#[test]
fn the_page_draws_the_version_of_the_format_that_reports_are_written_in() {
    let source = fs::read_to_string(root().join("web/src/data.ts")).unwrap();
    let expected = format!("export const VERSION = {};", tare_record::FORMAT_VERSION);
    assert!(source.contains(&expected), "web/src/data.ts: {expected}");
}

#[test]
fn the_page_of_formats_names_the_version_that_is_written_and_the_changelog_says_what_it_changed() {
    let version = tare_record::FORMAT_VERSION;
    let page = fs::read_to_string(root().join("docs/FORMAT.md")).unwrap();
    assert!(
        page.contains(&format!("(`version`), currently {version}.")),
        "docs/FORMAT.md: {version}"
    );
    let changes = fs::read_to_string(root().join("CHANGELOG.md")).unwrap();
    assert!(
        changes.contains(&format!("Format version {version}: ")),
        "CHANGELOG.md: {version}"
    );
}

/// Files that read all variables: to find those of targets.
const READ_ALL: [&str; 2] = ["crates/lab/src/fetch.rs", "crates/lab/src/variables.rs"];

/// Reads of a variable that the user names: file, and argument of the call.
const NAMED_BY_USERS: [(&str, &str); 1] = [("crates/record/src/metrics_source.rs", "name")];

/// Names of the environment variables that a file reads: literals, constants of the file, else the argument of the call.
fn variables_read(text: &str) -> Vec<String> {
    let constant = |name: &str| {
        let declaration = format!("const {name}: &str = \"");
        let rest = text.split(&declaration).nth(1)?;
        rest.split('"').next().map(str::to_owned)
    };
    let calls = ["env::var(", "env::var_os("];
    let reads = calls.iter().flat_map(|call| text.split(call).skip(1));
    let arguments = reads.map(|rest| rest.split(')').next().unwrap_or_default().trim());
    arguments
        .map(|argument| match argument.strip_prefix('"') {
            Some(literal) => literal.trim_end_matches('"').to_owned(),
            None => constant(argument).unwrap_or_else(|| argument.to_owned()),
        })
        .collect()
}

#[test]
fn every_environment_variable_that_is_read_is_in_the_table() {
    let page = fs::read_to_string(root().join("docs/COMMAND-LINE.md")).unwrap();
    let rows = page.lines().filter(|line| line.starts_with("| "));
    let first_cells = rows.filter_map(|line| line.split('|').nth(1));
    let known: Vec<&str> = first_cells
        .flat_map(|cell| cell.split('`').skip(1).step_by(2))
        .collect();
    assert!(known.contains(&"TARE_BINARY_<TARGET>"), "{known:?}");
    let mut missing = Vec::new();
    for path in rust_files() {
        let name = path.strip_prefix(root()).unwrap().display().to_string();
        // Build scripts read what cargo sets.
        if name.contains("/tests") || name.ends_with("build.rs") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        if text.contains("env::vars") && !READ_ALL.contains(&name.as_str()) {
            missing.push(format!("{name} reads all variables"));
        }
        for variable in variables_read(&text) {
            let is_named = NAMED_BY_USERS.contains(&(name.as_str(), variable.as_str()));
            if !is_named && !known.contains(&variable.as_str()) {
                missing.push(format!("{name}: {variable}"));
            }
        }
    }
    for name in [
        "tare",
        "test",
        "bench/harness.py",
        "fuzz/run",
        "scripts/check-crates",
        "scripts/repeat-tests",
    ] {
        let text = fs::read_to_string(root().join(name)).unwrap();
        let words = text.split(|c: char| !c.is_ascii_uppercase() && c != '_');
        let own = words.filter(|word| word.starts_with("TARE_"));
        let lost = own.filter(|word| !known.contains(word));
        missing.extend(lost.map(|word| format!("{name}: {word}")));
    }
    assert!(missing.is_empty(), "docs/COMMAND-LINE.md: {missing:#?}");
}

/// The beginning of a text up to the bracket that closes the one before it, brackets in literals aside.
fn up_to_closing(text: &str) -> &str {
    let (mut depth, mut is_literal, mut is_escaped) = (1, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_literal => is_escaped = true,
            b'"' => is_literal = !is_literal,
            b'(' | b'[' | b'{' if !is_literal => depth += 1,
            b')' | b']' | b'}' if !is_literal => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &text[..at];
        }
    }
    text
}

/// Calls of `bad_input` and `unmeasured` that make a text of an error, which has no causes any more.
fn errors_made_texts(text: &str) -> Vec<&str> {
    let calls = ["bad_input(", "unmeasured("].into_iter();
    let arguments = calls.flat_map(|call| text.split(call).skip(1).map(up_to_closing));
    let is_text = |argument: &&str| {
        ["error", "why", "cause", "source"].iter().any(|name| {
            [
                format!("{{{name}}}"),
                format!("{{{name}:"),
                format!("{name}.to_string()"),
                format!(", {name})"),
            ]
            .iter()
            .any(|form| argument.contains(form))
        })
    };
    arguments.filter(is_text).collect()
}

#[test]
fn no_error_of_the_input_loses_its_causes() {
    for lossy in [
        "read.map_err(|error| bad_input(format!(\"{path}: {error}\")))?;",
        "Err(unmeasured(format!(\"{} (never): {}\", path, why)))",
        "bad_input(error.to_string())",
    ] {
        assert_eq!(errors_made_texts(lossy).len(), 1, "{lossy}");
    }
    let kept = "read.with_context(|| format!(\"cannot read {path}\")).map_err(bad_input)?; bad_input(\"an error\")";
    assert!(errors_made_texts(kept).is_empty());
    let mut lossy = Vec::new();
    for folder in ["crates/cli/src", "crates/with-kafka/src"] {
        for path in files(&root().join(folder), ".rs") {
            let text = fs::read_to_string(&path).unwrap();
            let found = errors_made_texts(&text);
            lossy.extend(
                found
                    .iter()
                    .map(|call| format!("{}: {call}", path.display())),
            );
        }
    }
    assert!(lossy.is_empty(), "use with_context: {lossy:#?}");
}

/// Types of errors, and their variants, whose text leaves out what caused them. `bad_input` and others tell the text alone.
fn causes_left_out(text: &str) -> Vec<String> {
    let is_code = |line: &&str| !line.trim_start().starts_with("//");
    let text: Vec<&str> = text.lines().filter(is_code).collect();
    let text = text.join("\n");
    let mut silent = Vec::new();
    for rest in text.split("#[error(").skip(1) {
        let message = up_to_closing(rest);
        let rest = rest[message.len()..].trim_start_matches([')', ']']);
        let Some(end) = rest.find(['(', '{', ',', ';', '}']) else {
            continue;
        };
        let fields = match &rest[end..=end] {
            "(" | "{" => up_to_closing(&rest[end + 1..]),
            _ => "",
        };
        let is_cause = |field: &str| {
            ["#[source]", "#[from]", "source:"]
                .iter()
                .any(|mark| field.contains(mark))
        };
        let Some(at) = fields.split(',').position(is_cause) else {
            continue;
        };
        let names = ["{source".to_owned(), format!("{{{at}")];
        let is_told = names.iter().any(|name| message.contains(name));
        if message.trim() != "transparent" && !is_told {
            silent.push(rest[..end].trim().to_owned());
        }
    }
    silent
}

#[test]
fn the_text_of_an_error_tells_what_caused_it() {
    let silent = "#[error(\"cannot read {0} (a file)\")]\n/// What, and why.\nFile(String, #[source] io::Error),";
    assert_eq!(causes_left_out(silent), ["File"]);
    assert_eq!(causes_left_out(&silent.replace("{0}", "{0}: {1}")), [""; 0]);
    let silent = "#[error(\"cannot read it\")]\npub struct Unread { source: io::Error }";
    assert_eq!(causes_left_out(silent), ["pub struct Unread"]);
    assert_eq!(
        causes_left_out(&silent.replace("it", "it: {source}")),
        [""; 0]
    );
    let mut silent = Vec::new();
    for path in rust_files() {
        if !path.to_string_lossy().contains("/tests") {
            let found = causes_left_out(&fs::read_to_string(&path).unwrap());
            silent.extend(
                found
                    .iter()
                    .map(|name| format!("{}: {name}", path.display())),
            );
        }
    }
    assert!(silent.is_empty(), "{silent:#?}");
}

/// Where programs are started by name: what finds them, and a crate that gives each of its processes the same `PATH` when it starts it.
const STARTS_BY_NAME: [&str; 2] = ["crates/record/src/locate.rs", "crates/perfcheck/src/"];

#[test]
fn no_program_is_started_by_a_name_that_the_current_directory_may_answer_to() {
    let mut by_name = Vec::new();
    for path in rust_files() {
        let name = path.strip_prefix(root()).unwrap().display().to_string();
        let is_test = ["/tests", "test-cluster", "/rig/"]
            .iter()
            .any(|part| name.contains(part));
        if is_test || STARTS_BY_NAME.iter().any(|known| name.starts_with(known)) {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let product = text.split("#[cfg(test)]").next().unwrap_or_default();
        let literals = product.split("Command::new(\"").skip(1);
        let names = literals.filter_map(|rest| rest.split('"').next());
        by_name.extend(
            names
                .filter(|program| !program.contains('/'))
                .map(|program| format!("{name}: {program}")),
        );
    }
    assert!(by_name.is_empty(), "use tare_record::locate: {by_name:#?}");
    let processes = fs::read_to_string(root().join("crates/perfcheck/src/process.rs")).unwrap();
    assert!(processes.contains("locate::search_path()"), "perfcheck");
}

#[test]
fn a_variable_is_found_by_its_literal_and_by_its_constant() {
    let text = "const VARIABLE: &str = \"A_B\";\n std::env::var_os(VARIABLE); env::var(\"C\"); env::var(given)";
    assert_eq!(variables_read(text), ["C", "given", "A_B"]);
}

/// What cargo says of a binary in which a test failed, of one that broke off, and of one where all is well.
const SAID: &str = "\
test one::a ... ok
test one::b ... FAILED

failures:

---- one::b stdout ----
thread 'one::b' (7) panicked at x.rs:1:1:

failures:
    one::b

test result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s

test c ... error: test failed, to rerun pass `-p tare-load --test two`
test result: ok. 5 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
error: 2 targets failed:
    `-p tare-load --test one`
    `-p tare-load --test two`
";

#[test]
fn the_last_lines_of_all_tests_tell_what_failed_how_to_repeat_it_and_the_totals() {
    let folder = tempfile::tempdir().unwrap();
    let sum_up = |said: &str| {
        let file = folder.path().join("said");
        fs::write(&file, said).unwrap();
        let output = std::process::Command::new(root().join("scripts/repeat-tests"))
            .arg("--summary")
            .arg(&file)
            .output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    };
    let told = sum_up(SAID);
    let lines: Vec<&str> = told.lines().map(str::trim).collect();
    for line in [
        "one::b",
        "scripts/repeat-tests 3 one::b",
        "cargo test --release --locked -p tare-load --test one",
        "cargo test --release --locked -p tare-load --test two",
    ] {
        assert!(lines.contains(&line), "no {line}: {told}");
    }
    assert_eq!(lines.last(), Some(&"6 passed, 2 failed, 1 skipped"));
    let well = "test result: ok. 5 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n";
    assert_eq!(sum_up(well), "5 passed, 0 failed\n");
}

/// A number as a page has it: `4096`, `100,000`, `16 MiB`.
fn value_of(text: &str) -> Option<u64> {
    let mut words = text.split_ascii_whitespace();
    let number: u64 = words.next()?.replace(',', "").parse().ok()?;
    let factor = match words.next() {
        None => 1,
        Some("KiB") => 1 << 10,
        Some("MiB") => 1 << 20,
        Some("GiB") => 1 << 30,
        Some(_) => return None,
    };
    Some(number * factor)
}

/// The value of a constant of integers: products and shifts.
fn constant(source: &str, name: &str) -> Option<u64> {
    let rest = source.split(&format!("const {name}: ")).nth(1)?;
    let value = rest.split_once(" = ")?.1.split(';').next()?;
    let number = |text: &str| text.trim().replace('_', "").parse::<u64>().ok();
    if let Some((of, by)) = value.split_once("<<") {
        return Some(number(of)? << number(by)?);
    }
    value.split('*').map(number).product()
}

#[test]
fn the_page_for_contributors_has_the_parts_of_the_night_ring() {
    let told = std::process::Command::new(root().join("scripts/rings"))
        .arg("--parts")
        .output()
        .unwrap();
    let told = String::from_utf8(told.stdout).unwrap();
    let parts: Vec<(&str, bool)> = told
        .lines()
        .map(|line| {
            let words: Vec<&str> = line.split('\t').collect();
            (words[0], words[1] == "compiles")
        })
        .collect();
    let page = fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap();
    let rows: Vec<(&str, bool)> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once('`'))
        .map(|(name, rest)| (name, rest.contains("| yes |")))
        .collect();
    assert!(!parts.is_empty());
    assert_eq!(rows, parts);
}

#[test]
fn limits_of_the_page_are_those_of_the_code() {
    let page = fs::read_to_string(root().join("docs/LIMITS.md")).unwrap();
    let rows = page
        .lines()
        .filter(|line| line.starts_with("| ") && line.contains("](../"));
    let sources = rust_files()
        .into_iter()
        .map(|file| fs::read_to_string(file).unwrap());
    let tests: Vec<String> = sources.filter(|text| text.contains("#[test]")).collect();
    let mut count = 0;
    for row in rows {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let (name, rest) = cells[3]
            .trim_start_matches("[`")
            .split_once("`](../")
            .unwrap();
        let source = fs::read_to_string(root().join(rest.trim_end_matches(')'))).unwrap();
        let (said, found) = (value_of(cells[2]), constant(&source, name));
        assert!(said.is_some() && said == found, "{row}: {found:?}");
        assert!(cells[4].len() > 3, "{row}");
        let test = cells[5].trim_matches('`');
        let is_there = tests
            .iter()
            .any(|text| text.contains(&format!("fn {test}()")));
        let has_reason = test.len() > "none: ".len() && test.starts_with("none: ");
        assert!(is_there || has_reason, "{row}");
        count += 1;
    }
    assert!(count > 30, "{count}");
}
