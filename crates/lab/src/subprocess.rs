//! Runs a subprocess (pip, a version command) with a timeout and bounded output.
//!
//! It runs in an empty private folder or a given one, so that no files of the current directory affect it, and in its
//! own process group, so that its descendants can be killed with it. Ctrl-C does not reach the group: Tare decides
//! what ends. It gets the environment variables of its kind and no others.

use std::fs::{self, File};
use std::io::{self, Seek, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::fs::MemfdFlags;
use rustix::io::Errno;
use rustix::process::{PidfdFlags, Signal};

use crate::keeper::{PrivateFolder, default_base, new_path};
use crate::local::isolation;
use crate::process::{raw_pid, timespec};
use crate::sys::{self, ChildSetup};
use crate::variables::{self, Variables};

/// Maximum of each stream that is kept; the rest is read and dropped, so that the program never blocks.
const OUTPUT_BYTES_MAX: usize = 1 << 20;
/// Largest input, which is kept in memory until the program ends.
const INPUT_BYTES_MAX: usize = 16 << 20;
/// Size of a full pipe (`/proc/sys/fs/pipe-max-size`): all that an exited program can have left in it.
const PIPE_BYTES_MAX: usize = 1 << 20;

/// Lets a command be killed when this thread ends, however it ends.
pub fn end_with_this_thread(command: &mut Command) {
    let setup = ChildSetup {
        parent: Some(rustix::process::getpid()),
        ..ChildSetup::default()
    };
    sys::prepare_child(command, setup);
}

/// Kills the process group that a child leads. Not reaped yet, its id cannot be reused: the signal hits no other group.
pub fn end_group(child: &Child) {
    if let Some(group) = raw_pid(child.id()) {
        let _ = rustix::process::kill_process_group(group, Signal::KILL);
    }
}

/// Output and exit status of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// Whether it exited with code 0.
    pub success: bool,
    /// Exit status as text: "ended with code 3".
    pub how: String,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Output {
    /// Both streams, for programs that may write to either.
    pub(crate) fn text(&self) -> String {
        format!("{}\n{}", self.stdout, self.stderr)
    }

    /// The last line that is not empty, for an error message.
    pub(crate) fn last_line(&self) -> &str {
        let lines = self.stderr.lines().rev().chain(self.stdout.lines().rev());
        lines
            .map(str::trim)
            .find(|line| !line.is_empty())
            .unwrap_or("it said nothing")
    }
}

/// Standard input of a program, and the maximum of its output and error that is kept.
#[derive(Debug, Clone, Copy)]
pub struct StdIo<'a> {
    /// All of it is there at once, whether the program reads it or not.
    pub input: &'a str,
    /// What is beyond it is read and dropped.
    pub output_bytes_max: usize,
}

impl StdIo<'_> {
    const NO_INPUT: StdIo<'static> = StdIo {
        input: "",
        output_bytes_max: OUTPUT_BYTES_MAX,
    };
}

/// Runs a program in an empty private folder, and kills it at the timeout.
pub(crate) fn run<'a>(
    words: &[impl AsRef<str>],
    variables: impl Into<Variables<'a>>,
    within: Duration,
) -> Result<Output, String> {
    run_with(words, variables, StdIo::NO_INPUT, within)
}

/// The same with standard input.
pub(crate) fn run_with<'a>(
    words: &[impl AsRef<str>],
    variables: impl Into<Variables<'a>>,
    stdio: StdIo<'_>,
    within: Duration,
) -> Result<Output, String> {
    in_private_folder(|folder| run_with_in(folder, words, variables, stdio, within, &mut |_| {}))
}

/// The same in a given folder.
pub(crate) fn run_in<'a>(
    folder: &Path,
    words: &[impl AsRef<str>],
    variables: impl Into<Variables<'a>>,
    within: Duration,
) -> Result<Output, String> {
    let stdio = StdIo::NO_INPUT;
    run_with_in(folder, words, variables, stdio, within, &mut |_| {})
}

/// The same; `progress` gets the number of lines on standard error whenever it has grown.
pub(crate) fn run_in_with_progress<'a>(
    folder: &Path,
    words: &[impl AsRef<str>],
    variables: impl Into<Variables<'a>>,
    within: Duration,
    progress: &mut dyn FnMut(usize),
) -> Result<Output, String> {
    run_with_in(folder, words, variables, StdIo::NO_INPUT, within, progress)
}

/// The same with standard input and a limit of output.
pub(crate) fn run_with_in<'a>(
    folder: &Path,
    words: &[impl AsRef<str>],
    variables: impl Into<Variables<'a>>,
    stdio: StdIo<'_>,
    within: Duration,
    progress: &mut dyn FnMut(usize),
) -> Result<Output, String> {
    let mut command = command(words)?;
    variables.into().give(&mut command);
    let parent = parent();
    let ran = run_command(command, parent, folder, stdio, within, progress);
    ran.map_err(|error| error.to_string())
}

/// Runs a command of a target's program in an empty private folder, with the variables and, where that is possible, the restrictions
/// of an instance.
pub(crate) fn run_measured(
    words: &[String],
    program: &Path,
    within: Duration,
) -> Result<Output, String> {
    in_private_folder(|private| {
        let folder = private.join("of-program");
        fs::create_dir(&folder).map_err(|error| error.to_string())?;
        let restricted = isolation::of_version_command(program, words, &folder);
        for confinement in restricted.into_iter().map(Some).chain([None]) {
            let mut command = command(words)?;
            command.env_clear().envs(variables::of_measured(&folder));
            let mut setup = parent();
            if let Some(confinement) = confinement {
                let owner = confinement.user.unwrap_or(0);
                isolation::give(&folder, owner).map_err(|error| error.to_string())?;
                let set_up = confinement.set_up(&folder, &mut setup);
                set_up.map_err(|error| format!("look at what it may see: {error}"))?;
            }
            let stdio = StdIo::NO_INPUT;
            match run_command(command, setup, &folder, stdio, within, &mut |_| {}) {
                // Mounts or other users are not permitted here: with less, as instances.
                Err(RunError::Restricted) => {}
                ran => return ran.map_err(|error| error.to_string()),
            }
        }
        Err(RunError::Restricted.to_string())
    })
}

/// Runs a tool of the user, with the environment and in the current folder of the user, and kills it at the timeout.
///
/// # Errors
/// Why there is no output.
pub fn run_of_user(
    command: Command,
    stdio: StdIo<'_>,
    within: Duration,
) -> Result<Output, RunError> {
    run_command(
        command,
        parent(),
        Path::new("."),
        stdio,
        within,
        &mut |_| {},
    )
}

fn in_private_folder(run: impl FnOnce(&Path) -> Result<Output, String>) -> Result<Output, String> {
    let folder =
        PrivateFolder::make(new_path(&default_base())).map_err(|error| error.to_string())?;
    let output = run(folder.path());
    // What cannot be removed now is swept up by the next keeper.
    let _ = folder.remove();
    output
}

fn command(words: &[impl AsRef<str>]) -> Result<Command, String> {
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    let (program, arguments) = words.split_first().ok_or("the command is empty")?;
    let mut command = Command::new(program);
    command.args(arguments);
    Ok(command)
}

/// It is not a child of the keeper, but must not outlive us either.
fn parent() -> ChildSetup {
    ChildSetup {
        parent: Some(rustix::process::getpid()),
        ..ChildSetup::default()
    }
}

/// Why a program has no output.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Its restrictions are not possible here.
    #[error("a program cannot be restricted here")]
    Restricted,
    /// There is no such program.
    #[error("{0}")]
    NotFound(String),
    /// It was killed.
    #[error("{0}")]
    OutOfTime(String),
    /// It could not be run or watched.
    #[error("{0}")]
    Other(String),
}

fn run_command(
    mut command: Command,
    setup: ChildSetup,
    folder: &Path,
    stdio: StdIo<'_>,
    within: Duration,
    progress: &mut dyn FnMut(usize),
) -> Result<Output, RunError> {
    if stdio.input.len() > INPUT_BYTES_MAX {
        return Err(RunError::Other(format!(
            "more than {INPUT_BYTES_MAX} bytes of input: ask for less"
        )));
    }
    let program = command.get_program().to_string_lossy().into_owned();
    let failed =
        |what: &str, error: io::Error| RunError::Other(format!("cannot {what} {program}: {error}"));
    command
        .current_dir(folder)
        .process_group(0)
        .stdin(match stdio.input {
            "" => Stdio::null(),
            text => in_memory(text)
                .map_err(|error| failed("give input to", error))?
                .into(),
        })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    sys::prepare_child(&mut command, setup);
    let mut child = command
        .spawn()
        .map_err(|error| match error.raw_os_error() {
            Some(sys::NO_VIEW | sys::NO_DROP) => RunError::Restricted,
            _ if error.kind() == io::ErrorKind::NotFound => {
                RunError::NotFound(failed("run", error).to_string())
            }
            _ => failed("run", error),
        })?;
    let watched = watch(&mut child, stdio.output_bytes_max, within, progress);
    end_group(&child);
    let status = child.wait().map_err(|error| failed("wait for", error))?;
    match watched.map_err(|error| failed("watch", error))? {
        CommandEnd::Ended(outputs) => {
            let [stdout, stderr] = outputs.map(Stream::text);
            Ok(Output {
                success: status.success(),
                how: format!("ended with {status}"),
                stdout,
                stderr,
            })
        }
        CommandEnd::OutOfTime => {
            let words = std::iter::once(command.get_program()).chain(command.get_args());
            let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
            Err(RunError::OutOfTime(format!(
                "`{}` did not end within {:.0} s",
                words.join(" "),
                within.as_secs_f64()
            )))
        }
    }
}

/// A file without a name that is at its beginning.
fn in_memory(text: &str) -> io::Result<File> {
    let mut file = File::from(rustix::fs::memfd_create("input", MemfdFlags::CLOEXEC)?);
    file.write_all(text.as_bytes())?;
    file.rewind()?;
    Ok(file)
}

/// End of a program that is not reaped yet.
enum CommandEnd {
    /// It has exited; standard output and standard error.
    Ended([Stream; 2]),
    OutOfTime,
}

/// Reads the outputs until the program exits, even if other processes still hold them open.
fn watch(
    child: &mut Child,
    bytes_max: usize,
    within: Duration,
    progress: &mut dyn FnMut(usize),
) -> io::Result<CommandEnd> {
    let deadline = Instant::now() + within;
    let pid = raw_pid(child.id()).ok_or(io::ErrorKind::InvalidInput)?;
    let process = rustix::process::pidfd_open(pid, PidfdFlags::empty())?;
    let mut outputs = [
        Stream::new(child.stdout.take().map(OwnedFd::from), bytes_max)?,
        Stream::new(child.stderr.take().map(OwnedFd::from), bytes_max)?,
    ];
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(CommandEnd::OutOfTime);
        }
        let limit = timespec(left);
        let mut fds = vec![PollFd::new(&process, PollFlags::IN)];
        let open = outputs.iter().filter_map(|output| output.pipe.as_ref());
        fds.extend(open.map(|pipe| PollFd::new(pipe, PollFlags::IN)));
        match rustix::event::poll(&mut fds, Some(&limit)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let has_ended = !fds[0].revents().is_empty();
        drop(fds);
        let lines = outputs[1].lines();
        outputs.iter_mut().for_each(Stream::take);
        if outputs[1].lines() > lines {
            progress(outputs[1].lines());
        }
        if has_ended {
            return Ok(CommandEnd::Ended(outputs));
        }
    }
}

/// An output stream and what is kept of it.
struct Stream {
    /// `None` at end of file.
    pipe: Option<OwnedFd>,
    kept: Vec<u8>,
    bytes_max: usize,
}

impl Stream {
    fn new(pipe: Option<OwnedFd>, bytes_max: usize) -> io::Result<Stream> {
        if let Some(pipe) = &pipe {
            rustix::io::ioctl_fionbio(pipe, true)?;
        }
        Ok(Stream {
            pipe,
            kept: Vec::new(),
            bytes_max,
        })
    }

    /// Reads pending output, at most a full pipe at a time.
    fn take(&mut self) {
        let mut chunk = [0_u8; 8192];
        let mut taken_bytes = 0;
        while taken_bytes < PIPE_BYTES_MAX
            && let Some(pipe) = &self.pipe
        {
            match rustix::io::read(pipe, &mut chunk[..]) {
                Ok(0) => self.pipe = None,
                Ok(read) => {
                    taken_bytes += read;
                    let room = self.bytes_max - self.kept.len();
                    self.kept.extend_from_slice(&chunk[..read.min(room)]);
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                Err(_) => self.pipe = None,
            }
        }
    }

    fn lines(&self) -> usize {
        self.kept.iter().filter(|&&byte| byte == b'\n').count()
    }

    fn text(self) -> String {
        String::from_utf8_lossy(&self.kept).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::variables::ProgramKind::Plain;

    fn sh(script: &str, within: Duration) -> Result<Output, String> {
        run(&["sh", "-c", script], Plain, within)
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
    fn lines_of_a_running_program_are_counted() {
        let mut seen = Vec::new();
        let script = "for i in 1 2 3; do echo $i >&2; sleep 0.05; done";
        let output = run_in_with_progress(
            Path::new("/"),
            &["sh", "-c", script],
            Plain,
            LONG,
            &mut |lines| seen.push(lines),
        );
        assert_eq!(output.unwrap().stderr, "1\n2\n3\n");
        assert_eq!(seen.last(), Some(&3));
        assert!(seen.len() > 1, "{seen:?}");
    }

    #[test]
    fn a_program_that_writes_without_end_is_read_but_not_kept() {
        let output = sh("head -c 3000000 /dev/zero", LONG).unwrap();
        assert_eq!(output.stdout.len(), OUTPUT_BYTES_MAX);
    }

    #[test]
    fn a_program_is_told_something_and_as_much_is_kept_as_was_wanted() {
        let told = |script: &str, input: &str| {
            let words = ["sh", "-c", script];
            let with = StdIo {
                input,
                output_bytes_max: 4,
            };
            run_with(&words, Plain, with, LONG)
        };
        assert_eq!(told("cat", "ab\n").unwrap().stdout, "ab\n");
        assert_eq!(told("cat", "abcdef").unwrap().stdout, "abcd");
        assert_eq!(told("wc -c", &"x".repeat(300_000)).unwrap().stdout, "3000");
        // A program that exits without reading its input is no error.
        assert!(
            told("exit 0", &"x".repeat(INPUT_BYTES_MAX))
                .unwrap()
                .success
        );
        let long = "x".repeat(INPUT_BYTES_MAX + 1);
        assert!(told("cat", &long).unwrap_err().contains("ask for less"));
    }

    #[test]
    fn a_program_that_hangs_is_killed_at_the_limit() {
        let said = run(&["sleep", "600"], Plain, Duration::from_millis(50));
        assert!(said.unwrap_err().contains("did not end"));
    }

    /// Whether a `sleep` with this unusual number of seconds runs.
    fn sleeping(seconds: &str) -> bool {
        let all = crate::process::snapshot();
        all.iter().filter(|one| one.is_alive()).any(|one| {
            std::fs::read(format!("/proc/{}/cmdline", one.pid))
                .is_ok_and(|words| words == format!("sleep\0{seconds}\0").into_bytes())
        })
    }

    fn gone(seconds: &str) -> bool {
        let deadline = Instant::now() + LONG;
        while sleeping(seconds) && Instant::now() < deadline {
            crate::process::pause(Duration::from_millis(5));
        }
        !sleeping(seconds)
    }

    #[test]
    fn what_a_program_has_started_ends_with_it_and_at_the_limit() {
        let seconds = ["31001.5", "31002.5"];
        let begun = Instant::now();
        let output = sh(&format!("sleep {} & echo done", seconds[0]), LONG).unwrap();
        assert_eq!(output.stdout, "done\n");
        assert!(gone(seconds[0]));
        let script = format!("sleep {} & sleep {0}; true", seconds[1]);
        assert!(sh(&script, Duration::from_millis(100)).is_err());
        assert!(gone(seconds[1]));
        assert!(begun.elapsed() < LONG, "{:?}", begun.elapsed());
    }

    #[test]
    fn one_that_left_the_group_and_holds_the_outputs_is_not_waited_for() {
        for script in [
            "setsid sleep 15 & sleep 0.2; echo out; echo err >&2",
            "setsid yes & sleep 0.2",
        ] {
            let begun = Instant::now();
            let output = sh(script, LONG).unwrap();
            assert!(begun.elapsed() < Duration::from_secs(10), "{script}");
            assert!(
                script.contains("yes") || output.text() == "out\n\nerr\n",
                "{output:?}"
            );
        }
    }

    #[test]
    fn a_program_is_alone_in_a_private_folder_that_goes_with_it() {
        let output = sh("pwd; stat -c %a .; ls; touch left", LONG).unwrap();
        let lines: Vec<&str> = output.stdout.lines().collect();
        let [folder, mode] = lines[..] else {
            panic!("{lines:?}")
        };
        assert_ne!(Path::new(folder), std::env::current_dir().unwrap());
        assert_eq!(mode, "700");
        assert!(!Path::new(folder).exists());
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let said = run(&["no-such-program"], Plain, LONG).unwrap_err();
        assert!(said.contains("no-such-program"), "{said}");
    }
}
