//! Sites: who stands where, how far it is, and what is said when that does not hold together.

use tare_experiment::resolve::{ResolveOptions, SitesAt};
use tare_record::plan::{Addressing, Form};

use crate::bench::{changed, plan_with, refused, resolved};

const GOOD: &str = "\
question: What does a distant service cost?
workload: echo
arms:
  - name: direct
  - name: both
    sidecars: {on: all, proxy: envoy}
load: {rate: 400, duration: 3s}
sites:
  pods: {east: [client], west: [server]}
  links:
    - {between: [west, east], round_trip: 24ms}
";

#[test]
fn pods_of_every_arm_stand_at_their_sites_and_the_addressing_follows() {
    let plan = resolved(GOOD, Form::Full);
    assert_eq!(plan.addressing, Addressing::Namespaces);
    for arm in &plan.arms {
        for pod in &arm.topology.pods {
            let site = if pod.name == "client" { "east" } else { "west" };
            assert_eq!(pod.site, site, "{} in {}", pod.name, arm.name);
        }
    }
    let [link] = plan.site_links.as_slice() else {
        panic!("{:?}", plan.site_links);
    };
    assert_eq!(link.name(), "east-west", "in alphabetical order");
    assert_eq!(
        (link.one_way_ns, link.round_trip_ns()),
        (12_000_000, 24_000_000)
    );
    assert_eq!(
        (link.jitter_ns, link.rate_bits_per_s, link.queue_bytes),
        (0, None, 0)
    );
}

#[test]
fn one_way_is_twice_for_the_round_trip_and_the_queue_holds_one_round_trip() {
    let text = changed(
        GOOD,
        "round_trip: 24ms",
        "one_way: 20ms, jitter: 2ms, rate: 1Gbit/s, loss: 0.1%",
    );
    let link = &resolved(&text, Form::Full).site_links[0];
    assert_eq!((link.one_way_ns, link.jitter_ns), (20_000_000, 2_000_000));
    assert_eq!(link.rate_bits_per_s, Some(1_000_000_000));
    assert_eq!(link.queue_bytes, 5_000_000);
    assert!((link.loss - 0.001).abs() < 1e-12);
    assert_eq!(
        link.in_words(),
        "east–west 40ms ± 2ms each way, 1Gbit/s, 0.1% lost"
    );
    let slow = changed(GOOD, "24ms", "7ms, rate: 1Mbit/s");
    assert_eq!(
        resolved(&slow, Form::Full).site_links[0].queue_bytes,
        150_000
    );
    let said = changed(GOOD, "24ms", "7ms, rate: 1Mbit/s, queue: 30kB");
    assert_eq!(
        resolved(&said, Form::Full).site_links[0].queue_bytes,
        30_000
    );
}

#[test]
fn without_sites_a_plan_says_nothing_of_them() {
    let text = &GOOD[..GOOD.find("sites:").unwrap()];
    let plan = resolved(text, Form::Full);
    assert_eq!(plan.addressing, Addressing::Auto);
    assert!(plan.site_links.is_empty());
    let written = serde_json::to_string(&plan).unwrap();
    assert!(!written.contains("site_links"));
}

#[test]
fn loopback_has_no_distance() {
    refused(
        GOOD,
        "sites:\n",
        "addressing: loopback\nsites:\n",
        &[
            "case.yaml:9:1: sites need pods with a network of their own, loopback has no distance: write `addressing: namespaces` (or --addressing namespaces), or leave the sites out",
        ],
    );
}

#[test]
fn a_pod_stands_at_one_site_and_every_pod_does() {
    refused(
        GOOD,
        "west: [server]",
        "west: [server, client]",
        &["case.yaml:9:41: pod \"client\" stands at site \"east\" already"],
    );
    refused(
        GOOD,
        "west: [server]",
        "west: [servr]",
        &[
            "case.yaml:9:3: pod \"server\" of arm \"direct\" stands at no site: add it to one",
            "case.yaml:9:3: pod \"server\" of arm \"both\" stands at no site: add it to one",
            "case.yaml:9:33: no pod is called \"servr\" in any arm: did you mean \"server\"?",
        ],
    );
    refused(
        GOOD,
        "{east: [client], west: [server]}",
        "{east: [client, server]}",
        &[
            "case.yaml:9:3: only one site: name two or more, or leave the sites out",
            "case.yaml:11:18: unknown site \"west\": did you mean \"east\"?",
        ],
    );
}

#[test]
fn there_is_one_link_between_every_two_sites() {
    refused(
        GOOD,
        "east: [client]",
        "east: [], north: [client]",
        &[
            "case.yaml:10:3: there is no link between \"north\" and \"west\": add `{between: [north, west], round_trip: 24ms}`",
        ],
    );
    refused(
        GOOD,
        "    - {between: [west, east], round_trip: 24ms}\n",
        "    - {between: [west, east], round_trip: 24ms}\n    - {between: [east, west], one_way: 1ms}\n",
        &["case.yaml:12:7: duplicate link east-west"],
    );
    refused(
        GOOD,
        "[west, east]",
        "[west, west]",
        &[
            "case.yaml:10:3: there is no link between \"east\" and \"west\": add `{between: [east, west], round_trip: 24ms}`",
            "case.yaml:11:17: a link is between two different sites",
        ],
    );
    refused(
        GOOD,
        "[west, east]",
        "[west, east, north]",
        &["case.yaml:11:17: a link is between two sites, found 3"],
    );
}

#[test]
fn a_link_says_how_far_it_is_once_and_only_what_is_possible() {
    refused(
        GOOD,
        ", round_trip: 24ms",
        "",
        &["case.yaml:11:7: round_trip or one_way is missing: write `round_trip: 24ms`, or one_way"],
    );
    refused(
        GOOD,
        "24ms",
        "24ms, one_way: 12ms",
        &["case.yaml:11:58: round_trip and one_way exclude each other: leave one out"],
    );
    refused(
        GOOD,
        "24ms",
        "24ms, jitter: 13ms",
        &[
            "case.yaml:11:57: the jitter is larger than the delay of one way: nothing arrives before it is sent",
        ],
    );
    refused(
        GOOD,
        "24ms",
        "24ms, loss: 100%",
        &["case.yaml:11:55: nothing is left when all is lost: write a share such as 0.1%"],
    );
    refused(
        GOOD,
        "24ms",
        "24ms, queue: 1MB",
        &["case.yaml:11:56: a queue needs a rate: add one, or leave the queue out"],
    );
    refused(
        GOOD,
        "24ms",
        "30s",
        &["case.yaml:11:43: one_way is at most 10s"],
    );
    refused(
        GOOD,
        "24ms",
        "24ms, rate: 100MB/s",
        &[
            "case.yaml:11:55: invalid unit \"MB/s\": write a number with bit/s, kbit/s, Mbit/s or Gbit/s, such as 1Gbit/s",
        ],
    );
}

/// The second arm has its server at another site.
fn with_a_third_site() -> String {
    changed(
        GOOD,
        "- name: both",
        "- name: both\n    sites: {far: [server]}",
    )
    .replace("west: [server]}", "west: [server], far: []}")
    .replace(
        "round_trip: 24ms}\n",
        "round_trip: 24ms}\n    - {between: [far, east], round_trip: 100ms}\n",
    )
}

#[test]
fn an_arm_may_put_a_pod_elsewhere_and_only_sites_that_meet_need_a_link() {
    let text = with_a_third_site();
    let plan = resolved(&text, Form::Full);
    let site = |arm: usize| {
        let mut pods = plan.arms[arm].topology.pods.iter();
        let server = pods.find(|pod| pod.name == "server").unwrap();
        server.site.as_str()
    };
    assert_eq!((site(0), site(1)), ("west", "far"));
    assert!(plan.arms[1].about.ends_with("; server at site far"));
    let links: Vec<String> = plan.site_links.iter().map(|link| link.name()).collect();
    assert_eq!(links, ["east-west", "east-far"]);
}

#[test]
fn an_arm_names_sites_and_pods_that_there_are() {
    refused(
        GOOD,
        "- name: both",
        "- name: both\n    sites: {wst: [server], east: [servr]}",
        &[
            "case.yaml:6:13: unknown site \"wst\": did you mean \"west\"?",
            "case.yaml:6:35: arm \"both\" has no pod \"servr\": did you mean \"server\"?",
        ],
    );
}

fn at_clusters(sites: &[&str]) -> ResolveOptions {
    let sites = sites.iter().map(|site| site.split_once('=').unwrap());
    let sites = sites.map(|(site, cluster)| (site.to_owned(), cluster.to_owned()));
    ResolveOptions {
        sites: SitesAt::Clusters(sites.collect()),
        ..ResolveOptions::new(Form::Full, Vec::new())
    }
}

#[test]
fn at_clusters_nothing_is_emulated_and_arms_at_other_sites_are_not_run() {
    let text = with_a_third_site();
    let together = plan_with(&text, &at_clusters(&["east=a", "west=a"])).unwrap();
    assert!(together.site_links.is_empty() && together.notes.is_empty());
    let plan = plan_with(&text, &at_clusters(&["east=a", "west=b"])).unwrap();
    let needs = |arm: usize| plan.arms[arm].requires.as_deref();
    assert_eq!(needs(0), None);
    assert_eq!(
        needs(1),
        Some("a cluster for the site far (--site far=CONTEXT)")
    );
    let [link] = plan.site_links.as_slice() else {
        panic!("{:?}", plan.site_links);
    };
    assert!(link.between_clusters && link.one_way_ns == 0);
    assert_eq!(link.in_words(), "east–west not emulated, between clusters");
    assert!(plan.notes.iter().any(|note| note.contains("not emulated")));
}

#[test]
fn each_site_has_a_cluster_and_each_cluster_a_site() {
    let said = |text: &str, sites: &[&str]| {
        let problems = plan_with(text, &at_clusters(sites)).unwrap_err();
        problems.to_string()
    };
    assert_eq!(
        said(GOOD, &[]),
        "case.yaml:8:1: each site needs a cluster: add --site east=CONTEXT --site west=CONTEXT"
    );
    assert_eq!(
        said(GOOD, &["east=a", "wst=b"]),
        "case.yaml:9:3: unknown site \"wst\": did you mean \"west\"?"
    );
    let without = &GOOD[..GOOD.find("sites:").unwrap()];
    assert_eq!(
        said(without, &["east=a"]),
        "case.yaml:1:1: the experiment has no sites: leave --site out"
    );
}
