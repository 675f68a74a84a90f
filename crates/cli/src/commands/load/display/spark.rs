//! Sparkline of latencies per second on a logarithmic scale.

/// Bars from the smallest to the largest.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Smallest ratio of maximum to minimum that fills the height: a smaller one is noise and drawn as a low line.
const RATIO_MIN: f64 = 2.0;

/// One bar per value; a blank for a missing one.
pub fn sparkline(values: &[Option<u64>]) -> String {
    let Some((low, high)) = range(values) else {
        return " ".repeat(values.len());
    };
    let low = low.max(1) as f64;
    let ratio = (high as f64 / low).max(RATIO_MIN).ln();
    let bar = |value: &Option<u64>| {
        value.map_or(' ', |value| {
            let at = (value.max(1) as f64 / low).ln() / ratio * (BARS.len() - 1) as f64;
            BARS[(at.round().max(0.0) as usize).min(BARS.len() - 1)]
        })
    };
    values.iter().map(bar).collect()
}

/// The smallest and the largest value, if there are any.
pub fn range(values: &[Option<u64>]) -> Option<(u64, u64)> {
    let known = || values.iter().flatten().copied();
    Some((known().min()?, known().max()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tenfold_climbs_alike() {
        let values: Vec<Option<u64>> = (0..8).map(|n| Some(10_u64.pow(n))).collect();
        assert_eq!(sparkline(&values), "▁▂▃▄▅▆▇█");
    }

    #[test]
    fn noise_stays_low_and_a_second_without_answers_stays_blank() {
        assert_eq!(sparkline(&[Some(100), None, Some(101)]), "▁ ▁");
        assert_eq!(sparkline(&[None, None]), "  ");
        assert_eq!(sparkline(&[]), "");
    }
}
