//! Resolves an experiment file into a plan: sets every default, lists every cell, checks every reference.
//!
//! Both forms are always resolved, so that mistakes in `quick` are found early.

mod arm_description;
mod assertion;
mod audit;
mod check;
mod ext_authz;
mod external;
mod faults;
mod lacking;
mod levels;
mod load;
mod mesh;
mod pacing;
mod prepare;
mod published_figures;
mod request;
mod routing;
mod run_settings;
mod site_links;
mod start_order;
mod topology;
mod waterfall;
mod workload;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::catalog::{Catalog, WorkloadFolder};
use crate::def::{ArmDef, ExperimentDef, InterceptionDef, SidecarDef};
use crate::document;
use crate::problem::{Problems, hint, unknown};
use crate::target::TargetDef;
use crate::yaml::{self, Mark, Node, Value};

pub use check::check_workload;
use external::Externals;
use site_links::Sites;
use tare_record::FORMAT_VERSION;
use tare_record::load::AddressPolicy;
use tare_record::plan::{Addressing, Compare, Form, Level, Plan, Restart, WorkloadPlan};
use tare_record::topology::Interception;
use tare_record::units::Period;

/// An experiment file with its name and text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExperimentSource {
    /// `study/stem`, or the file's stem.
    pub experiment: String,
    /// File, as it was named.
    pub file: String,
    /// Its text.
    pub text: String,
}

/// Options of the resolution that are not in the file. `Some` overrides the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolveOptions {
    /// Full or quick.
    pub form: Form,
    /// Available cores.
    pub cores: Vec<u32>,
    /// Number of blocks.
    pub blocks: Option<u32>,
    /// Seed.
    pub seed: Option<u64>,
    /// Whether each block measures the baseline twice.
    pub aa_check: Option<bool>,
    /// Addressing.
    pub addressing: Option<Addressing>,
    /// Whether traffic can be redirected on this machine.
    pub redirection: Redirection,
    /// Control plane of meshes.
    pub control_plane: ControlPlane,
    /// Where sites are.
    pub sites: SitesAt,
    /// Targets whose software is missing and cannot be fetched, each with where to get it.
    pub absent: BTreeMap<String, String>,
    /// Addresses of external parts, by part.
    pub external: BTreeMap<String, Vec<String>>,
    /// Allowed addresses of external parts.
    pub reach: AddressPolicy,
}

impl ResolveOptions {
    /// The given form and cores, everything else by the file.
    #[must_use]
    pub fn new(form: Form, cores: Vec<u32>) -> ResolveOptions {
        ResolveOptions {
            form,
            cores,
            blocks: None,
            seed: None,
            aa_check: None,
            addressing: None,
            redirection: Redirection::Possible,
            control_plane: ControlPlane::Own,
            sites: SitesAt::Here,
            absent: BTreeMap::new(),
            external: BTreeMap::new(),
            reach: AddressPolicy::Private,
        }
    }
}

/// Which control plane the proxies of a mesh have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ControlPlane {
    /// One of the run's own.
    #[default]
    Own,
    /// That of the cluster, which injects them.
    Installed,
}

/// Where the sites of an experiment are.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum SitesAt {
    /// On this machine, with emulated links between them.
    #[default]
    Here,
    /// These are at clusters, each with a name for its cluster; arms at others are not run.
    Clusters(BTreeMap<String, String>),
}

/// Whether the kernel can redirect a pod's traffic to its sidecar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Redirection {
    /// It can, or was not checked.
    Possible,
    /// It cannot; the reason.
    Impossible(String),
}

impl Redirection {
    /// How traffic reaches a sidecar.
    fn interception(&self, wanted: Option<InterceptionDef>) -> Interception {
        match (wanted, self) {
            (Some(InterceptionDef::Redirect), _)
            | (Some(InterceptionDef::RedirectIfPossible), Redirection::Possible) => {
                Interception::Redirect
            }
            _ => Interception::Explicit,
        }
    }

    /// What an arm needs and lacks: as written in the file, else redirection.
    fn needs(&self, arm: &ArmDef) -> Option<String> {
        let redirects = |def: &SidecarDef| def.interception == Some(InterceptionDef::Redirect);
        let mut sidecars = arm.sidecars.iter().flat_map(|sidecars| sidecars.all());
        let lacking = match self {
            Redirection::Impossible(reason) if sidecars.any(redirects) => {
                Some(format!("redirected traffic ({reason})"))
            }
            _ => None,
        };
        arm.requires.clone().or(lacking)
    }
}

/// Resolves an experiment.
///
/// # Errors
/// All problems, each with file, line and column.
pub fn resolve(
    source: &ExperimentSource,
    catalog: &Catalog,
    choices: &ResolveOptions,
) -> Result<Plan, Problems> {
    let root = yaml::parse(&source.file, &source.text)?;
    let schema = document::schema::<ExperimentDef>();
    document::fill::<ExperimentDef>(&source.file, &schema, &root)?;
    let one = |form: Form| {
        let choices = ResolveOptions {
            form,
            ..choices.clone()
        };
        in_form(source, &schema, &root, catalog, &choices)
    };
    let requested = one(choices.form);
    if root.get("quick").is_none() {
        return requested;
    }
    let other = one(match choices.form {
        Form::Full => Form::Quick,
        Form::Quick => Form::Full,
    });
    match (requested, other) {
        (Ok(plan), Ok(_)) => Ok(plan),
        (Ok(_), Err(problems)) | (Err(problems), Ok(_)) => Err(problems),
        (Err(mut problems), Err(others)) => {
            problems.extend(others);
            Err(problems.sorted())
        }
    }
}

/// An experiment in one form, or at one level, and its workload.
#[derive(Clone, Copy)]
struct Input<'a> {
    root: &'a Node,
    def: &'a ExperimentDef,
    folder: &'a WorkloadFolder,
}

/// State of the resolution.
struct Scope<'a> {
    file: &'a str,
    form: Form,
    redirection: Redirection,
    control_plane: ControlPlane,
    absent: BTreeMap<String, String>,
    /// External parts.
    external: Rc<Externals>,
    schema: &'a serde_json::Value,
    catalog: &'a Catalog,
    problems: Problems,
    targets: BTreeMap<String, Option<Rc<TargetDef>>>,
}

impl Scope<'_> {
    fn problem(&mut self, mark: Mark, text: impl Into<String>) {
        self.problems.add(self.file, mark, text);
    }

    /// Reports a problem that leaves nothing.
    fn reject<T>(&mut self, mark: Mark, text: impl Into<String>) -> Option<T> {
        self.problem(mark, text);
        None
    }

    /// Reports a name that only the quick form may lack: that it exists is checked when the full form is resolved, which always
    /// happens.
    fn unknown<W: AsRef<str>>(
        &mut self,
        mark: Mark,
        (what, name): (&str, &str),
        known: impl IntoIterator<Item = W>,
    ) {
        if self.form == Form::Full {
            self.problem(mark, unknown(what, name, known));
        }
    }

    /// Reads a target folder; its problems are reported once.
    fn target(&mut self, name: &str, mark: Mark) -> Option<Rc<TargetDef>> {
        if !self.targets.contains_key(name) {
            let found = self.catalog.target(name).unwrap_or_else(|problems| {
                self.problems.extend(problems);
                None
            });
            let found = found.map(|target| Rc::new(target.def));
            self.targets.insert(name.to_owned(), found);
        }
        if let Some(found) = self.targets.get(name).cloned().flatten() {
            return Some(found);
        }
        let known = self.catalog.target_names();
        if !known.iter().any(|known| known == name) {
            let message = unknown_folder("target", name, &known, &self.catalog.targets);
            self.problem(mark, message);
        }
        None
    }
}

fn unknown_folder(what: &str, name: &str, known: &[String], directories: &[PathBuf]) -> String {
    if known.is_empty() {
        let searched = Catalog::searched(directories);
        return format!("unknown {what} \"{name}\": there are no {what} folders in {searched}");
    }
    unknown(what, name, known)
}

fn in_form(
    source: &ExperimentSource,
    schema: &serde_json::Value,
    written: &Node,
    catalog: &Catalog,
    choices: &ResolveOptions,
) -> Result<Plan, Problems> {
    let mut scope = Scope {
        file: &source.file,
        form: choices.form,
        redirection: choices.redirection.clone(),
        control_plane: choices.control_plane,
        absent: choices.absent.clone(),
        external: Rc::default(),
        schema,
        catalog,
        problems: Problems::default(),
        targets: BTreeMap::new(),
    };
    let mut root = merge_quick(&mut scope, written, choices.form);
    mesh::expand(&mut scope, &mut root);
    let def: ExperimentDef = match document::fill(&source.file, schema, &root) {
        Ok(def) => def,
        Err(problems) => {
            scope.problems.extend(problems);
            return Err(scope.problems);
        }
    };
    let Some(folder) = workload_folder(&mut scope, &root, &def) else {
        return Err(scope.problems.sorted());
    };
    let input = Input {
        root: &root,
        def: &def,
        folder: &folder,
    };
    let plan = plan(&mut scope, source, input, choices);
    scope.problems.into_result(plan)
}

fn plan(
    scope: &mut Scope<'_>,
    source: &ExperimentSource,
    input @ Input { root, def, folder }: Input<'_>,
    choices: &ResolveOptions,
) -> Plan {
    scope.external = Rc::new(external::externals(scope, input, choices));
    if !scope.external.is_empty() {
        let why = external::no_redirection(&choices.sites);
        scope.redirection = Redirection::Impossible(why.to_owned());
    }
    let compare = def.compare.unwrap_or(Compare::Arms);
    check_arm_names(scope, input, compare);
    let resolved_levels = levels::resolved(scope, input);
    ext_authz::check_factors(scope, input);
    let addressing = addressing(scope, input, choices);
    let sites = Sites::new(scope, input, addressing);
    let mut arms = topology::arms(scope, input, &sites);
    let mut site_links = sites.links(scope, root, &arms);
    if let SitesAt::Clusters(known) = &choices.sites {
        sites.place(scope, root, known, (&mut arms, &mut site_links));
    }
    let limits = run_settings::limits(scope, input, &mut arms);
    let cells = levels::cells(scope, input, (&arms, &resolved_levels));
    mesh::note_lacking(scope, &mut arms, &cells);
    let levels: Vec<Level> = resolved_levels.into_iter().map(|one| one.level).collect();
    for (index, name) in def.prepare.iter().enumerate() {
        if !folder.def.prepare.contains_key(name) {
            let workload = &folder.def.workload;
            let hint = hint(name, folder.def.prepare.keys());
            let message = format!("workload \"{workload}\" has no step \"{name}\"{hint}");
            scope.problem(root.mark_at(&["prepare", &index.to_string()]), message);
        }
    }
    if compare == Compare::Levels && levels.len() == 1 && def.faults.is_empty() {
        let message =
            "levels are compared, but there is only one: add a factor with several values";
        scope.problem(root.mark_at(&["compare"]), message);
    }
    let resolved = workload::resolved(scope, input);
    let mut published = published_figures::published(scope, input, &arms, &levels, compare);
    let waterfall = waterfall::sequences(scope, input, &arms, compare);
    let mut notes = arm_description::uncounted(scope, &arms, &routing::edges_of(folder));
    notes.extend(scope.external.notes());
    notes.extend(mesh::notes(scope, &arms));
    if site_links.iter().any(|link| link.between_clusters) {
        // They are of distances that were not made.
        published.clear();
        notes.push(String::from(site_links::BETWEEN_CLUSTERS));
    }
    let digest = digest(&source.text);
    Plan {
        version: FORMAT_VERSION,
        experiment: source.experiment.clone(),
        question: def.question.clone(),
        file: source.file.clone(),
        seed: choices.seed.or(def.seed).unwrap_or_else(|| seed(&digest)),
        file_digest: digest,
        form: choices.form,
        workload: WorkloadPlan {
            name: folder.def.workload.0.clone(),
            about: folder.def.about.clone(),
            parts: workload::parts(folder, &resolved),
            edges: routing::edges_of(folder),
            prepare: def.prepare.iter().map(|name| name.0.clone()).collect(),
            load_only_settings: workload::load_only_settings(folder),
        },
        compare,
        cells,
        blocks: run_settings::blocks(scope, input, choices),
        aa_check: choices.aa_check.or(def.aa_check).unwrap_or(true),
        restart: def.restart.unwrap_or(Restart::Block),
        burn_in_ns: run_settings::burn_in(scope, input),
        placement: run_settings::placement(scope, input, &choices.cores),
        addressing,
        site_links,
        limits,
        primary: run_settings::primary(scope, input),
        margin: def.margin.map_or(run_settings::MARGIN, |margin| margin.0),
        margin_absolute_ns: def
            .margin_absolute
            .map_or(run_settings::MARGIN_ABSOLUTE_NS, Period::as_ns),
        assertions: assertion::assertions(scope, input, &arms, &levels, compare),
        fitness: def.fitness,
        beyond_knee: def.beyond_knee.unwrap_or_default(),
        capacity: None,
        skipped_levels: Vec::new(),
        outliers: def.outliers,
        profile: Vec::new(),
        notes,
        waterfall,
        per_request_level: levels::per_request_level(scope, input, &levels),
        published,
        arms,
        levels,
    }
}

/// Addressing: of the options, else of the file, else what the experiment needs (namespaces for sites, loopback for external
/// parts).
fn addressing(
    scope: &mut Scope<'_>,
    Input { root, def, .. }: Input<'_>,
    choices: &ResolveOptions,
) -> Addressing {
    let requested = choices.addressing.or(def.addressing);
    let requested = requested.unwrap_or(Addressing::Auto);
    if !scope.external.is_empty() && choices.sites == SitesAt::Here {
        return external::addressing(scope, root, requested);
    }
    match (requested, &def.sites) {
        (Addressing::Auto, Some(_)) => Addressing::Namespaces,
        (requested, _) => requested,
    }
}

/// The experiment in a form: the `quick` section is removed, and merged into the rest in the quick form.
fn merge_quick(scope: &mut Scope<'_>, written: &Node, form: Form) -> Node {
    let mut root = written.clone();
    root.remove("quick");
    // `workload: name` is short for `workload: {use: name}`.
    let name = root.get("workload").cloned();
    if let Some(node) = name.filter(|node| node.text().is_some()) {
        let mark = node.mark;
        root.set(&["workload", "use"], mark, node);
    }
    if form == Form::Full {
        return root;
    }
    let Some(quick) = written.get("quick") else {
        let message =
            "the experiment has no quick form: add a section `quick`, or leave --quick out";
        scope.problem(Mark::START, message);
        return root;
    };
    for entry in quick.entries() {
        match (entry.key.as_str(), &entry.value.value) {
            ("arms", Value::List(names)) => keep_arms(scope, &mut root, names),
            // A number of blocks must not be merged with a range.
            ("blocks", _) => root.set(&["blocks"], entry.key_mark, entry.value.clone()),
            (key, _) => {
                let mut over = root
                    .get(key)
                    .cloned()
                    .unwrap_or_else(|| entry.value.clone());
                over.overlay(&entry.value);
                root.set(&[key], entry.key_mark, over);
            }
        }
    }
    root
}

/// Keeps the named arms, in the order of the file: it is the same in both forms.
fn keep_arms(scope: &mut Scope<'_>, root: &mut Node, names: &[Node]) {
    let name_of = |arm: &Node| arm.get("name").and_then(Node::text).map(String::from);
    let Some(mut arms) = root.get("arms").cloned() else {
        return;
    };
    let known: Vec<String> = arms.items().iter().filter_map(name_of).collect();
    let wanted: Vec<&str> = names.iter().filter_map(Node::text).collect();
    for (node, name) in names.iter().filter_map(|node| Some((node, node.text()?))) {
        if !known.iter().any(|arm| arm == name) {
            scope.problem(node.mark, unknown("arm", name, &known));
        }
    }
    if let Value::List(arms) = &mut arms.value {
        arms.retain(|arm| name_of(arm).is_some_and(|name| wanted.contains(&name.as_str())));
    }
    if !arms.items().is_empty() {
        root.set(&["arms"], arms.mark, arms);
    }
}

fn workload_folder(
    scope: &mut Scope<'_>,
    root: &Node,
    def: &ExperimentDef,
) -> Option<WorkloadFolder> {
    let name = def.workload.name();
    match scope.catalog.workload(name) {
        Ok(Some(folder)) => Some(folder),
        Ok(None) => {
            let known = scope.catalog.workload_names();
            let message = unknown_folder("workload", name, &known, &scope.catalog.workloads);
            scope.problem(root.mark_at(&["workload", "use"]), message);
            None
        }
        Err(problems) => {
            scope.problems.extend(problems);
            None
        }
    }
}

fn check_arm_names(scope: &mut Scope<'_>, Input { root, def, .. }: Input<'_>, compare: Compare) {
    for (index, arm) in def.arms.iter().enumerate() {
        if let Some(first) = def.arms[..index]
            .iter()
            .position(|other| other.name == arm.name)
        {
            let line = root.mark_at(&["arms", &first.to_string(), "name"]).line;
            let message = format!("duplicate arm \"{}\": first in line {line}", arm.name);
            scope.problem(root.mark_at(&["arms", &index.to_string(), "name"]), message);
        }
    }
    if compare == Compare::Arms && def.arms.len() == 1 && def.faults.is_empty() {
        let message = "only one arm, so there is no baseline to compare with: put one before it, or say `compare: levels`";
        scope.problem(root.key_mark_at(&["arms"]), message);
    }
}

fn digest(text: &str) -> String {
    Sha256::digest(text.as_bytes())
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Default seed: 52 bits of the file's digest, which every JSON reader represents exactly.
fn seed(digest: &str) -> u64 {
    u64::from_str_radix(&digest[..13], 16).unwrap_or_default()
}
