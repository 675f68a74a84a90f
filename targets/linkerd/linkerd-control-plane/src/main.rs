//! The command line of the Linkerd control plane.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use linkerd_control_plane::{VERSION, run, write_identity};

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
        (Some(Command::Identity { name, dir }), _) => write_identity(&name, &dir),
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
