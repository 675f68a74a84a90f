//! The difference between two arms as text: instances, TLS, protocol, settings.

use tare_record::plan::{Arm, Subject};
use tare_record::topology::{Instance, Route, Security};

use crate::cells::distinct;

/// What `large` has in addition to `small`; `None` if the plan shows nothing.
pub fn describe(small: &Arm, large: &Arm) -> Option<Subject> {
    let mut what: Vec<String> = new_instances(small, large);
    let of = |arm: &Arm, edge: &str| -> Option<Route> {
        let routes = &arm.topology.routes;
        routes.iter().find(|route| route.edge == edge).cloned()
    };
    for route in &large.topology.routes {
        let Some(before) = of(small, &route.edge) else {
            continue;
        };
        for (security, name) in [(Security::Tls, "TLS"), (Security::Mtls, "mTLS")] {
            let count = |route: &Route| {
                let links = route
                    .segments
                    .iter()
                    .filter(|link| link.security == security);
                links.count() + usize::from(route.edge_security == security)
            };
            if count(route) > count(&before) {
                what.push(name.to_owned());
            }
        }
        // The protocol of a route only matters to its proxies.
        if route.protocol != before.protocol && !before.proxies.is_empty() {
            what.push(format!("{} instead of {}", route.protocol, before.protocol));
        }
        let redirected = |route: &Route| {
            let explicit = tare_record::topology::Interception::Explicit;
            let links = route.segments.iter();
            links.filter(|link| link.interception != explicit).count()
        };
        if redirected(route) > redirected(&before) {
            what.push("capture".to_owned());
        }
    }
    what.extend(new_settings(small, large));
    // The same setting of several instances is named once.
    match distinct(what).as_slice() {
        [] => None,
        [one] => Some(Subject::singular(one)),
        several => Some(Subject::plural(several.join(", "))),
    }
}

/// Instances of `large` that `small` does not have. External authorization servers are left to the setting that adds them.
fn new_instances(small: &Arm, large: &Arm) -> Vec<String> {
    let topology = &large.topology;
    let is_ext_authz = |name: &str| {
        let mut routes = topology.routes.iter();
        routes.any(|route| {
            route.to == name && topology.ext_authz.iter().any(|a| a.edge == route.edge)
        })
    };
    // Instances are in start order, callees first: reversed, they are in the order of a call.
    let instances = topology.instances.iter().rev();
    instances
        .filter(|instance| counterpart(small, instance).is_none() && !is_ext_authz(&instance.name))
        .map(|instance| instance.name.clone())
        .collect()
}

fn counterpart<'a>(arm: &'a Arm, instance: &Instance) -> Option<&'a Instance> {
    let mut others = arm.topology.instances.iter();
    others.find(|other| other.name == instance.name)
}

fn new_settings(small: &Arm, large: &Arm) -> Vec<String> {
    let mut what = Vec::new();
    for instance in &large.topology.instances {
        let Some(before) = counterpart(small, instance) else {
            continue;
        };
        for (name, value) in &instance.settings {
            if before.settings.get(name) == Some(value) {
                continue;
            }
            what.push(match value {
                serde_json::Value::Bool(true) => name.clone(),
                serde_json::Value::Bool(false) => format!("no {name}"),
                serde_json::Value::String(text) => format!("{name} {text}"),
                other => format!("{name} {other}"),
            });
        }
    }
    what
}
