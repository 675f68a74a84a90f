//! Network usage of a pod: packets, bytes, connections, TCP retransmits.

use std::fs::File;
use std::io::{Read, Seek};

use tare_schema::record::PodUsage;

/// A pod with a network namespace, and its instances.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservedPod {
    /// Its name.
    pub pod: String,
    /// A process in it, as the host sees it: its `/proc` shows the pod's counters.
    pub pid: u32,
    /// All instances in it.
    pub instances: Vec<String>,
}

/// Counters of a pod since it was created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct PodReading {
    device: Option<Device>,
    tcp: Option<Tcp>,
}

/// Sum of the pod's devices, without loopback.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Device {
    bytes_in: u64,
    packets_in: u64,
    bytes_out: u64,
    packets_out: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Tcp {
    opened: u64,
    accepted: u64,
    sent: u64,
    retransmitted: u64,
}

/// Open counter files of a pod's network namespace: a load agent, perhaps the only process in the pod, may end before
/// the last reading.
#[derive(Debug)]
pub(crate) struct PodCounts {
    device: Option<File>,
    tcp: Option<File>,
}

impl PodCounts {
    pub(crate) fn open(pid: u32) -> PodCounts {
        let open = |file: &str| File::open(format!("/proc/{pid}/net/{file}")).ok();
        PodCounts {
            device: open("dev"),
            tcp: open("snmp"),
        }
    }

    pub(crate) fn read(&self) -> PodReading {
        PodReading {
            device: text(self.device.as_ref()).as_deref().and_then(device),
            tcp: text(self.tcp.as_ref()).as_deref().and_then(tcp),
        }
    }
}

/// Current text of a file.
fn text(file: Option<&File>) -> Option<String> {
    let mut file = file?;
    let mut text = String::new();
    file.rewind().ok()?;
    file.read_to_string(&mut text).ok()?;
    Some(text)
}

impl PodReading {
    /// Growth since an earlier reading.
    pub(crate) fn since(&self, first: &PodReading, pod: &str) -> PodUsage {
        let device = |value: fn(&Device) -> u64| {
            let (last, first) = (self.device?, first.device?);
            Some(value(&last).saturating_sub(value(&first)))
        };
        let tcp = |value: fn(&Tcp) -> u64| {
            let (last, first) = (self.tcp?, first.tcp?);
            Some(value(&last).saturating_sub(value(&first)))
        };
        PodUsage {
            pod: pod.to_owned(),
            packets_in: device(|d| d.packets_in),
            packets_out: device(|d| d.packets_out),
            bytes_in: device(|d| d.bytes_in),
            bytes_out: device(|d| d.bytes_out),
            tcp_opened: tcp(|t| t.opened),
            tcp_accepted: tcp(|t| t.accepted),
            tcp_segments_sent: tcp(|t| t.sent),
            tcp_retransmits: tcp(|t| t.retransmitted),
        }
    }
}

/// The sum over all devices of `/proc/PID/net/dev` but the loopback device. (`proc_pid_net(5)`)
fn device(text: &str) -> Option<Device> {
    let mut all = Device::default();
    for line in text.lines().skip(2) {
        let (name, counts) = line.split_once(':')?;
        if name.trim() == "lo" {
            continue;
        }
        let counts: Vec<u64> = counts
            .split_ascii_whitespace()
            .map_while(|count| count.parse().ok())
            .collect();
        all.bytes_in += counts.first()?;
        all.packets_in += counts.get(1)?;
        all.bytes_out += counts.get(8)?;
        all.packets_out += counts.get(9)?;
    }
    Some(all)
}

/// The two lines `Tcp:` of `/proc/PID/net/snmp`: names, then values. (RFC 4022)
fn tcp(text: &str) -> Option<Tcp> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Tcp:"));
    let (names, values) = (lines.next()?, lines.next()?);
    let value = |wanted: &str| {
        let names = names.split_ascii_whitespace();
        let mut pairs = names.zip(values.split_ascii_whitespace());
        pairs.find(|(name, _)| *name == wanted)?.1.parse().ok()
    };
    Some(Tcp {
        opened: value("ActiveOpens")?,
        accepted: value("PassiveOpens")?,
        sent: value("OutSegs")?,
        retransmitted: value("RetransSegs")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEV: &str = "Inter-|   Receive  |  Transmit\n face |bytes packets errs drop fifo frame compressed multicast|bytes packets errs\n    lo: 900 90 0 0 0 0 0 0 900 90 0 0 0 0 0 0\n  eth0: 5000 42 0 0 0 0 0 0 7000 51 0 0 0 0 0 0\n";
    const SNMP: &str = "Ip: Forwarding\nIp: 1\nTcp: RtoAlgorithm MaxConn ActiveOpens PassiveOpens InSegs OutSegs RetransSegs\nTcp: 1 -1 12 3 100 90 2\n";

    #[test]
    fn a_pods_counts_leave_out_what_passed_within_it() {
        assert_eq!(
            device(DEV).unwrap(),
            Device {
                bytes_in: 5000,
                packets_in: 42,
                bytes_out: 7000,
                packets_out: 51
            }
        );
        assert_eq!(device("a\nb\n eth0 without a colon\n"), None);
    }

    #[test]
    fn connections_and_retransmits_are_found_by_name() {
        let tcp = tcp(SNMP).unwrap();
        assert_eq!((tcp.opened, tcp.accepted), (12, 3));
        assert_eq!((tcp.sent, tcp.retransmitted), (90, 2));
        assert_eq!(super::tcp("Tcp: ActiveOpens\n"), None);
    }

    #[test]
    fn what_cannot_be_read_is_missing_and_not_nothing() {
        let gone = PodCounts::open(99_999_999).read();
        assert_eq!(gone, PodReading::default());
        let usage = gone.since(&gone, "server");
        assert_eq!((usage.packets_in, usage.tcp_retransmits), (None, None));
    }
}
