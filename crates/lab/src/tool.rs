//! Runs a short helper program (pip, a version command) with a limit and bounded output.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::sys::{self, ChildSetup, Session};

/// So much of each stream is kept; the rest is read and dropped, so that the program never blocks.
const OUTPUT_BYTES_MAX: usize = 1 << 20;
/// Between looks at the program.
const PAUSE: Duration = Duration::from_millis(5);

/// What a program said and how it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Output {
    /// Whether it ended with code 0.
    pub(crate) success: bool,
    /// How it ended, in words: "ended with code 3".
    pub(crate) how: String,
    /// Standard output.
    pub(crate) stdout: String,
    /// Standard error.
    pub(crate) stderr: String,
}

impl Output {
    /// Both streams, for programs of which it is not known where they write.
    pub(crate) fn text(&self) -> String {
        format!("{}\n{}", self.stdout, self.stderr)
    }

    /// The last line that says something, for an error message.
    pub(crate) fn last_line(&self) -> &str {
        let lines = self.stderr.lines().rev().chain(self.stdout.lines().rev());
        lines
            .map(str::trim)
            .find(|line| !line.is_empty())
            .unwrap_or("it said nothing")
    }
}

/// Runs a program to its end and kills it at the limit. The error is in words.
pub(crate) fn run(
    words: &[String],
    env: &[(&str, &str)],
    within: Duration,
) -> Result<Output, String> {
    run_in(Path::new("."), words, env, within)
}

/// The same, in this working folder.
pub(crate) fn run_in(
    folder: &Path,
    words: &[String],
    env: &[(&str, &str)],
    within: Duration,
) -> Result<Output, String> {
    let (program, arguments) = words.split_first().ok_or("the command is empty")?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .current_dir(folder)
        .envs(env.iter().copied())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    // It is not under the keeper, but must not outlive us either.
    sys::prepare_child(
        &mut command,
        ChildSetup {
            parent: Some(rustix::process::getpid()),
            network: None,
            hosts: None,
            groups: Vec::new(),
            session: Session::Parents,
            cpus: None,
            nofile: None,
        },
    );
    let mut child = command
        .spawn()
        .map_err(|error| format!("cannot run {program}: {error}"))?;
    let stdout = drain(child.stdout.take());
    let stderr = drain(child.stderr.take());
    let status = wait(&mut child, within);
    // A grandchild may hold the pipes open: after a kill nothing is waited for.
    let Some(status) = status else {
        return Err(format!(
            "`{}` did not end within {:.0} s",
            words.join(" "),
            within.as_secs_f64()
        ));
    };
    let text = |reader: Option<JoinHandle<Vec<u8>>>| {
        let bytes = reader.and_then(|reader| reader.join().ok());
        String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned()
    };
    Ok(Output {
        success: status.success(),
        how: format!("ended with {status}"),
        stdout: text(stdout),
        stderr: text(stderr),
    })
}

fn wait(child: &mut Child, within: Duration) -> Option<ExitStatus> {
    let deadline = Instant::now() + within;
    loop {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(status);
        }
        if Instant::now() >= deadline {
            // It may have ended between the two looks; then there is nothing to kill.
            let _ = child.kill();
            let _ = child.wait();
            return None;
        }
        std::thread::sleep(PAUSE);
    }
}

fn drain(stream: Option<impl Read + Send + 'static>) -> Option<JoinHandle<Vec<u8>>> {
    let mut stream = stream?;
    Some(std::thread::spawn(move || {
        let mut kept = Vec::new();
        let mut chunk = [0_u8; 8192];
        while let Ok(read) = stream.read(&mut chunk) {
            if read == 0 {
                break;
            }
            let room = OUTPUT_BYTES_MAX - kept.len();
            kept.extend_from_slice(&chunk[..read.min(room)]);
        }
        kept
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str, within: Duration) -> Result<Output, String> {
        run(&["sh".into(), "-c".into(), script.into()], &[], within)
    }

    const LONG: Duration = Duration::from_secs(20);

    #[test]
    fn output_and_end_are_told() {
        let output = sh("echo out; echo err >&2; exit 3", LONG).unwrap();
        assert!(!output.success);
        assert!(output.how.contains('3'), "{}", output.how);
        assert_eq!(output.last_line(), "err");
        assert_eq!(output.stdout, "out\n");
    }

    #[test]
    fn a_program_that_writes_without_end_is_read_but_not_kept() {
        let output = sh("head -c 3000000 /dev/zero", LONG).unwrap();
        assert_eq!(output.stdout.len(), OUTPUT_BYTES_MAX);
    }

    #[test]
    fn a_program_that_hangs_is_killed_at_the_limit() {
        let said = run(
            &["sleep".into(), "600".into()],
            &[],
            Duration::from_millis(50),
        );
        assert!(said.unwrap_err().contains("did not end"));
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let said = run(&["no-such-program".into()], &[], LONG).unwrap_err();
        assert!(said.contains("no-such-program"), "{said}");
    }
}
