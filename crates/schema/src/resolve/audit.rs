//! Single requests at one level: those that prepare a trial, and those that audit it.

use super::request::request;
use super::workload::{Used, edges, unknown_edge};
use super::{Scope, load};
use crate::catalog::WorkloadFolder;
use crate::def::{AuditDef, ExperimentDef, RequestDef};
use crate::name::EdgePattern;
use crate::plan::{Ask, Audit, RoleLoad};
use crate::topology::Security;
use crate::units::Period;
use crate::yaml::Node;

/// How long an answer may take when nothing is said: loaders write thousands of documents.
const WITHIN_NS: u64 = 60_000_000_000;

/// A request as a workload has it, with where it goes.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    pub request: &'a RequestDef,
    pub edge: Option<&'a EdgePattern>,
    pub within: Option<Period>,
}

/// The questions after a trial.
pub(super) fn audits(
    scope: &mut Scope<'_>,
    root: &Node,
    def: &ExperimentDef,
    folder: &WorkloadFolder,
    used: &Used,
    loads: &[RoleLoad],
) -> Vec<Audit> {
    let mut wanted: Vec<&AuditDef> = Vec::new();
    for audit in load::kinds(def, folder).iter().flat_map(|kind| &kind.audit) {
        if !wanted.contains(&audit) {
            wanted.push(audit);
        }
    }
    let mut all = Vec::new();
    for audit in wanted {
        let asked = Asked {
            request: &audit.request,
            edge: audit.edge.as_ref(),
            within: audit.within,
        };
        match ask(asked, folder, used, loads) {
            Ok(ask) => all.push(Audit {
                about: audit.about.clone(),
                ask,
            }),
            Err(said) => {
                let said = format!("audit \"{}\" of the workload: {said}", audit.request.name);
                scope.problem(root.key_place(&["workload"]), said);
            }
        }
    }
    all
}

/// A request over an edge that a load goes over: an agent of that load is where it comes from.
pub(super) fn ask(
    asked: Asked<'_>,
    folder: &WorkloadFolder,
    used: &Used,
    loads: &[RoleLoad],
) -> Result<Ask, String> {
    let role = match asked.edge {
        None => loads.first(),
        Some(edge) => loads.iter().find(|load| load.edge == edge.0),
    };
    let Some(role) = role else {
        let over = asked.edge.map_or("any edge", |edge| edge.0.as_str());
        return Err(format!(
            "no load goes over {over}, so there is nowhere to ask from: name the edge of a load"
        ));
    };
    let edges = edges(&folder.def);
    let edge = edges.iter().find(|edge| edge.name() == role.edge);
    let edge = edge.ok_or_else(|| unknown_edge(&role.edge, &edges))?;
    let own = used.external.own(&edge.to).unwrap_or(edge.own);
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
    Ok(Ask {
        edge: role.edge.clone(),
        from: role.instance.clone(),
        within_ns: asked.within.map_or(WITHIN_NS, Period::as_ns),
        request: request(asked.request, &used.settings)?,
    })
}
