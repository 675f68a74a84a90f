//! `tare kafka log-dirs`: log directories of the brokers, with sizes.

use std::process::ExitCode;

use tare_kafka_admin::admin::Admin;

use crate::exit::Exit;
use crate::screen::print;

use super::output::{self, bytes, count, maybe};
use super::{CommonArgs, classify_admin_error};

/// Arguments of `tare kafka log-dirs`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Broker IDs, separated by commas [default: all].
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    brokers: Vec<i32>,
    /// Topic; may be given several times [default: all].
    #[arg(long = "topic", value_name = "TOPIC")]
    topics: Vec<String>,
    /// Show each replica, the largest first.
    #[arg(long)]
    partitions: bool,
}

/// Prints the log directories.
pub fn run(admin: &mut Admin, args: &Args, common: &CommonArgs) -> anyhow::Result<ExitCode> {
    let brokers = (!args.brokers.is_empty()).then_some(&args.brokers[..]);
    let mut dirs = admin.log_dirs(brokers).map_err(classify_admin_error)?;
    if !args.topics.is_empty() {
        for dir in &mut dirs {
            dir.partitions
                .retain(|one| args.topics.contains(&one.topic));
        }
    }
    if common.json {
        output::json(&dirs)?;
        return Ok(Exit::Done.into());
    }
    for dir in &dirs {
        let size: i64 = dir.partitions.iter().map(|one| one.size_bytes).sum();
        print(&format!(
            "broker {} · {}\n{} in {} · {} free of {}\n",
            dir.broker,
            dir.path,
            bytes(size),
            count(dir.partitions.len(), "replica"),
            maybe(dir.usable_bytes.map(bytes)),
            maybe(dir.total_bytes.map(bytes)),
        ))?;
        if let Some(refusal) = &dir.refusal {
            print(&format!("  cannot be used: {refusal}\n"))?;
        }
        let mut rows: Vec<(String, i64, i64)> = Vec::new();
        for one in &dir.partitions {
            let name = match args.partitions {
                true => format!("{}-{}", one.topic, one.partition),
                false => one.topic.clone(),
            };
            match rows.last_mut() {
                Some(last) if last.0 == name => {
                    last.1 += one.size_bytes;
                    last.2 = last.2.max(one.lag);
                }
                _ => rows.push((name, one.size_bytes, one.lag)),
            }
        }
        rows.sort_by_key(|(name, size, _)| (-size, name.clone()));
        let rows = rows
            .into_iter()
            .map(|(name, size, lag)| vec![name, bytes(size), lag.to_string()]);
        let first = match args.partitions {
            true => "partition",
            false => "topic",
        };
        output::table(&[first, "size #", "lag #"], rows)?;
    }
    Ok(Exit::Done.into())
}
