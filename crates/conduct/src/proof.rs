//! Path proof: the counters of everything on the way must have grown by exactly what was sent.

use tare_lab::environment::{InstanceCounters, Reading};
use tare_schema::plan::{Arm, Cell, Plan};
use tare_schema::protocol::{Counted, counted};
use tare_schema::record::Proof;
use tare_schema::topology::{Route, Security, Topology};

use crate::traffic::{self, Sent, Traffic};

mod asked;
mod carried;
mod handshakes;

pub(crate) use carried::COPIES;

/// The evidence of one trial, whether it holds or not.
#[must_use]
pub fn prove(
    plan: &Plan,
    cell: &Cell,
    sent: &[Sent],
    before: &[InstanceCounters],
    after: &[InstanceCounters],
) -> Vec<Proof> {
    let Some(arm) = plan.arms.iter().find(|arm| arm.name == cell.arm) else {
        return Vec::new();
    };
    let growth = Growth { before, after };
    let mut proofs = Vec::new();
    for (edge, routes) in by_edge(&arm.topology) {
        // What instances ask is no call of the workload.
        if arm.topology.asked.iter().any(|asked| asked.edge == edge) {
            continue;
        }
        let traffic = traffic::over(cell, sent, edge);
        let first = proofs.len();
        proofs.extend(handshakes::of_agents(arm, cell, &routes, sent));
        proofs.extend(handshakes::of_listener(arm, cell, &routes, &growth));
        proofs.extend(handshakes::taken(&routes, sent, &growth));
        if carried::concerns(&routes, traffic.as_ref()) {
            proofs.extend(carried::prove(
                arm,
                cell,
                &routes,
                traffic.as_ref(),
                &growth,
            ));
        } else if let Some(traffic) = &traffic {
            proofs.extend(prove_traffic(&arm.topology, &routes, traffic, &growth));
            // Over a link that nothing passed nothing need have been negotiated.
            if traffic.requests_max > 0 {
                proofs.extend(prove_links(arm, cell, &routes, &growth));
            }
        }
        name_edge(&mut proofs[first..], edge);
    }
    for asked in &arm.topology.asked {
        let first = proofs.len();
        proofs.extend(asked::prove(arm, cell, asked, sent, &growth));
        name_edge(&mut proofs[first..], &asked.edge);
    }
    proofs
}

fn name_edge(proofs: &mut [Proof], edge: &str) {
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

/// Counters before and after.
struct Growth<'a> {
    before: &'a [InstanceCounters],
    after: &'a [InstanceCounters],
}

impl Growth<'_> {
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
    ) -> impl Iterator<Item = &'b Reading> {
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
        Some(after - before)
    }

    /// Labels of a counter that have grown: the TLS versions that were negotiated, say.
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

/// Requests (or connections and bytes) at every stop and at both ends of an edge's routes.
fn prove_traffic(
    topology: &Topology,
    routes: &[&Route],
    traffic: &Traffic,
    growth: &Growth<'_>,
) -> Vec<Proof> {
    let Some(first) = routes.first() else {
        return Vec::new();
    };
    let edge = first.edge.as_str();
    let counts = counted(&first.protocol);
    let mut proofs = Vec::new();
    for position in 0..first.stops.len() {
        // Several routes of an edge share its traffic; what each of them has is not known.
        let stops: Option<Vec<&str>> = routes
            .iter()
            .map(|route| route.stops.get(position).map(String::as_str))
            .collect();
        let Some(stops) = stops.map(|stops| Group::of(stops, growth, edge)) else {
            continue;
        };
        if counts == Counted::Requests {
            proofs.push(stops.between("requests", traffic.requests()));
            if stops.grown("retries").is_some() {
                proofs.push(stops.between("retries", (0, 0)));
            }
        } else if let Some(connections) = traffic.connections {
            proofs.push(stops.between("connections", (connections, connections)));
            if let (Some(sent), Some(bytes)) = (traffic.bytes, stops.grown("bytes-received")) {
                proofs.push(Proof {
                    instance: stops.name(),
                    edge: None,
                    what: "bytes-received".into(),
                    expected: format!("at least {sent}"),
                    found: format!("{bytes:.0}"),
                    holds: bytes >= sent as f64,
                });
            }
        }
    }
    if counts == Counted::Requests {
        proofs.extend(prove_ends(topology, routes, traffic, growth));
    }
    // A proxy of the arm that is not on the way must not have seen the traffic.
    for instance in &topology.instances {
        let idle = instance.role.is_proxy() && !first.stops.contains(&instance.name);
        let only = topology.routes.len() - topology.asked.len() == 1;
        if idle && only && growth.has_counters(&instance.name) {
            let grown = growth.of(&instance.name, "requests", edge);
            proofs.push(exactly(&instance.name, "requests", 0, grown));
        }
    }
    proofs
}

/// Requests as the calling and the called parts count them, where they do.
fn prove_ends(
    topology: &Topology,
    routes: &[&Route],
    traffic: &Traffic,
    growth: &Growth<'_>,
) -> Vec<Proof> {
    let edge = routes.first().map_or("", |route| &route.edge);
    let mut proofs = Vec::new();
    let from = routes.iter().map(|route| route.from.as_str()).collect();
    let to = routes.iter().map(|route| route.to.as_str()).collect();
    for (group, what) in [
        (Group::of(from, growth, edge), "upstream-requests"),
        (Group::of(to, growth, edge), "requests"),
    ] {
        // A count that does not tell edges apart says nothing where several lead to one part.
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
        if group.grown(what).is_some() && (alone || group.tells_edges(what)) {
            // Others may call what is external.
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

/// Instances that share an edge's traffic at one point of its way.
struct Group<'a> {
    instances: Vec<&'a str>,
    growth: &'a Growth<'a>,
    edge: &'a str,
}

impl<'a> Group<'a> {
    fn of(mut instances: Vec<&'a str>, growth: &'a Growth<'a>, edge: &'a str) -> Group<'a> {
        instances.sort_unstable();
        instances.dedup();
        Group {
            instances,
            growth,
            edge,
        }
    }

    fn name(&self) -> String {
        self.instances.join(" + ")
    }

    fn has(&self, instance: &str) -> bool {
        self.instances.contains(&instance)
    }

    /// How much a counter has grown at all of them together; `None` when one has no such counter.
    fn grown(&self, what: &str) -> Option<f64> {
        let each = self.instances.iter();
        each.map(|instance| self.growth.of(instance, what, self.edge))
            .sum()
    }

    fn tells_edges(&self, what: &str) -> bool {
        let counters = self.growth.after.iter();
        let mut readings = counters
            .filter(|counters| self.has(&counters.instance))
            .flat_map(|counters| &counters.readings)
            .filter(|reading| reading.name == what);
        readings.all(|reading| reading.edge.is_some())
    }

    fn at_least(&self, what: &str, least: u64) -> Proof {
        carried::at_least(&self.name(), what, least, self.grown(what))
    }

    /// That a counter has grown by at least `least` and at most `most`, mostly the same.
    fn between(&self, what: &str, (least, most): (u64, u64)) -> Proof {
        let grown = self.grown(what);
        if least == most {
            return exactly(&self.name(), what, least, grown);
        }
        Proof {
            expected: format!("{least} to {most}"),
            holds: grown.is_some_and(|grown| (least as f64..=most as f64).contains(&grown)),
            ..exactly(&self.name(), what, least, grown)
        }
    }
}

/// What was negotiated on every stretch of an edge that a proxy can tell of.
fn prove_links(arm: &Arm, cell: &Cell, routes: &[&Route], growth: &Growth<'_>) -> Vec<Proof> {
    let mut proofs = Vec::new();
    for (stop, side, security, route) in routes.iter().flat_map(|route| ends(route)) {
        let end = LinkEnd {
            stop,
            side,
            route,
            wanted: Wanted::of(arm, cell, stop),
        };
        if security != Security::Plaintext {
            proofs.extend(negotiated(&end, security, growth));
            continue;
        }
        // Among peers a sidecar stands at both ends of one edge, and counts the handshakes of both together.
        let counts_others = routes.iter().any(|route| {
            let place = route.stops.iter().position(|other| other == stop);
            // The links before and behind a stop are those of its place and of the next one.
            let link =
                place.and_then(|place| route.links.get(place + usize::from(!side.is_empty())));
            link.is_some_and(|link| link.security != Security::Plaintext)
        });
        let what = format!("{side}tls-handshakes");
        let grown = growth.of(stop, &what, &route.edge);
        if grown.is_some() && !counts_others {
            proofs.push(exactly(stop, &what, 0, grown));
        }
    }
    proofs
}

/// For each link of a route the proxy that is asked, the prefix of its counters, and the link's security.
fn ends(route: &Route) -> impl Iterator<Item = (&str, &'static str, Security, &Route)> {
    let links = route.links.iter().enumerate();
    links.filter_map(move |(index, link)| {
        // The accepting end knows most; where that is the app, the proxy before it is asked.
        let (stop, side) = match (route.stops.get(index), index.checked_sub(1)) {
            (Some(stop), _) => (stop, ""),
            (None, Some(before)) => (&route.stops[before], "upstream-"),
            (None, None) => return None,
        };
        Some((stop.as_str(), side, link.security, route))
    })
}

/// The end of a link that is asked what was negotiated.
struct LinkEnd<'a> {
    stop: &'a str,
    side: &'a str,
    route: &'a Route,
    wanted: Wanted,
}

/// What TLS is to be like at a proxy: its settings `tls_version` and `tls_resumption`, where it has them.
struct Wanted {
    version: String,
    resumption: Resumption,
}

/// Whether earlier sessions may be taken up.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Resumption {
    Allowed,
    Forbidden,
}

impl Wanted {
    fn of(arm: &Arm, cell: &Cell, instance: &str) -> Wanted {
        let setting = |name: &str| setting_of(arm, cell, instance, name);
        let version = setting("tls_version").map_or_else(
            || "1.3".to_owned(),
            |version| {
                version
                    .as_str()
                    .map_or_else(|| version.to_string(), str::to_owned)
            },
        );
        Wanted {
            version: format!("TLSv{version}"),
            resumption: match setting("tls_resumption").and_then(serde_json::Value::as_bool) {
                Some(true) => Resumption::Allowed,
                Some(false) | None => Resumption::Forbidden,
            },
        }
    }
}

/// What an instance was told, as its templates see it: its own settings lie over those of its target.
fn setting_of<'a>(
    arm: &'a Arm,
    cell: &'a Cell,
    instance: &str,
    name: &str,
) -> Option<&'a serde_json::Value> {
    let instances = &arm.topology.instances;
    let instance = instances.iter().find(|known| known.name == instance)?;
    let of_target = || cell.targets.get(&instance.target)?.get(name);
    instance.settings.get(name).or_else(of_target)
}

/// Evidence of TLS since the instance started: a connection may be older than the trial.
fn negotiated(end: &LinkEnd<'_>, security: Security, growth: &Growth<'_>) -> Vec<Proof> {
    let since_start = Growth {
        before: &[],
        after: growth.after,
    };
    let (stop, edge) = (end.stop, &end.route.edge);
    let name = |what: &str| format!("{}{what}", end.side);
    let labels = |what: &str| since_start.labels(stop, &name(what), edge);
    let total = |what: &str| since_start.of(stop, &name(what), edge);
    let mut proofs = Vec::new();
    let versions = labels("tls-version");
    proofs.push(only(
        stop,
        &name("tls-version"),
        &end.wanted.version,
        versions,
    ));
    for what in ["tls-cipher", "tls-group"] {
        if let Some(found) = labels(what) {
            proofs.push(one_of_a_kind(stop, &name(what), found));
        }
    }
    if let (Resumption::Forbidden, Some(resumed)) = (end.wanted.resumption, total("tls-resumed")) {
        proofs.push(exactly(stop, &name("tls-resumed"), 0, Some(resumed)));
    }
    if security == Security::Mtls && end.side.is_empty() {
        proofs.push(client_certificates(
            stop,
            total("tls-handshakes"),
            total("tls-client-certificates"),
            total("tls-no-certificate"),
        ));
    }
    if let Some(failures) = total("tls-failures") {
        proofs.push(exactly(stop, &name("tls-failures"), 0, Some(failures)));
    }
    proofs
}

/// Whether every caller showed a certificate: by those shown, or else by those missing. No counter, no proof.
fn client_certificates(
    stop: &str,
    all: Option<f64>,
    shown: Option<f64>,
    missing: Option<f64>,
) -> Proof {
    match (all, shown, missing) {
        (Some(all), Some(shown), _) => {
            exactly(stop, "tls-client-certificates", all as u64, Some(shown))
        }
        (_, _, missing) => exactly(stop, "tls-no-certificate", 0, missing),
    }
}

fn exactly(instance: &str, what: &str, expected: u64, grown: Option<f64>) -> Proof {
    Proof {
        instance: instance.to_owned(),
        edge: None,
        what: what.to_owned(),
        expected: expected.to_string(),
        found: grown.map_or_else(
            || "no such counter".to_owned(),
            |grown| format!("{grown:.0}"),
        ),
        // Counters are whole numbers below 2^53, so the comparison is exact.
        holds: grown == Some(expected as f64),
    }
}

/// That this label is there and no other.
fn only(instance: &str, what: &str, expected: &str, found: Option<Vec<String>>) -> Proof {
    Proof {
        instance: instance.to_owned(),
        edge: None,
        what: what.to_owned(),
        expected: expected.to_owned(),
        holds: found.as_deref().is_some_and(|found| found == [expected]),
        found: words(found),
    }
}

/// That there is one label, whichever.
fn one_of_a_kind(instance: &str, what: &str, found: Vec<String>) -> Proof {
    Proof {
        holds: found.len() == 1,
        ..only(instance, what, "one", Some(found))
    }
}

fn words(labels: Option<Vec<String>>) -> String {
    match labels {
        None => "no such counter".to_owned(),
        Some(labels) if labels.is_empty() => "none".to_owned(),
        Some(labels) => labels.join(", "),
    }
}

#[cfg(test)]
mod tests;
