//! `tare kafka elect`: preferred leader election.

use std::collections::BTreeMap;
use std::process::ExitCode;

use tare_kafka_admin::admin::Admin;

use crate::exit::{Exit, bad_input};
use crate::screen::print;

use super::output;
use super::{CommonArgs, classify_admin_error};

/// Arguments of `tare kafka elect`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Topics, with all their partitions.
    #[arg(value_name = "TOPIC", required_unless_present_any = ["all", "partition"])]
    topics: Vec<String>,
    /// Single partition, `TOPIC:NUMBER`; may be given several times.
    #[arg(long, value_name = "TOPIC:NUMBER")]
    partition: Vec<String>,
    /// All partitions of the cluster.
    #[arg(long, conflicts_with_all = ["topics", "partition"])]
    all: bool,
}

/// Runs the elections.
pub fn run(admin: &mut Admin, args: &Args, common: &CommonArgs) -> anyhow::Result<ExitCode> {
    let mut named: BTreeMap<String, Vec<i32>> = BTreeMap::new();
    for words in &args.partition {
        let (topic, number) = partition(words)?;
        named.entry(topic).or_default().push(number);
    }
    let topics = admin
        .topics_named(&args.topics)
        .map_err(classify_admin_error)?;
    for topic in topics {
        let all = topic.partitions.iter().map(|one| one.partition);
        named.entry(topic.name.clone()).or_default().extend(all);
    }
    let which = (!args.all).then_some(&named);
    let outcomes = admin.elect_preferred(which).map_err(classify_admin_error)?;
    if outcomes.is_empty() && !common.json {
        print("every partition is led by its preferred leader already\n")?;
    }
    output::outcomes(&outcomes, "led by its preferred leader now", common)?;
    Ok(Exit::Done.into())
}

/// Parses `TOPIC:NUMBER`.
pub fn partition(words: &str) -> anyhow::Result<(String, i32)> {
    let parts = words.rsplit_once(':');
    parts
        .and_then(|(topic, number)| Some((topic.to_owned(), number.parse().ok()?)))
        .ok_or_else(|| bad_input(format!("{words:?} is no partition: write TOPIC:NUMBER")))
}
