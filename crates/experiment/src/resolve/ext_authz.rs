//! External authorization: which proxies query which server, on which routes.

use std::collections::BTreeMap;

use tare_record::name::Name;
use tare_record::topology::{
    ExtAuthz, InstanceRole, Interception, Route, RouteSegment, Security, Settings,
};

use super::routing::{InstanceDraft, InstanceDrafts};
use super::{Input, Scope};
use crate::problem::list;
use crate::target::ExtAuthzDef;
use crate::yaml::{Mark, Node};

/// A proxy and its authorization server.
#[derive(Debug, Clone)]
pub(super) struct ExtAuthzDraft {
    proxy: String,
    server: String,
    mark: Mark,
    def: ExtAuthzDef,
    share: f64,
}

/// Adds the authorization servers to the instances of an arm.
pub(super) fn drafts(
    scope: &mut Scope<'_>,
    of_targets: &BTreeMap<Name, Settings>,
    arm: &Node,
    drafts: &mut InstanceDrafts,
) -> Vec<ExtAuthzDraft> {
    let mut all = Vec::new();
    for draft in drafts.all.clone() {
        if draft.role == InstanceRole::Agent || draft.external {
            continue;
        }
        let mark = draft.mark.unwrap_or(arm.mark);
        let Some(target) = scope.target(&draft.target, mark) else {
            continue;
        };
        for ask in &target.ext_authz {
            let value = |name: &str| {
                let of_target = of_targets.get(draft.target.as_str());
                let of_target = of_target.and_then(|settings| settings.get(name));
                let default = target.settings.get(name).map(|setting| &setting.default);
                draft.settings.get(name).or(of_target).or(default)
            };
            if value(&ask.enabled_by).and_then(serde_json::Value::as_bool) != Some(true) {
                continue;
            }
            let share = ask.share_setting.as_deref().and_then(value);
            let share = share.and_then(serde_json::Value::as_f64).unwrap_or(1.0);
            if !(0.0..=1.0).contains(&share) {
                let message = format!(
                    "{} of \"{}\" is a share from 0 to 1, not {share}",
                    ask.share_setting.as_deref().unwrap_or("share"),
                    draft.name
                );
                scope.problem(mark, message);
            }
            check_server(scope, ask, mark);
            let server = format!("{}-{}", draft.name, ask.name);
            if drafts.get(&server).is_some() {
                let message =
                    format!("\"{server}\" is there already: give one of the two another name");
                scope.problem(mark, message);
                continue;
            }
            let mut ext_authz =
                InstanceDraft::new(&server, &draft.pod, &server, &ask.target, InstanceRole::App);
            ext_authz.settings = ask.settings.clone();
            drafts.add(ext_authz);
            all.push(ExtAuthzDraft {
                proxy: draft.name.clone(),
                server,
                mark,
                def: ask.clone(),
                share,
            });
        }
    }
    all
}

fn check_server(scope: &mut Scope<'_>, ask: &ExtAuthzDef, mark: Mark) {
    let Some(target) = scope.target(&ask.target, mark) else {
        return;
    };
    let fits =
        target.roles.contains(&InstanceRole::App) && target.protocols.contains(&ask.protocol);
    if !fits {
        let message = format!(
            "target \"{}\" cannot be asked in {} as a part of its own",
            ask.target, ask.protocol
        );
        scope.problem(mark, message);
    }
}

/// Adds the routes to the authorization servers, and lists the edges they decide on.
pub(super) fn routes(
    scope: &mut Scope<'_>,
    all: &[ExtAuthzDraft],
    routes: &mut Vec<Route>,
) -> Vec<ExtAuthz> {
    let mut ext_authz = Vec::new();
    for authz in all {
        let edges: Vec<String> = routes
            .iter()
            .filter(|route| route.proxies.contains(&authz.proxy))
            .filter(|route| authz.def.protocols.contains(&route.protocol))
            .map(|route| route.edge.clone())
            .collect();
        if edges.is_empty() {
            let message = format!(
                "{} is on in \"{}\", but no edge there has a protocol it applies to: {}",
                authz.def.enabled_by,
                authz.proxy,
                list(&authz.def.protocols)
            );
            scope.problem(authz.mark, message);
        }
        let edge = format!("{}->{}", authz.proxy, authz.server);
        ext_authz.push(ExtAuthz {
            edge: edge.clone(),
            edges,
            share_setting: authz.def.share_setting.clone(),
            share: authz.share,
        });
        routes.push(Route {
            edge,
            from: authz.proxy.clone(),
            to: authz.server.clone(),
            protocol: authz.def.protocol.clone(),
            edge_security: Security::Plaintext,
            proxies: Vec::new(),
            segments: vec![RouteSegment {
                security: Security::Plaintext,
                interception: Interception::Explicit,
            }],
        });
    }
    ext_authz
}

/// Checks that no factor varies a setting that adds instances: the test bed is the same for all levels of an arm.
pub(super) fn check_factors(scope: &mut Scope<'_>, Input { root, def, .. }: Input<'_>) {
    for key in def.factors.keys() {
        let path: Vec<&str> = key.split('.').collect();
        let ["targets", target, setting] = path.as_slice() else {
            continue;
        };
        let mark = root.key_mark_at(&["factors", key]);
        let decides = scope.target(target, mark).is_some_and(|target| {
            let mut servers = target.ext_authz.iter();
            servers.any(|ask| ask.enabled_by == *setting)
        });
        if decides {
            let message = format!(
                "factor \"{key}\" decides which instances there are, which belongs to the test bed: write an arm for each"
            );
            scope.problem(mark, message);
        }
    }
}
