//! The local environment with real processes: an arm stands, is watched, and is gone afterwards.

#![expect(
    clippy::unwrap_used,
    reason = "the functions beside the tests fail as the tests do"
)]

mod beds;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::time::Duration;

use beds::{LIMIT, Rig, load, rig as rig_program, server, through_relay, through_two, until};
use tare_lab::LabError;
use tare_lab::environment::{Environment, TestBed};
use tare_lab::fetch::Fetcher;
use tare_lab::local::Local;
use tare_record::FORMAT_VERSION;
use tare_record::agent::AgentMessage;
use tare_record::topology::Interception;

#[test]
fn an_arm_serves_through_its_proxies_is_observed_and_leaves_nothing() {
    let rig = Rig::new();
    let mut local = rig.local();
    let mut bed = local.test_bed(&through_relay()).unwrap();
    bed.start(&mut |_, _| ()).unwrap();
    assert_eq!(echo(&bed), "hello");

    let mut observation = bed.observe().unwrap();
    // The machine's own figures are counted in ticks of 10 ms.
    let uptime = || std::fs::read_to_string("/proc/uptime").unwrap();
    let seconds = |text: String| text.split(' ').next().unwrap().parse::<f64>().unwrap();
    let start = seconds(uptime());
    until(|| seconds(uptime()) > start + 0.05);
    observation.tick();
    let (parts, machine) = observation.finish().unwrap();
    let names: Vec<(&str, &str)> = parts.iter().map(|p| (&*p.instance, &*p.role)).collect();
    assert_eq!(
        names,
        [
            ("server", "app"),
            ("server-sidecar", "sidecar"),
            ("conductor", "conductor")
        ]
    );
    assert_eq!(parts[0].software, "echo 1.2.3");
    // With the conductor its guardian and keeper.
    assert_eq!((parts[0].processes, parts[2].processes), (1, 3));
    assert!(
        parts
            .iter()
            .all(|p| p.cpu_ns.is_some() && p.rss_mean_bytes.unwrap() > 0)
    );
    assert!(!machine.core_busy.is_empty());

    // What the server says comes to its file by way of the keeper: the answer to a call may be here before.
    let output = bed.pod_processes().unwrap()[0].log.clone().unwrap();
    until(|| std::fs::read_to_string(&output).is_ok_and(|text| text.ends_with('\n')));
    let into = rig.path("collected");
    let copied = bed.collect(&into).unwrap();
    let log = std::fs::read_to_string(into.join("server/output.log")).unwrap();
    assert!(log.starts_with("listening on 127."), "{log}");
    assert!(copied.contains(&into.join("server/note.txt")));
    let commands = bed.commands();
    assert_eq!(commands[0].0, "server");
    assert!(commands[0].1.contains(&String::from("serve")));
    assert!(bed.unexpected_exits().is_empty());

    let at = bed.endpoint("client->server", "client").unwrap().addresses[0];
    bed.stop().unwrap();
    assert!(TcpStream::connect(at).is_err());
    drop(bed);
    drop(local);
    assert_eq!(std::fs::read_dir(rig.path("base")).unwrap().count(), 0);
}

#[test]
fn what_another_test_bed_uses_while_this_one_is_observed_is_told_apart() {
    let rig = Rig::new();
    let script = "echo up; until [ -e {{ dir }}/go ]; do sleep 0.01; done; {{ bin }} burn-once 200; echo over; sleep 60";
    let start = format!(r#"[/bin/sh, -c, "{script}"]"#);
    rig.target("busy", "", &start, "{log: up, timeout: 60s}");
    let mut local = rig.local();
    let mut other = local.test_bed(&server("busy")).unwrap();
    other.start(&mut |_, _| ()).unwrap();
    let mut bed = local.place(&server("echo")).unwrap();
    bed.start(&mut |_, _| ()).unwrap();
    let observation = bed.observe().unwrap();
    let log = other.pod_processes().unwrap()[0].log.clone().unwrap();
    std::fs::write(log.with_file_name("go"), "").unwrap();
    until(|| std::fs::read_to_string(&log).is_ok_and(|text| text.contains("over")));
    let (parts, machine) = observation.finish().unwrap();
    // The child's time is known in ticks of 10 ms.
    let other_ns = machine.other_arms_cpu_ns.unwrap();
    assert!(other_ns >= 180_000_000, "{other_ns}");
    assert_eq!(parts.len(), 2, "{parts:?}");
    assert!(parts[0].cpu_ns.unwrap() < other_ns, "{parts:?}");
}

#[test]
fn an_instance_has_a_folder_in_memory_that_nobody_else_can_enter() {
    use std::os::unix::fs::PermissionsExt;
    let rig = Rig::new();
    let start = r#"[/bin/sh, -c, "echo kept > {{ memory }}/record; echo up; sleep 60"]"#;
    rig.target("keeping", "", start, "{log: up, timeout: 60s}");
    let mut local = rig.local();
    let name = local.folder().file_name().unwrap().to_owned();
    let memory = std::path::Path::new("/dev/shm").join(name);
    let mut bed = local.place(&server("keeping")).unwrap();
    bed.start(&mut |_, _| ()).unwrap();
    let of_bed = memory.join("1-b1-arm");
    for folder in [&memory, &of_bed, &of_bed.join("server")] {
        let mode = std::fs::metadata(folder).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o700, "{}", folder.display());
    }
    let record = of_bed.join("server/record");
    assert_eq!(std::fs::read_to_string(record).unwrap(), "kept\n");
    drop(bed);
    assert!(memory.exists() && !of_bed.exists());
    drop(local);
    assert!(!memory.exists());
}

#[test]
fn a_paused_test_bed_stands_still_serves_again_when_resumed_and_can_be_stopped() {
    let rig = Rig::new();
    let mut local = rig.local();
    let mut bed = local.test_bed(&through_relay()).unwrap();
    bed.start(&mut |_, _| ()).unwrap();
    let instances = bed.pod_processes().unwrap().into_iter();
    let instances = instances.filter(|process| process.software.is_some());
    let pids: Vec<u32> = instances.filter_map(|process| process.pid).collect();
    assert_eq!(pids.len(), 2);
    let are_stopped = || {
        pids.iter().all(|pid| {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
            stat.rsplit(") ").next().unwrap().starts_with('T')
        })
    };
    bed.pause().unwrap();
    until(are_stopped);

    bed.resume(&mut |_, _| ()).unwrap();
    assert!(!are_stopped());
    assert_eq!(echo(&bed), "hello");

    bed.pause().unwrap();
    bed.stop().unwrap();
    until(|| {
        pids.iter()
            .all(|pid| !Path::new(&format!("/proc/{pid}")).exists())
    });
}

#[test]
fn dropping_a_bed_stops_it() {
    let rig = Rig::new();
    let mut local = rig.local();
    let mut bed = local.place(&through_relay()).unwrap();
    bed.start(&mut |_, _| ()).unwrap();
    let at = bed.endpoint("client->server", "client").unwrap().addresses[0];
    assert!(TcpStream::connect(at).is_ok());
    drop(bed);
    assert!(TcpStream::connect(at).is_err());
    // The next test bed has its own addresses: connections of the first are not in its way.
    let next = local.place(&through_relay()).unwrap();
    assert_ne!(
        next.endpoint("client->server", "client").unwrap().addresses[0].ip(),
        at.ip()
    );
}

#[test]
fn a_part_that_dies_is_told_with_its_last_words() {
    let rig = Rig::new();
    let mut local = rig.local();
    let mut bed = local.test_bed(&server("mortal")).unwrap();
    bed.start(&mut |_, _| ()).unwrap();
    let log = bed.pod_processes().unwrap()[0].log.clone().unwrap();
    std::fs::write(Path::new(&log).with_file_name("go"), "").unwrap();
    let mut unexpected_exits = Vec::new();
    until(|| {
        unexpected_exits.extend(bed.unexpected_exits());
        !unexpected_exits.is_empty()
    });
    assert_eq!(unexpected_exits[0].instance, "server");
    assert_eq!(unexpected_exits[0].how, "exit code 4");
    assert_eq!(unexpected_exits[0].log_tail.last().unwrap(), "out of luck");
    // Told once.
    assert!(bed.unexpected_exits().is_empty());
}

#[test]
fn a_part_that_dies_before_it_serves_is_not_waited_for() {
    let rig = Rig::new();
    let error = rig
        .local()
        .place(&server("stillborn"))
        .unwrap()
        .start(&mut |_, _| ())
        .unwrap_err();
    match error {
        LabError::Died {
            instance,
            how,
            log_tail,
        } => {
            assert_eq!((instance.as_str(), how.as_str()), ("server", "exit code 5"));
            assert_eq!(log_tail, ["bad configuration"]);
        }
        other => panic!("{other}"),
    }
}

#[test]
fn a_part_that_never_serves_is_told_with_its_probe_and_its_log() {
    let rig = Rig::new();
    let error = rig
        .local()
        .place(&server("mute"))
        .unwrap()
        .start(&mut |_, _| ())
        .unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, LabError::NotReady { .. }), "{text}");
    assert!(
        text.contains("no connection to 127.") && text.contains("thinking"),
        "{text}"
    );
}

#[test]
fn a_step_before_the_start_that_fails_is_named() {
    let rig = Rig::new();
    let error = rig
        .local()
        .place(&server("unprepared"))
        .unwrap()
        .start(&mut |_, _| ())
        .unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("server (format)") && text.contains("exit code 9"),
        "{text}"
    );
}

#[test]
fn whoever_took_a_port_meanwhile_is_named() {
    let rig = Rig::new();
    let mut local = rig.local();
    let mut bed = local.place(&server("echo")).unwrap();
    let at = bed.endpoint("client->server", "client").unwrap().addresses[0];
    let _thief = TcpListener::bind(at).unwrap();
    let text = bed.start(&mut |_, _| ()).unwrap_err().to_string();
    let me = format!("(pid {})", std::process::id());
    assert!(
        text.contains(&at.to_string()) && text.contains(&me),
        "{text}"
    );
}

#[test]
fn an_agent_reports_over_its_socket_until_it_has_ended() {
    let rig = Rig::new();
    let mut local = rig.local();
    let mut bed = local.place(&server("echo")).unwrap();
    bed.start(&mut |_, _| ()).unwrap();
    let mut agent = bed.start_agent("client", &load("reports")).unwrap();
    let messages: Vec<AgentMessage> = std::iter::from_fn(|| agent.next(LIMIT).unwrap()).collect();
    assert!(matches!(
        messages[0],
        AgentMessage::Hello {
            version: FORMAT_VERSION,
            ..
        }
    ));
    assert!(matches!(
        messages[1],
        AgentMessage::Ready { connections: 3, .. }
    ));
    assert!(matches!(&messages[2], AgentMessage::Failed { error } if error == "as planned"));
    assert_eq!(messages.len(), 3);
    let parts = {
        let mut waiting = bed.start_agent("client", &load("waits")).unwrap();
        // It is a process of its own once it says something.
        assert!(waiting.next(LIMIT).unwrap().is_some());
        let parts = bed.observe().unwrap().finish().unwrap().0;
        drop(waiting);
        parts
    };
    let found = parts.iter().find(|part| part.instance == "client").unwrap();
    assert_eq!((found.role.as_str(), found.processes), ("agent", 1));
}

#[test]
fn an_agent_that_dies_or_talks_nonsense_is_told_with_its_last_words() {
    let rig = Rig::new();
    let mut local = rig.local();
    let mut bed = local.place(&server("echo")).unwrap();
    let mut said = |role: &str| {
        let mut agent = bed.start_agent("client", &load(role)).unwrap();
        loop {
            match agent.next(LIMIT) {
                Ok(Some(_)) => {}
                Ok(None) => panic!("{role} is no good end"),
                Err(error) => return error.to_string(),
            }
        }
    };
    let text = said("dies");
    assert!(
        text.contains("signal 6") && text.contains("about to die"),
        "{text}"
    );
    let text = said("rubbish");
    assert!(
        text.contains("invalid message") && text.contains("this is no message"),
        "{text}"
    );
    let text = said("leaves");
    assert!(text.contains("exit code 0, without a result"), "{text}");
}

#[test]
fn an_agent_can_be_interrupted_and_a_silent_one_does_not_hold_us() {
    let rig = Rig::new();
    let mut local = rig.local();
    let mut bed = local.place(&server("echo")).unwrap();
    let mut agent = bed.start_agent("client", &load("waits")).unwrap();
    for _ in 0..2 {
        assert!(agent.next(LIMIT).unwrap().is_some());
    }
    assert_eq!(agent.next(Duration::from_millis(20)).unwrap(), None);
    agent.interrupt().unwrap();
    // The rig has no handler: the signal ends it.
    let text = agent.next(LIMIT).unwrap_err().to_string();
    assert!(text.contains("SIGTERM"), "{text}");
}

#[test]
fn what_loopback_cannot_do_is_refused_with_the_next_step() {
    let rig = Rig::new();
    let mut plan = through_relay();
    plan.topology.routes[0].segments[1].interception = Interception::Redirect;
    let text = rig.local().place(&plan).err().unwrap().to_string();
    assert!(
        text.contains("client->server") && text.contains("addressing: namespaces"),
        "{text}"
    );
}

#[test]
fn the_environment_describes_the_machine_and_the_software() {
    let rig = Rig::new();
    let mut local = rig.local();
    local
        .provide(&[String::from("echo"), String::from("agent")], &mut |_| {})
        .unwrap();
    let record = local.describe().unwrap();
    assert_eq!(record.targets["echo"].version, "1.2.3");
    assert_eq!(record.targets["echo"].path, rig_program().to_str().unwrap());
    assert_eq!(
        (record.environment.as_str(), record.addressing.as_str()),
        ("local", "loopback")
    );
    assert!(record.memory_bytes > 0 && record.cores > 0 && !record.boot_id.is_empty());
    assert!(!record.checks.is_empty());
}

#[test]
fn two_real_proxies_with_mutual_tls_between_them_serve_and_count() {
    for proxy in ["envoy", "haproxy", "nginx"] {
        let rig = Rig::new();
        let fetcher = Fetcher::from_env().unwrap();
        let mut local = Local::new(rig.with_builtin(&fetcher)).unwrap();
        let mut bed = local.place(&through_two(proxy)).unwrap();
        bed.start(&mut |_, _| ()).unwrap();
        let before = handshakes(bed.as_mut());
        assert_eq!(echo(bed.as_ref()), "hello", "{proxy}");
        let mut after = before;
        until(|| {
            after = handshakes(bed.as_mut());
            after > before
        });
        assert_eq!(after - before, 1.0, "{proxy}");
        let parts = bed.observe().unwrap().finish().unwrap().0;
        assert_eq!(parts.len(), 4);
        let into = rig.path("collected");
        for file in bed.collect(&into).unwrap() {
            let text = std::fs::read_to_string(&file).unwrap();
            assert!(!text.contains("PRIVATE KEY"), "{}", file.display());
        }
        assert!(
            std::fs::read_dir(into.join("server-sidecar"))
                .unwrap()
                .count()
                >= 2
        );
        bed.stop().unwrap();
    }
}

/// Handshakes that the server's sidecar has done.
fn handshakes(bed: &mut dyn TestBed) -> f64 {
    let all = bed.counters().unwrap();
    let server = all
        .iter()
        .find(|counters| counters.instance == "server-sidecar")
        .unwrap();
    let readings = server
        .readings
        .iter()
        .filter(|reading| reading.name == "tls-handshakes");
    readings.map(|reading| reading.value).sum()
}

/// Sends a word along the edge and returns what comes back.
fn echo(bed: &dyn TestBed) -> String {
    let at = bed.endpoint("client->server", "client").unwrap().addresses[0];
    let mut stream = TcpStream::connect(at).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    stream.write_all(b"hello").unwrap();
    let mut back = [0_u8; 5];
    stream.read_exact(&mut back).unwrap();
    String::from_utf8(back.to_vec()).unwrap()
}
