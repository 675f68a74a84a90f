//! What templates see: one instance in its place, with the edges that pass through it.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use serde::Serialize;
use tare_net::capture::Direction;
use tare_schema::topology::{InstanceRole, Security, Settings};

use super::Login;

/// One instance in its place. An environment fills it in; a template reads it.
///
/// Templates also see three shortcuts: `listen` (`address:port` of the first route that listens
/// here), `listens` (each listening address once) and, in each route, `id`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Context {
    /// Name of the instance.
    pub name: String,
    /// What it is for.
    pub role: InstanceRole,
    /// Pod it runs in.
    pub pod: String,
    /// The program, as it was fetched or found.
    pub bin: PathBuf,
    /// Folder of the instance: rendered files, logs, sockets. Exists and is its own.
    pub dir: PathBuf,
    /// File that takes its output (both streams).
    pub log: PathBuf,
    /// Address of the pod.
    pub address: IpAddr,
    /// Where it serves its administration page; no other instance has it.
    pub admin: SocketAddr,
    /// A socket of the file system for the same: software whose page changes things serves it there, where only this user comes
    /// in. Short enough for a socket's path; not made.
    pub admin_socket: PathBuf,
    /// What whoever reads its pages shows, for software that asks.
    pub login: Login,
    /// Its further ports, by the names that its target gives them.
    pub ports: BTreeMap<String, u16>,
    /// A folder of its own in memory, for data that are not to reach a disk; removed with the bed. `None`: not to be had here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<PathBuf>,
    /// How a sidecar that takes redirected traffic makes its own known; `None`: it need not, its group is.
    pub exempt: Option<Exempt>,
    /// Cores it may use; empty: all.
    pub cpus: Vec<u32>,
    /// Its settings, complete (defaults included).
    pub settings: Settings,
    /// Settings of the workload.
    pub workload: Settings,
    /// Its certificate; present when one of its links or edges needs it.
    pub identity: Option<Identity>,
    /// Edges that begin, pass or end here.
    pub routes: Vec<RouteContext>,
    /// Instances of the same target in the same part or hop, itself included, in one order for all.
    pub peers: Vec<Peer>,
}

/// What is not redirected: packets with the mark, and calls from the ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Exempt {
    /// Packet mark (`SO_MARK`).
    pub mark: u32,
    /// First of the ports to call from.
    pub first_port: u16,
    /// Last of them.
    pub last_port: u16,
}

/// Who an instance is, and the files that prove it (PEM).
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
    /// Certificate and key in one file, for software that wants it so.
    pub bundle: PathBuf,
    /// Certificates it trusts.
    pub authority: PathBuf,
}

/// One edge, as this instance sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RouteContext {
    /// Name of the edge: `client->server`.
    pub edge: String,
    /// Its ends by instance, fit for names in configurations and metrics; see [`edge_id`].
    pub id: String,
    /// Instance that calls.
    pub from: String,
    /// Protocol that proxies see.
    pub protocol: String,
    /// Security that the edge carries itself, inside its links.
    pub own: Security,
    /// Name of the called instance, sent as `Host` and as server name.
    pub host: String,
    /// Host name by which the called part is called and that callers send as server name, where it has one of its own that
    /// resolves in their pods.
    pub name: Option<String>,
    /// Where it comes in; `None` for the caller itself.
    pub listen: Option<Listen>,
    /// Where it goes out; `None` for the called part itself.
    pub upstream: Option<Upstream>,
    /// Where its caller sends the first byte; `None` but for the called part itself.
    pub advertise: Option<Advertise>,
}

/// Where a caller finds the called part: behind its own sidecar, if that is how it calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Advertise {
    /// Address.
    pub address: IpAddr,
    /// Port.
    pub port: u16,
}

/// Where an edge comes in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Listen {
    /// Address to bind.
    pub address: IpAddr,
    /// Port to bind.
    pub port: u16,
    /// What is wrapped round what comes in.
    pub security: Security,
    /// SPIFFE identity that the caller must show (mtls).
    pub peer: Option<String>,
    /// The same of every caller that comes in here, if there are several.
    pub peers: Vec<String>,
    /// `outbound` or `inbound`: address and port are where the connection was going, and the kernel sends it
    /// elsewhere instead; `None`: it comes here by itself.
    pub captured: Option<Direction>,
    /// The port that the kernel sends it to instead, of any address: that of the direction, or one of this edge's own where the
    /// target wants it (`redirects: per-edge`); `None`: it comes here by itself.
    pub capture_port: Option<u16>,
}

/// Where an edge goes out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Upstream {
    /// Address to connect to.
    pub address: IpAddr,
    /// Port to connect to.
    pub port: u16,
    /// What to wrap round it.
    pub security: Security,
    /// SPIFFE identity that the called one must show (tls, mtls).
    pub peer: Option<String>,
    /// DNS name that the certificate of the called one has (tls, mtls).
    pub peer_host: Option<String>,
}

/// One instance of a system of several.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Peer {
    /// Its place in the order, from 0.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// Its address.
    pub address: IpAddr,
    /// Its administration page.
    pub admin: SocketAddr,
    /// Its further ports.
    pub ports: BTreeMap<String, u16>,
    /// Where each of its edges comes in.
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
