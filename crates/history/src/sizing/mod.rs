//! Sizing: what parts need per 1000 requests/s, per connection and per configured service, and what a topology needs.

mod answer;
mod curve;
mod measured;
mod page;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use tare_rate_search::condition::{Comparator, Condition, LoadMetric, Statistic, TimeKind};
use tare_record::FORMAT_VERSION;
use tare_record::api::{
    RepeatUnit, Side, SizedGroup, SizedPart, SizedTopology, SizedValue, SizingPoint,
    SizingPublished, SizingReport,
};
use tare_record::metric::Metric;
use tare_record::plan::PublishedFigure;
use tare_report::Run;
use tare_stats::stopping::mean_interval;

use curve::{CpuPoint, MemoryFit, MemoryPoint, cores};
use measured::{Group, GroupKey, MeasuredPart, Measurement, Repeat};

pub use page::{html, text};

/// Most runs whose differences are told from those of blocks.
const RUNS_MIN: usize = 3;

/// Why there is no sizing.
#[derive(Debug, thiserror::Error)]
pub enum SizingError {
    /// The runs are of several experiments or machines.
    #[error("{0}")]
    Runs(String),
    /// The objective cannot be read, or is none of latency.
    #[error("objective \"{0}\": {1}")]
    Objective(String, String),
    /// No measured arm has what the topology asks for.
    #[error("{0}")]
    Topology(String),
}

/// All measured values of runs.
pub struct MeasuredGroups {
    groups: BTreeMap<GroupKey, Group>,
    /// Number of runs.
    runs: usize,
}

impl MeasuredGroups {
    fn unit(&self) -> RepeatUnit {
        match self.runs >= RUNS_MIN {
            true => RepeatUnit::Run,
            false => RepeatUnit::Block,
        }
    }

    /// One value per repeat: per run if there are several, else per block.
    fn by_repeat<'a>(
        &self,
        values: impl Iterator<Item = &'a Measurement>,
    ) -> BTreeMap<Repeat, Vec<&'a Measurement>> {
        let mut by_repeat: BTreeMap<Repeat, Vec<&Measurement>> = BTreeMap::new();
        for value in values {
            let repeat = match self.unit() {
                RepeatUnit::Run => (value.repeat.0, 0),
                RepeatUnit::Block => value.repeat,
            };
            by_repeat.entry(repeat).or_default().push(value);
        }
        by_repeat
    }
}

/// Sizes the parts of runs, and a topology.
///
/// # Errors
/// If the runs do not belong together, or do not have what the topology asks for.
pub fn size(
    runs: &[Run],
    objective: &str,
    topology: Option<&SizedTopology>,
) -> Result<SizingReport, SizingError> {
    let first = check(runs)?;
    let limit = Objective::read(objective)?;
    let measured = MeasuredGroups {
        groups: measured::groups(runs),
        runs: runs.len(),
    };
    if measured.groups.values().all(|group| group.parts.is_empty()) {
        let text = "no arm of these runs has a proxy on the way of the load with a trial that counts: nothing can be sized";
        return Err(SizingError::Runs(text.into()));
    }
    let groups: Vec<SizedGroup> = measured
        .groups
        .iter()
        .map(|(key, group)| sized(&measured, key, group, limit))
        .collect();
    let repeats: BTreeSet<Repeat> = measured
        .groups
        .values()
        .flat_map(|group| group.parts.values())
        .flat_map(|part| measured.by_repeat(part.values.iter()).into_keys())
        .collect();
    let topology = topology
        .map(|topology| answer::topology(&measured, topology, limit))
        .transpose()?;
    Ok(SizingReport {
        version: FORMAT_VERSION,
        experiment: first.plan.experiment.clone(),
        runs: runs.iter().map(Run::id).collect(),
        conditions: conditions(first),
        repeats: repeats.len() as u64,
        repeat_is: measured.unit(),
        objective: objective.trim().to_owned(),
        published: published(first, &groups),
        groups,
        topology,
    })
}

/// The first run, if all are of one experiment and machine.
fn check(runs: &[Run]) -> Result<&Run, SizingError> {
    let first = runs
        .first()
        .ok_or_else(|| SizingError::Runs("no run".into()))?;
    let machine = |run: &Run| {
        run.environment
            .as_ref()
            .and_then(|one| one.machine_id.clone())
    };
    for run in runs {
        if run.plan.experiment != first.plan.experiment || run.plan.form != first.plan.form {
            return Err(SizingError::Runs(format!(
                "{} and {} are not of one experiment and form: size them one after the other",
                first.id(),
                run.id()
            )));
        }
        if machine(run) != machine(first) {
            return Err(SizingError::Runs(format!(
                "{} and {} are of different machines: their values are never joined",
                first.id(),
                run.id()
            )));
        }
    }
    Ok(first)
}

/// A limit of a latency metric.
#[derive(Debug, Clone, Copy)]
struct Objective {
    metric: Metric,
    limit_ns: f64,
}

impl Objective {
    fn read(text: &str) -> Result<Objective, SizingError> {
        let wrong = |why: String| SizingError::Objective(text.to_owned(), why);
        let condition: Condition = text.trim().parse().map_err(wrong)?;
        let metric = match condition.metric {
            LoadMetric::Latency(TimeKind::Latency, Statistic::Quantile(q)) => {
                let known = [
                    (0.5, Metric::Median),
                    (0.9, Metric::P90),
                    (0.99, Metric::P99),
                    (0.999, Metric::P999),
                ];
                let mut known = known.into_iter();
                known
                    .find(|(of, _)| (of - q).abs() < 1e-9)
                    .map(|(_, metric)| metric)
            }
            _ => None,
        };
        match metric {
            Some(metric)
                if matches!(condition.comparison, Comparator::Below | Comparator::AtMost) =>
            {
                Ok(Objective {
                    metric,
                    limit_ns: condition.limit,
                })
            }
            _ => Err(wrong(
                "sizing has objectives of latency: p50, p90, p99 or p99.9, such as p99 < 10ms"
                    .into(),
            )),
        }
    }
}

/// The highest rate of a group that meets the objective with the least connections, and whether none higher was measured.
fn highest_rate(group: &Group, objective: Objective) -> Option<(f64, bool)> {
    let mut levels: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for value in values_on_the_way(group) {
        levels
            .entry(&value.level)
            .or_default()
            .push(value.rate_per_s);
    }
    let levels: Vec<(&str, f64)> = levels
        .into_iter()
        .map(|(level, rates)| (level, rates.iter().sum::<f64>() / rates.len() as f64))
        .collect();
    let is_met = |level: &str| {
        let latency = group
            .figures
            .get(level)
            .and_then(|of| of.get(&objective.metric));
        !group.unmet.contains(level) && latency.is_some_and(|ns| *ns < objective.limit_ns)
    };
    let met = levels.iter().filter(|(level, _)| is_met(level));
    let highest = met.map(|(_, rate)| *rate).reduce(f64::max)?;
    let most = levels.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
    // Rates of one level differ by a few exchanges.
    Some((highest, highest * 1.02 >= most))
}

/// Values of the parts on the way of the load: control planes have no rate of their own.
fn values_on_the_way(group: &Group) -> impl Iterator<Item = &Measurement> {
    let parts = group.parts.values();
    let parts = parts.filter(|part| part.side != Side::ControlPlane);
    parts.take(1).flat_map(|part| &part.values)
}

fn sized(
    measured: &MeasuredGroups,
    key: &GroupKey,
    group: &Group,
    objective: Objective,
) -> SizedGroup {
    let highest = highest_rate(group, objective);
    SizedGroup {
        arm: key.arm.clone(),
        workers: key.workers,
        features: group.features.clone(),
        rate_per_s: highest.map(|(rate, _)| rate),
        is_highest_measured: highest.is_some_and(|(_, is_highest)| is_highest),
        parts: group
            .parts
            .iter()
            .map(|(name, part)| {
                let rate = highest.map(|(rate, _)| rate);
                sized_part(measured, key, group, (name, part), rate)
            })
            .collect(),
    }
}

fn sized_part(
    measured: &MeasuredGroups,
    key: &GroupKey,
    group: &Group,
    (name, part): (&String, &MeasuredPart),
    rate: Option<f64>,
) -> SizedPart {
    let repeats = measured.by_repeat(part.values.iter());
    let per_1000 = rate
        .filter(|_| part.side != Side::ControlPlane)
        .map(|rate| {
            let each = repeats.values().filter_map(|values| {
                let points = cpu_points(values.iter().copied());
                let connections = points
                    .iter()
                    .map(|point| point.connections)
                    .reduce(f64::min)?;
                let cores = cores(&points, rate, connections).ok()?;
                Some(cores / rate * 1000.0)
            });
            estimate(&each.collect::<Vec<_>>())
        });
    let fits = memory_fits(measured, (key, group), name);
    let of = |pick: fn(&MemoryFit) -> Option<f64>| {
        let values: Option<Vec<f64>> = fits.values().map(pick).collect();
        values
            .filter(|values| !values.is_empty())
            .map(|values| estimate(&values))
    };
    SizedPart {
        instance: name.clone(),
        side: part.side,
        software: part.software.clone(),
        cores_per_1000: per_1000,
        memory_base: of(|fit| Some(fit.base)),
        memory_per_connection: of(|fit| fit.per_connection),
        memory_per_service: of(|fit| fit.per_service),
        points: points(part),
    }
}

/// The memory of a part by repeat, from all arms that differ in the number of configured services alone.
fn memory_fits(
    measured: &MeasuredGroups,
    (key, group): (&GroupKey, &Group),
    part: &str,
) -> BTreeMap<Repeat, MemoryFit> {
    let relatives = measured
        .groups
        .iter()
        .filter(|(other, of)| other.workers == key.workers && of.family == group.family);
    let values = relatives.filter_map(|(_, group)| group.parts.get(part));
    let values = values.flat_map(|part| &part.values);
    let repeats = measured.by_repeat(values).into_iter();
    repeats
        .filter_map(|(repeat, values)| {
            let points = values.iter().filter_map(|value| {
                Some(MemoryPoint {
                    connections: f64::from(value.connections),
                    services: f64::from(value.services),
                    bytes: value.memory_bytes?,
                })
            });
            Some((repeat, MemoryFit::of(&points.collect::<Vec<_>>())?))
        })
        .collect()
}

/// The points of a repeat: those with the fewest configured services, one per rate and number of connections.
fn cpu_points<'a>(values: impl Iterator<Item = &'a Measurement> + Clone) -> Vec<CpuPoint> {
    let least = values.clone().map(|value| value.services).min();
    let mut cells: BTreeMap<&str, Vec<&Measurement>> = BTreeMap::new();
    for value in values.filter(|value| Some(value.services) == least) {
        cells.entry(&value.level).or_default().push(value);
    }
    let mean = |values: &[&Measurement], of: fn(&Measurement) -> Option<f64>| {
        let all: Option<Vec<f64>> = values.iter().map(|value| of(value)).collect();
        all.map(|all| all.iter().sum::<f64>() / all.len() as f64)
    };
    let cells = cells.into_values();
    cells
        .filter_map(|values| {
            Some(CpuPoint {
                rate_per_s: mean(&values, |value| Some(value.rate_per_s))?,
                connections: f64::from(values.first()?.connections),
                cores: mean(&values, |value| value.cores)?,
            })
        })
        .collect()
}

/// The measured points of a part, over all repeats.
fn points(part: &MeasuredPart) -> Vec<SizingPoint> {
    let mut levels: BTreeMap<&str, Vec<&Measurement>> = BTreeMap::new();
    for value in &part.values {
        levels.entry(&value.level).or_default().push(value);
    }
    let mut points: Vec<SizingPoint> = levels
        .into_values()
        .filter_map(|values| {
            let first = values.first()?;
            let cores: Vec<f64> = values.iter().filter_map(|value| value.cores).collect();
            let memory: Vec<f64> = values
                .iter()
                .filter_map(|value| value.memory_bytes)
                .collect();
            let rates: f64 = values.iter().map(|value| value.rate_per_s).sum();
            (!cores.is_empty()).then(|| SizingPoint {
                rate_per_s: rates / values.len() as f64,
                connections: first.connections,
                services: first.services,
                cores: estimate(&cores),
                memory: (!memory.is_empty()).then(|| estimate(&memory)),
            })
        })
        .collect();
    points.sort_by(|a, b| {
        (a.services, a.connections)
            .cmp(&(b.services, b.connections))
            .then(a.rate_per_s.total_cmp(&b.rate_per_s))
    });
    points
}

/// The mean of one value per repeat, with its 95 % interval.
fn estimate(values: &[f64]) -> SizedValue {
    if let Some((centre, interval)) = mean_interval(values) {
        return SizedValue {
            value: centre,
            low: Some(centre * interval.low),
            high: Some(centre * interval.high),
        };
    }
    SizedValue {
        value: values.iter().sum::<f64>() / values.len().max(1) as f64,
        low: None,
        high: None,
    }
}

fn conditions(run: &Run) -> Vec<String> {
    let plan = &run.plan;
    let mut conditions = Vec::new();
    if let Some(environment) = &run.environment {
        conditions.push(format!(
            "{}, {} cores; proxies and services share {} of them",
            environment.cpu_model,
            environment.cores,
            plan.placement.target_cpus.len()
        ));
    }
    let mut protocols: Vec<&str> = plan
        .workload
        .edges
        .iter()
        .map(|edge| edge.protocol.as_str())
        .collect();
    protocols.sort_unstable();
    protocols.dedup();
    conditions.push(format!(
        "workload {}, protocol {}: other protocols and sizes of requests need other values",
        plan.workload.name,
        protocols.join(", ")
    ));
    conditions
}

/// Published figures of CPU beside the measured ones: of the busiest proxy, and of an authorization server for a finding in words.
fn published(run: &Run, groups: &[SizedGroup]) -> Vec<SizingPublished> {
    let wanted = run
        .plan
        .published
        .iter()
        .filter_map(|one| match &one.figure {
            PublishedFigure::Value(value) if one.metric == Metric::ProxyCpu => {
                Some((one, format!("{value} vCPU per 1000 requests/s"), false))
            }
            PublishedFigure::Words(words) if one.metric == Metric::Cpu => {
                Some((one, words.clone(), true))
            }
            _ => None,
        });
    wanted
        .map(|(one, text, of_authorizer)| {
            let groups = groups.iter().filter(|group| group.arm == one.arm);
            let busiest = groups.filter_map(|group| {
                let parts = group.parts.iter();
                let parts = parts.filter(|part| (part.side == Side::Authorizer) == of_authorizer);
                parts
                    .filter_map(|part| Some((&part.instance, part.cores_per_1000?)))
                    .max_by(|a, b| a.1.value.total_cmp(&b.1.value))
            });
            let busiest: Vec<_> = busiest.collect();
            SizingPublished {
                arm: one.arm.clone(),
                published: text,
                instance: busiest.first().map(|(name, _)| (*name).clone()),
                measured: busiest.iter().map(|(_, cores)| *cores).collect(),
                source: one.source.clone(),
                caveat: one.caveat.clone(),
            }
        })
        .collect()
}
