//! Devices, addresses and routes of one network namespace, by netlink. The interface is blocking.

use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::{AsRawFd, BorrowedFd};

use rtnetlink::packet_route::link::{InfoData, InfoKind, InfoVeth};
use rtnetlink::{
    Handle, LinkBridge, LinkMessageBuilder, LinkUnspec, LinkVeth, RouteMessageBuilder,
};
use tokio::runtime::Runtime;

use crate::NetError;

/// Index of the loopback device in every namespace.
pub(crate) const LOOPBACK: u32 = 1;

/// A netlink socket: it acts on the namespace in which it was opened, wherever it is used.
pub(crate) struct Netlink {
    runtime: Runtime,
    handle: Handle,
}

impl Netlink {
    /// Opens one in the calling thread's namespace.
    pub(crate) fn open() -> Result<Netlink, NetError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()
            .map_err(NetError::refused("start the loop that speaks netlink"))?;
        let handle = runtime
            .block_on(async {
                let (connection, handle, _) = rtnetlink::new_connection()?;
                tokio::spawn(connection);
                Ok::<Handle, io::Error>(handle)
            })
            .map_err(NetError::refused("open a netlink socket"))?;
        Ok(Netlink { runtime, handle })
    }

    /// Creates a bridge that is up.
    pub(crate) fn add_bridge(&self, name: &str) -> Result<(), NetError> {
        let message = LinkBridge::new(name).build();
        self.run(
            format!("make the bridge {name}"),
            self.handle.link().add(message).execute(),
        )
    }

    /// Creates a veth pair: `name` here, up and attached to the bridge; `far_name` in the other namespace, down.
    pub(crate) fn add_veth(
        &self,
        name: &str,
        bridge: u32,
        far_name: &str,
        far: BorrowedFd<'_>,
    ) -> Result<(), NetError> {
        let far_end = LinkUnspec::new_with_name(far_name)
            .setns_by_fd(far.as_raw_fd())
            .build();
        let message = LinkMessageBuilder::<LinkVeth>::new_with_info_kind(InfoKind::Veth)
            .name(name)
            .controller(bridge)
            .up()
            .set_info_data(InfoData::Veth(InfoVeth::Peer(far_end)))
            .build();
        self.run(
            format!("make the pair of devices {name} and {far_name}"),
            self.handle.link().add(message).execute(),
        )
    }

    /// Gives a device an address with a prefix length.
    pub(crate) fn add_address(
        &self,
        link: u32,
        address: Ipv4Addr,
        bits: u8,
    ) -> Result<(), NetError> {
        let adding = self
            .handle
            .address()
            .add(link, IpAddr::V4(address), bits)
            .execute();
        self.run(
            format!("give a device the address {address}/{bits}"),
            adding,
        )
    }

    /// Sets a device up.
    pub(crate) fn up(&self, link: u32) -> Result<(), NetError> {
        let message = LinkUnspec::new_with_index(link).up().build();
        self.run(
            String::from("switch a device on"),
            self.handle.link().set(message).execute(),
        )
    }

    pub(crate) fn add_default_route(&self, gateway: Ipv4Addr) -> Result<(), NetError> {
        let route = RouteMessageBuilder::<Ipv4Addr>::new()
            .gateway(gateway)
            .build();
        self.run(
            format!("set the default route to {gateway}"),
            self.handle.route().add(route).execute(),
        )
    }

    /// Adds a route to a network through a device.
    pub(crate) fn add_route(
        &self,
        network: Ipv4Addr,
        bits: u8,
        device: u32,
    ) -> Result<(), NetError> {
        let route = RouteMessageBuilder::<Ipv4Addr>::new()
            .destination_prefix(network, bits)
            .output_interface(device)
            .build();
        self.run(
            format!("set the route to {network}/{bits}"),
            self.handle.route().add(route).execute(),
        )
    }

    fn run(
        &self,
        what: String,
        operation: impl Future<Output = Result<(), rtnetlink::Error>>,
    ) -> Result<(), NetError> {
        let answer = self.runtime.block_on(operation);
        answer.map_err(|error| NetError::Refused {
            what,
            source: reason(error),
        })
    }
}

fn reason(error: rtnetlink::Error) -> io::Error {
    match error {
        rtnetlink::Error::NetlinkError(message) => message.to_io(),
        other => io::Error::other(other),
    }
}

/// The index of a device in the calling thread's namespace.
pub(crate) fn index_of(name: &str) -> Result<u32, NetError> {
    let socket = rustix::net::socket(
        rustix::net::AddressFamily::INET,
        rustix::net::SocketType::DGRAM,
        None,
    )
    .map_err(NetError::refused("open a socket"))?;
    rustix::net::netdevice::name_to_index(&socket, name)
        .map_err(NetError::refused(format!("find the device {name}")))
}
