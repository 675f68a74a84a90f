//! Errors of the laboratory, each with the next step.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// An error of the laboratory.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// A system call failed.
    #[error("cannot {what}: {source}")]
    Io {
        /// What was tried; follows "cannot".
        what: String,
        /// The cause.
        source: io::Error,
    },
    /// The network of the test beds could not be set up.
    #[error(transparent)]
    Net(#[from] tare_net::NetError),
    /// A file is invalid or refused.
    #[error("{}: {reason}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        reason: String,
    },
    /// The keeper ended, and with it all processes it managed.
    #[error(
        "the keeper (pid {pid}) ended: {why}; everything it kept is stopped, start the run again with --resume"
    )]
    KeeperDied {
        /// Its process id.
        pid: u32,
        /// The symptom.
        why: String,
    },
    /// The run keeper ended, or cannot be reached any more.
    #[error(
        "the run keeper is gone: {why}; what was measured is kept, start the run again with --resume"
    )]
    RunKeeperGone { why: String },
    /// The keeper of a pod ended, or cannot be reached any more.
    #[error("the pod {pod} is gone: {why}")]
    PodLost {
        /// Its test bed and its name.
        pod: String,
        why: String,
    },
    /// A cluster refused a request, or cannot do what is wanted.
    #[error("{0}")]
    Cluster(String),
    /// The keeper refused a request.
    #[error("{0}")]
    Keeper(String),
    /// A process could not be started.
    #[error("cannot start {name} ({program}): {reason}")]
    Spawn {
        /// Name of the process.
        name: String,
        program: String,
        /// Why not, with the next step.
        reason: String,
    },
    /// A process exited that should be running.
    #[error("{instance} died: {how}{}", tail_text(log_tail))]
    Died {
        instance: String,
        /// Exit code or signal, as text.
        how: String,
        /// End of its output.
        log_tail: Vec<String>,
    },
    /// A process runs but its readiness probe does not succeed.
    #[error("{instance} was not ready after {:.1} s ({probe}){}", waited.as_secs_f64(), tail_text(log_tail))]
    NotReady {
        instance: String,
        /// The probe and its last answer.
        probe: String,
        /// Time waited.
        waited: Duration,
        /// End of its output.
        log_tail: Vec<String>,
    },
    /// No free port was found.
    #[error("port {address} is in use{}; stop that process or let the ports be chosen", holder_text(holder.as_deref()))]
    PortInUse {
        /// Address and port.
        address: String,
        /// The process that uses it, where that can be read.
        holder: Option<String>,
    },
    /// The plan requires something that this environment does not have.
    #[error("{what}: not possible with {environment}; {next}")]
    Unsupported {
        /// What was asked for.
        what: String,
        /// The environment and its addressing.
        environment: String,
        /// What to do.
        next: String,
    },
    /// An external part is not available.
    #[error("{instance} (external, {at}): {reason}")]
    External {
        /// Its name in routes.
        instance: String,
        /// Its address, as written in the plan.
        at: String,
        /// What is wrong, with the next step.
        reason: String,
    },
    /// The plan contradicts itself.
    #[error("{0}")]
    Plan(String),
    /// An agent did not send what it should.
    #[error("agent {instance}: {reason}{}", tail_text(log_tail))]
    Agent {
        instance: String,
        /// What was wrong.
        reason: String,
        /// End of its output.
        log_tail: Vec<String>,
    },
    /// A target folder is wrong.
    #[error(transparent)]
    Target(#[from] tare_experiment::problem::Problems),
    /// There is no target of this name.
    #[error(
        "unknown target \"{name}\"{hint} (targets come from the folder targets/ and from --targets DIR)"
    )]
    UnknownTarget {
        /// What was asked for.
        name: String,
        /// The nearest known name, or all.
        hint: String,
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
    /// Software that is not available.
    #[error("cannot get {target}: {}", tried.join("; "))]
    Fetch {
        target: String,
        /// Each source that was tried, why it failed, and what to do.
        tried: Vec<String>,
    },
    /// A counter that cannot be read.
    #[error("{instance}: cannot read the counter {counter}: {reason}")]
    Counter {
        instance: String,
        counter: String,
        /// Why not.
        reason: String,
    },
    /// Metrics of an external instance that cannot be read.
    #[error("{at}: {reason}")]
    Metrics {
        /// The address.
        at: String,
        /// Why not, with the next step.
        reason: String,
    },
    /// A certificate that cannot be made.
    #[error("cannot make the certificate of {subject}: {reason}")]
    Certificate {
        subject: String,
        /// Why not.
        reason: String,
    },
}

impl LabError {
    /// Whether it is an error of the laboratory and not of an instance: then later trials would fail, too.
    #[must_use]
    pub fn is_ours(&self) -> bool {
        matches!(
            self,
            LabError::KeeperDied { .. }
                | LabError::RunKeeperGone { .. }
                | LabError::Keeper(_)
                | LabError::Cluster(_)
                | LabError::Io { .. }
        )
    }

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

fn holder_text(holder: Option<&str>) -> String {
    holder.map_or_else(String::new, |who| format!(" by {who}"))
}
