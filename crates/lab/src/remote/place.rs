//! A group of sites whose pods come from one provider, with its run keeper.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tare_net::link::RoundTrips;
use tare_record::load::AddressPolicy;
use tare_record::record::EnvironmentRecord;

use super::connection::{Caller, Peer};
use super::exchange::{ANSWER_LIMIT, Exchange, LOOK};
use super::greeting::{client_config, token_of};
use super::message::CONDUCTOR;
use super::pod_provider::{PodProvider, SitePods};
use super::run_keeper::RunKeeperConfig;
use crate::LabError;
use crate::keeper::lock;

/// Round trips between two places.
const ROUND_TRIPS: u32 = 100;

/// Where pods come from, and who passes orders on to them.
pub(super) struct Place {
    /// Sites of the pods; none: any.
    pub sites: Vec<String>,
    pub provider: SharedProvider,
    /// Session with its run keeper.
    pub exchange: Arc<Exchange>,
    /// The run keeper, as pods reach it.
    pub address: SocketAddr,
    /// Calls the run keeper.
    caller: Option<JoinHandle<()>>,
}

pub(super) type SharedProvider = Arc<Mutex<Box<dyn PodProvider>>>;

impl Place {
    /// Starts its run keeper.
    pub fn start(
        SitePods {
            sites,
            mut provider,
        }: SitePods,
        config: &RunKeeperConfig,
        authority: &str,
        silence: Duration,
    ) -> Result<Place, LabError> {
        let (address, dial) = provider.start_run_keeper(config)?;
        let peer = Peer::new().map_err(LabError::io("make a session"))?;
        let caller = Caller {
            dial,
            config: client_config(authority).map_err(LabError::Keeper)?,
            token: token_of(&config.secret, CONDUCTOR),
            name: String::from(CONDUCTOR),
            silence,
        };
        let exchange = Exchange::new(peer, silence);
        let calling = Arc::clone(&exchange);
        let caller_thread = std::thread::Builder::new()
            .name(String::from("run-keeper"))
            .spawn(move || {
                let peer = Arc::clone(&calling.peer);
                caller.run(&peer, |message| calling.take(&message));
                calling.close();
            });
        let caller = caller_thread.map_err(LabError::io("call the run keeper"))?;
        let provider = Arc::new(Mutex::new(provider));
        watch(&exchange, &provider)?;
        Ok(Place {
            sites,
            provider,
            exchange,
            address,
            caller: Some(caller),
        })
    }

    /// Round trip to its run keeper.
    pub fn round_trip(&self) -> Duration {
        let clock = self.exchange.peer.clock(ANSWER_LIMIT);
        clock.map_or(ANSWER_LIMIT / 10, |clock| {
            Duration::from_nanos(clock.error_ns * 2)
        })
    }

    /// An address of what is external, found by the run keeper: names of Services resolve there. Pods that call it may do so from then on.
    pub fn find_external(&self, at: &str, reach: AddressPolicy) -> Result<SocketAddr, String> {
        let found = self.exchange.find_external(at, reach);
        let address = found.map_err(|error| error.to_string())??;
        let admitted = lock(&self.provider).admit(at, address);
        admitted.map_err(|error| error.to_string())?;
        Ok(address)
    }

    /// Waits until the keeper of a pod has connected.
    pub fn wait_joined(&self, name: &str, deadline: Instant) -> Result<(), LabError> {
        let mut state = lock(&self.exchange.state);
        while !state.joined.contains(name) {
            let exited = lock(&self.provider).exited(name);
            let lost = exited.or_else(|| state.lost.get(name).cloned());
            let late = || (Instant::now() >= deadline).then(|| String::from("it did not connect"));
            if let Some(why) = lost.or_else(late) {
                return Err(LabError::PodLost {
                    pod: name.to_owned(),
                    why,
                });
            }
            if let Some(why) = self.exchange.peer.ended() {
                return Err(LabError::RunKeeperGone { why });
            }
            let waited = self.exchange.changed.wait_timeout(state, LOOK);
            state = waited.unwrap_or_else(std::sync::PoisonError::into_inner).0;
        }
        Ok(())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.exchange.peer.end("the run is over");
        // It holds what the provider has for it.
        let _ = self.caller.take().map(JoinHandle::join);
    }
}

/// Measures the round trip between two places, in both directions: pods must reach each other.
pub(super) fn between(one: &Place, other: &Place) -> Result<RoundTrips, LabError> {
    let sites = |place: &Place| place.sites.join(", ");
    if one.address == other.address {
        return Err(LabError::Cluster(format!(
            "the clusters of {} and {} use the same addresses for their pods: sites need clusters with different ranges",
            sites(one),
            sites(other)
        )));
    }
    let measured = |from: &Place, to: &Place| {
        let trips = from.exchange.round_trips(to.address, ROUND_TRIPS)?;
        match trips.answered {
            0 => Err(LabError::Cluster(format!(
                "pods at {} do not reach pods at {}: sites need a network in which the pods of all clusters reach each other by their addresses",
                sites(from),
                sites(to)
            ))),
            _ => Ok(trips),
        }
    };
    measured(other, one)?;
    measured(one, other)
}

/// Notices pods that the provider knows to be gone before their silence shows it.
fn watch(
    exchange: &Arc<Exchange>,
    provider: &Arc<Mutex<Box<dyn PodProvider>>>,
) -> Result<(), LabError> {
    let (exchange, provider) = (Arc::downgrade(exchange), Arc::downgrade(provider));
    let look = move || {
        while let (Some(exchange), Some(provider)) = (exchange.upgrade(), provider.upgrade()) {
            if let Some(why) = lock(&provider).exited("") {
                exchange.peer.end(&format!("it ended: {why}"));
                exchange.changed.notify_all();
                return;
            }
            let joined = lock(&exchange.state).joined.clone();
            for pod in joined {
                let exited = lock(&provider).exited(&pod);
                if let Some(why) = exited {
                    lock(&exchange.state).lost.entry(pod).or_insert(why);
                    exchange.changed.notify_all();
                }
            }
            drop((exchange, provider));
            crate::process::pause(LOOK);
        }
    };
    std::thread::Builder::new()
        .name(String::from("watch"))
        .spawn(look)
        .map(drop)
        .map_err(LabError::io("watch the pods"))
}

/// The record of several clusters: equal to another one, if each site is at the same cluster.
pub(super) fn one_of(
    mut all: Vec<EnvironmentRecord>,
) -> Result<Option<EnvironmentRecord>, LabError> {
    if all.len() < 2 {
        return Ok(all.pop());
    }
    let mut fingerprints = Vec::new();
    for record in &mut all {
        let sites = record.clusters().flat_map(|cluster| &cluster.sites);
        let sites: Vec<&str> = sites.map(String::as_str).collect();
        let sites = sites.join("+");
        fingerprints.push(format!("{sites}={}", record.fingerprint));
        for check in &mut record.checks {
            check.name = format!("{} at {sites}", check.name);
        }
    }
    let mut records = all.into_iter();
    let Some(mut first) = records.next() else {
        return Ok(None);
    };
    for record in records {
        if let Some(same) = first.clusters().find(|one| {
            let other = record.cluster.as_ref();
            other.is_some_and(|other| other.id == one.id)
        }) {
            return Err(LabError::Cluster(format!(
                "two contexts are of the same cluster, {}: give its sites the same context",
                same.id
            )));
        }
        first.checks.extend(record.checks);
        first.further_clusters.extend(record.cluster);
    }
    first.fingerprint = fingerprints.join(",");
    first.machine_id = Some(first.fingerprint.clone());
    Ok(Some(first))
}

/// No environment has pods of a site.
pub(super) fn no_place(site: &str) -> LabError {
    LabError::Plan(format!("there is no cluster for the site {site}"))
}
