//! An empty Kubernetes API for a control plane that runs without a cluster: nothing is listed, tokens are reviewed.

mod api;
mod objects;
mod tokens;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::Parser;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use api::Api;
use tokens::Tokens;

/// An empty Kubernetes API: lists are empty, watches stay silent, created objects are kept in memory, tokens are reviewed.
#[derive(Debug, Parser)]
#[command(version)]
struct Args {
    /// Address to listen on; plain HTTP.
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: SocketAddr,
    /// Accepted tokens, a JSON file: `[{"token": …, "namespace": …, "account": …, "pod": …}]`.
    #[arg(long, value_name = "FILE")]
    tokens: PathBuf,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("kubernetes-api: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> anyhow::Result<()> {
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
