//! The configuration: a fixed topology, read once from a JSON file and checked.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use tare_record::regular::read_regular_text;

use crate::error::StartError;

/// Limit for the file; one of a thousand services has a tenth of this.
const BYTES_MAX: u64 = 4 << 20;
/// Certificates of less than this cannot be renewed in time: proxies wait 10 s between two of them.
const LIFETIME_S_MIN: u64 = 15;
const LIFETIME_S_MAX: u64 = 366 * 86_400;

/// What the file holds.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Where proxies connect to.
    pub listen: SocketAddr,
    /// Where `/ready` and `/metrics` are.
    pub admin: SocketAddr,
    /// Own identity, which proxies know as the name of the control plane.
    pub name: String,
    pub ca: CaFiles,
    /// End of all identities.
    pub trust_domain: String,
    #[serde(default = "day")]
    pub certificate_lifetime_s: u64,
    /// Whether proxies authenticate each other.
    pub mtls: bool,
    /// Whether HTTP/1.1 is carried in HTTP/2 between proxies.
    pub http2_between: bool,
    pub policy: Policy,
    /// Port on which proxies accept inbound traffic.
    #[serde(default = "inbound_port")]
    pub inbound_port: u16,
    pub workloads: Vec<Workload>,
    pub services: Vec<Service>,
}

fn day() -> u64 {
    86_400
}

fn inbound_port() -> u16 {
    4143
}

/// The CA: PEM files.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaFiles {
    /// Certificate that issues: an intermediate one, or the root itself.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
    /// The trust anchor of all proxies.
    pub root: PathBuf,
}

/// Which callers a service accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    AllUnauthenticated,
    AllAuthenticated,
}

/// A pod with a proxy.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    pub pod: String,
    pub namespace: String,
    pub address: IpAddr,
    pub identity: String,
    /// What its proxy proves its identity with.
    pub token: String,
}

/// A destination with its endpoints.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Service {
    pub name: String,
    pub namespace: String,
    /// Address that callers connect to.
    pub address: IpAddr,
    pub port: u16,
    pub protocol: Protocol,
    pub endpoints: Vec<Endpoint>,
}

/// The protocol of a service. Only TCP is declared to proxies; they detect the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    Http1,
    Http2,
    Grpc,
    Tcp,
}

/// An instance of a service.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Endpoint {
    pub address: IpAddr,
    pub port: u16,
    /// Identity of its proxy; none without proxy.
    pub identity: Option<String>,
}

impl Service {
    /// Address that callers connect to.
    pub fn target(&self) -> SocketAddr {
        SocketAddr::from((self.address, self.port))
    }

    /// Its name in the cluster's DNS.
    pub fn host(&self) -> String {
        format!("{}.{}.svc.cluster.local", self.name, self.namespace)
    }

    /// The name under which proxies ask for its endpoints.
    pub fn authority(&self) -> String {
        format!("{}:{}", self.host(), self.port)
    }
}

impl Endpoint {
    /// Its address.
    pub fn target(&self) -> SocketAddr {
        SocketAddr::from((self.address, self.port))
    }
}

impl Config {
    /// Reads and checks a configuration.
    pub fn read(file: &Path) -> Result<Config, StartError> {
        let text = read_regular_text(file, BYTES_MAX).map_err(StartError::file("read", file))?;
        let config: Config = serde_json::from_str(&text).map_err(|error| {
            let next = "README.md beside the program's source describes this file";
            StartError::content(file, format!("{error}; {next}"))
        })?;
        match config.problem() {
            None => Ok(config),
            Some(problem) => Err(StartError::content(file, problem)),
        }
    }

    /// The first wrong value.
    fn problem(&self) -> Option<String> {
        if !(LIFETIME_S_MIN..=LIFETIME_S_MAX).contains(&self.certificate_lifetime_s) {
            return Some(format!(
                "certificate_lifetime_s: {} is out of range; write {LIFETIME_S_MIN} to {LIFETIME_S_MAX}",
                self.certificate_lifetime_s
            ));
        }
        self.name_problem("name", &self.name)
            .or_else(|| self.workload_problem())
            .or_else(|| self.service_problem())
            .or_else(|| self.endpoint_problem())
    }

    fn name_problem(&self, place: &str, name: &str) -> Option<String> {
        let end = format!(".identity.linkerd.{}", self.trust_domain);
        let is_name = rustls::pki_types::DnsName::try_from(name).is_ok();
        (!is_name || !name.ends_with(&end)).then(|| {
            format!("{place}: {name:?} is no identity; write a DNS name that ends with {end:?}")
        })
    }

    fn workload_problem(&self) -> Option<String> {
        let mut seen = HashMap::new();
        for (index, workload) in self.workloads.iter().enumerate() {
            let place = format!("workloads[{index}]");
            let name = self.name_problem(&format!("{place}.identity"), &workload.identity);
            if name.is_some() {
                return name;
            }
            if workload.token.is_empty() {
                return Some(format!(
                    "{place}.token: is empty; write the token of its proxy"
                ));
            }
            if let Some(first) = seen.insert((&workload.namespace, &workload.pod), index) {
                return Some(format!(
                    "{place}: is the same pod as workloads[{first}]; remove one of them"
                ));
            }
        }
        None
    }

    fn service_problem(&self) -> Option<String> {
        let mut targets = HashMap::new();
        let mut names = HashMap::new();
        for (index, service) in self.services.iter().enumerate() {
            let at = targets.insert(service.target(), index);
            if let Some(first) = at.or_else(|| names.insert(service.authority(), index)) {
                return Some(format!(
                    "services[{index}]: has the address or the name and port of services[{first}]; choose others"
                ));
            }
        }
        None
    }

    fn endpoint_problem(&self) -> Option<String> {
        let mut protocols = HashMap::new();
        for (index, service) in self.services.iter().enumerate() {
            for (number, endpoint) in service.endpoints.iter().enumerate() {
                let place = format!("services[{index}].endpoints[{number}]");
                let is_tcp = service.protocol == Protocol::Tcp;
                if protocols.insert(endpoint.target(), is_tcp) == Some(!is_tcp) {
                    return Some(format!(
                        "{place}: {} is also an endpoint with another protocol; choose one protocol",
                        endpoint.target()
                    ));
                }
                // With the identity of somebody else proxies report a failed service, and no error of TLS.
                let is_known = |name: &String| {
                    self.workloads
                        .iter()
                        .any(|one| one.address == endpoint.address && one.identity == *name)
                };
                if !endpoint.identity.as_ref().is_none_or(is_known) {
                    return Some(format!(
                        "{place}.identity: no workload at {} has it; add the workload, or write null for an endpoint without proxy",
                        endpoint.address
                    ));
                }
            }
        }
        None
    }
}
