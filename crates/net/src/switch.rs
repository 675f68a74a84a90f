//! The switch of a run: a bridge in a network namespace of its own, to which every pod is attached.

use std::net::Ipv4Addr;
use std::os::fd::AsFd;

use crate::NetError;
use crate::namespace::Namespace;
use crate::netlink::{self, LOOPBACK, Netlink};

/// Prefix length of the network that all pods share.
pub const PREFIX_BITS: u8 = 16;
/// Network of the first site's pods; further sites have the following ones. Switches are private to a run: two runs may use
/// the same network.
const NETWORK: [u8; 2] = [10, 77];
/// Limit of sites; their networks end before 10.128.
pub(crate) const SITES_MAX: u8 = 50;
const BRIDGE: &str = "switch";
/// Name of a pod's device.
const DEVICE: &str = "eth0";
/// Limit of pods.
const PODS_MAX: u16 = 0xFE00;

/// A bridge in the namespace of the thread that created it.
pub struct Switch {
    netlink: Netlink,
    bridge: u32,
    ports: u16,
    /// Index of its site.
    site: u8,
}

impl Switch {
    /// Creates the bridge and sets the loopback device up, in the calling thread's namespace, which must
    /// be new.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn new() -> Result<Switch, NetError> {
        Switch::of_site(0)
    }

    /// As [`Switch::new`], for one of several sites.
    pub(crate) fn of_site(site: u8) -> Result<Switch, NetError> {
        disable_ipv6();
        let netlink = Netlink::open()?;
        netlink.up(LOOPBACK)?;
        netlink.add_bridge(BRIDGE)?;
        let bridge = netlink::index_of(BRIDGE)?;
        netlink.add_address(bridge, switch_address(site), PREFIX_BITS)?;
        Ok(Switch {
            netlink,
            bridge,
            ports: 0,
            site,
        })
    }

    /// The first site's switch address, the gateway of its pods.
    #[must_use]
    pub const fn address() -> Ipv4Addr {
        switch_address(0)
    }

    /// This switch's address.
    pub(crate) fn own_address(&self) -> Ipv4Addr {
        switch_address(self.site)
    }

    /// The address of a pod by its index; `None` beyond the limit.
    #[must_use]
    pub fn pod_address(number: u16) -> Option<Ipv4Addr> {
        Switch::pod_address_at(0, number)
    }

    /// As [`Switch::pod_address`], at one of several sites.
    pub(crate) fn pod_address_at(site: u8, number: u16) -> Option<Ipv4Addr> {
        // 0.1 is the switch; pods have 1.0 to 254.255, which leaves out the broadcast address.
        let host = number.checked_add(0x100).filter(|_| number < PODS_MAX)?;
        let [third, fourth] = host.to_be_bytes();
        Some(Ipv4Addr::new(NETWORK[0], NETWORK[1] + site, third, fourth))
    }

    pub(crate) fn site_of(address: Ipv4Addr) -> Option<u8> {
        let [first, second, ..] = address.octets();
        (first == NETWORK[0])
            .then(|| second.checked_sub(NETWORK[1]))
            .flatten()
    }

    /// Adds a route to another site's pods through a device, and sets it up. To be called in the switch's namespace.
    pub(crate) fn add_route_to_site(&self, site: u8, device: &str) -> Result<(), NetError> {
        let device = netlink::index_of(device)?;
        self.netlink.up(device)?;
        let network = Ipv4Addr::new(NETWORK[0], NETWORK[1] + site, 0, 0);
        self.netlink.add_route(network, PREFIX_BITS, device)
    }

    /// Attaches a new namespace: sets its loopback device up, adds a device with the address and a default route
    /// to the switch. IPv6 is off: its own traffic would be in the packet counts.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn attach(&mut self, pod: &Namespace, address: Ipv4Addr) -> Result<(), NetError> {
        pod.run(disable_ipv6)?;
        self.ports = self.ports.wrapping_add(1);
        let port = format!("port{}", self.ports);
        self.netlink
            .add_veth(&port, self.bridge, DEVICE, pod.as_fd())?;
        let gateway = switch_address(self.site);
        pod.run(|| {
            let inside = Netlink::open()?;
            let device = netlink::index_of(DEVICE)?;
            inside.up(LOOPBACK)?;
            inside.add_address(device, address, PREFIX_BITS)?;
            inside.up(device)?;
            inside.add_default_route(gateway)
        })?
    }
}

const fn switch_address(site: u8) -> Ipv4Addr {
    Ipv4Addr::new(NETWORK[0], NETWORK[1] + site, 0, 1)
}

/// Disables IPv6 for all devices of the thread's namespace. A kernel without IPv6 lacks these files:
/// then there is nothing to disable.
fn disable_ipv6() {
    for which in ["all", "default"] {
        let path = format!("/proc/sys/net/ipv6/conf/{which}/disable_ipv6");
        let _ = std::fs::write(path, "1");
    }
}
