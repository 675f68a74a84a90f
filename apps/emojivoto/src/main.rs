//! A small application of three services, for measurements of calls between services: users vote for emojis.
//!
//! `web` serves users over HTTP and calls `emoji` (the table of emojis) and `voting` (counts) over gRPC.

use std::future::pending;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use serving::ListenArgs;

use crate::emoji::EmojiService;
use crate::error::StartError;
use crate::faults::Faults;
use crate::service::{Instrumented, Service};
use crate::votes::Votes;
use crate::voting::VotingService;
use crate::web::{Backends, Web};

mod emoji;
mod emoji_table;
mod error;
mod faults;
mod messages;
mod metrics;
mod rpc;
mod service;
mod votes;
mod voting;
mod web;

/// Vote for emojis: a web front and two gRPC services behind it.
#[derive(Debug, Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    service: Which,
}

/// The services.
#[derive(Debug, Subcommand)]
enum Which {
    /// The page and its API, over HTTP/1.1.
    Web {
        #[command(flatten)]
        listening: ListenArgs,
        #[command(flatten)]
        backends: Backends,
        #[command(flatten)]
        faults: FaultArgs,
    },
    /// Which emojis there are, over gRPC.
    Emoji {
        #[command(flatten)]
        listening: ListenArgs,
        #[command(flatten)]
        faults: FaultArgs,
    },
    /// Counts votes, over gRPC.
    Voting {
        #[command(flatten)]
        listening: ListenArgs,
        #[command(flatten)]
        faults: FaultArgs,
        /// Votes that every emoji begins with.
        #[arg(long, value_name = "N", default_value_t = 0)]
        votes: u64,
    },
}

/// Faults on purpose.
#[derive(Debug, Args)]
struct FaultArgs {
    /// Share of requests that fail, between 0 and 1, spread evenly.
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    fail_share: f64,
    /// Microseconds to wait before every answer.
    #[arg(long, value_name = "US", default_value_t = 0)]
    delay_us: u64,
}

impl FaultArgs {
    fn faults(&self) -> Faults {
        Faults::new(self.fail_share, Duration::from_micros(self.delay_us))
    }
}

fn main() -> ExitCode {
    match run(Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            serving::say(&format!("emojivoto: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn run(cli: Cli) -> Result<(), StartError> {
    let (Which::Web { listening, .. }
    | Which::Emoji { listening, .. }
    | Which::Voting { listening, .. }) = &cli.service;
    let runtime = listening.runtime()?;
    runtime.block_on(serve(cli.service))
}

async fn serve(service: Which) -> Result<(), StartError> {
    match service {
        Which::Web {
            listening,
            backends,
            faults,
        } => {
            let web = Web::new(&backends, faults.faults())?;
            let admin = serving::admin::page(web.clone());
            serving::serve_until_signal("web", &listening, web.router(), admin, pending()).await
        }
        Which::Emoji { listening, faults } => {
            let emoji = Instrumented::new(EmojiService, faults.faults());
            serve_rpc("emoji", &listening, emoji).await
        }
        Which::Voting {
            listening,
            faults,
            votes,
        } => {
            let service = VotingService::new(Votes::starting_with(votes));
            let voting = Instrumented::new(service, faults.faults());
            serve_rpc("voting", &listening, voting).await
        }
    }
}

async fn serve_rpc<S: Service>(
    name: &str,
    listening: &ListenArgs,
    service: Arc<Instrumented<S>>,
) -> Result<(), StartError> {
    let admin = serving::admin::page(service.clone());
    let router = service.router().await;
    serving::serve_until_signal(name, listening, router, admin, pending()).await
}
