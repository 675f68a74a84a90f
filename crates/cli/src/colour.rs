//! Whether output is coloured: `--color`, else the environment, else whether the stream is a terminal.

use std::ffi::OsString;
use std::sync::OnceLock;

use clap::{ColorChoice, ValueEnum};
use tare_report::terminal::Colour;

/// What `--color` says; the same for the whole process.
static CHOSEN: OnceLock<ColorChoice> = OnceLock::new();

/// Takes over what `--color` says.
pub fn choose(when: ColorChoice) {
    // The command line is parsed once: nothing was chosen before.
    let _ = CHOSEN.set(when);
}

/// Whether a stream is coloured.
pub fn of_stream(stream: &console::Term) -> Colour {
    let when = CHOSEN.get().copied().unwrap_or_default();
    decide(when, &Environment::of_process(), stream.is_term())
}

/// `--color` for help and errors of usage, which are printed before the arguments are parsed.
pub fn of_words(words: impl Iterator<Item = OsString>) -> ColorChoice {
    let mut found = None;
    let mut words = words.take_while(|word| word != "--");
    while let Some(word) = words.next() {
        let Some(word) = word.to_str() else {
            continue;
        };
        let value = match word {
            "--color" | "--colour" => {
                let next = words.next();
                next.and_then(|next| next.into_string().ok())
            }
            word => ["--color=", "--colour="]
                .iter()
                .find_map(|flag| word.strip_prefix(flag))
                .map(str::to_owned),
        };
        found = value
            .and_then(|value| <ColorChoice as ValueEnum>::from_str(&value, false).ok())
            .or(found);
    }
    found.unwrap_or_default()
}

/// The variables that say something about colour.
#[derive(Debug, Default)]
struct Environment {
    no_color: Option<OsString>,
    clicolor: Option<OsString>,
    clicolor_force: Option<OsString>,
    term: Option<OsString>,
}

impl Environment {
    fn of_process() -> Self {
        Self {
            no_color: std::env::var_os("NO_COLOR"),
            clicolor: std::env::var_os("CLICOLOR"),
            clicolor_force: std::env::var_os("CLICOLOR_FORCE"),
            term: std::env::var_os("TERM"),
        }
    }
}

/// The order of no-color.org and bixense.com/clicolors.
fn decide(when: ColorChoice, environment: &Environment, is_terminal: bool) -> Colour {
    let is = |variable: &Option<OsString>, value: &str| {
        variable.as_ref().is_some_and(|found| found == value)
    };
    let is_set = |variable: &Option<OsString>| variable.is_some() && !is(variable, "");
    let Environment {
        no_color,
        clicolor,
        clicolor_force,
        term,
    } = environment;
    let is_on = match when {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto if is_set(no_color) => false,
        ColorChoice::Auto if is_set(clicolor_force) && !is(clicolor_force, "0") => true,
        ColorChoice::Auto => is_terminal && !is(clicolor, "0") && !is(term, "dumb"),
    };
    match is_on {
        true => Colour::On,
        false => Colour::Off,
    }
}

#[cfg(test)]
mod tests {
    use clap::ColorChoice as When;

    use super::*;

    fn environment(variables: &[(&str, &str)]) -> Environment {
        let of = |name: &str| {
            let mut found = variables.iter().filter(|(known, _)| *known == name);
            found.next().map(|(_, value)| OsString::from(value))
        };
        Environment {
            no_color: of("NO_COLOR"),
            clicolor: of("CLICOLOR"),
            clicolor_force: of("CLICOLOR_FORCE"),
            term: of("TERM"),
        }
    }

    #[test]
    fn the_flag_wins_then_the_environment_then_the_terminal() {
        type Case<'a> = (When, &'a [(&'a str, &'a str)], bool, Colour);
        let force = ("CLICOLOR_FORCE", "1");
        let cases: [Case<'_>; 12] = [
            (When::Auto, &[], true, Colour::On),
            (When::Auto, &[], false, Colour::Off),
            (When::Auto, &[("NO_COLOR", "1")], true, Colour::Off),
            (When::Auto, &[("NO_COLOR", "")], true, Colour::On),
            (When::Auto, &[("CLICOLOR", "0")], true, Colour::Off),
            (When::Auto, &[("CLICOLOR", "1")], false, Colour::Off),
            (When::Auto, &[force], false, Colour::On),
            (When::Auto, &[("CLICOLOR_FORCE", "0")], false, Colour::Off),
            (When::Auto, &[force, ("NO_COLOR", "1")], true, Colour::Off),
            (When::Auto, &[("TERM", "dumb")], true, Colour::Off),
            (When::Always, &[("NO_COLOR", "1")], false, Colour::On),
            (When::Never, &[force], true, Colour::Off),
        ];
        for (when, variables, is_terminal, expected) in cases {
            let found = decide(when, &environment(variables), is_terminal);
            assert_eq!(found, expected, "{when:?} {variables:?} {is_terminal}");
        }
    }

    #[test]
    fn the_flag_is_found_before_the_arguments_are_parsed() {
        let of = |line: &str| of_words(line.split(' ').map(OsString::from));
        assert_eq!(of("report --color always"), ColorChoice::Always);
        assert_eq!(of("--color=never report"), ColorChoice::Never);
        assert_eq!(of("report --colour=never"), ColorChoice::Never);
        assert_eq!(of("report --color nonsense"), ColorChoice::Auto);
        assert_eq!(of("lab exec pod -- ls --color=never"), ColorChoice::Auto);
        assert_eq!(of("report"), ColorChoice::Auto);
    }
}
