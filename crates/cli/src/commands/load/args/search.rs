//! Arguments of the search for the highest rate that meets an objective, and of the curve of latency over load.

use std::path::PathBuf;
use std::str::FromStr;

use tare_rate_search::objective::Objective;
use tare_record::units::{Period, Share};

/// The rates of a curve.
#[derive(Debug, Clone, PartialEq)]
pub enum CurveRates {
    /// From what the server answers at most.
    Auto,
    /// These.
    These(Vec<f64>),
}

impl FromStr for CurveRates {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "auto" {
            return Ok(CurveRates::Auto);
        }
        let one = |text: &str| {
            let rate = text.trim().parse::<f64>().ok();
            let rate = rate.filter(|rate| *rate > 0.0 && *rate <= 10_000_000.0);
            rate.ok_or_else(|| format!("{text:?} is not a rate: write --curve=100,200,400"))
        };
        let mut rates = text.split(',').map(one).collect::<Result<Vec<_>, _>>()?;
        rates.sort_by(f64::total_cmp);
        rates.dedup();
        Ok(CurveRates::These(rates))
    }
}

/// A search instead of one load.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Search for the highest rate")]
#[group(id = "search_args")]
pub struct SearchArgs {
    /// Search for the highest constant rate within an objective, such as 'p99 < 5ms, errors < 0.1%': limits of p50 to p99.99, max,
    /// mean and errors (a share or a count). The rate itself must be reached, too.
    #[arg(
        long,
        value_name = "OBJECTIVE",
        conflicts_with_all = ["rate", "steps", "replay", "clients", "count", "duration", "hlog", "csv", "curve"]
    )]
    pub search: Option<Objective>,
    /// Measure the latency curve: at these rates, or at rates derived from the maximum throughput. Prints table, chart and knee;
    /// --csv and --svg write files.
    #[arg(
        long,
        value_name = "RATE,…",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "auto",
        conflicts_with_all = ["rate", "steps", "replay", "clients", "count", "duration", "hlog", "search"]
    )]
    pub curve: Option<CurveRates>,
    /// Number of windows per rate of the curve, in shuffled order.
    #[arg(long, value_name = "N", default_value_t = 3, requires = "curve", value_parser = clap::value_parser!(u32).range(1..=99))]
    pub repeats: u32,
    /// Write the curve to this SVG file.
    #[arg(long, value_name = "FILE", requires = "curve")]
    pub svg: Option<PathBuf>,
    /// First rate of the search, per second; higher where the objective's percentile needs more responses.
    #[arg(
        long,
        value_name = "PER_SECOND",
        default_value_t = 100.0,
        requires = "search"
    )]
    pub min_rate: f64,
    /// Highest rate of the search, per second.
    #[arg(
        long,
        value_name = "PER_SECOND",
        default_value_t = 1_000_000.0,
        requires = "search"
    )]
    pub max_rate: f64,
    /// Relative tolerance of the result.
    #[arg(long, value_name = "SHARE", default_value = "5%", requires = "search")]
    pub tolerance: Share,
    /// Number of probes of the result, and of the lowest failed rate; the majority decides.
    #[arg(long, value_name = "N", default_value_t = 3, requires = "search", value_parser = clap::value_parser!(u32).range(1..=99))]
    pub confirm: u32,
    /// Minimum duration of a probe; longer where the objective's percentile needs it.
    #[arg(long, value_name = "TIME", default_value = "3s")]
    pub probe: Period,
    /// Pause between two probes.
    #[arg(long, value_name = "TIME", default_value = "1s")]
    pub cooldown: Period,
    /// Maximum duration of the search.
    #[arg(long, value_name = "TIME", default_value = "10m", requires = "search")]
    pub search_time: Period,
}
