//! Limits of CPU and memory with real processes in real control groups. They need the right to make groups, which root has.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "the functions beside the tests fail as the tests do, and a test that is skipped says so"
)]

mod base;
mod beds;

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use base::{Base, LIMIT, groups_named, kill, name_of, within};
use beds::{Rig, server};
use tare_lab::environment::{Observation, TestBed};
use tare_lab::keeper::{CgroupLimits, ExitStatus, Keeper, ProcessExit, Spawn};
use tare_lab::local::Local;
use tare_lab::observe::{LocalObservation, ObservedInstance};
use tare_record::plan::Limits;

const RIG: &str = env!("CARGO_BIN_EXE_lab-rig");
const MIB: u64 = 1 << 20;
/// A user without rights: `nobody`.
const NOBODY: u32 = 65534;

#[test]
fn two_threads_that_burn_get_a_tenth_of_a_core_and_their_throttling_is_counted() {
    let base = Base::new("limits-cpu");
    let Some(mut keeper) = permitted(&base) else {
        return;
    };
    let go = keeper.folder().join("go");
    // Thirty times what the limit gives in a period; little enough to be reached on a busy machine, too.
    let words = ["burn", "300", go.to_str().unwrap()];
    let bounds = CgroupLimits::new(Some(0.1), None);
    let pid = keeper.spawn(&spawn(&keeper, &words, bounds)).unwrap();
    let watched = ObservedInstance::tree("work", "app", "rig 1", pid, "TARE_INSTANCE=work");
    let observation = LocalObservation::start(vec![watched], Vec::new(), None).unwrap();
    let observation = Box::new(observation);
    std::fs::write(&go, "").unwrap();
    let burnt = within(LIMIT, || {
        let tail = keeper.tail("work").unwrap();
        tail.iter().any(|line| line.starts_with("burnt"))
    });
    assert!(burnt);
    let (parts, _) = observation.finish().unwrap();
    let part = &parts[0];
    let cpu_ms = part.cpu_ns.unwrap() as f64 / 1e6;
    let periods = part.quota_periods.unwrap() as f64;
    let throttled = part.throttled_periods.unwrap() as f64;
    // However busy the machine is: no more than 10 ms in a period, and just that in one in which it was stopped. The kernel
    // hands time out in slices of 5 ms, and the first and the last period are not whole.
    assert!(cpu_ms >= 300.0, "{part:?}");
    assert!(cpu_ms <= (periods + 1.0) * 10.0 * 1.25, "{part:?}");
    assert!(throttled >= 1.0 && throttled <= periods, "{part:?}");
    assert!(cpu_ms >= (throttled - 1.0) * 10.0 * 0.75, "{part:?}");
    assert!(part.throttled_ns.unwrap() > 0, "{part:?}");
}

#[test]
fn a_part_without_limits_has_no_figures_of_throttling() {
    let base = Base::new("limits-none");
    let mut keeper = Keeper::start(RIG.as_ref(), Some(&base.0)).unwrap();
    let pid = keeper
        .spawn(&spawn(&keeper, &["sleep", "x", "plain"], None))
        .unwrap();
    let watched = ObservedInstance::tree("work", "app", "rig 1", pid, "TARE_INSTANCE=work");
    let observation = LocalObservation::start(vec![watched], Vec::new(), None).unwrap();
    let (parts, _) = Box::new(observation).finish().unwrap();
    let part = &parts[0];
    assert_eq!((part.throttled_ns, part.quota_periods), (None, None));
}

#[test]
fn a_part_that_wants_more_memory_than_its_limit_is_killed_and_that_is_told() {
    let base = Base::new("limits-memory");
    let Some(mut keeper) = permitted(&base) else {
        return;
    };
    let bounds = CgroupLimits::new(None, Some(64 * MIB));
    keeper.spawn(&spawn(&keeper, &["hog"], bounds)).unwrap();
    let exit = ending(&mut keeper);
    let limit_bytes = 64 * MIB;
    assert_eq!(exit.how, ExitStatus::Memory { limit_bytes });
    assert!(exit.how.to_string().contains("67108864"), "{}", exit.how);
    // It came near, and no further.
    let last = exit.tail.last().unwrap();
    assert!(["40 MiB", "48 MiB", "56 MiB"].contains(&&**last), "{last}");
    // A death by other hands is not taken for that.
    keeper.stop("work", 9, Duration::ZERO).unwrap();
    let words = ["sleep", "x", "plain"];
    let pid = keeper.spawn(&spawn(&keeper, &words, bounds)).unwrap();
    kill(pid);
    assert_eq!(ending(&mut keeper).how, ExitStatus::Signal(9));
}

#[test]
fn the_groups_of_a_process_go_with_it_and_the_last_with_the_keeper() {
    let base = Base::new("limits-groups");
    let Some(mut keeper) = permitted(&base) else {
        return;
    };
    let name = name_of(keeper.folder());
    let bounds = CgroupLimits::new(Some(2.0), Some(1024 * MIB));
    let words = ["sleep", "x", "plain"];
    keeper.spawn(&spawn(&keeper, &words, bounds)).unwrap();
    let groups = groups_named(&name);
    assert!(!groups.is_empty());
    let within_them = || -> Vec<PathBuf> {
        let entries = groups
            .iter()
            .flat_map(|dir| std::fs::read_dir(dir).unwrap());
        let entries = entries.map(|entry| entry.unwrap().path());
        entries.filter(|path| path.is_dir()).collect()
    };
    assert_eq!(within_them().len(), groups.len());
    for group in within_them() {
        let members = std::fs::read_to_string(group.join("cgroup.procs")).unwrap();
        assert_eq!(members.lines().count(), 1, "{}", group.display());
    }
    keeper.stop("work", 9, Duration::ZERO).unwrap();
    assert_eq!(within_them(), Vec::<PathBuf>::new());
    // One that is not started leaves none behind.
    let mut absent = spawn(&keeper, &words, bounds);
    absent.argv[0] = String::from("/no/such/program");
    keeper.spawn(&absent).unwrap_err();
    assert_eq!(within_them(), Vec::<PathBuf>::new());
    drop(keeper);
    assert_eq!(groups_named(&name), Vec::<PathBuf>::new());
}

#[test]
fn no_group_survives_whoever_is_killed() {
    let base = Base::new("limits-killed");
    if permitted(&base).is_none() {
        return;
    }
    // The owner of a run in namespaces, and the keeper of one that owns a plain keeper.
    for round in 0..6_u64 {
        let token = format!("{}-{round}", base.token());
        let mut owner = Command::new(RIG)
            .args(["owner-of-pods", &base.text(), &token])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let mut names: Vec<String> = Vec::new();
        let stands = within(LIMIT, || {
            names = base.entries().iter().map(|path| name_of(path)).collect();
            names.iter().any(|name| !groups_named(name).is_empty())
        });
        assert!(stands);
        std::thread::sleep(Duration::from_millis(round * 17));
        owner.kill().unwrap();
        owner.wait().unwrap();
        let gone = within(LIMIT, || {
            names.iter().all(|name| groups_named(name).is_empty())
        });
        assert!(gone, "round {round}: {names:?}");
    }
    let mut keeper = Keeper::start(RIG.as_ref(), Some(&base.0)).unwrap();
    let name = name_of(keeper.folder());
    let bounds = CgroupLimits::new(Some(1.0), Some(MIB * 100));
    let words = ["sleep", "x", "plain"];
    keeper.spawn(&spawn(&keeper, &words, bounds)).unwrap();
    kill(keeper.pid());
    assert!(within(LIMIT, || keeper.exit_of("work").is_err()));
    assert_eq!(groups_named(&name), Vec::<PathBuf>::new());
}

#[test]
fn where_no_group_can_be_made_the_part_the_reason_and_the_next_step_are_told() {
    let base = Base::new("limits-refused");
    std::fs::set_permissions(&base.0, std::fs::Permissions::from_mode(0o777)).unwrap();
    let told = |command: &mut Command| {
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            text.contains("`limits` of server: not possible")
                && text.contains("remove `limits`")
                && text.contains("run as root"),
            "{text}{}",
            String::from_utf8_lossy(&output.stderr)
        );
        text
    };
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: without root the groups cannot be hidden");
        return;
    }
    let hide = "umount -l -R /sys/fs/cgroup; exec \"$@\"";
    let hidden = told(
        Command::new("unshare")
            .args(["--mount", "--propagation", "private"])
            .args(["sh", "-c", hide, "sh", RIG, "limits", &base.text()]),
    );
    assert!(hidden.contains("no tree of groups for cpu"), "{hidden}");
    let words = ["limits", &base.text()];
    let unprivileged = told(Command::new(base.rig()).args(words).uid(NOBODY).gid(NOBODY));
    assert!(unprivileged.contains("ermission denied"), "{unprivileged}");
    assert!(base.entries().is_empty());
}

#[test]
fn a_bed_gives_its_parts_their_limits_and_tells_who_lost_a_process_to_one() {
    let base = Base::new("limits-bed");
    if permitted(&base).is_none() {
        return;
    }
    let rig = Rig::new();
    let mut plan = server("greedy");
    let limits = Limits {
        cpu: Some(1.5),
        memory_bytes: Some(64 * MIB),
    };
    plan.limits.insert(String::from("server"), limits);
    let mut options = rig.options();
    options.limits = plan.limits.clone().into_iter().collect();
    let mut local = Local::new(options).unwrap();
    let name = name_of(local.folder());
    let mut bed = local.test_bed(&plan).unwrap();
    bed.start(&mut |_, _| ()).unwrap();
    let observation = bed.observe().unwrap();
    let mut unexpected_exits = Vec::new();
    assert!(within(LIMIT, || {
        unexpected_exits.extend(bed.unexpected_exits());
        !unexpected_exits.is_empty()
    }));
    assert_eq!(unexpected_exits[0].instance, "server");
    let how = &unexpected_exits[0].how;
    assert!(
        how.contains("more memory than the limit of 67108864 bytes"),
        "{how}"
    );
    assert!(
        unexpected_exits[0]
            .log_tail
            .iter()
            .any(|line| line == "40 MiB")
    );
    // Told once, and told although the part itself goes on.
    assert!(bed.unexpected_exits().is_empty());
    // It works on under its limit: who died may have done so within one period of it.
    let processes = bed.pod_processes().unwrap();
    let server = processes.iter().find(|one| one.instance == "server");
    let log = server.unwrap().log.clone().unwrap();
    assert!(within(LIMIT, || {
        std::fs::read_to_string(&log).is_ok_and(|text| text.contains("burnt"))
    }));
    let (parts, _) = observation.finish().unwrap();
    assert!(parts[0].processes >= 1 && parts[0].quota_periods.unwrap() > 0);
    // The conductor has no limit.
    assert_eq!(parts.last().unwrap().quota_periods, None);
    bed.stop().unwrap();
    drop((bed, local));
    assert_eq!(groups_named(&name), Vec::<PathBuf>::new());
}

/// A keeper, where limits can be set; root can set them wherever groups are mounted.
fn permitted(base: &Base) -> Option<Keeper> {
    let mut keeper = Keeper::start(RIG.as_ref(), Some(&base.0)).unwrap();
    let bounds = CgroupLimits::new(Some(0.5), Some(64 * MIB)).unwrap();
    match keeper.check_limits(bounds) {
        Ok(()) => Some(keeper),
        Err(error) => {
            assert!(!rustix::process::geteuid().is_root(), "{error}");
            eprintln!("skipped: {error}");
            None
        }
    }
}

fn spawn(keeper: &Keeper, words: &[&str], bounds: Option<CgroupLimits>) -> Spawn {
    let mut argv = vec![String::from(RIG)];
    argv.extend(words.iter().map(|word| String::from(*word)));
    Spawn {
        name: String::from("work"),
        argv,
        env: Vec::new(),
        cwd: PathBuf::from("/"),
        cpus: Vec::new(),
        output: keeper.folder().join("work.log"),
        output_bytes_max: 4096,
        nofile: None,
        pod: None,
        hosts: None,
        group: None,
        bounds,
        confinement: None,
    }
}

fn ending(keeper: &mut Keeper) -> ProcessExit {
    let mut found = None;
    within(LIMIT, || {
        found = keeper.exit_of("work").unwrap();
        found.is_some()
    });
    found.unwrap()
}
