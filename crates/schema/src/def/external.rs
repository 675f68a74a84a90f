//! Definition of an external part: a service or a cluster that runs already and that Tare does not start.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clusters::{ClusterSaslDef, ClusterTlsDef};
use crate::metrics_source::MetricsSourceDef;
use crate::target::CounterDef;

/// An external part: its address, or a map with address and options.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ExternalDef {
    /// `HOST:PORT`, in plaintext.
    At(String),
    /// Address and options.
    With(Box<ExternalMapDef>),
}

/// An external part. Exactly one of `address`, `addresses` and `bootstrap`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("x-word" = "external part"))]
pub struct ExternalMapDef {
    /// Address of the only instance, `HOST:PORT`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Addresses of the instances, `HOST:PORT` each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<String>,
    /// Bootstrap brokers, `HOST:PORT` each. Where a proxy is in front of them: all brokers, as they advertise themselves.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bootstrap: Vec<String>,
    /// Host name to send (`Host`, `:authority`). Default: the address as written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// TLS of the part. Files are beside the experiment or below its folder. Default: plaintext.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls: Option<ClusterTlsDef>,
    /// SASL login at brokers. The password comes from `password_file`, beside the experiment or below its folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sasl: Option<ClusterSaslDef>,
    /// Counters of the part, as in a target folder: `json`, `prometheus` and `text` pages at absolute `http://` addresses;
    /// `{host}` stands for the host of each address. Names are those of targets, and `cpu-seconds` and `memory-bytes`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub counters: Vec<CounterDef>,
    /// Where to read the metrics (JMX) of the instances, named by the part's target: one address per instance, in the same
    /// order. The password of a user comes from `password_file`, beside the experiment or below its folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metrics: Option<MetricsSourceDef>,
}

impl ExternalDef {
    /// The definition as a map.
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
