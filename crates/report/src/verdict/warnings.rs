//! Warnings: conditions that may invalidate figures, each once, with its figures.

use std::collections::BTreeMap;

use tare_record::agent::LoadResult;
use tare_record::record::{LinkDirectionUsage, RunProgress, TrialRecord};
use tare_record::view::{CellView, LevelView, Sentence, SentenceKind, View, ViewState};

use super::clauses::{list, metric_name};
use super::excluded::excluded_trials;
use super::{at_level, levels, sentence};
use crate::cells::median;
use crate::links::{direction_names, link_directions, unintended_drops};
use crate::read::Run;
use crate::{quantity, saturation};

/// CPU share of other programs above which there is a warning: as large as the effects to be measured.
const BACKGROUND_SHARE: f64 = 0.05;

/// CPU share of instances of other arms above which there is a warning: the results then hold for cores that are shared like this.
const OTHER_ARMS_SHARE: f64 = 0.1;

/// Steal time of the hypervisor above which there is a warning.
const STEAL_SHARE: f64 = 0.01;

/// Share of the periods in which a CPU limit held a part back above which that is said.
const THROTTLED_SHARE: f64 = 0.01;

/// Share of late packets in a link direction above which there is a warning: beyond it p99 is affected.
const LATE_SHARE: f64 = 0.01;

/// Upper limit of unreadable files that are named.
const SKIPPED_NAMED: usize = 3;

pub fn warnings(run: &Run, view: &View) -> Vec<Sentence> {
    let mut texts = Vec::new();
    texts.extend(progress(view));
    texts.extend(rate(run, view));
    texts.extend(external(run));
    texts.extend(unverified_paths(run));
    texts.extend(skipped_levels(run));
    texts.extend(knees(run, view));
    texts.extend(levels::past_saturation(&run.plan, view));
    texts.extend(excluded_trials(run));
    texts.extend(machine(run));
    texts.extend(busy_cores(run, view));
    texts.extend(throttled(run));
    texts.extend(generator(run));
    texts.extend(links(run));
    texts.extend(errors(view));
    texts.extend(skipped(view));
    texts
        .into_iter()
        .map(|text| sentence(SentenceKind::Warning, text))
        .collect()
}

fn progress(view: &View) -> Option<String> {
    let reason = view
        .run
        .end_reason
        .as_ref()
        .map(|reason| format!(" ({reason})"))
        .unwrap_or_default();
    let ended = match view.run.progress {
        RunProgress::Complete
            if view.run.state == ViewState::Complete
                || view.run.blocks_complete >= view.run.blocks_planned =>
        {
            return None;
        }
        RunProgress::Complete => "The run ended with fewer blocks than planned",
        RunProgress::Running => "The run is not finished, or was killed",
        RunProgress::Interrupted => "The run was interrupted",
        RunProgress::Failed => "The run failed",
    };
    Some(format!(
        "{ended}{reason}: {} of {} blocks are complete.",
        view.run.blocks_complete, view.run.blocks_planned
    ))
}

fn rate(run: &Run, view: &View) -> Vec<String> {
    let mut texts = Vec::new();
    for level in &view.levels {
        for cell in level
            .cells
            .iter()
            .filter(|cell| cell.trials_fit > 0 && !cell.rate_reached)
        {
            texts.push(format!(
                "OFFERED RATE NOT ACHIEVED: {}{}, offered {}; its latency is not valid for this rate.",
                cell.arm,
                at_level(&run.plan, &level.name),
                quantity::figure(
                    tare_record::metric::Unit::PerSecond,
                    cell.offered_per_s
                        .map(crate::latency::MaybeLowerBound::exact)
                ),
            ));
        }
    }
    texts
}

/// External parts: their paths cannot be proved.
fn external(run: &Run) -> Vec<String> {
    let not_proved = run.plan.not_proved().into_iter();
    let texts = not_proved.map(|(one, arms)| {
        let words = one.in_words();
        format!(
            "NOT PROVED in {}: {words}. What agents and proxies count themselves is proved.",
            list(&arms.into_iter().map(String::from).collect::<Vec<_>>())
        )
    });
    texts.collect()
}

/// Arms without a counter that could prove the path of the traffic.
fn unverified_paths(run: &Run) -> Option<String> {
    let fit = fit(run);
    // Arms with external parts have a warning of their own.
    let arms = run.plan.arms.iter();
    let arms = arms.filter(|arm| arm.topology.not_proved().is_empty());
    let arms = arms.map(|arm| &arm.name).filter(|arm| {
        let mut of_arm = fit.iter().filter(|record| record.arm == **arm).peekable();
        of_arm.peek().is_some() && of_arm.all(|record| record.proofs.is_empty())
    });
    let arms: Vec<String> = arms.cloned().collect();
    (!arms.is_empty()).then(|| {
        format!(
            "Path not verified in {}: no counters. Results are kept.",
            list(&arms)
        )
    })
}

/// Levels that the plan skips.
fn skipped_levels(run: &Run) -> Vec<String> {
    let left = run.plan.skipped_levels.iter();
    left.map(|left| format!("{} was skipped: {}.", left.level, left.reason))
        .collect()
}

fn knees(run: &Run, view: &View) -> Vec<String> {
    let is_max_rate = |level: &&LevelView| saturation::is_max_rate(&run.plan, &level.name);
    let (fast, others): (Vec<_>, Vec<_>) = view.levels.iter().partition(is_max_rate);
    let mut texts: Vec<String> = max_rate(&fast).into_iter().collect();
    for level in others {
        // A closed loop is expected to saturate its target.
        if saturation::is_closed(&run.plan, &level.name) {
            continue;
        }
        if let Some(reason) = &level.beyond_knee {
            texts.push(format!(
                "{} lies beyond the knee of this machine ({reason}): latency there is dominated by queueing, it is not the cost of an arm.",
                level.name
            ));
            continue;
        }
        for cell in level.cells.iter().filter(|cell| cell.trials_saturated > 0) {
            texts.push(format!(
                "{} at {}: the parts' cores were saturated in {} of {} trials.",
                cell.arm, level.name, cell.trials_saturated, cell.trials_fit
            ));
        }
    }
    texts
}

/// One warning for all levels with a load at maximum rate.
fn max_rate(levels: &[&LevelView]) -> Option<String> {
    let cells = || levels.iter().flat_map(|level| &level.cells);
    let fit: u32 = cells().map(|cell| cell.trials_fit).sum();
    let full: u32 = cells().map(|cell| cell.trials_saturated).sum();
    (full > 0).then(|| {
        format!(
            "The parts' cores were saturated in {full} of {fit} trials at max rate, as such a load is meant to fill them: throughput is the \
             capacity of this machine, and latency is mostly waiting."
        )
    })
}

/// Parts that their CPU limits held back, each with the arms in which they did.
fn throttled(run: &Run) -> Vec<String> {
    let mut parts: BTreeMap<&str, BTreeMap<&str, (u64, u64)>> = BTreeMap::new();
    for record in fit(run) {
        for part in &record.instances {
            let (Some(held), Some(all)) = (part.throttled_periods, part.quota_periods) else {
                continue;
            };
            let of_part = parts.entry(&part.instance).or_default();
            let sums = of_part.entry(&record.arm).or_default();
            *sums = (sums.0 + held, sums.1 + all);
        }
    }
    let texts = parts.into_iter().filter_map(|(part, arms)| {
        let shares = arms.into_iter().filter_map(|(arm, (held, all))| {
            let share = held as f64 / all.max(1) as f64;
            (share > THROTTLED_SHARE).then(|| format!("{arm} ({})", quantity::percent(share)))
        });
        let shares: Vec<String> = shares.collect();
        (!shares.is_empty()).then(|| {
            format!(
                "The CPU limit of {part} held it back in {}: these are shares of the periods of 100 ms in which it ran. Latency includes the waits.",
                list(&shares)
            )
        })
    });
    texts.collect()
}

fn fit(run: &Run) -> Vec<&TrialRecord> {
    let records = run.trials.iter().map(|trial| &trial.record);
    records
        .filter(|record| record.status.is_fit() && !record.superseded)
        .collect()
}

/// Links between sites that did not behave as configured.
fn links(run: &Run) -> Vec<String> {
    let fit = fit(run);
    let mut texts = Vec::new();
    for (from, to) in direction_names(&fit) {
        let each: Vec<&LinkDirectionUsage> = fit
            .iter()
            .filter_map(|record| link_directions(record).find(|w| (&*w.from, &*w.to) == (from, to)))
            .collect();
        let dropped: Vec<u64> = each
            .iter()
            .map(|w| unintended_drops(w))
            .filter(|n| *n > 0)
            .collect();
        if !dropped.is_empty() {
            texts.push(format!(
                "The link from {from} to {to} dropped {} beyond its configured loss, in {} of {} trials: their retransmission is in the latencies.",
                quantity::counted(dropped.iter().sum(), "packet", "packets"),
                dropped.len(),
                each.len()
            ));
        }
        // One late write may hold several packets: a lower bound of the share.
        let late = each.iter().map(|way| {
            (way.packets_out > 0).then_some(way.late_writes as f64 / way.packets_out as f64)
        });
        if let Some(share) = median(late.collect()).filter(|share| *share > LATE_SHARE) {
            texts.push(format!(
                "{} of the packets from {from} to {to} arrived over 0.2 ms later than configured: the machine was too busy to keep the delay of the link.",
                quantity::percent(share)
            ));
        }
    }
    texts
}

fn machine(run: &Run) -> Vec<String> {
    let fit = fit(run);
    let usage = |share: fn(&tare_record::record::MachineUsage) -> Option<f64>| {
        median(
            fit.iter()
                .map(|record| share(record.machine.as_ref()?))
                .collect(),
        )
    };
    let mut texts = Vec::new();
    let parts = usage(|machine| Some(machine.background?.target_cores));
    let agents = usage(|machine| machine.background?.agent_cores);
    let noticed = |share: &f64| *share > BACKGROUND_SHARE;
    if parts.iter().chain(&agents).any(noticed) {
        let percent = |share: Option<f64>| quantity::percent(share.unwrap_or_default());
        let own = match run.plan.placement.agent_cpus.len() {
            1 => "core",
            _ => "cores",
        };
        texts.push(match agents {
            Some(_) => format!(
                "Other programs used {} of the parts' cores and {} of the generator's {own} during the run.",
                percent(parts),
                percent(agents)
            ),
            None => format!("Other programs used {} of the cores during the run.", percent(parts)),
        });
    }
    let others = usage(|machine| machine.other_arms).filter(|share| *share > OTHER_ARMS_SHARE);
    if let Some(others) = others {
        let cores = match run.plan.placement.agents_have_cores_of_their_own() {
            true => "the parts' cores",
            false => "the cores",
        };
        let programs = parts.map(|share| format!("; other programs {}", quantity::percent(share)));
        texts.push(format!(
            "Instances of other arms, which should have been paused, used {} of {cores}{}. The results hold for cores that are \
             shared like this; with `restart: block` only one arm is up at a time.",
            quantity::percent(others),
            programs.unwrap_or_default()
        ));
    }
    if let Some(steal) = usage(|machine| machine.steal_share).filter(|share| *share > STEAL_SHARE) {
        texts.push(format!(
            "The hypervisor took {} of the time: this machine shares its cores.",
            quantity::percent(steal)
        ));
    }
    texts
}

/// Saturated parts' cores with a relevant share of other programs or other arms: the busiest cell of each level.
fn busy_cores(run: &Run, view: &View) -> Vec<String> {
    let mut texts = Vec::new();
    for level in &view.levels {
        let cells = level.cells.iter();
        let all = cells.filter_map(|cell| {
            let busy = cell.machine.target_cores_busy?;
            Some((cell, busy, used_by_others(cell)))
        });
        let full = all.filter(|(_, busy, others)| {
            *busy > run.plan.fitness.saturated_busy && !others.is_empty()
        });
        if let Some((cell, busy, others)) = full.max_by(|a, b| a.1.total_cmp(&b.1)) {
            texts.push(format!(
                "{}{}: the parts' cores were {} busy, {}.",
                cell.arm,
                at_level(&run.plan, &level.name),
                quantity::percent(busy),
                list(&others)
            ));
        }
    }
    texts
}

/// Who else used a relevant share of the parts' cores, and how much.
fn used_by_others(cell: &CellView) -> Vec<String> {
    let machine = &cell.machine;
    let noticed = |share: Option<f64>, least: f64, who: &str| {
        let share = share.filter(|share| *share > least)?;
        Some(format!("{:.0} points of it {who}", share * 100.0))
    };
    let programs = noticed(
        machine.background_target_share,
        BACKGROUND_SHARE,
        "other programs",
    );
    let arms = noticed(
        machine.other_arms_share,
        OTHER_ARMS_SHARE,
        "instances of other arms",
    );
    programs.into_iter().chain(arms).collect()
}

/// Loads without a schedule that were limited by the generator.
fn generator(run: &Run) -> Option<String> {
    let fit = fit(run);
    let limit = run.plan.fitness.worker_busy;
    let is_limit = |role: &LoadResult| {
        let shares = role.generator.worker_busy_shares(role.window_ns);
        role.generator.bunched.is_none() && shares.iter().any(|share| *share > limit)
    };
    let limited = fit.iter().filter(|record| record.load.iter().any(is_limit));
    let limited = limited.count();
    (limited > 0).then(|| {
        format!(
            "The generator was the limit in {limited} of {}: a worker was over {} busy. Give the load more workers, and more cores.",
            quantity::counted(fit.len() as u64, "trial", "trials"),
            quantity::percent(limit)
        )
    })
}

/// The A/A check found a difference beyond the margin between the two copies of the baseline.
pub fn baseline(run: &Run, view: &View) -> Option<Sentence> {
    let found = view.baseline_check.as_ref()?.differences.iter();
    let texts: Vec<String> = found
        .filter(|one| one.passes_margin)
        .map(|one| {
            let at = at_level(&run.plan, &one.level);
            format!("{} {}{at}", metric_name(one.metric), one.ratio_text)
        })
        .collect();
    (!texts.is_empty()).then(|| {
        let text = format!(
            "The baseline measured twice differs from itself: {}. Differences of this size are not to be trusted in this run.",
            list(&texts)
        );
        sentence(SentenceKind::Warning, text)
    })
}

fn errors(view: &View) -> Vec<String> {
    let mut texts = Vec::new();
    for level in &view.levels {
        for cell in &level.cells {
            let wrong = cell.errors + cell.unfinished + cell.never_sent;
            let all = cell.ok + wrong;
            if wrong == 0 || all == 0 || has_finding(view, &cell.arm, &level.name) {
                continue;
            }
            let worst = cell
                .outcomes
                .first()
                .map(|o| format!(", most of them {}", o.class));
            texts.push(format!(
                "{} at {}: {} of {} exchanges failed ({} errors, {} unfinished, {} never sent{}).",
                cell.arm,
                level.name,
                wrong,
                all,
                cell.errors,
                cell.unfinished,
                cell.never_sent,
                worst.unwrap_or_default()
            ));
        }
    }
    texts
}

/// Whether a finding reports the failures of a cell.
fn has_finding(view: &View, arm: &str, level: &str) -> bool {
    let cell = (arm, level);
    view.failures
        .iter()
        .any(|one| cell == (&one.arm, &one.level) || cell == (&one.against, &one.against_level))
}

fn skipped(view: &View) -> Option<String> {
    let named: Vec<&str> = view
        .unreadable_files
        .iter()
        .take(SKIPPED_NAMED)
        .map(String::as_str)
        .collect();
    let rest = view.unreadable_files.len().saturating_sub(SKIPPED_NAMED);
    let more = if rest > 0 {
        format!("; and {rest} more")
    } else {
        String::new()
    };
    (!named.is_empty()).then(|| {
        let files = quantity::counted(view.unreadable_files.len() as u64, "file", "files");
        format!(
            "{files} could not be read and skipped: {}{more}.",
            named.join("; ")
        )
    })
}
