//! The keeper with real processes: whatever happens to Tare, nothing of it stays.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "the functions beside the tests fail as the tests do"
)]

mod base;

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use base::{Base, LIMIT, kill, processes, within};
use tare_lab::LabError;
use tare_lab::keeper::{ExitStatus, Keeper, Spawn, make_in_memory};

const RIG: &str = env!("CARGO_BIN_EXE_lab-rig");

#[test]
fn nothing_survives_an_owner_killed_at_any_moment() {
    let base = Base::new("owner");
    // A fixed spread of moments, from before the keeper is up until long after all trees stand.
    for round in 0..14u64 {
        let token = format!("{}-{round}", base.token());
        let mut owner = Command::new(RIG)
            .args(["owner", &base.text(), &token])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis((round * round * 37) % 211));
        owner.kill().unwrap();
        owner.wait().unwrap();
        let gone = within(LIMIT, || {
            carrying(&token).is_empty() && base.entries().is_empty()
        });
        assert!(
            gone,
            "round {round}: left {:?} and {:?}",
            carrying(&token),
            base.entries()
        );
    }
}

#[test]
fn children_that_fork_twice_or_change_session_are_found_by_a_stop() {
    let base = Base::new("stop");
    let mut keeper = Keeper::start(RIG.as_ref(), Some(&base.0)).unwrap();
    let token = base.token();
    keeper
        .spawn(&spawn(&keeper, "tree", &["tree", &token]))
        .unwrap();
    // tree + 2 children + 4 orphans (the intermediate ones end), two of them shells.
    assert!(within(LIMIT, || carrying(&token).len() >= 7));
    let stands = within(LIMIT, || {
        keeper
            .tail("tree")
            .unwrap()
            .contains(&String::from("tree stands"))
    });
    assert!(stands);
    keeper.stop("tree", 15, Duration::from_millis(50)).unwrap();
    // One cleared its environment and left the session: it belongs to nobody until the keeper ends.
    assert!(carrying(&token).len() <= 1, "{:?}", carrying(&token));
    drop(keeper);
    assert_eq!(carrying(&token), Vec::<u32>::new());
    assert!(base.entries().is_empty());
}

#[test]
fn a_killed_keeper_or_guardian_is_noticed_and_cleaned_up_after() {
    for pid in [Keeper::inside_pid, Keeper::pid] {
        let base = Base::new("killed");
        let mut keeper = Keeper::start(RIG.as_ref(), Some(&base.0)).unwrap();
        let token = base.token();
        keeper
            .spawn(&spawn(&keeper, "tree", &["tree", &token]))
            .unwrap();
        assert!(within(LIMIT, || carrying(&token).len() >= 7));
        kill(pid(&keeper));
        let noticed = within(LIMIT, || keeper.exit_of("tree").is_err());
        assert!(noticed);
        assert!(matches!(
            keeper.tail("tree"),
            Err(LabError::KeeperDied { .. })
        ));
        assert!(base.entries().is_empty());
        // The one that cleared its environment, too.
        assert_eq!(carrying(&token), Vec::<u32>::new());
        // What the owner makes for it later goes with the owner's end of it.
        let memory = make_in_memory(keeper.folder()).unwrap();
        drop(keeper);
        assert!(memory.is_none_or(|folder| !folder.exists()));
    }
}

#[test]
fn one_of_keeper_and_guardian_cleans_up_when_the_other_and_the_owner_are_killed_at_once() {
    for which in ["--base", "--inside"] {
        let base = Base::new("both");
        let token = base.token();
        let mut owner = Command::new(RIG)
            .args(["owner", &base.text(), &token])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        assert!(within(LIMIT, || carrying(&token).len() >= 8));
        let of_base = |words: &[String]| words.iter().any(|word| word.starts_with(&base.text()));
        let one = processes(|words| words.iter().any(|word| word == which) && of_base(words));
        kill(one[0]);
        owner.kill().unwrap();
        owner.wait().unwrap();
        let gone = within(LIMIT, || {
            carrying(&token).is_empty() && base.entries().is_empty()
        });
        assert!(
            gone,
            "{which}: left {:?} and {:?}",
            carrying(&token),
            base.entries()
        );
    }
}

#[test]
fn the_folder_of_a_crash_is_removed_by_the_next_start() {
    let base = Base::new("stale");
    // No process has an id this large (the kernel's limit is 2^22).
    let stale = base.0.join("tare-99999999-0123456789abcdef");
    std::fs::create_dir_all(stale.join("deep")).unwrap();
    let foreign = base.0.join("tare-notes");
    std::fs::create_dir(&foreign).unwrap();
    let keeper = Keeper::start(RIG.as_ref(), Some(&base.0)).unwrap();
    assert!(!stale.exists());
    assert!(foreign.exists() && keeper.folder().exists());
    // Another start leaves the folder of a living keeper alone.
    let second = Keeper::start(RIG.as_ref(), Some(&base.0)).unwrap();
    assert!(keeper.folder().exists() && second.folder().exists());
}

#[test]
fn an_ending_is_told_with_its_cause_and_last_words() {
    let base = Base::new("ending");
    let mut keeper = Keeper::start(RIG.as_ref(), Some(&base.0)).unwrap();
    let mut shell = spawn(&keeper, "shell", &[]);
    shell.argv = ["/bin/sh", "-c", "echo tired >&2; exit 7"]
        .map(String::from)
        .to_vec();
    keeper.spawn(&shell).unwrap();
    let exit = ending_of(&mut keeper, "shell");
    assert_eq!(exit.how, ExitStatus::Code(7));
    assert_eq!(exit.tail, ["tired"]);
    keeper.stop("shell", 15, Duration::ZERO).unwrap();

    shell.argv[2] = String::from("kill -SEGV $$");
    keeper.spawn(&shell).unwrap();
    assert_eq!(ending_of(&mut keeper, "shell").how, ExitStatus::Signal(11));
}

#[test]
fn output_is_cut_at_its_limit_and_its_end_is_still_known() {
    let base = Base::new("flood");
    let mut keeper = Keeper::start(RIG.as_ref(), Some(&base.0)).unwrap();
    let flood = spawn(&keeper, "flood", &["flood"]);
    keeper.spawn(&flood).unwrap();
    let exit = ending_of(&mut keeper, "flood");
    assert_eq!(exit.how, ExitStatus::Code(0));
    assert_eq!(exit.tail.last().unwrap(), "flood over");
    let text = std::fs::read_to_string(&flood.output).unwrap();
    assert!(text.len() < 4200, "{}", text.len());
    assert!(text.ends_with("[cut here: the limit of 4096 bytes is reached]\n"));
}

#[test]
fn a_child_gets_its_cores_its_limit_of_files_and_nothing_of_our_environment() {
    let base = Base::new("setup");
    let mut keeper = Keeper::start(RIG.as_ref(), Some(&base.0)).unwrap();
    let mut shell = spawn(&keeper, "shell", &[]);
    shell.argv = [
        "/bin/sh",
        "-c",
        "grep Cpus_allowed_list /proc/self/status; ulimit -n; env; trap",
    ]
    .map(String::from)
    .to_vec();
    shell.cpus = vec![0];
    shell.nofile = Some(321);
    shell.env = vec![(String::from("COLOUR"), String::from("blue"))];
    keeper.spawn(&shell).unwrap();
    let tail = ending_of(&mut keeper, "shell").tail;
    assert_eq!(tail[0], "Cpus_allowed_list:\t0");
    assert_eq!(tail[1], "321");
    assert!(tail.contains(&String::from("COLOUR=blue")));
    assert!(
        !tail.iter().any(|line| line.starts_with("CARGO")),
        "{tail:?}"
    );
}

#[test]
fn a_program_that_is_missing_is_named() {
    let base = Base::new("missing");
    let mut keeper = Keeper::start(RIG.as_ref(), Some(&base.0)).unwrap();
    let mut wrong = spawn(&keeper, "wrong", &[]);
    wrong.argv = vec![String::from("/no/such/program")];
    let error = keeper.spawn(&wrong).unwrap_err().to_string();
    assert!(
        error.contains("/no/such/program") && error.contains("install"),
        "{error}"
    );
}

#[test]
fn the_private_folder_is_closed_to_others() {
    use std::os::unix::fs::PermissionsExt;
    let base = Base::new("mode");
    let keeper = Keeper::start(RIG.as_ref(), Some(&base.0)).unwrap();
    let mode = std::fs::metadata(keeper.folder())
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o700);
}

fn spawn(keeper: &Keeper, name: &str, words: &[&str]) -> Spawn {
    let mut argv = vec![String::from(RIG)];
    argv.extend(words.iter().map(|word| String::from(*word)));
    Spawn {
        name: String::from(name),
        argv,
        env: Vec::new(),
        cwd: PathBuf::from("/"),
        cpus: Vec::new(),
        output: keeper.folder().join(format!("{name}.log")),
        output_bytes_max: 4096,
        nofile: None,
        pod: None,
        hosts: None,
        group: None,
        bounds: None,
        confinement: None,
    }
}

fn ending_of(keeper: &mut Keeper, name: &str) -> tare_lab::keeper::ProcessExit {
    let mut found = None;
    within(LIMIT, || {
        found = keeper.exit_of(name).unwrap();
        found.is_some()
    });
    found.expect("it ends")
}

/// Living processes with this word on their command line, but for the owner's own.
fn carrying(token: &str) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").unwrap();
    let pids = entries.filter_map(|e| e.unwrap().file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.split(|b| *b == 0).any(|word| word == token.as_bytes())
    })
    .collect()
}
