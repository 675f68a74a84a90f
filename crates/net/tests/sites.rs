//! Three sites joined by links: pods reach each other over the distance that lies between, and only over that.
#![allow(
    clippy::unwrap_used,
    reason = "the functions beside the tests fail as the tests do"
)]

mod rig;

use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Instant;

use rig::{PATIENCE, carried, permitted};
use tare_net::link::{DirectionPlan, Link, LinkPlan, Path, connected, round_trips};
use tare_net::namespace::Namespace;
use tare_net::site::{Site, join, path_between};

const MS: u64 = 1_000_000;

fn sites() -> [Site; 3] {
    [0, 1, 2].map(|number| Site::new(number).unwrap())
}

fn joined(one: &Site, other: &Site, round_trip_ms: u64) -> Link {
    let way = DirectionPlan {
        delay_ns: round_trip_ms * MS / 2,
        ..DirectionPlan::default()
    };
    let plan = LinkPlan::symmetric(["", ""], &way, 1);
    join(one, other, &plan, &Arc::default()).unwrap()
}

/// The first pod of a site.
fn pod(site: &mut Site) -> Namespace {
    let pod = Namespace::new().unwrap();
    let address = site.pod_address(0).unwrap();
    site.attach(&pod, address).unwrap();
    pod
}

#[test]
fn pods_of_two_sites_are_as_far_apart_as_the_link_between_them() {
    if !permitted() {
        return;
    }
    let mut sites = sites();
    let pods: Vec<Namespace> = sites.iter_mut().map(pod).collect();
    let [east, west, north] = &sites;
    let links = [
        joined(east, west, 6),
        joined(east, north, 14),
        joined(west, north, 10),
    ];
    for (from, to, least_ms) in [(0, 1, 6), (0, 2, 14), (1, 2, 10), (2, 1, 10)] {
        let before: Vec<u64> = links
            .iter()
            .map(|link| link.counts().there.passed_packets)
            .collect();
        let path = Path {
            from: Some(pods[from].as_fd()),
            to: Some(pods[to].as_fd()),
            address: sites[to].pod_address(0).unwrap().into(),
        };
        let trips = round_trips(path, 50).unwrap();
        assert_eq!(trips.answered, 50, "{from} to {to}");
        assert!(
            trips.min_ns.unwrap() >= least_ms * MS,
            "{from} to {to}: {trips:?}"
        );
        // Exactly one link carried them. It counts a packet when it has handed it over: the last answer may be here before.
        let used = || {
            let all = links.iter().zip(&before);
            all.filter(|(link, before)| link.counts().there.passed_packets - **before >= 50)
                .count()
        };
        let deadline = Instant::now() + PATIENCE;
        while used() == 0 && Instant::now() < deadline {
            std::thread::yield_now();
        }
        assert_eq!(used(), 1, "{from} to {to}");
    }
    // Routers see the same distance.
    let trips = round_trips(path_between(east, north), 50).unwrap();
    assert!(trips.answered == 50 && trips.min_ns.unwrap() >= 14 * MS);
}

#[test]
fn a_stream_between_sites_is_whole_and_two_pods_of_one_site_do_not_use_the_link() {
    if !permitted() {
        return;
    }
    let mut sites = sites();
    let far = pod(&mut sites[1]);
    let near = pod(&mut sites[0]);
    let link = joined(&sites[0], &sites[1], 4);
    let beside = Namespace::new().unwrap();
    let address = sites[0].pod_address(1).unwrap();
    sites[0].attach(&beside, address).unwrap();
    let sent: Vec<u8> = (0..3_000_000_u32).map(|i| (i % 251) as u8).collect();
    let within = Path {
        from: Some(near.as_fd()),
        to: Some(beside.as_fd()),
        address: address.into(),
    };
    let (one, other) = connected(within).unwrap();
    assert!(carried(one, other, &sent) == sent);
    assert_eq!(link.counts().there.entered_packets, 0);
    let across = Path {
        to: Some(far.as_fd()),
        address: sites[1].pod_address(0).unwrap().into(),
        ..within
    };
    let (one, other) = connected(across).unwrap();
    assert!(carried(one, other, &sent) == sent);
    assert!(link.counts().there.passed_bytes > 3_000_000);
}
