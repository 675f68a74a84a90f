//! Counters of an instance, and where they are read.

use std::collections::BTreeMap;

use crate::schemas::JsonSchema;
use serde::{Deserialize, Serialize};

/// A counter or gauge of an instance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "counter"))]
pub struct CounterDef {
    /// Name: one of [`COUNTERS`], or a name of your own that begins with `x-`.
    pub name: String,
    /// Source of its values.
    pub from: CounterSource,
    /// Factor from the source's unit to the unit of the counter. Default: 1.
    #[serde(default = "one")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub scale: f64,
    /// Counter or gauge. Default: counter.
    #[serde(default)]
    pub kind: CounterKind,
}

/// Kind of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CounterKind {
    /// Cumulative since the start of the instance; results show the increase.
    #[default]
    Counter,
    /// A momentary value.
    Gauge,
}

/// One counter, cumulative since the instance started.
#[derive(Debug, Clone, PartialEq)]
pub struct CounterReading {
    /// Name given in the target folder: `requests`, `connections`, `tls-handshakes`, `tls-version`, ….
    pub name: String,
    /// Edge it belongs to, where the target tells its edges apart.
    pub edge: Option<String>,
    /// Label value, for counters per version, cipher or group: `TLSv1.3`.
    pub label: Option<String>,
    pub value: f64,
    /// Counter or gauge.
    pub kind: CounterKind,
}

/// Default of a factor.
#[must_use]
pub fn one() -> f64 {
    1.0
}

/// Source of a counter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CounterSource {
    /// A page in the Prometheus text format.
    Prometheus(PrometheusSource),
    /// A JSON page.
    Json(JsonSource),
    /// Management beans of a Java process (JMX).
    Jmx(JmxSource),
    /// A text page, by a pattern.
    Text(TextSource),
    /// Lines of a log file.
    Log(LogSource),
    /// The output of a command.
    Command(CommandSource),
}

/// Samples of a metric of a Prometheus page. Samples with the same edge and label are added up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PrometheusSource {
    /// URL of the page, a template.
    pub url: String,
    /// Name of the metric.
    pub metric: String,
    /// Label that holds the ID of an edge. Samples with other values are ignored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edge: Option<String>,
    /// Label whose value distinguishes series (a version, a cipher).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Value that distinguishes series, for software that has only this one and no label for it (a TLS version).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixed_label: Option<String>,
    /// Labels that samples must have, with their values. A value may be a template with `route`: the counter is then read once per
    /// route, and not for routes for which a value is empty.
    #[serde(default, rename = "where", skip_serializing_if = "BTreeMap::is_empty")]
    pub only: BTreeMap<String, String>,
    /// Meaning of a missing metric. Default: unknown.
    #[serde(default)]
    pub missing: IfAbsent,
    /// Whether the counter counts requests for this page, too; Tare subtracts its own. Default: false.
    #[serde(default)]
    pub self_counted: bool,
}

impl PrometheusSource {
    /// A metric of a page, whatever its labels.
    #[must_use]
    pub fn of_metric(url: &str, metric: &str) -> PrometheusSource {
        PrometheusSource {
            url: url.to_owned(),
            metric: metric.to_owned(),
            edge: None,
            label: None,
            fixed_label: None,
            only: BTreeMap::new(),
            missing: IfAbsent::default(),
            self_counted: false,
        }
    }

    /// Whether it is read once per route.
    #[must_use]
    pub fn is_per_route(&self) -> bool {
        self.only.values().any(|value| is_template(value))
    }
}

/// Whether a text of a target's definition is a template.
#[must_use]
pub fn is_template(text: &str) -> bool {
    text.contains("{{") || text.contains("{%")
}

/// Numbers in a JSON page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JsonSource {
    /// URL of the page, a template.
    pub url: String,
    /// JSON pointer (RFC 6901) to the number; `{{ edge }}` in it is the ID of each edge in turn.
    pub pointer: String,
    /// Meaning of a missing number. Default: unknown.
    #[serde(default)]
    pub missing: IfAbsent,
    /// Whether the counter counts requests for this page, too; Tare subtracts its own. Default: false.
    #[serde(default)]
    pub self_counted: bool,
}

/// Numbers in a text page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TextSource {
    /// URL of the page, a template.
    pub url: String,
    /// Regular expression with the group `value`, and optionally `edge` and `label`.
    pub pattern: String,
    /// Whether the counter counts requests for this page, too; Tare subtracts its own. Default: false.
    #[serde(default)]
    pub self_counted: bool,
}

/// Lines of a log file of the software.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LogSource {
    /// Path of the file, a template, relative to the instance's folder.
    pub file: String,
    /// Regular expression, optionally with groups `edge` and `label`. A matching line counts 1, or its group `value`.
    pub pattern: String,
}

/// The output of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommandSource {
    /// Command line; each word is a template.
    pub command: Vec<String>,
    /// Regular expression with the group `value`, and optionally `edge` and `label`.
    pub pattern: String,
}

/// A numeric attribute of beans. Its name on an exporter's page follows from `exported` of the target's `jmx`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JmxSource {
    /// Name of a bean, or of several: `*` stands for any text in the value of a property, `<*>` or `<A|B>` for text that becomes
    /// the label, `{{ port }}` for the port of each listener in turn.
    pub bean: String,
    /// Attribute; `Attribute/key` for a composite one.
    pub attribute: String,
    /// Attribute to multiply by: mean × count = sum.
    pub multiply_by: Option<String>,
}

/// Meaning of a counter that is missing from its page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum IfAbsent {
    /// No value: checks that need it cannot be made.
    #[default]
    Unknown,
    /// Zero: the software shows it from the first event on.
    Zero,
}

/// Counter of rejected configurations and objects, by reason.
pub const REJECTION_REASONS: &str = "config-rejection-reasons";

/// Names of counters that Tare knows, with what they count.
///
/// With `upstream-`: towards the called part; without: towards the caller.
pub const COUNTERS: &[(&str, &str)] = &[
    ("requests", "requests received"),
    ("upstream-requests", "requests sent on, retries included"),
    ("retries", "requests sent on again"),
    ("connections", "connections accepted"),
    ("upstream-connections", "connections opened"),
    ("bytes-received", "bytes from callers"),
    ("bytes-sent", "bytes to callers"),
    ("replication-bytes-in", "bytes copied from its peers"),
    ("replication-bytes-out", "bytes that its peers copied"),
    ("upstream-bytes-received", "bytes from called parts"),
    ("upstream-bytes-sent", "bytes to called parts"),
    (
        "caller-identities",
        "requests received, by the identity that the proxy in front states for the caller",
    ),
    (
        "unmatched-connections",
        "redirected connections that belong to no edge",
    ),
    (
        "unmatched-sni",
        "connections that were refused since no edge has the server name they asked for",
    ),
    (
        "config-rejections",
        "configurations from this control plane that a proxy rejected",
    ),
    (
        REJECTION_REASONS,
        "the same and objects that it rejected itself, by reason",
    ),
    ("tls-handshakes", "TLS handshakes done as server"),
    ("tls-version", "the same, by version"),
    ("tls-cipher", "the same, by cipher"),
    ("tls-group", "the same, by key exchange group"),
    (
        "tls-resumed",
        "of the handshakes, those that took up a session",
    ),
    (
        "tls-client-certificates",
        "of the handshakes, those in which the caller showed a certificate that was accepted",
    ),
    (
        "tls-no-client-certificate",
        "handshakes in which the caller showed no certificate",
    ),
    (
        "tls-failures",
        "handshakes that failed, for whatever reason",
    ),
    ("upstream-tls-handshakes", "TLS handshakes done as client"),
    ("upstream-tls-version", "the same, by version"),
    ("upstream-tls-cipher", "the same, by cipher"),
    ("upstream-tls-group", "the same, by key exchange group"),
    (
        "upstream-tls-resumed",
        "of the handshakes, those that took up a session",
    ),
    (
        "upstream-tls-failures",
        "handshakes that failed, for whatever reason",
    ),
];
