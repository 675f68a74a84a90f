//! Faults during trials, and what is read back after them.

use std::rc::Rc;

use tare_record::load::{Acks, Body, ProduceSpec, RequestSpec, Stop};
use tare_record::name::Name;
use tare_record::plan::{
    Arm, FaultKind, Guarantee, PlannedFault, Preparation, PreparedTopic, ReadBackPlan, RoleLoad,
};
use tare_record::topology::Instance;

use super::external::Externals;
use super::{Input, Scope};
use crate::catalog::WorkloadFolder;
use crate::def::{ExperimentDef, FaultDef};
use crate::problem::hint;
use crate::yaml::Mark;

/// Least size of a value with a record number, which follows the timestamp.
const VALUE_BYTES_MIN: u64 = 16;

/// Faults of an arm, in order of time. `prepare` are the preparation steps of all levels.
pub(super) fn of_arm(
    scope: &mut Scope<'_>,
    Input { root, def, folder }: Input<'_>,
    (arm, prepare): (&Arm, &[&Preparation]),
) -> Vec<PlannedFault> {
    let external = Rc::clone(&scope.external);
    let instances = &arm.topology.instances;
    let mut faults: Vec<PlannedFault> = Vec::new();
    for (index, written) in def.faults.iter().enumerate() {
        match fault(written, folder, instances, prepare, &external) {
            Ok(fault) => {
                if let FaultKind::Change { of } = &fault.action {
                    let mark = root.mark_at(&["faults", &index.to_string(), "change"]);
                    changeable(scope, arm, of, mark);
                }
                faults.push(fault);
            }
            // Arms share their parts, so each mistake is reported once.
            Err(message) if *arm.name == *def.arms[0].name => {
                scope.problem(root.mark_at(&["faults", &index.to_string()]), message);
            }
            Err(_) => {}
        }
    }
    faults.sort_by_key(|fault| fault.at_ns);
    faults
}

/// Reports the changed instances whose target has no command for it.
fn changeable(scope: &mut Scope<'_>, arm: &Arm, of: &[String], mark: Mark) {
    let changed = |one: &&Instance| of.contains(&one.name);
    for instance in arm.topology.instances.iter().filter(changed) {
        let def = scope.target(&instance.target, mark);
        if def.is_some_and(|def| def.change.is_none()) {
            let (arm, name, target) = (&arm.name, &instance.name, &instance.target);
            scope.problem(
                mark,
                format!(
                    "arm {arm}: {name} cannot be changed: target {target} has no command `change`"
                ),
            );
        }
    }
}

/// What is read back after each trial of a cell; faults must be within its window.
pub(super) fn read_back(
    scope: &mut Scope<'_>,
    Input { root, def, .. }: Input<'_>,
    faults: &[PlannedFault],
    (load, prepare): (&[RoleLoad], &[Preparation]),
) -> Option<ReadBackPlan> {
    let place = match def.read_back {
        Some(_) => root.mark_at(&["read_back"]),
        None => root.mark_at(&["faults"]),
    };
    if let Some(message) = too_late(faults, load) {
        scope.problem(place, message);
    }
    topic_read_back(def, faults, (load, prepare)).unwrap_or_else(|message| {
        scope.problem(place, message);
        None
    })
}

fn fault(
    def: &FaultDef,
    folder: &WorkloadFolder,
    instances: &[Instance],
    prepare: &[&Preparation],
    external: &Externals,
) -> Result<PlannedFault, String> {
    let of = |name: &Name| match external.has(name) {
        true => Err(format!(
            "\"{name}\" is external: Tare neither ends nor starts nor holds what it did not start"
        )),
        false => subjects(name, folder, instances),
    };
    let topic = |name: &Name| topic_step(name, prepare, external);
    let mut actions: Vec<Result<FaultKind, String>> = Vec::new();
    let mut on = |name: &Option<Name>, action: fn(Vec<String>) -> FaultKind| {
        actions.extend(name.as_ref().map(|name| of(name).map(action)));
    };
    on(&def.kill, |of| FaultKind::Kill { of });
    on(&def.stop, |of| FaultKind::Stop { of });
    on(&def.start, |of| FaultKind::Start { of });
    on(&def.pause, |of| FaultKind::Pause { of });
    on(&def.resume, |of| FaultKind::Resume { of });
    on(&def.change, |of| FaultKind::Change { of });
    let elect = def.elect.as_ref().map(topic);
    actions.extend(elect.map(|step| step.map(|step| FaultKind::Elect { step })));
    let reassign = def.reassign.as_ref().map(topic);
    actions.extend(reassign.map(|step| step.map(|step| FaultKind::Reassign { step })));
    if actions.len() != 1 {
        return Err(String::from(
            "a fault does one thing: give one of kill, stop, start, pause, resume, change, elect and reassign",
        ));
    }
    actions.remove(0).map(|action| PlannedFault {
        at_ns: def.at.as_ns(),
        action,
    })
}

/// Instances that a name means: the instance itself, or all of a part.
fn subjects(
    name: &Name,
    folder: &WorkloadFolder,
    instances: &[Instance],
) -> Result<Vec<String>, String> {
    let name = name.0.as_str();
    if instances.iter().any(|instance| instance.name == name) {
        return Ok(vec![name.to_owned()]);
    }
    let is_control_plane = |one: &Instance| one.role.is_mesh() && one.target == name;
    let is_part = folder.def.parts.contains_key(name) || instances.iter().any(is_control_plane);
    let numbered = |instance: &&Instance| {
        let rest = instance.name.strip_prefix(name);
        let number = rest.and_then(|rest| rest.strip_prefix('-'));
        is_part && number.is_some_and(|number| number.parse::<u32>().is_ok())
    };
    let of_part = instances.iter().filter(numbered);
    let mut all: Vec<String> = of_part.map(|instance| instance.name.clone()).collect();
    all.sort_by_key(|name| (name.len(), name.clone()));
    if all.is_empty() {
        let hint = hint(name, instances.iter().map(|instance| &instance.name));
        return Err(format!("no instance or part \"{name}\"{hint}"));
    }
    Ok(all)
}

/// Name of a preparation step in use that creates a topic.
fn topic_step(
    name: &Name,
    prepare: &[&Preparation],
    external: &Externals,
) -> Result<String, String> {
    let steps = prepare.iter().copied();
    let known: Vec<PreparedTopic> = steps.filter_map(PreparedTopic::of).collect();
    if let Some(topic) = known.iter().find(|topic| topic.step == name.0) {
        return match external.of(&topic.part) {
            None => Ok(name.0.clone()),
            Some(_) => Err(format!(
                "the topic of step \"{name}\" is on \"{}\", which is external: Tare elects and moves nothing there",
                topic.part
            )),
        };
    }
    Err(format!(
        "no step \"{name}\" that makes a topic is taken: name one under `prepare`{}",
        hint(name, known.iter().map(|topic| &topic.step))
    ))
}

/// Reports faults planned after the end of the window.
fn too_late(faults: &[PlannedFault], load: &[RoleLoad]) -> Option<String> {
    let window_ns = load.iter().map(|role| match role.load.stop {
        Stop::Duration { window_ns } => window_ns,
        Stop::Count { .. } | Stop::Interrupted => u64::MAX,
    });
    let window_ns = window_ns.max()?;
    let late = faults.iter().find(|fault| fault.at_ns >= window_ns)?;
    Some(format!(
        "\"{}\" is planned for when the window is over: make the load's duration longer",
        late.action.in_words()
    ))
}

/// The topic to read back, if any, with the delivery guarantees that its producers' settings give.
fn topic_read_back(
    def: &ExperimentDef,
    faults: &[PlannedFault],
    (load, prepare): (&[RoleLoad], &[Preparation]),
) -> Result<Option<ReadBackPlan>, String> {
    let topics: Vec<PreparedTopic> = prepare.iter().filter_map(PreparedTopic::of).collect();
    let topic = match (&def.read_back, topics.as_slice()) {
        (Some(name), topics) => {
            let topic = topics.iter().find(|topic| topic.step == name.0);
            topic.ok_or_else(|| format!("no step \"{name}\" that makes a topic is taken"))?
        }
        (None, [one]) if !faults.is_empty() => one,
        (None, _) => return Ok(None),
    };
    let mut guarantees = vec![Guarantee::NoneLost, Guarantee::NoneDuplicated];
    let mut writers = 0;
    for role in load {
        let Some(produce) = role.load.client.get::<ProduceSpec>() else {
            continue;
        };
        let to = |path: &str| path.trim_start_matches('/') == topic.topic;
        if !role.load.requests.iter().any(|request| to(&request.path)) {
            continue;
        }
        writers += 1;
        let is_short = |request: &RequestSpec| match request.body {
            Body::Filler { bytes } => bytes < VALUE_BYTES_MIN,
            _ => false,
        };
        if role.load.requests.iter().any(is_short) {
            return Err(format!(
                "records are numbered to be read back, so a payload has at least {VALUE_BYTES_MIN} bytes"
            ));
        }
        guarantees.retain(|guarantee| match guarantee {
            Guarantee::NoneLost => produce.acks == Acks::All,
            Guarantee::NoneDuplicated => produce.idempotence,
        });
    }
    match (writers, &def.read_back) {
        (0, Some(name)) => Err(format!("nobody writes to the topic of step \"{name}\"")),
        (0, None) => Ok(None),
        _ => Ok(Some(ReadBackPlan {
            topic: topic.clone(),
            guarantees,
        })),
    }
}
