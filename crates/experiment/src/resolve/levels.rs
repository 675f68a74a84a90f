//! Factors → levels: every combination of values is set in the experiment and checked as if it had been written there.

use std::collections::BTreeMap;

use tare_record::plan::{Arm, Audit, Cell, Form, Level, Preparation, RoleLoad};
use tare_record::topology::Settings;

use super::{Input, Scope, audit, faults, load, prepare, workload};
use crate::catalog::WorkloadFolder;
use crate::def::{ExperimentDef, LoadSection, RateDef, RateWord};
use crate::document;
use crate::problem::hint;
use crate::yaml::{Node, Value};

/// Greatest number of levels of an experiment.
const LEVELS_MAX: usize = 1_000;
/// Greatest number of cells: at three seconds each, a block of them takes a working day.
const CELLS_MAX: usize = 10_000;

/// All combinations of factor values, each with the experiment that has them; the first factor varies slowest.
fn variants(scope: &mut Scope<'_>, Input { root, def, folder }: Input<'_>) -> Vec<(Level, Node)> {
    let factors = root.get("factors").map_or(&[][..], Node::entries);
    let mut good = true;
    let mut count: usize = 1;
    for factor in factors {
        good &= check_factor(scope, def, folder, factor);
        count = count.saturating_mul(factor.value.items().len().max(1));
    }
    if count > LEVELS_MAX || count.saturating_mul(def.arms.len()) > CELLS_MAX {
        let cells = count.saturating_mul(def.arms.len());
        let message = format!(
            "{count} levels and {cells} cells: at most {LEVELS_MAX} levels and {CELLS_MAX} cells, take values out"
        );
        scope.problem(root.key_mark_at(&["factors"]), message);
        good = false;
    }
    let mut all = vec![(Vec::new(), root.clone())];
    if good {
        for factor in factors {
            let path: Vec<&str> = factor.key.split('.').collect();
            let mut next = Vec::with_capacity(all.len() * factor.value.items().len());
            for (values, tree) in &all {
                for value in factor.value.items() {
                    let mut values: Vec<(String, &Node)> = values.clone();
                    values.push((factor.key.clone(), value));
                    let mut tree = tree.clone();
                    tree.set(&path, factor.key_mark, value.clone());
                    next.push((values, tree));
                }
            }
            all = next;
        }
    }
    let keys: Vec<&str> = factors.iter().map(|factor| factor.key.as_str()).collect();
    all.into_iter()
        .map(|(values, tree)| {
            let name = level_name(&keys, &values, def);
            let values = values.into_iter().map(|(key, node)| (key, node.to_json()));
            let values = values.collect();
            (Level { name, values }, tree)
        })
        .collect()
}

fn check_factor(
    scope: &mut Scope<'_>,
    def: &ExperimentDef,
    folder: &WorkloadFolder,
    factor: &crate::yaml::Entry,
) -> bool {
    let before = scope.problems.len();
    let key = factor.key.as_str();
    let path: Vec<&str> = key.split('.').collect();
    let wrong = match path.as_slice() {
        ["load", _] if matches!(def.load, LoadSection::One(_)) => None,
        ["load", role, _] => match &def.load {
            LoadSection::Roles(roles) if roles.contains_key(*role) => None,
            LoadSection::Roles(roles) => {
                let hint = hint(role, roles.keys());
                Some(format!("no role \"{role}\" in load{hint}"))
            }
            LoadSection::One(_) => Some(format!(
                "load has no roles here: write load.{}",
                path[path.len() - 1]
            )),
        },
        ["load", ..] => Some(String::from("name a role and its key: load.ROLE.rate")),
        ["workload", setting] if folder.def.settings.contains_key(*setting) => None,
        ["workload", part] if folder.def.parts.contains_key(*part) => Some(format!(
            "\"{part}\" is a part, and parts belong to arms: write an arm with parts: {{{part}: …}}"
        )),
        ["workload", wrong] => {
            let (name, hint) = (
                &folder.def.workload,
                hint(wrong, folder.def.settings.keys()),
            );
            Some(format!(
                "workload \"{name}\" has no setting \"{wrong}\"{hint}"
            ))
        }
        ["targets", _, _] => None,
        _ => {
            let first = path.first().copied().unwrap_or_default();
            Some(format!(
                "a factor is a key under load, workload or targets (load.rate, workload.payload, targets.envoy.workers){}",
                hint(first, ["load", "workload", "targets"])
            ))
        }
    };
    if let Some(wrong) = wrong {
        scope.problem(factor.key_mark, format!("factor \"{key}\": {wrong}"));
    }
    let values = factor.value.items();
    if values.is_empty() {
        let message = format!("factor \"{key}\" has no values: list at least one");
        scope.problem(factor.value.mark, message);
    }
    for (index, value) in values.iter().enumerate() {
        if matches!(value.value, Value::Map(_) | Value::List(_)) {
            let message = format!("factor \"{key}\": a value is a number or a word");
            scope.problem(value.mark, message);
        } else if values[..index]
            .iter()
            .any(|other| other.value == value.value)
        {
            let message = format!("duplicate value of factor \"{key}\"");
            scope.problem(value.mark, message);
        }
    }
    scope.problems.len() == before
}

/// A level with what it decides in every arm.
pub(super) struct ResolvedLevel {
    pub level: Level,
    settings: Settings,
    targets: BTreeMap<String, Settings>,
    load: Vec<RoleLoad>,
    prepare: Vec<Preparation>,
    audit: Vec<Audit>,
}

/// Resolves all levels.
pub(super) fn resolved(scope: &mut Scope<'_>, input: Input<'_>) -> Vec<ResolvedLevel> {
    let mut levels = Vec::new();
    check_fixed(scope, input);
    for (level, root) in variants(scope, input) {
        let def: ExperimentDef = match document::fill(scope.file, scope.schema, &root) {
            Ok(def) => def,
            Err(problems) => {
                scope.problems.extend(problems);
                continue;
            }
        };
        let input = Input {
            root: &root,
            def: &def,
            ..input
        };
        let resolved = workload::resolved(scope, input);
        let targets = root.get("targets").map_or(&[][..], Node::entries);
        let targets = targets.iter().map(|target| {
            let settings = settings(scope, &target.key, target.key_mark, &target.value);
            (target.key.clone(), settings)
        });
        let targets = targets.collect();
        let load = load::roles(scope, input, &resolved);
        let prepare = prepare::steps(scope, input, &resolved, &load);
        prepare::check_topics(scope, input, &resolved, (&load, &prepare));
        let audit = audit::audits(scope, input, &resolved, &load);
        levels.push(ResolvedLevel {
            level,
            settings: resolved.settings,
            targets,
            load,
            prepare,
            audit,
        });
    }
    check_used(scope, input, &levels);
    levels
}

/// Every arm × level, the levels of an arm together.
pub(super) fn cells(
    scope: &mut Scope<'_>,
    input: Input<'_>,
    (arms, levels): (&[Arm], &[ResolvedLevel]),
) -> Vec<Cell> {
    let prepare: Vec<&Preparation> = levels.iter().flat_map(|level| &level.prepare).collect();
    let mut cells = Vec::with_capacity(arms.len() * levels.len());
    for arm in arms {
        let faults = faults::of_arm(scope, input, (arm, &prepare));
        for level in levels {
            let steps = (level.load.as_slice(), level.prepare.as_slice());
            cells.push(Cell {
                arm: arm.name.clone(),
                level: level.level.name.clone(),
                workload: level.settings.clone(),
                targets: level.targets.clone(),
                load: level.load.clone(),
                prepare: level.prepare.clone(),
                audit: level.audit.clone(),
                faults: faults.clone(),
                read_back: faults::read_back(scope, input, &faults, steps),
            });
        }
    }
    cells
}

/// Checks that a factor over a setting of the load changes the load, a preparation step or an audit.
fn check_used(
    scope: &mut Scope<'_>,
    Input { root, folder, .. }: Input<'_>,
    levels: &[ResolvedLevel],
) {
    // After another problem levels may be missing or incomplete.
    if !scope.problems.is_empty() {
        return;
    }
    for setting in workload::load_only_settings(folder) {
        let key = format!("workload.{setting}");
        // The first of all levels that differ in this factor alone.
        let mut firsts: BTreeMap<String, &ResolvedLevel> = BTreeMap::new();
        let (mut is_varied, mut is_used) = (false, false);
        for level in levels {
            let mut others = level.level.values.clone();
            if others.remove(&key).is_none() {
                continue;
            }
            let first = *firsts.entry(format!("{others:?}")).or_insert(level);
            is_varied |= !std::ptr::eq(first, level);
            is_used |= first.load != level.load
                || first.prepare != level.prepare
                || first.audit != level.audit;
        }
        if is_varied && !is_used {
            let message = format!(
                "factor \"{key}\" changes nothing: no load, preparation step or audit of this experiment uses the setting \"{setting}\""
            );
            scope.problem(root.key_mark_at(&["factors", &key]), message);
        }
    }
}

/// The level whose requests are shown one by one; the quick form may lack it.
pub(super) fn per_request_level(
    scope: &mut Scope<'_>,
    Input { root, def, .. }: Input<'_>,
    levels: &[Level],
) -> Option<String> {
    let wanted = def.per_request_level.as_ref()?;
    let known = levels.iter().map(|level| level.name.as_str());
    if known.clone().all(|known| known != wanted) && scope.form == Form::Full {
        let message = format!("no level is called \"{wanted}\"{}", hint(wanted, known));
        scope.problem(root.mark_at(&["per_request_level"]), message);
    }
    Some(wanted.clone())
}

/// Checks that no factor varies a number of instances: the test bed is the same for all levels of an arm.
fn check_fixed(scope: &mut Scope<'_>, Input { root, def, folder }: Input<'_>) {
    for (name, part) in &folder.def.parts {
        let Some(crate::def::CountDef::Setting(setting)) = &part.count else {
            continue;
        };
        let key = format!("workload.{setting}");
        if def.factors.contains_key(&key) {
            let message = format!(
                "factor \"{key}\" decides how many \"{name}\" there are, which belongs to the test bed: write an experiment for each"
            );
            scope.problem(root.key_mark_at(&["factors", &key]), message);
        }
    }
}

/// Settings of a target, checked against its folder.
pub(super) fn settings(
    scope: &mut Scope<'_>,
    target: &str,
    mark: crate::yaml::Mark,
    written: &Node,
) -> Settings {
    let Some(def) = scope.target(target, mark) else {
        return Settings::new();
    };
    let mut settings = Settings::new();
    for entry in written.entries() {
        let value = entry.value.to_json();
        let mark = match def.settings.contains_key(&entry.key) {
            true => entry.value.mark,
            false => entry.key_mark,
        };
        match def.check_setting(&entry.key, &value) {
            Ok(()) => {
                settings.insert(entry.key.clone(), value);
            }
            Err(message) => scope.problem(mark, message),
        }
    }
    settings
}

/// Name of a level at maximum rate.
const MAX_RATE: &str = "max rate";

/// Name of a level: `2000/s`, `20 clients`, `replicas=3, acks=all`.
fn level_name(keys: &[&str], values: &[(String, &Node)], def: &ExperimentDef) -> String {
    if values.is_empty() {
        return name_of_fixed(def);
    }
    let words: Vec<String> = values
        .iter()
        .map(|(key, node)| {
            let value = workload::text_of(&node.to_json());
            match key.as_str() {
                "load.rate" if value == "max" => String::from(MAX_RATE),
                "load.rate" => format!("{value}/s"),
                "load.clients" => number_of(&value, "client"),
                "load.connections" => number_of(&value, "connection"),
                _ => format!("{}={value}", short_key(key, keys)),
            }
        })
        .collect();
    words.join(", ")
}

/// Last word of a key, or the whole key if another factor has the same last word.
fn short_key<'k>(key: &'k str, keys: &[&str]) -> &'k str {
    // `load.producers.agents` becomes `producers`.
    if let Some(role) = key
        .strip_prefix("load.")
        .and_then(|rest| rest.strip_suffix(".agents"))
    {
        return role;
    }
    let last = key.rsplit('.').next().unwrap_or(key);
    let alike = keys
        .iter()
        .filter(|other| other.rsplit('.').next() == Some(last))
        .count();
    if alike > 1 { key } else { last }
}

fn number_of(number: &str, what: &str) -> String {
    let plural = if number == "1" { "" } else { "s" };
    format!("{number} {what}{plural}")
}

fn name_of_fixed(def: &ExperimentDef) -> String {
    match &def.load {
        LoadSection::One(load) => match (load.rate, load.clients) {
            (Some(RateDef::PerSecond(rate)), _) => format!("{rate}/s"),
            (None, Some(clients)) => number_of(&clients.to_string(), "client"),
            (Some(RateDef::Word(RateWord::Max)), _) | (None, None) => String::from(MAX_RATE),
        },
        LoadSection::Roles(_) => String::from("default"),
    }
}
