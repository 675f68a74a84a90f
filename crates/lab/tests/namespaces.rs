//! The keeper in namespaces: pods meet on its switch and nowhere else, and the kernel ends all of it with the keeper.

#![expect(
    clippy::unwrap_used,
    reason = "the functions beside the tests fail as the tests do"
)]

mod base;

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use base::pods::{Which, devices};
use base::{Base, LIMIT, kill, within};
use tare_lab::keeper::{Keeper, Spawn};

const RIG: &str = env!("CARGO_BIN_EXE_lab-rig");
const NEAR: Ipv4Addr = Ipv4Addr::new(10, 77, 1, 0);
const FAR: Ipv4Addr = Ipv4Addr::new(10, 77, 1, 1);
/// A user without rights: `nobody`.
const NOBODY: u32 = 65534;

#[test]
fn nothing_survives_an_owner_of_pods_killed_at_any_moment() {
    let base = Base::new("pods-owner");
    let before = devices();
    for round in 0..20u64 {
        let mut owner = base.owner("owner-of-pods", round, rustix::process::geteuid().as_raw());
        std::thread::sleep(Duration::from_millis((round * round * 37) % 211));
        let networks = base.networks();
        owner.kill().unwrap();
        owner.wait().unwrap();
        base.assert_gone(round, &networks);
    }
    assert_eq!(devices(), before);
}

#[test]
fn nothing_survives_a_keeper_or_guardian_of_pods_killed_with_its_owner_at_any_moment() {
    for which in [Which::Guardian, Which::Inside] {
        let base = Base::new(which.word());
        for round in 0..10u64 {
            let mut owner = base.owner("owner-of-pods", round, rustix::process::geteuid().as_raw());
            let mut found = None;
            assert!(within(LIMIT, || {
                found = base.keeper(which);
                found.is_some()
            }));
            std::thread::sleep(Duration::from_millis((round * round * 37) % 101));
            let networks = base.networks();
            let keeper = found.unwrap();
            kill(keeper);
            owner.kill().unwrap();
            owner.wait().unwrap();
            base.assert_gone(round, &networks);
        }
    }
}

#[test]
fn without_root_a_user_namespace_serves_and_leaves_nothing_either() {
    let base = Base::new("pods-nobody");
    std::fs::set_permissions(&base.0, std::fs::Permissions::from_mode(0o777)).unwrap();
    for round in 0..4u64 {
        let mut owner = base.owner("owner-of-pods", round, NOBODY);
        assert!(
            within(LIMIT, || base.carrying(round).len() >= 28),
            "all four trees stand, each in its pod"
        );
        let networks = base.networks();
        // The host's, the switch's and the four pods'.
        assert_eq!(networks.len(), 6, "{networks:?}");
        owner.kill().unwrap();
        owner.wait().unwrap();
        base.assert_gone(round, &networks);
    }
}

#[test]
fn where_namespaces_are_not_to_be_had_loopback_remains_and_the_reason_is_told() {
    let base = Base::new("pods-none");
    // A user namespace in which no PID namespace may be made.
    let hidden = Command::new("unshare")
        .args(["--user", "--map-root-user", "sh", "-c"])
        .arg("echo 0 > /proc/sys/user/max_pid_namespaces && exec \"$0\" describe \"$1\"")
        .args([RIG, &base.text()])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&hidden.stdout).into_owned();
    assert!(
        text.starts_with("loopback: namespaces are not possible here")
            && text.contains("limit of namespaces")
            && text.contains("root"),
        "{text}{}",
        String::from_utf8_lossy(&hidden.stderr)
    );
    let open = Command::new(RIG).args(["describe", &base.text()]).output();
    let text = String::from_utf8_lossy(&open.unwrap().stdout).into_owned();
    assert_eq!(text.trim(), "namespaces: the default, possible here");
    assert!(base.entries().is_empty());
}

#[test]
fn a_pod_is_reached_through_the_switch_by_sockets_that_the_keeper_opens_in_pods() {
    let base = Base::new("pods-reach");
    let mut keeper = keeper(&base);
    serve(&mut keeper, "near", NEAR);
    let at = (NEAR, 80);
    for pod in ["near", "far"] {
        let socket = keeper.socket(pod).unwrap();
        rustix::net::connect(&socket, &std::net::SocketAddr::from(at)).unwrap();
        let mut stream = TcpStream::from(socket);
        stream.write_all(b"hello").unwrap();
        let mut answer = [0; 5];
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"hello");
        let from = stream.local_addr().unwrap().ip();
        assert_eq!(from, if pod == "near" { NEAR } else { FAR });
    }
}

#[test]
fn two_keepers_have_the_same_addresses_and_never_meet() {
    let (one, two) = (Base::new("pods-one"), Base::new("pods-two"));
    let (mut one, mut two) = (keeper(&one), keeper(&two));
    serve(&mut one, "near", NEAR);
    let socket = two.socket("far").unwrap();
    let at = std::net::SocketAddr::from((NEAR, 80));
    let refused = rustix::net::connect(&socket, &at).unwrap_err();
    assert_eq!(refused, rustix::io::Errno::CONNREFUSED);
}

#[test]
fn process_ids_are_told_as_the_host_sees_them() {
    let base = Base::new("pods-ids");
    let mut keeper = keeper(&base);
    let pid = serve(&mut keeper, "near", NEAR);
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap();
    assert!(String::from_utf8_lossy(&line).contains("serve"));
    assert_eq!(keeper.pids().len(), 2);
    let inside = tare_lab::process::stat(pid).unwrap().parent;
    assert!(keeper.pids().contains(&inside) && inside != keeper.pid());
}

#[test]
fn a_pod_that_is_unknown_or_known_twice_is_refused() {
    let base = Base::new("pods-wrong");
    let mut keeper = keeper(&base);
    for error in [
        keeper.attach("near", FAR).unwrap_err(),
        keeper.socket("nowhere").unwrap_err(),
        keeper.detach("nowhere").unwrap_err(),
    ] {
        assert!(error.to_string().contains("pod named"), "{error}");
    }
    keeper.detach("near").unwrap();
    keeper.attach("near", NEAR).unwrap();
    let host = Base::new("pods-host");
    let mut plain = Keeper::start(RIG.as_ref(), Some(&host.0)).unwrap();
    let error = plain.attach("near", NEAR).unwrap_err().to_string();
    assert!(error.contains("no namespaces"), "{error}");
}

#[test]
fn names_resolve_for_the_processes_that_have_them_and_for_nobody_else() {
    const NAME: &str = "db.airline.example";
    let base = Base::new("pods-names");
    let mut keeper = keeper(&base);
    let hosts = keeper.folder().join("near.hosts");
    std::fs::write(&hosts, format!("{FAR} {NAME}\n")).unwrap();
    // `getent hosts` would ask for an IPv6 address first, and where there is none wait for a name server.
    let asked = run(
        &mut keeper,
        &["getent", "ahostsv4", NAME],
        Some(hosts.clone()),
    );
    assert!(asked.starts_with(&format!("{FAR} ")), "{asked}");
    let others = run(&mut keeper, &["cat", "/etc/hosts"], None);
    assert!(!others.contains(NAME), "{others}");
    std::fs::remove_file(&hosts).unwrap();
    let mut nameless = command(&keeper, &["true"]);
    nameless.hosts = Some(hosts);
    let error = keeper.spawn(&nameless).unwrap_err().to_string();
    assert!(error.contains("names of its own"), "{error}");
}

/// What a command says in the pod `near`.
fn run(keeper: &mut Keeper, words: &[&str], hosts: Option<PathBuf>) -> String {
    let mut spawn = command(keeper, words);
    spawn.hosts = hosts;
    keeper.spawn(&spawn).unwrap();
    assert!(within(LIMIT, || {
        keeper.exit_of(&spawn.name).unwrap().is_some()
    }));
    keeper.tail(&spawn.name).unwrap().join("\n")
}

fn command(keeper: &Keeper, words: &[&str]) -> Spawn {
    Spawn {
        name: words.join(" "),
        argv: words.iter().map(|word| String::from(*word)).collect(),
        env: vec![(String::from("PATH"), String::from("/usr/bin:/bin"))],
        cwd: PathBuf::from("/"),
        cpus: Vec::new(),
        output: keeper.folder().join("command.log"),
        output_bytes_max: 4096,
        nofile: None,
        pod: Some(String::from("near")),
        hosts: None,
        group: None,
        bounds: None,
        confinement: None,
    }
}

/// A keeper with the pods `near` and `far`.
fn keeper(base: &Base) -> Keeper {
    let mut keeper = Keeper::start_in_namespaces(RIG.as_ref(), Some(&base.0)).unwrap();
    keeper.attach("near", NEAR).unwrap();
    keeper.attach("far", FAR).unwrap();
    keeper
}

/// Starts an echo server on port 80 of a pod and waits until it listens.
fn serve(keeper: &mut Keeper, pod: &str, address: Ipv4Addr) -> u32 {
    let spawn = Spawn {
        name: String::from("server"),
        argv: [RIG, "serve", &format!("{address}:80")]
            .map(String::from)
            .to_vec(),
        env: Vec::new(),
        cwd: PathBuf::from("/"),
        cpus: Vec::new(),
        output: keeper.folder().join("server.log"),
        output_bytes_max: 4096,
        nofile: None,
        pod: Some(String::from(pod)),
        hosts: None,
        group: None,
        bounds: None,
        confinement: None,
    };
    let pid = keeper.spawn(&spawn).unwrap();
    assert!(within(LIMIT, || {
        !keeper.tail("server").unwrap().is_empty()
    }));
    pid
}
