//! Redirection of a pod's traffic to its sidecar by nftables, with Istio's ports and group.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::{self, Read, Write as _};
use std::net::{IpAddr, SocketAddrV4};
use std::process::{Child, Stdio};
use std::str::FromStr;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tare_record::locate;

use crate::NetError;
use crate::namespace::Namespace;

/// Port of a sidecar to which outbound traffic is redirected. (Istio's number)
pub const OUTBOUND_PORT: u16 = 15001;
/// Port of a sidecar to which inbound traffic is redirected. (Istio's number)
pub const INBOUND_PORT: u16 = 15006;
/// Group of a sidecar's process: its own traffic is not redirected. (Istio's number)
pub const SIDECAR_GROUP: u32 = 1337;
/// Packet mark of a sidecar's own traffic, where it cannot have a group of its own. (The group's number)
pub const SIDECAR_MARK: u32 = 1337;
/// Source ports of a sidecar that cannot set a mark: below the kernel's ephemeral ports (32768 on).
pub const SIDECAR_PORTS: [u16; 2] = [28_000, 31_999];
/// The program, also where an ordinary user's `PATH` does not find it.
const PROGRAM: &str = "nft";
/// Timeout of the program; a few rules take milliseconds.
const LIMIT: Duration = Duration::from_secs(10);
/// Interval of checks whether the program has ended.
const PAUSE: Duration = Duration::from_millis(2);

/// Which traffic of a pod a sidecar takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrafficDirection {
    /// What the pod sends.
    Outbound,
    /// What is sent to it.
    Inbound,
}

/// How a sidecar's own traffic is recognised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Exemption {
    /// The group of its process, 1337.
    #[default]
    Group,
    /// A packet mark, or the ports from which it calls: a user namespace of one user has no second group.
    MarkOrPort,
}

/// Which traffic of a pod is redirected, and which is not.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RedirectRules {
    /// Redirected directions.
    pub directions: BTreeSet<TrafficDirection>,
    /// Destination ports, of either direction, that are not redirected.
    pub ports: BTreeSet<u16>,
    /// Ranges of destination addresses that are not redirected: `10.0.0.0/8`.
    pub ranges: BTreeSet<AddressRange>,
    /// Destinations that are not redirected.
    pub servers: BTreeSet<SocketAddrV4>,
    /// Destinations that are redirected to a port of their own.
    #[serde(default)]
    pub port_redirects: BTreeSet<PortRedirect>,
    /// How the sidecar's own traffic is recognised, which is never redirected.
    #[serde(default)]
    pub exemption: Exemption,
}

/// Traffic that is redirected to another port than the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PortRedirect {
    pub direction: TrafficDirection,
    /// Its destination.
    pub server: SocketAddrV4,
    /// Port of the sidecar.
    pub port: u16,
}

/// A range of addresses: `10.0.0.0/8`. Nothing else gets into rules, whoever wrote it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct AddressRange {
    address: IpAddr,
    bits: u8,
}

impl FromStr for AddressRange {
    type Err = String;

    fn from_str(text: &str) -> Result<AddressRange, String> {
        let parts = text.split_once('/');
        let parts = parts.and_then(|(address, bits)| {
            let address: IpAddr = address.parse().ok()?;
            let bits: u8 = bits.parse().ok()?;
            let bits_max = if address.is_ipv4() { 32 } else { 128 };
            (bits <= bits_max).then_some(AddressRange { address, bits })
        });
        parts.ok_or_else(|| format!("{text:?} is no range of addresses: write 10.0.0.0/8"))
    }
}

impl TryFrom<String> for AddressRange {
    type Error = String;

    fn try_from(text: String) -> Result<AddressRange, String> {
        text.parse()
    }
}

impl From<AddressRange> for String {
    fn from(range: AddressRange) -> String {
        range.to_string()
    }
}

impl std::fmt::Display for AddressRange {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(to, "{}/{}", self.address, self.bits)
    }
}

impl RedirectRules {
    /// The rules as an nftables script.
    #[must_use]
    pub fn nft_script(&self) -> String {
        let mut text = String::from("table ip tare {\n");
        for direction in &self.directions {
            let (chain, hook, device, port) = match direction {
                TrafficDirection::Outbound => ("outbound", "output", "oifname", OUTBOUND_PORT),
                TrafficDirection::Inbound => ("inbound", "prerouting", "iifname", INBOUND_PORT),
            };
            // Writing to a string cannot fail.
            let mut rule = |text_of: std::fmt::Arguments<'_>| {
                let _ = writeln!(text, "    {text_of}");
            };
            rule(format_args!("chain {chain} {{"));
            rule(format_args!(
                "  type nat hook {hook} priority -100; policy accept;"
            ));
            if *direction == TrafficDirection::Outbound {
                match self.exemption {
                    Exemption::Group => rule(format_args!("  meta skgid {SIDECAR_GROUP} return")),
                    Exemption::MarkOrPort => {
                        let [first, last] = SIDECAR_PORTS;
                        rule(format_args!("  meta mark {SIDECAR_MARK} return"));
                        rule(format_args!("  tcp sport {first}-{last} return"));
                    }
                }
            }
            // Loopback traffic is not redirected: the app's calls to itself, the sidecar's to the app, probes.
            rule(format_args!("  {device} \"lo\" return"));
            for port in &self.ports {
                rule(format_args!("  tcp dport {port} return"));
            }
            for server in &self.servers {
                let (address, port) = (server.ip(), server.port());
                rule(format_args!("  ip daddr {address} tcp dport {port} return"));
                if *direction == TrafficDirection::Inbound {
                    // A connection that is older than the rules: to the kernel its next packet is the first.
                    rule(format_args!("  ip saddr {address} tcp sport {port} return"));
                }
            }
            if *direction == TrafficDirection::Outbound {
                // Traffic of IPv6 is not redirected.
                for range in self.ranges.iter().filter(|range| range.address.is_ipv4()) {
                    rule(format_args!("  ip daddr {range} return"));
                }
            }
            let of_direction = |edge: &&PortRedirect| edge.direction == *direction;
            for edge in self.port_redirects.iter().filter(of_direction) {
                let (address, called, port) = (edge.server.ip(), edge.server.port(), edge.port);
                rule(format_args!(
                    "  ip daddr {address} tcp dport {called} redirect to :{port}"
                ));
            }
            rule(format_args!("  meta l4proto tcp redirect to :{port}"));
            rule(format_args!("}}"));
        }
        text.push_str("}\n");
        text
    }

    /// Sets the rules in a pod's network, all of them or none.
    ///
    /// # Errors
    /// When `nft` is missing, or rejects the rules (with its message).
    pub fn apply(&self, pod: &Namespace) -> Result<(), NetError> {
        pod.run(|| self.apply_here())?
    }

    /// Sets the rules in the network of this thread.
    ///
    /// # Errors
    /// As [`RedirectRules::apply`].
    pub fn apply_here(&self) -> Result<(), NetError> {
        let script = self.nft_script();
        run_nft(&script).map_err(|error| match error {
            NftError::NoProgram(missing) => NetError::NoNft(missing),
            NftError::Refused(source) => {
                let what = String::from("set the rules that redirect a pod's traffic");
                NetError::Refused { what, source }
            }
        })
    }
}

/// Why the rules are not set.
enum NftError {
    NoProgram(io::Error),
    Refused(io::Error),
}

fn run_nft(rules: &str) -> Result<(), NftError> {
    let mut child = locate::command(PROGRAM)
        .args(["-f", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(NftError::NoProgram)?;
    if let Some(mut input) = child.stdin.take() {
        // If the program ends without reading, its own message says why.
        let _ = input.write_all(rules.as_bytes());
    }
    let success = wait(&mut child).map_err(NftError::Refused)?;
    if success {
        return Ok(());
    }
    let mut words = String::new();
    if let Some(errors) = child.stderr.take() {
        // What cannot be read is left out of the message.
        let _ = errors.take(4096).read_to_string(&mut words);
    }
    Err(NftError::Refused(io::Error::other(words.trim().to_owned())))
}

fn wait(child: &mut Child) -> io::Result<bool> {
    let deadline = Instant::now() + LIMIT;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status.success());
        }
        if Instant::now() >= deadline {
            child.kill()?;
            child.wait()?;
            return Err(io::ErrorKind::TimedOut.into());
        }
        std::thread::sleep(PAUSE);
    }
}

/// How sidecars can be recognised in the user namespace of a process: one that maps a single user has no second group.
#[must_use]
pub fn exemption_in(pid: u32) -> Exemption {
    let map = std::fs::read_to_string(format!("/proc/{pid}/gid_map")).unwrap_or_default();
    if covers(&map, SIDECAR_GROUP) {
        Exemption::Group
    } else {
        Exemption::MarkOrPort
    }
}

/// Whether a `gid_map` of lines `inside outside count` has a group. (`user_namespaces(7)`)
fn covers(map: &str, group: u32) -> bool {
    map.lines().any(|line| {
        let mut fields = line.split_ascii_whitespace().map(str::parse::<u64>);
        match (fields.next(), fields.next(), fields.next()) {
            (Some(Ok(first)), Some(_), Some(Ok(count))) => {
                (first..first + count).contains(&u64::from(group))
            }
            _ => false,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_alone_comes_before_what_is_redirected() {
        let rules = RedirectRules {
            directions: BTreeSet::from([TrafficDirection::Outbound, TrafficDirection::Inbound]),
            ports: BTreeSet::from([27017]),
            ranges: ["192.168.0.0/16", "fd00::/8"]
                .map(|range| range.parse().unwrap())
                .into(),
            servers: BTreeSet::from(["10.77.1.2:20000".parse().unwrap()]),
            port_redirects: BTreeSet::from([PortRedirect {
                direction: TrafficDirection::Outbound,
                server: "10.77.1.3:20001".parse().unwrap(),
                port: 20007,
            }]),
            exemption: Exemption::Group,
        };
        let script = rules.nft_script();
        let (outbound, inbound) = script.split_once("chain inbound").unwrap();
        for rule in [
            "meta skgid 1337 return",
            "oifname \"lo\" return",
            "tcp dport 27017 return",
            "ip daddr 10.77.1.2 tcp dport 20000 return",
            "ip daddr 192.168.0.0/16 return",
        ] {
            let own = "ip daddr 10.77.1.3 tcp dport 20001 redirect to :20007";
            let own = outbound.find(own).unwrap();
            let redirect = outbound.find("redirect to :15001").unwrap();
            assert!(
                outbound.find(rule).unwrap() < own && own < redirect,
                "{script}"
            );
        }
        assert!(!inbound.contains("20007"));
        assert!(inbound.contains("iifname \"lo\" return"));
        assert!(inbound.contains("tcp dport 27017 return"));
        assert!(inbound.contains("ip saddr 10.77.1.2 tcp sport 20000 return"));
        assert!(!outbound.contains("saddr"));
        assert!(inbound.contains("redirect to :15006"));
        // Ranges are of called addresses; a sidecar's own group calls, it is not called.
        assert!(!inbound.contains("192.168") && !inbound.contains("skgid"));
        assert!(!script.contains("fd00"));
    }

    #[test]
    fn a_range_is_an_address_and_a_number_and_nothing_that_nft_would_carry_out() {
        for right in ["10.0.0.0/8", "0.0.0.0/0", "10.1.2.3/32", "fd00::/8"] {
            let range: AddressRange = right.parse().unwrap();
            assert_eq!(range.to_string(), right);
        }
        for wrong in [
            "10.0.0.0/8 return\ninclude \"/etc/shadow\"\n",
            "10.0.0.0/8;",
            "10.0.0.0/33",
            "fd00::/129",
            "10.0.0.0",
            "999.0.0.0/8",
            "@set/8",
            "",
        ] {
            assert!(wrong.parse::<AddressRange>().is_err(), "{wrong}");
            let message = serde_json::json!({"directions": [], "ports": [], "ranges": [wrong], "servers": []});
            assert!(
                serde_json::from_value::<RedirectRules>(message).is_err(),
                "{wrong}"
            );
        }
    }

    #[test]
    fn a_sidecar_without_a_group_is_known_by_its_mark_or_its_ports() {
        let mut rules = RedirectRules {
            directions: BTreeSet::from([TrafficDirection::Outbound]),
            ..RedirectRules::default()
        };
        assert!(!rules.nft_script().contains("mark") && !rules.nft_script().contains("sport"));
        rules.exemption = Exemption::MarkOrPort;
        let script = rules.nft_script();
        let redirect = script.find("redirect").unwrap();
        for rule in ["meta mark 1337 return", "tcp sport 28000-31999 return"] {
            assert!(script.find(rule).unwrap() < redirect, "{script}");
        }
        assert!(!script.contains("skgid"));
    }

    #[test]
    fn a_direction_that_is_not_redirected_has_no_rules() {
        let rules = RedirectRules {
            directions: BTreeSet::from([TrafficDirection::Inbound]),
            ..RedirectRules::default()
        };
        assert!(!rules.nft_script().contains("outbound"));
    }

    #[test]
    fn a_map_of_one_user_has_no_sidecar_group() {
        assert!(covers("         0          0 4294967295\n", SIDECAR_GROUP));
        assert!(!covers("         0       1000          1\n", SIDECAR_GROUP));
        assert!(covers("0 1000 1\n1 100000 65536\n", SIDECAR_GROUP));
        assert!(!covers("", SIDECAR_GROUP));
    }
}
