//! Levels compared, in sentences: "With 3 replicas, against 1: records written fall to × 0.61 (0.58–0.64)".

use tare_schema::metric::Metric;
use tare_schema::plan::{Level, Plan};
use tare_schema::view::{Family, Outcome, Overhead, View};

use super::clauses::{Open, at_start, bare, list};
use super::findings::primary;
use crate::{full, quantity};

/// A sentence per arm and level, the last level first: it is the whole of what is asked.
pub fn of_levels(plan: &Plan, view: &View) -> Vec<String> {
    let mut texts = Vec::new();
    for arm in view.arms.iter().filter(|arm| arm.not_run.is_none()) {
        for level in plan.levels.iter().skip(1).rev() {
            let overheads = primary(view, plan, Family::Primary, &arm.name, &level.name);
            let of_arm = match view.arms.len() {
                1 => String::new(),
                _ => format!(" in {}", arm.name),
            };
            texts.extend(sentence(plan, level, &overheads, &of_arm));
        }
    }
    texts
}

/// The same before there are intervals: ratios only.
pub fn so_far(plan: &Plan, view: &View) -> Vec<String> {
    let mut texts = Vec::new();
    for arm in view.arms.iter().filter(|arm| arm.not_run.is_none()) {
        for level in plan.levels.iter().skip(1).rev() {
            let overheads = primary(view, plan, Family::Primary, &arm.name, &level.name);
            let Some(base) = overheads.first().map(|one| one.against_level.as_str()) else {
                continue;
            };
            let Some(base) = plan.levels.iter().find(|level| level.name == base) else {
                continue;
            };
            let said: Vec<String> = overheads
                .iter()
                .filter_map(|one| {
                    Some(format!(
                        "{} {}",
                        bare(one.metric),
                        quantity::times(&one.ratio?)
                    ))
                })
                .collect();
            if !said.is_empty() {
                let (what, against) = (
                    with(plan, level, Place::Subject),
                    with(plan, base, Place::Object),
                );
                texts.push(format!(
                    "So far {what}, against {against}: {}.",
                    list(&said)
                ));
            }
        }
    }
    texts
}

/// From which level on this machine is full, where each level puts more load on it; nothing where one had room throughout.
pub fn past_saturation(plan: &Plan, view: &View) -> Option<String> {
    let first = plan.levels.first()?;
    let mut keys = first.values.keys();
    let (Some(key), None) = (keys.next(), keys.next()) else {
        return None;
    };
    // With another role beside it, more of one is not more of the same.
    let is_alone = plan.cells.iter().all(|cell| cell.load.len() == 1);
    if !(key.starts_with("load.") && key.ends_with(".count") && is_alone) {
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
    let (level, why, after) = loop {
        let (shown, level) = levels.next()?;
        if let Some(why) = full::why(plan, shown) {
            break (level, why, levels.count());
        }
    };
    (after > 0).then(|| {
        format!(
            "{why} were full {} already: what lies beyond shows how a full machine shares itself out, not what more of them carry.",
            with(plan, level, Place::Subject)
        )
        .replacen("the", "The", 1)
    })
}

fn sentence(plan: &Plan, level: &Level, overheads: &[&Overhead], of_arm: &str) -> Option<String> {
    let base = overheads.first()?.against_level.as_str();
    let base = plan.levels.iter().find(|level| level.name == base)?;
    let mut told = Vec::new();
    let mut same = Vec::new();
    let mut open = Open::default();
    for overhead in overheads {
        let bare = bare(overhead.metric);
        match &overhead.outcome {
            Outcome::Differs { .. } => told.extend(moved(overhead, bare)),
            Outcome::Same => {
                let change = match counts_several(overhead.metric) {
                    true => "change",
                    false => "changes",
                };
                same.push(format!(
                    "{bare} {change} by less than {}",
                    overhead.margin_text
                ));
            }
            Outcome::Undecided { more_blocks } => {
                let ratio = overhead.ratio.as_ref().map(quantity::times);
                open.take(format!("{bare} {}", ratio?), *more_blocks);
            }
            // Why there is no verdict is said once for all that it is true of.
            Outcome::Described | Outcome::None { .. } => {}
        }
    }
    let what = with(plan, level, Place::Subject);
    let against = with(plan, base, Place::Object);
    let mut parts = Vec::new();
    if !told.is_empty() {
        parts.push(list(&told));
    }
    parts.extend(same);
    parts.extend(open.clauses());
    let repeats = overheads.iter().find_map(|one| one.repeats.as_ref());
    let repeats = repeats.map_or_else(String::new, |said| format!(" {said}"));
    (!parts.is_empty()).then(|| {
        let what = at_start(&what);
        format!(
            "{what}{of_arm}, against {against}: {}.{repeats}",
            parts.join("; ")
        )
    })
}

/// Whether a metric is called by what it counts: "records written fall".
fn counts_several(metric: Metric) -> bool {
    matches!(
        metric,
        Metric::RecordsWritten | Metric::BytesWritten | Metric::RecordsRead | Metric::BytesRead
    )
}

/// "throughput falls to × 0.61 (0.58–0.64)".
fn moved(overhead: &Overhead, name: &str) -> Option<String> {
    let ratio = overhead.ratio?;
    let many = counts_several(overhead.metric);
    let way = match (ratio.estimate < 1.0, many) {
        (true, false) => "falls",
        (true, true) => "fall",
        (false, false) => "rises",
        (false, true) => "rise",
    };
    Some(format!("{name} {way} to {}", quantity::times(&ratio)))
}

/// Where a level stands in its sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// "with 3 replicas", at its beginning.
    Subject,
    /// "1", behind "against", where the noun was said before.
    Object,
}

/// A level as people say it; one factor with a number gives "with 3 replicas" or "at 2000 requests/s", anything else its name.
fn with(plan: &Plan, level: &Level, place: Place) -> String {
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
    // `load.producers.count` counts producers.
    let key = key.strip_suffix(".count").unwrap_or(key);
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
    // A factor that is counted has a plural for its name.
    match (noun.strip_suffix('s'), place) {
        (Some(_), Place::Subject) if number == 0.0 => format!("without {noun}"),
        (Some(_), Place::Object) if number == 0.0 => String::from("none"),
        (Some(_), Place::Object) => value.to_string(),
        (Some(one), Place::Subject) if number == 1.0 => format!("with 1 {one}"),
        (Some(_), Place::Subject) => format!("with {value} {noun}"),
        (None, _) => named(&level.name),
    }
}
