//! What runs already and is not started by Tare: where it is, how it is talked to, what it counts, and what is not proved of it.

use std::net::IpAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::load::{LoginSpec, TlsSpec};
use crate::metrics_source::MetricsSourceDef;
use crate::plan::Plan;
use crate::problem::list;
use crate::target::CounterDef;
use crate::topology::{Security, Topology};

/// Target name of parts that run already.
pub const EXTERNAL: &str = "external";

/// Counters that an external part may have besides those of targets: what it consumes.
pub const USAGE: &[(&str, &str)] = &[
    (CPU_SECONDS, "CPU time of all its processes, in seconds"),
    (
        MEMORY_BYTES,
        "resident memory of all its processes (a gauge)",
    ),
];
/// CPU time.
pub const CPU_SECONDS: &str = "cpu-seconds";
/// Resident memory.
pub const MEMORY_BYTES: &str = "memory-bytes";

/// One address of a part that runs already. Nothing is started, stopped or configured there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct External {
    /// Its name in routes: `server`, or `broker-2` where the part has several addresses.
    pub name: String,
    /// The part.
    pub part: String,
    /// Protocol of the edges that lead to it.
    pub protocol: String,
    /// `HOST:PORT`, as it was written. A name is resolved once, when a run begins.
    pub at: String,
    /// Name to send as host.
    pub host: String,
    /// TLS that it speaks itself, from end to end; none: plaintext.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsSpec>,
    /// Who callers are, where it asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub login: Option<LoginSpec>,
    /// What it counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counters: Vec<CounterDef>,
    /// Where its metrics are read besides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metrics: Option<ExternalMetrics>,
}

/// Where the metrics of one instance are read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExternalMetrics {
    /// Target whose counters they are.
    pub target: String,
    /// The address, one, and the user.
    pub source: MetricsSourceDef,
}

impl External {
    /// What edges to it carry themselves.
    #[must_use]
    pub fn own(&self) -> Security {
        match &self.tls {
            None => Security::Plaintext,
            Some(tls) if tls.identity.is_none() => Security::Tls,
            Some(_) => Security::Mtls,
        }
    }

    /// It in words: `127.0.0.1:8080, over TLS`.
    #[must_use]
    pub fn in_words(&self) -> String {
        let over = self.own().word();
        let login = self.login.as_ref().map(|login| {
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

    /// Whether it counts something by this name.
    #[must_use]
    pub fn counts(&self, name: &str) -> bool {
        self.counters.iter().any(|counter| counter.name == name)
    }
}

/// What cannot be proved of an edge, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NotProved {
    /// Edge.
    pub edge: String,
    /// Part whose side of the edge is not proved.
    pub part: String,
    /// Why, in words that begin with the kind of reason: `external: …`.
    pub why: String,
}

impl NotProved {
    /// It in words: `client->server at server: external: …`.
    #[must_use]
    pub fn in_words(&self) -> String {
        format!("{} at {}: {}", self.edge, self.part, self.why)
    }
}

impl Topology {
    /// What runs already under this name in routes.
    #[must_use]
    pub fn external(&self, name: &str) -> Option<&External> {
        self.external.iter().find(|one| one.name == name)
    }

    /// What cannot be proved of its routes, each once.
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
                why: format!(
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
    /// Everything that runs already, each once.
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

    /// What cannot be proved, each with the arms that are run and that it is true of.
    #[must_use]
    pub fn not_proved(&self) -> Vec<(NotProved, Vec<&str>)> {
        let mut all: Vec<(NotProved, Vec<&str>)> = Vec::new();
        for arm in self.arms.iter().filter(|arm| arm.needs.is_none()) {
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

/// Host (an IPv6 address without its brackets) and port of `HOST:PORT`; `None`: it is none.
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
