//! External parts: services that run already and are not started by Tare. Addresses, protocol, counters, and limits of the path
//! proof.

use std::net::IpAddr;

use crate::schemas::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::counter::CounterDef;
use crate::load::{LoginSpec, TlsSpec};
use crate::metrics_source::MetricsSourceDef;
use crate::plan::Plan;
use crate::text::list;
use crate::topology::{Security, Topology};

/// Target name of external parts.
pub const EXTERNAL: &str = "external";

/// Counters of external parts besides those of targets: resource usage.
pub const USAGE: &[(&str, &str)] = &[
    (CPU_SECONDS, "CPU time of all its processes, in seconds"),
    (
        MEMORY_BYTES,
        "resident memory of all its processes (a gauge)",
    ),
];
/// Counter of CPU time, in seconds.
pub const CPU_SECONDS: &str = "cpu-seconds";
/// Gauge of resident memory, in bytes.
pub const MEMORY_BYTES: &str = "memory-bytes";

/// An instance of an external part. Nothing is started, stopped or configured there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct External {
    /// Name in routes: `server`, or `broker-2` where the part has several addresses.
    pub name: String,
    /// Name of the part.
    pub part: String,
    /// Protocol of the edges to it.
    pub protocol: String,
    /// Address, `HOST:PORT`, as written. Host names are resolved once, at the start of a run.
    pub at: String,
    /// Host name to send.
    pub host: String,
    /// End-to-end TLS; `None`: plaintext.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsSpec>,
    /// SASL login; `None`: no authentication.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sasl: Option<LoginSpec>,
    /// Counters of the instance.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counters: Vec<CounterDef>,
    /// Further metrics of the instance, read by JMX.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metrics: Option<ExternalMetrics>,
}

/// Where to read the metrics of one external instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExternalMetrics {
    /// Target that names the metrics.
    pub target: String,
    /// Address and user.
    pub source: MetricsSourceDef,
}

impl External {
    /// End-to-end security of the edges to it.
    #[must_use]
    pub fn own(&self) -> Security {
        match &self.tls {
            None => Security::Plaintext,
            Some(tls) if tls.identity.is_none() => Security::Tls,
            Some(_) => Security::Mtls,
        }
    }

    /// Description: `127.0.0.1:8080, over TLS`.
    #[must_use]
    pub fn in_words(&self) -> String {
        let over = self.own().word();
        let login = self.sasl.as_ref().map(|login| {
            let (mechanism, user) = (&login.mechanism, &login.user);
            format!(", {mechanism} as {user}")
        });
        let metrics = self.metrics.as_ref().and_then(|metrics| {
            let (way, at) = metrics.source.way().ok()?;
            Some(format!(", metrics by {} at {}", way.word(), list(at)))
        });
        let (login, metrics) = (login.unwrap_or_default(), metrics.unwrap_or_default());
        format!("{}, over {over}{login}{metrics}", self.at)
    }

    /// Whether it has a counter of this name.
    #[must_use]
    pub fn counts(&self, name: &str) -> bool {
        self.counters.iter().any(|counter| counter.name == name)
    }
}

/// An edge that the path proof cannot check, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NotProved {
    /// Edge.
    pub edge: String,
    /// Part at whose side it cannot be checked.
    pub part: String,
    /// Reason, beginning with its kind: `external: …`.
    pub reason: String,
}

impl NotProved {
    /// As text: `client->server at server: external: …`.
    #[must_use]
    pub fn in_words(&self) -> String {
        format!("{} at {}: {}", self.edge, self.part, self.reason)
    }
}

impl Topology {
    /// The external instance of this name.
    #[must_use]
    pub fn external(&self, name: &str) -> Option<&External> {
        self.external.iter().find(|one| one.name == name)
    }

    /// What the path proof cannot check of the routes, without duplicates.
    #[must_use]
    pub fn not_proved(&self) -> Vec<NotProved> {
        let mut all: Vec<NotProved> = Vec::new();
        for route in &self.routes {
            let Some(called) = self.external(&route.to) else {
                continue;
            };
            let of_part = self.external.iter().filter(|one| one.part == called.part);
            let at: Vec<&str> = of_part.map(|one| one.at.as_str()).collect();
            let counts = called.counts("requests") || called.counts("connections");
            let known = match counts {
                true => {
                    "its counters are those that the experiment names, and count other callers, too"
                }
                false => "no counter there says what arrived",
            };
            let one = NotProved {
                edge: route.edge.clone(),
                part: called.part.clone(),
                reason: format!(
                    "external: Tare did not start what answers at {}, and {known}",
                    list(&at)
                ),
            };
            if !all.contains(&one) {
                all.push(one);
            }
        }
        all
    }
}

impl Plan {
    /// All external instances, without duplicates.
    #[must_use]
    pub fn external(&self) -> Vec<&External> {
        let mut all: Vec<&External> = Vec::new();
        for one in self.arms.iter().flat_map(|arm| &arm.topology.external) {
            if !all.iter().any(|known| known.name == one.name) {
                all.push(one);
            }
        }
        all
    }

    /// What the path proof cannot check, each with the arms it applies to.
    #[must_use]
    pub fn not_proved(&self) -> Vec<(NotProved, Vec<&str>)> {
        let mut all: Vec<(NotProved, Vec<&str>)> = Vec::new();
        for arm in self.arms.iter().filter(|arm| arm.requires.is_none()) {
            for one in arm.topology.not_proved() {
                match all.iter_mut().find(|(known, _)| *known == one) {
                    Some((_, arms)) => arms.push(&arm.name),
                    None => all.push((one, vec![&arm.name])),
                }
            }
        }
        all
    }
}

/// Splits `HOST:PORT` into host (IPv6 without brackets) and port; `None`: invalid.
#[must_use]
pub fn split(at: &str) -> Option<(&str, u16)> {
    const HOST_BYTES_MAX: usize = 253;
    let (host, port) = at.rsplit_once(':')?;
    let port = port.parse().ok().filter(|port| *port > 0)?;
    let bare = match host.strip_prefix('[') {
        Some(rest) => {
            let inside = rest.strip_suffix(']')?;
            inside.parse::<IpAddr>().ok()?;
            inside
        }
        None => host,
    };
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let is_name = !bare.is_empty() && bare.len() <= HOST_BYTES_MAX && bare.chars().all(fits);
    (is_name || host.len() > bare.len()).then_some((bare, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_host_and_a_port() {
        for (at, host, port) in [
            ("127.0.0.1:8080", "127.0.0.1", 8080),
            ("[::1]:80", "::1", 80),
            ("db.example:5432", "db.example", 5432),
            ("my_service:1", "my_service", 1),
        ] {
            assert_eq!(split(at), Some((host, port)), "{at}");
        }
        for wrong in [
            "",
            ":80",
            "host",
            "host:",
            "host:0",
            "host:70000",
            "::1:80",
            "[::1]",
            "[x]:80",
            "[]:80",
            "http://host:80",
            "user@host:80",
            "a b:80",
            "a\n:80",
            "host:80/path",
        ] {
            assert_eq!(split(wrong), None, "{wrong:?}");
        }
    }
}
