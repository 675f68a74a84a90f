//! Examples in the help of every command.

use clap::Command;

use crate::exit::Exit;

/// A command, as typed behind `tare`, with examples of it.
type Example = (&'static str, &'static [&'static str]);

/// The examples of all commands that users see.
const EXAMPLES: &[Example] = &[
    (
        "",
        &[
            "tare run sidecar --quick",
            "tare load http://127.0.0.1:8080/ --rate 1000 --duration 10s",
            "tare report latest --html",
            "tare doctor",
        ],
    ),
    (
        "run",
        &[
            "tare run sidecar --quick",
            "tare run my.yaml --blocks 10 --require-verdict",
            "tare run sidecar --external server=127.0.0.1:8080",
            "tare run --resume latest",
        ],
    ),
    ("plan", &["tare plan sidecar", "tare plan my.yaml --json"]),
    (
        "load",
        &[
            "tare load http://127.0.0.1:8080/ --rate 1000 --duration 10s",
            "tare load http://127.0.0.1:8080/ --rate 500 --assert 'p99<5ms' --max-error-rate 0.1%",
            "tare load http://127.0.0.1:8080/ --search 'p99 < 5ms, errors < 0.1%'",
            "tare load kafka://127.0.0.1:9092/events --rate 1000 --acks all --json-lines",
        ],
    ),
    (
        "origin",
        &[
            "tare origin",
            "tare origin --listen 127.0.0.1:0 --answer 'size=1000&delay=5ms'",
            "tare origin --listen 127.0.0.1:8443 --tls --ca-out ca.pem",
        ],
    ),
    (
        "report",
        &[
            "tare report latest",
            "tare report latest --html report.html",
            "tare report latest --md --require-verdict",
        ],
    ),
    (
        "compare",
        &[
            "tare compare 2026-11-20T10-00-00-sidecar latest",
            "tare compare runs/before runs/after --md",
            "tare compare runs/before runs/after --fail-on differs",
        ],
    ),
    (
        "lab",
        &[
            "tare lab up both-sidecars",
            "tare lab ps",
            "tare lab exec server -- ip address",
            "tare lab down",
        ],
    ),
    (
        "lab up",
        &[
            "tare lab up both-sidecars",
            "tare lab up nginx --experiment my.yaml --level 1000/s",
        ],
    ),
    ("lab ps", &["tare lab ps", "tare lab ps --json"]),
    (
        "lab exec",
        &[
            "tare lab exec server",
            "tare lab exec server -- ip address",
            "tare lab exec --pid 4711 client -- ss -tn",
        ],
    ),
    (
        "lab logs",
        &["tare lab logs server", "tare lab logs server --follow"],
    ),
    (
        "lab down",
        &[
            "tare lab down",
            "tare lab down --pid 4711",
            "tare lab down --all",
        ],
    ),
    ("lab clean", &["tare lab clean"]),
    (
        "kafka",
        &[
            "tare kafka cluster --bootstrap 127.0.0.1:9092",
            "tare kafka clusters add test --bootstrap 127.0.0.1:9092,127.0.0.1:9093",
            "tare kafka topics list --cluster test --unhealthy",
            "tare kafka groups lag orders-reader",
        ],
    ),
    (
        "kafka clusters",
        &[
            "tare kafka clusters list",
            "tare kafka clusters add test --bootstrap 127.0.0.1:9092",
            "tare kafka clusters remove test",
        ],
    ),
    (
        "kafka clusters list",
        &[
            "tare kafka clusters list",
            "tare kafka clusters list --json",
        ],
    ),
    (
        "kafka clusters add",
        &[
            "tare kafka clusters add test --bootstrap 127.0.0.1:9092",
            "tare kafka clusters add prod --bootstrap kafka-1:9093 --cacert ca.pem",
        ],
    ),
    (
        "kafka clusters remove",
        &["tare kafka clusters remove test"],
    ),
    (
        "kafka cluster",
        &[
            "tare kafka cluster --bootstrap 127.0.0.1:9092",
            "tare kafka cluster --cluster test --json",
        ],
    ),
    (
        "kafka brokers",
        &[
            "tare kafka brokers --bootstrap 127.0.0.1:9092",
            "tare kafka brokers --cluster test --json",
        ],
    ),
    (
        "kafka topics",
        &[
            "tare kafka topics list",
            "tare kafka topics describe orders",
            "tare kafka topics create orders --partitions 12 --replicas 3",
            "tare kafka topics delete orders --yes",
        ],
    ),
    (
        "kafka topics list",
        &[
            "tare kafka topics list",
            "tare kafka topics list --unhealthy --json",
        ],
    ),
    (
        "kafka topics describe",
        &[
            "tare kafka topics describe orders",
            "tare kafka topics describe orders payments --json",
        ],
    ),
    (
        "kafka topics create",
        &[
            "tare kafka topics create orders --partitions 12 --replicas 3",
            "tare kafka topics create orders --config retention.ms=86400000",
            "tare kafka topics create orders --assignment 1:2:3,2:3:1 --dry-run",
        ],
    ),
    (
        "kafka topics add-partitions",
        &[
            "tare kafka topics add-partitions orders --partitions 24",
            "tare kafka topics add-partitions orders --partitions 3 --assignment 1:2,2:3",
        ],
    ),
    (
        "kafka topics delete",
        &[
            "tare kafka topics delete orders",
            "tare kafka topics delete orders payments --yes",
        ],
    ),
    (
        "kafka topics config",
        &[
            "tare kafka topics config orders --all",
            "tare kafka topics config orders --set retention.ms=86400000",
        ],
    ),
    (
        "kafka configs",
        &[
            "tare kafka configs topic orders --all",
            "tare kafka configs broker 1",
            "tare kafka configs brokers --set log.retention.hours=24 --dry-run",
        ],
    ),
    (
        "kafka configs topic",
        &[
            "tare kafka configs topic orders --all",
            "tare kafka configs topic orders --set cleanup.policy=compact",
        ],
    ),
    (
        "kafka configs broker",
        &[
            "tare kafka configs broker 1 --all",
            "tare kafka configs broker 1 --unset log.retention.hours",
        ],
    ),
    (
        "kafka configs brokers",
        &[
            "tare kafka configs brokers",
            "tare kafka configs brokers --set log.retention.hours=24 --dry-run",
        ],
    ),
    (
        "kafka configs group",
        &[
            "tare kafka configs group orders-reader",
            "tare kafka configs group orders-reader --all",
        ],
    ),
    (
        "kafka elect",
        &[
            "tare kafka elect --all",
            "tare kafka elect orders",
            "tare kafka elect --partition orders:3",
        ],
    ),
    (
        "kafka reassign",
        &[
            "tare kafka reassign plan orders --out plan.json",
            "tare kafka reassign run --plan plan.json --throttle 10MB --watch",
            "tare kafka reassign cancel",
        ],
    ),
    (
        "kafka reassign plan",
        &[
            "tare kafka reassign plan orders --out plan.json",
            "tare kafka reassign plan --all --drain 3 --out plan.json",
            "tare kafka reassign plan orders --replicas 3 --json",
        ],
    ),
    (
        "kafka reassign run",
        &[
            "tare kafka reassign run --plan plan.json",
            "tare kafka reassign run --plan plan.json --throttle 10MB --watch",
        ],
    ),
    (
        "kafka reassign show",
        &[
            "tare kafka reassign show",
            "tare kafka reassign show --json",
        ],
    ),
    (
        "kafka reassign watch",
        &[
            "tare kafka reassign watch",
            "tare kafka reassign watch --json",
        ],
    ),
    (
        "kafka reassign cancel",
        &[
            "tare kafka reassign cancel",
            "tare kafka reassign cancel --partition orders:3",
        ],
    ),
    (
        "kafka reassign unthrottle",
        &["tare kafka reassign unthrottle"],
    ),
    (
        "kafka groups",
        &[
            "tare kafka groups list",
            "tare kafka groups lag orders-reader",
            "tare kafka groups reset orders-reader --to-earliest --dry-run",
        ],
    ),
    (
        "kafka groups list",
        &["tare kafka groups list", "tare kafka groups list --json"],
    ),
    (
        "kafka groups describe",
        &[
            "tare kafka groups describe orders-reader",
            "tare kafka groups describe orders-reader --json",
        ],
    ),
    (
        "kafka groups lag",
        &[
            "tare kafka groups lag",
            "tare kafka groups lag orders-reader",
        ],
    ),
    (
        "kafka groups delete",
        &[
            "tare kafka groups delete orders-reader",
            "tare kafka groups delete orders-reader --yes",
        ],
    ),
    (
        "kafka groups reset",
        &[
            "tare kafka groups reset orders-reader --to-earliest --dry-run",
            "tare kafka groups reset orders-reader --topic orders --to-time 2026-11-21T09:00:00Z",
            "tare kafka groups reset orders-reader --shift-by -100",
        ],
    ),
    (
        "kafka log-dirs",
        &[
            "tare kafka log-dirs --brokers 1,2",
            "tare kafka log-dirs --topic orders --partitions",
        ],
    ),
    (
        "kafka verify",
        &[
            "tare kafka verify orders",
            "tare kafka verify --partition orders:3 --json",
        ],
    ),
    (
        "kafka metrics",
        &[
            "tare kafka metrics --prometheus 127.0.0.1:9404,127.0.0.1:9405",
            "tare kafka metrics --cluster test --seconds 30",
        ],
    ),
    (
        "doctor",
        &[
            "tare doctor",
            "tare doctor --calibrate",
            "tare doctor --json",
        ],
    ),
    (
        "schema",
        &[
            "tare schema",
            "tare schema experiment",
            "tare schema load-event",
        ],
    ),
    (
        "targets",
        &[
            "tare targets",
            "tare targets --json",
            "tare targets fetch envoy nginx",
        ],
    ),
    (
        "targets fetch",
        &[
            "tare targets fetch envoy nginx",
            "tare targets fetch mine --targets my-targets",
        ],
    ),
    (
        "completions",
        &["tare completions bash", "tare completions zsh"],
    ),
    ("man", &["tare man", "tare man /usr/local/share/man/man1"]),
];

/// Adds the examples to the help of every command, and the exit codes to that of `tare` itself.
pub fn with_examples(command: Command) -> Command {
    let command = add(command, "");
    let examples = command.get_after_help().cloned().unwrap_or_default();
    command.after_long_help(format!("{examples}\n\nExit codes:\n{}", Exit::table()))
}

fn add(command: Command, path: &str) -> Command {
    let command = command.mut_subcommands(|below| {
        let name = below.get_name();
        let path = match path {
            "" => name.to_owned(),
            _ => format!("{path} {name}"),
        };
        add(below, &path)
    });
    match EXAMPLES.iter().find(|(of, _)| *of == path) {
        Some((_, lines)) => command.after_help(format!("Examples:\n  {}", lines.join("\n  "))),
        None => command,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use clap::ArgMatches;

    use crate::commands::load::coming_from::words;

    use super::*;

    /// The example lines in the help of every command that users see, by its words.
    fn shown(command: &Command, path: &str, found: &mut BTreeMap<String, Vec<String>>) {
        let help = command.get_after_help().map(ToString::to_string);
        let help = help.unwrap_or_default();
        let lines = help.lines().map(str::trim);
        let lines = lines.filter(|line| line.starts_with("tare"));
        found.insert(path.to_owned(), lines.map(str::to_owned).collect());
        for below in command.get_subcommands() {
            if !below.is_hide_set() {
                let path = format!("{path} {}", below.get_name());
                shown(below, path.trim(), found);
            }
        }
    }

    fn all_shown() -> BTreeMap<String, Vec<String>> {
        let mut found = BTreeMap::new();
        shown(&crate::command(), "", &mut found);
        found
    }

    /// The subcommands that a command line was parsed into.
    fn chosen(matches: &ArgMatches) -> String {
        let mut path = String::new();
        let mut level = Some(matches);
        while let Some((name, below)) = level.and_then(ArgMatches::subcommand) {
            path = format!("{path} {name}");
            level = Some(below);
        }
        path.trim().to_owned()
    }

    #[test]
    fn every_example_in_the_help_is_a_command_that_is_understood() {
        for (path, lines) in all_shown() {
            assert!((1..=4).contains(&lines.len()), "{path}: {lines:?}");
            for line in lines {
                let matches = crate::command().try_get_matches_from(words(&line));
                let matches = matches.unwrap_or_else(|error| panic!("{line}\n{error}"));
                let chosen = chosen(&matches);
                assert!(chosen.starts_with(&path), "{line} is no example of {path}");
            }
        }
    }

    #[test]
    fn no_example_is_of_a_command_that_does_not_exist() {
        let found = all_shown();
        let of = EXAMPLES.iter().map(|(of, _)| *of);
        let lost: Vec<&str> = of.filter(|of| !found.contains_key(*of)).collect();
        assert!(lost.is_empty(), "{lost:?}");
    }

    #[test]
    fn the_long_help_ends_with_the_exit_codes() {
        let mut command = crate::command().term_width(200);
        let help = command.render_long_help().to_string();
        assert!(
            help.trim_end().ends_with(Exit::table().trim_end()),
            "{help}"
        );
        assert!(help.contains("Examples:\n  tare run"), "{help}");
    }
}
