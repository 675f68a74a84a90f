//! The same test beds over keepers of pods elsewhere: network namespaces of this machine, each with a file system of its
//! own, reached over one connection that can be cut.

#![expect(
    clippy::unwrap_used,
    reason = "the functions beside the tests fail as the tests do"
)]

mod beds;

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use beds::{LIMIT, Rig, Stranger, load, rig as rig_program, server, through_relay, until};
use serde_json::{Value, json};
use tare_lab::LabError;
use tare_lab::environment::{Environment, FaultAction, TestBed, TestBedPlan};
use tare_lab::local::Local;
use tare_lab::process::{snapshot, with_descendants};
use tare_lab::remote::{
    Dial, Namespaces, PodAddress, PodProvider, PodRequest, RunKeeperConfig, SitePods,
};
use tare_record::agent::AgentMessage;

const SILENCE: Duration = Duration::from_secs(20);

/// Pods of this machine whose connection to the conductor can be cut.
struct Cuttable {
    pods: Namespaces,
    wire: Arc<Wire>,
    /// Pods that were made.
    made: Arc<Mutex<Vec<String>>>,
    /// Certificates of what the control channel trusts.
    authorities: Arc<Mutex<BTreeSet<String>>>,
    /// Process and address of the run keeper.
    run_keeper: Arc<Mutex<Option<(u32, SocketAddr)>>>,
    /// What is external, and the pods that call it.
    admitted: Arc<Mutex<Vec<String>>>,
}

#[derive(Default)]
struct Wire {
    is_cut: Mutex<bool>,
    /// Both ends of all connections.
    sockets: Mutex<Vec<TcpStream>>,
}

impl Wire {
    fn cut(&self) {
        *self.is_cut.lock().unwrap() = true;
        for socket in self.sockets.lock().unwrap().drain(..) {
            let _ = socket.shutdown(Shutdown::Both);
        }
    }

    fn mend(&self) {
        *self.is_cut.lock().unwrap() = false;
    }

    /// Passes bytes of a connection on until it is cut.
    fn join(&self, far: TcpStream) -> std::io::Result<TcpStream> {
        let is_cut = self.is_cut.lock().unwrap();
        if *is_cut {
            return Err(std::io::ErrorKind::NotConnected.into());
        }
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let near = TcpStream::connect(listener.local_addr()?)?;
        let (inner, _) = listener.accept()?;
        let mut sockets = self.sockets.lock().unwrap();
        sockets.extend([inner.try_clone()?, far.try_clone()?]);
        let pairs = [(inner.try_clone()?, far.try_clone()?), (far, inner)];
        for (mut from, mut to) in pairs {
            std::thread::spawn(move || {
                let _ = std::io::copy(&mut from, &mut to);
                let _ = to.shutdown(Shutdown::Both);
            });
        }
        Ok(near)
    }
}

impl PodProvider for Cuttable {
    fn environment(&self) -> &'static str {
        self.pods.environment()
    }

    fn start_run_keeper(
        &mut self,
        config: &RunKeeperConfig,
    ) -> Result<(SocketAddr, Dial), LabError> {
        let (address, mut dial) = self.pods.start_run_keeper(config)?;
        let is_it = |pid: &&u32| {
            let line = std::fs::read_to_string(format!("/proc/{pid}/cmdline"));
            line.is_ok_and(|line| line.contains("--run"))
        };
        let pid = self.pods.pids().iter().find(is_it).copied();
        *self.run_keeper.lock().unwrap() = pid.map(|pid| (pid, address));
        let wire = Arc::clone(&self.wire);
        let dial = Box::new(move || dial().and_then(|far| wire.join(far)));
        Ok((address, dial))
    }

    fn create(
        &mut self,
        pods: &[PodRequest],
        objects: &[Value],
    ) -> Result<BTreeMap<String, PodAddress>, LabError> {
        let names = pods.iter().map(|pod| pod.config.name.clone());
        self.made.lock().unwrap().extend(names);
        let authorities = pods.iter().map(|pod| pod.config.authority.clone());
        self.authorities.lock().unwrap().extend(authorities);
        let calling = pods.iter().filter(|pod| pod.purpose.calls_external);
        let calling = calling.map(|pod| pod.config.name.clone());
        self.admitted.lock().unwrap().extend(calling);
        self.pods.create(pods, objects)
    }

    fn admit(&mut self, at: &str, address: SocketAddr) -> Result<(), LabError> {
        let admitted = format!("{at} is {address}");
        self.admitted.lock().unwrap().push(admitted);
        Ok(())
    }

    fn has_users(&self) -> bool {
        self.pods.has_users()
    }

    fn exited(&mut self, pod: &str) -> Option<String> {
        self.pods.exited(pod)
    }

    fn remove(&mut self, pods: &[String]) -> Result<(), LabError> {
        self.pods.remove(pods)
    }

    fn pids(&self) -> BTreeSet<u32> {
        self.pods.pids()
    }
}

fn all_pods(provider: impl PodProvider + 'static) -> SitePods {
    SitePods {
        sites: Vec::new(),
        provider: Box::new(provider),
    }
}

fn remote(rig: &Rig) -> (Local, Arc<Wire>) {
    let provider = cuttable();
    let wire = Arc::clone(&provider.wire);
    let local = Local::remote(rig.options(), vec![all_pods(provider)], SILENCE).unwrap();
    (local, wire)
}

fn cuttable() -> Cuttable {
    Cuttable {
        pods: Namespaces::start(&rig_program()).unwrap(),
        wire: Arc::default(),
        made: Arc::default(),
        authorities: Arc::default(),
        run_keeper: Arc::default(),
        admitted: Arc::default(),
    }
}

/// Looks at all keepers that it sees: their programs and variables, which one must be able to trace them for, and the files that they are
/// told by.
const SPY: &str = "for p in /proc/[0-9]*; do \
                     grep -qa '[k]eeper' $p/cmdline || continue; \
                     echo seen; \
                     readlink $p/exe && echo traced; \
                     cat $p/environ > /dev/null && echo traced; \
                     for f in $(grep -aoE '/[^[:cntrl:]]*[j]son' $p/cmdline); do [ -r $f ] && echo read; done; \
                   done; \
                   ls {{ dir }}/.. && echo listed; \
                   echo user $(id -u); sleep 60";

#[test]
fn what_is_measured_can_neither_read_what_keepers_are_told_nor_trace_them() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let rig = Rig::new();
    let start = format!(r#"[/bin/sh, -c, "{SPY}"]"#);
    rig.target("spy", "", &start, "{log: user, timeout: 60s}");
    let (mut local, _) = remote(&rig);
    let mut bed = local.place(&server("spy")).unwrap();
    bed.start(&mut |_, _| ()).unwrap();
    let into = rig.path("collected");
    bed.collect(&into).unwrap();
    let log = std::fs::read_to_string(into.join("server/output.log")).unwrap();
    assert!(log.contains("seen"), "{log}");
    for word in ["traced", "read", "listed", "user 0\n"] {
        assert!(!log.contains(word), "{word}: {log}");
    }
}

#[test]
fn the_control_channel_has_an_authority_of_its_own() {
    let rig = Rig::new();
    let provider = cuttable();
    let authorities = Arc::clone(&provider.authorities);
    let mut local = Local::remote(rig.options(), vec![all_pods(provider)], SILENCE).unwrap();
    let _bed = local.place(&beds::through_two("relay")).unwrap();
    let keys = local.folder().join("1-b1-arm/server-sidecar.keys/ca.pem");
    let of_measured = std::fs::read_to_string(keys).unwrap();
    let authorities = authorities.lock().unwrap();
    assert_eq!(authorities.len(), 1);
    assert!(!authorities.contains(&of_measured));
}

/// A relay beside the client calls what is external at this address; another pod calls nothing.
fn to_external(at: &str) -> TestBedPlan {
    let mut plan = through_relay();
    let topology = &mut plan.topology;
    topology.instances[0].name = String::from("bystander");
    topology.instances[0].target = String::from("mortal");
    topology.instances[1].pod = String::from("client");
    let external =
        json!([{"name": "server", "part": "server", "protocol": "tcp", "at": at, "host": at}]);
    topology.external = serde_json::from_value(external).unwrap();
    plan
}

#[test]
fn what_is_external_is_found_by_the_run_keeper_and_called_from_the_pod() {
    let rig = Rig::new();
    let provider = cuttable();
    let run_keeper = Arc::clone(&provider.run_keeper);
    let admitted = Arc::clone(&provider.admitted);
    let mut local = Local::remote(rig.options(), vec![all_pods(provider)], SILENCE).unwrap();
    let (pid, address) = run_keeper.lock().unwrap().unwrap();
    let stranger = Stranger::serve(pid, "0.0.0.0");
    // A name resolves there: this machine's own loopback has nobody at that port.
    let name = format!("localhost:{}", Stranger::PORT);
    local
        .resolve_external(&to_external(&name).topology)
        .unwrap();
    let at = format!("{}:{}", address.ip(), Stranger::PORT);
    let plan = to_external(&at);
    local.resolve_external(&plan.topology).unwrap();
    let mut bed = local.place(&plan).unwrap();
    bed.start(&mut |_, _| ()).unwrap();
    bed.check_external().unwrap();
    let local_name = format!("{name} is 127.0.0.1:{}", Stranger::PORT);
    let all = admitted.lock().unwrap().clone();
    assert_eq!(
        all,
        [
            local_name,
            format!("{at} is {at}"),
            String::from("1-b1-arm/client")
        ]
    );
    drop(stranger);
    let said = bed.check_external().unwrap_err().to_string();
    assert!(said.contains("takes no connection any more"), "{said}");
    let said = local.resolve_external(&to_external("no-such-host:1").topology);
    let said = said.unwrap_err().to_string();
    assert!(said.contains("no-such-host:1 has no address"), "{said}");
}

#[test]
fn an_arm_elsewhere_serves_is_observed_and_leaves_nothing() {
    let rig = Rig::new();
    let (mut local, _) = remote(&rig);
    let folder = local.folder().to_owned();
    let mut bed = local.test_bed(&through_relay()).unwrap();
    bed.start(&mut |_, _| ()).unwrap();
    let observation = bed.observe().unwrap();
    let mut agent = bed.start_agent("client", &load("reports")).unwrap();
    let messages: Vec<AgentMessage> = std::iter::from_fn(|| agent.next(LIMIT).unwrap()).collect();
    assert!(matches!(
        messages[1],
        AgentMessage::Ready { connections: 3, .. }
    ));
    assert!(matches!(&messages[2], AgentMessage::Failed { error } if error == "as planned"));
    let (parts, machine) = observation.finish().unwrap();
    let names: Vec<(&str, &str)> = parts.iter().map(|p| (&*p.instance, &*p.role)).collect();
    let expected = [
        ("server", "app"),
        ("server-sidecar", "sidecar"),
        ("conductor", "conductor"),
    ];
    assert_eq!(names, expected);
    assert!(parts.iter().all(|part| part.cpu_ns.is_some()));
    assert!(parts[0].rss_peak_bytes.is_some());
    // Files of /proc that only a process's own user may read.
    assert!(parts[0].disk_write_bytes.is_some());
    // The conductor, the run keeper, guardian and keeper of the namespaces; in each pod its keeper, a guardian and a keeper.
    assert_eq!((parts[0].processes, parts[2].processes), (1, 4 + 2 * 3));
    assert_eq!(machine.pods.len(), 2);
    assert!(machine.background_cpu_ns.is_some());

    // Files of an instance are in its pod only.
    let dir = folder.join("1-b1-arm/server");
    assert!(!dir.join("output.log").exists());
    let into = rig.path("collected");
    let copied = bed.collect(&into).unwrap();
    let log = std::fs::read_to_string(into.join("server/output.log")).unwrap();
    assert!(log.starts_with("listening on 10."), "{log}");
    assert!(copied.contains(&into.join("server/note.txt")));
    assert!(bed.unexpected_exits().is_empty());
    drop(agent);
    bed.stop().unwrap();
    drop(bed);
    drop(local);
    assert!(!folder.exists());
}

#[test]
fn pods_of_two_sites_come_from_two_providers_and_a_cut_of_one_connection_is_of_its_pods_alone() {
    let rig = Rig::new();
    let wires: [Arc<Wire>; 2] = Default::default();
    let made: [Arc<Mutex<Vec<String>>>; 2] = Default::default();
    let all = Namespaces::start_several(&rig_program(), 2).unwrap();
    let places = all.into_iter().zip(0..).map(|(pods, index): (_, usize)| {
        let provider = Cuttable {
            pods,
            wire: Arc::clone(&wires[index]),
            made: Arc::clone(&made[index]),
            authorities: Arc::default(),
            run_keeper: Arc::default(),
            admitted: Arc::default(),
        };
        SitePods {
            sites: vec![String::from(["a", "b"][index])],
            ..all_pods(provider)
        }
    });
    let mut local = Local::remote(rig.options(), places.collect(), SILENCE).unwrap();
    let mut plan = through_relay();
    plan.topology.pods[1].site = String::from("b");
    let mut bed = local.place(&plan).unwrap();
    let of = |index: usize| made[index].lock().unwrap().clone();
    assert_eq!(
        (of(0), of(1)),
        (
            vec![String::from("1-b1-arm/server")],
            vec![String::from("1-b1-arm/client")]
        )
    );
    // The server's pod is reached all the same.
    wires[1].cut();
    bed.start(&mut |_, _| ()).unwrap();
    wires[1].mend();
    let observation = bed.observe().unwrap();
    let mut agent = bed.start_agent("client", &load("reports")).unwrap();
    let messages: Vec<AgentMessage> = std::iter::from_fn(|| agent.next(LIMIT).unwrap()).collect();
    assert_eq!(messages.len(), 3, "{messages:?}");
    let (parts, machine) = observation.finish().unwrap();
    assert!(parts.iter().all(|part| part.cpu_ns.is_some()), "{parts:?}");
    assert_eq!(machine.pods.len(), 2);
    plan.topology.pods[1].site = String::from("c");
    let said = local.place(&plan).err().unwrap().to_string();
    assert!(said.contains("no cluster for the site c"), "{said}");
}

#[test]
fn the_last_words_of_what_dies_elsewhere_are_known() {
    let rig = Rig::new();
    let (mut local, _) = remote(&rig);
    let mut bed = local.place(&server("stillborn")).unwrap();
    let said = bed.start(&mut |_, _| ()).unwrap_err().to_string();
    assert!(
        said.contains("exit code 5") && said.contains("bad configuration"),
        "{said}"
    );
    drop(bed);
    let mut bed = local.place(&server("echo")).unwrap();
    bed.start(&mut |_, _| ()).unwrap();
    for (role, words) in [("dies", "about to die"), ("leaves", "without a result")] {
        let mut agent = bed.start_agent("client", &load(role)).unwrap();
        let said = loop {
            match agent.next(LIMIT) {
                Ok(message) => assert!(message.is_some(), "{role} is no good end"),
                Err(error) => break error.to_string(),
            }
        };
        assert!(said.contains(words), "{said}");
    }
    let mut agent = bed.start_agent("client", &load("waits")).unwrap();
    assert!(agent.next(LIMIT).unwrap().is_some());
    assert!(agent.next(LIMIT).unwrap().is_some());
    agent.interrupt().unwrap();
    let said = agent.next(LIMIT).unwrap_err().to_string();
    assert!(said.contains("SIGTERM"), "{said}");
    drop(agent);
    let mut killed = bed.inject_fault("server", FaultAction::Kill).unwrap();
    killed.wait(LIMIT).unwrap().how.as_ref().unwrap();
    let mut started = bed.inject_fault("server", FaultAction::Start).unwrap();
    started.wait(LIMIT).unwrap().how.as_ref().unwrap();
    assert!(bed.unexpected_exits().is_empty());
}

fn cut_for(time: Duration, wire: &Arc<Wire>) -> JoinHandle<()> {
    wire.cut();
    let wire = Arc::clone(wire);
    std::thread::spawn(move || {
        std::thread::sleep(time);
        wire.mend();
    })
}

#[test]
fn a_cut_of_the_connection_loses_nothing() {
    let rig = Rig::new();
    let (mut local, wire) = remote(&rig);
    let mut bed = local.place(&server("echo")).unwrap();
    bed.start(&mut |_, _| ()).unwrap();
    let mut agent = bed.start_agent("client", &load("reports")).unwrap();
    // It reports into the void: its messages wait in the run keeper.
    let mender = cut_for(Duration::from_secs(3), &wire);
    let messages: Vec<AgentMessage> = std::iter::from_fn(|| agent.next(LIMIT).unwrap()).collect();
    assert_eq!(messages.len(), 3, "{messages:?}");
    mender.join().unwrap();
    // An order that is given meanwhile is carried out once, afterwards.
    let mender = cut_for(Duration::from_secs(1), &wire);
    let parts = bed.observe().unwrap().finish().unwrap().0;
    assert_eq!(parts[0].instance, "server");
    mender.join().unwrap();
}

/// Descendants of this process with these words on their command line.
fn below_with(words: &[&str]) -> Vec<u32> {
    let below = with_descendants(&snapshot(), &BTreeSet::from([std::process::id()]));
    let has_words = |pid: &u32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).into_owned();
        words.iter().all(|word| line.contains(word))
    };
    below.into_iter().filter(has_words).collect()
}

#[test]
fn a_pod_whose_keeper_is_killed_is_gone_with_all_it_ran_and_another_can_be_made() {
    let rig = Rig::new();
    let (mut local, _) = remote(&rig);
    let mut plan = server("echo");
    plan.name = String::from("b7-killed");
    let mut bed = local.place(&plan).unwrap();
    bed.start(&mut |_, _| ()).unwrap();
    let keeper = below_with(&["--pod", "b7-killed.server.json"]);
    assert_eq!(keeper.len(), 1);
    // Itself, its guardian and keeper, the server.
    let kept = with_descendants(&snapshot(), &keeper.iter().copied().collect());
    assert_eq!(kept.len(), 4);
    let pid = rustix::process::Pid::from_raw(keeper[0].cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    let mut exits = Vec::new();
    until(|| {
        exits.extend(bed.unexpected_exits());
        !exits.is_empty()
    });
    assert_eq!(exits[0].instance, "server");
    assert!(exits[0].how.contains("is gone"), "{}", exits[0].how);
    drop(bed);
    let is_there = |pid: &u32| {
        snapshot()
            .iter()
            .any(|one| one.pid == *pid && one.is_alive())
    };
    until(|| !kept.iter().any(is_there));
    let mut bed = local.place(&server("echo")).unwrap();
    bed.start(&mut |_, _| ()).unwrap();
    assert!(bed.unexpected_exits().is_empty());
}
