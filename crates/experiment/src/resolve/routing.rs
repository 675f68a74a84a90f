//! Routing: the route of every edge through the proxies of an arm, and what does not fit.

use std::collections::BTreeMap;

use tare_record::external::{EXTERNAL, External};
use tare_record::name::{EdgePattern, Excluded};
use tare_record::plan::Edge;
use tare_record::protocol::{self, OverTcp};
use tare_record::text::word_of;
use tare_record::topology::{InstanceRole, Interception, Route, RouteSegment, Security, Settings};

use super::Scope;
use super::topology::TopologyBuilder;
use crate::catalog::WorkloadFolder;
use crate::def::{
    ArmDef, EdgeSecurityDef, HopDef, HopRole, HopSecurity, InterceptionDef, SidecarDef,
};
use crate::problem::{hint, list};
use crate::target::TargetDef;
use crate::yaml::{Mark, Node};

/// An instance of an arm that is being resolved.
#[derive(Debug, Clone)]
pub(super) struct InstanceDraft {
    pub name: String,
    pub pod: String,
    /// Part that it runs or is the sidecar of; a hop's own name.
    pub part: String,
    pub target: String,
    pub role: InstanceRole,
    /// Whether it is external and has no pod.
    pub external: bool,
    pub settings: Settings,
    /// Host name by which it is called, if not its own name.
    pub host: Option<String>,
    /// Protocols that a proxy supports.
    pub protocols: Vec<String>,
    /// Definition of a sidecar.
    pub sidecar: Option<SidecarDef>,
    /// Position of a proxy's definition.
    pub mark: Option<Mark>,
    /// Protocol that it shall treat traffic as, with its position.
    pub treat_as: Option<(String, Mark)>,
}

impl InstanceDraft {
    pub(super) fn new(
        name: &str,
        pod: &str,
        part: &str,
        target: &str,
        role: InstanceRole,
    ) -> InstanceDraft {
        InstanceDraft {
            name: name.to_owned(),
            pod: pod.to_owned(),
            part: part.to_owned(),
            target: target.to_owned(),
            role,
            external: false,
            settings: Settings::new(),
            host: None,
            protocols: Vec::new(),
            sidecar: None,
            mark: None,
            treat_as: None,
        }
    }

    /// An address of an external part.
    pub(super) fn external(one: &External) -> InstanceDraft {
        let External { name, part, .. } = one;
        InstanceDraft {
            external: true,
            ..InstanceDraft::new(name, name, part, EXTERNAL, InstanceRole::App)
        }
    }
}

/// All instances of an arm.
#[derive(Debug, Default)]
pub(super) struct InstanceDrafts {
    pub all: Vec<InstanceDraft>,
    /// What the arm needs and cannot have because of external parts.
    pub lacking: Vec<String>,
}

impl InstanceDrafts {
    pub(super) fn add(&mut self, draft: InstanceDraft) {
        self.all.push(draft);
    }

    pub(super) fn get(&self, name: &str) -> Option<&InstanceDraft> {
        self.all.iter().find(|draft| draft.name == name)
    }

    /// Instances that Tare starts.
    pub(super) fn started(&self) -> impl Iterator<Item = &InstanceDraft> {
        self.all.iter().filter(|draft| !draft.external)
    }

    /// Notes what the arm lacks, once.
    pub(super) fn lack(&mut self, what: String) {
        if !self.lacking.contains(&what) {
            self.lacking.push(what);
        }
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.all.iter().map(|draft| draft.name.as_str())
    }

    /// Apps or agents of a part.
    pub(super) fn of_part(&self, part: &str) -> Vec<InstanceDraft> {
        self.all
            .iter()
            .filter(|draft| draft.part == part && !draft.role.is_proxy())
            .cloned()
            .collect()
    }

    /// Instances that a name means: the instance itself, or all of a part.
    pub(super) fn named(&self, name: &str) -> Vec<String> {
        if self.get(name).is_some() {
            return vec![name.to_owned()];
        }
        self.of_part(name)
            .into_iter()
            .map(|draft| draft.name)
            .collect()
    }

    /// The sidecar of an instance, unless it excludes the edge.
    fn sidecar_of(&self, instance: &str, edge: &Edge) -> Option<&InstanceDraft> {
        let sidecar = self.get(&format!("{instance}-sidecar"))?;
        let def = sidecar.sidecar.as_ref()?;
        (!excludes(def, edge)).then_some(sidecar)
    }
}

fn excludes(def: &SidecarDef, edge: &Edge) -> bool {
    def.exclude.iter().any(|exclude| match exclude.meaning() {
        Some(Excluded::Edge(pattern)) => pattern.matches(&edge.from, &edge.to),
        Some(Excluded::Part(part)) => edge.from == part || edge.to == part,
        _ => false,
    })
}

pub(super) fn edges_of(folder: &WorkloadFolder) -> Vec<Edge> {
    super::workload::edges(&folder.def)
}

/// Name of a hop's instance; hops of one name are one process.
pub(super) fn hop_name(hop: &HopDef) -> String {
    let name = hop.name.as_ref();
    name.map_or_else(|| word_of(&hop.hop), |name| name.0.clone())
}

pub(super) fn roles_of(target: &TargetDef) -> String {
    let words: Vec<String> = target.roles.iter().map(word_of).collect();
    list(&words)
}

/// Checks that a target supports the role and the security of a proxy.
pub(super) fn check_proxy(
    scope: &mut Scope<'_>,
    target: &TargetDef,
    role: InstanceRole,
    security: Option<HopSecurity>,
    mark: Mark,
) {
    if !target.roles.contains(&role) {
        let message = format!(
            "target \"{}\" cannot be a {}: its roles are {}",
            target.target,
            word_of(&role),
            roles_of(target)
        );
        scope.problem(mark, message);
    }
    if security == Some(HopSecurity::Mtls) && !target.security.contains(&Security::Mtls) {
        let message = format!(
            "target \"{}\" does not support mtls between proxies",
            target.target
        );
        scope.problem(mark, message);
    }
}

/// What is said of a target that does not support the protocol of an edge.
pub(super) fn not_spoken(target: &str, protocol: &str, edge: &Edge, known: &[String]) -> String {
    format!(
        "target \"{target}\" does not speak {protocol} (edge {}): it speaks {}",
        edge.name(),
        list(known)
    )
}

/// Checks that a proxy supports the interception.
pub(super) fn check_interception(
    scope: &mut Scope<'_>,
    target: &TargetDef,
    wanted: Option<InterceptionDef>,
    mark: Mark,
) {
    let redirect = matches!(
        wanted,
        Some(InterceptionDef::Redirect | InterceptionDef::RedirectIfPossible)
    );
    if redirect && !target.interceptions.contains(&Interception::Redirect) {
        let message = format!(
            "target \"{}\" cannot take redirected traffic (it does not read where a connection was going): use interception: explicit",
            target.target
        );
        scope.problem(mark, message);
    }
}

/// End-to-end security of an edge in this arm, if the arm sets it.
pub(super) fn own(arm: &ArmDef, edge: &Edge) -> Option<Security> {
    match arm.edge_security.as_ref()? {
        EdgeSecurityDef::All(security) => Some(*security),
        EdgeSecurityDef::Edges(edges) => of_edge(edges, edge).map(|(_, security)| *security),
    }
}

/// What applies to an edge; a pattern without a wildcard takes precedence.
fn of_edge<'a, T>(
    by_pattern: &'a BTreeMap<EdgePattern, T>,
    edge: &Edge,
) -> Option<(&'a EdgePattern, &'a T)> {
    let matching = by_pattern.iter();
    let matching = matching.filter(|(pattern, _)| pattern.matches(&edge.from, &edge.to));
    matching.min_by_key(|(pattern, _)| pattern.0.matches('*').count())
}

/// Hops of an edge, each with its position.
fn via<'a>(arm: &'a ArmDef, node: &Node, edge: &Edge) -> Vec<(&'a HopDef, Mark)> {
    let Some((pattern, hops)) = of_edge(&arm.via, edge) else {
        return Vec::new();
    };
    let place = |index: usize| node.mark_at(&["via", pattern, &index.to_string(), "hop"]);
    let hops = hops.iter().enumerate();
    hops.map(|(index, hop)| (hop, place(index))).collect()
}

impl TopologyBuilder<'_, '_> {
    /// Routes of all edges, between every two of their instances.
    pub(super) fn routes(&mut self, drafts: &InstanceDrafts) -> Vec<Route> {
        self.check_own();
        let mut routes = Vec::new();
        for edge in self.edges {
            // Calls of external parts are out of reach.
            let callers = drafts.of_part(&edge.from).into_iter();
            for from in callers.filter(|draft| !draft.external) {
                let mut agents = self.agents.iter();
                let is_over =
                    |(instance, over): &(String, Edge)| *instance == from.name && over == edge;
                if from.role == InstanceRole::Agent && !agents.any(is_over) {
                    continue;
                }
                for to in drafts.of_part(&edge.to) {
                    if from.name != to.name {
                        routes.push(self.route(drafts, edge, &from, &to));
                    }
                }
            }
        }
        self.check_mtls_used(&routes);
        routes
    }

    fn check_own(&mut self) {
        let Some(EdgeSecurityDef::Edges(patterns)) = &self.arm.edge_security else {
            return;
        };
        for pattern in patterns.keys() {
            let mark = self.node.key_mark_at(&["edge_security", pattern]);
            super::workload::check_edge(self.scope, mark, pattern, self.edges);
        }
    }

    /// Reports mTLS between sidecars that applies to no route: it would be measured as if it did.
    fn check_mtls_used(&mut self, routes: &[Route]) {
        let mut sidecars = self.arm.sidecars.iter().flat_map(|sidecars| sidecars.all());
        let requested = sidecars.any(|def| def.security == Some(HopSecurity::Mtls));
        let mut segments = routes.iter().flat_map(|route| &route.segments);
        let made = segments.any(|segment| segment.security == Security::Mtls);
        if requested && !made {
            let message = "security: mtls applies to no segment: no edge leads from one proxy of this arm to another";
            let mark = self.node.mark_at(&["sidecars", "security"]);
            self.scope.problem(mark, message);
        }
    }

    fn interception(&self, sidecar: &InstanceDraft) -> Interception {
        let wanted = sidecar.sidecar.as_ref().and_then(|def| def.interception);
        self.scope.redirection.interception(wanted)
    }

    fn route(
        &mut self,
        drafts: &InstanceDrafts,
        edge: &Edge,
        from: &InstanceDraft,
        to: &InstanceDraft,
    ) -> Route {
        // An external part has a fixed security.
        let external = self.scope.external.own(&edge.to);
        let own = external.or_else(|| own(self.arm, edge));
        let own = own.unwrap_or(edge.security);
        let before = drafts.sidecar_of(&from.name, edge);
        let after = drafts.sidecar_of(&to.name, edge);
        let hops = via(self.arm, self.node, edge);
        let mut proxies = Vec::new();
        let mut segments = Vec::new();
        if let Some(sidecar) = before {
            proxies.push(sidecar.name.clone());
            // Within its pod the caller uses plaintext.
            segments.push(segment(HopSecurity::Plaintext, self.interception(sidecar)));
        }
        for (hop, mark) in &hops {
            let wanted = hop.security.unwrap_or(HopSecurity::Plaintext);
            if wanted == HopSecurity::Mtls && proxies.is_empty() {
                let message = format!(
                    "security: mtls needs a proxy at its other end, but {} calls \"{}\" without one: give it a sidecar",
                    from.name,
                    hop_name(hop)
                );
                self.scope.problem(*mark, message);
            }
            if hop.hop == HopRole::Sni && own == Security::Plaintext {
                let message = format!(
                    "a hop sni routes by the name in TLS, but edge {} carries no TLS of its own",
                    edge.name()
                );
                self.scope.problem(*mark, message);
            }
            let name = hop_name(hop);
            if proxies.contains(&name) {
                let message = format!("duplicate \"{name}\" on edge {}", edge.name());
                self.scope.problem(*mark, message);
            }
            proxies.push(name);
            segments.push(segment(wanted, Interception::Explicit));
        }
        if let Some(sidecar) = after {
            let wanted = self.last_security(edge, before, sidecar, proxies.is_empty());
            proxies.push(sidecar.name.clone());
            segments.push(segment(wanted, self.interception(sidecar)));
        }
        segments.push(segment(HopSecurity::Plaintext, Interception::Explicit));
        let protocol = self.protocol(drafts, edge, own, &proxies);
        Route {
            edge: edge.name(),
            from: from.name.clone(),
            to: to.name.clone(),
            protocol,
            edge_security: own,
            proxies,
            segments,
        }
    }

    /// Security of the segment to the called part's sidecar.
    fn last_security(
        &mut self,
        edge: &Edge,
        before: Option<&InstanceDraft>,
        after: &InstanceDraft,
        first: bool,
    ) -> HopSecurity {
        let message = |draft: &InstanceDraft| {
            let def = draft.sidecar.as_ref();
            def.and_then(|def| def.security)
                .unwrap_or(HopSecurity::Plaintext)
        };
        // Without a proxy before it, the caller would have to encrypt.
        if first {
            return HopSecurity::Plaintext;
        }
        let wanted = message(after);
        if let Some(before) = before
            && message(before) != wanted
        {
            let text = format!(
                "the sidecars at both ends of {} have different security: write the same for both",
                edge.name()
            );
            self.scope
                .problem(after.mark.unwrap_or(self.node.mark), text);
        }
        wanted
    }

    /// Protocol that the proxies of a route see.
    fn protocol(
        &mut self,
        drafts: &InstanceDrafts,
        edge: &Edge,
        own: Security,
        proxies: &[String],
    ) -> String {
        const TCP: &str = "tcp";
        let protocols = self.scope.catalog.protocols;
        let over_tcp = |name: &str| protocol::find(protocols, name).map(|info| info.over_tcp);
        let never_tcp = over_tcp(&edge.protocol) == Some(OverTcp::Impossible);
        if never_tcp && own != Security::Plaintext {
            let (edge, protocol) = (edge.name(), &edge.protocol);
            let message = format!("edge {edge}: there is no TLS over {protocol}");
            self.scope.problem(self.node.mark, message);
        }
        // End-to-end TLS hides the protocol.
        let visible = match own {
            Security::Tls | Security::Mtls if !never_tcp => TCP,
            _ => edge.protocol.as_str(),
        };
        let mut seen = visible.to_owned();
        for stop in proxies {
            let Some(draft) = drafts.get(stop) else {
                continue;
            };
            let mark = draft.mark.unwrap_or(self.node.mark);
            if let Some((requested, place)) = &draft.treat_as
                && *requested != visible
                && (requested != TCP || never_tcp)
            {
                let message = format!(
                    "edge {} cannot be treated as {requested}{}",
                    edge.name(),
                    hint(requested, [visible, TCP])
                );
                self.scope.problem(*place, message);
                continue;
            }
            let requested = draft.treat_as.as_ref();
            let wanted = requested.map_or(visible, |(requested, _)| requested.as_str());
            let speaks = |protocol: &str| draft.protocols.iter().any(|known| known == protocol);
            let as_tcp = over_tcp(wanted) == Some(OverTcp::Usual) && speaks(TCP);
            if wanted == TCP && speaks(TCP) || as_tcp && !speaks(wanted) {
                TCP.clone_into(&mut seen);
            } else if !speaks(wanted) {
                let message = not_spoken(&draft.target, wanted, edge, &draft.protocols);
                self.scope.problem(mark, message);
            }
        }
        seen
    }
}

fn segment(security: HopSecurity, interception: Interception) -> RouteSegment {
    RouteSegment {
        security: match security {
            HopSecurity::Plaintext => Security::Plaintext,
            HopSecurity::Mtls => Security::Mtls,
        },
        interception,
    }
}
