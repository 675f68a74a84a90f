//! Single requests of a level: preparation steps and consistency checks.

use tare_record::load::Body;
use tare_record::name::EdgePattern;
use tare_record::plan::{Ask, Audit, RoleLoad};
use tare_record::topology::Security;
use tare_record::units::Period;

use super::request::request;
use super::workload::{ResolvedWorkload, edges, unknown_edge};
use super::{Input, Scope, load};
use crate::catalog::WorkloadFolder;
use crate::def::{AuditDef, RequestDef};

/// Default timeout of a single request; some load thousands of documents.
const WITHIN_NS: u64 = 60_000_000_000;

/// Consistency checks of the loads in use.
pub(super) fn audits(
    scope: &mut Scope<'_>,
    input: Input<'_>,
    resolved: &ResolvedWorkload,
    loads: &[RoleLoad],
) -> Vec<Audit> {
    let mut wanted: Vec<&AuditDef> = Vec::new();
    for audit in load::kinds(scope, input)
        .iter()
        .flat_map(|kind| &kind.audit)
    {
        if !wanted.contains(&audit) {
            wanted.push(audit);
        }
    }
    let mut all = Vec::new();
    for audit in wanted {
        let over = (audit.edge.as_ref(), audit.timeout);
        match ask(&audit.request, over, input.folder, resolved, loads) {
            Ok(ask) => all.push(Audit {
                about: audit.about.clone(),
                ask,
            }),
            Err(message) => {
                let name = &audit.request.name;
                let message = format!("audit \"{name}\" of the workload: {message}");
                scope.problem(input.root.key_mark_at(&["workload"]), message);
            }
        }
    }
    all
}

/// Resolves a single request over the edge of a load; an agent of that load sends it.
pub(super) fn ask(
    def: &RequestDef,
    (edge, timeout): (Option<&EdgePattern>, Option<Period>),
    folder: &WorkloadFolder,
    resolved: &ResolvedWorkload,
    loads: &[RoleLoad],
) -> Result<Ask, String> {
    let role = match edge {
        None => loads.first(),
        Some(edge) => loads.iter().find(|load| load.edge == edge.0),
    };
    let Some(role) = role else {
        let over = edge.map_or("any edge", |edge| edge.0.as_str());
        return Err(format!(
            "no load goes over {over}, so there is nowhere to ask from: name the edge of a load"
        ));
    };
    let edges = edges(&folder.def);
    let edge = edges.iter().find(|edge| edge.name() == role.edge);
    let edge = edge.ok_or_else(|| unknown_edge(&role.edge, &edges))?;
    let own = resolved.external.own(&edge.to).unwrap_or(edge.security);
    if edge.protocol != "http1" || own != Security::Plaintext {
        let over = match own {
            Security::Plaintext => "",
            Security::Tls | Security::Mtls => " over TLS",
        };
        return Err(format!(
            "edge {} speaks {}{over}: single requests go by plain http1",
            edge.name(),
            edge.protocol
        ));
    }
    let request = request(def, &resolved.settings)?;
    if matches!(request.body, Body::Filler { .. }) {
        let message = "a single request takes no filler: write its body as text, or none";
        return Err(message.to_owned());
    }
    Ok(Ask {
        edge: role.edge.clone(),
        from: role.instance.clone(),
        timeout_ns: timeout.map_or(WITHIN_NS, Period::as_ns),
        request,
    })
}
