//! Instances that others ask while they work: who asks whom, and about what.

use std::collections::BTreeMap;

use super::Scope;
use super::ways::{Actor, Cast};
use crate::def::ExperimentDef;
use crate::name::Name;
use crate::problem::list;
use crate::target::AskDef;
use crate::topology::{Asked, InstanceRole, Interception, Link, Route, Security, Settings};
use crate::yaml::{Mark, Node};

/// Somebody who asks, with the instance that is asked.
#[derive(Debug, Clone)]
pub(super) struct Asking {
    by: String,
    whom: String,
    mark: Mark,
    def: AskDef,
    share: f64,
}

/// Adds every instance that is asked to the cast.
pub(super) fn cast(
    scope: &mut Scope<'_>,
    of_targets: &BTreeMap<Name, Settings>,
    arm: &Node,
    cast: &mut Cast,
) -> Vec<Asking> {
    let mut all = Vec::new();
    for actor in cast.actors.clone() {
        if actor.role == InstanceRole::Agent || actor.external {
            continue;
        }
        let mark = actor.mark.unwrap_or(arm.mark);
        let Some(target) = scope.target(&actor.target, mark) else {
            continue;
        };
        for ask in &target.asks {
            let value = |name: &str| {
                let of_target = of_targets
                    .iter()
                    .find(|(target, _)| target.0 == actor.target)
                    .and_then(|(_, settings)| settings.get(name));
                let default = target.settings.get(name).map(|setting| &setting.default);
                actor.settings.get(name).or(of_target).or(default)
            };
            if value(&ask.when).and_then(serde_json::Value::as_bool) != Some(true) {
                continue;
            }
            let share = ask.share.as_deref().and_then(value);
            let share = share.and_then(serde_json::Value::as_f64).unwrap_or(1.0);
            if !(0.0..=1.0).contains(&share) {
                let said = format!(
                    "{} of \"{}\" is a share from 0 to 1, not {share}",
                    ask.share.as_deref().unwrap_or("share"),
                    actor.name
                );
                scope.problem(mark, said);
            }
            check_asked(scope, ask, mark);
            let whom = format!("{}-{}", actor.name, ask.name);
            if cast.get(&whom).is_some() {
                let said = format!("\"{whom}\" is there already: give one of the two another name");
                scope.problem(mark, said);
                continue;
            }
            let mut asked = Actor::new(&whom, &actor.pod, &whom, &ask.target, InstanceRole::App);
            asked.settings = ask.settings.clone();
            cast.add(asked);
            all.push(Asking {
                by: actor.name.clone(),
                whom,
                mark,
                def: ask.clone(),
                share,
            });
        }
    }
    all
}

fn check_asked(scope: &mut Scope<'_>, ask: &AskDef, mark: Mark) {
    let Some(target) = scope.target(&ask.target, mark) else {
        return;
    };
    let fits = target.roles.contains(&InstanceRole::App) && target.speaks.contains(&ask.protocol);
    if !fits {
        let said = format!(
            "target \"{}\" cannot be asked in {} as a part of its own",
            ask.target, ask.protocol
        );
        scope.problem(mark, said);
    }
}

/// The ways to those who are asked, and what they are asked about.
pub(super) fn routes(scope: &mut Scope<'_>, all: &[Asking], routes: &mut Vec<Route>) -> Vec<Asked> {
    let mut asked = Vec::new();
    for asking in all {
        let about: Vec<String> = routes
            .iter()
            .filter(|route| route.stops.contains(&asking.by))
            .filter(|route| asking.def.about.contains(&route.protocol))
            .map(|route| route.edge.clone())
            .collect();
        if about.is_empty() {
            let said = format!(
                "{} is on in \"{}\", but nothing that it could be asked about passes there: it is asked about {}",
                asking.def.when,
                asking.by,
                list(&asking.def.about)
            );
            scope.problem(asking.mark, said);
        }
        let edge = format!("{}->{}", asking.by, asking.whom);
        asked.push(Asked {
            edge: edge.clone(),
            about,
            share_setting: asking.def.share.clone(),
            share: asking.share,
        });
        routes.push(Route {
            edge,
            from: asking.by.clone(),
            to: asking.whom.clone(),
            protocol: asking.def.protocol.clone(),
            own: Security::Plaintext,
            stops: Vec::new(),
            links: vec![Link {
                security: Security::Plaintext,
                interception: Interception::Explicit,
            }],
        });
    }
    asked
}

/// A setting that decides about instances cannot differ between levels: the test bed is the arm's.
pub(super) fn check_factors(scope: &mut Scope<'_>, root: &Node, def: &ExperimentDef) {
    for key in def.factors.keys() {
        let path: Vec<&str> = key.split('.').collect();
        let ["targets", target, setting] = path.as_slice() else {
            continue;
        };
        let mark = root.key_place(&["factors", key]);
        let decides = scope
            .target(target, mark)
            .is_some_and(|target| target.asks.iter().any(|ask| ask.when == *setting));
        if decides {
            let said = format!(
                "factor \"{key}\" decides which instances there are, which belongs to the test bed: write an arm for each"
            );
            scope.problem(mark, said);
        }
    }
}
