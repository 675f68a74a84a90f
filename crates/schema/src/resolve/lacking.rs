//! What an arm asks for and cannot have, since parts are external: it is listed, and not run.

use super::Scope;
use super::external::refuse;
use super::ways::{self, Cast};
use crate::def::{ArmDef, HopRole};
use crate::plan::Edge;
use crate::topology::{InstanceRole, Security};
use crate::yaml::Node;

/// Notes it in the cast, and complains of what no arm could have.
pub(super) fn note(
    scope: &mut Scope<'_>,
    (arm, node): (&ArmDef, &Node),
    edges: &[Edge],
    cast: &mut Cast,
) {
    for part in arm.parts.keys() {
        if scope.external.has(part) {
            let mark = node.key_place(&["parts", part]);
            refuse(scope, mark, part, "leave its target out");
        }
    }
    sidecars(cast);
    hops(scope, arm, edges, cast);
    for edge in edges {
        carried(scope, (arm, node), edge, cast);
    }
}

/// Nothing can stand beside what is not started here.
fn sidecars(cast: &mut Cast) {
    let external = |pod: &str| {
        let mut actors = cast.actors.iter();
        actors.any(|actor| actor.external && actor.pod == pod)
    };
    let beside = cast
        .actors
        .iter()
        .filter(|actor| actor.role == InstanceRole::Sidecar && external(&actor.pod));
    let parts: Vec<String> = beside.map(|actor| actor.part.clone()).collect();
    for part in parts {
        cast.lack(format!("a sidecar beside {part} (external)"));
    }
}

/// Nor on what it calls; and names resolve in pods only.
fn hops(scope: &Scope<'_>, arm: &ArmDef, edges: &[Edge], cast: &mut Cast) {
    let external = |part: &str| scope.external.of(part).is_some();
    for (pattern, hops) in &arm.via {
        let over = edges.iter();
        let over: Vec<&Edge> = over
            .filter(|edge| pattern.matches(&edge.from, &edge.to))
            .collect();
        if !over.is_empty() && over.iter().all(|edge| external(&edge.from)) {
            cast.lack(format!("a hop on {pattern} (from an external part)"));
        }
        let is_sni = hops.iter().any(|hop| hop.hop == HopRole::Sni);
        if is_sni && over.iter().any(|edge| external(&edge.to)) {
            cast.lack(format!(
                "a name that resolves in pods, for the hop sni on {pattern}"
            ));
        }
    }
}

/// What is external speaks as it does, and what Tare starts is configured with Tare's own certificates.
fn carried(scope: &mut Scope<'_>, (arm, node): (&ArmDef, &Node), edge: &Edge, cast: &mut Cast) {
    let Some(speaks) = scope.external.own(&edge.to) else {
        return;
    };
    if scope.external.of(&edge.from).is_some() {
        return;
    }
    let wanted = ways::own(arm, edge).unwrap_or(speaks);
    if wanted != speaks {
        let (to, wanted, speaks) = (&edge.to, wanted.word(), speaks.word());
        cast.lack(format!("{wanted} to {to} (external, speaks {speaks})"));
    }
    let mut callers = cast.started().filter(|actor| actor.part == edge.from);
    let is_app = callers.any(|actor| actor.role == InstanceRole::App);
    if is_app && speaks != Security::Plaintext {
        let advice = format!(
            "{} cannot be given the files of its TLS, only load agents can: let it listen in plaintext as well",
            edge.from
        );
        refuse(scope, node.mark, &edge.to, &advice);
    }
}
