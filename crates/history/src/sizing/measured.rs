//! Runs → values of each instance by repeat, in groups that differ in nothing but load and configured services.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use tare_record::api::{ProxyFeatures, Side};
use tare_record::metric::Metric;
use tare_record::plan::{Arm, Cell, Plan};
use tare_record::record::{InstanceUsage, TrialRecord};
use tare_record::topology::{Instance, InstanceRole, Security};
use tare_report::{Run, throughput};

/// Setting of targets with the number of worker threads.
const WORKERS: &str = "workers";
/// Setting of targets with the number of further services in the configuration.
const SERVICES: &str = "services";

/// A run, or a block of it.
pub type Repeat = (usize, u32);

/// A part in one repeat and cell.
#[derive(Debug, Clone, PartialEq)]
pub struct Measurement {
    pub repeat: Repeat,
    pub level: String,
    pub rate_per_s: f64,
    pub connections: u32,
    pub services: u32,
    pub cores: Option<f64>,
    pub memory_bytes: Option<f64>,
}

/// A part of an arm with one number of workers.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredPart {
    pub side: Side,
    pub software: String,
    pub values: Vec<Measurement>,
}

/// What a group is known by.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct GroupKey {
    /// Place of the arm in the plan.
    place: usize,
    pub arm: String,
    pub workers: Option<u64>,
}

impl GroupKey {
    pub fn new(place: usize, arm: &str, workers: Option<u64>) -> GroupKey {
        GroupKey {
            place,
            arm: arm.to_owned(),
            workers,
        }
    }
}

/// An arm with one number of workers.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Group {
    pub features: ProxyFeatures,
    /// Target, protocol, interception and all settings of the proxies but workers and configured services. Arms that agree in it
    /// share their memory.
    pub family: String,
    pub parts: BTreeMap<String, MeasuredPart>,
    /// Median latency by level and metric, over the repeats.
    pub figures: BTreeMap<String, BTreeMap<Metric, f64>>,
    /// Levels whose rate was not reached, or where requests failed.
    pub unmet: BTreeSet<String>,
}

/// All groups of runs of one experiment.
pub fn groups(runs: &[Run]) -> BTreeMap<GroupKey, Group> {
    let mut groups: BTreeMap<GroupKey, Group> = BTreeMap::new();
    for (number, run) in runs.iter().enumerate() {
        add(&mut groups, number, run);
    }
    groups
}

fn add(groups: &mut BTreeMap<GroupKey, Group>, number: usize, run: &Run) {
    let plan = &run.plan;
    let views = tare_report::view::levels(run);
    for (place, arm) in plan.arms.iter().enumerate() {
        let sides = sides(plan, arm);
        if sides.is_empty() {
            continue;
        }
        for cell in plan.cells.iter().filter(|cell| cell.arm == arm.name) {
            let key = GroupKey::new(place, &arm.name, workers(arm, cell));
            let group = groups.entry(key).or_default();
            group.features = features(arm, cell);
            group.family = family(arm, cell);
            let cell_view = views
                .iter()
                .filter(|level| level.name == cell.level)
                .flat_map(|level| &level.cells)
                .find(|view| view.arm == arm.name);
            if let Some(view) = cell_view {
                let figures = view.figures.iter();
                let known = figures.filter_map(|figure| Some((figure.metric, figure.value?)));
                group.figures.insert(cell.level.clone(), known.collect());
                if !view.rate_reached || view.errors + view.unfinished + view.never_sent > 0 {
                    group.unmet.insert(cell.level.clone());
                }
            }
            let trials = run.trials.iter().map(|trial| &trial.record);
            let counted = trials.filter(|record| {
                record.arm == arm.name
                    && record.level == cell.level
                    && record.status.is_fit()
                    && !record.superseded
                    && record.aa_copy == 0
            });
            for record in counted {
                add_trial(group, &sides, (number, arm, cell), record);
            }
        }
    }
}

fn add_trial(
    group: &mut Group,
    sides: &BTreeMap<String, (Side, f64)>,
    (number, arm, cell): (usize, &Arm, &Cell),
    record: &TrialRecord,
) {
    let Some(rate) = throughput(record).filter(|rate| *rate > 0.0) else {
        return;
    };
    let connections = cell
        .load
        .iter()
        .map(|role| role.load.client.connections)
        .sum();
    for usage in &record.instances {
        let Some((side, share)) = sides.get(&usage.instance) else {
            continue;
        };
        let services = instance(arm, &usage.instance)
            .and_then(|one| cell.setting(one, SERVICES)?.as_u64())
            .unwrap_or(0);
        let part = group
            .parts
            .entry(usage.instance.clone())
            .or_insert_with(|| MeasuredPart {
                side: *side,
                software: usage.software.clone(),
                values: Vec::new(),
            });
        part.values.push(Measurement {
            repeat: (number, record.block),
            level: record.level.clone(),
            rate_per_s: rate * share,
            connections,
            services: u32::try_from(services).unwrap_or(u32::MAX),
            cores: cores(usage, record),
            memory_bytes: usage.rss_peak_bytes.map(|bytes| bytes as f64),
        });
    }
}

fn cores(usage: &InstanceUsage, record: &TrialRecord) -> Option<f64> {
    let window_ns = record.machine.as_ref()?.window_ns;
    (window_ns > 0).then_some(usage.cpu_ns? as f64 / window_ns as f64)
}

/// The parts that are sized, each with its place on the way of the load and its share of the requests.
///
/// Proxies of further edges are left out: their rate depends on what the parts call.
fn sides(plan: &Plan, arm: &Arm) -> BTreeMap<String, (Side, f64)> {
    let topology = &arm.topology;
    let mut sides: BTreeMap<String, (Side, f64)> = BTreeMap::new();
    let loaded: BTreeSet<&str> = plan
        .cells
        .iter()
        .filter(|cell| cell.arm == arm.name)
        .flat_map(|cell| cell.load.iter().map(|role| role.edge.as_str()))
        .collect();
    let further: BTreeSet<&str> = topology
        .routes
        .iter()
        .filter(|route| !loaded.contains(route.edge.as_str()))
        .flat_map(|route| route.proxies.iter().map(String::as_str))
        .collect();
    let pod = |name: &str| instance(arm, name).map(|one| one.pod.as_str());
    for edge in &loaded {
        let routes = topology.routes.iter().filter(|route| route.edge == *edge);
        let routes: Vec<_> = routes.collect();
        for route in &routes {
            for proxy in route
                .proxies
                .iter()
                .filter(|name| !further.contains(name.as_str()))
            {
                let side = match pod(proxy) {
                    beside if beside == pod(&route.from) => Side::Caller,
                    beside if beside == pod(&route.to) => Side::Called,
                    _ => Side::Between,
                };
                let part = sides.entry(proxy.clone()).or_insert((side, 0.0));
                part.1 += 1.0 / routes.len() as f64;
            }
        }
    }
    if sides.is_empty() {
        return sides;
    }
    for authorizer in &topology.ext_authz {
        let routes = topology.routes.iter();
        let mut routes = routes.filter(|route| route.edge == authorizer.edge);
        if let Some(route) = routes.next() {
            sides.insert(route.to.clone(), (Side::Authorizer, 1.0));
        }
    }
    let control = topology.instances.iter();
    for part in control.filter(|one| one.role == InstanceRole::ControlPlane) {
        sides.insert(part.name.clone(), (Side::ControlPlane, 1.0));
    }
    sides
}

fn instance<'a>(arm: &'a Arm, name: &str) -> Option<&'a Instance> {
    let mut instances = arm.topology.instances.iter();
    instances.find(|one| one.name == name)
}

fn proxies(arm: &Arm) -> impl Iterator<Item = &Instance> {
    let instances = arm.topology.instances.iter();
    instances.filter(|one| one.role.is_proxy())
}

fn workers(arm: &Arm, cell: &Cell) -> Option<u64> {
    let first = proxies(arm).next()?;
    cell.setting(first, WORKERS)?.as_u64()
}

/// The settings of an instance, without those that sizing has a place of its own for.
fn settings<'a>(
    cell: &'a Cell,
    one: &'a Instance,
) -> impl Iterator<Item = (&'a String, &'a Value)> {
    let of_target = cell.targets.get(&one.target).into_iter().flatten();
    let all: BTreeMap<&String, &Value> = of_target.chain(&one.settings).collect();
    let is_kept = |name: &str| name != SERVICES && name != WORKERS;
    all.into_iter().filter(move |(name, _)| is_kept(name))
}

/// What the proxies do: the security of the segments between them, and the settings of all of them. Those of a mesh are settings
/// of its control plane, which writes the configuration of the proxies.
fn features(arm: &Arm, cell: &Cell) -> ProxyFeatures {
    let inner = arm.topology.routes.iter().filter_map(|route| {
        let last = route.proxies.len();
        route.segments.get(1..last)
    });
    let security = inner.flatten().map(|segment| segment.security).max();
    let instances = arm.topology.instances.iter();
    let parts = instances.filter(|one| one.role.is_proxy() || one.role.is_mesh());
    let settings = parts.flat_map(|one| settings(cell, one));
    ProxyFeatures {
        security: security.unwrap_or(Security::Plaintext),
        settings: settings
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect(),
    }
}

/// What tells apart arms that do not share their memory.
fn family(arm: &Arm, cell: &Cell) -> String {
    let parts = proxies(arm).map(|one| {
        let settings = settings(cell, one).map(|(name, value)| format!("{name}={value}"));
        let settings: Vec<String> = settings.collect();
        format!("{} {} {}", one.name, one.target, settings.join(","))
    });
    let routes = arm.topology.routes.iter().map(|route| {
        let segments = serde_json::to_string(&route.segments).unwrap_or_default();
        format!("{} {} {segments}", route.edge, route.protocol)
    });
    parts.chain(routes).collect::<Vec<_>>().join("\n")
}
