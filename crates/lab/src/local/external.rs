//! External parts: addresses resolved and checked, agents configured, counters read. Nothing is started or stopped.

use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use tare_record::counter::CounterSource;
use tare_record::external::{External, ExternalMetrics, split};
use tare_record::load::AddressPolicy;
use tare_record::protocol;
use tare_record::text::preview;
use tare_record::topology::{Security, Topology};

use crate::LabError;
use crate::brokers::{self, BrokerAccess};
use crate::connector::first_reachable;
use crate::counters::CounterReader;
use crate::environment::InstanceCounters;
use crate::metrics::MetricsReader;
use crate::render::{Counter, Listen, edge_id};
use crate::targets::Targets;

/// Timeout of one response of a broker.
pub(super) const ANSWER: Duration = Duration::from_secs(20);
/// Connection timeout.
const WITHIN: Duration = Duration::from_secs(5);

/// One address of an external part.
#[derive(Debug, Clone)]
pub(crate) struct ExternalAddress {
    pub def: External,
    pub address: SocketAddr,
    /// Reader of its target's metrics.
    pub metrics: Option<Arc<MetricsReader>>,
}

/// Resolved names: each is looked up once per run.
#[derive(Debug, Default)]
pub(super) struct ResolvedNames(BTreeMap<String, SocketAddr>);

impl ResolvedNames {
    /// All external parts of a topology by name.
    /// Errors: a name without an address, an address that may not be called or accepts no connection.
    pub fn find(
        &mut self,
        topology: &Topology,
        reach: AddressPolicy,
        targets: &Targets,
    ) -> Result<BTreeMap<String, ExternalAddress>, LabError> {
        let mut all = BTreeMap::new();
        for def in &topology.external {
            let mut def = def.clone();
            let address = self.resolve(&def.at, reach);
            let address = address.map_err(|reason| wrong(&def, reason))?;
            let mut counters = def.counters.iter_mut();
            counters
                .try_for_each(|counter| self.resolve_url(&mut counter.from, reach))
                .map_err(|reason| wrong(&def, reason))?;
            let metrics = def.metrics.as_ref();
            let reader = |metrics: &ExternalMetrics| {
                let target = targets.get(&metrics.target)?;
                MetricsReader::open(target, &metrics.source, reach)
            };
            let metrics = metrics.map(reader).transpose()?.map(Arc::new);
            let found = ExternalAddress {
                def,
                address,
                metrics,
            };
            all.insert(found.def.name.clone(), found);
        }
        Ok(all)
    }

    /// All resolved addresses, for the record.
    pub fn known(&self) -> impl Iterator<Item = (&String, &SocketAddr)> {
        self.0.iter()
    }

    /// The first address of a name that may be called and accepts a connection.
    fn resolve(&mut self, at: &str, reach: AddressPolicy) -> Result<SocketAddr, String> {
        if let Some(known) = self.0.get(at) {
            return Ok(*known);
        }
        let next = "start it, or correct its address";
        let unknown = |why: String| format!("{} has no address ({why}); {next}", preview(at));
        let name = split(at).ok_or_else(|| unknown(String::from("write HOST:PORT")))?;
        let addresses = name.to_socket_addrs();
        let addresses = addresses.map_err(|error| unknown(error.to_string()))?;
        let nothing = unknown(String::from("nothing was found"));
        let refused = |address, error| format!("no connection to {address}: {error}; {next}");
        let found = first_reachable(addresses, (reach, WITHIN), nothing, refused)?;
        self.0.insert(at.to_owned(), found);
        Ok(found)
    }

    /// Replaces the host of a counter's URL by its resolved address.
    fn resolve_url(
        &mut self,
        from: &mut CounterSource,
        reach: AddressPolicy,
    ) -> Result<(), String> {
        let url = match from {
            CounterSource::Prometheus(page) => &mut page.url,
            CounterSource::Json(page) => &mut page.url,
            CounterSource::Text(page) => &mut page.url,
            CounterSource::Jmx(_) | CounterSource::Log(_) | CounterSource::Command(_) => {
                return Err(String::from(
                    "what is external is read from pages only: leave logs and commands out",
                ));
            }
        };
        let rest = url.strip_prefix("http://");
        let rest = rest.ok_or_else(|| format!("invalid URL {}: write http://…", preview(url)))?;
        let (authority, path) = match rest.find('/') {
            Some(at) => rest.split_at(at),
            None => (rest, "/"),
        };
        let address = self.resolve(authority, reach)?;
        *url = format!("http://{address}{path}");
        Ok(())
    }
}

fn connect(address: SocketAddr) -> io::Result<()> {
    TcpStream::connect_timeout(&address, WITHIN).map(drop)
}

fn wrong(def: &External, reason: String) -> LabError {
    LabError::External {
        instance: def.name.clone(),
        at: def.at.clone(),
        reason,
    }
}

impl ExternalAddress {
    /// Address for callers and for proxies before it.
    pub fn listen(&self) -> Listen {
        Listen {
            address: self.address.ip(),
            port: self.address.port(),
            security: Security::Plaintext,
            peer_identity: None,
            peer_identities: Vec::new(),
            redirected: None,
            redirect_port: None,
        }
    }

    /// Checks that it still accepts connections.
    pub(super) fn check_connection(&self) -> Result<(), LabError> {
        let gone = |error: io::Error| {
            let at = self.address;
            wrong(
                &self.def,
                format!("it takes no connection any more ({at}: {error}); see why it ended"),
            )
        };
        connect(self.address).map_err(gone)
    }

    /// Reader of its counters and metrics; `None`: it has neither.
    pub(super) fn reader(&self, topology: &Topology) -> Option<ExternalReader> {
        let pages = self.pages(topology, &|_| true);
        let metrics = self.metrics.clone();
        (pages.is_some() || metrics.is_some()).then(|| ExternalReader {
            instance: self.def.name.clone(),
            pages,
            metrics,
        })
    }

    /// Reader of its counters over HTTP; `None`: it has none.
    pub(super) fn pages(
        &self,
        topology: &Topology,
        wanted: &dyn Fn(&str) -> bool,
    ) -> Option<CounterReader> {
        let counters = self.def.counters.iter();
        let counters = counters.filter(|counter| wanted(&counter.name));
        let counters: Vec<Counter> = counters.map(Counter::of).collect();
        let routes = topology.routes.iter();
        let edges = routes.filter(|route| route.to == self.def.name);
        let edges = edges.map(|route| {
            let id = edge_id(&format!("{}->{}", route.from, route.to));
            (id, route.edge.clone())
        });
        let edges = edges.collect();
        (!counters.is_empty()).then(|| CounterReader::of_pages(&self.def.name, edges, counters))
    }
}

/// Reader of counters and metrics of one address.
#[derive(Debug)]
pub(super) struct ExternalReader {
    instance: String,
    pages: Option<CounterReader>,
    metrics: Option<Arc<MetricsReader>>,
}

impl ExternalReader {
    /// Reads all counters and metrics.
    /// Errors: what could not be read, and why.
    pub fn read(&mut self) -> Result<InstanceCounters, LabError> {
        let pages = self.pages.as_mut().map(CounterReader::read).transpose()?;
        let mut readings = pages.map(|pages| pages.readings).unwrap_or_default();
        if let Some(metrics) = &self.metrics {
            readings.extend(metrics.read_first()?);
        }
        Ok(InstanceCounters {
            instance: self.instance.clone(),
            readings,
        })
    }
}

/// The brokers of a part; `None`: it has none.
pub(super) fn brokers(
    found: &BTreeMap<String, ExternalAddress>,
    part: &str,
    reach: AddressPolicy,
) -> Result<Option<BrokerAccess>, LabError> {
    let of_part = || found.values().filter(|found| found.def.part == part);
    let Some(ExternalAddress { def, .. }) = of_part().next() else {
        return Ok(None);
    };
    let addresses = of_part().map(|found| found.def.at.clone());
    Ok(Some(BrokerAccess {
        addresses: addresses.collect(),
        connect: None,
        login: def.sasl.clone(),
        tls: def.tls.clone(),
        reach,
        timeout: ANSWER,
    }))
}

/// Reads all metrics once, so that an unreadable source ends the run before anything is measured.
pub(super) fn read_metrics(found: &BTreeMap<String, ExternalAddress>) -> Result<(), LabError> {
    let mut readers = found.values().filter_map(|found| found.metrics.as_ref());
    readers.try_for_each(|reader| reader.read_first().map(drop))
}

/// Connects to external Kafka clusters: they must accept our login, and no broker may bypass the proxies before it.
pub(super) fn check_brokers(
    topology: &Topology,
    found: &BTreeMap<String, ExternalAddress>,
    reach: AddressPolicy,
) -> Result<(), LabError> {
    let mut asked: Vec<&str> = Vec::new();
    for one in found.values() {
        let part = one.def.part.as_str();
        if asked.contains(&part) || !protocol::is_of_brokers(&one.def.protocol) {
            continue;
        }
        asked.push(part);
        let Some(brokers) = brokers(found, part, reach)? else {
            continue;
        };
        let members = brokers::client().and_then(|client| client.members(&brokers));
        let members = members.map_err(|error| wrong(&one.def, error))?;
        let behind = topology.routes.iter().any(|route| {
            let to = found.get(&route.to);
            !route.proxies.is_empty() && to.is_some_and(|to| to.def.part == part)
        });
        let is_named = |at: &String| {
            let mut all = at.to_socket_addrs().into_iter().flatten();
            all.any(|at| found.values().any(|one| one.address == at))
        };
        if let Some(other) = members.iter().find(|at| behind && !is_named(at)) {
            return Err(wrong(
                &one.def,
                format!(
                    "its cluster has a broker that is advertised as {other}, where clients would call it past the proxies: name every \
                     broker as it is advertised (bootstrap)"
                ),
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test says where by panicking")]

    use std::net::TcpListener;

    use serde_json::json;

    use super::*;

    fn topology(at: &str, url: &str) -> Topology {
        let counters =
            json!([{"name": "requests", "from": {"prometheus": {"url": url, "metric": "m"}}}]);
        serde_json::from_value(json!({"pods": [], "instances": [], "routes": [], "external": [
            {"name": "server", "part": "server", "protocol": "http1", "at": at, "host": at, "counters": counters},
        ]}))
        .unwrap()
    }

    #[test]
    fn a_name_is_looked_up_once_and_its_pages_are_read_where_it_was_found() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let at = format!("localhost:{}", address.port());
        let mut names = ResolvedNames::default();
        let topology = topology(&at, &format!("http://{at}/metrics?a=b"));
        let found = names
            .find(&topology, AddressPolicy::Private, &Targets::default())
            .unwrap();
        let server = &found["server"];
        assert_eq!(server.address, address);
        let CounterSource::Prometheus(page) = &server.def.counters[0].from else {
            panic!("{:?}", server.def.counters);
        };
        assert_eq!(page.url, format!("http://{address}/metrics?a=b"));
        assert!(server.check_connection().is_ok());
        drop(listener);
        // What was found stays found; whether it answers is another question.
        assert_eq!(
            names
                .find(&topology, AddressPolicy::Private, &Targets::default())
                .unwrap()["server"]
                .address,
            address
        );
        let said = server.check_connection().unwrap_err().to_string();
        assert!(said.contains("takes no connection any more"), "{said}");
    }

    #[test]
    fn what_is_down_unknown_or_out_of_reach_is_told_with_the_next_step() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let down = listener.local_addr().unwrap().to_string();
        drop(listener);
        for (at, words) in [
            (down.as_str(), "start it, or correct its address"),
            ("localhost", "write HOST:PORT"),
            ("203.0.113.7:80", "--allow-public-target"),
            ("169.254.169.254:80", "link-local"),
        ] {
            let topology = topology(at, "http://127.0.0.1:1/");
            let said = ResolvedNames::default().find(
                &topology,
                AddressPolicy::Private,
                &Targets::default(),
            );
            let said = said.unwrap_err().to_string();
            assert!(
                said.starts_with(&format!("server (external, {at}): ")),
                "{said}"
            );
            assert!(said.contains(words), "{at}: {said}");
        }
    }

    #[test]
    fn a_page_may_be_nowhere_that_its_part_may_not_be() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap().to_string();
        for url in [
            "http://169.254.169.254:80/",
            "http://unix:/run/x:/y",
            "https://127.0.0.1:1/",
        ] {
            let said = ResolvedNames::default().find(
                &topology(&at, url),
                AddressPolicy::Private,
                &Targets::default(),
            );
            assert!(said.is_err(), "{url}");
        }
    }
}
