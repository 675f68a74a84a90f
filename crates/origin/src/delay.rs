//! Delays of answers: constant or drawn from a distribution; the random numbers for it.

use std::time::Duration;

/// SplitMix64 (Steele, Lea, Flood 2014): small, fast, and good enough to draw delays.
#[derive(Debug, Clone)]
pub(crate) struct Rng {
    state: u64,
}

impl Rng {
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        Self {
            state: seed ^ stream.wrapping_mul(0xd134_2543_de82_ef95),
        }
    }

    /// Uniform in [0, 1), 53 bits.
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit in an f64 exactly")]
    pub(crate) fn uniform(&mut self) -> f64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        (mixed >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// True with the given probability; draws nothing when the answer is certain.
    pub(crate) fn happens(&mut self, probability: f64) -> bool {
        probability >= 1.0 || self.uniform() < probability
    }
}

/// The longest delay: longer draws are truncated.
pub const DELAY_MAX: Duration = Duration::from_secs(60);

/// A distribution of delays.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Delay {
    /// No delay.
    #[default]
    None,
    /// Always the same: `5ms`.
    Constant(Duration),
    /// One of two: `bimodal:1ms,50ms,0.01` is 50 ms for one in a hundred, else 1 ms.
    Bimodal {
        /// The usual delay.
        fast: Duration,
        /// The rare one.
        slow: Duration,
        /// Probability of the rare one.
        slow_share: f64,
    },
    /// Exponential: `exp:5ms` has a mean of 5 ms.
    Exponential { mean: Duration },
    /// Heavy tail: `pareto:1ms,1.5` is at least 1 ms, with P(longer than x) = (1 ms / x)^1.5, cut at [`DELAY_MAX`].
    Pareto {
        /// The least delay.
        least: Duration,
        /// The exponent of the tail; below 2 the variance is infinite but for the cut.
        exponent: f64,
    },
}

impl Delay {
    /// Reads the notation shown at each variant; `None` when it is none of them or out of range.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let Some((name, rest)) = text.split_once(':') else {
            return parse_duration(text).map(Self::constant);
        };
        let mut fields = rest.split(',');
        let first = parse_duration(fields.next()?)?;
        let delay = match name {
            "bimodal" => Self::Bimodal {
                fast: first,
                slow: parse_duration(fields.next()?)?,
                slow_share: parse_probability(fields.next()?)?,
            },
            "exp" => Self::Exponential { mean: first },
            "pareto" => {
                let exponent = fields
                    .next()?
                    .parse()
                    .ok()
                    .filter(|e: &f64| *e > 0.0 && *e < 100.0);
                Self::Pareto {
                    least: first,
                    exponent: exponent?,
                }
            }
            _ => return None,
        };
        fields.next().is_none().then_some(delay)
    }

    fn constant(delay: Duration) -> Self {
        if delay.is_zero() {
            Self::None
        } else {
            Self::Constant(delay)
        }
    }

    pub(crate) fn draw(self, rng: &mut Rng) -> Duration {
        let drawn = match self {
            Self::None => return Duration::ZERO,
            Self::Constant(delay) => delay,
            Self::Bimodal {
                fast,
                slow,
                slow_share,
            } => {
                if rng.happens(slow_share) {
                    slow
                } else {
                    fast
                }
            }
            // Inverse transform; 1 - u is in (0, 1], so the logarithm is finite.
            Self::Exponential { mean } => stretch(mean, -(1.0 - rng.uniform()).ln()),
            Self::Pareto { least, exponent } => {
                stretch(least, (1.0 - rng.uniform()).powf(-1.0 / exponent))
            }
        };
        drawn.min(DELAY_MAX)
    }
}

fn stretch(base: Duration, factor: f64) -> Duration {
    Duration::try_from_secs_f64(base.as_secs_f64() * factor).unwrap_or(DELAY_MAX)
}

/// Reads `250us`, `5ms`, `1.5s` or `0`, at most [`DELAY_MAX`].
pub(crate) fn parse_duration(text: &str) -> Option<Duration> {
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit_ns = match &text[digits.len()..] {
        "ns" => 1.0,
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => return None,
    };
    let number: f64 = digits
        .parse()
        .ok()
        .filter(|n: &f64| n.is_finite() && *n >= 0.0)?;
    let duration = Duration::try_from_secs_f64(number * unit_ns / 1e9).ok()?;
    (duration <= DELAY_MAX).then_some(duration)
}

pub(crate) fn parse_probability(text: &str) -> Option<f64> {
    text.parse().ok().filter(|p| (0.0..=1.0).contains(p))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean_ms(delay: Delay) -> f64 {
        let mut rng = Rng::new(7, 0);
        let sum: f64 = (0..100_000)
            .map(|_| delay.draw(&mut rng).as_secs_f64())
            .sum();
        sum / 100.0
    }

    #[test]
    fn every_notation_is_read_and_malformed_input_is_not() {
        let ms = Duration::from_millis;
        assert_eq!(Delay::parse("5ms"), Some(Delay::Constant(ms(5))));
        assert_eq!(Delay::parse("1.5s"), Some(Delay::Constant(ms(1500))));
        assert_eq!(Delay::parse("0"), Some(Delay::None));
        assert_eq!(
            Delay::parse("exp:2000us"),
            Some(Delay::Exponential { mean: ms(2) })
        );
        let bimodal = Delay::Bimodal {
            fast: ms(1),
            slow: ms(50),
            slow_share: 0.01,
        };
        assert_eq!(Delay::parse("bimodal:1ms,50ms,0.01"), Some(bimodal));
        let pareto = Delay::Pareto {
            least: ms(1),
            exponent: 1.5,
        };
        assert_eq!(Delay::parse("pareto:1ms,1.5"), Some(pareto));
        for wrong in [
            "",
            "5",
            "5m",
            "-5ms",
            "61s",
            "NaNs",
            "infs",
            "exp:",
            "exp:1ms,2",
            "5 ms",
        ] {
            assert_eq!(Delay::parse(wrong), None, "{wrong}");
        }
        for wrong in [
            "bimodal:1ms,2ms",
            "bimodal:1ms,2ms,1.1",
            "pareto:1ms,0",
            "normal:1ms,1ms",
        ] {
            assert_eq!(Delay::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn drawn_delays_have_the_mean_of_their_distribution() {
        let near = |text: &str, expected_ms: f64| {
            let mean = mean_ms(Delay::parse(text).unwrap());
            assert!((mean / expected_ms - 1.0).abs() < 0.03, "{text}: {mean} ms");
        };
        near("5ms", 5.0);
        near("exp:5ms", 5.0);
        near("bimodal:1ms,50ms,0.1", 5.9);
        // A Pareto's mean is least * a / (a - 1).
        near("pareto:1ms,3", 1.5);
    }
}
