//! What shells complete.

use clap::{Arg, Command, ValueHint};

/// Adds to every argument what its values are, for shells to complete: its value name says it.
pub fn with_hints(command: Command) -> Command {
    command
        .mut_args(|arg| match hint(&arg) {
            Some(hint) => arg.value_hint(hint),
            None => arg,
        })
        .mut_subcommands(with_hints)
}

fn hint(arg: &Arg) -> Option<ValueHint> {
    let name = arg.get_value_names()?.first()?;
    match name.as_str() {
        "FILE" => Some(ValueHint::FilePath),
        // Runs are folders.
        "DIR" | "RUN" | "BEFORE" | "AFTER" => Some(ValueHint::DirPath),
        "NAME|FILE" => Some(ValueHint::AnyPath),
        "URL" | "URL,…" => Some(ValueHint::Url),
        "HOST:PORT" | "HOST:PORT,…" => Some(ValueHint::Hostname),
        _ => None,
    }
}
