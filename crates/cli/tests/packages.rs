//! The packages: made from the programs of this build, unpacked, installed and run where there is no checkout.
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on says where by panicking"
)]

mod rig;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use rig::root;
use serde_json::{Value, json};

/// All packages, made once.
fn packages() -> &'static Path {
    static MADE: std::sync::OnceLock<PathBuf> = std::sync::OnceLock::new();
    MADE.get_or_init(|| {
        let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("packages");
        made_in(&out, &mut Command::new(root().join("scripts/release")));
        out
    })
}

/// Makes the packages from the programs of this build.
fn made_in(out: &Path, release: &mut Command) {
    let _ = fs::remove_dir_all(out);
    let programs = Path::new(env!("CARGO_BIN_EXE_tare")).parent().unwrap();
    let made = release
        .args(["--with", "", "--out"])
        .arg(out)
        .arg("--programs")
        .arg(programs)
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", err(&made));
}

fn one(end: &str) -> PathBuf {
    one_in(packages(), end)
}

fn one_in(folder: &Path, end: &str) -> PathBuf {
    let entries = fs::read_dir(folder).unwrap();
    let mut found = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_string_lossy().ends_with(end));
    let first = found.next().unwrap();
    assert_eq!(found.next(), None);
    first
}

fn ok(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", err(&output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// A program of a package, in a folder that is none of a checkout.
fn packaged(program: &Path, at: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .current_dir(at)
        .env_remove("TARE_HOME")
        .env("TARE_CACHE", at.join("cache"));
    command
}

#[test]
fn the_checksums_are_those_of_the_files() {
    let said = ok(Command::new("sha256sum")
        .args(["--check", "SHA256SUMS"])
        .current_dir(packages()));
    assert_eq!(said.lines().count(), 5, "{said}");
}

#[test]
fn the_symbols_of_the_programs_are_apart_and_belong_to_them() {
    let folder = tempfile::tempdir().unwrap();
    for end in ["-linux.tar.gz", "-symbols.tar.gz"] {
        let mut unpack = Command::new("tar");
        ok(unpack.arg("-xf").arg(one(end)).arg("-C").arg(folder.path()));
    }
    let within = |end: &str, file: &str| {
        let folders = fs::read_dir(&folder)
            .unwrap()
            .map(|one| one.unwrap().path());
        let mut of_kind = folders.filter(|path| path.to_string_lossy().ends_with(end));
        of_kind.next().unwrap().join(file)
    };
    let program = within("-linux", "bin/tare");
    let symbols = within("-symbols", "tare.debug");
    let named = |file: &Path| ok(Command::new("nm").arg(file)).contains("tare_cli");
    assert!(named(&symbols) && !named(&program));
    // The program names the file of its symbols, with its checksum.
    let mut link = Command::new("readelf");
    let link = ok(link.arg("--string-dump=.gnu_debuglink").arg(program));
    assert!(link.contains("tare.debug"), "{link}");
}

#[test]
fn the_same_programs_give_the_same_packages_byte_for_byte() {
    let first = packages();
    let again = Path::new(env!("CARGO_TARGET_TMPDIR")).join("packages-again");
    let temporary = tempfile::tempdir().unwrap();
    // Another day's shell: nothing of the user, the place or the time may be in them.
    let mut release = Command::new("bash");
    let words = "umask 077; exec \"$0\" \"$@\"";
    release
        .args(["-c", words])
        .arg(root().join("scripts/release"));
    release
        .current_dir(temporary.path())
        .env("TMPDIR", temporary.path())
        .env("TZ", "Pacific/Kiritimati")
        .env("LC_ALL", "C");
    made_in(&again, &mut release);
    let mut compare = Command::new(root().join("scripts/compare-packages"));
    let said = ok(compare.arg(first).arg(&again));
    assert_eq!(
        said.lines()
            .filter(|line| line.ends_with(": equal"))
            .count(),
        6,
        "{said}"
    );
    // It would say which bytes are not.
    let (tarball, deb) = (again.join("SHA256SUMS"), one_in(&again, ".deb"));
    fs::write(tarball, "").unwrap();
    let mut bytes = fs::read(&deb).unwrap();
    bytes[70] ^= 1;
    fs::write(&deb, bytes).unwrap();
    let mut compare = Command::new(root().join("scripts/compare-packages"));
    let differ = compare.arg(first).arg(&again).output().unwrap();
    assert_eq!(differ.status.code(), Some(1), "{}", err(&differ));
    let said = err(&differ);
    assert!(said.contains(".deb: 1 bytes differ, at 71"), "{said}");
}

#[test]
fn the_bill_of_materials_has_each_program_and_the_crates_that_are_in_it() {
    let bill: Value = serde_json::from_slice(&fs::read(one(".cdx.json")).unwrap()).unwrap();
    assert_eq!(bill["bomFormat"], "CycloneDX");
    let all = |of: &str| -> Vec<&str> {
        let components = bill["components"].as_array().unwrap();
        components
            .iter()
            .filter_map(|one| one[of].as_str())
            .collect()
    };
    let names = all("name");
    for name in [
        "tare",
        "tare-serve",
        "tare-history",
        "tare-perfcheck",
        "acmeair",
    ] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    // Crates by the URL that databases of faults know them by, what only tests use aside; packages of the image's programs.
    let urls = all("purl");
    for begin in ["pkg:cargo/serde@1.", "pkg:cargo/rustls@", "pkg:deb/"] {
        assert!(
            urls.iter().any(|url| url.starts_with(begin)),
            "{begin}: {urls:?}"
        );
    }
    for begin in ["pkg:cargo/insta@", "pkg:cargo/proptest@"] {
        assert!(!urls.iter().any(|url| url.starts_with(begin)), "{begin}");
    }
    let text = bill.to_string();
    let place = root().display().to_string();
    assert!(
        !text.contains(&place) && !text.contains("/tmp/"),
        "paths of this machine"
    );
    // Every part of every component is among them.
    let known = all("bom-ref");
    for edge in bill["dependencies"].as_array().unwrap() {
        for part in edge["dependsOn"].as_array().unwrap() {
            assert!(known.contains(&part.as_str().unwrap()), "{part}");
        }
    }
}

#[test]
fn the_tarball_runs_where_it_is_unpacked() {
    let place = tempfile::tempdir().unwrap();
    let tarball = one("-linux.tar.gz");
    ok(Command::new("tar")
        .arg("-xzf")
        .arg(&tarball)
        .arg("-C")
        .arg(place.path()));
    let name = tarball.file_name().unwrap().to_string_lossy();
    let tree = place.path().join(name.trim_end_matches(".tar.gz"));
    let tare = tree.join("bin/tare");
    let plan = ok(packaged(&tare, place.path()).args(["plan", "sidecar", "--quick"]));
    assert!(plan.contains("both-sidecars-mtls"), "{plan}");
    let with_kafka = ok(packaged(&tree.join("bin/tare-with-kafka"), place.path())
        .args(["kafka", "clusters", "list", "--json"]));
    assert_eq!(with_kafka.trim(), "[]");
    // The programs behind commands, and those that a checkout builds for targets, are beside it.
    fs::create_dir(place.path().join("runs")).unwrap();
    let history = ok(packaged(&tare, place.path()).arg("history"));
    assert!(history.contains("no complete run"), "{history}");
    let fetched = packaged(&tare, place.path())
        .args([
            "targets",
            "fetch",
            "acmeair",
            "kubernetes-api",
            "linkerd-control-plane",
        ])
        .output()
        .unwrap();
    assert!(fetched.status.success(), "{}", err(&fetched));
    for file in [
        "man/tare.1",
        "man/tare-run.1",
        "completions/tare.bash",
        "docs/USING.md",
        "LICENSE",
    ] {
        assert!(tree.join(file).is_file(), "{file}");
    }
    let licences = fs::read_to_string(tree.join("THIRD-PARTY-LICENSES")).unwrap();
    assert!(licences.contains("serde"), "{} bytes", licences.len());
    assert!(!tree.join("targets/envoy/golden").exists());
}

#[test]
fn the_debian_package_is_in_order_and_contains_the_same() {
    let package = one(".deb");
    let fields = ok(Command::new("dpkg-deb").arg("-f").arg(&package));
    assert!(fields.contains("Depends: libc6 (>= 2."), "{fields}");
    let checked = Command::new("lintian")
        .args(["--allow-root", "--fail-on", "error,warning"])
        .arg(&package)
        .output()
        .unwrap();
    assert!(checked.status.success(), "{}", err(&checked));
    let place = tempfile::tempdir().unwrap();
    ok(Command::new("dpkg-deb")
        .arg("-x")
        .arg(&package)
        .arg(place.path()));
    let tare = place.path().join("usr/bin/tare");
    let plan = ok(packaged(&tare, place.path()).args(["plan", "mongodb", "--quick"]));
    assert!(plan.contains("gateway"), "{plan}");
}

#[test]
fn the_image_is_what_its_digests_say_and_runs_in_a_container() {
    let place = tempfile::tempdir().unwrap();
    let layout = place.path().join("layout");
    fs::create_dir(&layout).unwrap();
    ok(Command::new("tar")
        .arg("-xf")
        .arg(one(".image.tar"))
        .arg("-C")
        .arg(&layout));
    let blob = |descriptor: &Value| {
        let digest = descriptor["digest"].as_str().unwrap();
        let path = layout.join("blobs").join(digest.replace(':', "/"));
        let sum = ok(Command::new("sha256sum").arg(&path));
        assert!(digest.ends_with(sum.split(' ').next().unwrap()), "{digest}");
        assert_eq!(descriptor["size"], fs::metadata(&path).unwrap().len());
        path
    };
    let read = |path: &Path| -> Value { serde_json::from_slice(&fs::read(path).unwrap()).unwrap() };
    let index = read(&layout.join("index.json"));
    let manifest = read(&blob(&index["manifests"][0]));
    let config = read(&blob(&manifest["config"]));
    assert_eq!(config["config"]["Entrypoint"], json!(["/usr/bin/tare"]));
    let layer = blob(&manifest["layers"][0]);
    if !rustix::process::geteuid().is_root() {
        println!("not root: the image is not run");
        return;
    }
    let bundle = place.path().join("bundle");
    fs::create_dir_all(bundle.join("rootfs")).unwrap();
    ok(Command::new("tar")
        .arg("-xzf")
        .arg(&layer)
        .arg("-C")
        .arg(bundle.join("rootfs")));
    ok(Command::new("runc").arg("spec").current_dir(&bundle));
    let spec = bundle.join("config.json");
    let mut container = read(&spec);
    container["process"]["terminal"] = json!(false);
    container["process"]["env"] = config["config"]["Env"].clone();
    container["process"]["args"] = json!(["/usr/bin/tare", "plan", "sidecar", "--quick"]);
    fs::write(&spec, container.to_string()).unwrap();
    let name = format!("tare-test-{}", std::process::id());
    let plan = ok(Command::new("runc")
        .args(["run", &name])
        .current_dir(&bundle));
    assert!(plan.contains("both-sidecars-mtls"), "{plan}");
}

/// A folder with the script of the action, this build's `tare`, which notes the environment that it is given, and a `gh` that notes its
/// calls, knows these comments, and works with a token only.
fn place_of_action(comments: &Value) -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    for folder in ["scripts", "bin"] {
        fs::create_dir(at(folder)).unwrap();
    }
    fs::copy(root().join("scripts/action"), at("scripts/action")).unwrap();
    let page = json!({"data": {"repository": {"pullRequest": {"comments": {"nodes": comments}}}}});
    fs::write(at("comments.json"), page.to_string()).unwrap();
    let tare = env!("CARGO_BIN_EXE_tare");
    let noting = format!("#!/bin/sh\nenv >>environment\nexec {tare} \"$@\"\n");
    write_program(&at("tare"), &noting);
    let gh = "#!/bin/sh\ntest -n \"$GH_TOKEN\" || exit 9\nprintf '%s\\n' \"$*\" >>calls\nfor last; do :; done\n\
              case \"$*\" in *--jq*) jq -r \"$last\" comments.json ;; *) cp \"${last#body=@}\" comment ;; esac\n";
    write_program(&at("bin/gh"), gh);
    place
}

/// Another process writes it: what is open for writing here, a test beside this one may hand on to its children, and the kernel runs
/// no file that somebody writes ("Text file busy").
fn write_program(path: &Path, text: &str) {
    let source = path.with_extension("text");
    fs::write(&source, text).unwrap();
    let mut install = Command::new("install");
    ok(install.arg("--mode=755").args([&source, path]));
}

/// Both steps of the action, as GitHub runs them; the output is that of the first.
fn action(place: &Path, variables: &[(&str, &str)]) -> Output {
    let path = format!(
        "{}:{}",
        place.join("bin").display(),
        std::env::var("PATH").unwrap()
    );
    let step = |words: &[&str]| {
        let mut command = Command::new("bash");
        command
            .arg(place.join("scripts/action"))
            .args(words)
            .current_dir(place)
            .env("PATH", &path)
            .env("TARE_HOME", root())
            .env("RUNNER_TEMP", place)
            .env("GITHUB_OUTPUT", place.join("output"))
            .env("GITHUB_STEP_SUMMARY", place.join("summary"))
            .env("GITHUB_REPOSITORY", "owner/name")
            .env("TARE_PULL_REQUEST", "7")
            .env("GH_TOKEN", "planted-token");
        command
    };
    let _ = fs::remove_file(place.join("output"));
    let output = step(&[]).envs(variables.iter().copied()).output().unwrap();
    let told = fs::read_to_string(place.join("output")).unwrap_or_default();
    let verdict = told.lines().find_map(|line| line.strip_prefix("verdict="));
    if let Some(verdict) = verdict {
        ok(step(&["comment"]).env("TARE_VERDICT", verdict));
    }
    output
}

fn calls(place: &Path) -> String {
    fs::read_to_string(place.join("calls")).unwrap_or_default()
}

#[test]
fn the_action_fails_with_an_assertion_and_comments_once() {
    let comments = json!([]);
    let place = place_of_action(&comments);
    let place = place.path();
    let (_origin, address) = rig::origin(&[]);
    let load = format!("http://{address}/\n--rate=200\n--duration=1s\n--assert=p50 < 1ns\n");
    let failed = action(place, &[("TARE_LOAD", &load)]);
    assert_eq!(failed.status.code(), Some(1), "{}", err(&failed));
    let summary = fs::read_to_string(place.join("summary")).unwrap();
    assert!(summary.contains("p50 < 1ns"), "{summary}");
    let posted = "--method POST repos/owner/name/issues/7/comments";
    assert!(calls(place).contains(posted), "{}", calls(place));
    let comment = fs::read_to_string(place.join("comment")).unwrap();
    assert!(
        comment.starts_with("<!-- tare: http://127.0.0.1"),
        "{comment}"
    );
    assert!(comment.contains("p50 < 1ns"), "{comment}");
    // The next push changes the comment, and not the one that somebody else has written before it.
    let other = json!({"databaseId": 666, "viewerDidAuthor": false, "body": comment});
    let own = json!({"databaseId": 4711, "viewerDidAuthor": true, "body": comment});
    let again = place_of_action(&json!([other, own]));
    let kept = load.replace("p50 < 1ns", "p50 < 10s");
    let passed = action(again.path(), &[("TARE_LOAD", &kept)]);
    assert_eq!(passed.status.code(), Some(0), "{}", err(&passed));
    let changed = calls(again.path());
    assert!(
        changed.contains("--method PATCH repos/owner/name/issues/comments/4711"),
        "{changed}"
    );
    assert!(!changed.contains("comments/666"), "{changed}");
    let neither = action(place, &[]);
    assert_eq!(neither.status.code(), Some(2), "{}", err(&neither));
    // The action gives the script what it reads.
    let text = fs::read_to_string(root().join("action.yml")).unwrap();
    let action = tare_experiment::yaml::parse("action.yml", &text).unwrap();
    let steps = action.descend(&["runs", "steps"]).items();
    let env = |step: usize| -> Vec<String> {
        let entries = steps[step].descend(&["env"]).entries();
        entries.iter().map(|entry| entry.key.clone()).collect()
    };
    let script = fs::read_to_string(root().join("scripts/action")).unwrap();
    for name in env(0).iter().chain(&env(1)) {
        assert!(script.contains(name) || name == "GH_TOKEN", "{name}");
    }
    assert!(!env(0).contains(&"GH_TOKEN".to_owned()), "{:?}", env(0));
}

#[test]
fn jobs_of_a_matrix_that_load_one_url_have_a_comment_each_and_a_key_tells_steps_apart() {
    let (_origin, address) = rig::origin(&[]);
    let load = format!("http://{address}/\n--rate=200\n--duration=300ms\n");
    // The comment of an action in its place, if the pull request has this one already.
    let commented = |known: &[&str], more: (&str, &str)| {
        let known: Vec<Value> = known
            .iter()
            .enumerate()
            .map(|(id, body)| json!({"databaseId": id, "viewerDidAuthor": true, "body": body}))
            .collect();
        let place = place_of_action(&Value::Array(known));
        let done = action(place.path(), &[("TARE_LOAD", &load), more]);
        assert!(done.status.success(), "{}", err(&done));
        let comment = fs::read_to_string(place.path().join("comment")).unwrap();
        (comment, calls(place.path()))
    };
    let matrix = |rate: u32| format!("nightly load {{\n  \"rate\": {rate}\n}}");
    let (first, _) = commented(&[], ("TARE_JOB", &matrix(100)));
    let (second, calls) = commented(&[&first], ("TARE_JOB", &matrix(200)));
    assert!(calls.contains("--method POST"), "{calls}");
    assert_ne!(first.lines().next(), second.lines().next());
    let (_, calls) = commented(&[&first, &second], ("TARE_JOB", &matrix(200)));
    assert!(
        calls.contains("--method PATCH") && calls.contains("comments/1"),
        "{calls}"
    );
    // A key stands in the place of the job, and is shown as it is.
    let (keyed, calls) = commented(&[&first, &second], ("TARE_KEY", "a `b` --> | c"));
    assert!(calls.contains("--method POST"), "{calls}");
    let lines: Vec<&str> = keyed.lines().take(3).collect();
    assert!(
        lines[0].ends_with(" -->") && !lines[0].contains('|'),
        "{keyed}"
    );
    assert_eq!(lines[1..], ["`a b --> | c`", ""]);
}

#[test]
fn a_verdict_that_is_longer_than_a_comment_may_be_is_cut_there_and_whole_in_the_summary() {
    let place = place_of_action(&json!([]));
    let place = place.path();
    let said = "#!/bin/sh\nseq -f 'ü line %.0f of a long verdict' 1 4000\n";
    write_program(&place.join("tare"), said);
    let done = action(place, &[("TARE_LOAD", "http://127.0.0.1:1/\n")]);
    assert!(done.status.success(), "{}", err(&done));
    let comment = fs::read_to_string(place.join("comment")).unwrap();
    let summary = fs::read_to_string(place.join("summary")).unwrap();
    assert!(summary.chars().count() > 65_536 && summary.contains("line 4000 of"));
    assert!(comment.chars().count() <= 65_536, "{}", comment.len());
    assert!(comment.contains("line 1 of") && comment.contains("\n```\n\n… cut here"));
}

#[test]
fn what_the_action_measures_with_never_has_the_token() {
    let place = place_of_action(&json!([]));
    let place = place.path();
    let (_origin, address) = rig::origin(&[]);
    let load = format!("http://{address}/\n--rate=200\n--duration=300ms\n");
    let secrets = [
        ("TARE_LOAD", load.as_str()),
        ("GITHUB_TOKEN", "planted-token"),
        ("ACTIONS_RUNTIME_TOKEN", "planted-token"),
    ];
    let done = action(place, &secrets);
    assert!(done.status.success(), "{}", err(&done));
    let environment = fs::read_to_string(place.join("environment")).unwrap();
    assert!(environment.contains("TARE_LOAD="), "{environment}");
    assert!(!environment.contains("planted-token"), "{environment}");
    assert!(calls(place).contains("POST"), "{}", calls(place));
}

#[test]
fn a_run_that_did_not_start_is_not_told_as_another_run() {
    let place = place_of_action(&json!([]));
    let place = place.path();
    let other = place.join("runs/20990101-000000-another");
    fs::create_dir_all(&other).unwrap();
    fs::write(other.join("plan.json"), "{}").unwrap();
    // It would report any run.
    let tare = env!("CARGO_BIN_EXE_tare");
    let said = format!(
        "#!/bin/sh\ncase \"$1\" in report) echo the verdict of another run ;; *) exec {tare} \"$@\" ;; esac\n"
    );
    write_program(&place.join("tare"), &said);
    // Nor is a name taken for an option.
    for run in ["no/such-experiment", "--help"] {
        let failed = action(place, &[("TARE_RUN", run)]);
        assert_eq!(failed.status.code(), Some(2), "{}", err(&failed));
        assert!(!place.join("summary").exists() && calls(place).is_empty());
        assert!(
            !fs::read_to_string(place.join("output")).is_ok_and(|text| text.contains("verdict="))
        );
    }
}

#[test]
fn no_output_of_a_load_ends_the_block_that_it_is_quoted_in() {
    let place = place_of_action(&json!([]));
    let place = place.path();
    let said = "#!/bin/sh\nprintf 'a\\n```\\n````\\n<b>not quoted</b>\\n'\n";
    write_program(&place.join("tare"), said);
    let done = action(place, &[("TARE_LOAD", "http://127.0.0.1:1/")]);
    assert!(done.status.success(), "{}", err(&done));
    let summary = fs::read_to_string(place.join("summary")).unwrap();
    let fences = summary.lines().filter(|line| *line == "`````").count();
    assert_eq!(fences, 2, "{summary}");
}
