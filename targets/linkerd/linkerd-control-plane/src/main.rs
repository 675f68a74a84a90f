//! A Linkerd control plane for a fixed topology: answers the proxies of a mesh by Linkerd's public API.
//!
//! Nothing here is of a cluster: identities, services and endpoints are in a file that is read once.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use axum::Router;
use clap::{Parser, Subcommand};
use serving::ListenArgs;

use crate::authority::Authority;
use crate::config::Config;
use crate::error::StartError;
use crate::plane::Plane;

mod authority;
mod certify;
mod config;
mod destination;
mod error;
mod events;
mod inbound;
mod listener;
mod outbound;
mod plane;
#[cfg(test)]
mod tests;
mod watch;
mod workload_files;

/// Version of this program and of the API.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), ", API linkerd2-proxy-api 0.20.0");

/// Answers Linkerd's proxies: certificates, policies, destinations.
#[derive(Debug, Parser)]
#[command(version = VERSION, subcommand_negates_reqs = true, args_conflicts_with_subcommands = true)]
struct Cli {
    /// What it answers, in JSON.
    #[arg(long, value_name = "FILE", required = true)]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: Option<Command>,
}

/// Everything else than serving.
#[derive(Debug, Subcommand)]
enum Command {
    /// Writes key.p8 and csr.der, with which a proxy asks for its certificate.
    Identity {
        /// The proxy's identity: SERVICEACCOUNT.NAMESPACE.serviceaccount.identity.linkerd.TRUST-DOMAIN.
        #[arg(long)]
        name: String,
        /// The proxy's LINKERD2_PROXY_IDENTITY_DIR.
        #[arg(long)]
        dir: PathBuf,
    },
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = match (cli.command, cli.config) {
        (Some(Command::Identity { name, dir }), _) => workload_files::write(&name, &dir),
        (None, Some(config)) => run(&config),
        // The parser has one of them.
        (None, None) => Ok(()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            serving::say(&format!("linkerd-control-plane: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn run(file: &std::path::Path) -> Result<(), StartError> {
    let config = Config::read(file)?;
    let authority = Authority::read(&config.ca)?;
    let tls = authority.own_tls(&config.name, &config.ca)?;
    let how = ListenArgs {
        listen: vec![],
        admin: config.admin,
        connections: 0,
        workers: 1,
        // Watches never end by themselves.
        grace: 0,
    };
    how.runtime()?.block_on(async {
        let listener = listener::bind(config.listen).await?;
        let plane = Arc::new(Plane::new(config, authority));
        let admin = serving::admin::page(Arc::clone(&plane));
        let proxies = listener::serve(listener, tls, plane);
        serving::serve_until_signal("linkerd-control-plane", &how, Router::new(), admin, proxies)
            .await
    })
}
