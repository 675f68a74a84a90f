//! Sites: every pod is at one, and there is a link between every two.

use std::collections::BTreeMap;

use super::Scope;
use crate::def::{ExperimentDef, SiteLinkDef, SitesDef};
use crate::plan::{Addressing, Arm, Form};
use crate::problem::hint;
use crate::sites::SiteLink;
use crate::yaml::{Mark, Node};

/// Greatest delay of one direction; a satellite link has 300 ms.
const ONE_WAY_NS_MAX: u64 = 10_000_000_000;
/// Least size of a queue: a hundred packets of 1500 bytes.
const QUEUE_BYTES_MIN: u64 = 150_000;

/// Sets the site of every pod, and resolves the links.
pub(super) fn sites(
    scope: &mut Scope<'_>,
    root: &Node,
    def: &ExperimentDef,
    arms: &mut [Arm],
    addressing: Addressing,
) -> Vec<SiteLink> {
    let Some(written) = &def.sites else {
        for (index, arm) in def.arms.iter().enumerate() {
            if !arm.sites.is_empty() {
                let message = "there are no sites to stand at: add `sites:` to the experiment, with its links";
                scope.problem(
                    root.key_place(&["arms", &index.to_string(), "sites"]),
                    message,
                );
            }
        }
        return Vec::new();
    };
    if addressing == Addressing::Loopback {
        let message = match scope.external.is_empty() {
            true => {
                "sites need pods with a network of their own, loopback has no distance: write `addressing: namespaces` (or --addressing namespaces), or leave the sites out"
            }
            false => {
                "sites need pods with a network of their own, and what is external is reached over the host's: leave the sites out"
            }
        };
        scope.problem(root.key_place(&["sites"]), message);
    }
    let site_of = place_pods(scope, root, written, arms);
    for arm in &mut *arms {
        let other_sites = other_sites(scope, root, def, written, arm);
        for pod in &mut arm.topology.pods {
            let site = other_sites.get(pod.name.as_str());
            match site.or_else(|| site_of.get(pod.name.as_str())) {
                Some(site) => pod.site = (*site).to_owned(),
                None => {
                    let message = format!(
                        "pod \"{}\" of arm \"{}\" stands at no site: add it to one",
                        pod.name, arm.name
                    );
                    scope.problem(root.key_place(&["sites", "pods"]), message);
                }
            }
        }
    }
    links(scope, root, written, arms)
}

/// Pods that an arm moves to another site.
fn other_sites<'d>(
    scope: &mut Scope<'_>,
    root: &Node,
    def: &'d ExperimentDef,
    written: &SitesDef,
    arm: &Arm,
) -> BTreeMap<&'d str, &'d str> {
    let mut all: BTreeMap<&str, &str> = BTreeMap::new();
    let Some(at) = def.arms.iter().position(|one| *one.name == *arm.name) else {
        return all;
    };
    let index = at.to_string();
    for (site, pods) in &def.arms[at].sites {
        if !written.pods.contains_key(site) {
            let known = written.pods.keys().map(|name| &**name);
            let message = format!("unknown site \"{site}\"{}", hint(site, known));
            scope.problem(root.key_place(&["arms", &index, "sites", site]), message);
        }
        for (number, pod) in pods.iter().enumerate() {
            let mark = root.place(&["arms", &index, "sites", site, &number.to_string()]);
            let known = || arm.topology.pods.iter().map(|pod| pod.name.as_str());
            if !known().any(|one| one == &**pod) {
                let message = format!(
                    "arm \"{}\" has no pod \"{pod}\"{}",
                    arm.name,
                    hint(pod, known())
                );
                scope.problem(mark, message);
            }
            if let Some(other) = all.insert(pod, site) {
                let message = format!("pod \"{pod}\" stands at site \"{other}\" already");
                scope.problem(mark, message);
            }
        }
    }
    all
}

/// Site of every pod that is listed.
fn place_pods<'d>(
    scope: &mut Scope<'_>,
    root: &Node,
    written: &'d SitesDef,
    arms: &[Arm],
) -> BTreeMap<&'d str, &'d str> {
    let mut known: Vec<&str> = arms
        .iter()
        .flat_map(|arm| &arm.topology.pods)
        .map(|pod| pod.name.as_str())
        .collect();
    known.sort_unstable();
    known.dedup();
    if written.pods.len() < 2 {
        let message = "one site is no distance: name two or more, or leave the sites out";
        scope.problem(root.key_place(&["sites", "pods"]), message);
    }
    let mut site_of: BTreeMap<&str, &str> = BTreeMap::new();
    for (site, pods) in &written.pods {
        for (index, pod) in pods.iter().enumerate() {
            let mark = root.place(&["sites", "pods", site, &index.to_string()]);
            // The quick form may have removed the only arm with this pod.
            if !known.contains(&&**pod) && scope.form == Form::Full {
                let message = format!(
                    "no pod is called \"{pod}\" in any arm{}",
                    hint(pod, known.iter().copied())
                );
                scope.problem(mark, message);
            }
            if let Some(other) = site_of.insert(pod, site) {
                let message = format!("pod \"{pod}\" stands at site \"{other}\" already");
                scope.problem(mark, message);
            }
        }
    }
    site_of
}

fn links(scope: &mut Scope<'_>, root: &Node, written: &SitesDef, arms: &[Arm]) -> Vec<SiteLink> {
    let sites: Vec<&str> = written.pods.keys().map(|name| &**name).collect();
    let mut links: Vec<SiteLink> = Vec::new();
    for (index, def) in written.links.iter().enumerate() {
        let index = index.to_string();
        let Some(between) = ends(scope, root, &index, def, &sites) else {
            continue;
        };
        if let Some(twice) = links.iter().find(|link| link.between == between) {
            let message = format!("the link {} is given twice", twice.name());
            scope.problem(root.place(&["sites", "links", &index]), message);
        }
        links.extend(link(scope, root, &index, def, between));
    }
    for (at, one) in sites.iter().enumerate() {
        for other in &sites[at + 1..] {
            let named = |def: &SiteLinkDef| {
                let has = |site: &str| def.between.iter().any(|name| &**name == site);
                has(one) && has(other)
            };
            // Sites that never occur in one arm need no link.
            let meet = arms.iter().any(|arm| {
                let has = |site: &str| arm.topology.pods.iter().any(|pod| pod.site == site);
                has(one) && has(other)
            });
            if meet && !written.links.iter().any(named) {
                let message = format!(
                    "there is no link between \"{one}\" and \"{other}\": add `{{between: [{one}, {other}], round_trip: 24ms}}`"
                );
                scope.problem(root.key_place(&["sites", "links"]), message);
            }
        }
    }
    links
}

/// Names of the two sites, sorted.
fn ends(
    scope: &mut Scope<'_>,
    root: &Node,
    index: &str,
    def: &SiteLinkDef,
    sites: &[&str],
) -> Option<[String; 2]> {
    let mark = root.place(&["sites", "links", index, "between"]);
    let [one, other] = def.between.as_slice() else {
        let message = format!(
            "a link is between two sites, {} stand here",
            def.between.len()
        );
        scope.problem(mark, message);
        return None;
    };
    if one == other {
        scope.problem(mark, "a link is between two different sites");
        return None;
    }
    for (at, name) in def.between.iter().enumerate() {
        if !sites.contains(&&**name) {
            let message = format!(
                "unknown site \"{name}\"{}",
                hint(name, sites.iter().copied())
            );
            let path = ["sites", "links", index, "between", &at.to_string()];
            scope.problem(root.place(&path), message);
            return None;
        }
    }
    let mut between = [one.0.clone(), other.0.clone()];
    between.sort();
    Some(between)
}

fn link(
    scope: &mut Scope<'_>,
    root: &Node,
    index: &str,
    def: &SiteLinkDef,
    between: [String; 2],
) -> Option<SiteLink> {
    let place = |key: &str| -> Mark { root.place(&["sites", "links", index, key]) };
    let one_way_ns = match (def.round_trip, def.one_way) {
        (Some(both), None) => both.as_ns() / 2,
        (None, Some(one)) => one.as_ns(),
        (Some(_), Some(_)) => {
            let message = "round_trip and one_way both stand here: one of them decides";
            scope.problem(place("one_way"), message);
            return None;
        }
        (None, None) => {
            let message = "round_trip or one_way is missing write `round_trip: 24ms`, or one_way";
            scope.problem(root.place(&["sites", "links", index]), message);
            return None;
        }
    };
    if one_way_ns > ONE_WAY_NS_MAX {
        let key = if def.one_way.is_some() {
            "one_way"
        } else {
            "round_trip"
        };
        scope.problem(place(key), "one_way is at most 10s");
    }
    let jitter_ns = def.jitter.map_or(0, crate::units::Period::as_ns);
    if jitter_ns > one_way_ns {
        let message =
            "the jitter is larger than the delay of one way: nothing arrives before it is sent";
        scope.problem(place("jitter"), message);
    }
    let rate = def.rate.map(|rate| rate.0);
    if rate == Some(0) {
        scope.problem(
            place("rate"),
            "a rate must be more than 0: leave it out for no limit",
        );
    }
    if def.queue.is_some() && rate.is_none() {
        scope.problem(
            place("queue"),
            "a queue needs a rate: add one, or leave the queue out",
        );
    }
    if def.queue.is_some_and(|queue| queue.0 == 0) {
        scope.problem(
            place("queue"),
            "a rate without a queue drops everything: write a size such as 150kB",
        );
    }
    let loss = def.loss.map_or(0.0, |share| share.0);
    if loss >= 1.0 {
        scope.problem(
            place("loss"),
            "nothing is left when all is lost: write a share such as 0.1%",
        );
    }
    let usual = rate.map_or(0, |rate| {
        let round_trip_bytes = u128::from(rate) * u128::from(one_way_ns) * 2 / 8_000_000_000;
        QUEUE_BYTES_MIN.max(round_trip_bytes as u64)
    });
    Some(SiteLink {
        between,
        one_way_ns,
        jitter_ns,
        rate_bits_per_s: rate,
        queue_bytes: def.queue.map_or(usual, |size| size.0),
        loss,
    })
}
