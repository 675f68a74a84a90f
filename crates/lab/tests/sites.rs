//! Sites at a distance: all of it ends with its owner, and where it cannot be had nothing is half made.

#![expect(
    clippy::unwrap_used,
    reason = "the functions beside the tests fail as the tests do"
)]

mod base;

use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};
use std::time::Duration;

use base::pods::devices;
use base::{Base, LIMIT, within};

const RIG: &str = env!("CARGO_BIN_EXE_lab-rig");
/// There and back again, as the rig asks for it.
const ROUND_TRIP_NS: u64 = 4_000_000;

#[test]
fn nothing_survives_an_owner_of_sites_with_captured_traffic_killed_at_any_moment() {
    let base = Base::new("sites-owner");
    let user = rustix::process::geteuid().as_raw();
    let before = (devices(), tables());
    for round in 0..20_u64 {
        let mut owner = base.owner("owner-of-sites", round, user);
        // The link is measured for a second; every fourth owner has all that it wants.
        if round % 4 == 3 {
            let stands = within(LIMIT, || base.carrying(round).len() >= 28);
            assert!(
                stands,
                "round {round}: all four trees stand, each in its pod"
            );
            // The host's, the keeper's, two routers' and four pods'.
            assert_eq!(base.networks().len(), 8, "{:?}", base.networks());
        } else {
            std::thread::sleep(Duration::from_millis((round * round * 97) % 1709));
        }
        let (networks, groups) = (base.networks(), base.groups());
        owner.kill().unwrap();
        owner.wait().unwrap();
        base.assert_gone(round, &networks);
        assert!(groups.iter().all(|group| !group.exists()), "{groups:?}");
    }
    assert_eq!((devices(), tables()), before);
}

#[test]
fn sites_pass_packets_on_though_the_host_does_not_and_leave_its_setting_alone() {
    let base = Base::new("sites-forward");
    let setting = "/proc/sys/net/ipv4/ip_forward";
    let output = unshare(&["--net"])
        .arg(format!(
            "echo 0 > {setting} && \"$0\" sites \"$1\" && cat {setting}"
        ))
        .args([RIG, &base.text()])
        .output()
        .unwrap();
    let text = said(&output);
    let figure = |name: &str| -> Option<u64> {
        let mut lines = text.lines();
        lines.find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
    };
    // Counted by the link as well as by who called across it.
    assert!(figure("round trip ").unwrap() >= ROUND_TRIP_NS, "{text}");
    assert!(figure("answer ").unwrap() >= ROUND_TRIP_NS, "{text}");
    assert_eq!(text.lines().last(), Some("0"), "{text}");
}

#[test]
fn without_tun_the_next_step_is_told_and_no_half_of_a_network_stays() {
    let base = Base::new("sites-no-tun");
    let before = devices();
    for hide in [
        "mount --bind /dev/null /dev/net/tun",
        "mount -t tmpfs none /dev/net",
    ] {
        let output = unshare(&["--mount"])
            .arg(format!("{hide} && exec \"$0\" describe-sites \"$1\""))
            .args([RIG, &base.text()])
            .output()
            .unwrap();
        let text = said(&output);
        assert!(
            text.contains("/dev/net/tun") && text.contains("modprobe tun"),
            "{hide}: {text}"
        );
        assert!(text.contains("--device /dev/net/tun"), "{hide}: {text}");
        assert_nothing(&base);
    }
    assert_eq!(devices(), before);
}

#[test]
fn without_namespaces_a_distance_is_refused_and_everything_else_stays_on_loopback() {
    let base = Base::new("sites-nowhere");
    std::fs::set_permissions(&base.0, std::fs::Permissions::from_mode(0o777)).unwrap();
    let root = tempfile::tempdir().unwrap();
    let root = root.path().display();
    let drop_all = "exec setpriv --bounding-set=-all --inh-caps=-all \"$0\"";
    // No rights and no more user namespaces; and an unprivileged user whom the kernel denies them (as it does in a changed root).
    for (hide, reason) in [
        (
            format!("echo 0 > /proc/sys/user/max_user_namespaces && {drop_all}"),
            "limit of namespaces",
        ),
        (
            format!("mount --rbind / {root} && exec chroot --userspec=65534:65534 {root} \"$0\""),
            "not permitted",
        ),
    ] {
        let run = |word: &str| {
            let mut command = unshare(&["--user", "--map-root-user", "--mount"]);
            if reason == "not permitted" {
                // Another user than root can only be had as root.
                command = unshare(&["--mount"]);
            }
            command.arg(format!("{hide} {word} \"$1\""));
            let rig = base.rig();
            said(&command.arg(rig).arg(base.text()).output().unwrap())
        };
        if reason == "not permitted" && !rustix::process::geteuid().is_root() {
            continue;
        }
        let text = run("describe");
        assert!(
            text.starts_with("loopback: namespaces are not possible here")
                && text.contains(reason)
                && text.contains("root"),
            "{text}"
        );
        let text = run("describe-sites");
        assert!(
            text.starts_with("sites: not possible with")
                && text.contains(reason)
                && text.contains("leave the sites out"),
            "{text}"
        );
        assert_nothing(&base);
    }
}

/// A shell in namespaces of its own, where what it changes is seen by nobody else.
fn unshare(kinds: &[&str]) -> Command {
    let mut command = Command::new("unshare");
    // Who is not root may do this in a user namespace only.
    if !rustix::process::geteuid().is_root() && !kinds.contains(&"--user") {
        command.args(["--user", "--map-root-user"]);
    }
    command.args(kinds).args(["sh", "-c"]);
    command
}

fn said(output: &Output) -> String {
    [&output.stdout, &output.stderr]
        .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
        .concat()
}

fn assert_nothing(base: &Base) {
    assert_eq!(base.keepers(), Vec::<u32>::new());
    assert!(base.entries().is_empty(), "{:?}", base.entries());
}

/// Tables of rules of the host.
fn tables() -> String {
    said(
        &Command::new("nft")
            .args(["list", "tables"])
            .output()
            .unwrap(),
    )
}
