//! Devices, addresses and routes of one network namespace, by rtnetlink (rtnetlink(7)): one request, one answer. The interface is blocking.

use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, PoisonError};

use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};

use crate::NetError;

/// Index of the loopback device in every namespace.
pub(crate) const LOOPBACK: u32 = 1;

/// `VETH_INFO_PEER` of linux/veth.h: the attributes of the other end.
const VETH_INFO_PEER: u16 = 1;

/// Bytes of `struct nlmsghdr`, which begins each message.
const HEADER: usize = 16;

/// Bytes of an answer that are read: its header, an error number and the header of its request, without the request.
const ANSWER: usize = 2 * HEADER + 4;

/// A netlink socket: it acts on the namespace in which it was opened, wherever it is used.
pub(crate) struct Netlink {
    socket: OwnedFd,
    /// Sequence number of the last request. Held until the answer is there.
    sequence: Mutex<u32>,
}

impl Netlink {
    /// Opens one in the calling thread's namespace.
    pub(crate) fn open() -> Result<Netlink, NetError> {
        let socket = rustix::net::socket_with(
            AddressFamily::NETLINK,
            SocketType::RAW,
            SocketFlags::CLOEXEC,
            // NETLINK_ROUTE is 0, the default.
            None,
        )
        .map_err(NetError::refused("open a netlink socket"))?;
        Ok(Netlink {
            socket,
            sequence: Mutex::new(0),
        })
    }

    /// Creates a bridge that is up.
    pub(crate) fn add_bridge(&self, name: &str) -> Result<(), NetError> {
        let request = Request::new(libc::RTM_NEWLINK, CREATE)
            .link(0, libc::IFF_UP as u32)
            .text(libc::IFLA_IFNAME, name)
            .nested(libc::IFLA_LINKINFO, |info| {
                info.text(libc::IFLA_INFO_KIND, "bridge")
            });
        self.send(request, || format!("make the bridge {name}"))
    }

    /// Creates a veth pair: `name` here, up and attached to the bridge; `far_name` in the other namespace, down.
    pub(crate) fn add_veth(
        &self,
        name: &str,
        bridge: u32,
        far_name: &str,
        far: BorrowedFd<'_>,
    ) -> Result<(), NetError> {
        let peer = |peer: Request| {
            peer.link(0, 0)
                .text(libc::IFLA_IFNAME, far_name)
                .attribute(libc::IFLA_NET_NS_FD, &far.as_raw_fd().to_ne_bytes())
        };
        let request = Request::new(libc::RTM_NEWLINK, CREATE)
            .link(0, libc::IFF_UP as u32)
            .text(libc::IFLA_IFNAME, name)
            .attribute(libc::IFLA_MASTER, &bridge.to_ne_bytes())
            .nested(libc::IFLA_LINKINFO, |info| {
                info.text(libc::IFLA_INFO_KIND, "veth")
                    .nested(libc::IFLA_INFO_DATA, |data| {
                        data.nested(VETH_INFO_PEER, peer)
                    })
            });
        self.send(request, || {
            format!("make the pair of devices {name} and {far_name}")
        })
    }

    /// Gives a device an address with a prefix length.
    pub(crate) fn add_address(
        &self,
        link: u32,
        address: Ipv4Addr,
        bits: u8,
    ) -> Result<(), NetError> {
        let broadcast =
            address | Ipv4Addr::from_bits(u32::MAX.checked_shr(bits.into()).unwrap_or(0));
        // struct ifaddrmsg: family, prefix length, flags, scope, index.
        let request = Request::new(libc::RTM_NEWADDR, CREATE)
            .bytes(&[libc::AF_INET as u8, bits, 0, libc::RT_SCOPE_UNIVERSE])
            .bytes(&link.to_ne_bytes())
            .attribute(libc::IFA_ADDRESS, &address.octets())
            .attribute(libc::IFA_LOCAL, &address.octets())
            .attribute(libc::IFA_BROADCAST, &broadcast.octets());
        self.send(request, || {
            format!("give a device the address {address}/{bits}")
        })
    }

    /// Sets a device up.
    pub(crate) fn up(&self, link: u32) -> Result<(), NetError> {
        let request = Request::new(libc::RTM_SETLINK, 0).link(link, libc::IFF_UP as u32);
        self.send(request, || String::from("switch a device on"))
    }

    pub(crate) fn add_default_route(&self, gateway: Ipv4Addr) -> Result<(), NetError> {
        let request = Request::new(libc::RTM_NEWROUTE, CREATE)
            .route(0)
            .attribute(libc::RTA_GATEWAY, &gateway.octets());
        self.send(request, || format!("set the default route to {gateway}"))
    }

    /// Adds a route to a network through a device.
    pub(crate) fn add_route(
        &self,
        network: Ipv4Addr,
        bits: u8,
        device: u32,
    ) -> Result<(), NetError> {
        let request = Request::new(libc::RTM_NEWROUTE, CREATE)
            .route(bits)
            .attribute(libc::RTA_DST, &network.octets())
            .attribute(libc::RTA_OIF, &device.to_ne_bytes());
        self.send(request, || format!("set the route to {network}/{bits}"))
    }

    /// Sends a request and waits for its answer.
    fn send(&self, request: Request, what: impl FnOnce() -> String) -> Result<(), NetError> {
        let mut sequence = self.sequence.lock().unwrap_or_else(PoisonError::into_inner);
        *sequence = sequence.wrapping_add(1);
        let message = request.finish(*sequence);
        self.exchange(&message, *sequence)
            .map_err(|source| NetError::Refused {
                what: what(),
                source,
            })
    }

    fn exchange(&self, message: &[u8], sequence: u32) -> io::Result<()> {
        let kernel = SocketAddrNetlink::new(0, 0);
        rustix::io::retry_on_intr(|| {
            rustix::net::sendto(&self.socket, message, SendFlags::empty(), &kernel)
        })?;
        loop {
            let mut answer = [0; ANSWER];
            let (length, _) = rustix::io::retry_on_intr(|| {
                rustix::net::recv(&self.socket, &mut answer, RecvFlags::empty())
            })?;
            // struct nlmsghdr: length, type and flags (16 bits each), sequence, port; then the error number, 0: done.
            let number = |at: usize| {
                let bytes = answer[..length].get(at..at + 4)?;
                bytes.try_into().map(i32::from_ne_bytes).ok()
            };
            let (Some(of), Some(error)) = (number(8), number(HEADER)) else {
                return Err(io::Error::other("the kernel's answer is cut off"));
            };
            let is_answer = answer[4..6] == (libc::NLMSG_ERROR as u16).to_ne_bytes();
            if !is_answer || of != sequence.cast_signed() {
                continue;
            }
            return match error {
                0 => Ok(()),
                _ => Err(io::Error::from_raw_os_error(-error)),
            };
        }
    }
}

/// Flags of a request that creates something that must not be there yet.
const CREATE: i32 = libc::NLM_F_CREATE | libc::NLM_F_EXCL;

/// A message to the kernel: a header, a fixed structure, and attributes, each aligned to 4 bytes.
struct Request(Vec<u8>);

impl Request {
    fn new(kind: u16, flags: i32) -> Self {
        let flags = (libc::NLM_F_REQUEST | libc::NLM_F_ACK | flags) as u16;
        // The length and the sequence number are set at the end.
        Request(vec![0; 4])
            .bytes(&kind.to_ne_bytes())
            .bytes(&flags.to_ne_bytes())
            .bytes(&[0; 8])
    }

    /// `struct ifinfomsg`: family, kind of device, index, flags, and which flags are changed.
    fn link(self, index: u32, flags: u32) -> Self {
        self.bytes(&[0; 4])
            .bytes(&index.to_ne_bytes())
            .bytes(&flags.to_ne_bytes())
            .bytes(&flags.to_ne_bytes())
    }

    /// `struct rtmsg`: family, lengths of destination and source, type of service, table, protocol, scope, type, flags.
    fn route(self, destination_bits: u8) -> Self {
        let family = libc::AF_INET as u8;
        self.bytes(&[family, destination_bits, 0, 0])
            .bytes(&[libc::RT_TABLE_MAIN, libc::RTPROT_STATIC])
            .bytes(&[libc::RT_SCOPE_UNIVERSE, libc::RTN_UNICAST, 0, 0, 0, 0])
    }

    fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    fn attribute(self, kind: u16, value: &[u8]) -> Self {
        self.nested(kind, |inside| inside.bytes(value))
    }

    /// A text with a zero byte at its end.
    fn text(self, kind: u16, value: &str) -> Self {
        self.nested(kind, |inside| inside.bytes(value.as_bytes()).bytes(&[0]))
    }

    /// An attribute whose value is what `write` appends.
    fn nested(mut self, kind: u16, write: impl FnOnce(Self) -> Self) -> Self {
        let start = self.0.len();
        self = self.bytes(&[0; 2]).bytes(&kind.to_ne_bytes());
        let Request(mut bytes) = write(self);
        let length = (bytes.len() - start) as u16;
        bytes[start..start + 2].copy_from_slice(&length.to_ne_bytes());
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        Request(bytes)
    }

    fn finish(self, sequence: u32) -> Vec<u8> {
        let Request(mut bytes) = self;
        let length = bytes.len() as u32;
        bytes[..4].copy_from_slice(&length.to_ne_bytes());
        bytes[8..12].copy_from_slice(&sequence.to_ne_bytes());
        bytes
    }
}

/// The index of a device in the calling thread's namespace.
pub(crate) fn index_of(name: &str) -> Result<u32, NetError> {
    let socket = rustix::net::socket(AddressFamily::INET, SocketType::DGRAM, None)
        .map_err(NetError::refused("open a socket"))?;
    rustix::net::netdevice::name_to_index(&socket, name)
        .map_err(NetError::refused(format!("find the device {name}")))
}
