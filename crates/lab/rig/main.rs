//! The program that the laboratory's tests start: a keeper, an owner to be killed, processes that
//! hide, an agent that obeys, work of a known size.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test program: it fails loudly and tells its caller by standard output"
)]

mod sites;

use std::collections::BTreeMap;
use std::io::Write;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use tare_lab::environment::Environment;
use tare_lab::fetch::Fetcher;
use tare_lab::keeper::{CgroupLimits, InsideOptions, Keeper, KeeperMode, Spawn, keeper_main};
use tare_lab::local::{Local, LocalOptions};
use tare_lab::remote::{pod_keeper_main, run_keeper_main};
use tare_lab::targets::Targets;
use tare_record::FORMAT_VERSION;
use tare_record::load::AddressPolicy;
use tare_record::plan::{Addressing, Limits};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["keeper", "--run", file] => run_keeper_main(&config(file)).unwrap(),
        ["keeper", "--pod", file] => pod_keeper_main(&me(), config(file)).unwrap(),
        ["keeper", rest @ ..] => keeper_main(keeper_mode(rest)).unwrap(),
        ["owner", base, token] => own(
            Keeper::start(&me(), Some(base.as_ref())).unwrap(),
            token,
            |_| None,
            None,
        ),
        ["owner-of-pods", base, token] => {
            let mut keeper = Keeper::start_in_namespaces(&me(), Some(base.as_ref())).unwrap();
            attach(&mut keeper, |number| Ipv4Addr::new(10, 77, 1, number));
            own_bounded(keeper, token);
        }
        ["owner-of-sites", base, token] => {
            let mut keeper = sites::start(base);
            sites::capture_all(&mut keeper);
            own_bounded(keeper, token);
        }
        ["sites", base] => sites::reach(base),
        ["describe-sites", base] => sites::describe(base),
        ["describe", base] => describe(base),
        ["limits", base] => {
            let limits = Limits {
                cpu: Some(0.5),
                memory_bytes: Some(1 << 30),
            };
            match Local::new(options(base, BTreeMap::from([("server".into(), limits)]))) {
                Ok(_) => println!("possible"),
                Err(error) => println!("{error}"),
            }
        }
        ["hog"] => hog(),
        ["tree", token] => tree(token),
        ["orphan", token, how] => {
            start(&["sleep", token, how]);
        }
        ["sleep", _, how] => sleep(how),
        ["flood"] => flood(),
        ["burn", milliseconds, file] => {
            burn_at_sight(file, || burn(milliseconds.parse().unwrap()));
        }
        ["burn-in-child", milliseconds, file] => burn_at_sight(file, || {
            run_to_end(&["burn-once", milliseconds]);
        }),
        ["burn-once", milliseconds] => {
            burn(milliseconds.parse().unwrap());
            println!("burnt {}", own_cpu_ns());
        }
        ["--version"] => println!("rig 1.2.3"),
        ["serve", address] => serve(address),
        ["relay", address, upstream] => relay(address, upstream),
        ["count", file] => {
            let count = std::fs::read_to_string(file).map_or(0, |text| text.len());
            std::fs::write(file, "x".repeat(count + 1)).unwrap();
        }
        ["agent", "--plan", plan, "--connect", place] => agent(plan, place),
        other => panic!("unknown words {other:?}"),
    }
}

fn config<T: serde::de::DeserializeOwned>(file: &str) -> T {
    serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap()
}

fn keeper_mode(words: &[&str]) -> KeeperMode {
    match words {
        [] => KeeperMode::Host(None),
        ["--base", base] => KeeperMode::Host(Some(PathBuf::from(base))),
        ["--namespaces"] => KeeperMode::Namespaces(None),
        ["--namespaces", "--base", base] => KeeperMode::Namespaces(Some(PathBuf::from(base))),
        ["--inside", folder, "--conductor", pid] => KeeperMode::OnHost(inside(folder, pid)),
        ["--inside", folder, "--conductor", pid, "--pods"] => {
            KeeperMode::InNamespaces(inside(folder, pid))
        }
        other => panic!("unknown words {other:?}"),
    }
}

fn inside(folder: &str, pid: &str) -> InsideOptions {
    InsideOptions {
        folder: PathBuf::from(folder),
        conductor: pid.parse().unwrap(),
    }
}

fn me() -> PathBuf {
    std::env::current_exe().unwrap()
}

/// Four pods.
fn attach(keeper: &mut Keeper, address: impl Fn(u8) -> Ipv4Addr) {
    for number in 0..4 {
        let pod = format!("pod-{number}");
        keeper.attach(&pod, address(number)).unwrap();
    }
}

/// Where they can be had, limits are among what must not stay.
fn own_bounded(mut keeper: Keeper, token: &str) {
    let bounds = CgroupLimits::new(Some(0.9), Some(1 << 30)).unwrap();
    let bounds = keeper.check_limits(bounds).is_ok().then_some(bounds);
    own(
        keeper,
        token,
        |number| Some(format!("pod-{number}")),
        bounds,
    );
}

/// Says which addressing this process can have, and why.
fn describe(base: &str) {
    let mut local = Local::new(options(base, BTreeMap::new())).unwrap();
    let record = local.describe().unwrap();
    println!("{}: {}", record.addressing, record.facts["addressing"]);
}

fn options(base: &str, limits: BTreeMap<String, Limits>) -> LocalOptions {
    let base = PathBuf::from(base);
    LocalOptions {
        tare: me(),
        addressing: Addressing::Auto,
        targets: Targets::load(&base, &[]).unwrap(),
        fetcher: Fetcher {
            cache: base.clone(),
            own: me(),
            chosen: Vec::new(),
        },
        out: base.clone(),
        site_links: Vec::new(),
        limits: limits.into_iter().collect(),
        seed: 1,
        reach: AddressPolicy::Private,
        base: Some(base),
    }
}

/// What a conductor does: start trees under a keeper, one in each pod if there are pods, go on for ever.
fn own(
    mut keeper: Keeper,
    token: &str,
    pod: impl Fn(u32) -> Option<String>,
    bounds: Option<CgroupLimits>,
) {
    for number in 0.. {
        let name = format!("tree-{number}");
        if number < 4 {
            keeper
                .spawn(&Spawn {
                    output: keeper.folder().join(&name),
                    name,
                    argv: vec![me().display().to_string(), "tree".into(), token.into()],
                    env: Vec::new(),
                    cwd: PathBuf::from("/"),
                    cpus: Vec::new(),
                    output_bytes_max: 1000,
                    nofile: None,
                    pod: pod(number),
                    hosts: None,
                    group: None,
                    bounds,
                    confinement: None,
                })
                .unwrap();
            println!("{number}");
        } else {
            std::thread::sleep(Duration::from_secs(60));
        }
    }
}

/// A process with children of every kind that tries to outlive its parents.
fn tree(token: &str) {
    start(&["sleep", token, "plain"]);
    start(&["sleep", token, "deaf"]);
    for how in ["plain", "setsid", "deaf-setsid"] {
        start(&["orphan", token, how]);
    }
    let naked = Command::new(me())
        .args(["orphan", token, "setsid"])
        .env_clear()
        .stdin(Stdio::null())
        .spawn();
    drop(naked.unwrap());
    println!("tree stands");
    rest();
}

fn start(words: &[&str]) {
    drop(Command::new(me()).args(words).spawn().unwrap());
}

fn sleep(how: &str) {
    if how.contains("setsid") {
        rustix::process::setsid().unwrap();
    }
    if how.contains("deaf") {
        // A shell is the plainest program that can be told to ignore a signal.
        let error = std::os::unix::process::CommandExt::exec(
            Command::new("sh")
                .args(["-c", "trap '' TERM INT HUP; while :; do sleep 60; done"])
                .arg(std::env::args().nth(2).unwrap()),
        );
        panic!("{error}");
    }
    rest();
}

/// Long enough for any test, short enough not to stay for ever should one fail.
fn rest() {
    std::thread::sleep(Duration::from_secs(60));
}

fn flood() {
    let mut out = std::io::stdout().lock();
    for number in 0..200_000 {
        writeln!(out, "line {number}").unwrap();
    }
    writeln!(out, "flood over").unwrap();
}

/// Works when a file appears, so that an observer can be there before, and says what it took.
fn burn_at_sight(file: &str, work: impl FnOnce()) {
    while !std::path::Path::new(file).exists() {
        std::thread::sleep(Duration::from_millis(1));
    }
    let before = own_cpu_ns();
    work();
    println!("burnt {}", own_cpu_ns() - before);
    rest();
}

/// Wants ever more memory and uses it.
fn hog() {
    let mut kept = Vec::new();
    for _ in 0..64 {
        kept.push(vec![1_u8; 8 << 20]);
        println!("{} MiB", kept.len() * 8);
    }
    rest();
}

fn run_to_end(words: &[&str]) {
    let status = Command::new(me()).args(words).status().unwrap();
    assert!(status.success());
}

/// Works in two threads that end.
fn burn(milliseconds: u64) {
    let workers: Vec<_> = (0..2)
        .map(|_| std::thread::spawn(move || burn_this_thread(milliseconds / 2)))
        .collect();
    for worker in workers {
        worker.join().unwrap();
    }
}

/// Spins until this thread has used this CPU time.
fn burn_this_thread(milliseconds: u64) {
    let used = || {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        Duration::new(
            now.tv_sec.unsigned_abs(),
            u32::try_from(now.tv_nsec).unwrap(),
        )
    };
    while used() < Duration::from_millis(milliseconds) {
        std::hint::black_box((0..10_000u64).sum::<u64>());
    }
}

fn own_cpu_ns() -> u128 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(
        now.tv_sec.unsigned_abs(),
        u32::try_from(now.tv_nsec).unwrap(),
    )
    .as_nanos()
}

/// Sends back what it is sent, on several connections.
fn serve(address: &str) {
    let listener = TcpListener::bind(address).unwrap();
    println!("listening on {address}");
    for stream in listener.incoming() {
        let mut stream = stream.unwrap();
        std::thread::spawn(move || {
            let mut copy = stream.try_clone().unwrap();
            std::io::copy(&mut stream, &mut copy)
        });
    }
}

/// Passes each connection on, both ways.
fn relay(address: &str, upstream: &str) {
    let listener = TcpListener::bind(address).unwrap();
    let upstream = upstream.to_owned();
    for near in listener.incoming() {
        let near = near.unwrap();
        let far = TcpStream::connect(&upstream).unwrap();
        for (mut from, mut to) in [
            (near.try_clone().unwrap(), far.try_clone().unwrap()),
            (far, near),
        ] {
            std::thread::spawn(move || {
                let _ = std::io::copy(&mut from, &mut to);
                to.shutdown(std::net::Shutdown::Write)
            });
        }
    }
}

/// Speaks as an agent does; the role says how it ends.
fn agent(plan: &str, place: &str) {
    let text = std::fs::read_to_string(plan).unwrap();
    let plan: serde_json::Value = serde_json::from_str(&text).unwrap();
    let mut stream = UnixStream::connect(place.strip_prefix("unix:").unwrap()).unwrap();
    let mut say = |line: &str| writeln!(stream, "{line}").unwrap();
    let pid = std::process::id();
    say(&format!(
        "{{\"message\":\"hello\",\"version\":{FORMAT_VERSION},\"pid\":{pid}}}"
    ));
    match plan["role"].as_str().unwrap() {
        "dies" => {
            println!("about to die");
            std::process::abort();
        }
        "rubbish" => {
            say("this is no message");
            rest();
        }
        "leaves" => {}
        "waits" => {
            say("{\"message\":\"ready\",\"connections\":3,\"start_unix_us\":5}");
            rest();
        }
        _ => {
            say("{\"message\":\"ready\",\"connections\":3,\"start_unix_us\":5}");
            say("{\"message\":\"failed\",\"error\":\"as planned\"}");
        }
    }
}
