//! Process configuration: commands, environment, and the TLS settings of an agent.

use std::path::Path;

use tare_schema::load::{self, LoadPlan, Resumption, TlsSpec, TlsVersion, Transport, Trust};
use tare_schema::topology::Security;

use super::external;
use super::test_bed::PlacedTestBed;
use crate::render::Rendered;

/// The load plan with the TLS settings of the agent's own edges: the certificate files are known only here.
pub(super) fn with_own_security(
    placed: &PlacedTestBed,
    instance: &str,
    plan: &LoadPlan,
) -> LoadPlan {
    let mut plan = plan.clone();
    if external::configure_agent(placed, instance, &mut plan) {
        return plan;
    }
    let mut routes = placed.plan.topology.routes.iter();
    let own = routes
        .find(|route| route.from == instance)
        .map(|r| r.edge_security);
    let identity = placed.agents.get(instance);
    if let (Some(own @ (Security::Tls | Security::Mtls)), Some(identity)) = (own, identity) {
        plan.load.transport = Transport::Tls(TlsSpec {
            trust: Trust::File {
                path: identity.authority.display().to_string(),
            },
            identity: (own == Security::Mtls).then(|| load::Identity {
                certificate: identity.certificate.display().to_string(),
                key: identity.key.display().to_string(),
            }),
            server_name: None,
            alpn: None,
            oldest: TlsVersion::V1_3,
            newest: TlsVersion::V1_3,
            resumption: Resumption::Off,
        });
    }
    plan
}

/// A command with its environment and folder, as arguments of `env`.
pub(super) fn by_hand(rendered: &Rendered) -> Vec<String> {
    let mut words = vec![
        String::from("env"),
        format!("--chdir={}", rendered.dir.display()),
    ];
    words.extend(
        rendered
            .env
            .iter()
            .map(|(name, value)| format!("{name}={value}")),
    );
    words.extend(rendered.start.clone());
    words
}

/// Base environment of every process: enough to run, nothing that could change a result.
pub(super) fn base_environment(dir: &Path) -> Vec<(String, String)> {
    let path = std::env::var("PATH").unwrap_or_default();
    let sbin = "/usr/local/sbin:/usr/sbin:/sbin";
    vec![
        (String::from("PATH"), format!("{path}:{sbin}")),
        (String::from("HOME"), dir.display().to_string()),
        (String::from("LANG"), String::from("C.UTF-8")),
    ]
}
