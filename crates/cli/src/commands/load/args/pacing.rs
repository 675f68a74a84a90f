//! Arguments of pacing, duration and connections.

use std::path::PathBuf;
use std::str::FromStr;

use tare_record::load::{RateStep, Sched, Spin, Stop, ThinkDistribution};
use tare_record::units::Period;

use crate::arguments::words;

/// A time, or `forever`.
fn parse_duration(text: &str) -> Result<Stop, String> {
    if text == "forever" {
        return Ok(Stop::Interrupted);
    }
    let period: Period = text.parse().map_err(|e| format!("{e}, or forever"))?;
    match period.as_ns() {
        0 => Err("nothing can be measured in no time: write 10s, or forever".into()),
        window_ns => Ok(Stop::Duration { window_ns }),
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
            rate.map_err(|_| {
                format!("{text:?} is not a rate: write 2000, or a ramp as 100..2000/30s")
            })
        };
        let Some((from, rest)) = text.split_once("..") else {
            let rate = rate(text)?;
            return match rate > 0.0 && rate.is_finite() {
                true => Ok(RateArg::Constant(rate)),
                false => Err(
                    "a rate is more than 0 per second: for the maximum rate of the connections leave out --rate".into(),
                ),
            };
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
            let malformed = || format!("{step:?} is not a step: write 100:10s,200:10s");
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

/// Pace, length and width of a load.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Rate, duration and connections")]
#[group(id = "pacing_args")]
#[command(group = clap::ArgGroup::new("schedule").args(["rate", "steps", "replay"]))]
pub struct PacingArgs {
    /// Request rate, per second, open loop: starts follow a schedule and wait for no response. `100..2000/30s` is a ramp: from
    /// 100/s to 2000/s in 30 s, then constant.
    #[arg(
        short,
        long,
        value_name = "PER_SECOND",
        conflicts_with = "clients",
        allow_negative_numbers = true
    )]
    pub rate: Option<RateArg>,
    /// Steps of constant rate, each for a time: 100:10s,200:10s,400:1m. The last rate stays.
    #[arg(long, value_name = "RATE:TIME,…", conflicts_with = "clients")]
    pub steps: Option<StepsArg>,
    /// Exponential inter-arrival times (a Poisson process: many independent users) instead of constant ones.
    #[arg(long, conflicts_with_all = ["replay", "clients"], requires = "schedule")]
    pub poisson: bool,
    /// File of recorded starts to replay: one per line, in seconds (0.25), whole nanoseconds or milliseconds since
    /// 1970; or a --csv or --hlog file of an earlier load, or JMeter's results as CSV.
    #[arg(long, value_name = "FILE", conflicts_with = "clients")]
    pub replay: Option<PathBuf>,
    /// Replay speed, as a factor.
    #[arg(
        long,
        value_name = "FACTOR",
        default_value_t = 1.0,
        requires = "replay"
    )]
    pub replay_speed: f64,
    /// Repeat the recording instead of ending with it.
    #[arg(long, requires = "replay")]
    pub replay_repeat: bool,
    /// Number of clients, closed loop: each sends its next request after the response to its last. Without --clients and a rate:
    /// maximum rate of the connections.
    #[arg(short = 'c', long, value_name = "N")]
    pub clients: Option<u32>,
    /// Think time of a client between a response and its next request.
    #[arg(long, value_name = "TIME", default_value = "0", requires = "clients")]
    pub think_time: Period,
    /// Distribution of think times.
    #[arg(long, value_name = "DISTRIBUTION", default_value = "none", requires = "think_time", value_parser = words::<ThinkDistribution>(&[
        ("none", "Constant: always --think-time"),
        ("uniform", "Uniform between 0 and twice --think-time"),
        ("exponential", "Exponential with mean --think-time"),
    ]))]
    pub think_distribution: ThinkDistribution,
    /// Duration of the measurement: 10s, 2m; `forever` until Ctrl-C [default: that of the ramp, steps or recording, else 10s].
    #[arg(short, long, value_name = "TIME", conflicts_with = "count", value_parser = parse_duration)]
    pub duration: Option<Stop>,
    /// Number of requests to measure, instead of a duration.
    #[arg(short = 'n', long, value_name = "N")]
    pub count: Option<u64>,
    /// Warm-up before the measurement; its requests are not counted.
    #[arg(long, value_name = "TIME", default_value = "0")]
    pub warmup: Period,
    /// Number of connections [default: 16, or one per client].
    #[arg(short = 'C', long, value_name = "N")]
    pub connections: Option<u32>,
    /// Maximum number of requests per connection, before a new one replaces it [default: unlimited].
    #[arg(long, value_name = "N")]
    pub requests_per_connection: Option<u64>,
    /// New connection for every request: --requests-per-connection 1, over HTTP/1.1 with `Connection: close`.
    #[arg(long, conflicts_with = "requests_per_connection")]
    pub no_keepalive: bool,
    /// Duration of opening the connections, one by one, before the load; 0: all at once.
    #[arg(long, value_name = "TIME", default_value = "0")]
    pub connect_ramp: Period,
    /// Number of worker threads.
    #[arg(short, long, value_name = "N", default_value_t = 1)]
    pub workers: u32,
    /// Timeout of a request, of a connection attempt, and of the drain at the end.
    #[arg(short, long, value_name = "TIME", default_value = "10s")]
    pub timeout: Period,
    /// Spinning in the last microseconds before a start: at most a tenth of a core, half a core with `--sched fifo`.
    #[arg(long, value_name = "MODE", default_value = "bounded", value_parser = words::<Spin>(&[("bounded", ""), ("off", "")]))]
    pub spin: Spin,
    /// Scheduling policy of the workers: `fifo` (SCHED_FIFO, before all ordinary programs; needs CAP_SYS_NICE and a core of its
    /// own) or `normal` (niceness -10 where allowed).
    #[arg(long, value_name = "POLICY", default_value = "auto", value_parser = words::<Sched>(&[("auto", ""), ("fifo", ""), ("normal", "")]))]
    pub sched: Sched,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_a_number_or_a_ramp_with_its_time() {
        assert_eq!("20.5".parse(), Ok(RateArg::Constant(20.5)));
        let over = Period(std::time::Duration::from_secs(30));
        let ramp = RateArg::Ramp {
            from_per_s: 0.0,
            to_per_s: 2000.0,
            over,
        };
        assert_eq!("0..2000/30s".parse(), Ok(ramp));
        let wrong = |text: &str| text.parse::<RateArg>().unwrap_err();
        assert!(wrong("100..2000").contains("100..2000/30s"));
        assert!(wrong("fast").contains("not a rate"));
        assert!(wrong("1..2/soon").contains("soon"));
        // The words of Kafka's own tool and of others for "as fast as possible".
        for none in ["0", "-1", "inf", "nan"] {
            assert!(wrong(none).contains("leave out --rate"), "{none}");
        }
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
