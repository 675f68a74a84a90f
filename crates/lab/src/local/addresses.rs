//! Loopback addresses of pods: a /16 of 127.0.0.0/8 per run, and ports that are found by binding.

use std::collections::BTreeSet;
use std::fs;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};

use crate::LabError;
use crate::process;

/// A listener on this port reserves the /16.
const GUARD_PORT: u16 = 19_999;
/// First assigned port; all lie below the kernel's range of ephemeral ports (32768 on).
const FIRST_PORT: u16 = 20_000;
/// Ports tried on one address before giving up.
const PORTS_TRIED_MAX: u16 = 1000;

/// The addresses of one run: `127.x.0.0/16`, reserved as long as this lives.
///
/// Every pod of every test bed gets a new one, so that no TIME_WAIT connection of an earlier test bed is in its way.
#[derive(Debug)]
pub struct Addresses {
    second: u8,
    given: u16,
    _guard: TcpListener,
}

impl Addresses {
    /// Reserves a /16 that no other run has.
    ///
    /// # Errors
    /// When all are taken.
    pub fn reserve() -> Result<Addresses, LabError> {
        let random = RandomState::new().build_hasher().finish();
        let start = u8::try_from(random % 254).unwrap_or_default();
        let mut last = None;
        for step in 0..254_u16 {
            // 127.0/16 holds localhost and 127.255/16 the broadcast address.
            let second = u8::try_from((u16::from(start) + step) % 254 + 1).unwrap_or(1);
            let guard = SocketAddr::from((Ipv4Addr::new(127, second, 255, 254), GUARD_PORT));
            match TcpListener::bind(guard) {
                Ok(listener) => {
                    return Ok(Addresses {
                        second,
                        given: 0,
                        _guard: listener,
                    });
                }
                Err(_) => last = Some(guard),
            }
        }
        Err(LabError::PortInUse {
            address: format!("{GUARD_PORT} of every 127.x.255.254"),
            holder: last.and_then(holder),
        })
    }

    /// An address that the last 60,000 pods did not have.
    pub fn next_address(&mut self) -> Ipv4Addr {
        loop {
            self.given = self.given % 0xFEFF + 1;
            let [third, fourth] = self.given.to_be_bytes();
            if !matches!(fourth, 0 | 255) {
                return Ipv4Addr::new(127, self.second, third, fourth);
            }
        }
    }
}

/// Finds a free port of the address that is not in `given` and adds it there.
///
/// # Errors
/// When none is free, with the process that has the last one tried.
pub fn free_port(address: IpAddr, given: &mut BTreeSet<SocketAddr>) -> Result<u16, LabError> {
    let mut refused = None;
    for port in FIRST_PORT..FIRST_PORT + PORTS_TRIED_MAX {
        let at = SocketAddr::from((address, port));
        if given.contains(&at) {
            continue;
        }
        match TcpListener::bind(at) {
            Ok(_) => {
                given.insert(at);
                return Ok(port);
            }
            Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => refused = Some(at),
            Err(error) => return Err(LabError::io(format!("listen on {at}"))(error)),
        }
    }
    Err(LabError::PortInUse {
        address: format!("{address}:{FIRST_PORT} and the {PORTS_TRIED_MAX} after it"),
        holder: refused.and_then(holder),
    })
}

/// Picks a port of the address that is not in `given` and adds it there; nobody else may use the address.
pub(crate) fn next_port(
    address: IpAddr,
    given: &mut BTreeSet<SocketAddr>,
) -> Result<u16, LabError> {
    let mut ports = FIRST_PORT..FIRST_PORT + PORTS_TRIED_MAX;
    let port = ports.find(|port| given.insert(SocketAddr::from((address, *port))));
    port.ok_or_else(|| {
        LabError::Plan(format!(
            "{address} would need more than {PORTS_TRIED_MAX} ports"
        ))
    })
}

/// The process that listens on this address (or on all addresses) and port: `nginx (pid 17)`.
///
/// `None` when there is none, or it belongs to another user and cannot be seen.
pub(crate) fn holder(at: SocketAddr) -> Option<String> {
    let socket = listening_socket(at)?;
    let all = process::snapshot();
    let found = all.iter().find(|p| has_socket(p.pid, socket))?;
    Some(format!("{} (pid {})", found.name, found.pid))
}

/// Whether a process other than these listens there.
pub(crate) fn is_held_by_others(at: SocketAddr, own: &BTreeSet<u32>) -> bool {
    listening_socket(at).is_some_and(|socket| !own.iter().any(|pid| has_socket(*pid, socket)))
}

/// The inode of the socket that takes connections to an address.
fn listening_socket(at: SocketAddr) -> Option<u64> {
    let SocketAddr::V4(at) = at else { return None };
    let table = fs::read_to_string("/proc/net/tcp").ok()?;
    let mut sockets: Vec<Listener> = table
        .lines()
        .filter_map(parse_listener)
        .filter(|l| l.port == at.port() && (l.address == *at.ip() || l.address.is_unspecified()))
        .collect();
    // The kernel prefers the socket with the specific address.
    sockets.sort_by_key(|listener| listener.address.is_unspecified());
    sockets.first().map(|listener| listener.inode)
}

fn has_socket(pid: u32, inode: u64) -> bool {
    let name = format!("socket:[{inode}]");
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/fd")) else {
        return false;
    };
    entries
        .flatten()
        .any(|fd| fs::read_link(fd.path()).is_ok_and(|link| link.as_os_str() == name.as_str()))
}

/// A listening socket in `/proc/net/tcp`.
#[derive(Debug, PartialEq, Eq)]
struct Listener {
    address: Ipv4Addr,
    port: u16,
    inode: u64,
}

fn parse_listener(line: &str) -> Option<Listener> {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let (address, port) = fields.get(1)?.split_once(':')?;
    // 0A is the state LISTEN; the address is a number in this machine's byte order.
    if *fields.get(3)? != "0A" {
        return None;
    }
    Some(Listener {
        address: Ipv4Addr::from(u32::from_str_radix(address, 16).ok()?.to_ne_bytes()),
        port: u16::from_str_radix(port, 16).ok()?,
        inode: fields.get(9)?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_socket_table_is_read() {
        let line = "   1: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 28373 1 0000 100 0 0 10 0";
        let listener = parse_listener(line).unwrap();
        assert_eq!(listener.address, Ipv4Addr::new(127, 0, 0, 1));
        assert_eq!((listener.port, listener.inode), (8080, 28373));
        assert_eq!(parse_listener(&line.replace(" 0A ", " 01 ")), None);
        assert_eq!(parse_listener("  sl  local_address rem_address   st"), None);
    }

    #[test]
    fn two_runs_never_share_an_address() {
        let mut one = Addresses::reserve().unwrap();
        let mut two = Addresses::reserve().unwrap();
        let first: BTreeSet<_> = (0..1000).map(|_| one.next_address()).collect();
        let second: BTreeSet<_> = (0..1000).map(|_| two.next_address()).collect();
        assert_eq!((first.len(), second.len()), (1000, 1000));
        assert!(first.is_disjoint(&second));
        assert!(first.iter().all(Ipv4Addr::is_loopback));
    }

    #[test]
    fn addresses_come_round_without_touching_the_guard() {
        let mut addresses = Addresses::reserve().unwrap();
        let first = addresses.next_address();
        let mut seen = 1;
        while addresses.next_address() != first {
            seen += 1;
        }
        assert!(seen > 60_000);
    }

    #[test]
    fn a_port_in_use_is_passed_over_and_its_holder_is_named() {
        let mut addresses = Addresses::reserve().unwrap();
        let address = IpAddr::from(addresses.next_address());
        let mut given = BTreeSet::new();
        let taken = TcpListener::bind((address, FIRST_PORT)).unwrap();
        assert_eq!(free_port(address, &mut given).unwrap(), FIRST_PORT + 1);
        assert_eq!(free_port(address, &mut given).unwrap(), FIRST_PORT + 2);
        let me = format!("(pid {})", std::process::id());
        let at = taken.local_addr().unwrap();
        assert!(holder(at).unwrap().ends_with(&me));
        assert!(is_held_by_others(at, &BTreeSet::from([1])));
        assert!(!is_held_by_others(
            at,
            &BTreeSet::from([1, std::process::id()])
        ));
        drop(taken);
        assert_eq!(holder(SocketAddr::from((address, FIRST_PORT))), None);
    }
}
