//! Context of the templates: one instance with its addresses and the edges that pass through it.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr, SocketAddrV4};
use std::path::PathBuf;

use serde::Serialize;
use tare_net::redirect::TrafficDirection;
use tare_record::topology::{InstanceRole, Security, Settings};

use super::Login;

/// An instance with its addresses. The environment fills it in; templates read it.
///
/// Templates also see three shortcuts: `listen` (`address:port` of the first route that listens
/// here), `listen_addresses` (each listening address once) and, in each route, `id`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Context {
    /// Name of the instance.
    pub name: String,
    pub role: InstanceRole,
    /// Pod it runs in.
    pub pod: String,
    /// Its program.
    pub bin: PathBuf,
    /// Its further programs by name.
    pub programs: BTreeMap<String, PathBuf>,
    /// Folder of the instance for rendered files, logs and sockets; exists.
    pub dir: PathBuf,
    /// File for its output (both streams).
    pub log: PathBuf,
    /// Address of the pod.
    pub address: IpAddr,
    /// Address of its admin page; no other instance has it.
    pub admin: SocketAddr,
    /// A Unix socket for the same: software whose admin page can change things serves it there, where only this user
    /// can connect. Short enough for a socket's path; not created.
    pub admin_socket: PathBuf,
    /// Credentials of its admin page, for software that requires some.
    pub login: Login,
    /// Additional ports, by the names that its target gives them.
    pub ports: BTreeMap<String, u16>,
    /// A folder in memory, for data that must not reach a disk; removed with the test bed. `None`: not available.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<PathBuf>,
    /// How a sidecar with redirected traffic marks its own; `None`: its group identifies it.
    pub exempt: Option<Exempt>,
    /// What the rules that redirect its traffic must leave out; only for a target that sets them itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redirect: Option<RedirectExclusions>,
    /// The mesh that it belongs to, as a proxy or as a part of the control plane.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mesh: Option<MeshContext>,
    /// The CA of a control plane.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca: Option<CaFiles>,
    /// Cores it may use; empty: all.
    pub cpus: Vec<u32>,
    /// All its settings, including defaults.
    pub settings: Settings,
    pub workload: Settings,
    /// Its certificate, when one of its hops or edges needs it.
    pub identity: Option<Identity>,
    /// Edges that start, pass or end here.
    pub routes: Vec<RouteContext>,
    /// Instances of the same target in the same part or hop, including itself, in the same order for all.
    pub peers: Vec<Peer>,
}

/// Files of a CA that issues certificates to the proxies of a mesh (PEM).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CaFiles {
    /// Folder of the files: `ca-cert.pem`, `ca-key.pem`, `cert-chain.pem`, `root-cert.pem`.
    pub folder: PathBuf,
    /// Its certificate.
    pub certificate: PathBuf,
    pub key: PathBuf,
    /// Its certificate and the root's.
    pub chain: PathBuf,
    /// The root certificate, which proxies trust.
    pub root: PathBuf,
}

/// What a sidecar's own redirect rules must leave out; ports and ranges are separated by commas.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RedirectExclusions {
    /// Destination ports, of either direction.
    pub ports: String,
    /// Ranges of destination addresses: `10.0.0.0/8`.
    pub ranges: String,
    /// Single destinations, each `address:port`.
    pub servers: Vec<SocketAddrV4>,
    /// Whether traffic to the pod is redirected.
    pub inbound: bool,
    /// Whether traffic of the pod is redirected.
    pub outbound: bool,
}

/// A mesh: its control plane, its proxies, and the services that they call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MeshContext {
    /// `mtls` or `plaintext` between its proxies.
    pub security: Security,
    /// Host name of the control plane in the pods of its proxies.
    pub host: String,
    pub control_plane: Vec<MeshInstance>,
    pub support: Vec<MeshInstance>,
    pub proxies: Vec<MeshProxy>,
    /// Called instances that proxies of the mesh lead to.
    pub services: Vec<MeshService>,
    /// Routes with a gateway of the mesh.
    pub gateway_routes: Vec<MeshGatewayRoute>,
    /// File with the root certificate, which its proxies trust.
    pub root_certificate: PathBuf,
}

/// A member of the control plane.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MeshInstance {
    pub name: String,
    pub address: IpAddr,
    pub admin: SocketAddr,
    pub ports: BTreeMap<String, u16>,
}

/// A proxy of a mesh.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MeshProxy {
    pub name: String,
    pub role: InstanceRole,
    pub pod: String,
    pub address: IpAddr,
    /// Secret by which the control plane knows it.
    pub token: String,
}

/// A called instance, and where it listens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MeshService {
    pub name: String,
    /// Name of its part, by which all its instances are called.
    pub part: String,
    /// Host name, if it is outside of the mesh, or called by a Service of a cluster.
    pub hostname: Option<String>,
    pub pod: String,
    pub address: IpAddr,
    /// Its sidecar of this mesh, if it has one.
    pub sidecar: Option<String>,
    /// In a cluster: name of its Service, and of the label `tare.dev/pod` of its pod.
    pub in_cluster: Option<String>,
    pub ports: Vec<MeshPort>,
}

/// A port of a called instance: one edge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MeshPort {
    pub port: u16,
    pub protocol: String,
    /// Security of the segment to the called instance's sidecar.
    pub security: Security,
    /// Proxies of the mesh that call this port.
    pub callers: Vec<MeshCaller>,
}

/// A proxy that calls a port.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MeshCaller {
    pub pod: String,
    pub role: InstanceRole,
}

/// A route through a gateway of the mesh.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MeshGatewayRoute {
    pub id: String,
    /// Pod of the caller.
    pub caller: String,
    /// In a cluster: value of the label `tare.dev/pod` of that pod.
    pub caller_in_cluster: Option<String>,
    pub gateway: String,
    /// In a cluster: name of the gateway's Service, and of the label `tare.dev/pod` of its pod.
    pub gateway_in_cluster: Option<String>,
    /// In a cluster: host name of the gateway's Service.
    pub gateway_host: Option<String>,
    /// Where the gateway listens for it.
    pub address: IpAddr,
    pub port: u16,
    /// Security of the segment to the gateway.
    pub security: Security,
    pub service: String,
    /// Name of the part of the called instance.
    pub part: String,
    /// Host name of the called instance, if it is outside of the mesh, or called by a Service of a cluster.
    pub hostname: Option<String>,
    /// Where the called instance listens.
    pub service_address: IpAddr,
    pub service_port: u16,
    /// What the gateway calls: the called instance, or a proxy before it.
    pub next_address: IpAddr,
    pub next_port: u16,
    pub protocol: String,
}

/// What is not redirected: packets with the mark, and connections from these source ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Exempt {
    /// Packet mark (`SO_MARK`).
    pub mark: u32,
    /// First of the source ports.
    pub first_port: u16,
    pub last_port: u16,
}

/// Identity of an instance with its files (PEM).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Identity {
    /// SPIFFE identity, the URI name of its certificate.
    pub uri: String,
    /// DNS name of its certificate.
    pub host: String,
    /// Its certificate chain.
    pub certificate: PathBuf,
    /// Its private key (PKCS#8).
    pub key: PathBuf,
    /// Certificate and key in one file, for software that needs that.
    pub bundle: PathBuf,
    /// CA certificates that it trusts.
    pub ca: PathBuf,
}

/// An edge from the point of view of this instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RouteContext {
    /// Name of the edge: `client->server`.
    pub edge: String,
    /// Its ends by instance, usable as a name in configurations and metrics; see [`edge_id`].
    pub id: String,
    /// Instance that calls.
    pub from: String,
    /// Protocol that proxies handle.
    pub protocol: String,
    /// End-to-end security of the application itself, inside that of the hops.
    pub edge_security: Security,
    /// Name of the called instance, sent as `Host` and as server name.
    pub service: String,
    /// Host name by which callers call the part and which they send as server name; only if it has one and it resolves
    /// in their pods.
    pub hostname: Option<String>,
    /// Listening address; `None` for the caller itself.
    pub listen: Option<Listen>,
    /// Next hop; `None` for the called part itself.
    pub upstream: Option<Upstream>,
    /// First hop of its caller; only for the called part itself.
    pub advertise: Option<Advertise>,
}

/// Address at which a caller reaches the called part: that of the caller's own sidecar, if it has one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Advertise {
    pub address: IpAddr,
    pub port: u16,
}

/// A listening address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Listen {
    /// Address to bind.
    pub address: IpAddr,
    /// Port to bind.
    pub port: u16,
    /// Security of incoming connections.
    pub security: Security,
    /// SPIFFE identity required of the caller (mtls).
    pub peer_identity: Option<String>,
    /// The identities of all callers, if there are several.
    pub peer_identities: Vec<String>,
    /// `outbound` or `inbound`: the connection is redirected by the kernel, and address and port are its original
    /// destination; `None`: it is not redirected.
    pub redirected: Option<TrafficDirection>,
    /// Port to which the kernel redirects it, on any address: that of the direction, or one of this edge's own where
    /// the target requires it (`redirect_ports: per-edge`); `None`: it is not redirected.
    pub redirect_port: Option<u16>,
}

/// The next hop of an edge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Upstream {
    /// Address to connect to.
    pub address: IpAddr,
    /// Port to connect to.
    pub port: u16,
    /// Security of outgoing connections.
    pub security: Security,
    /// SPIFFE identity required of the next hop (tls, mtls).
    pub peer_identity: Option<String>,
    /// DNS name in the certificate of the next hop (tls, mtls).
    pub peer_host: Option<String>,
}

/// A member of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Peer {
    /// Its index, from 0.
    pub index: u32,
    pub name: String,
    pub address: IpAddr,
    /// Its admin page.
    pub admin: SocketAddr,
    /// Its additional ports.
    pub ports: BTreeMap<String, u16>,
    /// Its routes, with their listening addresses.
    pub routes: Vec<RouteContext>,
}

/// The id of an edge: `client->server` is `client__server`, `*->database` is `any__database`.
#[must_use]
pub fn edge_id(edge: &str) -> String {
    edge.replace("->", "__")
        .replace('*', "any")
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '-' {
                c
            } else {
                '_'
            }
        })
        .collect()
}
