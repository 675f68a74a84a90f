//! Kafka clusters by name: the file that `tare kafka --cluster NAME` looks in.

use std::collections::BTreeMap;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::document;
use crate::metrics_source::MetricsSourceDef;
use crate::problem::Problems;

/// A file of clusters.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClustersDef {
    /// The clusters, by the names they have here.
    #[serde(default)]
    pub clusters: BTreeMap<String, ClusterDef>,
}

/// How to reach a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClusterDef {
    /// Brokers to ask first, `HOST:PORT`.
    pub bootstrap: Vec<String>,
    /// TLS; plain without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<ClusterTlsDef>,
    /// User and password; none without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sasl: Option<ClusterSaslDef>,
    /// Brokers may have addresses that are neither loopback nor private.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allow_public_target: bool,
    /// Where the metrics of its brokers are read, for `tare kafka metrics`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metrics: Option<MetricsSourceDef>,
}

/// TLS to a cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClusterTlsDef {
    /// File (PEM) of the authorities to believe; the system's without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca: Option<String>,
    /// File (PEM) of the client's certificate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cert: Option<String>,
    /// File (PEM) of its key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Name to expect in the brokers' certificates instead of their hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_name: Option<String>,
    /// Believe every certificate: for test beds.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub insecure: bool,
}

/// A user of a cluster. The password itself is never in the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClusterSaslDef {
    /// `plain`, `scram-sha-256` or `scram-sha-512`.
    pub mechanism: String,
    /// User.
    pub user: String,
    /// Environment variable that has the password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password_env: Option<String>,
    /// File that has the password, and nothing else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password_file: Option<String>,
}

/// Reads a file of clusters.
///
/// # Errors
/// What is wrong with it, each with its place.
pub fn read(path: &Path) -> Result<ClustersDef, Problems> {
    let text = document::read_text(path)?;
    document::read(&path.display().to_string(), &text).map(|(def, _)| def)
}

/// The file's text; comments of the one before are not kept.
///
/// # Errors
/// When it cannot be written as YAML.
pub fn write(def: &ClustersDef) -> Result<String, String> {
    let body = serde_saphyr::to_string(def).map_err(|error| error.to_string())?;
    Ok(format!(
        "# Kafka clusters by name, for `tare kafka --cluster NAME`; `tare kafka clusters add` writes it anew.\n{body}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back_and_has_no_password() {
        let sasl = ClusterSaslDef {
            mechanism: "scram-sha-256".to_owned(),
            user: "ann".to_owned(),
            password_env: Some("KAFKA_PASSWORD".to_owned()),
            password_file: None,
        };
        let one = ClusterDef {
            bootstrap: vec!["kafka-1:9093".to_owned(), "[::1]:9093".to_owned()],
            tls: Some(ClusterTlsDef {
                ca: Some("/etc/ca.pem".to_owned()),
                ..ClusterTlsDef::default()
            }),
            sasl: Some(sasl),
            allow_public_target: true,
            metrics: Some(MetricsSourceDef {
                jolokia: vec!["kafka-1:8778".to_owned()],
                user: Some("ann".to_owned()),
                password_env: Some("JOLOKIA_PASSWORD".to_owned()),
                ..MetricsSourceDef::default()
            }),
        };
        let def = ClustersDef {
            clusters: BTreeMap::from([("prod".to_owned(), one)]),
        };
        let text = write(&def).unwrap();
        let (again, _) = document::read::<ClustersDef>("clusters.yaml", &text).unwrap();
        assert_eq!(again, def, "{text}");
    }

    #[test]
    fn an_unknown_key_is_named_with_its_place() {
        let text = "clusters:\n  a: {bootstrap: [b:1], pasword: x}\n";
        let problems = document::read::<ClustersDef>("clusters.yaml", text).unwrap_err();
        assert!(
            problems.to_string().contains("clusters.yaml:2"),
            "{problems}"
        );
    }
}
