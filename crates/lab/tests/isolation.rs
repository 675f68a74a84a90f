//! What a confined process may do and see, with real processes. Needs root.

#![expect(
    clippy::unwrap_used,
    reason = "the functions beside the tests fail as the tests do"
)]

mod base;

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};

use base::{Base, LIMIT, within};
use tare_experiment::target::Capability;
use tare_lab::keeper::{Confinement, ExitStatus, FileSystemView, Keeper, Spawn};

const RIG: &str = env!("CARGO_BIN_EXE_lab-rig");
const USER: u32 = 0x6fff_0000;

/// Whether this process is root; the tests of this file say nothing otherwise.
fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Runs a shell script confined, in a folder of its own; its exit status and output.
fn run(
    keeper: &mut Keeper,
    folder: &Path,
    script: &str,
    capabilities: &[Capability],
) -> (ExitStatus, String) {
    let own = folder.join("own");
    fs::create_dir_all(&own).unwrap();
    chown(&own, Some(USER), Some(USER)).unwrap();
    let output = folder.join("output");
    let _ = fs::remove_file(&output);
    let confinement = Confinement {
        user: Some(USER),
        capabilities: capabilities.to_vec(),
        processes_max: Some(32),
        view: Some(FileSystemView {
            readable: [folder.join("readable")].into(),
            writable: [own.clone()].into(),
        }),
    };
    fs::create_dir_all(folder.join("readable")).unwrap();
    let spawn = Spawn {
        name: String::from("confined"),
        argv: ["sh", "-c", script].map(String::from).to_vec(),
        env: vec![(
            String::from("PATH"),
            String::from("/usr/sbin:/usr/bin:/bin"),
        )],
        cwd: own,
        output: output.clone(),
        output_bytes_max: 1 << 16,
        confinement: Some(confinement),
        ..Spawn::default()
    };
    keeper.spawn(&spawn).unwrap();
    let mut exit = None;
    assert!(within(LIMIT, || {
        exit = keeper.exit_of("confined").unwrap();
        exit.is_some()
    }));
    keeper
        .stop("confined", 9, std::time::Duration::ZERO)
        .unwrap();
    (exit.unwrap().how, fs::read_to_string(output).unwrap())
}

fn text(keeper: &mut Keeper, folder: &Path, script: &str) -> String {
    run(keeper, folder, script, &[]).1
}

fn start(name: &str) -> (Base, Keeper, PathBuf) {
    let base = Base::new(name);
    let keeper = Keeper::start(RIG.as_ref(), Some(&base.0)).unwrap();
    let folder = keeper.folder().to_owned();
    (base, keeper, folder)
}

#[test]
fn it_has_a_user_of_its_own_and_no_capability() {
    if !is_root() {
        return;
    }
    let (_base, mut keeper, folder) = start("privileges");
    let status = text(&mut keeper, &folder, "cat /proc/self/status");
    let field = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_ascii_whitespace().nth(1).unwrap().to_owned()
    };
    assert_eq!(field("Uid:"), USER.to_string());
    assert_eq!(field("Gid:"), USER.to_string());
    assert_eq!(field("NoNewPrivs:"), "1");
    for set in ["CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:"] {
        assert_eq!(field(set), "0000000000000000", "{set}");
    }
    let groups = status.lines().find(|line| line.starts_with("Groups:"));
    assert_eq!(groups.unwrap().trim(), "Groups:");
}

#[test]
fn it_has_the_capabilities_that_are_declared_and_hands_them_on() {
    if !is_root() {
        return;
    }
    let (_base, mut keeper, folder) = start("capabilities");
    let script = "sh -c 'grep Cap /proc/self/status'";
    let (_, sets) = run(&mut keeper, &folder, script, &[Capability::NetAdmin]);
    for set in sets.lines() {
        assert!(set.ends_with("0000000000001000"), "{set}");
    }
}

#[test]
fn it_writes_in_its_own_folders_and_in_temporary_ones_of_its_own() {
    if !is_root() {
        return;
    }
    let (base, mut keeper, folder) = start("view");
    fs::set_permissions(&base.0, fs::Permissions::from_mode(0o755)).unwrap();
    let script = "echo one > file && echo two > /tmp/file && ls /tmp && pwd";
    let (how, said) = run(&mut keeper, &folder, script, &[]);
    assert_eq!(how, ExitStatus::Code(0), "{said}");
    assert!(said.contains("own"), "{said}");
    assert_eq!(
        fs::read_to_string(folder.join("own/file")).unwrap(),
        "one\n"
    );
    assert!(!Path::new("/tmp/file").exists());
    let mine = base.0.display();
    for path in [
        "/etc/x",
        "/usr/x",
        "/var/tmp/x",
        "/root/x",
        &format!("{mine}/x"),
        "../readable/x",
    ] {
        let (how, said) = run(&mut keeper, &folder, &format!("echo > {path}"), &[]);
        assert_ne!(how, ExitStatus::Code(0), "{path}: {said}");
    }
}

#[test]
fn it_sees_nothing_in_folders_that_are_closed_to_others_but_what_it_is_given() {
    if !is_root() {
        return;
    }
    let (_base, mut keeper, folder) = start("hidden");
    fs::create_dir_all(folder.join("other")).unwrap();
    fs::write(folder.join("other/secret"), "secret").unwrap();
    fs::create_dir_all(folder.join("readable")).unwrap();
    fs::write(folder.join("readable/file"), "given").unwrap();
    assert_eq!(text(&mut keeper, &folder, "cat ../readable/file"), "given");
    for path in ["/etc/shadow", "../other/secret"] {
        let said = text(&mut keeper, &folder, &format!("cat {path}"));
        assert!(
            said.contains("denied") || said.contains("No such file"),
            "{path}: {said}"
        );
    }
    let seen = text(&mut keeper, &folder, "ls ..");
    assert_eq!(seen, "own\nreadable\n");
}

#[test]
fn one_that_forks_without_end_is_bounded_and_ends_with_its_name() {
    if !is_root() {
        return;
    }
    let (_base, mut keeper, folder) = start("forks");
    let script = "i=0; while [ $i -lt 200 ]; do sleep 600 & i=$((i+1)); done; echo done";
    let (_, said) = run(&mut keeper, &folder, script, &[]);
    assert!(
        said.contains("fork") || said.contains("Resource temporarily unavailable"),
        "{said}"
    );
    let left = || {
        let all = fs::read_dir("/proc").unwrap().flatten();
        all.filter(|entry| {
            let status = fs::read_to_string(entry.path().join("status")).unwrap_or_default();
            status.contains(&format!("Uid:\t{USER}"))
        })
        .count()
    };
    assert!(within(LIMIT, || left() == 0), "{} are left", left());
}

#[test]
fn a_set_user_id_program_gives_it_nothing() {
    if !is_root() {
        return;
    }
    let (base, mut keeper, folder) = start("setuid");
    fs::set_permissions(&base.0, fs::Permissions::from_mode(0o755)).unwrap();
    let program = folder.join("readable/id");
    fs::create_dir_all(folder.join("readable")).unwrap();
    fs::copy("/usr/bin/id", &program).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o4755)).unwrap();
    let said = text(&mut keeper, &folder, "../readable/id -u");
    assert_eq!(said.trim(), USER.to_string());
}
