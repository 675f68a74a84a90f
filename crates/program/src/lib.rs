//! What the programs behind `tare` have in common: options as one JSON argument, output, failures with their exit code, signals.

mod end_request;
mod output;

use anyhow::Context;
use serde::de::DeserializeOwned;
use tare_record::version::check_starter;

pub use end_request::EndRequest;
pub use output::{Failed, print, print_json, say, screen, write};

/// The options that `tare` started this program with, as a command of this name.
///
/// # Errors
/// When it was started by hand, or by another version.
pub fn options<T: DeserializeOwned>(command: &str) -> Result<T, Failed> {
    check_starter().map_err(|error| Failed::environment(anyhow::Error::msg(error)))?;
    let words: Vec<String> = std::env::args().skip(1).collect();
    read_options(command, &words).map_err(Failed::bad_input)
}

fn read_options<T: DeserializeOwned>(command: &str, words: &[String]) -> anyhow::Result<T> {
    let [options] = words else {
        anyhow::bail!("start this program with `tare {command}`");
    };
    serde_json::from_str(options).with_context(|| {
        format!(
            "the options are those of another version: start this program with `tare {command}`"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_another_version_and_a_start_by_hand_name_the_command() {
        for words in [&[][..], &["{}".to_owned()], &["1".into(), "2".into()]] {
            let error = read_options::<u32>("perfcheck", words).unwrap_err();
            assert!(
                format!("{error:#}").contains("`tare perfcheck`"),
                "{error:#}"
            );
        }
        assert_eq!(read_options::<u32>("perfcheck", &["7".into()]).unwrap(), 7);
    }
}
