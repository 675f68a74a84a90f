//! Two namespaces with a link between them, for tests.
#![allow(dead_code, reason = "not every test uses all of it")]
#![allow(clippy::print_stderr, reason = "a test that is skipped says so")]

use std::io::{Read, Write};
use std::net::{IpAddr, Shutdown, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tare_net::link::{
    CountsPerDirection, DirectionCounts, DirectionPlan, Link, LinkPlan, Path, Pool, Scheduling,
};
use tare_net::namespace::Namespace;

pub const A: &str = "10.99.0.1";
pub const B: &str = "10.99.0.2";
/// Nothing here takes longer, however busy the machine.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// Datagrams that no device's queue and no socket's buffer is too small for.
pub const AT_ONCE: u64 = 100;

/// Two joined namespaces; the link has real-time scheduling.
pub struct Pair {
    pub link: Link,
    pub a: Namespace,
    pub b: Namespace,
}

/// Nothing can be tested without the right to make a namespace; root has it, so there it must work.
pub fn permitted() -> bool {
    let permitted = Namespace::new().is_ok();
    assert!(
        permitted || !rustix::process::geteuid().is_root(),
        "root can make namespaces"
    );
    if !permitted {
        eprintln!("skipped: no network namespace without root");
    }
    permitted
}

impl Pair {
    pub fn joined(way: &DirectionPlan) -> Self {
        Self::in_pool(way, Scheduling::RealTime, &Arc::default())
    }

    pub fn in_pool(way: &DirectionPlan, scheduling: Scheduling, pool: &Arc<Pool>) -> Self {
        let (a, b) = (Namespace::new().unwrap(), Namespace::new().unwrap());
        let plan = LinkPlan {
            scheduling,
            ..LinkPlan::symmetric(["wan0", "wan0"], way, 7)
        };
        let link = Link::start(a.as_fd(), b.as_fd(), &plan, pool).unwrap();
        for (namespace, own, other) in [(&a, A, B), (&b, B, A)] {
            // Else IPv6 says hello at moments of its own, and the counts are not the test's alone.
            ip(namespace, "link set wan0 addrgenmode none");
            ip(namespace, &format!("addr add {own} peer {other} dev wan0"));
            ip(namespace, "link set wan0 up");
        }
        Self { link, a, b }
    }

    /// From a to b.
    pub fn path(&self) -> Path<'_> {
        Path {
            from: Some(self.a.as_fd()),
            to: Some(self.b.as_fd()),
            address: B.parse::<IpAddr>().unwrap(),
        }
    }
}

/// A socket in a that sends to the returned one in b.
pub fn datagrams(pair: &Pair) -> (UdpSocket, UdpSocket) {
    let far = within(&pair.b, || UdpSocket::bind((B, 0)).unwrap());
    let near = within(&pair.a, || UdpSocket::bind("0.0.0.0:0").unwrap());
    near.connect(far.local_addr().unwrap()).unwrap();
    far.set_read_timeout(Some(Duration::from_millis(100)))
        .unwrap();
    (near, far)
}

/// Sends so many numbered datagrams of a size, and returns when all are taken: never more at once than there is room for.
pub fn send(near: &UdpSocket, datagrams: u32, bytes: usize, taken: impl Fn() -> u64) {
    let deadline = Instant::now() + PATIENCE;
    let before = taken();
    let wait = |sent: u64, room: u64| {
        while taken() - before + room < sent {
            assert!(Instant::now() < deadline, "{} of {sent}", taken() - before);
            std::thread::yield_now();
        }
    };
    let mut datagram = vec![0; bytes];
    for number in 0..datagrams {
        wait(number.into(), AT_ONCE);
        datagram[..4].copy_from_slice(&number.to_ne_bytes());
        near.send(&datagram).unwrap();
    }
    wait(datagrams.into(), 0);
}

/// Packets that have entered the way there since.
pub fn entered(pair: &Pair, before: DirectionCounts) -> u64 {
    pair.link.counts().there.entered_packets - before.entered_packets
}

/// The counts once nothing is under way any more.
pub fn settled(pair: &Pair) -> CountsPerDirection {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let counts = pair.link.counts();
        let arrived = |way: DirectionCounts| way.passed_packets + way.dropped_packets();
        if [counts.there, counts.back]
            .iter()
            .all(|way| way.entered_packets == arrived(*way))
        {
            return counts;
        }
        assert!(Instant::now() < deadline, "still under way: {counts:?}");
        std::thread::yield_now();
    }
}

/// Sends all of it over a connection; what arrived at the other end.
pub fn carried(mut near: TcpStream, mut far: TcpStream, sent: &[u8]) -> Vec<u8> {
    std::thread::scope(|scope| {
        scope.spawn(move || {
            near.write_all(sent).unwrap();
            near.shutdown(Shutdown::Write).unwrap();
        });
        let mut received = Vec::new();
        far.read_to_end(&mut received).unwrap();
        received
    })
}

/// Runs something in a namespace.
pub fn within<T: Send>(namespace: &Namespace, body: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        scope
            .spawn(|| {
                let network = Some(rustix::thread::LinkNameSpaceType::Network);
                rustix::thread::move_into_link_name_space(namespace.as_fd(), network).unwrap();
                body()
            })
            .join()
            .unwrap()
    })
}

/// Runs `ip` there; its output.
pub fn ip(namespace: &Namespace, words: &str) -> String {
    within(namespace, || {
        let ran = Command::new("ip")
            .args(words.split_whitespace())
            .output()
            .unwrap();
        assert!(
            ran.status.success(),
            "ip {words}: {}",
            String::from_utf8_lossy(&ran.stderr)
        );
        String::from_utf8(ran.stdout).unwrap()
    })
}
