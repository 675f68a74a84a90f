//! Arguments of pacing, duration and connections.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::ValueEnum;
use tare_schema::load::{RateStep, Sched, Spin, ThinkDistribution};
use tare_schema::units::Period;

/// Value of --duration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DurationArg {
    /// This long.
    After(Period),
    /// Until Ctrl-C.
    Interrupted,
}

impl FromStr for DurationArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "forever" {
            return Ok(DurationArg::Interrupted);
        }
        let period: Period = text.parse().map_err(|e| format!("{e}, or forever"))?;
        if period.0 == Duration::ZERO {
            return Err("nothing can be measured in no time: write 10s, or forever".into());
        }
        Ok(DurationArg::After(period))
    }
}

/// A rate, or a ramp between two.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RateArg {
    /// Always the same.
    Constant(f64),
    /// From one rate to the other in a time, then constant.
    Ramp {
        /// Where it begins.
        from_per_s: f64,
        /// Where it ends.
        to_per_s: f64,
        /// How long it takes.
        over: Period,
    },
}

impl FromStr for RateArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let rate = |text: &str| -> Result<f64, String> {
            let rate = text.trim().parse();
            rate.map_err(|_| format!("{text:?} is no rate: write 2000, or a ramp as 100..2000/30s"))
        };
        let Some((from, rest)) = text.split_once("..") else {
            return Ok(RateArg::Constant(rate(text)?));
        };
        let Some((to, over)) = rest.split_once('/') else {
            return Err("a ramp needs its time: write 100..2000/30s".into());
        };
        Ok(RateArg::Ramp {
            from_per_s: rate(from)?,
            to_per_s: rate(to)?,
            over: over.parse().map_err(|e| format!("{e}"))?,
        })
    }
}

/// Rates one after the other.
#[derive(Debug, Clone, PartialEq)]
pub struct StepsArg(pub Vec<RateStep>);

impl FromStr for StepsArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let step = |step: &str| -> Result<RateStep, String> {
            let malformed = || format!("{step:?} is no step: write 100:10s,200:10s");
            let (rate, length) = step.split_once(':').ok_or_else(malformed)?;
            let length: Period = length.trim().parse().map_err(|e| format!("{e}"))?;
            Ok(RateStep {
                rate_per_s: rate.trim().parse().map_err(|_| malformed())?,
                length_ns: length.as_ns(),
            })
        };
        text.split(',')
            .map(step)
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

/// How pauses differ, as typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum SpreadArg {
    /// All the same.
    None,
    /// Evenly between nothing and twice --think.
    Uniform,
    /// Exponentially, with --think as mean.
    Exponential,
}

impl From<SpreadArg> for ThinkDistribution {
    fn from(spread: SpreadArg) -> Self {
        match spread {
            SpreadArg::None => ThinkDistribution::None,
            SpreadArg::Uniform => ThinkDistribution::Uniform,
            SpreadArg::Exponential => ThinkDistribution::Exponential,
        }
    }
}

/// Pace, length and width of a load.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Pace and length")]
#[group(id = "pacing_args")]
#[command(group = clap::ArgGroup::new("schedule").args(["rate", "steps", "replay"]))]
pub struct PacingArgs {
    /// Requests per second, open loop: starts are fixed in advance, so a slow answer delays no other request. `100..2000/30s`: from 100 to 2000 in 30 s, then staying.
    #[arg(short, long, value_name = "PER_SECOND", conflicts_with = "clients")]
    pub rate: Option<RateArg>,
    /// Rates one after the other, each for a time: 100:10s,200:10s,400:1m. The last one stays.
    #[arg(long, value_name = "RATE:TIME,…", conflicts_with = "clients")]
    pub steps: Option<StepsArg>,
    /// Random gaps, as of many independent users (a Poisson process), instead of even ones.
    #[arg(long, conflicts_with_all = ["replay", "clients"], requires = "schedule")]
    pub poisson: bool,
    /// Repeat recorded starts: a file with one a line, in seconds (0.25) or whole nanoseconds, or what --csv or --hlog of an earlier load wrote.
    #[arg(long, value_name = "FILE", conflicts_with = "clients")]
    pub replay: Option<PathBuf>,
    /// Speed of a replay, as a factor.
    #[arg(
        long,
        value_name = "FACTOR",
        default_value_t = 1.0,
        requires = "replay"
    )]
    pub replay_speed: f64,
    /// Replay again and again, not once.
    #[arg(long, requires = "replay")]
    pub replay_repeat: bool,
    /// Clients in a closed loop: each sends its next request when its last one is answered. Without any pace: as fast as the connections carry it.
    #[arg(short = 'c', long, value_name = "N")]
    pub clients: Option<u32>,
    /// Pause of a client between an answer and its next request.
    #[arg(long, value_name = "TIME", default_value = "0", requires = "clients")]
    pub think: Period,
    /// How pauses differ.
    #[arg(long, value_enum, value_name = "HOW", default_value_t = SpreadArg::None, requires = "think")]
    pub think_distribution: SpreadArg,
    /// How long to measure: 10s, 2m; `forever` until Ctrl-C [default: the length of the ramp, steps or recording, else 10s].
    #[arg(short, long, value_name = "TIME", conflicts_with = "count")]
    pub duration: Option<DurationArg>,
    /// Measure this many requests instead.
    #[arg(short = 'n', long, value_name = "N")]
    pub count: Option<u64>,
    /// Send, but do not count, for so long before.
    #[arg(long, value_name = "TIME", default_value = "0")]
    pub warmup: Period,
    /// Connections [default: 50, or one per client].
    #[arg(short = 'C', long, value_name = "N")]
    pub connections: Option<u32>,
    /// Requests per connection; after them it is closed and a new one is opened.
    #[arg(long, value_name = "N")]
    pub requests_per_connection: Option<u64>,
    /// A new connection for every request: --requests-per-connection 1, and HTTP/1.1 says `Connection: close`.
    #[arg(long, conflicts_with = "requests_per_connection")]
    pub no_keepalive: bool,
    /// Open the connections one after the other over this time, before the load, instead of at once.
    #[arg(long, value_name = "TIME", default_value = "0")]
    pub connect_ramp: Period,
    /// Worker threads.
    #[arg(short, long, value_name = "N", default_value_t = 1)]
    pub workers: u32,
    /// Limit of one request, of one connection attempt, and of the wait for answers at the end.
    #[arg(short, long, value_name = "TIME", default_value = "10s")]
    pub timeout: Period,
    /// Whether to spin through the last microseconds before a start: for at most a tenth of a core, half of one with `--sched fifo`.
    #[arg(long, value_enum, value_name = "HOW", default_value_t = SpinArg::Bounded)]
    pub spin: SpinArg,
    /// How the kernel is to schedule the workers: `fifo` before all ordinary programs (SCHED_FIFO; needs CAP_SYS_NICE and a core
    /// that nothing else needs), `normal` with niceness -10 where that is allowed.
    #[arg(long, value_enum, value_name = "POLICY", default_value_t = SchedArg::Auto)]
    pub sched: SchedArg,
}

/// Spinning as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SpinArg {
    Bounded,
    Off,
}

impl From<SpinArg> for Spin {
    fn from(spin: SpinArg) -> Self {
        match spin {
            SpinArg::Bounded => Spin::Bounded,
            SpinArg::Off => Spin::Off,
        }
    }
}

/// A policy of the scheduler as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SchedArg {
    Auto,
    Fifo,
    Normal,
}

impl From<SchedArg> for Sched {
    fn from(sched: SchedArg) -> Self {
        match sched {
            SchedArg::Auto => Sched::Auto,
            SchedArg::Fifo => Sched::Fifo,
            SchedArg::Normal => Sched::Normal,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_a_number_or_a_ramp_with_its_time() {
        assert_eq!("20.5".parse(), Ok(RateArg::Constant(20.5)));
        let over = Period(Duration::from_secs(30));
        let ramp = RateArg::Ramp {
            from_per_s: 0.0,
            to_per_s: 2000.0,
            over,
        };
        assert_eq!("0..2000/30s".parse(), Ok(ramp));
        let wrong = |text: &str| text.parse::<RateArg>().unwrap_err();
        assert!(wrong("100..2000").contains("100..2000/30s"));
        assert!(wrong("fast").contains("no rate"));
        assert!(wrong("1..2/soon").contains("soon"));
    }

    #[test]
    fn steps_are_rates_with_their_times() {
        let StepsArg(steps) = "100:10s, 0:500ms".parse().unwrap();
        assert_eq!(steps[0].rate_per_s, 100.0);
        assert_eq!(
            (steps[1].rate_per_s, steps[1].length_ns),
            (0.0, 500_000_000)
        );
        for wrong in ["", "100", "100:10s,", "x:1s", "100:soon"] {
            assert!(wrong.parse::<StepsArg>().is_err(), "{wrong}");
        }
    }
}
