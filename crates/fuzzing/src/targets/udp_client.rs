//! The UDP client against datagrams of any content: every exchange ends once.

use crate::fixtures;
use crate::script::run_script;
use tare_load::protocols::udp::{Udp, UdpOptions, UdpPlan};

/// Runs one input. The key of the datagrams is zero, so that inputs can hit numbers that were sent.
pub fn run(data: &[u8]) {
    let connections = fixtures::connections();
    let client = Udp::new(UdpPlan {
        addresses: connections.addresses,
        first: 0,
        connections: connections.count,
        options: UdpOptions {
            datagram_bytes: 16,
            in_flight_max: 4,
        },
        timeout_ns: connections.timeout_ns,
        key: 0,
        in_flight_max: 64,
    });
    run_script(client, data);
}
