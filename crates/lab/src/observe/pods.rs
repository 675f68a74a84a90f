//! Network usage of a pod: packets, bytes, connections, TCP retransmits.

use std::fs::File;
use std::io::{Read, Seek};

use tare_record::record::PodUsage;

/// A pod with a network namespace, and its instances.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservedPod {
    pub pod: String,
    /// A process in it, as the host sees it: its `/proc` shows the pod's counters.
    pub pid: u32,
    pub instances: Vec<String>,
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

    /// Counters of the pod since it was created.
    pub(crate) fn read(&self) -> PodUsage {
        let mut reading = PodUsage::default();
        // What cannot be read stays `None`.
        let _ = text(self.device.as_ref()).and_then(|text| read_devices(&text, &mut reading));
        let _ = text(self.tcp.as_ref()).and_then(|text| read_tcp(&text, &mut reading));
        reading
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

/// Growth between two readings.
pub(crate) fn growth(pod: &str, first: &PodUsage, last: &PodUsage) -> PodUsage {
    let grown = |of: fn(&PodUsage) -> Option<u64>| Some(of(last)?.saturating_sub(of(first)?));
    PodUsage {
        pod: pod.to_owned(),
        node: None,
        packets_in: grown(|p| p.packets_in),
        packets_out: grown(|p| p.packets_out),
        bytes_in: grown(|p| p.bytes_in),
        bytes_out: grown(|p| p.bytes_out),
        tcp_opened: grown(|p| p.tcp_opened),
        tcp_accepted: grown(|p| p.tcp_accepted),
        tcp_segments_sent: grown(|p| p.tcp_segments_sent),
        tcp_retransmits: grown(|p| p.tcp_retransmits),
    }
}

/// The sum over all devices of `/proc/PID/net/dev` but the loopback device. (`proc_pid_net(5)`)
fn read_devices(text: &str, into: &mut PodUsage) -> Option<()> {
    let mut sums = [0_u64; 4];
    for line in text.lines().skip(2) {
        let (name, counts) = line.split_once(':')?;
        if name.trim() == "lo" {
            continue;
        }
        let counts = counts.split_ascii_whitespace();
        let counts: Vec<u64> = counts.map_while(|count| count.parse().ok()).collect();
        for (sum, column) in sums.iter_mut().zip([0, 1, 8, 9]) {
            *sum += counts.get(column)?;
        }
    }
    let [bytes_in, packets_in, bytes_out, packets_out] = sums.map(Some);
    (into.bytes_in, into.packets_in) = (bytes_in, packets_in);
    (into.bytes_out, into.packets_out) = (bytes_out, packets_out);
    Some(())
}

/// The two lines `Tcp:` of `/proc/PID/net/snmp`: names, then values. (RFC 4022)
fn read_tcp(text: &str, into: &mut PodUsage) -> Option<()> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Tcp:"));
    let (names, values) = (lines.next()?, lines.next()?);
    let value = |wanted: &str| -> Option<u64> {
        let names = names.split_ascii_whitespace();
        let mut pairs = names.zip(values.split_ascii_whitespace());
        pairs.find(|(name, _)| *name == wanted)?.1.parse().ok()
    };
    into.tcp_opened = value("ActiveOpens");
    into.tcp_accepted = value("PassiveOpens");
    into.tcp_segments_sent = value("OutSegs");
    into.tcp_retransmits = value("RetransSegs");
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEV: &str = "Inter-|   Receive  |  Transmit\n face |bytes packets errs drop fifo frame compressed multicast|bytes packets errs\n    lo: 900 90 0 0 0 0 0 0 900 90 0 0 0 0 0 0\n  eth0: 5000 42 0 0 0 0 0 0 7000 51 0 0 0 0 0 0\n";
    const SNMP: &str = "Ip: Forwarding\nIp: 1\nTcp: RtoAlgorithm MaxConn ActiveOpens PassiveOpens InSegs OutSegs RetransSegs\nTcp: 1 -1 12 3 100 90 2\n";

    #[test]
    fn a_pods_counts_leave_out_what_passed_within_it() {
        let mut found = PodUsage::default();
        assert!(read_devices(DEV, &mut found).is_some());
        assert_eq!((found.bytes_in, found.packets_in), (Some(5000), Some(42)));
        assert_eq!((found.bytes_out, found.packets_out), (Some(7000), Some(51)));
        let mut none = PodUsage::default();
        assert_eq!(
            read_devices("a\nb\n eth0 without a colon\n", &mut none),
            None
        );
        assert_eq!(none, PodUsage::default());
    }

    #[test]
    fn connections_and_retransmits_are_found_by_name() {
        let mut tcp = PodUsage::default();
        assert!(read_tcp(SNMP, &mut tcp).is_some());
        assert_eq!((tcp.tcp_opened, tcp.tcp_accepted), (Some(12), Some(3)));
        assert_eq!(
            (tcp.tcp_segments_sent, tcp.tcp_retransmits),
            (Some(90), Some(2))
        );
        assert_eq!(read_tcp("Tcp: ActiveOpens\n", &mut tcp), None);
    }

    #[test]
    fn what_cannot_be_read_is_missing_and_not_nothing() {
        let gone = PodCounts::open(99_999_999).read();
        assert_eq!(gone, PodUsage::default());
        let usage = growth("server", &gone, &gone);
        assert_eq!((usage.packets_in, usage.tcp_retransmits), (None, None));
    }
}
