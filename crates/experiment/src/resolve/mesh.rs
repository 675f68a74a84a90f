//! Meshes: `mesh` of an arm becomes sidecars of the mesh's proxy, and the instances of its control plane.

use tare_record::name::Name;
use tare_record::plan::{Arm, Cell};
use tare_record::topology::{Instance, InstanceRole, Mesh, Security, Settings};

use super::routing::{InstanceDraft, InstanceDrafts};
use super::topology::TopologyBuilder;
use super::{ControlPlane, Scope, levels};
use crate::def::{HopSecurity, MeshDef, MeshUse, MeshWith};
use crate::problem::hint;
use crate::target::software_name;
use crate::yaml::{Entry, Mark, Node, Value};

/// Writes the sidecars of every arm with a mesh, and replaces meshes by their proxies in `via`.
pub(super) fn expand(scope: &mut Scope<'_>, root: &mut Node) {
    let Some(arms) = root.get_mut("arms") else {
        return;
    };
    if let Value::List(arms) = &mut arms.value {
        for arm in arms {
            expand_arm(scope, arm);
        }
    }
}

fn expand_arm(scope: &mut Scope<'_>, arm: &mut Node) {
    let mark = arm.key_mark_at(&["mesh"]);
    let mesh = match arm.get("mesh").cloned() {
        Some(written) => {
            let name = written.text().map(str::to_owned);
            let name = name.or_else(|| Some(written.get("use")?.text()?.to_owned()));
            name.and_then(|name| Some((read(scope, &name, written.mark)?, written)))
        }
        None => None,
    };
    let proxy_settings = match &mesh {
        Some((def, written)) => settings(scope, def, written, &[&def.proxy]),
        None => Node::map(mark),
    };
    if let Some((def, written)) = &mesh {
        if let Some(sidecars) = arm.entry("sidecars") {
            let message = format!(
                "mesh {} has sidecars of its own: leave `sidecars` out, or `mesh`",
                def.mesh
            );
            scope.problem(sidecars.key_mark, message);
            return;
        }
        arm.set(
            &["sidecars"],
            mark,
            sidecars(def, written, &proxy_settings, mark),
        );
    }
    let Some(via) = arm.get_mut("via") else {
        return;
    };
    let Value::Map(edges) = &mut via.value else {
        return;
    };
    for Entry { value: hops, .. } in edges {
        let Value::List(hops) = &mut hops.value else {
            continue;
        };
        for hop in hops {
            hop_of(
                scope,
                mesh.as_ref().map(|(def, _)| def),
                &proxy_settings,
                hop,
            );
        }
    }
}

/// A hop whose proxy is a mesh: its gateway.
fn hop_of(scope: &mut Scope<'_>, mesh: Option<&MeshDef>, settings: &Node, hop: &mut Node) {
    let Some(proxy) = hop.get("proxy").cloned() else {
        return;
    };
    let Some(name) = proxy.text().filter(|name| scope.catalog.is_mesh(name)) else {
        return;
    };
    match mesh.filter(|def| def.mesh.0 == name) {
        Some(def) => {
            let mark = proxy.mark;
            hop.set(&["proxy"], mark, Node::text_at(mark, &def.proxy));
            let mut all = settings.clone();
            if let Some(own) = hop.get("settings") {
                all.overlay(own);
            }
            if !all.entries().is_empty() {
                hop.set(&["settings"], mark, all);
            }
        }
        None => {
            let message = format!(
                "a gateway of {name} gets its configuration from the control plane of {name}: add `mesh: {name}` to the arm"
            );
            scope.problem(proxy.mark, message);
        }
    }
}

/// What results must say about the meshes of these arms.
pub(super) fn notes(scope: &Scope<'_>, arms: &[Arm]) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for mesh in arms.iter().filter_map(|arm| arm.topology.mesh.as_ref()) {
        let def = scope.catalog.mesh(&mesh.name).ok().flatten();
        let of_mesh = def.map(|def| match mesh.installed {
            true => def.installed.map(|installed| installed.notes),
            false => Some(def.notes),
        });
        for note in of_mesh.flatten().unwrap_or_default() {
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
    }
    notes
}

/// Notes what levels and faults want of arms whose mesh is that of a cluster, and that it cannot be told.
pub(super) fn note_lacking(scope: &Scope<'_>, arms: &mut [Arm], cells: &[Cell]) {
    for arm in arms.iter_mut().filter(|arm| arm.requires.is_none()) {
        let topology = &arm.topology;
        let Some(mesh) = topology.mesh.as_ref().filter(|mesh| mesh.installed) else {
            continue;
        };
        let Some(def) = scope.catalog.mesh(&mesh.name).ok().flatten() else {
            continue;
        };
        let has = |cell: &Cell, target: &Name| {
            let settings = cell.targets.get(&target.0);
            settings.is_some_and(|settings| !settings.is_empty())
        };
        let mut of_arm = cells.iter().filter(|cell| cell.arm == arm.name);
        let lacking = of_arm.find_map(|cell| {
            let mut parts = std::iter::once(&def.control_plane).chain(&def.support);
            if let Some(target) = parts.find(|target| has(cell, target)) {
                return Some(format!("settings of {target}"));
            }
            let mut proxies = topology
                .parts()
                .filter(|one| mesh.proxies.contains(&one.name));
            let version = |one: &Instance| software_name(one, &cell.targets) != one.target;
            if proxies.any(version) {
                return Some(format!("versions of {}", def.proxy));
            }
            let faults = cell
                .faults
                .iter()
                .flat_map(|fault| fault.action.instances());
            let mut injected = faults.filter(|name| topology.is_injected(name));
            injected.next().map(|name| format!("faults of {name}"))
        });
        arm.requires = lacking.map(|what| format!("{} of the run's own ({what})", def.title));
    }
}

fn read(scope: &mut Scope<'_>, name: &str, mark: Mark) -> Option<MeshDef> {
    match scope.catalog.mesh(name) {
        Ok(Some(def)) => Some(def),
        Ok(None) => {
            let known = scope.catalog.mesh_names();
            scope.unknown(mark, ("mesh", name), &known);
            None
        }
        Err(problems) => {
            scope.problems.extend(problems);
            None
        }
    }
}

/// The sidecars of a mesh as an arm would write them.
fn sidecars(def: &MeshDef, written: &Node, settings: &Node, mark: Mark) -> Node {
    let mut node = Node::map(mark);
    let text = |text: &str| Node::text_at(mark, text);
    let on = written.get("on").cloned().unwrap_or_else(|| text("all"));
    node.set(&["on"], mark, on);
    node.set(&["proxy"], mark, text(&def.proxy));
    let security = written.get("security").cloned();
    node.set(
        &["security"],
        mark,
        security.unwrap_or_else(|| text("mtls")),
    );
    node.set(&["interception"], mark, text("redirect"));
    for key in ["exclude", "as"] {
        if let Some(entry) = written.entry(key) {
            node.set(&[key], entry.key_mark, entry.value.clone());
        }
    }
    if !settings.entries().is_empty() {
        node.set(&["settings"], mark, settings.clone());
    }
    node
}

/// The settings of a mesh that some of its targets have; reports those that no target of the mesh has.
fn settings(scope: &mut Scope<'_>, def: &MeshDef, written: &Node, of: &[&str]) -> Node {
    let mut found = Node::map(written.mark);
    let Some(settings) = written.get("settings") else {
        return found;
    };
    let mut known = Vec::new();
    let mut wanted = Vec::new();
    let all = [&def.proxy, &def.control_plane]
        .into_iter()
        .chain(&def.support);
    for target in all {
        if let Some(target) = scope.target(target, written.mark) {
            let names = target.settings.keys().cloned();
            known.extend(names.clone());
            if of.contains(&target.target.as_str()) {
                wanted.extend(names);
            }
        }
    }
    for entry in settings.entries() {
        if wanted.contains(&entry.key) {
            found.set(&[&entry.key], entry.key_mark, entry.value.clone());
        } else if !known.contains(&entry.key) {
            let (name, key) = (&def.mesh, &entry.key);
            let hint = hint(key, known.iter().map(String::as_str));
            scope.problem(
                entry.key_mark,
                format!("mesh {name} has no setting \"{key}\"{hint}"),
            );
        }
    }
    found
}

impl TopologyBuilder<'_, '_> {
    /// Adds the instances of the arm's control plane; call it before settings of instances are applied.
    pub(super) fn mesh(&mut self, drafts: &mut InstanceDrafts) -> Option<Mesh> {
        let used = self.arm.mesh.as_ref()?;
        let name = match used {
            MeshUse::Name(name) => name,
            MeshUse::With(MeshWith { name, .. }) => name,
        };
        // A mesh that cannot be read has been reported.
        let def = self.scope.catalog.mesh(name).ok().flatten()?;
        let with = match used {
            MeshUse::With(with) => Some(with),
            MeshUse::Name(_) => None,
        };
        let proxies: Vec<&InstanceDraft> = drafts
            .all
            .iter()
            .filter(|draft| draft.target == *def.proxy)
            .collect();
        let is_installed = self.scope.control_plane == ControlPlane::Installed;
        let identities = match &def.installed {
            Some(installed) if is_installed => &installed.identities,
            _ => &def.identities,
        };
        let identity = |draft: &&InstanceDraft| {
            let identity = identities.get(&draft.role)?;
            Some((draft.name.clone(), identity.replace("{pod}", &draft.pod)))
        };
        let identities = proxies.iter().filter_map(identity).collect();
        let proxies = proxies.iter().map(|draft| draft.name.clone()).collect();
        let security = match with.and_then(|with| with.security) {
            Some(HopSecurity::Plaintext) => Security::Plaintext,
            Some(HopSecurity::Mtls) | None => Security::Mtls,
        };
        if is_installed {
            let mesh = Mesh {
                name: def.mesh.0.clone(),
                security,
                host: def.host.clone(),
                control_plane: Vec::new(),
                support: Vec::new(),
                proxies,
                identities,
                installed: true,
            };
            self.lacking_where_installed(&def, with, drafts);
            return Some(mesh);
        }
        let replicas = with.and_then(|with| with.replicas).unwrap_or(1);
        let control_plane = match replicas {
            1 => vec![def.control_plane.0.clone()],
            several => (1..=several)
                .map(|number| format!("{}-{number}", def.control_plane))
                .collect(),
        };
        let support: Vec<String> = def.support.iter().map(|name| name.0.clone()).collect();
        for (name, target) in support.iter().zip(&def.support) {
            self.mesh_instance(drafts, name, target, InstanceRole::Support);
        }
        for name in &control_plane {
            let role = InstanceRole::ControlPlane;
            self.mesh_instance(drafts, name, &def.control_plane, role);
        }
        Some(Mesh {
            name: def.mesh.0.clone(),
            security,
            host: def.host.clone(),
            control_plane,
            support,
            proxies,
            identities,
            installed: false,
        })
    }

    /// Notes what an arm wants of the mesh's control plane that the one of a cluster cannot be told.
    fn lacking_where_installed(
        &self,
        def: &MeshDef,
        with: Option<&MeshWith>,
        drafts: &mut InstanceDrafts,
    ) {
        let title = &def.title;
        let mut lack = |what: String| drafts.lack(format!("{title} of the run's own ({what})"));
        match &def.installed {
            None => lack(String::from("one of the cluster cannot be used")),
            Some(installed) => {
                let security = with.and_then(|with| with.security);
                let security = security.unwrap_or(HopSecurity::Mtls);
                if !installed.security.contains(&security) {
                    lack(String::from("traffic between sidecars without mTLS"));
                }
            }
        }
        if with.and_then(|with| with.replicas).is_some_and(|n| n > 1) {
            lack(String::from("replicas"));
        }
        let settings = with.into_iter().flat_map(|with| with.settings.keys());
        let of_proxy = |name: &String| {
            let target = self.scope.targets.get(&def.proxy.0).cloned().flatten();
            target.is_some_and(|target| target.settings.contains_key(name))
        };
        let settings: Vec<&str> = settings
            .filter(|name| !of_proxy(name))
            .map(String::as_str)
            .collect();
        if !settings.is_empty() {
            lack(format!("settings: {}", settings.join(", ")));
        }
        let mut proxies = drafts.all.iter();
        let is_gateway =
            |one: &InstanceDraft| one.target == *def.proxy && one.role == InstanceRole::Gateway;
        if !proxies.any(is_gateway) {
            return;
        }
        let installed = def.installed.as_ref();
        if installed.is_none_or(|installed| installed.gateway_resources.is_empty()) {
            drafts.lack(format!("{title} of the run's own (a gateway)"));
        }
        // The mesh is told of what a gateway calls before that has an address: it must have a Service.
        if self.arm.via.values().any(|hops| hops.len() > 1) {
            drafts.lack(format!("{title} of the run's own (a hop behind a gateway)"));
        }
    }

    fn mesh_instance(
        &mut self,
        drafts: &mut InstanceDrafts,
        name: &str,
        target: &str,
        role: InstanceRole,
    ) {
        let mark = self.node.key_mark_at(&["mesh"]);
        if drafts.get(name).is_some() {
            let message = format!(
                "\"{name}\" of the mesh has the name of a part or hop: give that another name"
            );
            self.scope.problem(mark, message);
            return;
        }
        let Some(def) = self.scope.target(target, mark) else {
            return;
        };
        // A control plane that is not the mesh's own is in no sum.
        let role = match role {
            InstanceRole::ControlPlane if !def.roles.contains(&role) => InstanceRole::Support,
            other => other,
        };
        if !def.roles.contains(&role) {
            let message = format!(
                "target \"{target}\" cannot be a part of the control plane: its roles are {}",
                super::routing::roles_of(&def)
            );
            self.scope.problem(mark, message);
        }
        let mut draft = InstanceDraft::new(name, name, target, target, role);
        draft.settings = self.mesh_settings(target, mark);
        drafts.add(draft);
    }

    /// What the arm's `mesh` sets of one of its targets.
    fn mesh_settings(&mut self, target: &str, mark: Mark) -> Settings {
        let Some(written) = self.node.get("mesh").cloned() else {
            return Settings::new();
        };
        let Some(Ok(Some(def))) = written
            .get("use")
            .and_then(Node::text)
            .map(|name| self.scope.catalog.mesh(name))
        else {
            return Settings::new();
        };
        let own = settings(self.scope, &def, &written, &[target]);
        levels::settings(self.scope, target, mark, &own)
    }
}
