//! The switch of a run: a bridge in a network namespace of its own, into which every pod is plugged.

use std::net::Ipv4Addr;
use std::os::fd::AsFd;

use crate::NetError;
use crate::namespace::Namespace;
use crate::netlink::{self, LOOPBACK, Netlink};

/// Bits of the network that all pods share.
pub const PREFIX_BITS: u8 = 16;
/// Network of the pods. The switch is private to its run: two runs may use the same.
const NETWORK: [u8; 2] = [10, 77];
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
}

impl Switch {
    /// Makes the bridge, and switches the loopback device on, in the calling thread's namespace, which
    /// must be a fresh one.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn new() -> Result<Switch, NetError> {
        forgo_ipv6();
        let netlink = Netlink::open()?;
        netlink.up(LOOPBACK)?;
        netlink.add_bridge(BRIDGE)?;
        let bridge = netlink::index_of(BRIDGE)?;
        netlink.add_address(bridge, Switch::address(), PREFIX_BITS)?;
        Ok(Switch {
            netlink,
            bridge,
            given: 0,
        })
    }

    /// The switch's own address, the pods' gateway.
    #[must_use]
    pub const fn address() -> Ipv4Addr {
        Ipv4Addr::new(NETWORK[0], NETWORK[1], 0, 1)
    }

    /// The address of the pod of this number (0 is the first), if there are so many.
    #[must_use]
    pub fn pod_address(number: u16) -> Option<Ipv4Addr> {
        // 0.1 is the switch; pods have 1.0 to 254.255, clear of the broadcast address.
        let host = number.checked_add(0x100).filter(|_| number < PODS_MAX)?;
        let [third, fourth] = host.to_be_bytes();
        Some(Ipv4Addr::new(NETWORK[0], NETWORK[1], third, fourth))
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
        pod.run(|| {
            let inside = Netlink::open()?;
            let device = netlink::index_of(DEVICE)?;
            inside.up(LOOPBACK)?;
            inside.add_address(device, address, PREFIX_BITS)?;
            inside.up(device)?;
            inside.add_default_route(Switch::address())
        })?
    }
}

/// Switches IPv6 off for all devices of the thread's namespace. A kernel without IPv6 has no such file:
/// then there is nothing to switch off.
fn forgo_ipv6() {
    for which in ["all", "default"] {
        let path = format!("/proc/sys/net/ipv6/conf/{which}/disable_ipv6");
        let _ = std::fs::write(path, "1");
    }
}
