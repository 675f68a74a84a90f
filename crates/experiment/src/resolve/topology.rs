//! Topology of an arm: pods, instances in start order, and the route of every edge.

use std::collections::BTreeMap;
use std::rc::Rc;

use tare_record::external::EXTERNAL;
use tare_record::name::{Excluded, Name};
use tare_record::plan::{Arm, Edge, Exclusion, PartKind, Subject};
use tare_record::topology::{InstanceRole, Settings, Topology};

use super::external::refuse;
use super::routing::{self, InstanceDraft, InstanceDrafts};
use super::site_links::Sites;
use super::workload::AGENT;
use super::{
    Input, Scope, arm_description, ext_authz, lacking, levels, load, start_order, workload,
};
use crate::catalog::WorkloadFolder;
use crate::def::{ArmDef, HopSecurity, OneOrSeveral, PartGroup, PartSelector, SidecarDef};
use crate::problem::{hint, unknown};
use crate::target::TargetDef;
use crate::yaml::{Mark, Node};

/// Resolves all arms, in the order of the file.
pub(super) fn arms(
    scope: &mut Scope<'_>,
    input @ Input { root, def, folder }: Input<'_>,
    sites: &Sites<'_>,
) -> Vec<Arm> {
    let agents = load::agents(scope, input);
    let edges = routing::edges_of(folder);
    let resolved = workload::resolved(scope, input);
    let nodes = root.get("arms").map_or(&[][..], Node::items);
    def.arms
        .iter()
        .zip(nodes)
        .map(|(arm, node)| {
            let mut builder = TopologyBuilder {
                scope,
                arm,
                node,
                folder,
                edges: &edges,
                agents: &agents,
                resolved: &resolved,
                of_targets: &def.targets,
                sites,
            };
            builder.build()
        })
        .collect()
}

/// An arm whose test bed is being resolved.
pub(super) struct TopologyBuilder<'b, 's> {
    pub(super) scope: &'b mut Scope<'s>,
    pub(super) arm: &'b ArmDef,
    pub(super) node: &'b Node,
    folder: &'b WorkloadFolder,
    pub(super) edges: &'b [Edge],
    pub(super) agents: &'b [(String, Edge)],
    resolved: &'b workload::ResolvedWorkload,
    /// Settings of targets for every arm.
    of_targets: &'b BTreeMap<Name, Settings>,
    sites: &'b Sites<'b>,
}

impl TopologyBuilder<'_, '_> {
    fn build(&mut self) -> Arm {
        let mut drafts = InstanceDrafts::default();
        self.parts(&mut drafts);
        self.sidecars(&mut drafts);
        self.hops(&mut drafts);
        let mesh = self.mesh(&mut drafts);
        self.target_settings(&mut drafts);
        self.instance_settings(&mut drafts);
        lacking::note(self.scope, (self.arm, self.node), self.edges, &mut drafts);
        let authz_drafts = ext_authz::drafts(self.scope, self.of_targets, self.node, &mut drafts);
        let mut routes = self.routes(&drafts);
        let ext_authz = ext_authz::routes(self.scope, &authz_drafts, &mut routes);
        let pods = start_order::pods(&drafts);
        let pods = self.sites.pods(self.scope, (self.arm, self.node), pods);
        let instances = start_order::in_start_order(&drafts, &routes);
        let topology = Topology {
            pods,
            instances,
            routes,
            ext_authz,
            external: self.scope.external.all().cloned().collect(),
            mesh,
        };
        Arm {
            name: self.arm.name.0.clone(),
            about: self
                .arm
                .about
                .clone()
                .unwrap_or_else(|| arm_description::arm(self.scope, self.arm, &topology)),
            subject: match &self.arm.subject {
                Some(subject) => subject.subject(),
                None => Subject::singular(self.arm.name.0.clone()),
            },
            requires: self
                .scope
                .redirection
                .needs(self.arm)
                .or_else(|| {
                    let lacking = &drafts.lacking;
                    (!lacking.is_empty()).then(|| crate::problem::list(lacking))
                })
                .or_else(|| {
                    let started = drafts.started();
                    let mut own = started.filter(|draft| !topology.is_injected(&draft.name));
                    own.find_map(|draft| {
                        let where_to_get = self.scope.absent.get(&draft.target)?;
                        Some(format!("the software of {}: {where_to_get}", draft.target))
                    })
                }),
            excluded: self.excluded(),
            limits: BTreeMap::new(),
            topology,
        }
    }

    fn mark_at(&self, path: &[&str]) -> Mark {
        self.node.mark_at(path)
    }

    fn unknown_part(&mut self, mark: Mark, name: &str) {
        let message = unknown("part", name, self.folder.def.parts.keys());
        self.scope.problem(mark, message);
    }

    fn parts(&mut self, drafts: &mut InstanceDrafts) {
        for part in self.arm.parts.keys() {
            let mark = self.node.key_mark_at(&["parts", part]);
            match self.folder.def.parts.get(part) {
                None => self.unknown_part(mark, part),
                Some(def) if def.kind == PartKind::Client => {
                    self.scope
                        .problem(mark, "clients are agents: they take no target");
                }
                Some(_) => {}
            }
        }
        for (name, part) in &self.folder.def.parts {
            if part.kind == PartKind::Client {
                self.clients(drafts, name);
                continue;
            }
            if let Some(all) = self.resolved.external.of(name) {
                drafts.all.extend(all.iter().map(InstanceDraft::external));
                continue;
            }
            let own = self.arm.parts.get(name);
            let mark = match own {
                Some(_) => self.mark_at(&["parts", name]),
                None => self.mark_at(&["name"]),
            };
            let target = own.map(|target| target.0.clone());
            let target = target.or_else(|| self.resolved.targets.get(&name.0).cloned());
            let target = target.unwrap_or_default();
            if target.is_empty() {
                let message = format!(
                    "part \"{name}\" has no target: write parts: {{{name}: …}} or name one in the workload"
                );
                self.scope.problem(mark, message);
                continue;
            }
            self.check_app(&target, name, mark);
            let count = workload::count(self.folder, self.resolved, name);
            for number in 1..=count {
                let instance = if count == 1 {
                    name.0.clone()
                } else {
                    format!("{name}-{number}")
                };
                let role = InstanceRole::App;
                let mut draft = InstanceDraft::new(&instance, &instance, name, &target, role);
                draft.host.clone_from(&part.host);
                drafts.add(draft);
            }
        }
    }

    fn clients(&self, drafts: &mut InstanceDrafts, part: &str) {
        for (instance, edge) in self.agents {
            if edge.from == part {
                drafts.add(InstanceDraft::new(
                    instance,
                    instance,
                    part,
                    AGENT,
                    InstanceRole::Agent,
                ));
            }
        }
    }

    fn check_app(&mut self, target: &str, part: &str, mark: Mark) {
        let Some(def) = self.scope.target(target, mark) else {
            return;
        };
        if !def.roles.contains(&InstanceRole::App) {
            let message = format!(
                "target \"{target}\" cannot run as part \"{part}\": its roles are {}",
                routing::roles_of(&def)
            );
            self.scope.problem(mark, message);
        }
        for edge in self.edges.iter().filter(|edge| edge.to == part) {
            if !def.protocols.contains(&edge.protocol) {
                let message = routing::not_spoken(target, &edge.protocol, edge, &def.protocols);
                self.scope.problem(mark, message);
            }
        }
    }

    fn sidecars(&mut self, drafts: &mut InstanceDrafts) {
        let Some(sidecars) = &self.arm.sidecars else {
            return;
        };
        let one = matches!(sidecars, OneOrSeveral::One(_));
        for (index, def) in sidecars.all().iter().enumerate() {
            let index = index.to_string();
            let path = ["sidecars", &index];
            self.sidecar(drafts, def, if one { &path[..1] } else { &path });
        }
    }

    /// Target of a proxy, and a draft that still lacks its name, pod and part.
    fn proxy(
        &mut self,
        node: &Node,
        (proxy, role): (&Name, InstanceRole),
        security: Option<HopSecurity>,
        treat_as: Option<&String>,
    ) -> Option<(Rc<TargetDef>, InstanceDraft)> {
        let mark = node.mark_at(&["proxy"]);
        let target = self.scope.target(proxy, mark)?;
        routing::check_proxy(self.scope, &target, role, security, mark);
        let mut draft = InstanceDraft::new("", "", "", proxy, role);
        if let Some(written) = node.get("settings") {
            draft.settings = levels::settings(self.scope, proxy, mark, written);
        }
        draft.protocols.clone_from(&target.protocols);
        draft.mark = Some(mark);
        draft.treat_as = treat_as.map(|asked| (asked.clone(), node.mark_at(&["as"])));
        Some((target, draft))
    }

    fn sidecar(&mut self, drafts: &mut InstanceDrafts, def: &SidecarDef, path: &[&str]) {
        let node = self.node.descend(path);
        let role = (&def.proxy, InstanceRole::Sidecar);
        let Some((target, proxy)) = self.proxy(node, role, def.security, def.treat_as.as_ref())
        else {
            return;
        };
        let mark = node.mark_at(&["proxy"]);
        routing::check_interception(self.scope, &target, def.interception, mark);
        self.check_excluded(def, path);
        let parts = self.chosen(def, path);
        // Unknown names are reported elsewhere.
        let mut applied = parts.is_empty() && matches!(def.on, PartSelector::Parts(_));
        for part in parts {
            for draft in drafts.of_part(&part) {
                applied = true;
                let name = format!("{}-sidecar", draft.name);
                if drafts.get(&name).is_some() {
                    let message = format!("part \"{part}\" has two sidecars: take it out of one");
                    self.scope.problem(node.mark_at(&["on"]), message);
                    continue;
                }
                drafts.add(InstanceDraft {
                    name,
                    pod: draft.pod,
                    part: part.clone(),
                    sidecar: Some(def.clone()),
                    ..proxy.clone()
                });
            }
        }
        if !applied {
            let message = "these sidecars stand beside nothing";
            self.scope.problem(node.mark_at(&["on"]), message);
        }
    }

    /// Parts that `on` selects.
    fn chosen(&mut self, def: &SidecarDef, path: &[&str]) -> Vec<String> {
        let parts = &self.folder.def.parts;
        let of_kind = |kinds: &[PartKind]| -> Vec<String> {
            parts
                .iter()
                .filter(|(_, part)| kinds.contains(&part.kind))
                .map(|(name, _)| name.0.clone())
                .collect()
        };
        match &def.on {
            PartSelector::Word(PartGroup::Services) => of_kind(&[PartKind::Service]),
            PartSelector::Word(PartGroup::All) => of_kind(&[PartKind::Client, PartKind::Service]),
            PartSelector::Parts(names) => {
                let mut chosen: Vec<String> = Vec::new();
                for (index, name) in names.iter().enumerate() {
                    if !parts.contains_key(name) {
                        let index = index.to_string();
                        let mark = self.node.descend(path).mark_at(&["on", &index]);
                        self.unknown_part(mark, name);
                    } else if !chosen.contains(&name.0) {
                        chosen.push(name.0.clone());
                    }
                }
                chosen
            }
        }
    }

    fn check_excluded(&mut self, def: &SidecarDef, path: &[&str]) {
        for (index, exclude) in def.exclude.iter().enumerate() {
            let index = index.to_string();
            let mut path = path.to_vec();
            path.extend(["exclude", &index]);
            let mark = self.mark_at(&path);
            match exclude.meaning() {
                Some(Excluded::Edge(pattern)) => {
                    workload::check_edge(self.scope, mark, &pattern, self.edges);
                }
                Some(Excluded::Part(part))
                    if !self.folder.def.parts.contains_key(part.as_str()) =>
                {
                    self.unknown_part(mark, &part);
                }
                _ => {}
            }
        }
    }

    fn hops(&mut self, drafts: &mut InstanceDrafts) {
        for (pattern, hops) in &self.arm.via {
            let mark = self.node.key_mark_at(&["via", pattern]);
            workload::check_edge(self.scope, mark, pattern, self.edges);
            for (index, hop) in hops.iter().enumerate() {
                let index = index.to_string();
                self.hop(drafts, hop, &["via", pattern, &index]);
            }
        }
    }

    fn hop(&mut self, drafts: &mut InstanceDrafts, hop: &crate::def::HopDef, path: &[&str]) {
        let node = self.node.descend(path);
        let role = (&hop.proxy, hop.hop.of_instance());
        let Some((_, proxy)) = self.proxy(node, role, hop.security, hop.treat_as.as_ref()) else {
            return;
        };
        let name = routing::hop_name(hop);
        if let Some(known) = drafts.get(&name) {
            // A gateway may serve several edges, as one process with one configuration.
            let alike = known.role == proxy.role
                && known.target == proxy.target
                && known.settings == proxy.settings;
            if !alike {
                let message = format!(
                    "\"{name}\" is there already and is something else: give this hop a name of its own (name: …)"
                );
                self.scope.problem(node.mark_at(&["hop"]), message);
            }
            return;
        }
        let pod = match &hop.pod {
            None => name.clone(),
            Some(beside) => match drafts.get(beside) {
                Some(neighbour) => neighbour.pod.clone(),
                None => {
                    let hint = hint(beside, drafts.names());
                    let message = format!("nothing is called \"{beside}\" before this hop{hint}");
                    self.scope.problem(node.mark_at(&["pod"]), message);
                    return;
                }
            },
        };
        drafts.add(InstanceDraft {
            name: name.clone(),
            pod,
            part: name,
            ..proxy
        });
    }

    /// Applies `targets` of the arm to all instances of each target, under their own settings.
    fn target_settings(&mut self, drafts: &mut InstanceDrafts) {
        let Some(all) = self.node.get("targets").cloned() else {
            return;
        };
        for entry in all.entries() {
            let of_target = levels::settings(self.scope, &entry.key, entry.key_mark, &entry.value);
            let drafts = drafts.all.iter_mut();
            let mut found = drafts.filter(|draft| draft.target == entry.key).peekable();
            if found.peek().is_none() {
                let (target, arm) = (&entry.key, &self.arm.name.0);
                let message = format!("arm \"{arm}\" has no instance of the target \"{target}\"");
                self.scope.problem(entry.key_mark, message);
            }
            for draft in found {
                let own = std::mem::replace(&mut draft.settings, of_target.clone());
                draft.settings.extend(own);
            }
        }
    }

    /// Applies `settings` of the arm to instances.
    fn instance_settings(&mut self, drafts: &mut InstanceDrafts) {
        let Some(all) = self.node.get("settings").cloned() else {
            return;
        };
        for entry in all.entries() {
            // The name of a part means all of its instances.
            let names = drafts.named(&entry.key);
            if names.is_empty() {
                let (key, hint) = (&entry.key, hint(&entry.key, drafts.names()));
                let message = format!("nothing is called \"{key}\" in this arm{hint}");
                self.scope.problem(entry.key_mark, message);
            }
            for name in names {
                let target = drafts.get(&name).map(|draft| draft.target.clone());
                match target {
                    Some(target) if target == EXTERNAL => {
                        refuse(self.scope, entry.key_mark, &name, "it has no settings here");
                    }
                    Some(target) if target == AGENT => {
                        let message = "an agent has no settings here: they belong to load";
                        self.scope.problem(entry.key_mark, message);
                    }
                    Some(target) => {
                        let settings =
                            levels::settings(self.scope, &target, entry.key_mark, &entry.value);
                        let mut all = drafts.all.iter_mut();
                        if let Some(draft) = all.find(|draft| draft.name == name) {
                            draft.settings.extend(settings);
                        }
                    }
                    None => {}
                }
            }
        }
    }

    fn excluded(&self) -> Vec<Exclusion> {
        let mut all: Vec<Exclusion> = Vec::new();
        let sidecars = self.arm.sidecars.iter().flat_map(|sidecars| sidecars.all());
        for exclude in sidecars.flat_map(|def| &def.exclude) {
            let exclusion = match exclude.meaning() {
                Some(Excluded::Port(port)) => Exclusion::Port(port),
                Some(Excluded::Range(range)) => Exclusion::Range(range),
                _ => continue,
            };
            if !all.contains(&exclusion) {
                all.push(exclusion);
            }
        }
        all
    }
}
