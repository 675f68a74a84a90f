//! Sentences on levels compared: "With 3 replicas, against 1: records produced fall to × 0.61 (0.58–0.64)".

use tare_record::metric::Metric;
use tare_record::plan::{Level, Plan};
use tare_record::view::{Family, Outcome, Overhead, View};

use super::clauses::{UndecidedMetrics, capitalize, list, metric_name};
use super::findings::primary;
use crate::{quantity, saturation};

/// A sentence per arm and level, the last level first.
pub fn sentences(plan: &Plan, view: &View) -> Vec<String> {
    each_level(plan, view, |[level, base], overheads, arm| {
        let of_arm = match view.arms.len() {
            1 => String::new(),
            _ => format!(" in {arm}"),
        };
        sentence(plan, [level, base], overheads, &of_arm)
    })
}

/// The sentences on each level with the one that it is compared with, its overheads and their arm.
fn each_level(
    plan: &Plan,
    view: &View,
    sentence: impl Fn([&Level; 2], &[&Overhead], &str) -> Option<String>,
) -> Vec<String> {
    let mut texts = Vec::new();
    for arm in view.arms.iter().filter(|arm| arm.not_run.is_none()) {
        for level in plan.levels.iter().skip(1).rev() {
            let overheads = primary(view, plan, Family::Primary, &arm.name, &level.name);
            let base = overheads.first().map(|one| one.against_level.as_str());
            let base = plan.levels.iter().find(|level| Some(&*level.name) == base);
            texts.extend(base.and_then(|base| sentence([level, base], &overheads, &arm.name)));
        }
    }
    texts
}

/// The same for a provisional run: ratios without intervals.
pub fn so_far(plan: &Plan, view: &View) -> Vec<String> {
    each_level(plan, view, |[level, base], overheads, _| {
        let ratio = |one: &&Overhead| {
            let ratio = quantity::times(&one.ratio?);
            Some(format!("{} {ratio}", metric_name(one.metric)))
        };
        let ratios: Vec<String> = overheads.iter().filter_map(ratio).collect();
        let what = level_phrase(plan, level, Place::Subject);
        let against = level_phrase(plan, base, Place::Object);
        let ratios = (!ratios.is_empty()).then(|| list(&ratios))?;
        Some(format!("So far {what}, against {against}: {ratios}."))
    })
}

/// The first level that saturates this machine, where a count (of producers, …) grows from level to level; `None` if no level
/// before the last does.
pub fn past_saturation(plan: &Plan, view: &View) -> Option<String> {
    let first = plan.levels.first()?;
    let mut keys = first.values.keys();
    let (Some(key), None) = (keys.next(), keys.next()) else {
        return None;
    };
    // With a second role, the count alone is not the load.
    let is_alone = plan.cells.iter().all(|cell| cell.load.len() == 1);
    if !(key.starts_with("load.") && key.ends_with(".agents") && is_alone) {
        return None;
    }
    let grows = |pair: &[Level]| {
        let amount = |level: &Level| level.values.get(key).and_then(serde_json::Value::as_f64);
        amount(&pair[0]) < amount(&pair[1])
    };
    if !plan.levels.windows(2).all(grows) {
        return None;
    }
    let mut levels = view.levels.iter().zip(&plan.levels);
    let (level, reason, after) = loop {
        let (shown, level) = levels.next()?;
        if let Some(reason) = saturation::saturated_cores(plan, shown) {
            break (level, reason, levels.count());
        }
    };
    (after > 0).then(|| {
        format!(
            "{reason} were saturated {} already: levels beyond show contention for the CPU, not scaling.",
            level_phrase(plan, level, Place::Subject)
        )
        .replacen("the", "The", 1)
    })
}

fn sentence(
    plan: &Plan,
    [level, base]: [&Level; 2],
    overheads: &[&Overhead],
    of_arm: &str,
) -> Option<String> {
    let mut differing = Vec::new();
    let mut same = Vec::new();
    let mut undecided = UndecidedMetrics::default();
    for overhead in overheads {
        let metric_name = metric_name(overhead.metric);
        match &overhead.outcome {
            Outcome::Differs { .. } => differing.extend(ratio_clause(overhead, metric_name)),
            Outcome::Same => {
                let change = match is_plural(overhead.metric) {
                    true => "change",
                    false => "changes",
                };
                same.push(format!(
                    "{metric_name} {change} by less than {}",
                    overhead.margin_text
                ));
            }
            Outcome::Undecided { more_blocks } => {
                let ratio = overhead.ratio.as_ref().map(quantity::times);
                undecided.add(format!("{metric_name} {}", ratio?), *more_blocks);
            }
            // Reasons for no verdict have sentences of their own.
            Outcome::Descriptive | Outcome::None { .. } => {}
        }
    }
    let what = level_phrase(plan, level, Place::Subject);
    let against = level_phrase(plan, base, Place::Object);
    let mut parts = Vec::new();
    if !differing.is_empty() {
        parts.push(list(&differing));
    }
    parts.extend(same);
    parts.extend(undecided.clauses());
    let repeats = overheads.iter().find_map(|one| one.repeats.as_ref());
    let repeats = repeats.map_or_else(String::new, |text| format!(" {text}"));
    (!parts.is_empty()).then(|| {
        let what = capitalize(&what);
        format!(
            "{what}{of_arm}, against {against}: {}.{repeats}",
            parts.join("; ")
        )
    })
}

/// Whether a metric's name is a plural: "records produced fall".
fn is_plural(metric: Metric) -> bool {
    matches!(
        metric,
        Metric::RecordsProduced
            | Metric::BytesProduced
            | Metric::RecordsConsumed
            | Metric::BytesConsumed
    )
}

/// "throughput falls to × 0.61 (0.58–0.64)".
fn ratio_clause(overhead: &Overhead, name: &str) -> Option<String> {
    let ratio = overhead.ratio?;
    let many = is_plural(overhead.metric);
    let way = match (ratio.estimate < 1.0, many) {
        (true, false) => "falls",
        (true, true) => "fall",
        (false, false) => "rises",
        (false, true) => "rise",
    };
    Some(format!("{name} {way} to {}", quantity::times(&ratio)))
}

/// Position of a level in its sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// "with 3 replicas", at its beginning.
    Subject,
    /// "1", after "against", without the noun.
    Object,
}

/// A level as a phrase: one numeric factor gives "with 3 replicas" or "at 2000 requests/s", else its name.
fn level_phrase(plan: &Plan, level: &Level, place: Place) -> String {
    let named = |name: &str| match place {
        Place::Subject => format!("with {name}"),
        Place::Object => name.to_owned(),
    };
    let mut values = level.values.iter();
    let (Some((key, value)), None) = (values.next(), values.next()) else {
        return named(&level.name);
    };
    if key == "load.rate" {
        let rate = super::level_words(plan, &level.name);
        return match place {
            Place::Subject => format!("at {rate}"),
            Place::Object => rate,
        };
    }
    // `load.producers.agents` counts producers.
    let key = key.strip_suffix(".agents").unwrap_or(key);
    let noun = key.rsplit('.').next().unwrap_or(key);
    let Some(number) = value.as_f64() else {
        let word = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        return match place {
            Place::Subject => format!("with {noun} {word}"),
            Place::Object => word,
        };
    };
    // The name of a factor that is a count is a plural.
    match (noun.strip_suffix('s'), place) {
        (Some(_), Place::Subject) if number == 0.0 => format!("without {noun}"),
        (Some(_), Place::Object) if number == 0.0 => String::from("none"),
        (Some(_), Place::Object) => value.to_string(),
        (Some(one), Place::Subject) if number == 1.0 => format!("with 1 {one}"),
        (Some(_), Place::Subject) => format!("with {value} {noun}"),
        (None, _) => named(&level.name),
    }
}
