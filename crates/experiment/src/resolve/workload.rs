//! The workload at one level: complete settings, targets of parts, edges without wildcards.

use std::collections::BTreeMap;
use std::rc::Rc;

use serde_json::Value as Json;
use tare_record::external::EXTERNAL;
use tare_record::name::EdgePattern;
use tare_record::plan::{Edge, Part, PartKind};
use tare_record::text::{preview, rejection_in};
use tare_record::topology::{Security, Settings};
use tare_record::units::{Period, Share, Size};

use super::external::{Externals, refuse};
use super::{Input, Scope};
use crate::catalog::WorkloadFolder;
use crate::def::{
    Affected, CountDef, SettingKind, WorkloadDef, WorkloadEdgeDef, WorkloadSettingDef,
};
use crate::problem::{hint, unknown};
use crate::yaml::{Mark, Node};

/// Target name of clients.
pub(super) const AGENT: &str = "agent";

/// Checks and normalises the value of a setting: sizes become bytes, durations their shortest text.
pub(super) fn setting_value(def: &WorkloadSettingDef, value: &Json) -> Result<Json, String> {
    let text = text_of(value);
    let wrong = |wanted: &str| format!("expected {wanted}, found {}", preview(&value.to_string()));
    let unit = |error: tare_record::units::UnitError| error.to_string();
    match def.kind {
        SettingKind::Size => text.parse::<Size>().map(|size| size.0.into()).map_err(unit),
        SettingKind::Period => text
            .parse::<Period>()
            .map(|period| period.to_string().into())
            .map_err(unit),
        SettingKind::Share => text
            .parse::<Share>()
            .map(|share| share.0.into())
            .map_err(unit),
        SettingKind::Integer if value.is_i64() || value.is_u64() => in_range(def, value),
        SettingKind::Integer => Err(wrong("a whole number")),
        SettingKind::Number if value.is_number() => in_range(def, value),
        SettingKind::Number => Err(wrong("a number")),
        SettingKind::Flag if value.is_boolean() => Ok(value.clone()),
        SettingKind::Flag => Err(wrong("true or false")),
        SettingKind::Text if value.is_string() => match rejection_in(value) {
            None => Ok(value.clone()),
            Some(wanted) => Err(format!("\"{}\" is not {wanted}", preview(&text))),
        },
        SettingKind::Text => Err(wrong("text")),
        SettingKind::Choice if def.one_of.contains(value) => Ok(value.clone()),
        SettingKind::Choice => {
            let known = def.one_of.iter().map(text_of);
            let hint = hint(&text, known);
            Err(format!(
                "\"{}\" is not one of its values{hint}",
                preview(&text)
            ))
        }
    }
}

/// A value as text, strings without quotes.
pub(super) fn text_of(value: &Json) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), String::from)
}

fn in_range(def: &WorkloadSettingDef, value: &Json) -> Result<Json, String> {
    let number = value.as_f64().unwrap_or(f64::NAN);
    match (def.min, def.max) {
        (Some(min), _) if number < min => Err(format!("{value} is below {min}")),
        (_, Some(max)) if number > max => Err(format!("{value} is above {max}")),
        _ => Ok(value.clone()),
    }
}

/// Edges of a workload; `*` stands for every service except the called part itself.
pub(super) fn edges(def: &WorkloadDef) -> Vec<Edge> {
    let mut found: Vec<Edge> = Vec::new();
    let names_both = |edge: &&WorkloadEdgeDef| edge.edge.sides().0 != "*";
    // An edge that names both parts takes precedence over a wildcard.
    let (named, wildcards): (Vec<_>, Vec<_>) = def.edges.iter().partition(names_both);
    for edge in named.into_iter().chain(wildcards) {
        let (from, to) = edge.edge.sides();
        let services = def
            .parts
            .iter()
            .filter(|(name, part)| from == "*" && part.kind == PartKind::Service && name.0 != to);
        let services = services.map(|(name, _)| name.0.as_str());
        for from in services.chain(Some(from).filter(|from| *from != "*")) {
            if !found.iter().any(|edge| edge.from == from && edge.to == to) {
                found.push(Edge {
                    from: from.to_owned(),
                    to: to.to_owned(),
                    protocol: edge.protocol.clone(),
                    security: edge.security.unwrap_or(Security::Plaintext),
                });
            }
        }
    }
    found
}

/// `unknown edge …`, with the nearest one.
pub(super) fn unknown_edge(wrong: &str, edges: &[Edge]) -> String {
    unknown("edge", wrong, edges.iter().map(Edge::name))
}

/// Reports a pattern that no edge matches.
pub(super) fn check_edge(scope: &mut Scope<'_>, mark: Mark, pattern: &EdgePattern, edges: &[Edge]) {
    let mut all = edges.iter();
    if !all.any(|edge| pattern.matches(&edge.from, &edge.to)) {
        scope.problem(mark, unknown_edge(pattern, edges));
    }
}

/// The workload at one level.
#[derive(Debug, Clone)]
pub(super) struct ResolvedWorkload {
    /// All settings.
    pub settings: Settings,
    /// Target of each part, if the experiment or the workload names one.
    pub targets: BTreeMap<String, String>,
    /// External parts.
    pub external: Rc<Externals>,
}

/// Splits the experiment's `workload` into settings and targets of parts, and adds defaults.
pub(super) fn resolved(
    scope: &mut Scope<'_>,
    Input { root, folder, .. }: Input<'_>,
) -> ResolvedWorkload {
    let defaults = folder.def.settings.iter().filter_map(|(key, def)| {
        let value = setting_value(def, &def.default).ok()?;
        Some((key.clone(), value))
    });
    let mut settings: Settings = defaults.collect();
    let of_parts = folder.def.parts.iter().map(|(name, part)| {
        let target = match (&part.target, part.kind) {
            (_, PartKind::Client) => AGENT,
            _ if scope.external.has(name) => EXTERNAL,
            (Some(target), _) => target.0.as_str(),
            (None, _) => "",
        };
        (name.0.clone(), target.to_owned())
    });
    let mut targets: BTreeMap<String, String> = of_parts.collect();
    let external = Rc::clone(&scope.external);
    let written = root.get("workload").map_or(&[][..], Node::entries);
    for entry in written.iter().filter(|entry| entry.key != "use") {
        let value = entry.value.to_json();
        if let Some(def) = folder.def.settings.get(&entry.key) {
            match setting_value(def, &value) {
                Ok(value) => {
                    settings.insert(entry.key.clone(), value);
                }
                Err(message) => scope.problem(
                    entry.value.mark,
                    format!("setting \"{}\": {message}", entry.key),
                ),
            }
        } else if let Some(part) = folder.def.parts.get(entry.key.as_str()) {
            match entry.value.text() {
                Some(_) if part.kind == PartKind::Client => {
                    scope.problem(entry.key_mark, "clients are agents: they take no target");
                }
                Some(_) if external.has(&entry.key) => {
                    refuse(scope, entry.key_mark, &entry.key, "leave its target out");
                }
                Some(target) => {
                    if scope.target(target, entry.value.mark).is_some() {
                        targets.insert(entry.key.clone(), target.to_owned());
                    }
                }
                None => scope.problem(entry.value.mark, "a part takes the name of a target"),
            }
        } else {
            let (key, workload) = (&entry.key, &folder.def.workload);
            let parts = folder.def.parts.keys().map(|name| name.0.as_str());
            let known = folder.def.settings.keys().map(String::as_str);
            let hint = hint(key, known.chain(parts));
            let message = format!("unknown key \"{key}\" in workload \"{workload}\"{hint}");
            scope.problem(entry.key_mark, message);
        }
    }
    ResolvedWorkload {
        settings,
        targets,
        external,
    }
}

/// Settings that only affect the load.
pub(super) fn load_only_settings(folder: &WorkloadFolder) -> Vec<String> {
    let settings = folder.def.settings.iter();
    settings
        .filter(|(_, setting)| setting.affects == Some(Affected::Load))
        .map(|(name, _)| name.clone())
        .collect()
}

pub(super) fn parts(folder: &WorkloadFolder, resolved: &ResolvedWorkload) -> Vec<Part> {
    let parts = folder.def.parts.iter().map(|(name, part)| Part {
        name: name.0.clone(),
        target: resolved.targets.get(&name.0).cloned().unwrap_or_default(),
        kind: part.kind,
    });
    parts.collect()
}

/// Number of instances of a part.
pub(super) fn count(folder: &WorkloadFolder, resolved: &ResolvedWorkload, part: &str) -> u32 {
    let part = folder.def.parts.get(part);
    match part.and_then(|part| part.count.as_ref()) {
        None => 1,
        Some(CountDef::Number(count)) => *count,
        Some(CountDef::Setting(key)) => {
            let count = resolved.settings.get(key).and_then(Json::as_u64);
            let count = count.and_then(|count| u32::try_from(count).ok());
            count.unwrap_or(1).clamp(1, 64)
        }
    }
}
