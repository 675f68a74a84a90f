//! What can go wrong in the laboratory, each with the next step.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// An error of the laboratory.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The operating system refused something.
    #[error("cannot {what}: {source}")]
    Io {
        /// What was tried, in words that follow "cannot".
        what: String,
        /// Why it failed.
        source: io::Error,
    },
    /// The network of the test beds could not be made.
    #[error(transparent)]
    Net(#[from] tare_net::NetError),
    /// A file is not what it should be.
    #[error("{}: {reason}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The keeper is gone, and with it everything it kept.
    #[error(
        "the keeper (pid {pid}) ended: {why}; everything it kept is stopped, start the run again with --resume"
    )]
    KeeperDied {
        /// Its process id.
        pid: u32,
        /// How that showed.
        why: String,
    },
    /// The keeper answered that it could not do something.
    #[error("{0}")]
    Keeper(String),
    /// A process could not be started.
    #[error("cannot start {name} ({program}): {reason}")]
    Spawn {
        /// Name of the process.
        name: String,
        /// What was to be executed.
        program: String,
        /// Why not, with the next step.
        reason: String,
    },
    /// A process died that should be running.
    #[error("{instance} died: {how}{}", tail_text(log_tail))]
    Died {
        /// Instance.
        instance: String,
        /// Exit code or signal, in words.
        how: String,
        /// End of its output.
        log_tail: Vec<String>,
    },
    /// A process runs but does not answer its probe.
    #[error("{instance} was not ready after {:.1} s ({probe}){}", waited.as_secs_f64(), tail_text(log_tail))]
    NotReady {
        /// Instance.
        instance: String,
        /// What was tried and what came of it.
        probe: String,
        /// How long it was waited for.
        waited: Duration,
        /// End of its output.
        log_tail: Vec<String>,
    },
    /// No port could be had.
    #[error("port {address} is in use{}; stop that process or let the ports be chosen", holder_text(holder.as_deref()))]
    PortInUse {
        /// Address and port.
        address: String,
        /// Who holds it, where that can be read.
        holder: Option<String>,
    },
    /// The plan asks for something that this environment does not have.
    #[error("{what}: not possible with {environment}; {next}")]
    Unsupported {
        /// What was asked for.
        what: String,
        /// The environment and its addressing.
        environment: String,
        /// What to do.
        next: String,
    },
    /// What runs already cannot be had.
    #[error("{instance} (external, {at}): {reason}")]
    External {
        /// Its name in routes.
        instance: String,
        /// Its address, as it was written.
        at: String,
        /// What is wrong, with the next step.
        reason: String,
    },
    /// The plan contradicts itself.
    #[error("{0}")]
    Plan(String),
    /// An agent did not say what it should.
    #[error("agent {instance}: {reason}{}", tail_text(log_tail))]
    Agent {
        /// Instance.
        instance: String,
        /// What was wrong.
        reason: String,
        /// End of its output.
        log_tail: Vec<String>,
    },
    /// A target folder or a setting is wrong.
    #[error(transparent)]
    Target(#[from] tare_schema::target::TargetError),
    /// No target of this name.
    #[error("unknown target `{name}`{}; targets come from the folder targets/ and from --targets DIR", likely(nearest.as_deref(), known))]
    UnknownTarget {
        /// What was asked for.
        name: String,
        /// What was probably meant.
        nearest: Option<String>,
        /// All there are.
        known: Vec<String>,
    },
    /// A template cannot be rendered.
    #[error("{file}:{line}: {reason}")]
    Template {
        /// Template, or the key of target.yaml that holds it.
        file: String,
        /// Line in it, from 1.
        line: usize,
        /// What is wrong.
        reason: String,
    },
    /// Software that cannot be had.
    #[error("cannot get {target}: {}", tried.join("; "))]
    Fetch {
        /// Target.
        target: String,
        /// Each way that was tried, why it failed, and what to do.
        tried: Vec<String>,
    },
    /// A counter that cannot be read.
    #[error("{instance}: cannot read the counter {counter}: {reason}")]
    Counter {
        /// Instance.
        instance: String,
        /// Counter.
        counter: String,
        /// Why not.
        reason: String,
    },
    /// An instance that Tare did not start, whose metrics cannot be read.
    #[error("{at}: {reason}")]
    Metrics {
        /// Where they were to be read.
        at: String,
        /// Why not, with the next step.
        reason: String,
    },
    /// A certificate that cannot be made.
    #[error("cannot make the certificate of {subject}: {reason}")]
    Certificate {
        /// Whose.
        subject: String,
        /// Why not.
        reason: String,
    },
}

impl LabError {
    /// Wraps an operating system's error: `.map_err(LabError::io("read the log"))`.
    pub fn io<E: Into<io::Error>>(what: impl Into<String>) -> impl FnOnce(E) -> LabError {
        move |source| LabError::Io {
            what: what.into(),
            source: source.into(),
        }
    }
}

fn tail_text(tail: &[String]) -> String {
    if tail.is_empty() {
        return String::from(", and it wrote nothing");
    }
    format!("; its last lines:\n  {}", tail.join("\n  "))
}

fn likely(nearest: Option<&str>, known: &[String]) -> String {
    match nearest {
        Some(word) => format!("; did you mean `{word}`?"),
        None => format!(" (there are {})", known.join(", ")),
    }
}

fn holder_text(holder: Option<&str>) -> String {
    holder.map_or_else(String::new, |who| format!(" by {who}"))
}
