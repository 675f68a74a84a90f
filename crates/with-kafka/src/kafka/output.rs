//! What the commands share: output as text or JSON, confirmation, outcomes of operations, and words of arguments.

use serde::Serialize;
use tare_kafka_admin::admin::ItemResult;

use tare_cli::confirm::confirm;
use tare_cli::exit::bad_input;
use tare_cli::screen::{print, print_json};
use tare_cli::values::{self, MISSING};

use super::CommonArgs;

impl CommonArgs {
    /// Prints a value as JSON, or else as text.
    pub fn show<T: Serialize>(
        &self,
        value: &T,
        as_text: impl FnOnce(&T) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        match self.json {
            true => print_json(value),
            false => as_text(value),
        }
    }

    /// Prints the outcomes of several operations; a refused one makes the command fail.
    pub fn show_outcomes(&self, outcomes: &[ItemResult], done: &str) -> anyhow::Result<()> {
        self.show(&outcomes, |outcomes| {
            let mut succeeded = outcomes.iter().filter(|one| one.error.is_none());
            succeeded.try_for_each(|one| print(&format!("{}: {done}\n", one.name)))
        })?;
        let refused: Vec<String> = outcomes
            .iter()
            .filter_map(|one| Some(format!("{}: {}", one.name, one.error.as_ref()?)))
            .collect();
        match refused.is_empty() {
            true => Ok(()),
            false => Err(bad_input(refused.join("\n  "))),
        }
    }

    /// Asks for confirmation on a terminal; elsewhere `--yes` is required.
    pub fn confirm(&self, what: &str) -> anyhow::Result<()> {
        match self.yes {
            true => Ok(()),
            false => confirm(what),
        }
    }
}

/// Prints a table.
pub fn table(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> anyhow::Result<()> {
    print(&values::table(header, rows))
}

/// `1,2,3`.
pub fn list(ids: &[i32]) -> String {
    if ids.is_empty() {
        return MISSING.to_owned();
    }
    let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
    ids.join(",")
}

/// Parses `TOPIC:NUMBER`.
pub fn partition(words: &str) -> anyhow::Result<(String, i32)> {
    let parts = words.rsplit_once(':');
    parts
        .and_then(|(topic, number)| Some((topic.to_owned(), number.parse().ok()?)))
        .ok_or_else(|| bad_input(format!("{words:?} is not a partition: write TOPIC:NUMBER")))
}

/// Parses `KEY=VALUE`.
pub fn pair(words: &str) -> anyhow::Result<(String, String)> {
    match words.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err(bad_input(format!("{words:?}: write KEY=VALUE"))),
    }
}
