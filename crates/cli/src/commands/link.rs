//! `tare link`: emulates the links between the sites of a test bed; started by an environment, not by users.

use std::io::BufReader;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use tare_net::link::{LinkOrders, serve};
use tare_schema::named::{GIVEN_BYTES_MAX, read_given};

use crate::exit::{Exit, bad_input};

/// Arguments of `tare link`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Links (JSON).
    #[arg(long, value_name = "FILE")]
    orders: PathBuf,
    /// Control channel: `unix:PATH`, or `-` for the standard streams.
    #[arg(long, value_name = "TO")]
    connect: String,
}

/// Runs the links until the conductor closes its end.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let text = read_given(&args.orders, GIVEN_BYTES_MAX).map_err(anyhow::Error::msg)?;
    let orders: LinkOrders = serde_json::from_slice(&text)
        .map_err(|error| bad_input(format!("{}: {error}", args.orders.display())))?;
    match args.connect.strip_prefix("unix:") {
        Some(path) => {
            let stream = UnixStream::connect(path)
                .with_context(|| format!("cannot reach the conductor at {path}"))?;
            let asked = stream
                .try_clone()
                .context("cannot read from the conductor")?;
            serve(&orders, BufReader::new(asked), stream)?;
        }
        None if args.connect == "-" => {
            serve(&orders, std::io::stdin().lock(), std::io::stdout())?;
        }
        None => {
            return Err(bad_input(format!(
                "--connect {}: write unix:PATH or -",
                args.connect
            )));
        }
    }
    Ok(Exit::Done.into())
}
