//! Whether a level of load lies beyond the knee: whether the achieved rate falls below the offered rate.

/// The smallest share of the offered rate that counts as achieving it (the same bound as for the generator's own releases).
pub const ACHIEVED_SHARE_MIN: f64 = 0.99;

/// Whether the parts' cores were saturated in a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Saturation {
    /// Over 80 % busy.
    Saturated,
    /// At most 80 % busy.
    Spare,
}

/// Position of a level relative to the knee.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Knee {
    /// The rate was achieved, with cores to spare.
    Below,
    /// The rate was achieved, but the cores were saturated: latency is dominated by queueing, not by the arm's cost.
    At,
    /// The offered rate was not achieved.
    Beyond,
}

/// Classifies by the achieved and the offered rate (in the same unit) and the saturation of the cores.
#[must_use]
pub fn knee(achieved: f64, offered: f64, saturation: Saturation) -> Knee {
    // Written so that NaN counts as not achieved.
    let reached = achieved >= ACHIEVED_SHARE_MIN * offered;
    match (reached, saturation) {
        (false, _) => Knee::Beyond,
        (true, Saturation::Saturated) => Knee::At,
        (true, Saturation::Spare) => Knee::Below,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_placed_by_its_rate_first_and_its_cores_second() {
        assert_eq!(knee(1990.0, 2000.0, Saturation::Spare), Knee::Below);
        assert_eq!(knee(1990.0, 2000.0, Saturation::Saturated), Knee::At);
        assert_eq!(knee(1970.0, 2000.0, Saturation::Saturated), Knee::Beyond);
        assert_eq!(knee(1970.0, 2000.0, Saturation::Spare), Knee::Beyond);
        assert_eq!(knee(f64::NAN, 2000.0, Saturation::Spare), Knee::Beyond);
    }
}
