//! Pods, and instances in the order in which they start.

use std::collections::{BTreeMap, BTreeSet};

use super::ways::Cast;
use crate::topology::{Instance, Pod, Route};

/// Site of a pod when an experiment has none.
const SITE: &str = "here";

/// A pod for every app, agent and hop that does not stand beside another.
pub(super) fn pods(cast: &Cast) -> Vec<Pod> {
    let mut pods: Vec<Pod> = Vec::new();
    for actor in cast.started() {
        if !pods.iter().any(|pod| pod.name == actor.pod) {
            pods.push(Pod {
                name: actor.pod.clone(),
                site: SITE.to_owned(),
            });
        }
    }
    pods
}

/// Called before callers; where calls go round in a circle, the order of the workload decides.
pub(super) fn in_start_order(cast: &Cast, routes: &[Route]) -> Vec<Instance> {
    let mut next: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for route in routes {
        let mut way: Vec<&str> = vec![&route.from];
        way.extend(route.stops.iter().map(String::as_str));
        way.push(&route.to);
        for pair in way.windows(2) {
            next.entry(pair[0]).or_default().push(pair[1]);
        }
    }
    sidecars_first(cast, &mut next);
    let mut order: Vec<&str> = Vec::new();
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    for actor in &cast.actors {
        visit(&actor.name, &next, &mut seen, &mut order);
    }
    order
        .into_iter()
        .filter_map(|name| cast.get(name))
        .filter(|actor| !actor.external)
        .map(|actor| Instance {
            name: actor.name.clone(),
            pod: actor.pod.clone(),
            target: actor.target.clone(),
            role: actor.role,
            settings: actor.settings.clone(),
            host: actor.host.clone(),
        })
        .collect()
}

/// An app that calls through its own sidecar needs it up, as in a mesh that holds apps back until their proxy serves; so
/// where the two call each other, the way in does not count.
fn sidecars_first<'a>(cast: &Cast, next: &mut BTreeMap<&'a str, Vec<&'a str>>) {
    let proxies = cast.actors.iter().filter(|actor| actor.role.is_proxy());
    for proxy in proxies.map(|actor| actor.name.as_str()) {
        let called = next.get(proxy).cloned().unwrap_or_default();
        let calls_back = |app: &&str| {
            let apps = cast.get(app).is_some_and(|actor| !actor.role.is_proxy());
            apps && next.get(app).is_some_and(|calls| calls.contains(&proxy))
        };
        let kept: Vec<&str> = called.into_iter().filter(|app| !calls_back(app)).collect();
        if let Some(calls) = next.get_mut(proxy) {
            *calls = kept;
        }
    }
}

/// Depth first: everything an instance calls comes before it. Chains are as long as a route, so recursion is shallow.
fn visit<'a>(
    name: &'a str,
    next: &BTreeMap<&'a str, Vec<&'a str>>,
    seen: &mut BTreeSet<&'a str>,
    order: &mut Vec<&'a str>,
) {
    if !seen.insert(name) {
        return;
    }
    for called in next.get(name).into_iter().flatten() {
        visit(called, next, seen, order);
    }
    order.push(name);
}
