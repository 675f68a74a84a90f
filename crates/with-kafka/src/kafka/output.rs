//! What the commands share: output as text or JSON, confirmation, outcomes of operations, and words of arguments.

use anyhow::anyhow;
use serde::Serialize;
use tare_kafka_admin::admin::{AdminError, ApiError, ItemResult};
use tare_kafka_admin::client::ClientError;

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
        check_outcomes(outcomes)
    }

    /// Asks for confirmation on a terminal; elsewhere `--yes` is required.
    pub fn confirm(&self, what: &str) -> anyhow::Result<()> {
        match self.yes {
            true => Ok(()),
            false => confirm(what),
        }
    }
}

/// Names the operations that were refused. They are bad input only if no reason lies in the cluster, or in the rights of the user.
fn check_outcomes(outcomes: &[ItemResult]) -> anyhow::Result<()> {
    let mut errors = outcomes.iter().filter_map(|one| one.error.as_ref());
    let is_input = errors.all(ApiError::is_input);
    let texts: Vec<String> = outcomes
        .iter()
        .filter_map(|one| Some(format!("{}: {}", one.name, one.error.as_ref()?)))
        .collect();
    match (texts.is_empty(), is_input) {
        (true, _) => Ok(()),
        (false, true) => Err(bad_input(texts.join("\n  "))),
        (false, false) => Err(anyhow!(texts.join("\n  "))),
    }
}

/// The error of a request to a broker that the user has named: one that is not there is bad input.
pub fn of_named_broker(error: AdminError) -> anyhow::Error {
    match error {
        AdminError::Client(error @ ClientError::NoBroker(_)) => bad_input(error),
        error => error.into(),
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

#[cfg(test)]
mod tests {
    use std::process::ExitCode;

    use tare_cli::exit::{Exit, report};
    use tare_cli::json_output::JsonOutput;

    use super::super::with_exit;
    use super::*;

    /// What the process exits with.
    fn check_exit(error: anyhow::Error, expected: Exit) {
        let found = report(&with_exit(error), JsonOutput::No);
        // Exit codes of processes cannot be compared otherwise.
        let expected = ExitCode::from(expected);
        assert_eq!(format!("{found:?}"), format!("{expected:?}"));
    }

    fn refused(code: i16) -> ItemResult {
        let error = ApiError {
            code,
            name: format!("error {code}"),
            message: None,
            permission: None,
        };
        ItemResult {
            name: "orders".to_owned(),
            error: Some(error),
        }
    }

    #[test]
    fn a_request_that_the_cluster_or_its_rights_refuse_is_not_bad_input() {
        let done = ItemResult {
            name: "orders".to_owned(),
            error: None,
        };
        assert!(check_outcomes(std::slice::from_ref(&done)).is_ok());
        // TopicAlreadyExists, InvalidPartitions.
        for code in [36, 37] {
            let error = check_outcomes(&[done.clone(), refused(code)]).unwrap_err();
            check_exit(error, Exit::BadInput);
        }
        // TopicAuthorizationFailed, TopicDeletionDisabled, PreferredLeaderNotAvailable, EligibleLeadersNotAvailable.
        for code in [29, 73, 80, 83] {
            let error = check_outcomes(&[refused(code), refused(36)]).unwrap_err();
            check_exit(error, Exit::Environment);
        }
    }

    #[test]
    fn a_broker_that_is_not_there_is_bad_input_only_where_the_user_named_it() {
        let gone = || AdminError::from(ClientError::NoBroker(7));
        check_exit(of_named_broker(gone()), Exit::BadInput);
        check_exit(gone().into(), Exit::Environment);
    }
}
