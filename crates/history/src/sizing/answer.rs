//! What a topology needs: the sum over its sidecars, in every repeat.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use tare_record::api::{
    ProxyFeatures, RepeatUnit, ServiceSize, Side, SizedTopology, SizedValue, TopologySize,
};
use tare_stats::stopping::mean_interval;

use super::curve::{MemoryFit, OutOfRange, cores, interpolation_error};
use super::measured::{Group, GroupKey, Repeat};
use super::{MeasuredGroups, Objective, SizingError, cpu_points, highest_rate, memory_fits};

/// Load of the sidecars of a service, all instances together.
#[derive(Debug, Default, Clone, Copy)]
struct Traffic {
    received_per_s: f64,
    sent_per_s: f64,
    connections_in: f64,
    connections_out: f64,
}

/// What is needed in one repeat.
#[derive(Debug, Default, Clone, Copy)]
struct Need {
    cores: f64,
    bytes: f64,
}

/// Sizes a topology.
pub fn topology(
    measured: &MeasuredGroups,
    topology: &SizedTopology,
    objective: Objective,
) -> Result<TopologySize, SizingError> {
    let (key, group) = choose(measured, topology)?;
    let mut sizer = Sizer::new(measured, key, group)?;
    let traffic = traffic(topology);
    let mut services = Vec::new();
    let mut totals: BTreeMap<Repeat, Need> = BTreeMap::new();
    for (service, instances) in &topology.services {
        let load = traffic.get(service.as_str()).copied().unwrap_or_default();
        let needs = sizer.service(service, *instances, load, topology.configured_services)?;
        for (repeat, need) in &needs {
            let total = totals.entry(*repeat).or_default();
            total.cores += need.cores;
            total.bytes += need.bytes;
        }
        services.push(ServiceSize {
            service: service.clone(),
            sidecars: *instances,
            received_per_s: load.received_per_s,
            sent_per_s: load.sent_per_s,
            cores: sizer.cores(&needs),
            memory: sizer.memory(&needs),
        });
        if let Some((rate, _)) = highest_rate(group, objective) {
            let each = load.received_per_s.max(load.sent_per_s) / f64::from(*instances);
            if each > rate * 1.02 {
                sizer.limit(format!(
                    "{service}: {each:.0} requests/s per sidecar; the objective was met up to {rate:.0}/s, so the latency of more is unknown"
                ));
            }
        }
    }
    if sizer.interpolation.is_none() {
        sizer.limit("fewer than three rates were measured: the error of the values between them is unknown and not in the intervals".into());
    }
    if measured.unit() == RepeatUnit::Block {
        sizer.limit(
            "from one or two runs: what changes between runs is not in the intervals".into(),
        );
    }
    for (name, part) in &group.parts {
        if part.side == Side::ControlPlane {
            sizer.limit(format!(
                "{name} is not included: it depends on the number of proxies and changes"
            ));
        }
    }
    Ok(TopologySize {
        name: topology.name.clone(),
        arm: key.arm.clone(),
        sidecars: topology
            .services
            .values()
            .map(|count| u64::from(*count))
            .sum(),
        cores: sizer.cores(&totals),
        memory: sizer.memory(&totals),
        services,
        limits: sizer.limits.into_iter().collect(),
    })
}

/// The measured arm that a topology asks for. Features are never summed up from several arms.
fn choose<'a>(
    measured: &'a MeasuredGroups,
    topology: &SizedTopology,
) -> Result<(&'a GroupKey, &'a Group), SizingError> {
    let groups = measured.groups.iter();
    let with_parts = groups.filter(|(_, group)| {
        let mut parts = group.parts.values();
        parts.any(|part| part.side == Side::Called || part.side == Side::Caller)
    });
    let is_it = |(key, group): &(&GroupKey, &Group)| match &topology.arm {
        Some(arm) => *arm == key.arm,
        None => group.features == topology.features,
    };
    let found: Vec<_> = with_parts.clone().filter(is_it).collect();
    if found.is_empty() {
        let known: BTreeSet<String> = with_parts
            .map(|(key, group)| format!("{} ({})", key.arm, words(&group.features)))
            .collect();
        let known: Vec<String> = known.into_iter().collect();
        let wanted = match &topology.arm {
            Some(arm) => format!("no measured arm \"{arm}\" with sidecars"),
            None => format!(
                "no measured arm has sidecars with {}",
                words(&topology.features)
            ),
        };
        return Err(SizingError::Topology(format!(
            "{wanted}; measured: {}. Features are not added up: measure an arm that has them all",
            known.join(", ")
        )));
    }
    // Keys are in the order of the plan, then by workers: the first arm, and the fewest workers.
    let workers: Vec<String> = found
        .iter()
        .filter_map(|(key, _)| Some(key.workers?.to_string()))
        .collect();
    let mut found = found.into_iter();
    let fits = |key: &GroupKey| topology.workers.is_none() || key.workers == topology.workers;
    found.find(|(key, _)| fits(key)).ok_or_else(|| {
        SizingError::Topology(format!(
            "sidecars with {} workers were not measured, but with {}",
            topology.workers.unwrap_or_default(),
            workers.join(" and ")
        ))
    })
}

/// Features as text.
pub fn words(features: &ProxyFeatures) -> String {
    let security = features.security.word().to_owned();
    let settings = features.settings.iter().map(|(name, value)| match value {
        Value::Bool(true) => name.clone(),
        Value::String(text) => format!("{name}={text}"),
        other => format!("{name}={other}"),
    });
    let all: Vec<String> = std::iter::once(security).chain(settings).collect();
    all.join(", ")
}

fn traffic(topology: &SizedTopology) -> BTreeMap<&str, Traffic> {
    let mut all: BTreeMap<&str, Traffic> = BTreeMap::new();
    let instances = |name: &str| topology.services.get(name).copied().map(f64::from);
    for edge in &topology.edges {
        // Each pair of instances has connections of its own.
        let pairs = instances(&edge.from).unwrap_or(1.0) * instances(&edge.to).unwrap_or(1.0);
        let connections = f64::from(edge.connections) * pairs;
        let from = all.entry(&edge.from).or_default();
        from.sent_per_s += edge.rate_per_s;
        from.connections_out += connections;
        let to = all.entry(&edge.to).or_default();
        to.received_per_s += edge.rate_per_s;
        to.connections_in += connections;
    }
    all
}

struct Sizer<'a> {
    measured: &'a MeasuredGroups,
    group: &'a Group,
    key: &'a GroupKey,
    repeats: BTreeSet<Repeat>,
    /// Error of interpolation over the rate, as a logarithm.
    interpolation: Option<f64>,
    /// Largest difference between fit and measured memory, as a logarithm.
    misfit: f64,
    limits: BTreeSet<String>,
}

impl<'a> Sizer<'a> {
    fn new(
        measured: &'a MeasuredGroups,
        key: &'a GroupKey,
        group: &'a Group,
    ) -> Result<Self, SizingError> {
        let mut errors = Vec::new();
        let mut misfit = 0.0f64;
        let mut repeats = BTreeSet::new();
        for (name, part) in &group.parts {
            if matches!(part.side, Side::ControlPlane | Side::Between) {
                continue;
            }
            let by_repeat = measured.by_repeat(part.values.iter());
            repeats.extend(by_repeat.keys().copied());
            errors.push(interpolation_error(&cpu_points(part.values.iter())));
            for fit in memory_fits(measured, (key, group), name).values() {
                let values = part.values.iter().filter(|value| value.services == 0);
                for value in values {
                    let found = fit.bytes(f64::from(value.connections), 0.0);
                    if let (Ok(found), Some(bytes)) = (found, value.memory_bytes) {
                        misfit = misfit.max((found / bytes).ln().abs());
                    }
                }
            }
        }
        if repeats.is_empty() {
            return Err(SizingError::Topology(format!(
                "arm {} has no trials that count",
                key.arm
            )));
        }
        let interpolation: Option<Vec<f64>> = errors.into_iter().collect();
        Ok(Sizer {
            measured,
            group,
            key,
            repeats,
            interpolation: interpolation.and_then(|all| all.into_iter().reduce(f64::max)),
            misfit,
            limits: BTreeSet::new(),
        })
    }

    fn limit(&mut self, text: String) {
        self.limits.insert(text);
    }

    /// What all sidecars of a service need, in each repeat.
    fn service(
        &mut self,
        service: &str,
        instances: u32,
        load: Traffic,
        configured: u32,
    ) -> Result<BTreeMap<Repeat, Need>, SizingError> {
        let count = f64::from(instances);
        let sides = [
            (
                Side::Called,
                load.received_per_s / count,
                load.connections_in / count,
            ),
            (
                Side::Caller,
                load.sent_per_s / count,
                load.connections_out / count,
            ),
            (
                Side::Authorizer,
                load.received_per_s / count,
                load.connections_in / count,
            ),
        ];
        let mut needs = BTreeMap::new();
        for repeat in self.repeats.clone() {
            let mut need = Need::default();
            let mut fits = Vec::new();
            for (side, rate, connections) in sides {
                let parts = self
                    .group
                    .parts
                    .iter()
                    .filter(|(_, part)| part.side == side);
                for (name, part) in parts {
                    let fit =
                        memory_fits(self.measured, (self.key, self.group), name).remove(&repeat);
                    let Some(fit) = fit else { continue };
                    let by_repeat = self.measured.by_repeat(part.values.iter());
                    let values = by_repeat
                        .get(&repeat)
                        .map(Vec::as_slice)
                        .unwrap_or_default();
                    let points = cpu_points(values.iter().copied());
                    if rate > 0.0 {
                        let found = cores(&points, rate, connections);
                        need.cores += found.map_err(|out| self.refused(service, out))?;
                        let highest = points.iter().map(|one| one.rate_per_s).fold(0.0, f64::max);
                        if rate > highest * 1.02 {
                            self.limits.insert(format!(
                                "{service}: {rate:.0} requests/s per sidecar is extrapolated, measured up to {highest:.0}/s"
                            ));
                        }
                    }
                    let in_range = fit.bytes(connections, f64::from(configured));
                    in_range.map_err(|out| self.refused(service, out))?;
                    self.services_measured(part.side, &fit, configured);
                    fits.push((side, connections, fit));
                }
            }
            need.bytes = memory(&fits, f64::from(configured));
            if need.cores > 0.0 || need.bytes > 0.0 {
                let all = Need {
                    cores: need.cores * count,
                    bytes: need.bytes * count,
                };
                needs.insert(repeat, all);
            }
        }
        Ok(needs)
    }

    fn services_measured(&mut self, side: Side, fit: &MemoryFit, configured: u32) {
        if side != Side::Authorizer && fit.per_service.is_none() && configured > 0 {
            self.limits.insert(
                "memory of configured services was not measured for these features and is not included".into(),
            );
        }
        let groups = self.measured.groups.values();
        let values = groups
            .flat_map(|group| group.parts.values())
            .flat_map(|part| &part.values);
        let most = values.map(|value| value.services).max().unwrap_or(0);
        if fit.per_service.is_some() && configured > most {
            self.limits.insert(format!(
                "memory of {configured} configured services is extrapolated, measured up to {most}"
            ));
        }
    }

    fn refused(&self, service: &str, out: OutOfRange) -> SizingError {
        SizingError::Topology(match out {
            OutOfRange::Nothing => format!("{service}: nothing was measured for {}", self.key.arm),
            OutOfRange::Rate { highest } => format!(
                "{service}: more than twice the highest measured rate ({highest:.0} requests/s per sidecar): give it more instances, or measure higher rates"
            ),
            OutOfRange::Connections { most } => format!(
                "{service}: more than twice the most measured connections ({most:.0} per sidecar): give fewer, or measure more"
            ),
        })
    }

    fn cores(&self, needs: &BTreeMap<Repeat, Need>) -> SizedValue {
        let values: Vec<f64> = needs.values().map(|need| need.cores).collect();
        widened(&values, self.interpolation.unwrap_or(0.0))
    }

    fn memory(&self, needs: &BTreeMap<Repeat, Need>) -> SizedValue {
        let values: Vec<f64> = needs.values().map(|need| need.bytes).collect();
        widened(&values, self.misfit)
    }
}

/// Memory of one instance's proxies: a sidecar with traffic in both directions is one program with one configuration and the
/// connections of both sides.
fn memory(fits: &[(Side, f64, MemoryFit)], configured: f64) -> f64 {
    let sidecar = fits.iter().filter(|(side, ..)| *side != Side::Authorizer);
    let largest = |of: fn(&MemoryFit) -> f64| {
        let each = sidecar.clone().map(|(_, _, fit)| of(fit));
        each.fold(0.0, f64::max)
    };
    let each = |part: Option<f64>| part.unwrap_or(0.0).max(0.0);
    let connections: f64 = sidecar
        .clone()
        .map(|(_, count, fit)| each(fit.per_connection) * count)
        .sum();
    let services = largest(|fit| fit.per_service.unwrap_or(0.0)) * configured;
    let authorizer = fits.iter().filter(|(side, ..)| *side == Side::Authorizer);
    let authorizer: f64 = authorizer.map(|(_, _, fit)| fit.base).sum();
    largest(|fit| fit.base) + connections + services + authorizer
}

/// The mean over repeats with an interval for one more repeat, widened by an error that is the same in all of them.
fn widened(values: &[f64], error: f64) -> SizedValue {
    let Some((centre, interval)) = mean_interval(values) else {
        return super::estimate(values);
    };
    let mean = interval.high.ln();
    let next = mean * (values.len() as f64 + 1.0).sqrt();
    let half = next.hypot(error).exp();
    SizedValue {
        value: centre,
        low: Some(centre / half),
        high: Some(centre * half),
    }
}
