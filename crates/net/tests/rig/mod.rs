//! Two namespaces with a link between them, for tests.
#![allow(dead_code, reason = "not every test uses all of it")]
#![allow(clippy::print_stderr, reason = "a test that is skipped says so")]

use std::io::{Read, Write};
use std::net::{IpAddr, Shutdown, TcpStream};
use std::os::fd::AsFd;
use std::process::Command;

use tare_net::link::{Link, LinkPlan, Path, Scheduling, WayPlan};
use tare_net::namespace::Namespace;

pub const A: &str = "10.99.0.1";
pub const B: &str = "10.99.0.2";

/// Two joined namespaces; the link goes first.
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
    pub fn joined(way: &WayPlan) -> Self {
        Self::scheduled(way, Scheduling::First)
    }

    pub fn scheduled(way: &WayPlan, scheduling: Scheduling) -> Self {
        let (a, b) = (Namespace::new().unwrap(), Namespace::new().unwrap());
        let plan = LinkPlan {
            scheduling,
            ..LinkPlan::symmetric(["wan0", "wan0"], way, 7)
        };
        let link = Link::start(a.as_fd(), b.as_fd(), &plan).unwrap();
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
