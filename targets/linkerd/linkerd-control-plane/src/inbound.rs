//! Inbound policies: the protocol of a port and who may call it.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use linkerd2_proxy_api::http_route::{HttpRouteMatch, PathMatch, path_match};
use linkerd2_proxy_api::inbound::authn::{
    Permit, PermitMeshTls, PermitUnauthenticated, permit_mesh_tls,
};
use linkerd2_proxy_api::inbound::inbound_server_policies_server::InboundServerPolicies;
use linkerd2_proxy_api::inbound::{
    Authn, Authz, HttpRoute, IdentitySuffix, Network, PortSpec, ProxyProtocol, Server, http_route,
    proxy_protocol,
};
use linkerd2_proxy_api::net::IpNetwork;
use tonic::{Code, Request, Response, Status};

use crate::config::Policy;
use crate::events::quoted;
use crate::plane::{Plane, default_metadata, seconds};
use crate::watch::Watch;

#[tonic::async_trait]
impl InboundServerPolicies for Plane {
    async fn get_port(&self, request: Request<PortSpec>) -> Result<Response<Server>, Status> {
        let from = request.remote_addr();
        self.server(&request.into_inner(), from).map(Response::new)
    }

    type WatchPortStream = Watch<Server>;

    async fn watch_port(
        &self,
        request: Request<PortSpec>,
    ) -> Result<Response<Self::WatchPortStream>, Status> {
        let from = request.remote_addr();
        let server = self.server(&request.into_inner(), from)?;
        Watch::open(&self.events, "inbound", from, server)
    }
}

impl Plane {
    fn server(&self, asked: &PortSpec, from: Option<SocketAddr>) -> Result<Server, Status> {
        let name = quoted(&asked.workload);
        let Some(workload) = self.workload(&asked.workload) else {
            let message = format!(
                "no policy for {name}: no such workload; add it to `workloads`, or correct LINKERD2_PROXY_POLICY_WORKLOAD of the proxy"
            );
            let refusal = ("unknown-workload", Code::NotFound);
            return Err(self.events.refuse(refusal, from, &message));
        };
        let Ok(port) = u16::try_from(asked.port) else {
            let message = format!("no policy for {name}: {} is no port", asked.port);
            let refusal = ("malformed", Code::InvalidArgument);
            return Err(self.events.refuse(refusal, from, &message));
        };
        let opaque = self.is_opaque(SocketAddr::from((workload.address, port)));
        // Other ports than those of services are for operators, who are not in the mesh.
        let policy = opaque.map_or(Policy::AllUnauthenticated, |_| self.config.policy);
        let kind = if opaque == Some(true) {
            proxy_protocol::Kind::Opaque(proxy_protocol::Opaque::default())
        } else {
            proxy_protocol::Kind::Detect(proxy_protocol::Detect {
                timeout: seconds(10),
                http_routes: vec![every_request()],
                http_local_rate_limit: None,
            })
        };
        let (policy, permit) = match policy {
            Policy::AllUnauthenticated => (
                "all-unauthenticated",
                Permit::Unauthenticated(PermitUnauthenticated::default()),
            ),
            Policy::AllAuthenticated => ("all-authenticated", every_identity()),
        };
        let labels = [("group", ""), ("kind", "default"), ("name", policy)];
        let labels: HashMap<String, String> = labels
            .map(|(label, value)| (label.to_owned(), value.to_owned()))
            .into();
        let everywhere = [
            IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        ];
        let everywhere = everywhere.map(|ip| Network {
            net: Some(IpNetwork {
                ip: Some(ip.into()),
                prefix_len: 0,
            }),
            except: vec![],
        });
        Ok(Server {
            protocol: Some(ProxyProtocol { kind: Some(kind) }),
            server_ips: vec![],
            authorizations: vec![Authz {
                networks: everywhere.into(),
                authentication: Some(Authn {
                    permit: Some(permit),
                }),
                labels: labels.clone(),
                metadata: default_metadata(policy),
            }],
            labels,
        })
    }
}

/// Any identity of the mesh: a suffix without parts is the end of each.
fn every_identity() -> Permit {
    let clients = permit_mesh_tls::PermitClientIdentities {
        identities: vec![],
        suffixes: vec![IdentitySuffix { parts: vec![] }],
    };
    Permit::MeshTls(PermitMeshTls {
        clients: Some(permit_mesh_tls::Clients::Identities(clients)),
    })
}

fn every_request() -> HttpRoute {
    HttpRoute {
        metadata: default_metadata("default"),
        hosts: vec![],
        authorizations: vec![],
        rules: vec![http_route::Rule {
            matches: vec![every_path()],
            filters: vec![],
        }],
    }
}

/// A match of every path.
pub fn every_path() -> HttpRouteMatch {
    let path = PathMatch {
        kind: Some(path_match::Kind::Prefix("/".to_owned())),
    };
    HttpRouteMatch {
        path: Some(path),
        ..HttpRouteMatch::default()
    }
}
