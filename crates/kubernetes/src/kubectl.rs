//! `kubectl`: requests to the API server, with the login of the user's configuration.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;
use tare_lab::LabError;
use tare_lab::subprocess::{self, Output, RunError, StdIo};
use tare_record::locate;

use crate::manifests::list;

/// Time for one request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(20);
/// Time for all of `kubectl`: besides a request or a wait, login plug-ins that ask somebody.
const LIMIT: Duration = Duration::from_secs(60);
/// Most of what it prints: lists of all pods of a large cluster.
const OUTPUT_BYTES_MAX: usize = 64 << 20;
/// How long an API server that does not answer is asked again.
pub(crate) const AWAY_MAX: Duration = Duration::from_secs(90);
/// Interval of asking it again.
const RETRY: Duration = Duration::from_secs(1);
/// What `kubectl` says of an API server that cannot be reached.
const AWAY: [&str; 15] = [
    "connection refused",
    "Unable to connect to the server",
    "i/o timeout",
    "TLS handshake timeout",
    "context deadline exceeded",
    "Client.Timeout exceeded",
    "unexpected EOF",
    "connection reset",
    "connection timed out",
    "client connection lost",
    "no route to host",
    "network is unreachable",
    "request timed out",
    "(ServiceUnavailable)",
    "(Timeout)",
];

/// The command with its context.
#[derive(Debug, Clone)]
pub(crate) struct Kubectl {
    program: PathBuf,
    context: Option<String>,
    limit: Duration,
}

impl Kubectl {
    pub(crate) fn new(context: Option<String>) -> Kubectl {
        Kubectl {
            program: PathBuf::from("kubectl"),
            context,
            limit: LIMIT,
        }
    }

    /// Another program in its place.
    #[cfg(test)]
    pub(crate) fn replaced(program: PathBuf, context: &std::path::Path) -> Kubectl {
        Kubectl {
            program,
            context: Some(context.display().to_string()),
            limit: LIMIT,
        }
    }

    /// With another limit of time.
    #[cfg(test)]
    pub(crate) fn within(self, limit: Duration) -> Kubectl {
        Kubectl { limit, ..self }
    }

    /// The cluster in words.
    pub(crate) fn name(&self) -> String {
        let named = self.context.as_ref();
        named.map_or_else(
            || String::from("the current context"),
            |name| format!("the context {name}"),
        )
    }

    pub(crate) fn command(&self, words: &[&str]) -> Command {
        // The user's tool with the user's environment: login plug-ins read credentials there.
        let mut command = locate::command(&self.program);
        if let Some(context) = &self.context {
            command.arg("--context").arg(context);
        }
        command.args(words);
        command
    }

    /// Words that begin a command in a container.
    pub(crate) fn in_container(&self, namespace: &str, pod: &str, container: &str) -> Vec<String> {
        let context = self.context.iter().map(|name| format!("--context={name}"));
        let mut words = vec![String::from("kubectl")];
        words.extend(context);
        words.extend([
            format!("--namespace={namespace}"),
            String::from("exec"),
            String::from("--stdin"),
            format!("--container={container}"),
            pod.to_owned(),
            String::from("--"),
        ]);
        words
    }

    /// Runs it and returns what it printed. An API server that is away is asked again for a while.
    pub(crate) fn run(&self, words: &[&str], input: Option<&Value>) -> Result<String, LabError> {
        let began = Instant::now();
        let mut is_again = false;
        loop {
            let mut is_late = false;
            let failed = match self.once(words, input) {
                Ok(output) if output.success => return Ok(output.stdout),
                Ok(output) => output.stderr.trim().to_owned(),
                Err(RunError::OutOfTime(why)) => {
                    is_late = true;
                    why
                }
                Err(error) => return Err(LabError::Cluster(in_words(error))),
            };
            // An answer that was lost: what was asked for is there.
            if is_again && is_done_already(&failed) {
                return Ok(String::new());
            }
            is_again = true;
            if !is_late && !is_away(&failed) {
                return Err(LabError::Cluster(self.explained(&failed)));
            }
            if began.elapsed() > AWAY_MAX {
                let text = format!(
                    "{} has not answered for {} s ({failed}): what was measured is kept, start the run again with --resume",
                    self.name(),
                    began.elapsed().as_secs()
                );
                return Err(LabError::Cluster(text));
            }
            std::thread::sleep(RETRY);
        }
    }

    /// Makes objects.
    pub(crate) fn create(&self, objects: &[Value]) -> Result<(), LabError> {
        let words = ["create", "--filename=-", "--output=name"];
        self.run(&words, Some(&list(objects))).map(drop)
    }

    /// The same, once; otherwise what it said.
    pub(crate) fn ask(&self, words: &[&str], input: Option<&Value>) -> Result<String, String> {
        let output = self.once(words, input).map_err(in_words)?;
        match output.success {
            true => Ok(output.stdout),
            false => Err(output.stderr.trim().to_owned()),
        }
    }

    /// The same, once; `None`: it failed.
    pub(crate) fn try_once(&self, words: &[&str]) -> Option<String> {
        self.ask(words, None).ok()
    }

    /// Runs it and reads what it printed as JSON.
    pub(crate) fn json(&self, words: &[&str], input: Option<&Value>) -> Result<Value, LabError> {
        let text = self.run(words, input)?;
        serde_json::from_str(&text)
            .map_err(|error| LabError::Cluster(format!("kubectl {}: {error}", words.join(" "))))
    }

    fn once(&self, words: &[&str], input: Option<&Value>) -> Result<Output, RunError> {
        let mut command = self.command(words);
        // What waits has a limit of its own.
        if !words.iter().any(|word| word.starts_with("--timeout=")) {
            command.arg(format!("--request-timeout={}s", REQUEST_TIMEOUT.as_secs()));
        }
        let input = input.map(Value::to_string).unwrap_or_default();
        let stdio = StdIo {
            input: &input,
            output_bytes_max: OUTPUT_BYTES_MAX,
        };
        let output = subprocess::run_of_user(command, stdio, self.limit)?;
        match output.stdout.len() < OUTPUT_BYTES_MAX {
            true => Ok(output),
            false => Err(RunError::Other(format!(
                "`kubectl {}` printed {OUTPUT_BYTES_MAX} bytes or more",
                words.join(" ")
            ))),
        }
    }

    /// A refusal with the next step, where there is one.
    pub(crate) fn explained(&self, failed: &str) -> String {
        let has = |words: &str| failed.contains(words);
        let next = if has("Unauthorized") || has("must be logged in") || has("token has expired") {
            "log in to the cluster again, then start the run with --resume"
        } else if has("(Forbidden)") && has("exceeded quota") {
            "raise the quota of the namespace, or measure with fewer pods"
        } else if has("(Forbidden)") {
            "ask for the rights in docs/kubernetes/rbac.yaml"
        } else if has("does not exist") && has("context") {
            "name one of `kubectl config get-contexts`"
        } else if has("no configuration has been provided") || has("current-context is not set") {
            "name a cluster: KUBECONFIG=FILE, or --context NAME"
        } else {
            return format!("{}: {failed}", self.name());
        };
        format!("{}: {failed}; {next}", self.name())
    }
}

fn in_words(error: RunError) -> String {
    match error {
        RunError::NotFound(_) => {
            String::from("kubectl is not on PATH: install it; Tare makes its pods with it")
        }
        RunError::OutOfTime(why) => format!("{why}: does `kubectl get nodes` ask you to log in?"),
        error => error.to_string(),
    }
}

/// Whether the API server could not be reached, or could not answer just now.
fn is_away(failed: &str) -> bool {
    AWAY.iter().any(|words| failed.contains(words))
}

/// Whether nothing failed but that objects are there already.
fn is_done_already(failed: &str) -> bool {
    let mut lines = failed
        .lines()
        .filter(|line| !line.trim().is_empty())
        .peekable();
    lines.peek().is_some() && lines.all(|line| line.contains("(AlreadyExists)"))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// `kubectl` that runs this script instead.
    fn scripted(script: &str) -> (tempfile::TempDir, Kubectl) {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("kubectl");
        fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let kubectl = Kubectl::replaced(program, folder.path());
        (folder, kubectl.within(Duration::from_millis(300)))
    }

    #[test]
    fn one_that_hangs_is_ended_with_what_it_has_started() {
        let script = "sleep 31003.5 & echo $! > \"$2/pid\"; wait";
        let (folder, kubectl) = scripted(script);
        let began = Instant::now();
        let said = kubectl.ask(&["get", "nodes"], None).unwrap_err();
        assert!(
            said.contains("did not end") && said.contains("log in"),
            "{said}"
        );
        assert!(began.elapsed() < Duration::from_secs(20));
        let pid = fs::read_to_string(folder.path().join("pid")).unwrap();
        let line = format!("/proc/{}/cmdline", pid.trim());
        while fs::read_to_string(&line).is_ok_and(|line| line.contains("31003.5")) {
            assert!(began.elapsed() < Duration::from_secs(20), "it still runs");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn one_that_prints_without_end_and_reads_nothing_is_refused() {
        let (_folder, kubectl) = scripted("exec head -c 70000000 /dev/zero");
        let kubectl = kubectl.within(Duration::from_secs(60));
        let input = Value::from("x".repeat(1 << 20));
        let said = kubectl.ask(&["create"], Some(&input)).unwrap_err();
        assert!(said.contains("printed 67108864 bytes or more"), "{said}");
    }

    #[test]
    fn one_that_is_not_there_is_named_with_the_next_step() {
        let nowhere = std::path::Path::new("/");
        let kubectl = Kubectl::replaced(PathBuf::from("/no/such/kubectl"), nowhere);
        let said = kubectl.ask(&["version"], None).unwrap_err();
        assert!(said.contains("install it"), "{said}");
    }

    #[test]
    fn objects_that_are_there_already_are_no_failure_the_second_time() {
        let there = "Error from server (AlreadyExists): pods \"a\" already exists";
        assert!(is_done_already(&format!("{there}\n{there}\n")));
        assert!(!is_done_already(&format!(
            "{there}\nError from server (Forbidden): b"
        )));
        assert!(!is_done_already(""));
    }

    #[test]
    fn an_api_server_that_stops_for_a_while_is_asked_again() {
        for said in [
            "error: error validating \"STDIN\": error validating data: Get \"https://198.18.1.1:6443/openapi/v2?timeout=20s\": net/http: TLS \
             handshake timeout; if you choose to ignore these errors, turn validation off with --validate=false",
            "The connection to the server 198.18.1.1:6443 was refused - did you specify the right host or port? dial tcp: connect: \
             connection refused",
            "Error from server (Timeout): the server was unable to return a response in the time allotted",
            "Get \"https://10.0.0.1/api\": http2: client connection lost",
        ] {
            assert!(is_away(said), "{said}");
        }
        assert!(!is_away("Error from server (Forbidden): pods is forbidden"));
        assert!(!is_away(
            "error: error validating \"STDIN\": unknown field \"spec.a\""
        ));
    }

    #[test]
    fn a_refusal_names_the_next_step() {
        let kubectl = Kubectl::new(Some(String::from("lab")));
        for (said, next) in [
            (
                "error: You must be logged in to the server (Unauthorized)",
                "log in",
            ),
            (
                "Error from server (Forbidden): pods is forbidden",
                "rbac.yaml",
            ),
            (
                "Error from server (Forbidden): exceeded quota: q",
                "raise the quota",
            ),
            ("error: context \"lab\" does not exist", "get-contexts"),
        ] {
            let text = kubectl.explained(said);
            assert!(
                text.starts_with("the context lab: ") && text.contains(next),
                "{text}"
            );
        }
    }
}
