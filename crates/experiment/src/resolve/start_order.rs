//! Pods, and the start order of instances.

use std::collections::{BTreeMap, BTreeSet};

use tare_record::topology::{Instance, Route};

use super::routing::InstanceDrafts;

/// Names of the pods of all apps, agents, and hops that do not share another's pod.
pub(super) fn pods(drafts: &InstanceDrafts) -> Vec<String> {
    let mut pods: Vec<String> = Vec::new();
    for draft in drafts.started() {
        if !pods.contains(&draft.pod) {
            pods.push(draft.pod.clone());
        }
    }
    pods
}

/// Instances in start order: called before callers; in a cycle, the order of the workload decides.
pub(super) fn in_start_order(drafts: &InstanceDrafts, routes: &[Route]) -> Vec<Instance> {
    let mut next: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for route in routes {
        let mut path: Vec<&str> = vec![&route.from];
        path.extend(route.proxies.iter().map(String::as_str));
        path.push(&route.to);
        for pair in path.windows(2) {
            next.entry(pair[0]).or_default().push(pair[1]);
        }
    }
    sidecars_first(drafts, &mut next);
    let mut order: Vec<&str> = Vec::new();
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    for draft in &drafts.all {
        visit(&draft.name, &next, &mut seen, &mut order);
    }
    order
        .into_iter()
        .filter_map(|name| drafts.get(name))
        .filter(|draft| !draft.external)
        .map(|draft| Instance {
            name: draft.name.clone(),
            pod: draft.pod.clone(),
            target: draft.target.clone(),
            role: draft.role,
            settings: draft.settings.clone(),
            host: draft.host.clone(),
        })
        .collect()
}

/// An app that calls through its own sidecar needs it up first, as in a mesh that holds apps until their proxy is ready. So
/// where the two call each other, calls from the proxy to the app do not count.
fn sidecars_first<'a>(drafts: &InstanceDrafts, next: &mut BTreeMap<&'a str, Vec<&'a str>>) {
    let proxies = drafts.all.iter().filter(|draft| draft.role.is_proxy());
    for proxy in proxies.map(|draft| draft.name.as_str()) {
        let called = next.get(proxy).cloned().unwrap_or_default();
        let calls_back = |app: &&str| {
            let apps = drafts.get(app).is_some_and(|draft| !draft.role.is_proxy());
            apps && next.get(app).is_some_and(|calls| calls.contains(&proxy))
        };
        let kept: Vec<&str> = called.into_iter().filter(|app| !calls_back(app)).collect();
        if let Some(calls) = next.get_mut(proxy) {
            *calls = kept;
        }
    }
}

/// Depth-first traversal: everything that an instance calls comes before it. Recursion is as deep as a chain of calls is long.
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
