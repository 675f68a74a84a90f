//! Pods on a switch, in namespaces of their own: the host's is never touched. They need the privilege to make them.

#![expect(
    clippy::unwrap_used,
    reason = "the functions beside the tests fail as the tests do"
)]

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};

use tare_net::Switch;
use tare_net::namespace::Namespace;

fn switch() -> (Namespace, Switch) {
    let home = Namespace::new().unwrap();
    let switch = home.run(Switch::new).unwrap().unwrap();
    (home, switch)
}

fn pod(switch: &mut Switch, number: u16) -> (Namespace, Ipv4Addr) {
    let pod = Namespace::new().unwrap();
    let address = Switch::pod_address(number).unwrap();
    switch.attach(&pod, address).unwrap();
    (pod, address)
}

/// Names of the devices of the calling thread's namespace, but those of Kubernetes nodes, which other tests start.
fn devices() -> Vec<String> {
    let text = std::fs::read_to_string("/proc/thread-self/net/dev").unwrap();
    let lines = text.lines().skip(2);
    lines
        .map(|line| line.split(':').next().unwrap().trim().to_owned())
        .filter(|name| !name.starts_with("tare-k"))
        .collect()
}

/// What one byte sent and sent back tells of the way.
fn exchange(listener: &TcpListener, at: SocketAddr, from: &Namespace) -> SocketAddr {
    std::thread::scope(|scope| {
        let caller = scope.spawn(|| {
            from.run(|| {
                let mut stream = TcpStream::connect(at).unwrap();
                stream.write_all(b"x").unwrap();
                let mut answer = [0];
                stream.read_exact(&mut answer).unwrap();
            })
            .unwrap();
        });
        let (mut stream, peer) = listener.accept().unwrap();
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        stream.write_all(&byte).unwrap();
        caller.join().unwrap();
        peer
    })
}

#[test]
fn pods_reach_each_other_and_themselves_over_the_switch() {
    let (_home, mut switch) = switch();
    let (one, one_address) = pod(&mut switch, 0);
    let (two, two_address) = pod(&mut switch, 1);
    let listener = one.run(|| TcpListener::bind((one_address, 80)).unwrap());
    let listener = listener.unwrap();
    let at = SocketAddr::from((one_address, 80));
    assert_eq!(exchange(&listener, at, &two).ip(), two_address);
    assert_eq!(exchange(&listener, at, &one).ip(), one_address);
}

#[test]
fn the_host_sees_neither_switch_nor_pods() {
    let before = devices();
    let (home, mut switch) = switch();
    let (pod, _) = pod(&mut switch, 7);
    assert_eq!(devices(), before);
    assert_eq!(home.run(devices).unwrap().len(), 3);
    assert_eq!(pod.run(devices).unwrap(), ["lo", "eth0"]);
}

#[test]
fn a_pod_that_nobody_holds_takes_its_port_with_it() {
    let (home, mut switch) = switch();
    let (pod, _) = pod(&mut switch, 0);
    assert!(home.run(devices).unwrap().contains(&String::from("port1")));
    drop(pod);
    // The kernel clears namespaces up in the background.
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while home.run(devices).unwrap().contains(&String::from("port1")) {
        assert!(std::time::Instant::now() < deadline, "port1 is still there");
        std::thread::yield_now();
    }
}

#[test]
fn two_switches_use_the_same_addresses_and_do_not_meet() {
    let (_home_a, mut a) = switch();
    let (_home_b, mut b) = switch();
    let (one, address) = pod(&mut a, 0);
    let (other, _) = pod(&mut b, 0);
    let (outsider, _) = pod(&mut b, 1);
    let listener = one
        .run(|| TcpListener::bind((address, 80)).unwrap())
        .unwrap();
    let refused = outsider.run(|| TcpStream::connect((address, 80)).map(drop));
    assert_eq!(
        refused.unwrap().unwrap_err().kind(),
        std::io::ErrorKind::ConnectionRefused
    );
    drop((listener, other));
}

#[test]
fn a_pods_counts_hold_no_chatter_of_ipv6() {
    let (_home, mut switch) = switch();
    let (one, _) = pod(&mut switch, 0);
    let files = ["/proc/sys/net/ipv6/conf/eth0/disable_ipv6"];
    for file in files.map(String::from) {
        let off = one.run(|| std::fs::read_to_string(&file)).unwrap();
        // A kernel without IPv6 has no such file.
        assert!(off.map_or(true, |text| text.trim() == "1"));
    }
}

#[test]
fn every_pod_has_an_address_of_its_own_until_there_are_too_many() {
    let addresses: std::collections::BTreeSet<_> = (0..)
        .map_while(Switch::pod_address)
        .filter(|address| *address != Switch::address() && !address.is_broadcast())
        .collect();
    assert_eq!(addresses.len(), 0xFE00);
    assert!(addresses.iter().all(Ipv4Addr::is_private));
}
