//! Redirected traffic in pods of their own, with the real nft: what goes to the sidecar, and what does not.

#![expect(
    clippy::unwrap_used,
    reason = "the functions beside the tests fail as the tests do"
)]

use std::collections::BTreeSet;
use std::io::Read;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

use tare_net::Switch;
use tare_net::namespace::Namespace;
use tare_net::redirect::{
    INBOUND_PORT, OUTBOUND_PORT, RedirectRules, SIDECAR_GROUP, TrafficDirection,
};

/// A pod with a sidecar's ports, and one outside.
struct Two {
    _home: Namespace,
    _switch: Switch,
    pod: Namespace,
    outside: Namespace,
}

const POD: Ipv4Addr = Ipv4Addr::new(10, 77, 1, 0);
const OUTSIDE: Ipv4Addr = Ipv4Addr::new(10, 77, 1, 1);

impl Two {
    fn new() -> Two {
        let home = Namespace::new().unwrap();
        let mut switch = home.run(Switch::new).unwrap().unwrap();
        let (pod, outside) = (Namespace::new().unwrap(), Namespace::new().unwrap());
        switch.attach(&pod, POD).unwrap();
        switch.attach(&outside, OUTSIDE).unwrap();
        Two {
            _home: home,
            _switch: switch,
            pod,
            outside,
        }
    }
}

/// A server that answers every caller with its own name.
fn answer(place: &Namespace, at: SocketAddr, name: &'static str) {
    let listener = place.run(|| TcpListener::bind(at).unwrap()).unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let _ = std::io::Write::write_all(&mut stream.unwrap(), name.as_bytes());
        }
    });
}

/// Who answers a call from a place.
fn asked(from: &Namespace, at: (Ipv4Addr, u16)) -> String {
    from.run(|| {
        let mut stream = TcpStream::connect(at).unwrap();
        let limit = Some(Duration::from_secs(60));
        stream.set_read_timeout(limit).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    })
    .unwrap()
}

#[test]
fn an_app_reaches_its_sidecar_when_it_calls_and_is_called_but_not_where_it_is_left_alone() {
    let two = Two::new();
    let any = |port| SocketAddr::from((Ipv4Addr::UNSPECIFIED, port));
    answer(&two.pod, any(OUTBOUND_PORT), "outbound");
    answer(&two.pod, any(INBOUND_PORT), "inbound");
    for port in [80, 81, 82] {
        answer(&two.pod, any(port), "app");
        answer(&two.outside, any(port), "other");
    }
    let rules = RedirectRules {
        directions: BTreeSet::from([TrafficDirection::Outbound, TrafficDirection::Inbound]),
        ports: BTreeSet::from([81]),
        servers: BTreeSet::from([format!("{OUTSIDE}:82").parse().unwrap()]),
        ..RedirectRules::default()
    };
    rules.apply(&two.pod).unwrap();
    assert_eq!(asked(&two.pod, (OUTSIDE, 80)), "outbound");
    assert_eq!(asked(&two.outside, (POD, 80)), "inbound");
    for port in [81, 82] {
        assert_eq!(asked(&two.pod, (OUTSIDE, port)), "other");
    }
    assert_eq!(asked(&two.outside, (POD, 81)), "app");
    // Within the pod, probes and the sidecar's own calls to the app.
    assert_eq!(asked(&two.pod, (POD, 80)), "app");
}

#[test]
fn what_the_sidecar_itself_sends_is_not_redirected() {
    let two = Two::new();
    let any = |port| SocketAddr::from((Ipv4Addr::UNSPECIFIED, port));
    answer(&two.pod, any(OUTBOUND_PORT), "outbound");
    answer(&two.outside, any(80), "other");
    let rules = RedirectRules {
        directions: BTreeSet::from([TrafficDirection::Outbound]),
        ..RedirectRules::default()
    };
    rules.apply(&two.pod).unwrap();
    let call = |group: Option<u32>| {
        let output = two.pod.run(|| {
            let mut command = Command::new("bash");
            command.args(["-c", &format!("cat < /dev/tcp/{OUTSIDE}/80")]);
            if let Some(group) = group {
                command.gid(group);
            }
            command.output().unwrap()
        });
        String::from_utf8(output.unwrap().stdout).unwrap()
    };
    assert_eq!(call(None), "outbound");
    assert_eq!(call(Some(SIDECAR_GROUP)), "other");
}

#[test]
fn rules_that_nft_does_not_take_are_refused_in_its_own_words() {
    let pod = Namespace::new().unwrap();
    let nft = |script: &str| {
        let output = pod.run(|| Command::new("nft").arg(script).output());
        String::from_utf8(output.unwrap().unwrap().stdout).unwrap()
    };
    // A chain of this name and another kind.
    nft("add table ip tare { chain outbound { type filter hook input priority 0; }; }");
    let before = nft("list ruleset");
    assert!(before.contains("type filter"), "{before}");
    let rules = RedirectRules {
        directions: BTreeSet::from([TrafficDirection::Outbound]),
        ..RedirectRules::default()
    };
    let error = rules.apply(&pod).unwrap_err().to_string();
    assert!(error.contains("chain outbound"), "{error}");
    assert_eq!(nft("list ruleset"), before);
}

/// Set in the copy of this test from which nft is hidden.
const HIDDEN: &str = "TARE_TEST_NFT_HIDDEN";

#[test]
fn without_nft_the_message_says_how_to_get_it_and_nothing_is_half_made() {
    if std::env::var_os(HIDDEN).is_some() {
        let pod = Namespace::new().unwrap();
        let rules = RedirectRules {
            directions: BTreeSet::from([TrafficDirection::Outbound]),
            ..RedirectRules::default()
        };
        let error = rules.apply(&pod).unwrap_err().to_string();
        assert!(
            error.contains("apt-get install nftables") && error.contains("interception: explicit"),
            "{error}"
        );
        return;
    }
    // In a mount namespace of its own, nft is a file that cannot be executed.
    let hide = "for file in /usr/sbin/nft /sbin/nft /usr/bin/nft; do \
                if [ -e $file ]; then mount --bind /dev/null $file; fi; done; exec \"$@\"";
    let name = "without_nft_the_message_says_how_to_get_it_and_nothing_is_half_made";
    let output = Command::new("unshare")
        .args([
            "--mount",
            "--propagation",
            "private",
            "sh",
            "-c",
            hide,
            "sh",
        ])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", name])
        .env(HIDDEN, "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
