//! Pacing and stop condition of a role.

use std::path::Path;

use tare_record::files;
use tare_record::load::{AtEnd, LoadSpec, Pacing, RateStep, Shard, Stop, ThinkDistribution};
use tare_record::text::word_of;
use tare_record::units::Period;

use super::Scope;
use super::load::{Role, at};
use crate::def::{LoadDef, LoadModel, RateDef, RateWord};
use crate::yaml::Node;

/// Keys of a load: name, whether it is given, and the models it belongs to.
fn keys(def: &LoadDef) -> [(&'static str, bool, &'static [LoadModel]); 13] {
    use LoadModel::{Closed, Constant, Max, Poisson, Ramp, Replay, Steps};
    let number = per_second(def).is_some();
    // For constant and poisson, a missing number is reported elsewhere.
    let word = def.rate.is_some() && !number;
    [
        ("rate", number, &[Constant, Poisson]),
        ("rate", word, &[Constant, Poisson, Max]),
        ("from", def.from.is_some(), &[Ramp]),
        ("to", def.to.is_some(), &[Ramp]),
        ("ramp_duration", def.ramp_duration.is_some(), &[Ramp]),
        ("steps", def.steps.is_some(), &[Steps]),
        ("interarrival", def.interarrival.is_some(), &[Ramp, Steps]),
        ("recording", def.recording.is_some(), &[Replay]),
        ("speed", def.speed.is_some(), &[Replay]),
        ("at_end", def.at_end.is_some(), &[Replay]),
        ("clients", def.clients.is_some(), &[Closed]),
        ("think_time", def.think_time.is_some(), &[Closed]),
        (
            "think_distribution",
            def.think_distribution.is_some(),
            &[Closed],
        ),
    ]
}

fn per_second(def: &LoadDef) -> Option<f64> {
    match def.rate? {
        RateDef::PerSecond(rate) => Some(rate),
        RateDef::Word(RateWord::Max) => None,
    }
}

/// The model as given, else derived from the other keys.
fn model(def: &LoadDef) -> Option<LoadModel> {
    let by_key: [(bool, LoadModel); 6] = [
        (def.to.is_some(), LoadModel::Ramp),
        (def.steps.is_some(), LoadModel::Steps),
        (def.recording.is_some(), LoadModel::Replay),
        (per_second(def).is_some(), LoadModel::Constant),
        (def.rate.is_some(), LoadModel::Max),
        (def.clients.is_some(), LoadModel::Closed),
    ];
    let written = by_key.into_iter().find(|(is_written, _)| *is_written);
    def.model.or(written.map(|(_, model)| model))
}

pub(super) fn pacing(
    scope: &mut Scope<'_>,
    root: &Node,
    role: &Role<'_>,
    stop: Stop,
) -> Option<Pacing> {
    let def = role.def;
    let Some(model) = model(def) else {
        let message = "say how fast: rate: 400, clients: 20, or model: max";
        return scope.reject(root.key_mark_at(&role.path), message);
    };
    for (key, is_written, models) in keys(def) {
        if is_written && !models.contains(&model) {
            let names: Vec<String> = models.iter().map(word_of).collect();
            let message = format!(
                "{key} belongs to model {}: take one of them out",
                names.join(" or ")
            );
            scope.problem(at(root, role, key), message);
        }
    }
    let made = of_model(scope.file, model, def, stop);
    let about = match model {
        LoadModel::Replay => "recording",
        _ => "model",
    };
    made.map_err(|message| scope.problem(at(root, role, about), message))
        .ok()
}

fn of_model(file: &str, model: LoadModel, def: &LoadDef, stop: Stop) -> Result<Pacing, String> {
    let missing = |what: &str| format!("model {} needs {what}", word_of(&model));
    let rate = || per_second(def).ok_or_else(|| missing("a rate in numbers"));
    let interarrival = def.interarrival.unwrap_or_default();
    Ok(match model {
        LoadModel::Constant => Pacing::Constant {
            rate_per_s: rate()?,
        },
        LoadModel::Poisson => Pacing::Poisson {
            rate_per_s: rate()?,
        },
        LoadModel::Ramp => Pacing::Ramp {
            from_per_s: def.from.ok_or_else(|| missing("from: a rate, or 0"))?,
            to_per_s: def.to.ok_or_else(|| missing("to: a rate"))?,
            ramp_ns: match (def.ramp_duration, stop) {
                (Some(over), _) => over.as_ns(),
                (None, Stop::Duration { window_ns }) => window_ns,
                (None, Stop::Count { .. } | Stop::Interrupted) => {
                    return Err(missing("the time it goes over"));
                }
            },
            interarrival,
        },
        LoadModel::Steps => Pacing::Steps {
            steps: steps(def).ok_or_else(|| missing("steps"))?,
            interarrival,
        },
        LoadModel::Replay => {
            let recording = def
                .recording
                .as_deref()
                .ok_or_else(|| missing("a recording"))?;
            Pacing::Replay {
                file: beside(file, recording)?,
                speed: def.speed.unwrap_or(1.0),
                at_end: def.at_end.unwrap_or(AtEnd::Stop),
                shard: Shard::ALL,
            }
        }
        LoadModel::Closed => Pacing::Closed {
            clients: def.clients.ok_or_else(|| missing("clients"))?,
            think_time_ns: def.think_time.map_or(0, Period::as_ns),
            think_distribution: def.think_distribution.unwrap_or(ThinkDistribution::None),
        },
        LoadModel::Max => Pacing::Max,
    })
}

fn steps(def: &LoadDef) -> Option<Vec<RateStep>> {
    let steps = def.steps.as_deref().filter(|steps| !steps.is_empty())?;
    let one = |step: &crate::def::RateStepDef| RateStep {
        rate_per_s: step.rate,
        length_ns: step.length.as_ns(),
    };
    Some(steps.iter().map(one).collect())
}

/// Absolute path of a file in the experiment's folder; agents run in other directories.
fn beside(experiment: &str, file: &str) -> Result<String, String> {
    let folder = Path::new(experiment).parent().unwrap_or(Path::new(""));
    let path = files::resolve_inside(folder, file)?.into_os_string();
    let text = path.into_string();
    text.map_err(|_| format!("{file} stands in a folder whose name is not valid UTF-8 text"))
}

/// Resolves the stop condition of a role.
pub(super) fn stop(scope: &mut Scope<'_>, root: &Node, role: &Role<'_>) -> Option<Stop> {
    match (role.def.requests, role.def.duration) {
        (Some(_), Some(_)) => {
            let message = "duration and requests both end the window: take one of them out";
            scope.reject(at(root, role, "requests"), message)
        }
        (Some(exchanges), None) => Some(Stop::Count { exchanges }),
        (None, Some(duration)) if duration.0.is_zero() => scope.reject(
            at(root, role, "duration"),
            "the window must be longer than nothing",
        ),
        (None, duration) => Some(Stop::Duration {
            window_ns: duration
                .map(Period::as_ns)
                .or_else(|| steps_ns(role.def))
                .unwrap_or(LoadSpec::WINDOW_NS),
        }),
    }
}

/// Total length of all steps.
fn steps_ns(def: &LoadDef) -> Option<u64> {
    let steps = def.steps.as_deref()?;
    let sum = steps
        .iter()
        .map(|step| step.length.as_ns())
        .fold(0, u64::saturating_add);
    (sum > 0).then_some(sum)
}
