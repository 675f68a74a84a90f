//! Programs of Tare beside Istio's control plane: an empty Kubernetes API, and changes with the time until all proxies have them.

mod api;
mod change;
mod objects;
mod tokens;

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::Context;
use clap::{Parser, Subcommand};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use api::Api;
use change::ChangeArgs;
use tokens::Tokens;

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
        Action::KubernetesApi(args) => serve(&args),
        Action::Change(args) => change::run(&args),
    }
}

fn serve(args: &ApiArgs) -> anyhow::Result<()> {
    let tokens = Tokens::read(&args.tokens)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    runtime.block_on(async {
        let listener = TcpListener::bind(args.listen)
            .await
            .with_context(|| format!("cannot listen on {}", args.listen))?;
        let mut stop = signal(SignalKind::terminate()).context("cannot listen for SIGTERM")?;
        let app = Api::new(tokens).router();
        // Watches never end by themselves, so open connections are dropped.
        tokio::select! {
            served = async { axum::serve(listener, app).await } => served.context("the server ended"),
            _ = stop.recv() => Ok(()),
        }
    })
}
