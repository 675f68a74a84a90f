//! `tare kafka`: administration of Kafka clusters.

mod ask;
mod cluster;
mod clusters;
mod configs;
mod connect;
mod elect;
mod groups;
mod log_dirs;
mod metrics;
mod page;
mod reassign;
pub mod shapes;
mod topics;
mod verify;

use std::process::ExitCode;

use tare_kafka::admin::AdminError;
use tare_kafka::link::LinkError;

use crate::exit::bad_input;

/// Arguments of `tare kafka`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    connection: connect::ConnectionArgs,
    #[command(flatten)]
    manner: Manner,
    /// What to do.
    #[command(subcommand)]
    action: Action,
}

/// How every command behaves.
#[derive(Debug, Clone, clap::Args)]
pub struct Manner {
    /// Print JSON (its shape: `tare schema kafka`).
    #[arg(long, global = true)]
    json: bool,
    /// Do it without asking.
    #[arg(long, short = 'y', global = true)]
    yes: bool,
}

/// What to do with a cluster.
#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Keep names of clusters, with how to reach them.
    Clusters(clusters::Args),
    /// Show a cluster at a glance: brokers, controller, what is wrong.
    Cluster,
    /// Show the brokers: racks, listeners, what they have.
    Brokers,
    /// Show, create, grow, delete and configure topics.
    Topics(topics::Args),
    /// Show or change the configuration of a topic, a broker, all brokers or a group.
    Configs(configs::Args),
    /// Have the preferred leaders lead again.
    Elect(elect::Args),
    /// Move partitions to other brokers: plan, run, watch, cancel.
    Reassign(reassign::Args),
    /// Show consumer groups and how far they are behind; delete them, set their offsets.
    Groups(groups::Args),
    /// Show what lies on the disks of the brokers.
    LogDirs(log_dirs::Args),
    /// Compare the replicas of partitions, batch by batch.
    Verify(verify::Args),
    /// Show what brokers count: traffic, requests by phase, topics, heap; read by Jolokia, Prometheus or JMX.
    Metrics(metrics::Args),
}

/// Does it.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let Args {
        connection,
        manner,
        action,
    } = args;
    let admin = || connection.connect();
    match action {
        Action::Clusters(args) => clusters::run(&args, &connection, &manner),
        Action::Metrics(args) => metrics::run(&args, &connection, &manner),
        Action::Cluster => cluster::cluster(&mut admin()?, &manner),
        Action::Brokers => cluster::brokers(&mut admin()?, &manner),
        Action::Topics(args) => topics::run(&mut admin()?, &args, &manner),
        Action::Configs(args) => configs::run(&mut admin()?, &args, &manner),
        Action::Elect(args) => elect::run(&mut admin()?, &args, &manner),
        Action::Reassign(args) => reassign::run(&mut admin()?, &args, &manner),
        Action::Groups(args) => groups::run(&mut admin()?, &args, &manner),
        Action::LogDirs(args) => log_dirs::run(&mut admin()?, &args, &manner),
        Action::Verify(args) => verify::run(&mut admin()?, &args, &manner),
    }
}

/// What was asked wrongly is the input's fault; what the cluster cannot do is not.
fn input_or_cluster(error: AdminError) -> anyhow::Error {
    match error.is_input() {
        true => bad_input(error),
        false => match error {
            AdminError::Link(error) => wrong_or_away(error),
            other => other.into(),
        },
    }
}

/// A file or an address that cannot be used is the input's fault.
fn wrong_or_away(error: LinkError) -> anyhow::Error {
    match error {
        LinkError::File { .. } | LinkError::NoAddress | LinkError::NoBroker { .. } => {
            bad_input(error)
        }
        other => other.into(),
    }
}
