//! One cell over all its fit trials: figures, curves, resource usage of parts, errors of the generator.

use std::collections::BTreeMap;

use tare_record::agent::{GeneratorCounts, LoadResult, OutcomeCount};
use tare_record::metric::Metric;
use tare_record::plan::Plan;
use tare_record::record::{InstanceUsage, TrialRecord};
use tare_record::view::{CellView, Figure, GeneratorView, PartView, TimePoint};
use tare_stats::knee::{Knee, Saturation, knee};

use crate::latency::{MaybeLowerBound, curve};
use crate::measure::{self, TrialMetrics};
use crate::trials::{CellName, Trials};
use crate::{network, quantity};

pub fn cell(plan: &Plan, trials: &Trials<'_>, name: &CellName) -> CellView {
    let none = BTreeMap::new();
    let measured = trials.cells.get(name).unwrap_or(&none);
    let fit = trials.fit(name);
    let records: Vec<&TrialRecord> = fit.iter().map(|m| m.record).collect();
    let merged = trials.merged.get(name);
    let latency = merged.and_then(|m| m.latency.as_ref());
    let response = merged.and_then(|m| m.response.as_ref());
    let service = merged.and_then(|m| m.service.as_ref());
    let attempts = trials.attempts.get(name).copied().unwrap_or_default();
    let roles = |count: fn(&LoadResult) -> u64| -> u64 {
        records.iter().flat_map(|r| &r.load).map(count).sum()
    };
    CellView {
        arm: name.0.clone(),
        trials_fit: fit.len() as u32,
        trials_made: attempts.made,
        offered_per_s: median(records.iter().map(|r| measure::offered(r)).collect())
            .or_else(|| planned_rate(plan, name)),
        // Without measurements the rate was not reached.
        rate_reached: !records.is_empty()
            && !records.iter().any(|r| knee_position(r) == Knee::Beyond),
        ok: roles(|role| role.ok),
        errors: roles(|role| role.errors),
        unfinished: roles(|role| role.unfinished),
        never_sent: roles(LoadResult::never_sent),
        failed: trials.failed.get(name).cloned().unwrap_or_default(),
        trials_saturated: records.iter().filter(|r| r.saturated).count() as u32,
        repeated_share: attempts.repeated_share(),
        outcomes: outcomes(&records),
        figures: Metric::ALL
            .iter()
            .map(|m| figure(*m, trials, measured, &fit))
            .collect(),
        latency: latency.map(curve).unwrap_or_default(),
        response: response.map(curve).unwrap_or_default(),
        service: service.map(curve).unwrap_or_default(),
        over_time: over_time(&fit),
        parts: parts(&records),
        machine: network::machine(&plan.placement, &records),
        generator: generator(plan, &records, merged),
    }
}

/// Position of a trial relative to the knee: by its rate, then by the saturation of its cores.
pub fn knee_position(record: &TrialRecord) -> Knee {
    let cores = if record.saturated {
        Saturation::Saturated
    } else {
        Saturation::Spare
    };
    match measure::offered(record) {
        Some(offered) => knee(measure::achieved(record).unwrap_or(0.0), offered, cores),
        None if record.saturated => Knee::At,
        None => Knee::Below,
    }
}

fn planned_rate(plan: &Plan, name: &CellName) -> Option<f64> {
    let cell = plan
        .cells
        .iter()
        .find(|c| (&c.arm, &c.level) == (&name.0, &name.1))?;
    cell.load
        .iter()
        // All agents of a role together. A rate of sessions is not a rate of requests.
        .map(|role| match role.load.mix.session {
            Some(_) => None,
            None => role.load.pacing.planned_per_s(role.load.stop),
        })
        .sum()
}

fn outcomes(records: &[&TrialRecord]) -> Vec<OutcomeCount> {
    let mut outcomes: Vec<OutcomeCount> = Vec::new();
    let wrong = records
        .iter()
        .flat_map(|r| &r.load)
        .flat_map(|role| &role.outcomes)
        .filter(|outcome| outcome.class != "ok");
    for outcome in wrong {
        let same = |o: &&mut OutcomeCount| {
            (&o.request, &o.class, o.error_source)
                == (&outcome.request, &outcome.class, outcome.error_source)
        };
        match outcomes.iter_mut().find(same) {
            Some(sum) => {
                sum.count += outcome.count;
                sum.example = sum.example.take().or_else(|| outcome.example.clone());
            }
            None => outcomes.push(outcome.clone()),
        }
    }
    outcomes.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.class.cmp(&b.class)));
    outcomes
}

fn figure(
    metric: Metric,
    trials: &Trials<'_>,
    measured: &BTreeMap<(u32, u32), TrialMetrics<'_>>,
    fit: &[&TrialMetrics<'_>],
) -> Figure {
    let values: Vec<MaybeLowerBound> = fit
        .iter()
        .filter_map(|m| m.values.get(&metric).copied())
        .collect();
    let value = median(values.iter().map(|v| Some(v.value)).collect());
    // The median over blocks is a lower bound if a block at or below it is one, or at least half of the blocks.
    let is_lower_bound = value.is_some_and(|median| {
        values.iter().any(|v| v.is_lower_bound && v.value <= median)
            || values.iter().filter(|v| v.is_lower_bound).count() * 2 >= values.len()
    });
    let ends = |pick: fn(f64, f64) -> f64| values.iter().map(|v| v.value).reduce(pick);
    Figure {
        metric,
        unit: metric.unit(),
        value,
        is_lower_bound,
        low: ends(f64::min),
        high: ends(f64::max),
        by_block: trials
            .blocks
            .iter()
            .map(|block| Some(measured.get(&(*block, 0))?.values.get(&metric)?.value))
            .collect(),
        text: quantity::figure(
            metric.unit(),
            value.map(|value| MaybeLowerBound {
                value,
                is_lower_bound,
            }),
        ),
    }
}

/// Every different item once, in order of first appearance.
pub fn distinct<T: PartialEq>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut once = Vec::new();
    for item in items {
        if !once.contains(&item) {
            once.push(item);
        }
    }
    once
}

/// The median of the known, finite values; for an even number the mean of the middle two.
pub fn median(values: Vec<Option<f64>>) -> Option<f64> {
    let known = values.into_iter().flatten().filter(|v| v.is_finite());
    tare_stats::median(&known.collect::<Vec<f64>>())
}

pub fn median_u64(values: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    median(values.map(|v| v.map(|v| v as f64)).collect()).map(|v| v.round() as u64)
}

fn over_time(fit: &[&TrialMetrics<'_>]) -> Vec<TimePoint> {
    let mut seconds: BTreeMap<u64, Vec<TimePoint>> = BTreeMap::new();
    for point in fit.iter().flat_map(|m| &m.seconds) {
        seconds.entry(point.offset_ns).or_default().push(*point);
    }
    seconds
        .into_iter()
        // Seconds that at most half of the trials have (a single exchange at the end) are dropped.
        .filter(|(_, points)| points.len() * 2 > fit.len())
        .map(|(offset_ns, points)| TimePoint {
            offset_ns,
            p50_ns: median_u64(points.iter().map(|p| p.p50_ns)),
            p99_ns: median_u64(points.iter().map(|p| p.p99_ns)),
            max_ns: median_u64(points.iter().map(|p| p.max_ns)),
        })
        .collect()
}

/// Resource usage of each instance, medians over blocks, in the order of the records.
fn parts(records: &[&TrialRecord]) -> Vec<PartView> {
    let all = records.iter().flat_map(|r| &r.instances);
    let names = distinct(all.map(|part| part.instance.as_str())).into_iter();
    names.filter_map(|name| part(name, records)).collect()
}

fn part(name: &str, records: &[&TrialRecord]) -> Option<PartView> {
    let seen: Vec<(&TrialRecord, &InstanceUsage)> = records
        .iter()
        .filter_map(|r| Some((*r, r.instances.iter().find(|part| part.instance == name)?)))
        .collect();
    let (_, first) = seen.first()?;
    let per_1000 = |amount: fn(&InstanceUsage) -> Option<f64>| {
        median(
            seen.iter()
                .map(|(r, p)| measure::per_1000(r, amount(p)?))
                .collect(),
        )
    };
    let per_window = |amount: fn(&InstanceUsage) -> Option<u64>| {
        median(
            seen.iter()
                .map(|(r, p)| Some(amount(p)? as f64 / window_ns(r).filter(|ns| *ns > 0)? as f64))
                .collect(),
        )
    };
    let switches =
        |p: &InstanceUsage| Some((p.switches_voluntary? + p.switches_involuntary?) as f64);
    Some(PartView {
        instance: name.to_string(),
        role: first.role.clone(),
        software: first.software.clone(),
        cpu_s_per_1000: per_1000(|p| Some(p.cpu_ns? as f64 / 1e9)),
        cores: per_window(|p| p.cpu_ns),
        rss_peak_bytes: median_u64(seen.iter().map(|(_, p)| p.rss_peak_bytes)),
        rss_mean_bytes: median_u64(seen.iter().map(|(_, p)| p.rss_mean_bytes)),
        run_queue_wait_share: per_window(|p| p.run_queue_wait_ns),
        switches_per_1000: per_1000(switches),
        packets_per_1000: per_1000(|p| Some(p.packets? as f64)),
        packets_per_s: per_window(|p| p.packets).map(|per_ns| per_ns * 1e9),
        disk_write_per_s: per_window(|p| p.disk_write_bytes).map(|per_ns| per_ns * 1e9),
        disk_write_bytes: median_u64(seen.iter().map(|(_, p)| p.disk_write_bytes)),
        throttled_share: per_window(|p| p.throttled_ns),
    })
}

/// Length of a trial's window: that of the machine's observation, else that of the load.
fn window_ns(record: &TrialRecord) -> Option<u64> {
    record
        .machine
        .as_ref()
        .map(|machine| machine.window_ns)
        .or_else(|| record.load.iter().map(|role| role.window_ns).max())
}

fn generator(
    plan: &Plan,
    records: &[&TrialRecord],
    merged: Option<&measure::CellHistograms>,
) -> GeneratorView {
    let instruments = || {
        records
            .iter()
            .flat_map(|r| &r.load)
            .map(|role| &role.generator)
    };
    let mut counts = GeneratorCounts::default();
    instruments().for_each(|generator| counts += generator.counts);
    let agent_cpu_share = records.iter().map(|record| {
        let window = window_ns(record).filter(|ns| *ns > 0)?;
        let work = record.load.iter().map(|role| {
            let spun: u64 = role.generator.worker_spun_ns.iter().sum();
            role.generator.cpu_ns.saturating_sub(spun)
        });
        let cores = plan.placement.agent_cpus.len().max(1) as f64;
        Some(work.sum::<u64>() as f64 / window as f64 / cores)
    });
    GeneratorView {
        lateness_p50_ns: median_u64(instruments().map(|i| i.lateness.p50_ns)),
        lateness_p99_ns: instruments().filter_map(|i| i.lateness.p99_ns).max(),
        bunched_share: bunched(records),
        receive_lag_p99_ns: instruments().filter_map(|i| i.receive_lag.p99_ns).max(),
        lateness: merged
            .and_then(|m| m.lateness.as_ref())
            .map(curve)
            .unwrap_or_default(),
        agent_cpu_share: median(agent_cpu_share.collect()),
        counts,
    }
}

/// Share of bunched starts of open loops.
fn bunched(records: &[&TrialRecord]) -> Option<f64> {
    let roles = records.iter().flat_map(|record| &record.load);
    let counts = roles.filter_map(|role| Some((role.generator.bunched?, role.released)));
    let (bunched, released) = counts.fold((0, 0), |(a, b), (c, d)| (a + c, b + d));
    (released > 0).then(|| bunched as f64 / released as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_ignores_what_is_missing_and_splits_an_even_number() {
        assert_eq!(median(vec![]), None);
        assert_eq!(median(vec![None, Some(3.0)]), Some(3.0));
        assert_eq!(
            median(vec![Some(9.0), Some(1.0), None, Some(2.0), Some(4.0)]),
            Some(3.0)
        );
        assert_eq!(median(vec![Some(f64::NAN), Some(2.0)]), Some(2.0));
    }
}
