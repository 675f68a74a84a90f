//! When requests start, how long, and over how many connections.

use std::str::FromStr;
use std::time::Duration;

use tare_schema::units::Period;

/// How long to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopping {
    /// So long.
    After(Period),
    /// Until Ctrl-C.
    Interrupted,
}

impl FromStr for Stopping {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "forever" {
            return Ok(Stopping::Interrupted);
        }
        let period: Period = text.parse().map_err(|e| format!("{e}, or forever"))?;
        if period.0 == Duration::ZERO {
            return Err("nothing can be measured in no time: write 10s, or forever".into());
        }
        Ok(Stopping::After(period))
    }
}

/// Pace, length and width of a load.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Pace and length")]
pub struct PacingArgs {
    /// Requests per second, open loop: starts are fixed in advance, so a slow answer delays no other request.
    #[arg(short, long, value_name = "PER_SECOND", conflicts_with = "clients")]
    pub rate: Option<f64>,
    /// Clients in a closed loop: each sends its next request when its last one is answered. Neither --rate nor --clients: as fast as the connections carry it.
    #[arg(short = 'c', long, value_name = "N")]
    pub clients: Option<u32>,
    /// Pause of a client between an answer and its next request.
    #[arg(long, value_name = "TIME", default_value = "0", requires = "clients")]
    pub think: Period,
    /// How long to measure: 10s, 2m; `forever` until Ctrl-C.
    #[arg(
        short,
        long,
        value_name = "TIME",
        default_value = "10s",
        conflicts_with = "count"
    )]
    pub duration: Stopping,
    /// Measure this many requests instead.
    #[arg(short = 'n', long, value_name = "N")]
    pub count: Option<u64>,
    /// Send, but do not count, for so long before.
    #[arg(long, value_name = "TIME", default_value = "0")]
    pub warmup: Period,
    /// Connections [default: 50, or one per client].
    #[arg(short = 'C', long, value_name = "N")]
    pub connections: Option<u32>,
    /// Worker threads.
    #[arg(short, long, value_name = "N", default_value_t = 1)]
    pub workers: u32,
    /// Limit of one request, of one connection attempt, and of the wait for answers at the end.
    #[arg(short, long, value_name = "TIME", default_value = "10s")]
    pub timeout: Period,
    /// Sleep up to each start instead of spinning through the last microseconds (at most 10 % of a core).
    #[arg(long)]
    pub no_spin: bool,
}
