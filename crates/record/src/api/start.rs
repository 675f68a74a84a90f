//! Starting the server, runs and loads, and planning them.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use crate::schemas::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ArmRoute;

/// What `tare serve` starts the server with: its only argument, as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServeOptions {
    /// Address to listen on.
    pub listen: SocketAddr,
    /// Directory of runs.
    pub runs: PathBuf,
    /// Whether nothing can be started, stopped, deleted or imported.
    pub read_only: bool,
    /// Directories whose files a load may name.
    pub files: Vec<PathBuf>,
    /// Environment variables that a cluster may name for a password.
    pub environment: Vec<String>,
    /// File of the user's Kafka clusters, which all who may use the page may use with their secrets.
    pub clusters: Option<PathBuf>,
    /// Runs and loads that are measured at a time.
    pub parallel: u32,
    /// Host names under which the page may be opened, beside the address.
    pub hosts: Vec<String>,
    /// Certificate with its chain and private key (PEM).
    pub tls: Option<(PathBuf, PathBuf)>,
    /// File with the password of the page.
    pub password_file: Option<PathBuf>,
    /// The program `tare`.
    pub tare: PathBuf,
    /// Directory with the folders `experiments`, `workloads` and `targets`.
    pub home: PathBuf,
}

/// Body of `POST /api/v1/plan` and `POST /api/v1/runs`: an experiment and what is changed about it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ExperimentRequest {
    /// Name of an experiment of the library; or `yaml`.
    pub experiment: Option<String>,
    /// The experiment itself, as YAML.
    pub yaml: Option<String>,
    /// Name of an experiment that is sent as YAML.
    #[schemars(regex(pattern = r"^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$"))]
    pub name: Option<String>,
    /// Whether to use the quick form.
    pub quick: bool,
    /// Whether to leave the A/A check out.
    pub no_aa: bool,
    /// Exact number of blocks.
    #[schemars(range(min = 1))]
    pub blocks: Option<u32>,
    /// Seed of every random order.
    pub seed: Option<u64>,
    /// Addresses of external parts, by part.
    pub external: BTreeMap<String, Vec<String>>,
}

/// Reply of `POST /api/v1/plan`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanReply {
    /// What `tare plan --json` prints: the plan, its duration, the smallest differences that it can detect.
    pub plan: Value,
    /// What `tare plan` prints.
    pub text: String,
    /// Arms in order, with the routes of each.
    pub arms: Vec<ArmRoute>,
}

/// Reply of what starts a run or a load, and of `GET /api/v1/starts/{id}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StartReply {
    /// Identity of the start.
    pub id: String,
    /// Its state.
    pub state: StartState,
    /// The run folder, or that of the load, once it exists.
    pub folder: Option<String>,
    /// Exit code, once it has ended.
    pub exit_code: Option<i32>,
    /// Last lines that the process wrote.
    pub output: Vec<String>,
    /// The command, to repeat it in a terminal.
    pub command: Vec<String>,
}

/// State of a start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StartState {
    /// The process runs, and has no folder yet.
    Preparing,
    /// The process runs, and its folder exists.
    Running,
    /// The process has ended.
    Ended,
}

/// Body of `POST /api/v1/loads`: load on one URL.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoadRequest {
    /// Target URL.
    #[schemars(regex(
        pattern = r"^[^-\u0000-\u001F\u007F-\u009F][^\u0000-\u001F\u007F-\u009F]*$"
    ))]
    pub url: String,
    /// Pace.
    pub pace: LoadPace,
    /// When it ends.
    pub stop: LoadStop,
    /// Number of connections.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub connections: Option<u32>,
    /// Warm-up in seconds.
    #[serde(default)]
    #[schemars(range(min = 0.0))]
    pub warmup_s: Option<f64>,
    /// Timeout of a request in seconds.
    #[serde(default)]
    #[schemars(range(min = 0.0))]
    pub timeout_s: Option<f64>,
    /// Whether to use HTTP/2.
    #[serde(default)]
    pub http2: bool,
    /// HTTP method.
    #[serde(default)]
    #[schemars(regex(pattern = r"^[^\u0000-\u001F\u007F-\u009F]+$"))]
    pub method: Option<String>,
    /// Request headers, `Name: value`.
    #[serde(default)]
    #[schemars(
        length(max = 100),
        inner(regex(pattern = r"^[^\u0000-\u001F\u007F-\u009F]+$"))
    )]
    pub headers: Vec<String>,
    /// Request body.
    #[serde(default)]
    pub body: Option<String>,
    /// Size of a generated request body.
    #[serde(default)]
    pub body_bytes: Option<u64>,
    /// File of CA certificates to trust, in a directory of the server's `--files`.
    #[serde(default)]
    pub cacert: Option<String>,
    /// File of the client certificate.
    #[serde(default)]
    pub cert: Option<String>,
    /// File of its private key.
    #[serde(default)]
    pub key: Option<String>,
    /// Whether any server certificate is accepted.
    #[serde(default)]
    pub insecure: bool,
    /// Labels, as text.
    #[serde(default)]
    #[schemars(regex(pattern = r"^[^\u0000-\u001F\u007F-\u009F]+$"))]
    pub labels: Option<String>,
    /// For `kafka://…`: what is measured, and the cluster whose settings are used.
    #[serde(default)]
    pub kafka: KafkaLoadRequest,
}

/// The part of a load on a topic of Kafka.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct KafkaLoadRequest {
    /// What is measured.
    pub mode: KafkaLoadMode,
    /// Cluster of the server's list: its brokers, TLS and login are used, and those of the URL are not.
    pub cluster: Option<String>,
    /// Acknowledgements of a producer: `0`, `1` or `all`. Default: `all`.
    #[schemars(regex(pattern = r"^(0|1|all)$"))]
    pub acks: Option<String>,
    /// Consumer group. Default: none.
    #[schemars(regex(pattern = r"^[^\u0000-\u001F\u007F-\u009F]+$"))]
    pub group: Option<String>,
}

/// What a load on a topic measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum KafkaLoadMode {
    /// Each record that is produced is a request.
    #[default]
    Produce,
    /// Each fetch is a request.
    Consume,
    /// Latency from producing a record to its arrival at a consumer.
    EndToEnd,
}

/// Pace of a load.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum LoadPace {
    /// Open loop.
    Rate {
        /// Requests per second.
        #[schemars(range(min = 0.0))]
        per_s: f64,
    },
    /// Closed loop.
    Clients {
        /// Number of clients.
        #[schemars(range(min = 1))]
        clients: u32,
    },
    /// As fast as the connections allow.
    Maximum,
}

/// When a load ends.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum LoadStop {
    /// After a time.
    Duration {
        /// Seconds.
        #[schemars(range(min = 0.0))]
        seconds: f64,
    },
    /// After a number of requests.
    Count {
        /// Requests.
        #[schemars(range(min = 1))]
        requests: u64,
    },
    /// When it is stopped.
    Stopped,
}
