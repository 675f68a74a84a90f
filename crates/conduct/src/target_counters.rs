//! Target counters (`x-…`): what targets report of themselves during a trial; no proof uses them.

use tare_lab::environment::InstanceCounters;
use tare_record::counter::{CounterKind, CounterReading};
use tare_record::record::TargetCounter;

use crate::proof::growth;

/// Prefix of the names of target counters.
const OWN: &str = "x-";

/// Growth of each target counter between two readings, and the value of each gauge at the second.
#[must_use]
pub fn target_counters(
    before: &[InstanceCounters],
    after: &[InstanceCounters],
) -> Vec<TargetCounter> {
    let mut all = Vec::new();
    for counters in after {
        let earlier = before.iter().find(|b| b.instance == counters.instance);
        for reading in &counters.readings {
            let Some(name) = reading.name.strip_prefix(OWN) else {
                continue;
            };
            let same = |other: &&CounterReading| {
                (&other.name, &other.edge, &other.label)
                    == (&reading.name, &reading.edge, &reading.label)
            };
            let start = earlier
                .and_then(|counters| counters.readings.iter().find(same))
                // A counter that is missing in the first reading started at 0.
                .map_or(0.0, |earlier| earlier.value);
            let value = match reading.kind {
                CounterKind::Counter => growth(start, reading.value),
                CounterKind::Gauge => reading.value,
            };
            all.push(TargetCounter {
                instance: counters.instance.clone(),
                name: name.to_owned(),
                label: reading.label.clone().or_else(|| reading.edge.clone()),
                value,
            });
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(name: &str, label: Option<&str>, value: f64, kind: CounterKind) -> CounterReading {
        CounterReading {
            name: name.to_owned(),
            edge: None,
            label: label.map(str::to_owned),
            value,
            kind,
        }
    }

    fn of(readings: Vec<CounterReading>) -> Vec<InstanceCounters> {
        vec![InstanceCounters {
            instance: "broker-1".to_owned(),
            readings,
        }]
    }

    #[test]
    fn own_counters_are_told_by_growth_and_gauges_as_they_stand() {
        use CounterKind::{Counter, Gauge};
        let before = of(vec![
            reading("x-in", Some("a"), 10.0, Counter),
            // Its process started again in between.
            reading("x-out", None, 90.0, Counter),
            reading("x-behind", None, 5.0, Gauge),
            reading("requests", None, 1.0, Counter),
        ]);
        let after = of(vec![
            reading("x-in", Some("a"), 14.0, Counter),
            reading("x-in", Some("b"), 3.0, Counter),
            reading("x-out", None, 4.0, Counter),
            reading("x-behind", None, 2.0, Gauge),
            reading("requests", None, 9.0, Counter),
        ]);
        let target_counters = target_counters(&before, &after);
        let figures: Vec<_> = target_counters
            .iter()
            .map(|target_counters| {
                (
                    &*target_counters.name,
                    target_counters.label.as_deref(),
                    target_counters.value,
                )
            })
            .collect();
        assert_eq!(
            figures,
            [
                ("in", Some("a"), 4.0),
                ("in", Some("b"), 3.0),
                ("out", None, 4.0),
                ("behind", None, 2.0)
            ]
        );
    }
}
