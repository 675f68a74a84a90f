//! The way of every edge through the proxies of an arm: stops, links, and what does not fit.

use super::Scope;
use crate::catalog::WorkloadFolder;
use crate::def::{ArmDef, HopDef, HopRole, InterceptionDef, LinkDef, OwnDef, SidecarDef};
use crate::external::{EXTERNAL, External};
use crate::name::Excluded;
use crate::plan::Edge;
use crate::problem::{hint, list};
use crate::protocol::{OverTcp, over_tcp};
use crate::target::TargetDef;
use crate::topology::{InstanceRole, Interception, Link, Route, Security, Settings};
use crate::yaml::{Mark, Node};

/// An instance of an arm while the arm is made.
#[derive(Debug, Clone)]
pub(super) struct Actor {
    pub name: String,
    pub pod: String,
    /// Part it plays or stands beside; a hop's own name.
    pub part: String,
    pub target: String,
    pub role: InstanceRole,
    /// Whether it runs already, and has no pod.
    pub external: bool,
    pub settings: Settings,
    /// Name by which a part is called, where that is not its own.
    pub host: Option<String>,
    /// Protocols of a proxy.
    pub speaks: Vec<String>,
    /// What a sidecar was made from.
    pub sidecar: Option<SidecarDef>,
    /// Where a proxy was asked for.
    pub mark: Option<Mark>,
    /// Protocol it shall treat traffic as, and where that stands.
    pub treat_as: Option<(String, Mark)>,
}

impl Actor {
    pub(super) fn new(
        name: &str,
        pod: &str,
        part: &str,
        target: &str,
        role: InstanceRole,
    ) -> Actor {
        Actor {
            name: name.to_owned(),
            pod: pod.to_owned(),
            part: part.to_owned(),
            target: target.to_owned(),
            role,
            external: false,
            settings: Settings::new(),
            host: None,
            speaks: Vec::new(),
            sidecar: None,
            mark: None,
            treat_as: None,
        }
    }

    /// An address of a part that runs already.
    pub(super) fn external(one: &External) -> Actor {
        let External { name, part, .. } = one;
        Actor {
            external: true,
            ..Actor::new(name, name, part, EXTERNAL, InstanceRole::App)
        }
    }
}

/// All instances of an arm.
#[derive(Debug, Default)]
pub(super) struct Cast {
    pub actors: Vec<Actor>,
    /// What the arm asks for and cannot have, since parts are external.
    pub lacking: Vec<String>,
}

impl Cast {
    pub(super) fn add(&mut self, actor: Actor) {
        self.actors.push(actor);
    }

    pub(super) fn get(&self, name: &str) -> Option<&Actor> {
        self.actors.iter().find(|actor| actor.name == name)
    }

    /// What Tare starts.
    pub(super) fn started(&self) -> impl Iterator<Item = &Actor> {
        self.actors.iter().filter(|actor| !actor.external)
    }

    /// Notes what an arm cannot have, once.
    pub(super) fn lack(&mut self, what: String) {
        if !self.lacking.contains(&what) {
            self.lacking.push(what);
        }
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.actors.iter().map(|actor| actor.name.clone()).collect()
    }

    /// The apps or agents of a part.
    pub(super) fn of_part(&self, part: &str) -> Vec<Actor> {
        self.actors
            .iter()
            .filter(|actor| actor.part == part && !actor.role.is_proxy())
            .cloned()
            .collect()
    }

    /// Instances that a name in `settings` means: one by its own name, or all of a part.
    pub(super) fn named(&self, name: &str) -> Vec<String> {
        if self.get(name).is_some() {
            return vec![name.to_owned()];
        }
        self.of_part(name)
            .into_iter()
            .map(|actor| actor.name)
            .collect()
    }

    pub(super) fn lay_over(&mut self, name: &str, settings: Settings) {
        if let Some(actor) = self.actors.iter_mut().find(|actor| actor.name == name) {
            actor.settings.extend(settings);
        }
    }

    /// The sidecar of an instance, when the edge goes through it.
    fn sidecar_of(&self, instance: &str, edge: &Edge) -> Option<&Actor> {
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

pub(super) fn hop_name(hop: &HopDef) -> &str {
    hop.name.as_ref().map_or(hop.hop.word(), |name| &name.0)
}

pub(super) fn hop_role(role: HopRole) -> InstanceRole {
    match role {
        HopRole::Gateway => InstanceRole::Gateway,
        HopRole::Sni => InstanceRole::Sni,
        HopRole::Ingress => InstanceRole::Ingress,
    }
}

pub(super) fn role_word(role: InstanceRole) -> &'static str {
    match role {
        InstanceRole::App => "app",
        InstanceRole::Agent => "agent",
        InstanceRole::Sidecar => "sidecar",
        InstanceRole::Gateway => "gateway",
        InstanceRole::Sni => "sni",
        InstanceRole::Ingress => "ingress",
    }
}

pub(super) fn roles_of(target: &TargetDef) -> String {
    let words: Vec<&str> = target.roles.iter().map(|role| role_word(*role)).collect();
    list(&words)
}

/// Whether a target can be this proxy and make this link.
pub(super) fn check_proxy(
    scope: &mut Scope<'_>,
    target: &TargetDef,
    role: InstanceRole,
    link: Option<LinkDef>,
    mark: Mark,
) {
    if !target.roles.contains(&role) {
        let said = format!(
            "target \"{}\" cannot be a {}: its roles are {}",
            target.target,
            role_word(role),
            roles_of(target)
        );
        scope.problem(mark, said);
    }
    if link == Some(LinkDef::Mtls) && !target.links.contains(&Security::Mtls) {
        let said = format!("target \"{}\" cannot make mtls links", target.target);
        scope.problem(mark, said);
    }
}

/// Whether the proxy can take traffic that reaches it so.
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
        let said = format!(
            "target \"{}\" cannot take redirected traffic (it does not read where a connection was going): use interception: explicit",
            target.target
        );
        scope.problem(mark, said);
    }
}

/// What an arm has an edge carry itself, where it says so.
pub(super) fn own(arm: &ArmDef, edge: &Edge) -> Option<Security> {
    match arm.own.as_ref()? {
        OwnDef::All(security) => Some(*security),
        OwnDef::Edges(edges) => edges
            .iter()
            // A pattern without a wildcard says more than one with it.
            .filter(|(pattern, _)| pattern.matches(&edge.from, &edge.to))
            .min_by_key(|(pattern, _)| pattern.0.matches('*').count())
            .map(|(_, security)| *security),
    }
}

/// Hops of an edge, each with its place.
fn via<'a>(arm: &'a ArmDef, node: &Node, edge: &Edge) -> Vec<(&'a HopDef, Mark)> {
    let chosen = arm
        .via
        .iter()
        .filter(|(pattern, _)| pattern.matches(&edge.from, &edge.to))
        .min_by_key(|(pattern, _)| pattern.0.matches('*').count());
    let Some((pattern, hops)) = chosen else {
        return Vec::new();
    };
    hops.iter()
        .enumerate()
        .map(|(index, hop)| {
            let mark = node.place(&["via", pattern, &index.to_string(), "hop"]);
            (hop, mark)
        })
        .collect()
}

/// The way of every edge between every two instances.
pub(super) fn routes(
    scope: &mut Scope<'_>,
    arm: &ArmDef,
    node: &Node,
    edges: &[Edge],
    agents: &[(String, Edge)],
    cast: &Cast,
) -> Vec<Route> {
    check_own(scope, arm, node, edges);
    let mut routes = Vec::new();
    for edge in edges {
        // Whom an external part calls is its own affair.
        let callers = cast.of_part(&edge.from).into_iter();
        for from in callers.filter(|actor| !actor.external) {
            let calls = from.role != InstanceRole::Agent
                || agents
                    .iter()
                    .any(|(instance, over)| *instance == from.name && over == edge);
            if !calls {
                continue;
            }
            for to in cast.of_part(&edge.to) {
                if from.name != to.name {
                    let mut way = Way {
                        scope,
                        arm,
                        node,
                        edge,
                        cast,
                    };
                    routes.push(way.route(&from, &to));
                }
            }
        }
    }
    check_mtls_used(scope, arm, node, &routes);
    routes
}

fn check_own(scope: &mut Scope<'_>, arm: &ArmDef, node: &Node, edges: &[Edge]) {
    let Some(OwnDef::Edges(patterns)) = &arm.own else {
        return;
    };
    for pattern in patterns.keys() {
        if !edges
            .iter()
            .any(|edge| pattern.matches(&edge.from, &edge.to))
        {
            let said = super::workload::unknown_edge(pattern, edges);
            scope.problem(node.key_place(&["own", pattern]), said);
        }
    }
}

/// A sidecar link that wraps nothing would be measured as if it did.
fn check_mtls_used(scope: &mut Scope<'_>, arm: &ArmDef, node: &Node, routes: &[Route]) {
    let asked = arm
        .sidecars
        .iter()
        .flat_map(|sidecars| sidecars.all())
        .any(|def| def.link == Some(LinkDef::Mtls));
    let made = routes
        .iter()
        .flat_map(|route| &route.links)
        .any(|link| link.security == Security::Mtls);
    if asked && !made {
        let said = "link: mtls wraps nothing: no edge leads from one proxy of this arm to another";
        scope.problem(node.place(&["sidecars", "link"]), said);
    }
}

/// One edge between two instances while its way is made.
struct Way<'w, 's> {
    scope: &'w mut Scope<'s>,
    arm: &'w ArmDef,
    node: &'w Node,
    edge: &'w Edge,
    cast: &'w Cast,
}

impl Way<'_, '_> {
    fn interception(&self, sidecar: &Actor) -> Interception {
        let wanted = sidecar.sidecar.as_ref().and_then(|def| def.interception);
        self.scope.redirection.interception(wanted)
    }

    fn route(&mut self, from: &Actor, to: &Actor) -> Route {
        // What is external speaks as it does, whatever an arm wants.
        let external = self.scope.external.own(&self.edge.to);
        let own = external.or_else(|| own(self.arm, self.edge));
        let own = own.unwrap_or(self.edge.own);
        let before = self.cast.sidecar_of(&from.name, self.edge);
        let after = self.cast.sidecar_of(&to.name, self.edge);
        let hops = via(self.arm, self.node, self.edge);
        let mut stops = Vec::new();
        let mut links = Vec::new();
        if let Some(sidecar) = before {
            stops.push(sidecar.name.clone());
            // Inside its own pod the caller speaks as it always does.
            links.push(link(LinkDef::Plaintext, self.interception(sidecar)));
        }
        for (hop, mark) in &hops {
            let wanted = hop.link.unwrap_or(LinkDef::Plaintext);
            if wanted == LinkDef::Mtls && stops.is_empty() {
                let said = format!(
                    "link: mtls needs a proxy at its other end, but {} calls \"{}\" without one: give it a sidecar",
                    from.name,
                    hop_name(hop)
                );
                self.scope.problem(*mark, said);
            }
            self.check_sni(hop, own, *mark);
            let name = hop_name(hop).to_owned();
            if stops.contains(&name) {
                let said = format!("\"{name}\" stands twice on edge {}", self.edge.name());
                self.scope.problem(*mark, said);
            }
            stops.push(name);
            links.push(link(wanted, Interception::Explicit));
        }
        if let Some(sidecar) = after {
            let wanted = self.last_link(before, sidecar, stops.is_empty());
            stops.push(sidecar.name.clone());
            links.push(link(wanted, self.interception(sidecar)));
        }
        links.push(link(LinkDef::Plaintext, Interception::Explicit));
        let protocol = self.protocol(own, &stops);
        Route {
            edge: self.edge.name(),
            from: from.name.clone(),
            to: to.name.clone(),
            protocol,
            own,
            stops,
            links,
        }
    }

    /// What is wrapped round the stretch into the called part's sidecar.
    fn last_link(&mut self, before: Option<&Actor>, after: &Actor, first: bool) -> LinkDef {
        let said = |actor: &Actor| {
            let def = actor.sidecar.as_ref();
            def.and_then(|def| def.link).unwrap_or(LinkDef::Plaintext)
        };
        // No proxy before it: the caller cannot wrap anything.
        if first {
            return LinkDef::Plaintext;
        }
        let wanted = said(after);
        if let Some(before) = before
            && said(before) != wanted
        {
            let text = format!(
                "the sidecars at both ends of {} name different links: write the same for both",
                self.edge.name()
            );
            self.scope
                .problem(after.mark.unwrap_or(self.node.mark), text);
        }
        wanted
    }

    fn check_sni(&mut self, hop: &HopDef, own: Security, mark: Mark) {
        if hop.hop == HopRole::Sni && own == Security::Plaintext {
            let said = format!(
                "a hop sni routes by the name in TLS, but edge {} carries no TLS of its own",
                self.edge.name()
            );
            self.scope.problem(mark, said);
        }
    }

    /// The protocol that the proxies of a way see.
    fn protocol(&mut self, own: Security, stops: &[String]) -> String {
        const TCP: &str = "tcp";
        // TLS from end to end hides everything else.
        let edge = if own == Security::Plaintext {
            self.edge.protocol.clone()
        } else {
            TCP.to_owned()
        };
        let mut seen = edge.clone();
        for stop in stops {
            let Some(actor) = self.cast.get(stop) else {
                continue;
            };
            let mark = actor.mark.unwrap_or(self.node.mark);
            if let Some((asked, place)) = &actor.treat_as
                && *asked != edge
                && asked != TCP
            {
                let said = format!(
                    "edge {} cannot be treated as {asked}{}",
                    self.edge.name(),
                    hint(asked, [edge.as_str(), TCP])
                );
                self.scope.problem(*place, said);
                continue;
            }
            let asked = actor.treat_as.as_ref().map(|(asked, _)| asked.clone());
            let wanted = asked.unwrap_or_else(|| edge.clone());
            if actor.speaks.contains(&wanted) {
                if wanted == TCP {
                    TCP.clone_into(&mut seen);
                }
            } else if over_tcp(&wanted) == OverTcp::Usual && actor.speaks.iter().any(|p| p == TCP) {
                TCP.clone_into(&mut seen);
            } else {
                let said = format!(
                    "target \"{}\" does not speak {wanted} (edge {}): it speaks {}",
                    actor.target,
                    self.edge.name(),
                    list(&actor.speaks)
                );
                self.scope.problem(mark, said);
            }
        }
        seen
    }
}

fn link(security: LinkDef, interception: Interception) -> Link {
    Link {
        security: match security {
            LinkDef::Plaintext => Security::Plaintext,
            LinkDef::Mtls => Security::Mtls,
        },
        interception,
    }
}
