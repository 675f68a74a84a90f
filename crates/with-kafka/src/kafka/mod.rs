//! `tare kafka`: administration of Kafka clusters.

mod cluster;
mod clusters;
mod configs;
mod connect;
mod groups;
mod metrics;
mod output;
pub mod printed;
mod reassign;
mod topics;
mod verify;

use std::process::ExitCode;

use tare_kafka_admin::admin::AdminError;
use tare_kafka_admin::client::ClientError;

use tare_cli::exit::{Exit, bad_input};

/// Arguments of `tare kafka`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    connection: connect::ConnectionArgs,
    #[command(flatten)]
    common: CommonArgs,
    /// What to do.
    #[command(subcommand)]
    action: Action,
}

/// How every command behaves.
#[derive(Debug, Clone, clap::Args)]
pub struct CommonArgs {
    /// Print JSON (schema: `tare schema kafka`).
    #[arg(long, global = true)]
    json: bool,
    /// Skip the confirmation.
    #[arg(long, short = 'y', global = true)]
    yes: bool,
}

/// What to do with a cluster.
#[derive(Debug, clap::Subcommand)]
enum Action {
    /// List, add and remove named clusters with their connection settings.
    Clusters(clusters::Args),
    /// Show a summary of a cluster: brokers, controller, problems.
    Cluster,
    /// Show brokers with racks, replicas and listeners.
    Brokers,
    /// Show, create, delete and configure topics, and add partitions.
    Topics(topics::Args),
    /// Show or change the configuration of a topic, a broker, all brokers or a group.
    Configs(configs::Args),
    /// Trigger preferred leader election.
    Elect(cluster::ElectArgs),
    /// Reassign partitions to other brokers: plan, run, watch, cancel.
    Reassign(reassign::Args),
    /// Show consumer groups and their lag, delete groups, reset offsets.
    Groups(groups::Args),
    /// Show the log directories of brokers, with sizes.
    LogDirs(cluster::LogDirsArgs),
    /// Compare the replicas of partitions, batch by batch.
    Verify(verify::Args),
    /// Show broker metrics: traffic, requests by phase, topics, heap; read by Jolokia, Prometheus or JMX.
    Metrics(metrics::Args),
}

/// Runs the subcommand.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    run_action(args).map(ExitCode::from).map_err(with_exit)
}

/// Marks errors of the input; all others are those of the environment.
fn with_exit(error: anyhow::Error) -> anyhow::Error {
    let error: anyhow::Error = match error.downcast::<AdminError>() {
        Ok(AdminError::Client(error)) => error.into(),
        Ok(error) if error.is_input() => return bad_input(error),
        Ok(error) => return error.into(),
        Err(error) => error,
    };
    match error.downcast::<ClientError>() {
        // Unusable files and addresses.
        Ok(error @ (ClientError::File { .. } | ClientError::NoAddress)) => bad_input(error),
        Ok(error) => error.into(),
        Err(error) => error,
    }
}

fn run_action(args: Args) -> anyhow::Result<Exit> {
    let Args {
        connection,
        common,
        action,
    } = args;
    let admin = || connection.connect();
    match action {
        Action::Clusters(args) => clusters::run(&args, &connection, &common)?,
        Action::Metrics(args) => metrics::run(&args, &connection, &common)?,
        Action::Cluster => cluster::cluster(&mut admin()?, &common)?,
        Action::Brokers => cluster::brokers(&mut admin()?, &common)?,
        Action::Topics(args) => topics::run(&mut admin()?, &args, &common)?,
        Action::Configs(args) => configs::run(&mut admin()?, &args, &common)?,
        Action::Elect(args) => cluster::elect(&mut admin()?, &args, &common)?,
        Action::Reassign(args) => return reassign::run(&mut admin()?, &args, &common),
        Action::Groups(args) => groups::run(&mut admin()?, &args, &common)?,
        Action::LogDirs(args) => cluster::log_dirs(&mut admin()?, &args, &common)?,
        Action::Verify(args) => return verify::run(&mut admin()?, &args, &common),
    }
    Ok(Exit::Done)
}
