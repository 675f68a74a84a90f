//! The arguments of `tare load`, in groups.

mod grpc;
mod kafka;
mod network;
mod options;
mod output;
mod pacing;
mod protocol;
mod request;
mod search;

use tare_load::protocols;

pub use grpc::GrpcArgs;
pub use kafka::{ConsumeArgs, KafkaArgs, PayloadDelimiter};
pub use network::NetworkArgs;
pub use options::OptionArgs;
pub use output::OutputArgs;
pub use pacing::{PacingArgs, RateArg};
pub use protocol::{MongodbArgs, ProtocolArgs, TcpArgs, TlsArgs};
pub use request::RequestArgs;
pub use search::{CurveRates, SearchArgs};

/// Help of the target URL, with the schemes of all protocols.
fn url_help() -> String {
    let schemes = protocols::ALL.into_iter().flat_map(|one| one.schemes);
    let forms = schemes.map(|scheme| format!("{}://{}", scheme.name, scheme.rest));
    format!(
        "Target URL: {}. Loopback and private addresses only, unless --allow-public-target. Optional with a file of requests \
         with URLs",
        forms.collect::<Vec<_>>().join(", ")
    )
}

/// Arguments of `tare load`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Target URL.
    #[arg(help = url_help())]
    pub url: Option<String>,
    #[command(flatten)]
    pub pacing: PacingArgs,
    #[command(flatten)]
    pub protocol: ProtocolArgs,
    #[command(flatten)]
    pub network: NetworkArgs,
    #[command(flatten)]
    pub tls: TlsArgs,
    #[command(flatten)]
    pub request: RequestArgs,
    #[command(flatten)]
    pub grpc: GrpcArgs,
    #[command(flatten)]
    pub tcp: TcpArgs,
    #[command(flatten)]
    pub kafka: KafkaArgs,
    #[command(flatten)]
    pub mongodb: MongodbArgs,
    #[command(flatten)]
    pub options: OptionArgs,
    #[command(flatten)]
    pub consume: ConsumeArgs,
    #[command(flatten)]
    pub search: SearchArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    /// Seed of the random number generators.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Allow public addresses (neither loopback nor private): only with the operator's consent.
    #[arg(long)]
    pub allow_public_target: bool,
}
