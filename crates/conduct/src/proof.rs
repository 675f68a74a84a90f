//! Path proof: the counters of every instance on the path must have grown by exactly what was sent.

use std::collections::BTreeSet;

use tare_lab::environment::InstanceCounters;
use tare_record::counter::{CounterReading, REJECTION_REASONS};
use tare_record::plan::{Arm, Cell, Plan};
use tare_record::protocol::{Counted, counted};
use tare_record::record::Proof;
use tare_record::topology::{Route, Security, Topology};

use crate::traffic::{self, ExpectedTraffic, SentTraffic};

mod connections;
mod ext_authz;
mod handshakes;

pub(crate) use connections::COPIES;

/// Growth of a counter between two readings. A counter that has fallen started again with its process: it has grown by its value
/// or more.
pub(crate) fn growth(before: f64, after: f64) -> f64 {
    if after < before {
        after
    } else {
        after - before
    }
}

/// All proofs of one trial, those that fail included.
#[must_use]
pub fn prove(
    plan: &Plan,
    cell: &Cell,
    sent: &[SentTraffic],
    before: &[InstanceCounters],
    after: &[InstanceCounters],
) -> Vec<Proof> {
    let Some(arm) = plan.arms.iter().find(|arm| arm.name == cell.arm) else {
        return Vec::new();
    };
    let deltas = Deltas { before, after };
    let mut proofs = Vec::new();
    for (edge, routes) in by_edge(&arm.topology) {
        // External authorization is not a call of the workload; it is proved below.
        if arm.topology.ext_authz.iter().any(|one| one.edge == edge) {
            continue;
        }
        let traffic = traffic::over(cell, sent, edge);
        let first = proofs.len();
        proofs.extend(handshakes::of_agents(arm, cell, &routes, sent));
        proofs.extend(handshakes::of_listener(arm, cell, &routes, &deltas));
        proofs.extend(handshakes::accepted_connections(
            &cell.faults,
            &routes,
            sent,
            &deltas,
        ));
        if connections::applies_to(&routes, traffic.as_ref()) {
            proofs.extend(connections::prove(
                arm,
                cell,
                &routes,
                traffic.as_ref(),
                &deltas,
            ));
        } else if let Some(traffic) = &traffic {
            proofs.extend(prove_traffic(&arm.topology, &routes, traffic, &deltas));
            // Without traffic there need not be a TLS connection.
            if traffic.requests_max > 0 {
                proofs.extend(prove_segments(arm, cell, &routes, &deltas));
                proofs.extend(caller_identities(&arm.topology, &routes, &deltas));
            }
        }
        set_edge(&mut proofs[first..], edge);
    }
    proofs.extend(accepted_configurations(&arm.topology, &deltas));
    for ext_authz in &arm.topology.ext_authz {
        let first = proofs.len();
        proofs.extend(ext_authz::prove(arm, cell, ext_authz, sent, &deltas));
        set_edge(&mut proofs[first..], &ext_authz.edge);
    }
    proofs
}

/// Proofs that since the start no proxy of a mesh has rejected a configuration, and its control plane no object: the proxy would go
/// on with an older configuration, or none.
fn accepted_configurations(topology: &Topology, deltas: &Deltas<'_>) -> Vec<Proof> {
    const WHAT: &str = "config-rejections";
    let since_start = deltas.since_start();
    let control_plane = topology.mesh.iter().flat_map(|mesh| &mesh.control_plane);
    let proof = |instance: &String| {
        let rejected = since_start.of(instance, WHAT, "")?;
        let reasons = since_start.labels(instance, REJECTION_REASONS, "");
        let mut proof = exactly(instance, WHAT, 0, Some(rejected));
        for reason in reasons.unwrap_or_default() {
            proof.passed = false;
            proof.actual += &format!("; {reason}");
        }
        Some(proof)
    };
    control_plane.filter_map(proof).collect()
}

/// Proofs that the called parts of an edge have been told the identities of their callers by the mesh, for every request.
fn caller_identities(topology: &Topology, routes: &[&Route], deltas: &Deltas<'_>) -> Vec<Proof> {
    const WHAT: &str = "caller-identities";
    let called: BTreeSet<&str> = routes.iter().map(|route| route.to.as_str()).collect();
    let proof = |to: &str| {
        // The counter has no edges: every caller of the instance must have an identity.
        let all = topology.routes.iter().filter(|route| route.to == to);
        let expected: BTreeSet<&str> = all
            .map(|route| identity_before_last_proxy(topology, route))
            .collect::<Option<_>>()?;
        let edge = &routes.first()?.edge;
        let found = deltas.labels(to, WHAT, edge)?;
        let (named, requests) = (deltas.of(to, WHAT, edge)?, deltas.of(to, "requests", edge)?);
        // The namespace of a run is not in its plan.
        let is_installed = topology.mesh.as_ref().is_some_and(|mesh| mesh.installed);
        let ends = |one: &String| expected.iter().any(|end| one.ends_with(end));
        let is_expected = found.iter().all(|one| match is_installed {
            true => ends(one),
            false => expected.contains(one.as_str()),
        });
        let without = requests - named;
        let mut proof = only_label(to, WHAT, "", Some(found));
        proof.expected = expected.into_iter().collect::<Vec<_>>().join(", ");
        proof.passed = is_expected && without <= 0.0;
        if without > 0.0 {
            proof.actual += &format!("; {without:.0} of {requests:.0} requests without");
        }
        Some(proof)
    };
    called.into_iter().filter_map(proof).collect()
}

/// The identity that the last proxy of a route sees, if both it and the proxy before it are the mesh's, with mTLS between them.
fn identity_before_last_proxy<'a>(topology: &'a Topology, route: &Route) -> Option<&'a str> {
    let mesh = topology.mesh.as_ref()?;
    let [.., before, last] = route.proxies.as_slice() else {
        return None;
    };
    let segment = route.segments.get(route.proxies.len() - 1)?;
    let is_told = segment.security == Security::Mtls && mesh.proxies.contains(last);
    is_told.then(|| mesh.identities.get(before).map(String::as_str))?
}

fn set_edge(proofs: &mut [Proof], edge: &str) {
    for proof in proofs {
        proof.edge = Some(edge.to_owned());
    }
}

/// The routes of each edge, edges in the order of the topology.
fn by_edge(topology: &Topology) -> Vec<(&str, Vec<&Route>)> {
    let mut edges: Vec<(&str, Vec<&Route>)> = Vec::new();
    for route in &topology.routes {
        match edges.iter_mut().find(|(edge, _)| *edge == route.edge) {
            Some((_, routes)) => routes.push(route),
            None => edges.push((&route.edge, vec![route])),
        }
    }
    edges
}

/// Counters before and after a trial.
struct Deltas<'a> {
    before: &'a [InstanceCounters],
    after: &'a [InstanceCounters],
}

impl Deltas<'_> {
    /// The counters since the instances started.
    fn since_start(&self) -> Deltas<'_> {
        Deltas {
            before: &[],
            after: self.after,
        }
    }

    fn has_counters(&self, instance: &str) -> bool {
        self.after
            .iter()
            .any(|counters| counters.instance == instance && !counters.readings.is_empty())
    }

    fn readings<'b>(
        counters: &'b [InstanceCounters],
        instance: &'b str,
        name: &'b str,
        edge: &'b str,
    ) -> impl Iterator<Item = &'b CounterReading> {
        counters
            .iter()
            .filter(move |counters| counters.instance == instance)
            .flat_map(|counters| &counters.readings)
            .filter(move |reading| reading.name == name)
            .filter(move |reading| reading.edge.as_deref().is_none_or(|of| of == edge))
    }

    /// How much a counter has grown; `None` when the instance has no such counter.
    fn of(&self, instance: &str, name: &str, edge: &str) -> Option<f64> {
        let mut after = Self::readings(self.after, instance, name, edge).peekable();
        after.peek()?;
        let after: f64 = after.map(|reading| reading.value).sum();
        let before: f64 = Self::readings(self.before, instance, name, edge)
            .map(|reading| reading.value)
            .sum();
        Some(growth(before, after))
    }

    /// Labels of a counter that have grown, such as the negotiated TLS versions.
    fn labels(&self, instance: &str, name: &str, edge: &str) -> Option<Vec<String>> {
        let mut after = Self::readings(self.after, instance, name, edge).peekable();
        after.peek()?;
        let mut grown: Vec<String> = after
            .filter(|reading| {
                let before: f64 = Self::readings(self.before, instance, name, edge)
                    .filter(|earlier| earlier.label == reading.label)
                    .map(|earlier| earlier.value)
                    .sum();
                reading.value > before
            })
            .filter_map(|reading| reading.label.clone())
            .collect();
        grown.sort();
        grown.dedup();
        Some(grown)
    }
}

/// Proofs of requests (or of connections and bytes) at every proxy and at both ends of an edge.
fn prove_traffic(
    topology: &Topology,
    routes: &[&Route],
    traffic: &ExpectedTraffic,
    deltas: &Deltas<'_>,
) -> Vec<Proof> {
    let Some(first) = routes.first() else {
        return Vec::new();
    };
    let edge = first.edge.as_str();
    let counts = counted(&first.protocol);
    let mut proofs = Vec::new();
    for position in 0..first.proxies.len() {
        // The routes of an edge share its traffic; the share of each is not known.
        let proxies: Option<Vec<&str>> = routes
            .iter()
            .map(|route| route.proxies.get(position).map(String::as_str))
            .collect();
        let Some(proxies) = proxies.map(|proxies| InstanceGroup::of(proxies, deltas, edge)) else {
            continue;
        };
        if counts == Counted::Requests {
            proofs.push(proxies.between("requests", traffic.requests()));
            if proxies.delta("retries").is_some() {
                proofs.push(proxies.between("retries", (0, 0)));
            }
        } else if let Some(connections) = traffic.connections {
            proofs.push(proxies.between("connections", (connections, connections)));
            if let (Some(sent), Some(_)) = (traffic.bytes, proxies.delta("bytes-received")) {
                proofs.push(proxies.at_least("bytes-received", sent));
            }
        }
    }
    if counts == Counted::Requests {
        proofs.extend(prove_ends(topology, routes, traffic, deltas));
    }
    // A proxy of the arm that is not on the path must not have seen the traffic.
    for instance in &topology.instances {
        let idle = instance.role.is_proxy() && !first.proxies.contains(&instance.name);
        let is_only_edge = topology.routes.len() - topology.ext_authz.len() == 1;
        if idle && is_only_edge && deltas.has_counters(&instance.name) {
            let delta = deltas.of(&instance.name, "requests", edge);
            proofs.push(exactly(&instance.name, "requests", 0, delta));
        }
    }
    proofs
}

/// Proofs of requests by the counters of the calling and the called parts, where they have such counters.
fn prove_ends(
    topology: &Topology,
    routes: &[&Route],
    traffic: &ExpectedTraffic,
    deltas: &Deltas<'_>,
) -> Vec<Proof> {
    let edge = routes.first().map_or("", |route| &route.edge);
    let mut proofs = Vec::new();
    let from = routes.iter().map(|route| route.from.as_str()).collect();
    let to = routes.iter().map(|route| route.to.as_str()).collect();
    for (group, what) in [
        (InstanceGroup::of(from, deltas, edge), "upstream-requests"),
        (InstanceGroup::of(to, deltas, edge), "requests"),
    ] {
        // A counter without an edge label proves nothing where several edges share the instance.
        let others = topology.routes.iter().filter(|route| route.edge != edge);
        let alone = others
            .filter(|route| {
                group.has(if what == "requests" {
                    &route.to
                } else {
                    &route.from
                })
            })
            .count()
            == 0;
        if group.delta(what).is_some() && (alone || group.has_edge_labels(what)) {
            // An external part may have other callers.
            let shared = what == "requests"
                && routes
                    .iter()
                    .any(|route| topology.external(&route.to).is_some());
            proofs.push(match shared {
                true => group.at_least(what, traffic.requests_min),
                false => group.between(what, traffic.requests()),
            });
        }
    }
    proofs
}

/// Instances that share an edge's traffic at one position of its path.
struct InstanceGroup<'a> {
    instances: Vec<&'a str>,
    deltas: &'a Deltas<'a>,
    edge: &'a str,
}

impl<'a> InstanceGroup<'a> {
    fn of(mut instances: Vec<&'a str>, deltas: &'a Deltas<'a>, edge: &'a str) -> InstanceGroup<'a> {
        instances.sort_unstable();
        instances.dedup();
        InstanceGroup {
            instances,
            deltas,
            edge,
        }
    }

    fn name(&self) -> String {
        self.instances.join(" + ")
    }

    fn has(&self, instance: &str) -> bool {
        self.instances.contains(&instance)
    }

    /// Sum of a counter's growth over the instances; `None` when one has no such counter.
    fn delta(&self, what: &str) -> Option<f64> {
        let each = self.instances.iter();
        each.map(|instance| self.deltas.of(instance, what, self.edge))
            .sum()
    }

    fn has_edge_labels(&self, what: &str) -> bool {
        let counters = self.deltas.after.iter();
        let mut readings = counters
            .filter(|counters| self.has(&counters.instance))
            .flat_map(|counters| &counters.readings)
            .filter(|reading| reading.name == what);
        readings.all(|reading| reading.edge.is_some())
    }

    fn at_least(&self, what: &str, least: u64) -> Proof {
        connections::at_least(&self.name(), what, least, self.delta(what))
    }

    /// Proof that a counter has grown by at least `least` and at most `most`; often both are equal.
    fn between(&self, what: &str, (least, most): (u64, u64)) -> Proof {
        let delta = self.delta(what);
        if least == most {
            return exactly(&self.name(), what, least, delta);
        }
        Proof {
            expected: format!("{least} to {most}"),
            passed: delta.is_some_and(|delta| (least as f64..=most as f64).contains(&delta)),
            ..exactly(&self.name(), what, least, delta)
        }
    }
}

/// Proofs of the TLS negotiated on every segment of an edge that begins or ends at a proxy.
fn prove_segments(arm: &Arm, cell: &Cell, routes: &[&Route], deltas: &Deltas<'_>) -> Vec<Proof> {
    let mut proofs = Vec::new();
    for (proxy, side, security, route) in routes.iter().flat_map(|route| ends(route)) {
        let end = SegmentEnd {
            proxy,
            side,
            route,
            expected_tls: ExpectedTls::of(arm, cell, proxy),
        };
        if security != Security::Plaintext {
            proofs.extend(negotiated(&end, security, deltas));
            continue;
        }
        // Between cluster members a sidecar is at both ends of one edge, and one counter has the handshakes of both.
        let counts_others = routes.iter().any(|route| {
            let place = route.proxies.iter().position(|other| other == proxy);
            // Segment N is before proxy N, segment N + 1 is behind it.
            let segment =
                place.and_then(|place| route.segments.get(place + usize::from(!side.is_empty())));
            segment.is_some_and(|segment| segment.security != Security::Plaintext)
        });
        let what = format!("{side}tls-handshakes");
        let delta = deltas.of(proxy, &what, &route.edge);
        if delta.is_some() && !counts_others {
            proofs.push(exactly(proxy, &what, 0, delta));
        }
    }
    proofs
}

/// For each segment of a route: the proxy whose counters are used, the prefix of their names, and the segment's security.
fn ends(route: &Route) -> impl Iterator<Item = (&str, &'static str, Security, &Route)> {
    let segments = route.segments.iter().enumerate();
    segments.filter_map(move |(index, segment)| {
        // The accepting proxy has the most counters; where the application accepts, the proxy before it is used.
        let (proxy, side) = match (route.proxies.get(index), index.checked_sub(1)) {
            (Some(proxy), _) => (proxy, ""),
            (None, Some(before)) => (&route.proxies[before], "upstream-"),
            (None, None) => return None,
        };
        Some((proxy.as_str(), side, segment.security, route))
    })
}

struct SegmentEnd<'a> {
    proxy: &'a str,
    side: &'a str,
    route: &'a Route,
    expected_tls: ExpectedTls,
}

/// Expected TLS at an instance: its settings `tls_version` and `tls_resumption`, else 1.3 without resumption.
struct ExpectedTls {
    version: String,
    resumption: ResumptionRule,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ResumptionRule {
    Allowed,
    Forbidden,
}

impl ExpectedTls {
    fn of(arm: &Arm, cell: &Cell, instance: &str) -> ExpectedTls {
        let setting = |name: &str| setting_of(arm, cell, instance, name);
        let version = setting("tls_version").map_or_else(
            || "1.3".to_owned(),
            |version| {
                version
                    .as_str()
                    .map_or_else(|| version.to_string(), str::to_owned)
            },
        );
        ExpectedTls {
            version: format!("TLSv{version}"),
            resumption: match setting("tls_resumption").and_then(serde_json::Value::as_bool) {
                Some(true) => ResumptionRule::Allowed,
                Some(false) | None => ResumptionRule::Forbidden,
            },
        }
    }
}

/// A setting of an instance, as its templates see it: the instance's own value, else that of its target.
fn setting_of<'a>(
    arm: &'a Arm,
    cell: &'a Cell,
    instance: &str,
    name: &str,
) -> Option<&'a serde_json::Value> {
    let instances = &arm.topology.instances;
    let instance = instances.iter().find(|known| known.name == instance)?;
    cell.setting(instance, name)
}

/// Proofs of TLS by the counters since the instance started: a connection may be older than the trial.
fn negotiated(end: &SegmentEnd<'_>, security: Security, deltas: &Deltas<'_>) -> Vec<Proof> {
    let since_start = deltas.since_start();
    let (proxy, edge) = (end.proxy, &end.route.edge);
    let name = |what: &str| format!("{}{what}", end.side);
    let labels = |what: &str| since_start.labels(proxy, &name(what), edge);
    let total = |what: &str| since_start.of(proxy, &name(what), edge);
    let mut proofs = Vec::new();
    let (what, expected) = (name("tls-version"), &end.expected_tls.version);
    proofs.push(only_label(proxy, &what, expected, labels("tls-version")));
    for what in ["tls-cipher", "tls-group"] {
        if let Some(found) = labels(what) {
            proofs.push(single_label(proxy, &name(what), found));
        }
    }
    if let (ResumptionRule::Forbidden, Some(resumed)) =
        (end.expected_tls.resumption, total("tls-resumed"))
    {
        proofs.push(exactly(proxy, &name("tls-resumed"), 0, Some(resumed)));
    }
    if security == Security::Mtls && end.side.is_empty() {
        // By the count of certificates sent, or else of those missing. Without a counter the proof fails.
        let (all, shown) = (total("tls-handshakes"), total("tls-client-certificates"));
        proofs.push(match all.zip(shown) {
            Some((all, shown)) => {
                exactly(proxy, "tls-client-certificates", all as u64, Some(shown))
            }
            None => exactly(
                proxy,
                "tls-no-client-certificate",
                0,
                total("tls-no-client-certificate"),
            ),
        });
    }
    if let Some(failures) = total("tls-failures") {
        proofs.push(exactly(proxy, &name("tls-failures"), 0, Some(failures)));
    }
    proofs
}

fn exactly(instance: &str, what: &str, expected: u64, delta: Option<f64>) -> Proof {
    Proof {
        instance: instance.to_owned(),
        edge: None,
        check: what.to_owned(),
        expected: expected.to_string(),
        actual: delta.map_or_else(
            || "no such counter".to_owned(),
            |delta| format!("{delta:.0}"),
        ),
        // Counters are whole numbers below 2^53, so the comparison is exact.
        passed: delta == Some(expected as f64),
    }
}

/// Proof that the counter has this label and no other.
fn only_label(instance: &str, what: &str, expected: &str, found: Option<Vec<String>>) -> Proof {
    Proof {
        instance: instance.to_owned(),
        edge: None,
        check: what.to_owned(),
        expected: expected.to_owned(),
        passed: found.as_deref().is_some_and(|found| found == [expected]),
        actual: join_labels(found),
    }
}

/// Proof that the counter has exactly one label, whichever it is.
fn single_label(instance: &str, what: &str, found: Vec<String>) -> Proof {
    Proof {
        passed: found.len() == 1,
        ..only_label(instance, what, "one", Some(found))
    }
}

fn join_labels(labels: Option<Vec<String>>) -> String {
    match labels {
        None => "no such counter".to_owned(),
        Some(labels) if labels.is_empty() => "none".to_owned(),
        Some(labels) => labels.join(", "),
    }
}

#[cfg(test)]
mod tests;
