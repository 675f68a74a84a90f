//! Preparation steps of a level.

use std::collections::BTreeSet;
use std::str::FromStr;
use std::time::Duration;

use tare_record::name::Name;
use tare_record::plan::{Preparation, PreparedTopic, RoleLoad, TRIAL};
use tare_record::topology::Settings;
use tare_record::units::Period;

use super::workload::ResolvedWorkload;
use super::{Input, Scope, audit, load, request};
use crate::def::{LoadDef, LoadModel, PrepareDef, TopicDef};
use crate::problem::unknown;

/// Prefix of the names of topics that Tare may create and delete on external clusters.
const OWN: &str = "tare-";
/// Timeout of a record that fills a topic: brokers may take their time.
const FILL_TIMEOUT: Duration = Duration::from_secs(60);

/// The steps that the experiment names and those that its loads need; steps with neither topic nor request are skipped.
pub(super) fn steps(
    scope: &mut Scope<'_>,
    input @ Input { root, def, folder }: Input<'_>,
    resolved: &ResolvedWorkload,
    loads: &[RoleLoad],
) -> Vec<Preparation> {
    let kinds = load::kinds(scope, input);
    let needed: BTreeSet<&Name> = kinds.iter().flat_map(|kind| &kind.prepare).collect();
    let needed = needed
        .into_iter()
        .filter(|name| !def.prepare.contains(name));
    let requested = def.prepare.iter().enumerate();
    let requested =
        requested.map(|(index, name)| (name, root.mark_at(&["prepare", &index.to_string()])));
    let load = root.key_mark_at(&["load"]);
    let mut all = Vec::new();
    for (name, place) in needed.map(|name| (name, load)).chain(requested) {
        let Some(step) = folder.def.prepare.get(name) else {
            continue;
        };
        let made = match (&step.topic, &step.request) {
            (Some(wanted), _) => topic(scope, input, (name, step), wanted, resolved),
            (None, Some(request)) => {
                let over = (step.edge.as_ref(), step.timeout);
                let ask = audit::ask(request, over, folder, resolved, loads);
                ask.map(|ask| Preparation::Request {
                    step: name.0.clone(),
                    ask: Box::new(ask),
                })
            }
            (None, None) => continue,
        };
        match made {
            Ok(step) => all.push(step),
            Err(message) => {
                let message = format!("step \"{name}\" of the workload: {message}");
                scope.problem(place, message);
            }
        }
    }
    all
}

/// Reports topics of a single trial that a load uses and no step creates.
pub(super) fn check_topics(
    scope: &mut Scope<'_>,
    Input { root, folder, .. }: Input<'_>,
    resolved: &ResolvedWorkload,
    (loads, steps): (&[RoleLoad], &[Preparation]),
) {
    let is_made = |wanted: &str| {
        let mut made = steps.iter().filter_map(PreparedTopic::of);
        made.any(|made| made.topic == wanted)
    };
    let loads = loads.iter().filter(|role| role.load.client.uses_topics());
    let paths = loads.flat_map(|role| &role.load.requests);
    let mut paths: Vec<&str> = paths.map(|request| request.path.as_str()).collect();
    paths.dedup();
    for path in paths {
        if !path.contains(TRIAL) || is_made(path) {
            continue;
        }
        let makes = |step: &PrepareDef| {
            let topic = step.topic.as_ref();
            topic.is_some_and(|topic| {
                request::fill(&topic.name, &resolved.settings).is_ok_and(|name| name == path)
            })
        };
        let mut known = folder.def.prepare.iter().filter(|(_, step)| makes(step));
        let next = match known.next() {
            Some((name, _)) => format!("add \"{name}\" to prepare"),
            None => "the workload has no step for it: write another topic".to_owned(),
        };
        let message = format!("no step makes the topic \"{path}\" before a trial: {next}");
        scope.problem(root.key_mark_at(&["load"]), message);
    }
}

fn topic(
    scope: &mut Scope<'_>,
    input: Input<'_>,
    (step, prepare): (&str, &PrepareDef),
    def: &TopicDef,
    resolved: &ResolvedWorkload,
) -> Result<Preparation, String> {
    let (parts, settings) = (&input.folder.def.parts, &resolved.settings);
    if !parts.contains_key(&def.part) {
        return Err(unknown("part", &def.part, parts.keys()));
    }
    let topic = request::fill(&def.name, settings)?;
    if resolved.external.of(&def.part).is_some() && !topic.starts_with(OWN) {
        return Err(format!(
            "\"{}\" is external, and of its topics Tare makes and deletes only those whose names begin with {OWN}",
            def.part
        ));
    }
    let mut fill = None;
    if let Some(filled) = &def.prefill {
        let load = LoadDef {
            kind: Some(filled.load.clone()),
            model: Some(LoadModel::Max),
            connections: Some(1),
            requests: Some(number(&filled.records, settings)?),
            warmup: Some(Period(Duration::ZERO)),
            timeout: Some(Period(FILL_TIMEOUT)),
            ..LoadDef::default()
        };
        fill = load::alone(scope, input, &load, resolved).map(Box::new);
        for request in fill.iter_mut().flat_map(|load| &mut load.requests) {
            request.path.clone_from(&topic);
        }
    }
    Ok(Preparation::Topic {
        step: step.to_owned(),
        when: prepare.when.unwrap_or_default(),
        part: def.part.0.clone(),
        port: def.port.clone(),
        topic,
        partitions: number(&def.partitions, settings)?,
        replicas: number(&def.replicas, settings)?,
        fill,
    })
}

/// A number above 0, with settings filled in.
fn number<T: FromStr + From<u8> + PartialOrd>(
    text: &str,
    settings: &Settings,
) -> Result<T, String> {
    let filled = request::fill(text, settings)?;
    let number = filled.parse::<T>().ok();
    let number = number.filter(|number| *number > T::from(0));
    number.ok_or_else(|| format!("\"{filled}\" is not a number above 0"))
}
