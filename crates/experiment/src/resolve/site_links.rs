//! Sites: every pod is at one, and there is a link between every two.

use std::collections::{BTreeMap, BTreeSet};

use tare_record::plan::{Addressing, Arm, Form};
use tare_record::topology::{Pod, SiteLink};

use super::{Input, Scope};
use crate::def::{ArmDef, SiteLinkDef, SitesDef};
use crate::problem::{hint, unknown};
use crate::yaml::{Mark, Node};

/// Greatest delay of one direction; a satellite link has 300 ms.
const ONE_WAY_NS_MAX: u64 = 10_000_000_000;
/// Least size of a queue: a hundred packets of 1500 bytes.
const QUEUE_BYTES_MIN: u64 = 150_000;
/// Note on sites at clusters.
pub(super) const BETWEEN_CLUSTERS: &str = "Links between sites are not emulated: round trips are those between the clusters, as measured, \
     whatever the experiment and the names of its arms say.";
/// Site of all pods if the experiment has no sites.
const SITE: &str = "here";

/// Sites of an experiment, and the pods at each.
pub(super) struct Sites<'d> {
    def: Option<&'d SitesDef>,
    /// Site of every pod that is listed.
    of_pod: BTreeMap<&'d str, &'d str>,
    /// Position of the list of pods.
    mark: Mark,
}

impl<'d> Sites<'d> {
    pub fn new(
        scope: &mut Scope<'_>,
        Input { root, def, .. }: Input<'d>,
        addressing: Addressing,
    ) -> Sites<'d> {
        let mut sites = Sites {
            def: def.sites.as_ref(),
            of_pod: BTreeMap::new(),
            mark: root.key_mark_at(&["sites", "pods"]),
        };
        let Some(def) = sites.def else {
            return sites;
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
            scope.problem(root.key_mark_at(&["sites"]), message);
        }
        if def.pods.len() < 2 {
            let message = "only one site: name two or more, or leave the sites out";
            scope.problem(sites.mark, message);
        }
        for (site, pods) in &def.pods {
            for (index, pod) in pods.iter().enumerate() {
                if let Some(other) = sites.of_pod.insert(pod, site) {
                    let message = format!("pod \"{pod}\" stands at site \"{other}\" already");
                    let path = ["sites", "pods", site, &index.to_string()];
                    scope.problem(root.mark_at(&path), message);
                }
            }
        }
        sites
    }

    /// Pods of an arm, each at its site.
    pub fn pods(
        &self,
        scope: &mut Scope<'_>,
        (arm, node): (&ArmDef, &Node),
        names: Vec<String>,
    ) -> Vec<Pod> {
        let moved = self.moved(scope, (arm, node), &names);
        let mut pods = Vec::new();
        for name in names {
            let site = moved.get(name.as_str());
            let site = site.or_else(|| self.of_pod.get(name.as_str()));
            if site.is_none() && self.def.is_some() {
                let message = format!(
                    "pod \"{name}\" of arm \"{}\" stands at no site: add it to one",
                    arm.name
                );
                scope.problem(self.mark, message);
            }
            let site = site.copied().unwrap_or(SITE).to_owned();
            pods.push(Pod { name, site });
        }
        pods
    }

    /// Pods that an arm moves to another site.
    fn moved<'a>(
        &self,
        scope: &mut Scope<'_>,
        (arm, node): (&'a ArmDef, &Node),
        names: &[String],
    ) -> BTreeMap<&'a str, &'a str> {
        let mut all: BTreeMap<&str, &str> = BTreeMap::new();
        let Some(def) = self.def else {
            if !arm.sites.is_empty() {
                let message = "there are no sites to stand at: add `sites:` to the experiment, with its links";
                scope.problem(node.key_mark_at(&["sites"]), message);
            }
            return all;
        };
        for (site, pods) in &arm.sites {
            if !def.pods.contains_key(site) {
                let message = unknown("site", site, def.pods.keys());
                scope.problem(node.key_mark_at(&["sites", site]), message);
            }
            for (number, pod) in pods.iter().enumerate() {
                let mark = node.mark_at(&["sites", site, &number.to_string()]);
                if !names.contains(&pod.0) {
                    let hint = hint(pod, names);
                    let message = format!("arm \"{}\" has no pod \"{pod}\"{hint}", arm.name);
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

    /// The links between every two sites, once the pods of all arms are known.
    pub fn links(&self, scope: &mut Scope<'_>, root: &Node, arms: &[Arm]) -> Vec<SiteLink> {
        let Some(def) = self.def else {
            return Vec::new();
        };
        let pods = arms.iter().flat_map(|arm| &arm.topology.pods);
        let known: BTreeSet<&str> = pods.map(|pod| pod.name.as_str()).collect();
        for (site, pods) in &def.pods {
            for (index, pod) in pods.iter().enumerate() {
                // The quick form may have removed the only arm with a pod.
                if !known.contains(&**pod) && scope.form == Form::Full {
                    let hint = hint(pod, &known);
                    let message = format!("no pod is called \"{pod}\" in any arm{hint}");
                    let path = ["sites", "pods", site, &index.to_string()];
                    scope.problem(root.mark_at(&path), message);
                }
            }
        }
        links(scope, root, def, arms)
    }
}

impl Sites<'_> {
    /// Notes which arms cannot run where only these sites are, each at a cluster, and takes the links as they are there.
    pub fn place(
        &self,
        scope: &mut Scope<'_>,
        root: &Node,
        known: &BTreeMap<String, String>,
        (arms, links): (&mut [Arm], &mut Vec<SiteLink>),
    ) {
        let Some(def) = self.def else {
            if !known.is_empty() {
                let message = "the experiment has no sites: leave --site out";
                scope.problem(root.key_mark_at(&["question"]), message);
            }
            return;
        };
        for site in known
            .keys()
            .filter(|site| !def.pods.contains_key(site.as_str()))
        {
            let message = unknown("site", site, def.pods.keys());
            scope.problem(self.mark, message);
        }
        if known.is_empty() {
            let all = def.pods.keys().map(|site| format!("--site {site}=CONTEXT"));
            let all: Vec<String> = all.collect();
            let message = format!("each site needs a cluster: add {}", all.join(" "));
            scope.problem(root.key_mark_at(&["sites"]), message);
        }
        for arm in arms.iter_mut().filter(|arm| arm.requires.is_none()) {
            let mut sites = arm.topology.pods.iter().map(|pod| &pod.site);
            let lacking = sites.find(|site| !known.contains_key(*site));
            arm.requires = lacking
                .map(|site| format!("a cluster for the site {site} (--site {site}=CONTEXT)"));
        }
        links.retain(|link| {
            let [one, other] = link.between.each_ref().map(|site| known.get(site));
            one.is_some() && other.is_some() && one != other
        });
        for link in links {
            *link = SiteLink {
                between: link.between.clone(),
                between_clusters: true,
                one_way_ns: 0,
                jitter_ns: 0,
                rate_bits_per_s: None,
                queue_bytes: 0,
                loss: 0.0,
            };
        }
    }
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
            let message = format!("duplicate link {}", twice.name());
            scope.problem(root.mark_at(&["sites", "links", &index]), message);
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
                scope.problem(root.key_mark_at(&["sites", "links"]), message);
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
    let mark = root.mark_at(&["sites", "links", index, "between"]);
    let [one, other] = def.between.as_slice() else {
        let message = format!("a link is between two sites, found {}", def.between.len());
        return scope.reject(mark, message);
    };
    if one == other {
        return scope.reject(mark, "a link is between two different sites");
    }
    for (at, name) in def.between.iter().enumerate() {
        if !sites.contains(&&**name) {
            let message = unknown("site", name, sites);
            let path = ["sites", "links", index, "between", &at.to_string()];
            return scope.reject(root.mark_at(&path), message);
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
    let place = |key: &str| -> Mark { root.mark_at(&["sites", "links", index, key]) };
    let one_way_ns = match (def.round_trip, def.one_way) {
        (Some(both), None) => both.as_ns() / 2,
        (None, Some(one)) => one.as_ns(),
        (Some(_), Some(_)) => {
            let message = "round_trip and one_way exclude each other: leave one out";
            return scope.reject(place("one_way"), message);
        }
        (None, None) => {
            let message = "round_trip or one_way is missing: write `round_trip: 24ms`, or one_way";
            return scope.reject(root.mark_at(&["sites", "links", index]), message);
        }
    };
    if one_way_ns > ONE_WAY_NS_MAX {
        let key = match def.one_way {
            Some(_) => "one_way",
            None => "round_trip",
        };
        scope.problem(place(key), "one_way is at most 10s");
    }
    let jitter_ns = def.jitter.map_or(0, tare_record::units::Period::as_ns);
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
        between_clusters: false,
        one_way_ns,
        jitter_ns,
        rate_bits_per_s: rate,
        queue_bytes: def.queue.map_or(usual, |size| size.0),
        loss,
    })
}
