//! The switch of a run: a bridge in a network namespace of its own, into which every pod is plugged.

use std::net::Ipv4Addr;
use std::os::fd::AsFd;

use crate::NetError;
use crate::namespace::Namespace;
use crate::netlink::{self, LOOPBACK, Netlink};

/// Bits of the network that all pods share.
pub const PREFIX_BITS: u8 = 16;
/// Network of the pods of the first site; the others have the ones after it. Switches are private to their run: two runs may use the same.
const NETWORK: [u8; 2] = [10, 77];
/// More sites than any experiment has; their networks end before 10.128.
pub(crate) const SITES_MAX: u8 = 50;
/// Name of the bridge.
const BRIDGE: &str = "switch";
/// Name of a pod's device.
const DEVICE: &str = "eth0";
/// More pods than any machine runs.
const PODS_MAX: u16 = 0xFE00;

/// A bridge in the namespace of the thread that made it.
pub struct Switch {
    netlink: Netlink,
    bridge: u32,
    given: u16,
    /// Which of the sites it serves, from 0.
    site: u8,
}

impl Switch {
    /// Makes the bridge, and switches the loopback device on, in the calling thread's namespace, which
    /// must be a fresh one.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn new() -> Result<Switch, NetError> {
        Switch::of_site(0)
    }

    /// The same for one of several sites.
    pub(crate) fn of_site(site: u8) -> Result<Switch, NetError> {
        forgo_ipv6();
        let netlink = Netlink::open()?;
        netlink.up(LOOPBACK)?;
        netlink.add_bridge(BRIDGE)?;
        let bridge = netlink::index_of(BRIDGE)?;
        netlink.add_address(bridge, switch_address(site), PREFIX_BITS)?;
        Ok(Switch {
            netlink,
            bridge,
            given: 0,
            site,
        })
    }

    /// The switch's own address, the pods' gateway.
    #[must_use]
    pub const fn address() -> Ipv4Addr {
        switch_address(0)
    }

    /// The address of this one.
    pub(crate) fn own_address(&self) -> Ipv4Addr {
        switch_address(self.site)
    }

    /// The address of the pod of this number (0 is the first), if there are so many.
    #[must_use]
    pub fn pod_address(number: u16) -> Option<Ipv4Addr> {
        Switch::pod_address_at(0, number)
    }

    /// The same at one of several sites.
    pub(crate) fn pod_address_at(site: u8, number: u16) -> Option<Ipv4Addr> {
        // 0.1 is the switch; pods have 1.0 to 254.255, clear of the broadcast address.
        let host = number.checked_add(0x100).filter(|_| number < PODS_MAX)?;
        let [third, fourth] = host.to_be_bytes();
        Some(Ipv4Addr::new(NETWORK[0], NETWORK[1] + site, third, fourth))
    }

    /// The site of an address.
    pub(crate) fn site_of(address: Ipv4Addr) -> Option<u8> {
        let [first, second, ..] = address.octets();
        (first == NETWORK[0])
            .then(|| second.checked_sub(NETWORK[1]))
            .flatten()
    }

    /// Sends what is for the pods of another site through a device, which is switched on. To be called in the switch's namespace.
    pub(crate) fn lead(&self, site: u8, device: &str) -> Result<(), NetError> {
        let device = netlink::index_of(device)?;
        self.netlink.up(device)?;
        let network = Ipv4Addr::new(NETWORK[0], NETWORK[1] + site, 0, 0);
        self.netlink.add_route(network, PREFIX_BITS, device)
    }

    /// Plugs a fresh namespace in: loopback device up, one more device with the address, everything
    /// else by way of the switch. IPv6 is off: its own chatter would be in the packet counts.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn plug(&mut self, pod: &Namespace, address: Ipv4Addr) -> Result<(), NetError> {
        pod.run(forgo_ipv6)?;
        self.given = self.given.wrapping_add(1);
        let port = format!("port{}", self.given);
        self.netlink
            .add_pair(&port, self.bridge, DEVICE, pod.as_fd())?;
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

/// Switches IPv6 off for all devices of the thread's namespace. A kernel without IPv6 has no such file:
/// then there is nothing to switch off.
fn forgo_ipv6() {
    for which in ["all", "default"] {
        let path = format!("/proc/sys/net/ipv6/conf/{which}/disable_ipv6");
        let _ = std::fs::write(path, "1");
    }
}
