//! Outbound policies: where traffic to an address goes.

use std::net::SocketAddr;

use linkerd2_proxy_api::destination::WeightedAddr;
use linkerd2_proxy_api::outbound::backend::balance_p2c::{Load, PeakEwma};
use linkerd2_proxy_api::outbound::backend::endpoint_discovery::{self, DestinationGet};
use linkerd2_proxy_api::outbound::backend::{self, BalanceP2c, EndpointDiscovery};
use linkerd2_proxy_api::outbound::outbound_policies_server::OutboundPolicies;
use linkerd2_proxy_api::outbound::{
    Backend, HttpRoute, OpaqueRoute, OutboundPolicy, ProxyProtocol, Queue, TrafficSpec, http_route,
    opaque_route, proxy_protocol, traffic_spec,
};
use tonic::{Code, Request, Response, Status};

use crate::config::{Protocol, Service};
use crate::events::quoted;
use crate::inbound::every_path;
use crate::plane::{Plane, default_metadata, seconds, service_metadata};
use crate::watch::Watch;

/// What Linkerd calls the way to a destination that is in no service.
const FALLBACK: &str = "egress-fallback";
/// Requests that wait for a backend, as set by Linkerd's controllers.
const QUEUE: u32 = 100;

#[tonic::async_trait]
impl OutboundPolicies for Plane {
    async fn get(&self, request: Request<TrafficSpec>) -> Result<Response<OutboundPolicy>, Status> {
        let from = request.remote_addr();
        self.policy(request.into_inner(), from).map(Response::new)
    }

    type WatchStream = Watch<OutboundPolicy>;

    async fn watch(
        &self,
        request: Request<TrafficSpec>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        let from = request.remote_addr();
        let policy = self.policy(request.into_inner(), from)?;
        Watch::open(&self.events, "outbound", from, policy)
    }
}

impl Plane {
    fn policy(
        &self,
        asked: TrafficSpec,
        from: Option<SocketAddr>,
    ) -> Result<OutboundPolicy, Status> {
        let target = match asked.target {
            Some(traffic_spec::Target::Addr(addr)) => match SocketAddr::try_from(addr) {
                Ok(addr) => addr.to_string(),
                Err(_) => String::new(),
            },
            Some(traffic_spec::Target::Authority(authority)) => authority,
            None => String::new(),
        };
        if target.is_empty() {
            let message = "no policy without an address or a name of the target";
            let refusal = ("malformed", Code::InvalidArgument);
            return Err(self.events.refuse(refusal, from, message));
        }
        if let Some(service) = self.service(&target) {
            return Ok(to_service(service));
        }
        let Ok(address) = target.parse::<SocketAddr>() else {
            let message = format!(
                "no policy for {}: no service has this name; add it to `services`",
                quoted(&target)
            );
            let refusal = ("unknown-name", Code::NotFound);
            return Err(self.events.refuse(refusal, from, &message));
        };
        self.events.unknown_destination(from, &target);
        Ok(to_address(address))
    }
}

/// Balanced over the endpoints of a service. Other protocols than TCP are detected, as for a port of Kubernetes without
/// `appProtocol`.
fn to_service(service: &Service) -> OutboundPolicy {
    let discovery = endpoint_discovery::Kind::Dst(DestinationGet {
        path: service.authority(),
    });
    let balancer = backend::Kind::Balancer(BalanceP2c {
        discovery: Some(EndpointDiscovery {
            kind: Some(discovery),
        }),
        load: Some(Load::PeakEwma(PeakEwma {
            default_rtt: Some(prost_types::Duration {
                seconds: 0,
                nanos: 30_000_000,
            }),
            decay: seconds(10),
        })),
    });
    let backend = Backend {
        metadata: service_metadata(service),
        queue: queue(),
        kind: Some(balancer),
    };
    let opaque = opaque("opaq", &backend);
    let kind = match service.protocol {
        Protocol::Tcp => proxy_protocol::Kind::Opaque(opaque),
        Protocol::Http1 | Protocol::Http2 | Protocol::Grpc => detect(opaque, "http", &backend),
    };
    OutboundPolicy {
        metadata: service_metadata(service),
        protocol: Some(ProxyProtocol { kind: Some(kind) }),
    }
}

/// To the address itself, without mTLS.
fn to_address(address: SocketAddr) -> OutboundPolicy {
    let backend = Backend {
        metadata: default_metadata(FALLBACK),
        queue: queue(),
        kind: Some(backend::Kind::Forward(WeightedAddr {
            addr: Some(address.into()),
            weight: 1,
            ..WeightedAddr::default()
        })),
    };
    let kind = detect(opaque(FALLBACK, &backend), FALLBACK, &backend);
    OutboundPolicy {
        metadata: default_metadata(FALLBACK),
        protocol: Some(ProxyProtocol { kind: Some(kind) }),
    }
}

fn queue() -> Option<Queue> {
    Some(Queue {
        capacity: QUEUE,
        failfast_timeout: seconds(3),
    })
}

fn opaque(name: &str, backend: &Backend) -> proxy_protocol::Opaque {
    use opaque_route::distribution::{FirstAvailable, Kind};
    let backend = opaque_route::RouteBackend {
        backend: Some(backend.clone()),
        filters: vec![],
    };
    let first = Kind::FirstAvailable(FirstAvailable {
        backends: vec![backend],
    });
    let rule = opaque_route::Rule {
        filters: vec![],
        backends: Some(opaque_route::Distribution { kind: Some(first) }),
    };
    let route = OpaqueRoute {
        metadata: default_metadata(name),
        rules: vec![rule],
    };
    proxy_protocol::Opaque {
        routes: vec![route],
    }
}

fn detect(opaque: proxy_protocol::Opaque, name: &str, backend: &Backend) -> proxy_protocol::Kind {
    use http_route::distribution::{FirstAvailable, Kind};
    let backend = http_route::RouteBackend {
        backend: Some(backend.clone()),
        ..http_route::RouteBackend::default()
    };
    let first = Kind::FirstAvailable(FirstAvailable {
        backends: vec![backend],
    });
    let rule = http_route::Rule {
        matches: vec![every_path()],
        backends: Some(http_route::Distribution { kind: Some(first) }),
        ..http_route::Rule::default()
    };
    let routes = vec![HttpRoute {
        metadata: default_metadata(name),
        hosts: vec![],
        rules: vec![rule],
    }];
    proxy_protocol::Kind::Detect(proxy_protocol::Detect {
        timeout: seconds(10),
        opaque: Some(opaque),
        http1: Some(proxy_protocol::Http1 {
            routes: routes.clone(),
            failure_accrual: None,
        }),
        http2: Some(proxy_protocol::Http2 {
            routes,
            failure_accrual: None,
        }),
    })
}
