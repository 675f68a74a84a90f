//! Steps: which arm extends which other arm, so that the overhead of a single proxy or of mTLS alone can be given.

use tare_record::plan::{Plan, Subject};
use tare_record::topology::{Route, RouteSegment, Security, Topology, VERSION_SETTING};

/// An arm and the arm that it extends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArmStep {
    /// The larger arm.
    pub arm: String,
    /// The smaller arm.
    pub from: String,
    /// The addition: `mTLS`, `the server-sidecar`.
    pub what: Subject,
}

/// The steps of the first order of a waterfall, and for every arm in no waterfall the largest other arm that it extends, or the arm
/// before it in the file that has other versions of the same targets. Steps from the baseline are omitted: every arm is compared with it anyway.
pub fn steps(plan: &Plan) -> Vec<ArmStep> {
    let mut steps = declared(plan);
    let is_in_waterfall =
        |name: &String| plan.waterfall.iter().any(|order| order.arms.contains(name));
    for arm in plan.arms.iter().filter(|arm| !is_in_waterfall(&arm.name)) {
        let smaller = plan
            .arms
            .iter()
            .skip(1)
            .filter(|other| other.name != arm.name)
            .filter_map(|other| added(&arm.topology, &other.topology).map(|what| (other, what)))
            // Of equals the last, which is the nearest one in the file.
            .max_by_key(|(other, _)| (other.topology.instances.len(), secured(&other.topology)));
        let older = || {
            let before = plan.arms.iter().take_while(|other| other.name != arm.name);
            let mut before = before.skip(1).collect::<Vec<_>>().into_iter().rev();
            before.find_map(|other| Some((other, other_version(&arm.topology, &other.topology)?)))
        };
        if let Some((other, what)) = smaller.or_else(older) {
            steps.push(ArmStep {
                arm: arm.name.clone(),
                from: other.name.clone(),
                what,
            });
        }
    }
    steps
}

/// The steps of the first order.
fn declared(plan: &Plan) -> Vec<ArmStep> {
    let Some(order) = plan.waterfall.first() else {
        return Vec::new();
    };
    let baseline = plan.arms.first().map(|arm| arm.name.as_str());
    let pairs = order.arms.windows(2);
    pairs
        .filter(|pair| Some(pair[0].as_str()) != baseline)
        .map(|pair| ArmStep {
            arm: pair[1].clone(),
            from: pair[0].clone(),
            what: match order.adds.get(&pair[1]) {
                Some(said) => said.clone(),
                None => Subject::singular(&pair[1]),
            },
        })
        .collect()
}

/// The versions of `new`, if it has nothing else that `old` has not: "version 1.39.3".
fn other_version(new: &Topology, old: &Topology) -> Option<Subject> {
    let without_versions = |topology: &Topology| {
        let mut instances = topology.instances.clone();
        for instance in &mut instances {
            instance.settings.remove(VERSION_SETTING);
        }
        instances
    };
    let is_same = new.routes == old.routes && without_versions(new) == without_versions(old);
    let pairs = new.instances.iter().zip(&old.instances);
    let mut versions: Vec<&str> = pairs
        .filter(|(new, old)| new.version() != old.version())
        .filter_map(|(new, _)| new.version())
        .collect();
    versions.sort_unstable();
    versions.dedup();
    match versions.as_slice() {
        [one] if is_same => Some(Subject::singular(format!("version {one}"))),
        _ => None,
    }
}

/// Number of links with TLS or mTLS.
fn secured(topology: &Topology) -> usize {
    let links = topology.routes.iter().flat_map(|route| &route.segments);
    links
        .filter(|link| link.security != Security::Plaintext)
        .count()
}

/// What `large` has over `small`, if it has all of `small` and more.
fn added(large: &Topology, small: &Topology) -> Option<Subject> {
    let kept = small.instances.iter().all(|instance| {
        large.instances.iter().any(|other| {
            (&other.name, &other.target, &other.settings)
                == (&instance.name, &instance.target, &instance.settings)
        })
    });
    if !kept || large.routes.len() != small.routes.len() {
        return None;
    }
    let mut securities: Vec<Security> = Vec::new();
    for route in &small.routes {
        let wider = large.routes.iter().find(|other| other.edge == route.edge)?;
        // The protocol of a route only matters to its proxies.
        let seen = !route.proxies.is_empty() && route.protocol != wider.protocol;
        if seen
            || !is_within(&route.proxies, &wider.proxies)
            || route.edge_security > wider.edge_security
        {
            return None;
        }
        if wider.edge_security > route.edge_security {
            securities.push(wider.edge_security);
        }
        securities.extend(raised(route, wider)?);
    }
    let mut what: Vec<String> = large
        .instances
        .iter()
        .filter(|instance| {
            small
                .instances
                .iter()
                .all(|other| other.name != instance.name)
        })
        .map(|instance| format!("the {}", instance.name))
        .collect();
    securities.sort();
    securities.dedup();
    what.extend(securities.iter().map(|security| security.word().to_owned()));
    match what.as_slice() {
        [] => None,
        [one] => Some(Subject::singular(one)),
        several => Some(Subject::plural(several.join(" and "))),
    }
}

/// Security modes with more links in `wider`; `None` if one has fewer.
fn raised(route: &Route, wider: &Route) -> Option<Vec<Security>> {
    let rank =
        |links: &[RouteSegment], security| links.iter().filter(|l| l.security == security).count();
    let mut raised = Vec::new();
    for security in [Security::Tls, Security::Mtls] {
        let (before, after) = (
            rank(&route.segments, security),
            rank(&wider.segments, security),
        );
        if after < before {
            return None;
        }
        if after > before {
            raised.push(security);
        }
    }
    Some(raised)
}

/// Whether all of `few` occur in `many`, in the same order.
fn is_within(few: &[String], many: &[String]) -> bool {
    let mut rest = many.iter();
    few.iter().all(|stop| rest.any(|other| other == stop))
}
