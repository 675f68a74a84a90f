//! Kafka clusters by name: the file behind `tare kafka --cluster NAME`.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use tare_record::metrics_source::MetricsSourceDef;
use tare_record::schemas::JsonSchema;

use crate::document;
use crate::problem::Problems;

/// Kafka clusters by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClustersDef {
    /// Clusters, by name.
    #[serde(default)]
    pub clusters: BTreeMap<String, ClusterDef>,
}

/// Connection settings of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClusterDef {
    /// Bootstrap brokers, `HOST:PORT` each.
    #[schemars(length(min = 1))]
    pub bootstrap: Vec<String>,
    /// TLS. Default: plaintext.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<ClusterTlsDef>,
    /// SASL login. Default: no authentication.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sasl: Option<ClusterSaslDef>,
    /// Whether brokers may have addresses other than loopback and private ones. Default: false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allow_public_target: bool,
    /// Where to read metrics of the brokers, for `tare kafka metrics`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metrics: Option<MetricsSourceDef>,
}

/// TLS settings for a cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClusterTlsDef {
    /// PEM file with trusted certificate authorities. Default: those of the system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca: Option<String>,
    /// PEM file with the client certificate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cert: Option<String>,
    /// PEM file with the key of the client certificate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Name to verify in the brokers' certificates. Default: their host names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_name: Option<String>,
    /// Accept any certificate; for test beds only. Default: false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub insecure: bool,
}

/// SASL credentials. The password itself is never in the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClusterSaslDef {
    /// SASL mechanism: `plain`, `scram-sha-256` or `scram-sha-512`.
    pub mechanism: String,
    /// User name.
    pub user: String,
    /// Environment variable that holds the password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password_env: Option<String>,
    /// File whose first line is the password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password_file: Option<String>,
}

/// Reads a file of clusters.
///
/// # Errors
/// Problems of the file, each with its position.
pub fn read(path: &Path) -> Result<ClustersDef, Problems> {
    let text = document::read_text(path)?;
    document::read(&path.display().to_string(), &text).map(|(def, _)| def)
}

/// Text of the file. Comments of the previous file are lost.
///
/// # Errors
/// If it cannot be written as YAML.
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
