//! Exit codes, and their choice for an error.

use std::any::Any;
use std::fmt;
use std::process::ExitCode;

use signal_hook::consts::{SIGHUP, SIGTERM};
use tare_record::event::Failure;

use crate::json_output::JsonOutput;
use crate::screen::say;

/// The exit codes; those of signals are 128 and the number of the signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Success.
    Done = 0,
    /// An assertion failed, a required rate or verdict was missed, a comparison differs, or the load was aborted.
    Failed = 1,
    /// The input is invalid; nothing was started.
    BadInput = 2,
    /// The machine, its packages or its permissions do not allow it.
    Environment = 3,
    /// There were no answers, or no trial counts.
    NothingMeasured = 4,
    /// Ended by SIGHUP; the measurements so far are kept.
    HungUp = 129,
    /// Interrupted by the user; the measurements so far are kept.
    Interrupted = 130,
    /// Standard output was closed before the end, as by `| head`.
    OutputClosed = 141,
    /// Ended by SIGTERM; the measurements so far are kept.
    Terminated = 143,
}

impl Exit {
    /// All of them, in order.
    pub const ALL: [Exit; 9] = [
        Exit::Done,
        Exit::Failed,
        Exit::BadInput,
        Exit::Environment,
        Exit::NothingMeasured,
        Exit::HungUp,
        Exit::Interrupted,
        Exit::OutputClosed,
        Exit::Terminated,
    ];

    /// The number.
    pub fn code(self) -> u8 {
        self as u8
    }

    /// What it means, for the help and docs/COMMAND-LINE.md.
    pub fn meaning(self) -> &'static str {
        match self {
            Exit::Done => {
                "done; also when a verdict is undecided, unless --require-verdict is given"
            }
            Exit::Failed => {
                "done, but an assertion, required rate, verdict or comparison failed; or aborted"
            }
            Exit::BadInput => "bad input: arguments or files",
            Exit::Environment => {
                "environment: a missing tool, no permission, a port in use, software not fetched"
            }
            Exit::NothingMeasured => "nothing could be measured: no answers, or no trial counts",
            Exit::HungUp => "ended by SIGHUP",
            Exit::Interrupted => "interrupted by SIGINT (Ctrl-C)",
            Exit::OutputClosed => "standard output was closed before the end, as by `| head`",
            Exit::Terminated => "terminated by SIGTERM",
        }
    }

    /// The exit code after this signal.
    pub fn of_signal(signal: i32) -> Exit {
        match signal {
            SIGHUP => Exit::HungUp,
            SIGTERM => Exit::Terminated,
            _ => Exit::Interrupted,
        }
    }

    /// The exit code of a load that was cut short: by this signal, or because nobody read its output.
    pub fn of_cut(signal: Option<i32>) -> Exit {
        signal.map_or(Exit::OutputClosed, Exit::of_signal)
    }

    /// All codes with their meanings, a line each.
    pub fn table() -> String {
        Exit::ALL
            .iter()
            .map(|exit| format!("  {:>3}  {}\n", exit.code(), exit.meaning()))
            .collect()
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}

/// Marks an error with its exit code. Errors without a mark are those of the environment.
#[derive(Debug)]
struct Mark(Exit);

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.meaning())
    }
}

impl std::error::Error for Mark {}

/// An error of the input; exit code 2. An [`anyhow::Error`] keeps its causes.
pub fn bad_input(error: impl fmt::Display + 'static) -> anyhow::Error {
    marked(Exit::BadInput, error)
}

/// Nothing could be measured; exit code 4. An [`anyhow::Error`] keeps its causes.
pub fn unmeasured(error: impl fmt::Display + 'static) -> anyhow::Error {
    marked(Exit::NothingMeasured, error)
}

fn marked(exit: Exit, error: impl fmt::Display + 'static) -> anyhow::Error {
    // Displayed alone, such an error is its outermost context.
    let texts = match (&error as &dyn Any).downcast_ref::<anyhow::Error>() {
        Some(error) => texts(error),
        None => vec![error.to_string()],
    };
    let mark = anyhow::Error::new(Mark(exit));
    texts.into_iter().rev().fold(mark, anyhow::Error::context)
}

/// An error and its causes as they are told, as text and as JSON. The mark is the innermost cause and is left out, and so is a cause
/// whose text the error before it has already.
pub(crate) fn texts(error: &anyhow::Error) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    for cause in error.chain().filter(|cause| !cause.is::<Mark>()) {
        let text = cause.to_string();
        if !texts.last().is_some_and(|before| before.contains(&text)) {
            texts.push(text);
        }
    }
    texts
}

/// Prints an error with its causes, as JSON too where that was asked for, and chooses the exit code.
pub fn report(error: &anyhow::Error, json: JsonOutput) -> ExitCode {
    let mark = error.downcast_ref::<Mark>();
    let exit = mark.map_or(Exit::Environment, |mark| mark.0);
    let texts = texts(error);
    let mut shown = texts.join(": ");
    // Any file, socket or process may be the one too many: the next step is the same for all.
    if shown.contains("Too many open files") && !shown.contains("ulimit") {
        shown.push_str("; raise the limit of open files (ulimit -n)");
    }
    say(format_args!("error: {shown}"));
    let mut texts = texts.into_iter();
    json.print_failure(Failure {
        message: texts.next().unwrap_or_default(),
        exit_code: exit.code(),
        causes: texts.collect(),
    });
    exit.into()
}

/// Prints what the parser of the arguments says: help, the version, or an error of usage (exit code 2).
pub fn report_usage(error: &clap::Error, json: JsonOutput) -> ExitCode {
    // An error means that the stream is closed.
    let _ = error.print();
    if !error.use_stderr() {
        return Exit::Done.into();
    }
    let text = error.render().to_string();
    let message = text.strip_prefix("error: ").unwrap_or(&text).trim_end();
    json.print_failure(Failure {
        message: message.to_owned(),
        exit_code: Exit::BadInput.code(),
        causes: Vec::new(),
    });
    Exit::BadInput.into()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use signal_hook::consts::SIGINT;

    use super::*;

    #[test]
    fn the_page_of_the_command_line_has_every_exit_code_with_its_meaning() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/COMMAND-LINE.md");
        let page = std::fs::read_to_string(page).unwrap();
        let rows: Vec<String> = Exit::ALL
            .iter()
            .map(|exit| {
                // A bar would end the cell.
                let meaning = exit.meaning().replace('|', "\\|");
                format!("| {} | {meaning} |", exit.code())
            })
            .collect();
        let listed: Vec<&str> = page
            .lines()
            .skip_while(|line| *line != "## Exit codes")
            .skip(1)
            .take_while(|line| !line.starts_with("## "))
            .filter(|line| line.starts_with("| ") && !line.starts_with("| code"))
            .filter(|line| !line.starts_with("| ---"))
            .collect();
        assert_eq!(listed, rows);
    }

    #[test]
    fn signals_have_the_codes_that_a_shell_gives_them() {
        for signal in [SIGHUP, SIGINT, SIGTERM] {
            assert_eq!(i32::from(Exit::of_signal(signal).code()), 128 + signal);
        }
        assert_eq!(Exit::of_cut(Some(SIGTERM)), Exit::Terminated);
        assert_eq!(Exit::of_cut(None), Exit::OutputClosed);
    }

    #[test]
    fn a_mark_stays_below_further_contexts_and_is_not_a_cause() {
        let error = unmeasured("no connection").context("the first probe");
        let mark = error.downcast_ref::<Mark>().unwrap();
        assert_eq!(mark.0, Exit::NothingMeasured);
        assert_eq!(texts(&error), ["the first probe", "no connection"]);
    }

    #[test]
    fn an_error_of_the_input_keeps_every_cause_whatever_it_is_made_of() {
        let shown = |error: anyhow::Error| {
            let mark = error.downcast_ref::<Mark>().unwrap();
            assert_eq!(mark.0, Exit::BadInput);
            texts(&error)
        };
        let caused = anyhow::anyhow!("another host").context("line 2 of the targets");
        let expected = ["line 2 of the targets", "another host"];
        assert_eq!(shown(bad_input(caused)), expected);
        assert_eq!(shown(bad_input("a text")), ["a text"]);
        assert_eq!(shown(bad_input(String::from("a text"))), ["a text"]);
        // A cause that the text has already is not told twice.
        let missing = std::io::Error::other("no such file");
        let told = anyhow::Error::new(missing).context("cannot read x: no such file");
        assert_eq!(shown(bad_input(told)), ["cannot read x: no such file"]);
        // Marked twice, as by a command that uses another one.
        let again = bad_input(bad_input("inner").context("outer"));
        assert_eq!(shown(again), ["outer", "inner"]);
    }
}
