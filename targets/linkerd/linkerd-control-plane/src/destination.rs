//! Destination: endpoints and profiles of services.

use std::collections::HashMap;

use linkerd2_proxy_api::destination::destination_server::Destination;
use linkerd2_proxy_api::destination::tls_identity::{DnsLikeIdentity, Strategy};
use linkerd2_proxy_api::destination::{
    DestinationProfile, GetDestination, NoEndpoints, ProtocolHint, RetryBudget, TlsIdentity,
    Update, WeightedAddr, WeightedAddrSet, protocol_hint, update,
};
use tonic::{Request, Response, Status};

use crate::config::{Endpoint, Protocol, Service};
use crate::plane::{Plane, seconds, service_metadata};
use crate::watch::Watch;

/// Weight of an endpoint; all have the same.
const WEIGHT: u32 = 10_000;

#[tonic::async_trait]
impl Destination for Plane {
    type GetStream = Watch<Update>;

    async fn get(
        &self,
        request: Request<GetDestination>,
    ) -> Result<Response<Self::GetStream>, Status> {
        let from = request.remote_addr();
        let path = request.into_inner().path;
        let service = self.service(&path);
        if service.is_none() {
            self.events.unknown_destination(from, &path);
        }
        let update = match service {
            Some(service) => update::Update::Add(self.endpoints(service)),
            None => update::Update::NoEndpoints(NoEndpoints { exists: false }),
        };
        let update = Update {
            update: Some(update),
        };
        Watch::open(&self.events, "endpoints", from, update)
    }

    type GetProfileStream = Watch<DestinationProfile>;

    async fn get_profile(
        &self,
        request: Request<GetDestination>,
    ) -> Result<Response<Self::GetProfileStream>, Status> {
        let from = request.remote_addr();
        let path = request.into_inner().path;
        let mut profile = DestinationProfile {
            retry_budget: Some(RetryBudget {
                retry_ratio: 0.2,
                min_retries_per_second: 10,
                ttl: seconds(10),
            }),
            ..DestinationProfile::default()
        };
        // Proxies ask for a profile and a policy at once; the policy's answer logs that a destination is unknown.
        if let Some(service) = self.service(&path) {
            profile.fully_qualified_name = service.host();
            profile.opaque_protocol = service.protocol == Protocol::Tcp;
            profile.parent_ref = service_metadata(service);
        }
        Watch::open(&self.events, "profile", from, profile)
    }
}

impl Plane {
    fn endpoints(&self, service: &Service) -> WeightedAddrSet {
        let all = service.endpoints.iter();
        WeightedAddrSet {
            addrs: all.map(|one| self.endpoint(service, one)).collect(),
            metric_labels: HashMap::from([
                ("service".to_owned(), service.name.clone()),
                ("namespace".to_owned(), service.namespace.clone()),
            ]),
        }
    }

    fn endpoint(&self, service: &Service, endpoint: &Endpoint) -> WeightedAddr {
        let identity = endpoint.identity.as_ref();
        let is_opaque = service.protocol == Protocol::Tcp;
        let tls = identity.filter(|_| self.config.mtls).map(|name| {
            let name = DnsLikeIdentity { name: name.clone() };
            TlsIdentity {
                server_name: Some(name.clone()),
                strategy: Some(Strategy::DnsLikeIdentity(name)),
            }
        });
        // The port of opaque traffic is named in a header within TLS.
        let transport = tls.as_ref().map(|_| protocol_hint::OpaqueTransport {
            inbound_port: self.config.inbound_port.into(),
        });
        let hint = match identity {
            Some(_) if is_opaque => Some(ProtocolHint {
                protocol: Some(protocol_hint::Protocol::Opaque(
                    protocol_hint::Opaque::default(),
                )),
                opaque_transport: transport,
            }),
            Some(_) if self.config.http2_between => Some(ProtocolHint {
                protocol: Some(protocol_hint::Protocol::H2(protocol_hint::H2::default())),
                opaque_transport: None,
            }),
            _ => None,
        };
        let mut workloads = self.config.workloads.iter();
        let workload = workloads.find(|one| one.address == endpoint.address);
        let labels = workload.map(|one| {
            HashMap::from([
                ("pod".to_owned(), one.pod.clone()),
                ("namespace".to_owned(), one.namespace.clone()),
            ])
        });
        WeightedAddr {
            addr: Some(endpoint.target().into()),
            weight: WEIGHT,
            metric_labels: labels.unwrap_or_default(),
            tls_identity: tls,
            protocol_hint: hint,
            ..WeightedAddr::default()
        }
    }
}
