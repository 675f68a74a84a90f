//! What the control plane knows, by the keys that proxies ask for.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use linkerd2_proxy_api::meta::{Metadata, Resource, metadata};
use serde::Deserialize;
use serving::admin::AdminPage;

use crate::authority::Authority;
use crate::config::{Config, Protocol, Service, Workload};
use crate::events::Events;

/// Configuration, CA and counters.
#[derive(Debug)]
pub struct Plane {
    pub config: Config,
    pub authority: Authority,
    pub events: Arc<Events>,
    /// Indices of services.
    by_target: HashMap<SocketAddr, usize>,
    by_authority: HashMap<String, usize>,
    /// Whether the protocol of an endpoint is opaque to proxies.
    opaque: HashMap<SocketAddr, bool>,
}

/// How a proxy names its pod, in JSON.
#[derive(Debug, Deserialize)]
struct PodName {
    ns: String,
    pod: String,
}

impl Plane {
    pub fn new(config: Config, authority: Authority) -> Plane {
        let services = || config.services.iter().enumerate();
        let endpoints = config.services.iter().flat_map(|service| {
            let is_opaque = service.protocol == Protocol::Tcp;
            let all = service.endpoints.iter();
            all.map(move |endpoint| (endpoint.target(), is_opaque))
        });
        Plane {
            by_target: services().map(|(i, one)| (one.target(), i)).collect(),
            by_authority: services().map(|(i, one)| (one.authority(), i)).collect(),
            opaque: endpoints.collect(),
            events: Arc::default(),
            config,
            authority,
        }
    }

    /// A service by its address or its name, with port.
    pub fn service(&self, path: &str) -> Option<&Service> {
        let target = path.parse::<SocketAddr>().ok();
        let by_target = target.and_then(|target| self.by_target.get(&target));
        let index = by_target.or_else(|| self.by_authority.get(path))?;
        self.config.services.get(*index)
    }

    /// A workload by the text with which its proxy names it.
    pub fn workload(&self, name: &str) -> Option<&Workload> {
        let name: PodName = serde_json::from_str(name).ok()?;
        let mut all = self.config.workloads.iter();
        all.find(|one| one.namespace == name.ns && one.pod == name.pod)
    }

    /// Whether a port serves a protocol that is opaque to proxies; `None` for ports of no service.
    pub fn is_opaque(&self, endpoint: SocketAddr) -> Option<bool> {
        self.opaque.get(&endpoint).copied()
    }

    /// Lifetime of certificates of proxies.
    pub fn lifetime(&self) -> Duration {
        Duration::from_secs(self.config.certificate_lifetime_s)
    }
}

impl AdminPage for Plane {
    fn metrics(&self) -> String {
        self.events.page()
    }

    async fn ready(&self) -> Result<(), String> {
        Ok(())
    }
}

/// Metadata of something that Linkerd adds by itself.
pub fn default_metadata(name: &str) -> Option<Metadata> {
    Some(Metadata {
        kind: Some(metadata::Kind::Default(name.to_owned())),
    })
}

/// Metadata of a service.
pub fn service_metadata(service: &Service) -> Option<Metadata> {
    let resource = Resource {
        group: "core".to_owned(),
        kind: "Service".to_owned(),
        name: service.name.clone(),
        namespace: service.namespace.clone(),
        section: String::new(),
        port: service.port.into(),
    };
    Some(Metadata {
        kind: Some(metadata::Kind::Resource(resource)),
    })
}

/// A duration in seconds.
pub fn seconds(seconds: i64) -> Option<prost_types::Duration> {
    Some(prost_types::Duration { seconds, nanos: 0 })
}
