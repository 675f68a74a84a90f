//! Test beds of the local environment whose targets run the test rig.
#![allow(dead_code, reason = "not every test uses all of it")]
#![allow(
    clippy::unwrap_used,
    reason = "the functions beside the tests fail as the tests do"
)]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tare_lab::environment::TestBedPlan;
use tare_lab::fetch::Fetcher;
use tare_lab::local::{Local, LocalOptions};
use tare_lab::targets::Targets;
use tare_record::FORMAT_VERSION;
use tare_record::load::{AddressPolicy, LoadPlan};
use tare_record::plan::{Addressing, Placement};
use tare_record::topology::Security;

/// Set in the copy of a test that runs as another user: a folder with copies of what it needs, since the folders above the build
/// may be closed to others.
pub const COPIES: &str = "TARE_TEST_COPIES";
pub const LIMIT: Duration = Duration::from_secs(60);

pub fn until(mut holds: impl FnMut() -> bool) {
    let deadline = std::time::Instant::now() + LIMIT;
    while !holds() {
        assert!(std::time::Instant::now() < deadline, "it never came");
        std::thread::sleep(Duration::from_millis(5));
    }
}

pub fn through_relay() -> TestBedPlan {
    plan("echo", &["server-sidecar"])
}

/// A sidecar of this kind on each side, with mutual TLS between them.
pub fn through_two(proxy: &str) -> TestBedPlan {
    let mut plan = through_relay();
    let topology = &mut plan.topology;
    topology.instances[1].target = String::from(proxy);
    let mut near = topology.instances[1].clone();
    near.name = String::from("client-sidecar");
    near.pod = String::from("client");
    topology.instances.insert(2, near);
    let route = &mut topology.routes[0];
    route.proxies.insert(0, String::from("client-sidecar"));
    let mut mutual = route.segments[0];
    mutual.security = Security::Mtls;
    route.segments.insert(1, mutual);
    plan
}

/// Tare's own target folders.
pub fn builtin() -> PathBuf {
    let own = concat!(env!("CARGO_MANIFEST_DIR"), "/../../targets");
    copies().map_or_else(|| PathBuf::from(own), |copies| copies.join("targets"))
}

pub fn rig() -> PathBuf {
    let own = env!("CARGO_BIN_EXE_lab-rig");
    copies().map_or_else(|| PathBuf::from(own), |copies| copies.join("lab-rig"))
}

pub fn copies() -> Option<PathBuf> {
    std::env::var_os(COPIES).map(PathBuf::from)
}

pub fn server(target: &str) -> TestBedPlan {
    plan(target, &[])
}

pub fn plan(target: &str, proxies: &[&str]) -> TestBedPlan {
    let mut instances = vec![instance("server", "server", target, "app")];
    instances.extend(
        proxies
            .iter()
            .map(|name| instance(name, "server", "relay", "sidecar")),
    );
    instances.push(instance("client", "client", "agent", "agent"));
    let link = json!({"security": "plaintext", "interception": "explicit"});
    TestBedPlan {
        name: String::from("b1-arm"),
        topology: serde_json::from_value(json!({
            "pods": [{"name": "server", "site": "a"}, {"name": "client", "site": "a"}],
            "instances": instances,
            "routes": [{
                "edge": "client->server", "from": "client", "to": "server", "protocol": "tcp",
                "edge_security": "plaintext", "proxies": proxies, "segments": vec![link; proxies.len() + 1],
            }],
        }))
        .unwrap(),
        workload: BTreeMap::new(),
        targets: BTreeMap::new(),
        placement: Placement {
            agent_cpus: Vec::new(),
            target_cpus: Vec::new(),
        },
        limits: BTreeMap::new(),
        excluded: Vec::new(),
        agents: BTreeMap::new(),
    }
}

/// A load for an agent of the rig; the role says how it ends.
pub fn load(role: &str) -> LoadPlan {
    serde_json::from_value(json!({
        "version": FORMAT_VERSION, "role": role, "start_at_unix_us": null, "seed": 1,
        "endpoint": {"addresses": ["127.0.0.1:1"], "host": "server"},
        "load": {
            "pacing": {"model": "max"}, "stop": {"stop": "interrupted"}, "warmup_ns": 0,
            "timeout_ns": 1, "workers": 1, "spin": "off", "sample_every_ns": 1,
            "transport": {"transport": "tcp"},
            "client": {"protocol": "http1", "connections": 1}, "requests": [],
        },
    }))
    .unwrap()
}

pub fn instance(name: &str, pod: &str, target: &str, role: &str) -> Value {
    json!({"name": name, "pod": pod, "target": target, "role": role, "settings": {}})
}

/// A folder with targets made of the rig.
pub struct Rig(pub tempfile::TempDir);

impl Rig {
    pub fn new() -> Rig {
        let rig = Rig(tempfile::tempdir().unwrap());
        std::fs::create_dir(rig.path("base")).unwrap();
        let serve = r#"["{{ bin }}", serve, "{{ listen }}"]"#;
        let tcp = r#"{tcp: "{{ listen }}", timeout: 60s}"#;
        rig.target("echo", "render: {note.txt: note.j2}\n", serve, tcp);
        let upstream = "{{ routes[0].upstream.address }}:{{ routes[0].upstream.port }}";
        let relay = format!(r#"["{{{{ bin }}}}", relay, "{{{{ listen }}}}", "{upstream}"]"#);
        rig.target("relay", "", &relay, tcp);
        let log = |line: &str| format!("{{log: {line}, timeout: 60s}}");
        let sh = |script: &str| format!(r#"[/bin/sh, -c, "{script}"]"#);
        rig.target(
            "mortal",
            "",
            &sh(
                "echo up; until [ -e {{ dir }}/go ]; do sleep 0.01; done; echo out of luck; exit 4",
            ),
            &log("up"),
        );
        rig.target("stillborn", "", &sh("echo bad configuration; exit 5"), tcp);
        rig.target(
            "greedy",
            "",
            r#"[/bin/sh, -c, "echo up; {{ bin }} hog; {{ bin }} burn-once 200; sleep 60"]"#,
            &log("up"),
        );
        let soon = r#"{tcp: "{{ listen }}", timeout: 3s}"#;
        rig.target("mute", "", &sh("echo thinking; sleep 60"), soon);
        let step = "prepare: [{name: format, command: [/bin/sh, -c, 'exit 9']}]\n";
        rig.target("unprepared", step, serve, tcp);
        rig
    }

    pub fn target(&self, name: &str, more: &str, start: &str, ready: &str) {
        let folder = self.path("targets").join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let text = format!(
            "target: {name}\nabout: of the rig\nget: [self]\nversion: {{command: ['{{{{ bin }}}}', --version], pattern: 'rig (\\S+)'}}\nroles: [app, sidecar]\nprotocols: [tcp]\n{more}start: {start}\nready: {ready}\n"
        );
        std::fs::write(folder.join("target.yaml"), text).unwrap();
        std::fs::write(folder.join("note.j2"), "I am {{ name }}").unwrap();
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn options(&self) -> LocalOptions {
        LocalOptions {
            tare: rig(),
            addressing: Addressing::Loopback,
            targets: Targets::load(&self.path("targets"), &[]).unwrap(),
            fetcher: Fetcher {
                cache: self.path("cache"),
                own: rig(),
                chosen: Vec::new(),
            },
            out: self.path("runs"),
            site_links: Vec::new(),
            limits: Vec::new(),
            seed: 1,
            reach: AddressPolicy::Private,
            base: Some(self.path("base")),
        }
    }

    /// With Tare's own targets beside those of the rig.
    pub fn with_builtin(&self, fetcher: &Fetcher) -> LocalOptions {
        LocalOptions {
            targets: Targets::load(&builtin(), &[self.path("targets")]).unwrap(),
            fetcher: Fetcher {
                own: rig(),
                ..fetcher.clone()
            },
            ..self.options()
        }
    }

    pub fn local(&self) -> Local {
        Local::new(self.options()).unwrap()
    }
}

/// The answer to a word that a process in a pod sends.
pub fn echo_from(pid: u32, address: &str, port: u16) -> String {
    let script =
        format!("exec 3<>/dev/tcp/{address}/{port} && printf hello >&3 && timeout 5 head -c 5 <&3");
    let output = inside(pid)
        .args(["timeout", "10", "bash", "-c", &script])
        .output();
    String::from_utf8(output.unwrap().stdout).unwrap()
}

fn inside(pid: u32) -> Command {
    let mut command = Command::new("nsenter");
    // Who made the user namespace may do anything in it.
    if !rustix::process::geteuid().is_root() {
        let user = format!("--user=/proc/{pid}/ns/user");
        command.args([&*user, "--preserve-credentials"]);
    }
    command.args([&format!("--net=/proc/{pid}/ns/net"), "--"]);
    command.stderr(Stdio::null());
    command
}

/// A server that is no part of the topology.
pub struct Stranger(std::process::Child);

impl Stranger {
    pub const PORT: u16 = 7777;

    pub fn serve(pid: u32, address: &str) -> Stranger {
        let place = format!("{address}:{}", Stranger::PORT);
        let mut command = inside(pid);
        command
            .arg(rig())
            .args(["serve", &place])
            .stdout(Stdio::null());
        let server = Stranger(command.spawn().unwrap());
        until(|| echo_from(pid, address, Stranger::PORT) == "hello");
        server
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
