//! How TLS is spoken.

/// The TLS of a load.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "TLS")]
pub struct TlsArgs {}
