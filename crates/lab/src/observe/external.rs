//! Resource usage of external parts between two moments, as far as they report it; the rest is unknown.

use std::thread::JoinHandle;
use std::time::Duration;

use tare_record::external::{CPU_SECONDS, MEMORY_BYTES};
use tare_record::record::{InstanceUsage, MachineUsage};

use crate::LabError;
use crate::counters::CounterReader;
use crate::environment::{InstanceCounters, Observation, UsageSample};

/// Role of external parts.
pub(crate) const EXTERNAL_ROLE: &str = "app";

/// An external part, or a control plane of the cluster, to be observed.
pub(crate) struct ObservedExternal {
    pub instance: String,
    /// Role in the record.
    pub role: &'static str,
    /// Its address, as text.
    pub software: String,
    /// Reader of its CPU and memory counters, if it has some.
    pub reader: Option<CounterReader>,
}

/// A part, with what its counters said. It is read beside the other observations, which it must not hold up.
type Reading = JoinHandle<(ObservedExternal, Option<InstanceCounters>)>;

/// An observation of processes and of external parts.
pub(crate) struct WithExternal {
    own: Box<dyn Observation>,
    external: Vec<Reading>,
}

impl WithExternal {
    pub(crate) fn start(
        own: Box<dyn Observation>,
        external: Vec<ObservedExternal>,
    ) -> WithExternal {
        WithExternal {
            external: external.into_iter().map(read).collect(),
            own,
        }
    }
}

fn read(mut observed: ObservedExternal) -> Reading {
    std::thread::spawn(move || {
        let counters = observed.read();
        (observed, counters)
    })
}

impl Observation for WithExternal {
    fn tick(&mut self) {
        self.own.tick();
    }

    fn ends_in(&mut self, time: Duration) -> Result<(), LabError> {
        self.own.ends_in(time)
    }

    fn sample(&mut self) -> Option<UsageSample> {
        let sample = self.own.sample()?;
        // External parts may run on this machine.
        Some(UsageSample {
            background_cpu_ns: None,
            ..sample
        })
    }

    fn finish(self: Box<Self>) -> Result<(Vec<InstanceUsage>, MachineUsage), LabError> {
        let WithExternal { own, external } = *self;
        let mut last = Vec::new();
        for first in external {
            // A reader does not panic; what it has not read is unknown.
            if let Ok((observed, first)) = first.join() {
                last.push((first, read(observed)));
            }
        }
        let (mut parts, mut machine) = own.finish()?;
        for (first, last) in last {
            let Ok((observed, last)) = last.join() else {
                continue;
            };
            parts.push(observed.usage(first.as_ref(), last.as_ref()));
            // An external part may run on this machine: its share of the CPU of other programs is unknown.
            if observed.role == EXTERNAL_ROLE {
                machine.background_cpu_ns = None;
            }
        }
        Ok((parts, machine))
    }
}

impl ObservedExternal {
    /// `None` when it cannot be read.
    fn read(&mut self) -> Option<InstanceCounters> {
        self.reader.as_mut()?.read().ok()
    }

    fn usage(
        &self,
        first: Option<&InstanceCounters>,
        last: Option<&InstanceCounters>,
    ) -> InstanceUsage {
        let of = |counters: Option<&InstanceCounters>, name: &str| -> Option<f64> {
            let readings = &counters?.readings;
            let found = readings.iter().filter(|reading| reading.name == name);
            let mut found = found.map(|reading| reading.value).peekable();
            found.peek()?;
            Some(found.sum())
        };
        let cpu_s = of(last, CPU_SECONDS).zip(of(first, CPU_SECONDS));
        // The counter was reset by a restart.
        let cpu_s = cpu_s.map(|(last, first)| last - first);
        let cpu_s = cpu_s.filter(|grown| *grown >= 0.0);
        let memory = of(first, MEMORY_BYTES).zip(of(last, MEMORY_BYTES));
        InstanceUsage {
            instance: self.instance.clone(),
            role: self.role.to_owned(),
            software: self.software.clone(),
            cpu_ns: cpu_s.map(|seconds| (seconds * 1e9) as u64),
            rss_mean_bytes: memory.map(|(first, last)| ((first + last) / 2.0) as u64),
            rss_peak_bytes: memory.map(|(first, last)| first.max(last) as u64),
            ..InstanceUsage::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use tare_record::counter::{CounterKind, CounterReading};

    use super::*;

    fn counters(cpu_s: f64, memory_bytes: f64) -> InstanceCounters {
        let reading = |name: &str, value| CounterReading {
            name: name.to_owned(),
            edge: None,
            label: None,
            value,
            kind: CounterKind::Counter,
        };
        InstanceCounters {
            instance: "server".to_owned(),
            readings: vec![
                reading(CPU_SECONDS, cpu_s),
                reading(MEMORY_BYTES, memory_bytes),
            ],
        }
    }

    #[test]
    fn what_an_external_part_does_not_tell_is_not_known_and_not_nothing() {
        let observed = ObservedExternal {
            instance: "server".to_owned(),
            role: EXTERNAL_ROLE,
            software: "external".to_owned(),
            reader: None,
        };
        let (first, last) = (counters(10.0, 2000.0), counters(10.5, 1000.0));
        let told = observed.usage(Some(&first), Some(&last));
        assert_eq!(told.cpu_ns, Some(500_000_000));
        assert_eq!(
            (told.rss_mean_bytes, told.rss_peak_bytes),
            (Some(1500), Some(2000))
        );
        for (first, last) in [(None, Some(&last)), (Some(&first), None), (None, None)] {
            let told = observed.usage(first, last);
            assert_eq!((told.cpu_ns, told.rss_peak_bytes), (None, None));
        }
        // It was started again in between.
        let told = observed.usage(Some(&last), Some(&first));
        assert_eq!(told.cpu_ns, None);
    }
}
