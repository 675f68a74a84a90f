//! The command line of the programs beside Istio's control plane.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Parser, Subcommand};
use istio_support::change::{self, ChangeArgs};
use istio_support::serve;

/// Programs beside Istio's control plane.
#[derive(Debug, Parser)]
#[command(version)]
struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// An empty Kubernetes API: lists are empty, watches stay silent, created objects are kept in memory, tokens are reviewed.
    KubernetesApi(ApiArgs),
    /// Changes an object, and waits until every connected proxy has acknowledged its new configuration.
    Change(ChangeArgs),
}

#[derive(Debug, clap::Args)]
struct ApiArgs {
    /// Address to listen on; plain HTTP.
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: SocketAddr,
    /// Accepted tokens, a JSON file: `[{"token": …, "namespace": …, "account": …, "pod": …}]`.
    #[arg(long, value_name = "FILE")]
    tokens: PathBuf,
}

fn main() -> anyhow::Result<()> {
    match Args::parse().action {
        Action::KubernetesApi(args) => serve(args.listen, &args.tokens),
        Action::Change(args) => change::run(&args),
    }
}
