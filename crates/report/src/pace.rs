//! The pacing of a load as text.

use std::time::Duration;

use tare_record::load::{AtEnd, Interarrival, Pacing, ThinkDistribution};
use tare_record::units::Period;

use crate::quantity;

/// The kind of pacing, without its figures.
#[must_use]
pub fn kind(pacing: &Pacing) -> &'static str {
    match pacing {
        Pacing::Constant { .. } => "open loop at a constant rate",
        Pacing::Poisson { .. } => "open loop with random gaps (Poisson)",
        Pacing::Ramp { .. } => "open loop along a ramp",
        Pacing::Steps { .. } => "open loop in steps",
        Pacing::Replay { .. } => "open loop as recorded",
        Pacing::Closed { .. } => "closed loop",
        Pacing::Max => "max rate",
    }
}

/// The pacing with its figures, over all workers.
#[must_use]
pub fn words(pacing: &Pacing) -> String {
    match pacing {
        Pacing::Constant { rate_per_s } => format!("{rate_per_s}/s"),
        Pacing::Poisson { rate_per_s } => format!("{rate_per_s}/s on average, random gaps"),
        Pacing::Ramp {
            from_per_s,
            to_per_s,
            ramp_ns,
            interarrival,
        } => {
            let over = period(*ramp_ns);
            format!(
                "{from_per_s}/s to {to_per_s}/s in {over}{}",
                interarrival_words(*interarrival)
            )
        }
        Pacing::Steps {
            steps,
            interarrival,
        } => {
            let one = |step: &tare_record::load::RateStep| {
                format!("{}/s for {}", step.rate_per_s, period(step.length_ns))
            };
            let steps: Vec<String> = steps.iter().map(one).collect();
            format!("{}{}", steps.join(", "), interarrival_words(*interarrival))
        }
        Pacing::Replay {
            file,
            speed,
            at_end,
            ..
        } => {
            let speed = match speed {
                1.0 => String::new(),
                speed => format!(" at {speed} × its speed"),
            };
            let again = match at_end {
                AtEnd::Stop => "",
                AtEnd::Repeat => ", again and again",
            };
            format!("as recorded in {file}{speed}{again}")
        }
        Pacing::Closed {
            clients,
            think_time_ns,
            think_distribution,
        } => {
            let clients = quantity::counted(u64::from(*clients), "client", "clients");
            let pause = match (think_time_ns, think_distribution) {
                (0, _) => String::new(),
                (_, ThinkDistribution::None) => format!(", pausing {}", period(*think_time_ns)),
                (_, ThinkDistribution::Uniform) => {
                    format!(", pausing 0 to {}", period(think_time_ns.saturating_mul(2)))
                }
                (_, ThinkDistribution::Exponential) => {
                    let mean = period(*think_time_ns);
                    format!(", pausing {mean} on average (exponentially)")
                }
            };
            format!("{clients} in a closed loop{pause}")
        }
        Pacing::Max => "max rate".into(),
    }
}

fn interarrival_words(interarrival: Interarrival) -> &'static str {
    match interarrival {
        Interarrival::Constant => "",
        Interarrival::Exponential => ", random gaps",
    }
}

fn period(length_ns: u64) -> Period {
    Period(Duration::from_nanos(length_ns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_record::load::RateStep;

    #[test]
    fn every_pace_has_its_figures_in_its_words() {
        let ramp = Pacing::Ramp {
            from_per_s: 100.0,
            to_per_s: 2000.0,
            ramp_ns: 30_000_000_000,
            interarrival: Interarrival::Exponential,
        };
        assert_eq!(words(&ramp), "100/s to 2000/s in 30s, random gaps");
        let steps = vec![
            RateStep {
                rate_per_s: 10.5,
                length_ns: 2_000_000_000,
            };
            2
        ];
        let interarrival = Interarrival::Constant;
        assert_eq!(
            words(&Pacing::Steps {
                steps,
                interarrival
            }),
            "10.5/s for 2s, 10.5/s for 2s"
        );
        let thinking = Pacing::Closed {
            clients: 1,
            think_time_ns: 5_000_000,
            think_distribution: ThinkDistribution::Uniform,
        };
        assert_eq!(
            words(&thinking),
            "1 client in a closed loop, pausing 0 to 10ms"
        );
    }
}
