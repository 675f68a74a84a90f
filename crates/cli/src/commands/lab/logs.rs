//! `tare lab logs`: prints the logs of the processes of a pod.

use std::borrow::Cow;
use std::fs::File;
use std::io::{IsTerminal, Read, Seek, SeekFrom};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use tare_record::escape::escape_lines;
use tare_record::regular::open_growing;

use super::{LabSelector, processes_in_pod};
use crate::exit::Exit;
use crate::screen::{is_closed, print_raw, say};
use crate::signals::Interruption;

/// Interval at which files are checked for new lines.
const PAUSE: Duration = Duration::from_millis(200);

/// Most bytes read at once.
const CHUNK_BYTES: u64 = 1 << 20;

/// Arguments of `tare lab logs`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    which: LabSelector,
    /// Name of a pod, or of an instance in it.
    pod: String,
    /// Follow the logs until Ctrl-C or the end of the test bed.
    #[arg(long, short)]
    follow: bool,
}

/// Prints the logs.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let interruption = Interruption::listen()?;
    let standing = args.which.one()?;
    let processes = processes_in_pod(&standing, &args.pod)?;
    let mut logs = Vec::new();
    for one in &processes {
        if let Some(path) = &one.log {
            let file =
                open_growing(path).with_context(|| format!("cannot read {}", path.display()))?;
            logs.push((one.instance.as_str(), path.as_path(), file));
        }
    }
    if logs.is_empty() {
        say(format_args!("nothing in {} writes a log", args.pod));
    }
    let is_one = logs.len() < 2;
    let reader = match std::io::stdout().is_terminal() {
        true => Reader::Terminal,
        false => Reader::Program,
    };
    loop {
        let mut grown = false;
        for (instance, _, file) in &mut logs {
            let text = read_lines(file)?;
            grown |= !text.is_empty();
            for line in text.lines() {
                let line = reader.line(line);
                match is_one {
                    true => print_raw(&format!("{line}\n"))?,
                    false => print_raw(&format!("{instance} | {line}\n"))?,
                }
            }
        }
        let is_wanted = args.follow && !interruption.is_requested() && !is_closed();
        let is_over = !is_wanted || all_removed(&logs);
        match (grown, is_over) {
            (true, _) if !is_closed() => {}
            (_, true) => return Ok(Exit::Done.into()),
            (_, false) => std::thread::sleep(PAUSE),
        }
    }
}

/// What standard output is connected to.
#[derive(Debug, Clone, Copy)]
enum Reader {
    /// A terminal: control characters are escaped.
    Terminal,
    /// A file or another program: lines are passed on unchanged.
    Program,
}

impl Reader {
    fn line(self, line: &str) -> Cow<'_, str> {
        match self {
            Reader::Terminal => escape_lines(line),
            Reader::Program => Cow::Borrowed(line),
        }
    }
}

fn all_removed(logs: &[(&str, &Path, File)]) -> bool {
    logs.iter().all(|(_, path, _)| !path.exists())
}

/// Reads the next complete lines; a last line without its end only when there is nothing else.
fn read_lines(file: &mut File) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    file.by_ref().take(CHUNK_BYTES).read_to_end(&mut bytes)?;
    if let Some(end) = bytes.iter().rposition(|byte| *byte == b'\n')
        && end + 1 < bytes.len()
    {
        let back = (bytes.len() - end - 1) as i64;
        file.seek(SeekFrom::Current(-back))?;
        bytes.truncate(end + 1);
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_cannot_steer_the_terminal_and_a_program_gets_it_as_it_is() {
        let line = "\tat \u{1b}]52;c;ZXZpbA==\u{7}x";
        assert_eq!(
            Reader::Terminal.line(line),
            "\tat \\u{1b}]52;c;ZXZpbA==\\u{7}x"
        );
        assert_eq!(Reader::Program.line(line), line);
    }
}
