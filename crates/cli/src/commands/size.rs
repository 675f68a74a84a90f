//! `tare size`: starts the program `tare-history`, which sizes the parts of runs and of a topology.

use std::path::PathBuf;
use std::process::ExitCode;

use tare_experiment::find::Library;
use tare_experiment::sizing::read_topology;
use tare_record::api::{HistoryCommand, SizeOptions};

use crate::arguments::RunsArgs;
use crate::commands::replace_by;
use crate::exit::bad_input;
use crate::runs::find;
use crate::screen::screen_options;

/// Arguments of `tare size`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Runs of one experiment on one machine: `latest`, folders, or names in the directory of runs.
    #[arg(required = true, value_name = "RUN")]
    chosen: Vec<String>,
    /// File of a topology: services and the requests per second between them, or a workload.
    #[arg(long = "for", value_name = "FILE")]
    topology: Option<PathBuf>,
    /// Latency objective: p50, p90, p99 or p99.9.
    #[arg(long, value_name = "CONDITION", default_value = "p99 < 10ms")]
    objective: String,
    #[command(flatten)]
    runs: RunsArgs,
    /// Write a page with charts to this file.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print the result as JSON instead of text.
    #[arg(long)]
    json: bool,
}

/// Replaces this process by `tare-history`.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let runs = args.chosen.iter().map(|name| find(name, &args.runs.out));
    let home = tare_lab::home::home().map_err(bad_input)?;
    let library = Library::in_directory(&home, tare_load::protocols::infos());
    let topology = args
        .topology
        .map(|file| read_topology(&file, &library.catalog))
        .transpose()
        .map_err(bad_input)?;
    let options = SizeOptions {
        runs: runs.collect::<anyhow::Result<_>>()?,
        topology,
        objective: args.objective,
        json: args.json,
        html: args.html,
        screen: screen_options(),
    };
    match replace_by("history", &HistoryCommand::Size(options))? {}
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;

    use tare_record::api::SizedTopology;

    use super::*;

    fn read_text(text: &str) -> Result<SizedTopology, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("topology.yaml");
        std::fs::write(&path, text).unwrap();
        let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let library = Library::in_directory(&home, tare_load::protocols::infos());
        read_topology(&path, &library.catalog).map_err(|problems| problems.to_string())
    }

    #[test]
    fn the_rates_of_a_workload_follow_from_its_requests() {
        let text = "topology: emoji\nworkload: {use: emojivoto, rate: 100}\n";
        let topology = read_text(text).unwrap();
        let rates = topology.edges.iter();
        let rates: BTreeMap<(&str, &str), f64> = rates
            .map(|edge| ((edge.from.as_str(), edge.to.as_str()), edge.rate_per_s))
            .collect();
        assert_eq!(rates[&("client", "web")], 100.0);
        assert_eq!(rates[&("web", "emoji")], 100.0);
        assert_eq!(rates[&("web", "voting")], 50.0);
        assert_eq!(topology.services.len(), 3);
    }

    #[test]
    fn a_session_and_a_mixture_of_both_forms_are_refused_with_the_next_step() {
        let session = read_text("topology: a\nworkload: {use: acmeair, rate: 100}\n").unwrap_err();
        assert!(session.contains("is a session"), "{session}");
        let both = "topology: a\nservices: {web: {}}\nworkload: {use: emojivoto, rate: 100}\n";
        let both = read_text(both).unwrap_err();
        assert!(both.contains("leave out the others"), "{both}");
    }

    #[test]
    fn the_topology_of_the_document_is_valid() {
        let page = include_str!("../../../../docs/SIZING.md");
        let blocks = page.split("```yaml\n").skip(1);
        let blocks: Vec<&str> = blocks
            .map(|rest| rest.split("```").next().unwrap())
            .collect();
        assert_eq!(blocks.len(), 1);
        let topology = read_text(blocks[0]).unwrap();
        assert_eq!(topology.services.len(), 3);
        assert_eq!(topology.edges[1].connections, 32);
    }
}
