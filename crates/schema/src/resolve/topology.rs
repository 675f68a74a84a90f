//! An arm → its test bed: pods, instances in start order, and the way of every edge.

use std::collections::{BTreeMap, BTreeSet};

use super::external::refuse;
use super::ways::{self, Actor, Cast};
use super::workload::AGENT;
use super::{Scope, about, asks, lacking, levels, load, start, workload};
use crate::catalog::WorkloadFolder;
use crate::def::{ArmDef, ExperimentDef, OnDef, OnWord, SidecarDef};
use crate::external::EXTERNAL;
use crate::name::{Excluded, Name};
use crate::plan::{Arm, Edge, Exclusion, PartKind, Subject};
use crate::problem::hint;
use crate::topology::{InstanceRole, Settings, Topology};
use crate::yaml::{Mark, Node};

/// All arms, in the order of the file.
pub(super) fn arms(
    scope: &mut Scope<'_>,
    root: &Node,
    def: &ExperimentDef,
    folder: &WorkloadFolder,
) -> Vec<Arm> {
    let agents = load::agents(scope, root, def, folder);
    let edges = ways::edges_of(folder);
    let used = workload::used(scope, root, folder);
    let nodes = root.get("arms").map_or(&[][..], Node::items);
    def.arms
        .iter()
        .zip(nodes)
        .map(|(arm, node)| {
            let mut bed = Bed {
                scope,
                arm,
                node,
                folder,
                edges: &edges,
                agents: &agents,
                used: &used,
                of_targets: &def.targets,
            };
            bed.build()
        })
        .collect()
}

/// One arm while its test bed is being made.
struct Bed<'b, 's> {
    scope: &'b mut Scope<'s>,
    arm: &'b ArmDef,
    node: &'b Node,
    folder: &'b WorkloadFolder,
    edges: &'b [Edge],
    agents: &'b [(String, Edge)],
    used: &'b workload::Used,
    /// Settings of targets in every arm.
    of_targets: &'b BTreeMap<Name, Settings>,
}

impl Bed<'_, '_> {
    fn build(&mut self) -> Arm {
        let mut cast = Cast::default();
        self.parts(&mut cast);
        self.sidecars(&mut cast);
        self.hops(&mut cast);
        self.instance_settings(&mut cast);
        lacking::note(self.scope, (self.arm, self.node), self.edges, &mut cast);
        let asking = asks::cast(self.scope, self.of_targets, self.node, &mut cast);
        let mut routes = ways::routes(
            self.scope,
            self.arm,
            self.node,
            self.edges,
            self.agents,
            &cast,
        );
        let asked = asks::routes(self.scope, &asking, &mut routes);
        let pods = start::pods(&cast);
        let instances = start::in_start_order(&cast, &routes);
        let topology = Topology {
            pods,
            instances,
            routes,
            asked,
            external: self.scope.external.all().cloned().collect(),
        };
        let titles = self.titles(&cast);
        Arm {
            name: self.arm.name.0.clone(),
            about: self
                .arm
                .about
                .clone()
                .unwrap_or_else(|| about::arm(self.arm, &topology, &titles)),
            subject: match &self.arm.subject {
                Some(subject) => subject.subject(),
                None => Subject::singular(self.arm.name.0.clone()),
            },
            needs: self.scope.redirection.needs(self.arm).or_else(|| {
                let lacking = &cast.lacking;
                (!lacking.is_empty()).then(|| crate::problem::list(lacking))
            }),
            excluded: self.excluded(),
            topology,
        }
    }

    fn place(&self, path: &[&str]) -> Mark {
        self.node.place(path)
    }

    fn part_names(&self) -> Vec<&str> {
        let parts = &self.folder.def.parts;
        parts.keys().map(|name| name.0.as_str()).collect()
    }

    /// Apps and agents.
    fn parts(&mut self, cast: &mut Cast) {
        for part in self.arm.parts.keys() {
            let known = self.part_names();
            let mark = self.node.key_place(&["parts", part]);
            match self.folder.def.parts.get(part) {
                None => {
                    let said = format!("unknown part \"{part}\"{}", hint(part, known));
                    self.scope.problem(mark, said);
                }
                Some(def) if def.kind == PartKind::Client => {
                    self.scope
                        .problem(mark, "agents play a client, no target does");
                }
                Some(_) => {}
            }
        }
        for (name, part) in &self.folder.def.parts {
            if part.kind == PartKind::Client {
                self.clients(cast, name);
                continue;
            }
            if let Some(all) = self.used.external.of(name) {
                cast.actors.extend(all.iter().map(Actor::external));
                continue;
            }
            let own = self.arm.parts.get(name);
            let mark = match own {
                Some(_) => self.place(&["parts", name]),
                None => self.place(&["name"]),
            };
            let target = own.map(|target| target.0.clone());
            let target = target.or_else(|| self.used.targets.get(&name.0).cloned());
            let target = target.unwrap_or_default();
            if target.is_empty() {
                let said = format!(
                    "part \"{name}\" has no target: write parts: {{{name}: …}} or name one in the workload"
                );
                self.scope.problem(mark, said);
                continue;
            }
            self.check_app(&target, name, mark);
            let count = workload::count(self.folder, self.used, name);
            for number in 1..=count {
                let instance = if count == 1 {
                    name.0.clone()
                } else {
                    format!("{name}-{number}")
                };
                let role = InstanceRole::App;
                let mut actor = Actor::new(&instance, &instance, name, &target, role);
                actor.host.clone_from(&part.host);
                cast.add(actor);
            }
        }
    }

    fn clients(&self, cast: &mut Cast, part: &str) {
        for (instance, edge) in self.agents {
            if edge.from == part {
                cast.add(Actor::new(
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
            let said = format!(
                "target \"{target}\" cannot play part \"{part}\": its roles are {}",
                ways::roles_of(&def)
            );
            self.scope.problem(mark, said);
        }
        for edge in self.edges.iter().filter(|edge| edge.to == part) {
            if !def.speaks.contains(&edge.protocol) {
                let said = format!(
                    "target \"{target}\" does not speak {} (edge {}): it speaks {}",
                    edge.protocol,
                    edge.name(),
                    crate::problem::list(&def.speaks)
                );
                self.scope.problem(mark, said);
            }
        }
    }

    fn sidecars(&mut self, cast: &mut Cast) {
        let Some(sidecars) = &self.arm.sidecars else {
            return;
        };
        let one = matches!(sidecars, crate::def::SidecarsDef::One(_));
        for (index, def) in sidecars.all().iter().enumerate() {
            let index = index.to_string();
            let path: Vec<&str> = if one {
                vec!["sidecars"]
            } else {
                vec!["sidecars", &index]
            };
            self.sidecar(cast, def, &path);
        }
    }

    fn sidecar(&mut self, cast: &mut Cast, def: &SidecarDef, path: &[&str]) {
        let place = |bed: &Self, key: &str| bed.node_at(path).place(&[key]);
        let mark = place(self, "proxy");
        let Some(target) = self.scope.target(&def.proxy, mark) else {
            return;
        };
        ways::check_proxy(self.scope, &target, InstanceRole::Sidecar, def.link, mark);
        ways::check_interception(self.scope, &target, def.interception, mark);
        self.check_excluded(def, path);
        let written = self.node_at(path).get("settings").cloned();
        let settings = written.map_or_else(Settings::new, |written| {
            levels::settings(self.scope, &def.proxy, mark, &written)
        });
        let parts = self.chosen(def, path);
        // Names that are unknown have been complained about.
        let mut applied = parts.is_empty() && matches!(def.on, OnDef::Parts(_));
        for part in parts {
            for actor in cast.of_part(&part) {
                applied = true;
                let name = format!("{}-sidecar", actor.name);
                if cast.get(&name).is_some() {
                    let said = format!("part \"{part}\" has two sidecars: take it out of one");
                    self.scope.problem(place(self, "on"), said);
                    continue;
                }
                let mut sidecar =
                    Actor::new(&name, &actor.pod, &part, &def.proxy, InstanceRole::Sidecar);
                sidecar.settings = settings.clone();
                sidecar.sidecar = Some(def.clone());
                sidecar.speaks = target.speaks.clone();
                sidecar.mark = Some(mark);
                sidecar.treat_as = def.treat_as.clone().map(|asked| (asked, place(self, "as")));
                cast.add(sidecar);
            }
        }
        if !applied {
            let said = "these sidecars stand beside nothing";
            self.scope.problem(place(self, "on"), said);
        }
    }

    fn node_at(&self, path: &[&str]) -> &Node {
        let mut node = self.node;
        for step in path {
            let next = node.get(step).or_else(|| {
                step.parse::<usize>()
                    .ok()
                    .and_then(|at| node.items().get(at))
            });
            match next {
                Some(next) => node = next,
                None => break,
            }
        }
        node
    }

    /// Parts that `on` means.
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
            OnDef::Word(OnWord::Services) => of_kind(&[PartKind::Service]),
            OnDef::Word(OnWord::All) => of_kind(&[PartKind::Client, PartKind::Service]),
            OnDef::Parts(names) => {
                let mut chosen: Vec<String> = Vec::new();
                for (index, name) in names.iter().enumerate() {
                    if !parts.contains_key(name) {
                        let index = index.to_string();
                        let mark = self.node_at(path).place(&["on", &index]);
                        let known = parts.keys().map(|name| name.0.as_str());
                        let said = format!("unknown part \"{name}\"{}", hint(name, known));
                        self.scope.problem(mark, said);
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
            let mark = self.place(&path);
            match exclude.meaning() {
                Some(Excluded::Edge(pattern)) => {
                    let known = self
                        .edges
                        .iter()
                        .any(|edge| pattern.matches(&edge.from, &edge.to));
                    if !known {
                        let said = workload::unknown_edge(exclude, self.edges);
                        self.scope.problem(mark, said);
                    }
                }
                Some(Excluded::Part(part))
                    if !self.folder.def.parts.contains_key(part.as_str()) =>
                {
                    let said = format!("unknown part \"{part}\"{}", hint(&part, self.part_names()));
                    self.scope.problem(mark, said);
                }
                _ => {}
            }
        }
    }

    fn hops(&mut self, cast: &mut Cast) {
        for (pattern, hops) in &self.arm.via {
            let known = self
                .edges
                .iter()
                .any(|edge| pattern.matches(&edge.from, &edge.to));
            if !known {
                let mark = self.node.key_place(&["via", pattern]);
                let said = workload::unknown_edge(pattern, self.edges);
                self.scope.problem(mark, said);
            }
            for (index, hop) in hops.iter().enumerate() {
                let index = index.to_string();
                self.hop(cast, hop, &["via", pattern, &index]);
            }
        }
    }

    fn hop(&mut self, cast: &mut Cast, hop: &crate::def::HopDef, path: &[&str]) {
        let node = self.node_at(path).clone();
        let mark = node.place(&["proxy"]);
        let Some(target) = self.scope.target(&hop.proxy, mark) else {
            return;
        };
        let role = ways::hop_role(hop.hop);
        ways::check_proxy(self.scope, &target, role, hop.link, mark);
        let settings = node.get("settings").map_or_else(Settings::new, |written| {
            levels::settings(self.scope, &hop.proxy, mark, written)
        });
        let name = ways::hop_name(hop);
        if let Some(known) = cast.get(name) {
            // One gateway may serve several edges, but it is one process with one configuration.
            let alike =
                known.role == role && known.target == hop.proxy.0 && known.settings == settings;
            if !alike {
                let said = format!(
                    "\"{name}\" is there already and is something else: give this hop a name of its own (name: …)"
                );
                self.scope.problem(node.place(&["hop"]), said);
            }
            return;
        }
        let pod = match &hop.beside {
            None => name.to_owned(),
            Some(beside) => match cast.get(beside) {
                Some(neighbour) => neighbour.pod.clone(),
                None => {
                    let known: Vec<String> = cast.names();
                    let said = format!(
                        "nothing is called \"{beside}\" before this hop{}",
                        hint(beside, known.iter().map(String::as_str))
                    );
                    self.scope.problem(node.place(&["beside"]), said);
                    return;
                }
            },
        };
        let mut actor = Actor::new(name, &pod, name, &hop.proxy, role);
        actor.settings = settings;
        actor.speaks = target.speaks.clone();
        actor.mark = Some(mark);
        actor.treat_as = hop
            .treat_as
            .clone()
            .map(|asked| (asked, node.place(&["as"])));
        cast.add(actor);
    }

    /// `settings` of the arm, by instance.
    fn instance_settings(&mut self, cast: &mut Cast) {
        let Some(all) = self.node.get("settings").cloned() else {
            return;
        };
        for entry in all.entries() {
            // The name of a part means all its instances.
            let names = cast.named(&entry.key);
            if names.is_empty() {
                let known = cast.names();
                let said = format!(
                    "nothing is called \"{}\" in this arm{}",
                    entry.key,
                    hint(&entry.key, known.iter().map(String::as_str))
                );
                self.scope.problem(entry.key_mark, said);
            }
            for name in names {
                let target = cast.get(&name).map(|actor| actor.target.clone());
                match target {
                    Some(target) if target == EXTERNAL => {
                        refuse(self.scope, entry.key_mark, &name, "it has no settings here");
                    }
                    Some(target) if target == AGENT => {
                        let said = "an agent has no settings here: they belong to load";
                        self.scope.problem(entry.key_mark, said);
                    }
                    Some(target) => {
                        let settings =
                            levels::settings(self.scope, &target, entry.key_mark, &entry.value);
                        cast.lay_over(&name, settings);
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

    /// How people call each target of the arm.
    fn titles(&mut self, cast: &Cast) -> BTreeMap<String, String> {
        let targets: BTreeSet<String> = cast
            .started()
            .filter(|actor| actor.target != AGENT)
            .map(|actor| actor.target.clone())
            .collect();
        targets
            .into_iter()
            .filter_map(|target| {
                let def = self.scope.target(&target, Mark::START)?;
                let title = about::title(&def);
                Some((target, title))
            })
            .collect()
    }
}
