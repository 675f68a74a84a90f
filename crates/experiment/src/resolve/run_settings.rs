//! Settings of the run as a whole: blocks, cores, limits, metrics.

use std::collections::{BTreeMap, BTreeSet};

use tare_record::metric::Metric;
use tare_record::name::Name;
use tare_record::plan::{Arm, Blocks, Limits, Placement};

use super::external::refuse;
use super::{Input, ResolveOptions, Scope};
use crate::def::{BlocksDef, LimitsDef};
use crate::problem::hint;
use crate::yaml::Node;

/// Default of the relative margin.
pub(super) const MARGIN: f64 = 0.05;
/// Default of the absolute margin of latencies: a share of a very short latency is imperceptible.
pub(super) const MARGIN_ABSOLUTE_NS: u64 = 20_000;
/// Default number of blocks: the least that shows an outlier.
const BLOCKS: u32 = 5;
/// Default metrics with verdicts: typical latency, tail latency, cost.
const PRIMARY: [Metric; 3] = [Metric::Median, Metric::P99, Metric::Cpu];

pub(super) fn blocks(
    scope: &mut Scope<'_>,
    Input { root, def, .. }: Input<'_>,
    choices: &ResolveOptions,
) -> Blocks {
    let fixed = |count: u32| Blocks {
        min: count,
        max: count,
        until: None,
    };
    let blocks = match def.blocks {
        None => fixed(BLOCKS),
        Some(BlocksDef::Number(count)) => fixed(count),
        Some(BlocksDef::Range(range)) => {
            if range.min > range.max {
                let message = format!("min {} is above max {}", range.min, range.max);
                scope.problem(root.mark_at(&["blocks", "min"]), message);
            }
            if range.until.is_some_and(|until| until.half_width <= 0.0) {
                let message = "half_width must be more than 0: write a share such as 5%";
                scope.problem(root.mark_at(&["blocks", "until", "half_width"]), message);
            }
            range
        }
    };
    choices.blocks.map_or(blocks, fixed)
}

/// Burn-in: warm-up of the first trial on freshly started targets.
pub(super) fn burn_in(scope: &mut Scope<'_>, Input { root, def, .. }: Input<'_>) -> Option<u64> {
    let burn_in = def.burn_in?;
    if !def.faults.is_empty() {
        let message = "faults need trials of equal length, but burn_in makes the first one longer: leave burn_in out";
        scope.problem(root.mark_at(&["burn_in"]), message);
    }
    u64::try_from(burn_in.0.as_nanos()).ok()
}

/// Default placement: agents on the last core, everything else on the others; with one core, no pinning.
pub(super) fn placement(
    scope: &mut Scope<'_>,
    Input { root, def, .. }: Input<'_>,
    cores: &[u32],
) -> Placement {
    let (agent_cpus, target_cpus) = match cores.split_last() {
        Some((last, others)) if !others.is_empty() => (vec![*last], others.to_vec()),
        _ => (Vec::new(), Vec::new()),
    };
    let mut placement = Placement {
        agent_cpus,
        target_cpus,
    };
    let Some(written) = &def.placement else {
        return placement;
    };
    for (key, list) in [("agents", &written.agents), ("targets", &written.targets)] {
        for (index, core) in list.iter().flatten().enumerate() {
            if !cores.contains(core) {
                let known: Vec<String> = cores.iter().map(u32::to_string).collect();
                let known = crate::problem::list(&known);
                let message = format!("there is no core {core} here: the cores are {known}");
                scope.problem(
                    root.mark_at(&["placement", key, &index.to_string()]),
                    message,
                );
            }
        }
    }
    if let Some(agents) = &written.agents {
        placement.agent_cpus.clone_from(agents);
        placement.target_cpus = cores.to_vec();
        placement.target_cpus.retain(|core| !agents.contains(core));
    }
    if let Some(targets) = &written.targets {
        placement.target_cpus.clone_from(targets);
    }
    placement
}

/// Limits of instances in all arms; those of single arms are set in these.
pub(super) fn limits(
    scope: &mut Scope<'_>,
    Input { root, def, .. }: Input<'_>,
    arms: &mut [Arm],
) -> BTreeMap<String, Limits> {
    let nodes = root.get("arms").map_or(&[][..], Node::items);
    for ((arm, def), node) in arms.iter_mut().zip(&def.arms).zip(nodes) {
        let known = names([&*arm]);
        arm.limits = known_limits(scope, (node, &def.limits), &known, "in this arm");
    }
    let known = names(arms.iter());
    known_limits(scope, (root, &def.limits), &known, "in any arm")
}

/// Names of all instances of these arms.
fn names<'a>(arms: impl IntoIterator<Item = &'a Arm>) -> BTreeSet<String> {
    let instances = arms.into_iter().flat_map(|arm| &arm.topology.instances);
    instances.map(|instance| instance.name.clone()).collect()
}

/// Limits of what is there.
fn known_limits(
    scope: &mut Scope<'_>,
    (node, def): (&Node, &BTreeMap<Name, LimitsDef>),
    known: &BTreeSet<String>,
    within: &str,
) -> BTreeMap<String, Limits> {
    let mut limits = BTreeMap::new();
    for (name, written) in def {
        let mark = node.key_mark_at(&["limits", name]);
        if scope.external.has(name) {
            let advice = "its limits are not Tare's to set, leave them out";
            refuse(scope, mark, name, advice);
            continue;
        }
        if !known.contains(&name.0) {
            // The quick form may have removed the only arm with this instance.
            if scope.form == tare_record::plan::Form::Full {
                let hint = hint(name, known);
                let message = format!("nothing is called \"{name}\" {within}{hint}");
                scope.problem(mark, message);
            }
            continue;
        }
        limits.insert(
            name.0.clone(),
            Limits {
                cpu: written.cpu.map(|cores| cores.0),
                memory_bytes: written.memory.map(|size| size.0),
            },
        );
    }
    limits
}

pub(super) fn primary(scope: &mut Scope<'_>, Input { root, def, .. }: Input<'_>) -> Vec<Metric> {
    let Some(written) = &def.primary else {
        let mut usual = PRIMARY.to_vec();
        // A metric that cannot be measured has no verdict.
        usual.retain(|metric| *metric != Metric::Cpu || scope.external.count_cpu());
        return usual;
    };
    for (index, metric) in written.iter().enumerate() {
        if Metric::OF_BENCHMARKS.contains(metric) {
            let message = format!("no trial has {}: it is of golden checks", metric.name());
            scope.problem(root.mark_at(&["primary", &index.to_string()]), message);
        }
        if written[..index].contains(metric) {
            let message = format!("duplicate {}", metric.label());
            scope.problem(root.mark_at(&["primary", &index.to_string()]), message);
        }
    }
    written.clone()
}
