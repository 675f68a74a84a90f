//! Arms that need what external parts cannot have: they are listed as not run.

use tare_record::plan::Edge;
use tare_record::topology::{InstanceRole, Security};

use super::Scope;
use super::external::refuse;
use super::routing::{self, InstanceDrafts};
use crate::def::{ArmDef, HopRole};
use crate::yaml::Node;

/// Notes what the arm lacks, and reports what no arm could have.
pub(super) fn note(
    scope: &mut Scope<'_>,
    (arm, node): (&ArmDef, &Node),
    edges: &[Edge],
    drafts: &mut InstanceDrafts,
) {
    for part in arm.parts.keys() {
        if scope.external.has(part) {
            let mark = node.key_mark_at(&["parts", part]);
            refuse(scope, mark, part, "leave its target out");
        }
    }
    sidecars(drafts);
    hops(scope, arm, edges, drafts);
    for edge in edges {
        carried(scope, (arm, node), edge, drafts);
    }
}

/// External parts have no sidecars.
fn sidecars(drafts: &mut InstanceDrafts) {
    let external = |pod: &str| {
        let mut all = drafts.all.iter();
        all.any(|draft| draft.external && draft.pod == pod)
    };
    let beside = drafts
        .all
        .iter()
        .filter(|draft| draft.role == InstanceRole::Sidecar && external(&draft.pod));
    let parts: Vec<String> = beside.map(|draft| draft.part.clone()).collect();
    for part in parts {
        drafts.lack(format!("a sidecar beside {part} (external)"));
    }
}

/// Calls of external parts pass no hops, and SNI hops need names that resolve in pods only.
fn hops(scope: &Scope<'_>, arm: &ArmDef, edges: &[Edge], drafts: &mut InstanceDrafts) {
    let external = |part: &str| scope.external.of(part).is_some();
    for (pattern, hops) in &arm.via {
        let over = edges.iter();
        let over: Vec<&Edge> = over
            .filter(|edge| pattern.matches(&edge.from, &edge.to))
            .collect();
        if !over.is_empty() && over.iter().all(|edge| external(&edge.from)) {
            drafts.lack(format!("a hop on {pattern} (from an external part)"));
        }
        let is_sni = hops.iter().any(|hop| hop.hop == HopRole::Sni);
        if is_sni && over.iter().any(|edge| external(&edge.to)) {
            drafts.lack(format!(
                "a name that resolves in pods, for the hop sni on {pattern}"
            ));
        }
    }
}

/// External parts have a fixed security, and apps that Tare starts only trust Tare's own certificates.
fn carried(
    scope: &mut Scope<'_>,
    (arm, node): (&ArmDef, &Node),
    edge: &Edge,
    drafts: &mut InstanceDrafts,
) {
    let Some(speaks) = scope.external.own(&edge.to) else {
        return;
    };
    if scope.external.of(&edge.from).is_some() {
        return;
    }
    let wanted = routing::own(arm, edge).unwrap_or(speaks);
    if wanted != speaks {
        let (to, wanted, speaks) = (&edge.to, wanted.word(), speaks.word());
        drafts.lack(format!("{wanted} to {to} (external, speaks {speaks})"));
    }
    let mut callers = drafts.started().filter(|draft| draft.part == edge.from);
    let is_app = callers.any(|draft| draft.role == InstanceRole::App);
    if is_app && speaks != Security::Plaintext {
        let advice = format!(
            "{} cannot be given the files of its TLS, only load agents can: let it listen in plaintext as well",
            edge.from
        );
        refuse(scope, node.mark, &edge.to, &advice);
    }
}
