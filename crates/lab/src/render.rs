//! Renders a target folder for an instance: files, command, readiness probe and counters.

mod context;
mod login;
mod templates;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use minijinja::Value;
use minijinja::value::Serde;
use tare_experiment::target::{Capability, CommandDef, InjectedDef, ReadyDef, StopDef};
use tare_record::counter::{CounterDef, CounterKind, CounterSource};

use crate::LabError;
use crate::counters::{BeanQuery, bean_queries};
use crate::probe::ReadinessProbe;
use crate::targets::Target;

pub use context::{
    Advertise, CaFiles, Context, Exempt, Identity, Listen, MeshCaller, MeshContext,
    MeshGatewayRoute, MeshInstance, MeshPort, MeshProxy, MeshService, Peer, RedirectExclusions,
    RouteContext, Upstream, edge_id,
};
pub use login::Login;
use templates::Templates;

/// An instance that can be started; all templates are rendered.
#[derive(Debug, Clone, PartialEq)]
pub struct Rendered {
    pub instance: String,
    /// Files for its folder.
    pub files: Vec<RenderedFile>,
    /// Commands before the start, in order; their words are rendered.
    pub prepare: Vec<CommandDef>,
    /// The command.
    pub start: Vec<String>,
    /// Its Linux capabilities.
    pub capabilities: Vec<Capability>,
    /// Its environment variables.
    pub env: Vec<(String, String)>,
    pub probe: ReadinessProbe,
    /// Its timeout.
    pub ready_within: Duration,
    pub stop: StopDef,
    /// Command that changes its configuration.
    pub change: Option<CommandDef>,
    pub counters: Vec<Counter>,
    /// Queries of its JMX beans, for counters that are read from them.
    pub beans: Option<Beans>,
    /// Edges that pass through it: id → name.
    pub edges: Vec<(String, String)>,
    /// Its folder.
    pub dir: PathBuf,
    /// Credentials of its admin page.
    pub login: Login,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenderedFile {
    /// Name in the instance's folder.
    pub name: String,
    pub text: String,
}

/// Queries of an instance's JMX beans, sent in one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Beans {
    /// URL of Jolokia.
    pub url: String,
    /// One query per bean.
    pub bean_queries: Vec<BeanQuery>,
}

/// A counter with rendered addresses.
#[derive(Debug, Clone, PartialEq)]
pub struct Counter {
    pub name: String,
    /// Its edge, where each edge has a source of its own.
    pub edge: Option<String>,
    pub source: CounterSource,
    /// Factor.
    pub scale: f64,
    /// Counter or gauge.
    pub kind: CounterKind,
}

impl Counter {
    /// The counter of a whole instance, read from its definition's source.
    pub(crate) fn of(def: &CounterDef) -> Counter {
        Counter {
            name: def.name.clone(),
            edge: None,
            source: def.from.clone(),
            scale: def.scale,
            kind: def.kind,
        }
    }
}

impl Rendered {
    /// Writes the files into the instance's folder, readable by this user only: they may contain passwords.
    ///
    /// # Errors
    /// The file that could not be written.
    pub fn write(&self) -> Result<(), LabError> {
        for file in &self.files {
            let path = self.dir.join(&file.name);
            let what = || format!("write {}", path.display());
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder).map_err(LabError::io(what()))?;
            }
            let _ = fs::remove_file(&path);
            fs::OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(&path)
                .and_then(|mut opened| opened.write_all(file.text.as_bytes()))
                .map_err(LabError::io(what()))?;
        }
        Ok(())
    }
}

/// Renders everything of a target for one instance; reads the templates and writes nothing.
///
/// # Errors
/// The template, its line and what is wrong; a setting that the target does not have.
pub fn render(target: &Target, context: &Context) -> Result<Rendered, LabError> {
    let def = &target.def;
    let context = with_defaults(target, context)?;
    let templates = Templates::new(&target.folder, &context)?;
    let key = |key: &str| key_of(target, key);
    let counters = counters(&templates, &key("counters"), target, &context)?;
    let beans = beans(&templates, &key("jmx"), target, &counters)?;
    let asked = beans.as_ref().map(|beans| &beans.bean_queries);
    let extra = Value::from_pairs([("beans", Value::from(Serde(asked)))]);
    let mut files = Vec::new();
    for (name, template) in &def.render {
        files.push(RenderedFile {
            name: templates.text(&key("render"), name)?,
            text: templates.file(template, &extra)?,
        });
    }
    let mut prepare = Vec::new();
    for step in &def.prepare {
        let command = templates.words(&key("prepare"), &step.command)?;
        prepare.push(CommandDef {
            command,
            ..step.clone()
        });
    }
    let change = match &def.change {
        Some(step) => Some(CommandDef {
            command: templates.words(&key("change"), &step.command)?,
            ..step.clone()
        }),
        None => None,
    };
    let mut env = Vec::new();
    for (name, value) in &def.env {
        env.push((name.clone(), templates.text(&key("env"), value)?));
    }
    let rendered = Rendered {
        instance: context.name.clone(),
        files,
        prepare,
        start: templates.words(&key("start"), &def.start)?,
        capabilities: def.capabilities.clone(),
        env,
        probe: probe(&templates, &key("ready"), &def.ready, &context)?,
        ready_within: def.ready.timeout.0,
        stop: def.stop.clone(),
        change,
        counters,
        beans,
        edges: context
            .routes
            .iter()
            .map(|route| (route.id.clone(), route.edge.clone()))
            .collect(),
        dir: context.dir.clone(),
        login: context.login.clone(),
    };
    check_commands(&rendered, &key("start"))?;
    Ok(rendered)
}

/// What the mesh of a cluster needs to inject a proxy into a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InjectedProxy {
    /// Its container.
    pub container: String,
    /// Labels of the pod.
    pub labels: BTreeMap<String, String>,
    /// Annotations of the pod.
    pub annotations: BTreeMap<String, String>,
    /// Annotations of its Service.
    pub service_annotations: BTreeMap<String, String>,
}

/// Renders what a pod must say so that a proxy is injected into it, and the objects of the arm.
///
/// # Errors
/// As [`render`]; a target that no mesh of a cluster injects.
pub fn injected_proxy(
    target: &Target,
    context: &Context,
) -> Result<(InjectedProxy, Vec<serde_json::Value>), LabError> {
    let (def, context) = (injected_def(target)?, with_defaults(target, context)?);
    let templates = Templates::new(&target.folder, &context)?;
    let key = key_of(target, "injected");
    let texts = |all: &BTreeMap<String, String>| {
        let mut rendered = BTreeMap::new();
        for (name, value) in all {
            let value = templates.text(&key, value)?.trim().to_owned();
            if !value.is_empty() {
                rendered.insert(name.clone(), value);
            }
        }
        Ok::<_, LabError>(rendered)
    };
    let mut objects = Vec::new();
    if let Some(name) = &def.objects {
        let text = templates.file(name, &Value::from_pairs::<_, &str, &str>([]))?;
        let file = target.folder.join(name).display().to_string();
        let is_content = |line: &str| !line.trim().is_empty() && !line.starts_with('#');
        let documents = text.split("---\n");
        for document in documents.filter(|document| document.lines().any(is_content)) {
            let parsed = tare_experiment::yaml::parse(&file, document);
            let object = parsed.map_err(|problems| wrong(&file, problems.to_string()))?;
            objects.push(object.to_json());
        }
    }
    let proxy = InjectedProxy {
        container: def.container.clone(),
        labels: texts(&def.labels)?,
        annotations: texts(&def.annotations)?,
        service_annotations: texts(&def.service_annotations)?,
    };
    Ok((proxy, objects))
}

/// Renders what is read of a proxy that the mesh of a cluster injects: readiness and counters. Nothing is written or started.
///
/// # Errors
/// As [`render`].
pub fn render_injected(target: &Target, context: &Context) -> Result<Rendered, LabError> {
    let def = injected_def(target)?;
    let mut plain = target.clone();
    plain.def.render.clear();
    plain.def.prepare.clear();
    plain.def.env.clear();
    plain.def.change = None;
    plain.def.start = vec![def.container.clone()];
    let mut rendered = render(&plain, context)?;
    let Some(knows) = &def.knows else {
        return Ok(rendered);
    };
    let templates = Templates::new(&target.folder, context)?;
    let key = key_of(target, "injected");
    let mut lines = Vec::new();
    for route in &context.routes {
        let route = Value::from_pairs([("route", Value::from(Serde(route)))]);
        let line = templates.text_with(&key, &knows.line, &route)?;
        lines.extend(Some(line.trim().to_owned()).filter(|line| !line.is_empty()));
    }
    let url = templates.text(&key, &knows.url)?;
    let knows = ReadinessProbe::Lines { url, lines };
    rendered.probe = ReadinessProbe::All(vec![rendered.probe, knows]);
    Ok(rendered)
}

fn injected_def(target: &Target) -> Result<&InjectedDef, LabError> {
    target.def.injected.as_ref().ok_or_else(|| {
        LabError::Plan(format!(
            "no mesh of a cluster injects {}",
            target.def.target
        ))
    })
}

fn key_of(target: &Target, key: &str) -> String {
    format!("{}: {key}", target.folder.join("target.yaml").display())
}

/// A context with all settings of its target, checked.
fn with_defaults(target: &Target, context: &Context) -> Result<Context, LabError> {
    let mut context = context.clone();
    let settings = target.def.settings_with(&[&context.settings]);
    context.settings = settings.map_err(LabError::Plan)?;
    check_texts(&context)?;
    Ok(context)
}

/// Refuses control characters in the context: names and settings come from experiments, and must not add lines.
fn check_texts(context: &Context) -> Result<(), LabError> {
    let all = serde_json::to_value(context);
    let all = all.map_err(|error| LabError::Plan(format!("{}: {error}", context.name)))?;
    match tare_record::text::find_in_strings(&all, &mut |text| {
        let held = text.chars().any(tare_record::text::is_control);
        held.then(|| tare_record::text::preview(text))
    }) {
        None => Ok(()),
        Some(found) => Err(LabError::Plan(format!(
            "`{found}` of {} holds a control character, which no configuration may have: take it out",
            tare_record::text::preview(&context.name)
        ))),
    }
}

/// Refuses passwords in commands: every user can read those, and records keep them with the environment.
fn check_commands(rendered: &Rendered, key: &str) -> Result<(), LabError> {
    let steps = rendered.prepare.iter().chain(&rendered.change);
    let steps = steps.flat_map(|step| &step.command);
    let asked = rendered
        .counters
        .iter()
        .filter_map(|counter| match &counter.source {
            CounterSource::Command(from) => Some(&from.command),
            _ => None,
        });
    let probe = match &rendered.probe {
        ReadinessProbe::Command(words) => Some(words),
        _ => None,
    };
    // They run with the rights of Tare; what is in the folder is the software's, which can put another script there.
    let dir = rendered.dir.display().to_string();
    let mut with_rights = asked.clone().flatten().chain(probe.into_iter().flatten());
    if with_rights.any(|word| word.contains(&dir)) {
        return Err(wrong(
            key,
            "the command of a counter or of `ready` names the folder of the instance, whose files the software can replace: write it out, by `sh -c`",
        ));
    }
    let words = rendered.start.iter().chain(steps).chain(asked.flatten());
    let words = words.chain(probe.into_iter().flatten());
    let words = words.chain(rendered.env.iter().map(|(_, value)| value));
    match rendered.login.is_in(words) {
        false => Ok(()),
        true => Err(wrong(
            key,
            "the password comes out in a command or its environment, which others can read: write it into a file of `render`",
        )),
    }
}

fn probe(
    templates: &Templates<'_>,
    key: &str,
    ready: &ReadyDef,
    context: &Context,
) -> Result<ReadinessProbe, LabError> {
    Ok(match ready {
        ReadyDef { tcp: Some(at), .. } => ReadinessProbe::Tcp(templates.text(key, at)?),
        ReadyDef {
            http: Some(url), ..
        } => ReadinessProbe::Http(templates.text(key, url)?),
        ReadyDef {
            grpc: Some(at),
            service,
            ..
        } => ReadinessProbe::Grpc {
            at: templates.text(key, at)?,
            service: match service {
                Some(service) => templates.text(key, service)?,
                None => String::new(),
            },
        },
        ReadyDef {
            kafka: Some(at),
            brokers,
            ..
        } => {
            let brokers = match brokers {
                Some(brokers) => templates.text(key, brokers)?,
                None => "1".to_owned(),
            };
            ReadinessProbe::Kafka {
                at: templates.text(key, at)?,
                brokers: brokers.parse().map_err(|_| {
                    let reason =
                        format!("`brokers` comes out as `{brokers}`, which is not a number");
                    wrong(key, reason)
                })?,
            }
        }
        ReadyDef {
            log: Some(line), ..
        } => ReadinessProbe::Log {
            file: context.log.clone(),
            pattern: templates.text(key, line)?,
        },
        ReadyDef {
            command: Some(words),
            ..
        } => ReadinessProbe::Command(templates.words(key, words)?),
        _ => {
            let reason = "needs one of tcp, http, grpc, kafka, log and command";
            return Err(wrong(key, reason));
        }
    })
}

fn counters(
    templates: &Templates<'_>,
    key: &str,
    target: &Target,
    context: &Context,
) -> Result<Vec<Counter>, LabError> {
    let mut all = Vec::new();
    for counter in &target.def.counters {
        let text = |text: &str| templates.text(key, text);
        let mut add = |edge: Option<&str>, source: CounterSource| {
            all.push(Counter {
                edge: edge.map(str::to_owned),
                source,
                ..Counter::of(counter)
            });
        };
        match &counter.from {
            CounterSource::Json(from) if from.pointer.contains("{{ edge }}") => {
                for route in &context.routes {
                    let mut from = from.clone();
                    from.url = text(&from.url)?;
                    let extra = Value::from_pairs([("edge", route.id.clone())]);
                    from.pointer = templates.text_with(key, &from.pointer, &extra)?;
                    add(Some(&route.edge), CounterSource::Json(from));
                }
                continue;
            }
            CounterSource::Prometheus(from) if from.is_per_route() => {
                // Routes to the instances of one part may share a series.
                let mut taken = BTreeSet::new();
                for route in &context.routes {
                    let route_value = Value::from_pairs([("route", Value::from(Serde(route)))]);
                    let mut from = from.clone();
                    from.url = text(&from.url)?;
                    let mut applies = true;
                    for value in from.only.values_mut() {
                        let rendered = templates.text_with(key, value, &route_value)?;
                        rendered.trim().clone_into(value);
                        applies &= !value.is_empty();
                    }
                    if applies && taken.insert((&route.edge, from.only.clone())) {
                        add(Some(&route.edge), CounterSource::Prometheus(from));
                    }
                }
                continue;
            }
            CounterSource::Jmx(from) if from.bean.contains(PORT) => {
                for (port, edge) in listeners(context) {
                    let mut from = from.clone();
                    from.bean = from.bean.replace(PORT, &port.to_string());
                    add(edge, CounterSource::Jmx(from));
                }
                continue;
            }
            _ => {}
        }
        let mut source = counter.from.clone();
        match &mut source {
            CounterSource::Prometheus(from) => from.url = text(&from.url)?,
            CounterSource::Json(from) => {
                from.url = text(&from.url)?;
                from.pointer = text(&from.pointer)?;
            }
            CounterSource::Jmx(_) => {}
            CounterSource::Text(from) => from.url = text(&from.url)?,
            CounterSource::Log(from) => {
                from.file = in_folder(&context.dir, &text(&from.file)?);
            }
            CounterSource::Command(from) => {
                from.command = templates.words(key, &from.command)?;
            }
        }
        add(None, source);
    }
    Ok(all)
}

/// An error at a key of `target.yaml`.
fn wrong(key: &str, reason: impl Into<String>) -> LabError {
    LabError::Template {
        file: key.to_owned(),
        line: 1,
        reason: reason.into(),
    }
}

/// The queries that counters need, and the URL.
fn beans(
    templates: &Templates<'_>,
    key: &str,
    target: &Target,
    counters: &[Counter],
) -> Result<Option<Beans>, LabError> {
    let Some(jmx) = &target.def.jmx else {
        return Ok(None);
    };
    let sources = counters.iter().filter_map(|counter| match &counter.source {
        CounterSource::Jmx(from) => Some(from),
        _ => None,
    });
    Ok(Some(Beans {
        url: templates.text(key, &jmx.jolokia)?,
        bean_queries: bean_queries(sources).map_err(|reason| wrong(key, reason))?,
    }))
}

/// Placeholder of a listener's port in the name of a bean.
pub(crate) const PORT: &str = "{{ port }}";

/// Listening ports with their edges; `None` for a port of several edges, which cannot be told apart.
fn listeners(context: &Context) -> BTreeMap<u16, Option<&str>> {
    let mut found: BTreeMap<u16, Option<&str>> = BTreeMap::new();
    for route in &context.routes {
        let Some(listen) = &route.listen else {
            continue;
        };
        let edge = found.entry(listen.port).or_insert(Some(&route.edge));
        if *edge != Some(&route.edge) {
            *edge = None;
        }
    }
    found
}

fn in_folder(dir: &Path, file: &str) -> String {
    dir.join(file).display().to_string()
}

#[cfg(test)]
mod tests;
