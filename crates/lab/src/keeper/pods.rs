//! Pods of a keeper with namespaces: the switch, and a network namespace per pod.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use rustix::time::Timespec;
use tare_net::Switch;
use tare_net::enclosure;
use tare_net::link::{Link, LinkPlan, Pool, round_trips_while};
use tare_net::namespace::Namespace;
use tare_net::redirect::{self, RedirectRules};
use tare_net::site::{self, Site};

use super::children::room_for;
use super::protocol::LinkCounts;
use crate::LabError;

/// Echo requests per measurement, one per millisecond: enough for a 99th percentile with some lost.
const ECHOES: u64 = 1100;
/// Most pods at a time.
const PODS_MAX: usize = 500;

/// The network of a run, in the keeper's namespaces.
pub(crate) struct PodNetworks {
    switch: Switch,
    /// Links between sites; with sites, pods are attached to these instead of the switch.
    links: Vec<([u8; 2], Link)>,
    /// Shared packet buffers of all links.
    pool: Arc<Pool>,
    sites: BTreeMap<u8, Site>,
    by_name: BTreeMap<String, Namespace>,
    /// The `/proc` of the host.
    outer_proc: OwnedFd,
}

impl PodNetworks {
    /// Sets up what all pods share; this process must be process 1 of new namespaces.
    pub(crate) fn new() -> Result<PodNetworks, LabError> {
        let outer_proc = enclosure::mount_own_proc()?;
        Ok(PodNetworks {
            switch: Switch::new()?,
            links: Vec::new(),
            pool: Arc::default(),
            sites: BTreeMap::new(),
            by_name: BTreeMap::new(),
            outer_proc,
        })
    }

    pub(crate) fn outer_proc(&self) -> BorrowedFd<'_> {
        self.outer_proc.as_fd()
    }

    /// Id of this process in the host's PID namespace.
    pub(crate) fn own_outer_pid(&self) -> Option<u32> {
        let link = rustix::fs::readlinkat(&self.outer_proc, "self", Vec::new()).ok()?;
        link.to_str().ok()?.parse().ok()
    }

    /// Creates a pod's network namespace.
    pub(crate) fn attach(&mut self, pod: &str, address: Ipv4Addr) -> Result<(), String> {
        if self.by_name.contains_key(pod) {
            return Err(format!("there is a pod named {pod} already"));
        }
        room_for(self.by_name.len(), PODS_MAX, "pods")?;
        let network = Namespace::new().map_err(|error| error.to_string())?;
        let attached = match site::number_of(address).and_then(|site| self.sites.get_mut(&site)) {
            Some(site) => site.attach(&network, address),
            None => self.switch.attach(&network, address).map_err(Into::into),
        };
        attached.map_err(|error| format!("no network for the pod {pod}: {error}"))?;
        self.by_name.insert(pod.to_owned(), network);
        Ok(())
    }

    /// Connects two sites; returns the measured round-trip times as JSON.
    pub(crate) fn join(
        &mut self,
        pair: [u8; 2],
        plan: &LinkPlan,
        owner: BorrowedFd<'_>,
    ) -> Result<String, String> {
        let wrong = |error: &dyn std::fmt::Display| format!("no link between two sites: {error}");
        for number in pair {
            if let Entry::Vacant(place) = self.sites.entry(number) {
                place.insert(Site::new(number).map_err(|error| wrong(&error))?);
            }
        }
        let [one, other] = pair.map(|number| self.sites.get(&number));
        let (Some(one), Some(other)) = (one, other) else {
            return Err(wrong(&"a site is missing"));
        };
        let link = site::join(one, other, plan, &self.pool).map_err(|error| wrong(&error))?;
        // This takes seconds; it stops early when the conductor is gone, so that clean-up is not late.
        let trips = round_trips_while(site::path_between(one, other), ECHOES, &|| !has_left(owner));
        self.links.push((pair, link));
        let trips = trips.map_err(|error| wrong(&error))?;
        serde_json::to_string(&trips).map_err(|error| wrong(&error))
    }

    /// Counters of every link, as JSON.
    pub(crate) fn counts(&self) -> Result<Vec<String>, String> {
        let encode = |(sites, link): &([u8; 2], Link)| {
            let counts = LinkCounts {
                sites: *sites,
                counts: link.counts(),
            };
            serde_json::to_string(&counts).map_err(|error| format!("links: {error}"))
        };
        self.links.iter().map(encode).collect()
    }

    pub(crate) fn detach(&mut self, pod: &str) -> Result<(), String> {
        match self.by_name.remove(pod) {
            Some(_) => Ok(()),
            None => Err(format!("there is no pod named {pod}")),
        }
    }

    /// Redirects a pod's traffic to its sidecar.
    pub(crate) fn redirect(&self, pod: &str, rules: &RedirectRules) -> Result<(), String> {
        if rules.exemption != redirect::exemption_in(std::process::id()) {
            return Err(String::from(
                "the sidecars' own traffic would be redirected, too: they cannot have a group of their own here",
            ));
        }
        let network = self.find(pod)?;
        rules.apply(network).map_err(|error| error.to_string())
    }

    fn find(&self, pod: &str) -> Result<&Namespace, String> {
        let found = self.by_name.get(pod);
        found.ok_or_else(|| format!("there is no pod named {pod}"))
    }

    pub(crate) fn network(&self, pod: &str) -> Result<BorrowedFd<'_>, String> {
        self.find(pod).map(AsFd::as_fd)
    }

    /// An unconnected TCP socket in the pod's network namespace; it stays there, wherever it is connected from.
    pub(crate) fn socket(&self, pod: &str) -> Result<OwnedFd, String> {
        let network = self.find(pod)?;
        let open = || {
            rustix::net::socket_with(
                AddressFamily::INET,
                SocketType::STREAM,
                SocketFlags::CLOEXEC,
                None,
            )
        };
        let opened = network.run(open).map_err(|error| error.to_string())?;
        opened.map_err(|error| format!("cannot open a socket in the pod {pod}: {error}"))
    }
}

/// Whether the peer has closed a socket.
fn has_left(owner: BorrowedFd<'_>) -> bool {
    let mut looked = [PollFd::from_borrowed_fd(owner, PollFlags::empty())];
    let at_once = Timespec::default();
    poll(&mut looked, Some(&at_once)).is_ok() && looked[0].revents().contains(PollFlags::HUP)
}
