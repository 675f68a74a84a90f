//! Load of every role, fully resolved.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value};
use tare_record::files;
use tare_record::load::{ClientSpec, ConnectionRules, LoadSpec, Pacing, RequestSpec};
use tare_record::name::EdgePattern;
use tare_record::plan::{Edge, PartKind, RoleLoad};
use tare_record::protocol::{self, LoadInfo, RequestUse};
use tare_record::topology::Settings;
use tare_record::units::Period;

use super::request::requests;
use super::workload::ResolvedWorkload;
use super::{Input, Scope, pacing, request};
use crate::catalog::WorkloadFolder;
use crate::def::{LoadDef, LoadKindDef, LoadSection};
use crate::problem::hint;
use crate::script;
use crate::yaml::{Mark, Node};

/// Default warm-up.
const WARMUP_NS: u64 = 1_000_000_000;

/// A role with the path of its keys.
pub(super) struct Role<'a> {
    name: Option<&'a str>,
    pub(super) def: &'a LoadDef,
    pub(super) path: Vec<&'a str>,
}

fn listed(section: &LoadSection) -> Vec<Role<'_>> {
    match section {
        LoadSection::One(def) => vec![Role {
            name: None,
            def,
            path: vec!["load"],
        }],
        LoadSection::Roles(roles) => roles
            .iter()
            .map(|(name, def)| Role {
                name: Some(name),
                def,
                path: vec!["load", name],
            })
            .collect(),
    }
}

/// A role with the workload's load that it uses, its edge, and the name of its agent instance.
struct RoleUse<'a> {
    role: Role<'a>,
    kind: &'a LoadKindDef,
    edge: Edge,
    instance: String,
}

/// The roles whose load and edge exist; others are reported.
fn uses<'a>(scope: &mut Scope<'_>, input: Input<'a>) -> Vec<RoleUse<'a>> {
    let roles = listed(&input.def.load);
    let only = roles.len() == 1;
    let uses = roles.into_iter().filter_map(|role| {
        let kind = kind(scope, input, &role)?;
        let edge = edge(scope, input, &role, kind)?;
        // An instance has the name of its part, or of its role if there are several.
        let instance = match role.name {
            Some(name) if !only => name.to_owned(),
            _ => edge.from.clone(),
        };
        Some(RoleUse {
            role,
            kind,
            edge,
            instance,
        })
    });
    uses.collect()
}

/// Agent instance and edge of every role, for the topology.
pub(super) fn agents(scope: &mut Scope<'_>, input: Input<'_>) -> Vec<(String, Edge)> {
    let uses = uses(scope, input).into_iter();
    uses.map(|one| (one.instance, one.edge)).collect()
}

/// Loads of the workload that the roles use.
pub(super) fn kinds<'a>(scope: &mut Scope<'_>, input: Input<'a>) -> Vec<&'a LoadKindDef> {
    let uses = uses(scope, input).into_iter();
    uses.map(|one| one.kind).collect()
}

pub(super) fn roles(
    scope: &mut Scope<'_>,
    input @ Input { root, def, folder }: Input<'_>,
    resolved: &ResolvedWorkload,
) -> Vec<RoleLoad> {
    let mut loads = Vec::new();
    for RoleUse {
        role,
        kind,
        edge,
        instance,
    } in uses(scope, input)
    {
        let agents = role.def.agents.unwrap_or(1);
        let protocol = kind.protocol.as_deref().unwrap_or(&edge.protocol);
        let Some(mut load) = spec(scope, input, &role, (kind, protocol), resolved) else {
            continue;
        };
        if let Some(session) = &kind.session {
            match script::session_beside(Path::new(&folder.file), session) {
                Ok(script) => load.mix = script.mix,
                Err(problems) => scope.problems.extend(problems),
            }
        }
        if agents == 0 {
            continue;
        }
        loads.push(RoleLoad {
            role: role.name.map_or_else(|| edge.from.clone(), String::from),
            instance,
            edge: edge.name(),
            agents,
            load,
            calls: calls(kind),
        });
    }
    let mut roles = listed(&def.load).into_iter();
    if loads.is_empty() && roles.all(|role| role.def.agents == Some(0)) {
        let message = "no role has an agent: let `agents` of one be 1 or more";
        scope.problem(root.key_mark_at(&["load"]), message);
    }
    loads
}

/// Resolves the load of a preparation step, which no role has.
pub(super) fn alone(
    scope: &mut Scope<'_>,
    input: Input<'_>,
    def: &LoadDef,
    resolved: &ResolvedWorkload,
) -> Option<LoadSpec> {
    let role = Role {
        name: None,
        def,
        path: vec!["prepare"],
    };
    let kind = kind(scope, input, &role)?;
    let edge = edge(scope, input, &role, kind)?;
    let protocol = kind.protocol.as_deref().unwrap_or(&edge.protocol);
    spec(scope, input, &role, (kind, protocol), resolved)
}

/// Calls behind each request. That they are given for all requests or none is checked with the workload.
fn calls(kind: &LoadKindDef) -> BTreeMap<String, BTreeMap<String, u32>> {
    let requests = kind.requests.iter();
    let requests = requests.filter_map(|request| Some((&request.name, request.calls.as_ref()?)));
    let steps = kind.calls.iter().map(|(name, calls)| (name, &calls.0));
    let by_edge = |calls: &BTreeMap<EdgePattern, u32>| {
        let by_edge = calls.iter().map(|(edge, calls)| (edge.0.clone(), *calls));
        by_edge.collect()
    };
    requests
        .chain(steps)
        .map(|(name, calls)| (name.0.clone(), by_edge(calls)))
        .collect()
}

pub(super) fn at(root: &Node, role: &Role<'_>, key: &str) -> Mark {
    let mut path = role.path.clone();
    path.push(key);
    root.mark_at(&path)
}

fn kind<'f>(
    scope: &mut Scope<'_>,
    Input { root, folder, .. }: Input<'f>,
    role: &Role<'_>,
) -> Option<&'f LoadKindDef> {
    let loads = &folder.def.loads;
    let Some(wanted) = &role.def.kind else {
        let named = loads.get("default");
        if named.is_none() && loads.len() > 1 {
            let names: Vec<_> = loads.keys().collect();
            let (workload, names) = (&folder.def.workload, crate::problem::list(&names));
            let message =
                format!("workload \"{workload}\" has several loads: choose one by use: {names}");
            return scope.reject(root.key_mark_at(&role.path), message);
        }
        return named.or_else(|| loads.values().next());
    };
    let found = loads.get(wanted);
    if found.is_none() {
        let (workload, hint) = (&folder.def.workload, hint(wanted, loads.keys()));
        let message = format!("workload \"{workload}\" has no load \"{wanted}\"{hint}");
        scope.problem(at(root, role, "use"), message);
    }
    found
}

fn edge(
    scope: &mut Scope<'_>,
    Input { root, folder, .. }: Input<'_>,
    role: &Role<'_>,
    kind: &LoadKindDef,
) -> Option<Edge> {
    let edges = super::workload::edges(&folder.def);
    let wanted: &EdgePattern = role.def.edge.as_ref().unwrap_or(&kind.edge);
    let mark = at(root, role, "edge");
    let found = edges
        .iter()
        .find(|edge| wanted.matches(&edge.from, &edge.to));
    let Some(edge) = found else {
        return scope.reject(mark, super::workload::unknown_edge(wanted, &edges));
    };
    let client = folder.def.parts.get(edge.from.as_str());
    if client.is_none_or(|part| part.kind != PartKind::Client) {
        let message = format!(
            "load goes out from a client, but \"{}\" is none in edge {}",
            edge.from,
            edge.name()
        );
        return scope.reject(mark, message);
    }
    Some(edge.clone())
}

fn spec(
    scope: &mut Scope<'_>,
    Input { root, folder, .. }: Input<'_>,
    role: &Role<'_>,
    (kind, protocol): (&LoadKindDef, &str),
    ResolvedWorkload { settings, .. }: &ResolvedWorkload,
) -> Option<LoadSpec> {
    let def = role.def;
    let stop = pacing::stop(scope, root, role)?;
    let pacing = pacing::pacing(scope, root, role, stop)?;
    let connections = def.connections.unwrap_or(match pacing {
        Pacing::Closed { clients, .. } => clients,
        _ => LoadSpec::CONNECTIONS,
    });
    for (key, period) in [
        ("timeout", def.timeout),
        ("sample_interval", def.sample_interval),
    ] {
        if period.is_some_and(|period| period.0.is_zero()) {
            scope.problem(
                at(root, role, key),
                format!("{key} must be longer than nothing"),
            );
        }
    }
    let ns = |period: Option<Period>, default: u64| period.map_or(default, Period::as_ns);
    let requests = requests(scope, root, role, kind, settings);
    let load = protocol::find(scope.catalog.protocols, protocol).and_then(|info| info.load);
    let keys = keys_of(kind, folder, settings);
    let client = keys.and_then(|keys| client_of(load, (protocol, connections), &requests, keys));
    let client = match client {
        Ok(client) => client,
        Err(message) => {
            let message = format!("`client` of the workload's load: {message}");
            return scope.reject(root.key_mark_at(&role.path), message);
        }
    };
    let connections = ConnectionRules {
        exchanges_max: def.requests_per_connection,
        open_over_ns: ns(def.connect_ramp, 0),
        ..ConnectionRules::default()
    };
    if let Some(Err(message)) = load.map(|load| load.check_connections(protocol, &connections)) {
        let key = match connections.exchanges_max {
            Some(_) => "requests_per_connection",
            None => "connect_ramp",
        };
        scope.problem(at(root, role, key), message);
    }
    if let Err(message) = check_requests(load, protocol, &requests) {
        scope.problem(root.key_mark_at(&role.path), message);
    }
    let usual = LoadSpec::new(client);
    Some(LoadSpec {
        pacing,
        stop,
        warmup_ns: ns(def.warmup, WARMUP_NS),
        timeout_ns: ns(def.timeout, usual.timeout_ns),
        workers: def.workers.unwrap_or(usual.workers),
        spin: def.spin.unwrap_or(usual.spin),
        sched: def.sched.unwrap_or(usual.sched),
        sample_every_ns: ns(def.sample_interval, usual.sample_every_ns),
        connections,
        requests,
        ..usual
    })
}

/// The client of a load, with the options that the workload gives. A protocol that only edges have has no options.
fn client_of(
    load: Option<LoadInfo>,
    (name, connections): (&str, u32),
    requests: &[RequestSpec],
    options: Map<String, Value>,
) -> Result<ClientSpec, String> {
    let Some(load) = load else {
        return Ok(ClientSpec::new(name, connections));
    };
    let mut client = (load.client)(connections, requests);
    client.options.extend(options);
    (load.check)(&client)?;
    Ok(client)
}

/// Whether requests are what the protocol needs.
fn check_requests(
    load: Option<LoadInfo>,
    name: &str,
    requests: &[RequestSpec],
) -> Result<(), String> {
    match load.map(|load| load.requests) {
        Some(RequestUse::One) if requests.len() > 1 => Err(format!(
            "over {name} all exchanges are of one size: give the workload just one request"
        )),
        Some(RequestUse::Operations(known)) => {
            let unknown = |request: &&RequestSpec| !known.contains(&request.method.as_str());
            requests.iter().find(unknown).map_or(Ok(()), |request| {
                Err(format!(
                    "request \"{}\": unknown operation {} of {name}: use {}",
                    request.name,
                    request.method,
                    known.join(", ")
                ))
            })
        }
        _ => Ok(()),
    }
}

/// Keys that a workload merges into its client. A text that is only a setting becomes that setting's value, and a duration
/// becomes nanoseconds for keys ending in `_ns`.
fn keys_of(
    kind: &LoadKindDef,
    folder: &WorkloadFolder,
    settings: &Settings,
) -> Result<Map<String, Value>, String> {
    let mut keys = Map::new();
    for (key, value) in &kind.client {
        let mut filled = match value {
            Value::String(text) => {
                let alone = text.strip_prefix("{{").and_then(|t| t.strip_suffix("}}"));
                match alone.and_then(|name| settings.get(name.trim())) {
                    Some(value) => value.clone(),
                    None => request::fill(text, settings)?.into(),
                }
            }
            other => other.clone(),
        };
        // The only file that a client may name: its password is sent to the brokers.
        if let Some(Value::String(file)) = filled.get_mut("password_file") {
            let of_workload = Path::new(&folder.file).parent().unwrap_or(Path::new(""));
            let path = files::resolve_inside(of_workload, file)?;
            *file = path.display().to_string();
        }
        let period = filled.as_str().filter(|_| key.ends_with("_ns"));
        let value = match period.map(str::parse::<Period>) {
            Some(Ok(period)) => period.as_ns().into(),
            Some(Err(error)) => return Err(format!("{key}: {error}")),
            None => filled,
        };
        keys.insert(key.clone(), value);
    }
    Ok(keys)
}
