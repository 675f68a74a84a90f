//! A cluster of one target on loopback, without a run: for testing clients against real servers.
//!
//! A shell is the parent of the instances: at end-of-file it kills them and removes their folder.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use tare_lab::LabError;
use tare_lab::certificates::Authority;
use tare_lab::connector::Connector;
use tare_lab::counters::CounterReader;
use tare_lab::environment::InstanceCounters;
use tare_lab::fetch::Fetcher;
use tare_lab::keeper::make_in_memory;
use tare_lab::local::{Addresses, free_port, make_folder};
use tare_lab::probe::{InstanceState, Readiness};
use tare_lab::process;
use tare_lab::render::{self, Context, Identity, Login, Peer, Rendered};
use tare_lab::targets::{Target, Targets, builtin_folder};
use tare_record::topology::{InstanceRole, Settings};

/// Starts instances by number, each in its folder, and prints their process ids; kills them at the end of its input.
const SCRIPT: &str = r#"
trap '' INT TERM HUP
numbers=
while read -r number name; do
  (cd "$1/$name" && exec sh ./start >>output.log 2>&1 </dev/null) &
  echo "$!"
  eval "pid$number=$!"
  numbers="$numbers $number"
done
for number in $numbers; do eval "kill -9 \$pid$number" 2>/dev/null; done
wait
rm -rf "$@"
"#;

/// Number of clusters in this process so far: each has its own folder.
static CLUSTERS: AtomicU32 = AtomicU32::new(0);

/// A running cluster. Dropping it stops it.
#[derive(Debug)]
pub struct Cluster {
    members: Vec<ClusterMember>,
    client: Identity,
    shell: Child,
    shell_stdin: Option<ChildStdin>,
    shell_stdout: BufReader<ChildStdout>,
    _addresses: Addresses,
}

/// One instance of a cluster.
#[derive(Debug)]
pub struct ClusterMember {
    /// Its number, from 1.
    pub number: u32,
    /// Its process id; changes when it is restarted.
    pub pid: u32,
    /// Its folder, with its output in `output.log`.
    pub folder: PathBuf,
    context: Context,
    rendered: Rendered,
}

impl Cluster {
    /// Starts `count` instances of a built-in cluster target and waits until all are ready.
    /// Errors: what cannot be fetched, rendered or started; the instance that did not become ready, with its last output.
    pub fn start(target: &str, count: u32, settings: &Settings) -> Result<Cluster, LabError> {
        Self::start_with(target, count, settings, |_| Vec::new())
    }

    /// The same with extra environment variables per instance number.
    /// Errors: as [`Self::start`].
    pub fn start_with(
        target: &str,
        count: u32,
        settings: &Settings,
        env: impl Fn(u32) -> Vec<(String, String)>,
    ) -> Result<Cluster, LabError> {
        tare_lab_kafka::install();
        let targets = Targets::load(&builtin_folder()?, &[])?;
        let target = targets.get(target)?;
        let software = Fetcher::from_env()?.provide(target, &mut |_| ())?;
        let number = CLUSTERS.fetch_add(1, Ordering::Relaxed);
        let name = format!("tare-cluster-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(&name);
        make_folder(&folder)?;
        let memory = make_in_memory(&folder).inspect_err(|_| {
            // Still empty; the first error is the one to report.
            let _ = fs::remove_dir(&folder);
        })?;
        let mut addresses = Addresses::reserve()?;
        let authority = Authority::new(&name)?;
        let mut contexts = Vec::new();
        for number in 1..=count {
            let mut context = context(target, number, &folder, memory.as_deref(), &mut addresses)?;
            context.bin.clone_from(&software.bin);
            context.settings.clone_from(settings);
            make_folder(&context.dir)?;
            if let Some(memory) = &context.memory {
                make_folder(memory)?;
            }
            let keys = folder.join(format!("{}.keys", context.name));
            make_folder(&keys)?;
            let at = [context.address];
            let part = &target.def.target;
            context.identity = Some(authority.issue(&context.name, &[part], &at, &keys)?);
            contexts.push(context);
        }
        let peers: Vec<Peer> = (0..).zip(&contexts).map(peer).collect();
        let keys = folder.join("client.keys");
        make_folder(&keys)?;
        let client = authority.issue("client", &[], &[], &keys)?;
        let (shell, shell_stdin, shell_stdout) = shell(&folder, memory.as_deref())?;
        let mut cluster = Cluster {
            members: Vec::new(),
            client,
            shell,
            shell_stdin: Some(shell_stdin),
            shell_stdout,
            _addresses: addresses,
        };
        for (number, mut context) in (1..).zip(contexts) {
            context.peers.clone_from(&peers);
            let mut rendered = render::render(target, &context)?;
            rendered.env.extend(env(number));
            rendered.write()?;
            write_start(&rendered, StartMode::Fresh)?;
            cluster.members.push(ClusterMember {
                number,
                pid: 0,
                folder: context.dir.clone(),
                context,
                rendered,
            });
            cluster.spawn(number)?;
        }
        for number in 1..=count {
            cluster.wait_ready(number)?;
        }
        Ok(cluster)
    }

    /// Its instances, in order of their numbers.
    #[must_use]
    pub fn members(&self) -> &[ClusterMember] {
        &self.members
    }

    /// Addresses of all instances at the port that the target gives this name.
    #[must_use]
    pub fn at(&self, port: &str) -> Vec<SocketAddr> {
        self.members.iter().filter_map(|m| m.at(port)).collect()
    }

    /// Client certificate, key and CA: files that live as long as the cluster.
    #[must_use]
    pub fn client(&self) -> &Identity {
        &self.client
    }

    /// Counters of an instance, as its target defines them.
    /// Fails when there is no such instance, or it does not answer.
    pub fn counters(&self, number: u32) -> Result<InstanceCounters, LabError> {
        CounterReader::new(&self.member(number)?.rendered, Connector::Host).read()
    }

    /// Kills an instance with SIGKILL; its data stay.
    /// Fails when there is no such instance, or it will not end.
    pub fn kill(&mut self, number: u32) -> Result<(), LabError> {
        let pid = self.member(number)?.pid;
        let all = process::snapshot();
        for one in all.iter().filter(|process| process.pid == pid) {
            process::send_signal(one, rustix::process::Signal::KILL);
        }
        let gone = || process::stat(pid).is_none_or(|process| !process.is_alive());
        for _ in 0..1000 {
            if gone() {
                return Ok(());
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        Err(LabError::Plan(format!("process {pid} will not end")))
    }

    /// Restarts an instance that was killed or has ended, on the data it left, and waits until it is ready.
    /// Fails when there is no such instance, or it did not become ready.
    pub fn start_again(&mut self, number: u32) -> Result<(), LabError> {
        // Preparation steps would reset those data.
        write_start(&self.member(number)?.rendered, StartMode::KeepData)?;
        self.spawn(number)?;
        self.wait_ready(number)
    }

    /// Waits until the readiness probe of an instance succeeds.
    /// Fails when it does not within its timeout, or has ended.
    pub fn wait_ready(&self, number: u32) -> Result<(), LabError> {
        let member = self.member(number)?;
        let pid = member.pid;
        let state = &mut || match process::stat(pid).is_some_and(|process| process.is_alive()) {
            true => InstanceState::Running,
            false => InstanceState::Ended,
        };
        let rendered = &member.rendered;
        let instance = member.context.name.clone();
        let waited = rendered
            .probe
            .wait(&Connector::Host, rendered.ready_within, state);
        match waited {
            Readiness::Ready(_) => Ok(()),
            Readiness::Gone => Err(LabError::Died {
                instance,
                how: "it has ended".to_owned(),
                log_tail: member.tail(),
            }),
            Readiness::NotReady { waited, answer } => Err(LabError::NotReady {
                instance,
                probe: answer,
                waited,
                log_tail: member.tail(),
            }),
        }
    }

    fn member(&self, number: u32) -> Result<&ClusterMember, LabError> {
        let found = self.members.iter().find(|member| member.number == number);
        found.ok_or_else(|| LabError::Plan(format!("the cluster has no instance {number}")))
    }

    fn spawn(&mut self, number: u32) -> Result<(), LabError> {
        let what = "talk to the shell that holds a cluster";
        let folder = &self.member(number)?.folder;
        let word = folder.file_name().unwrap_or_default().to_string_lossy();
        let order = format!("{number} {word}\n");
        if let Some(shell_stdin) = &mut self.shell_stdin {
            shell_stdin
                .write_all(order.as_bytes())
                .map_err(LabError::io(what))?;
        }
        let mut answer = String::new();
        self.shell_stdout
            .read_line(&mut answer)
            .map_err(LabError::io(what))?;
        let pid = answer.trim().parse().map_err(|_| {
            LabError::Plan(format!(
                "the shell answered `{}`, no process",
                answer.trim()
            ))
        })?;
        let mut members = self.members.iter_mut();
        if let Some(member) = members.find(|member| member.number == number) {
            member.pid = pid;
        }
        Ok(())
    }
}

impl ClusterMember {
    /// Its address at the port that its target gives this name.
    #[must_use]
    pub fn at(&self, port: &str) -> Option<SocketAddr> {
        let port = self.context.ports.get(port)?;
        Some(SocketAddr::new(self.context.address, *port))
    }

    /// Address of its admin page.
    #[must_use]
    pub fn admin(&self) -> SocketAddr {
        self.context.admin
    }

    /// Credentials of its admin page.
    #[must_use]
    pub fn login(&self) -> &Login {
        &self.context.login
    }

    /// The last lines of its output.
    fn tail(&self) -> Vec<String> {
        const LINES: usize = 20;
        let text = fs::read(self.folder.join("output.log")).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().collect();
        let from = lines.len().saturating_sub(LINES);
        lines[from..].iter().map(|&line| line.to_owned()).collect()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // End-of-file on its input makes the shell stop everything.
        self.shell_stdin = None;
        let _ = self.shell.wait();
    }
}

fn context(
    target: &Target,
    number: u32,
    folder: &Path,
    memory: Option<&Path>,
    addresses: &mut Addresses,
) -> Result<Context, LabError> {
    let name = format!("{}-{number}", target.def.target);
    let address = IpAddr::from(addresses.next_address());
    let mut given = std::collections::BTreeSet::new();
    let mut port = || free_port(address, &mut given);
    let admin = SocketAddr::new(address, port()?);
    let mut ports = std::collections::BTreeMap::new();
    for port_name in &target.def.ports {
        ports.insert(port_name.clone(), port()?);
    }
    let dir = folder.join(&name);
    Ok(Context {
        admin_socket: dir.join("admin"),
        login: Login::random()?,
        role: InstanceRole::App,
        pod: name.clone(),
        bin: PathBuf::new(),
        programs: std::collections::BTreeMap::new(),
        log: dir.join("output.log"),
        memory: memory.map(|memory| memory.join(&name)),
        dir,
        name,
        address,
        admin,
        ports,
        exempt: None,
        redirect: None,
        mesh: None,
        ca: None,
        cpus: Vec::new(),
        settings: Settings::new(),
        workload: Settings::new(),
        identity: None,
        routes: Vec::new(),
        peers: Vec::new(),
    })
}

fn peer((index, context): (u32, &Context)) -> Peer {
    Peer {
        index,
        name: context.name.clone(),
        address: context.address,
        admin: context.admin,
        ports: context.ports.clone(),
        routes: Vec::new(),
    }
}

/// Whether an instance starts with empty or existing data.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StartMode {
    Fresh,
    KeepData,
}

/// Writes the start script of an instance, with preparation steps only for a fresh start.
fn write_start(rendered: &Rendered, mode: StartMode) -> Result<(), LabError> {
    let quoted = |words: &[String]| {
        let words: Vec<String> = words
            .iter()
            .map(|word| format!("'{}'", word.replace('\'', r"'\''")))
            .collect();
        words.join(" ")
    };
    let mut text = String::from("set -e\n");
    for step in rendered.prepare.iter().filter(|_| mode == StartMode::Fresh) {
        text += &format!("{}\n", quoted(&step.command));
    }
    for (name, value) in &rendered.env {
        text += &format!("export {name}={}\n", quoted(std::slice::from_ref(value)));
    }
    text += &format!("exec {}\n", quoted(&rendered.start));
    let path = rendered.dir.join("start");
    fs::write(&path, text).map_err(LabError::io(format!("write {}", path.display())))
}

type Shell = (Child, ChildStdin, BufReader<ChildStdout>);

fn shell(folder: &Path, memory: Option<&Path>) -> Result<Shell, LabError> {
    let what = "start a shell";
    let mut child = Command::new("/bin/sh")
        .args(["-c", SCRIPT, "cluster"])
        .arg(folder)
        .args(memory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(LabError::io(what))?;
    let missing = || LabError::io(what)(std::io::Error::from(std::io::ErrorKind::BrokenPipe));
    let shell_stdin = child.stdin.take().ok_or_else(missing)?;
    let shell_stdout = child.stdout.take().ok_or_else(missing)?;
    Ok((child, shell_stdin, BufReader::new(shell_stdout)))
}
