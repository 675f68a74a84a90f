//! Whether a level of load lies beyond the knee: where the system no longer delivers what is offered.

/// Less than this share of the offered rate achieved means the rate was not carried (the same bound as for the
/// generator's own releases).
pub const ACHIEVED_SHARE_MIN: f64 = 0.99;

/// Whether the parts' cores were saturated in a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Saturation {
    /// Over 80 % busy.
    Saturated,
    /// Less.
    Spare,
}

/// Where a level lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Knee {
    /// Carried, with cores to spare.
    Below,
    /// Carried, but the cores were saturated: latency there is queueing, not the arm's cost.
    At,
    /// The offered rate was not reached.
    Beyond,
}

/// Places a level by the achieved and the offered rate (in the same unit) of its worst trial.
#[must_use]
pub fn knee(achieved: f64, offered: f64, saturation: Saturation) -> Knee {
    // Written so that a rate that is not a number counts as not reached.
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
