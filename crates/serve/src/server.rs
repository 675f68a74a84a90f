//! The server from its start to its end: its state, its address, its links.

use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use tare_record::api::{ServeOptions, StartReply};
use tare_record::regular::read_regular_text;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Semaphore, watch};

use crate::auth::{Access, PageAddress};
use crate::certificate::{Certificate, refuse_open_to_others};
use crate::children::{Children, PreparedStart, Spawner};
use crate::connections;
use crate::error::{Refusal, Reply};
use crate::history::Histories;
use crate::kafka::Kafka;
use crate::places::OWN_FOLDER;
use crate::routes;
use crate::runs::Runs;
use crate::sessions::LINK_AGE_MAX;

/// Event streams at a time.
const STREAMS_MAX: usize = 256;
/// Views, comparisons and checks computed at a time: each may take a core.
const COMPUTATIONS_MAX: usize = 2;
/// Longest password file.
const PASSWORD_BYTES_MAX: u64 = 4096;
/// Wait for what has ended to let go, before another start is refused.
const ROOM_PATIENCE: Duration = Duration::from_secs(30);
const ROOM_INTERVAL: Duration = Duration::from_millis(50);
/// Time that answers under way have when the server ends.
const GRACE: Duration = Duration::from_millis(300);

/// What all handlers share.
pub struct Server {
    pub options: ServeOptions,
    pub access: Arc<Access>,
    pub children: Children,
    pub runs: Runs,
    pub history: Histories,
    pub kafka: Kafka,
    pub streams: Arc<Semaphore>,
    pub computations: Arc<Semaphore>,
}

/// The state of the handlers.
pub type Shared = Arc<Server>;

impl Server {
    /// Starts a command that measures, as soon as there is room for one more.
    pub fn start(&self, prepared: &PreparedStart, command: Command) -> Reply<StartReply> {
        let _starting = self.children.starting();
        let begun = Instant::now();
        loop {
            let mut measured = self.runs.measured();
            let preparing = self.children.preparing();
            // What has just said that it ended may not have let go yet.
            let is_ending = |id: &String| self.runs.is_ending(id);
            let may_wait = preparing.is_empty() && measured.iter().any(is_ending);
            measured.extend(preparing.iter().map(|id| format!("start {id}")));
            if measured.len() < self.options.parallel as usize {
                return Ok(self.children.start(prepared, command)?);
            }
            if !may_wait || begun.elapsed() > ROOM_PATIENCE {
                return Err(Refusal::conflict(format!(
                    "{} is being measured, and what is measured at the same time spoils each other's results: wait until it ends, or \
                     stop it (this server measures {} at a time: `tare serve --parallel N`)",
                    measured.join(" and "),
                    self.options.parallel
                )));
            }
            std::thread::sleep(ROOM_INTERVAL);
        }
    }

    /// The server's own folder.
    pub fn own_folder(&self) -> PathBuf {
        self.options.runs.join(OWN_FOLDER)
    }
}

/// Prints a line to standard error; a closed stream is no reason to end.
pub fn say(line: &str) {
    let _ = writeln!(
        std::io::stderr(),
        "{}",
        tare_record::escape::escape_lines(line)
    );
}

/// Serves until SIGINT or SIGTERM.
pub fn serve(options: ServeOptions, spawner: Spawner) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("cannot start the event loop")?;
    let served = runtime.block_on(run(options, spawner));
    // What computes for nobody is left behind.
    runtime.shutdown_timeout(GRACE);
    served
}

async fn run(mut options: ServeOptions, spawner: Spawner) -> anyhow::Result<()> {
    let shown = options.runs.display().to_string();
    std::fs::create_dir_all(&options.runs)
        .with_context(|| format!("{shown} cannot be created: name another folder with --out"))?;
    options.runs = options.runs.canonicalize().with_context(|| shown.clone())?;
    let own = options.runs.join(OWN_FOLDER);
    private_folder(&own)?;
    for folder in &mut options.files {
        *folder = folder
            .canonicalize()
            .with_context(|| format!("--files {}", folder.display()))?;
    }
    let tls = match &options.tls {
        Some((certificate, key)) => Some(Arc::new(Certificate::read(certificate, key)?)),
        None => None,
    };
    let password = match &options.password_file {
        Some(file) => Some(password(file)?),
        None => None,
    };
    let listener = TcpListener::bind(options.listen).await.with_context(|| {
        format!(
            "cannot listen on {}: choose another address with --listen",
            options.listen
        )
    })?;
    let at = listener.local_addr()?;
    let host = match (at.ip(), options.hosts.first()) {
        // All addresses of this machine: a browser needs one of them.
        (ip, Some(name)) if ip.is_unspecified() => name.clone(),
        (ip, _) if ip.is_ipv6() => format!("[{ip}]"),
        (ip, _) => ip.to_string(),
    };
    let address = PageAddress {
        host,
        port: at.port(),
        is_tls: tls.is_some(),
        more_hosts: &options.hosts,
        read_only: options.read_only,
    };
    let (access, token_file) = Access::new(&address, &own, password)
        .with_context(|| format!("cannot write the token to {}", own.display()))?;
    say(&format!(
        "runs in {}; token for scripts in {}",
        options.runs.display(),
        token_file.display()
    ));
    say(&format!("open {}", access.link()?.link));
    say(&format!(
        "the link is good once and for {} minutes; for another one: kill -USR1 {}",
        LINK_AGE_MAX.as_secs() / 60,
        std::process::id()
    ));
    if let Some(clusters) = options.clusters.as_ref().filter(|file| file.exists()) {
        say(&format!(
            "whoever may use the page may use the Kafka clusters of {}, with their secrets",
            clusters.display()
        ));
    }
    // Before anything else: by default this signal ends a process.
    let mut asked = signal(SignalKind::user_defined1())?;
    let access = Arc::new(access);
    let server = Arc::new(Server {
        children: Children::open(&own, spawner)?,
        runs: Runs::new(options.runs.clone()),
        history: Histories::of(&options.runs),
        kafka: Kafka::new(&options, &own),
        access: Arc::clone(&access),
        streams: Arc::new(Semaphore::new(STREAMS_MAX)),
        computations: Arc::new(Semaphore::new(COMPUTATIONS_MAX)),
        options,
    });
    let (end, ended) = watch::channel(());
    let accepting = tokio::spawn(connections::accept(
        listener,
        tls,
        routes::app(server),
        ended,
    ));
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    loop {
        tokio::select! {
            _ = terminate.recv() => break,
            _ = interrupt.recv() => break,
            _ = asked.recv() => say(&match access.link() {
                Ok(link) => format!("for another browser: {}", link.link),
                Err(error) => format!("there is no link: {error}"),
            }),
        }
    }
    say("the server ends; runs and loads that are going on go on");
    // An error means that nothing listens any more.
    let _ = end.send(());
    let _ = accepting.await;
    Ok(())
}

/// Creates a folder that only this user can read; an existing one must be such a folder.
fn private_folder(path: &Path) -> anyhow::Result<()> {
    let made = std::fs::DirBuilder::new().mode(0o700).create(path);
    match made {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            let found = path.symlink_metadata()?;
            let is_ours =
                std::os::unix::fs::MetadataExt::uid(&found) == rustix::process::geteuid().as_raw();
            anyhow::ensure!(
                found.is_dir() && is_ours,
                "{} is not a folder of this user: remove it, or name another folder with --out",
                path.display()
            );
            Ok(())
        }
        made => made.with_context(|| format!("cannot create {}", path.display())),
    }
}

fn password(file: &Path) -> anyhow::Result<String> {
    refuse_open_to_others(file).context("--password-file")?;
    let text = read_regular_text(file, PASSWORD_BYTES_MAX)
        .with_context(|| format!("--password-file {}", file.display()))?;
    let password = text.trim_end_matches(['\r', '\n']);
    anyhow::ensure!(
        password.len() >= 12,
        "the password in {} has fewer than 12 characters",
        file.display()
    );
    Ok(password.to_owned())
}
