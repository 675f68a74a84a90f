//! Where to read metrics (JMX) of instances that Tare did not start, and passwords.

use std::path::Path;

use crate::schemas::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::files::password_in;

/// Source of metrics: exactly one of `jolokia`, `prometheus` and `jmx`, with an address per instance. Passwords are never in the
/// file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MetricsSourceDef {
    /// Jolokia: `http://HOST:PORT/PATH`, or `HOST:PORT` for the path `/jolokia/`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub jolokia: Vec<String>,
    /// JMX exporters for Prometheus: `http://HOST:PORT/PATH`, or `HOST:PORT` for the path `/metrics`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prometheus: Vec<String>,
    /// JMX remoting without TLS: `HOST:PORT`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub jmx: Vec<String>,
    /// User name. Default: no authentication.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Environment variable that holds the password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password_env: Option<String>,
    /// File whose first line is the password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password_file: Option<String>,
}

/// Interface by which metrics are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricsWay {
    /// Jolokia over HTTP.
    Jolokia,
    /// Page of a JMX exporter for Prometheus.
    Prometheus,
    /// JMX remoting (RMI).
    Jmx,
}

impl MetricsWay {
    /// Its key in files.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            MetricsWay::Jolokia => "jolokia",
            MetricsWay::Prometheus => "prometheus",
            MetricsWay::Jmx => "jmx",
        }
    }
}

impl MetricsSourceDef {
    /// The interface, with its addresses.
    ///
    /// # Errors
    /// If there is none, or more than one.
    pub fn way(&self) -> Result<(MetricsWay, &[String]), String> {
        let all = [
            (MetricsWay::Jolokia, &self.jolokia),
            (MetricsWay::Prometheus, &self.prometheus),
            (MetricsWay::Jmx, &self.jmx),
        ];
        let mut named = all.into_iter().filter(|(_, list)| !list.is_empty());
        match (named.next(), named.next()) {
            (Some((way, list)), None) => Ok((way, list)),
            _ => Err(String::from(
                "metrics are read in one way: give the addresses of exactly one of jolokia, prometheus and jmx",
            )),
        }
    }

    /// The source of a single instance, by index.
    #[must_use]
    pub fn of_instance(&self, index: usize) -> MetricsSourceDef {
        let one = |all: &[String]| all.get(index).cloned().into_iter().collect();
        MetricsSourceDef {
            jolokia: one(&self.jolokia),
            prometheus: one(&self.prometheus),
            jmx: one(&self.jmx),
            ..self.clone()
        }
    }
}

/// The password of a user, from an environment variable or a file.
///
/// # Errors
/// If neither is given, or it holds none; with the next step.
pub fn password(user: &str, env: Option<&str>, file: Option<&str>) -> Result<String, String> {
    match (env, file) {
        (Some(name), _) => std::env::var(name).map_err(|_| {
            format!("the environment variable {name} has no password of {user}: export {name}=…")
        }),
        (None, Some(path)) => password_in(Path::new(path)),
        (None, None) => Err(format!(
            "no password for {user}: name an environment variable (password-env) or a file (password-file) that has it"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_way_is_named_and_no_other() {
        let list = vec!["127.0.0.1:9999".to_owned()];
        let mut def = MetricsSourceDef::default();
        assert!(def.way().unwrap_err().contains("exactly one"));
        def.jmx.clone_from(&list);
        assert_eq!(def.way(), Ok((MetricsWay::Jmx, list.as_slice())));
        def.prometheus.clone_from(&list);
        assert!(def.way().unwrap_err().contains("exactly one"));
    }

    #[test]
    fn a_password_is_the_line_of_a_file_and_asked_for_where_none_is_named() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("password").display().to_string();
        std::fs::write(&file, "secret \r\n").unwrap();
        assert_eq!(password("ann", None, Some(&file)), Ok("secret ".to_owned()));
        let said = password("ann", None, None).unwrap_err();
        assert!(
            said.contains("ann") && said.contains("password-env"),
            "{said}"
        );
        let said = password("ann", Some("TARE_TEST_NOT_SET"), None).unwrap_err();
        assert!(said.contains("export TARE_TEST_NOT_SET="), "{said}");
    }
}
