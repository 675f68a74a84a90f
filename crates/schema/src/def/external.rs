//! What runs already, as it is written: the server of a part that Tare does not start.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clusters::{ClusterSaslDef, ClusterTlsDef};
use crate::metrics_source::MetricsSourceDef;
use crate::target::CounterDef;

/// A part that runs already: its address, or that with how to talk to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ExternalDef {
    /// `HOST:PORT`, spoken to in plaintext.
    At(String),
    /// With more about it.
    With(Box<ExternalMapDef>),
}

/// A part that runs already: exactly one of `address`, `addresses` and `bootstrap`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("x-word" = "external part"))]
pub struct ExternalMapDef {
    /// Where it is, `HOST:PORT`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Where its instances are, `HOST:PORT` each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<String>,
    /// Brokers to ask first, `HOST:PORT` each: all of them, as they advertise themselves, where a proxy is to stand before them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bootstrap: Vec<String>,
    /// Name to send as host (`Host`, `:authority`). Default: the address as it is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// TLS that it speaks. Files lie beside the experiment or below that folder. Default: plaintext.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls: Option<ClusterTlsDef>,
    /// Who callers are, where it asks (brokers): by `password_file`, which lies beside the experiment or below that folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sasl: Option<ClusterSaslDef>,
    /// What it counts, as in a target folder: `json`, `prometheus` and `text` pages at absolute `http://` addresses, in which `{host}`
    /// stands for the host of each address. Names are those of targets, and `cpu-seconds` and `memory-bytes`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub counters: Vec<CounterDef>,
    /// Where the metrics of its instances are read, under the names that the part's target has for them: an address for each of
    /// its own, in the same order. The password of a user is in `password_file`, which lies beside the experiment or below that folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metrics: Option<MetricsSourceDef>,
}

impl ExternalDef {
    /// All that is written of it.
    #[must_use]
    pub fn map(&self) -> ExternalMapDef {
        match self {
            ExternalDef::At(address) => ExternalMapDef {
                address: Some(address.clone()),
                ..ExternalMapDef::default()
            },
            ExternalDef::With(map) => (**map).clone(),
        }
    }
}
