//! External parts: addresses resolved and checked, agents configured, counters read. Nothing is started or stopped.

use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tare_record::counter::CounterSource;
use tare_record::external::{External, ExternalMetrics};
use tare_record::load::{AddressPolicy, Trust};
use tare_record::protocol;
use tare_record::text::preview;
use tare_record::topology::{Security, Topology};

use super::make_folder;
use crate::LabError;
use crate::brokers::{self, BrokerAccess};
use crate::connector::{Connector, EXTERNAL_WITHIN};
use crate::counters::CounterReader;
use crate::environment::InstanceCounters;
use crate::metrics::MetricsReader;
use crate::render::{Counter, Listen, edge_id};
use crate::targets::Targets;

/// Timeout of one response of a broker.
pub(super) const ANSWER: Duration = Duration::from_secs(20);

/// One address of an external part.
#[derive(Debug, Clone)]
pub(crate) struct ExternalAddress {
    pub def: External,
    pub address: SocketAddr,
    /// Reader of its target's metrics.
    pub metrics: Option<Arc<MetricsReader>>,
}

/// Finds an address of `HOST:PORT` that accepts a connection; else why there is none.
pub(super) type FindAddress<'a> = dyn Fn(&str) -> Result<SocketAddr, String> + 'a;

/// Resolved names: each is looked up once per run.
#[derive(Debug, Default)]
pub(super) struct ResolvedNames(BTreeMap<String, SocketAddr>);

impl ResolvedNames {
    /// All external parts of a topology by name.
    /// Errors: a name without an address, an address that may not be called or accepts no connection.
    pub fn find(
        &mut self,
        topology: &Topology,
        (find, reach): (&FindAddress<'_>, AddressPolicy),
        targets: &Targets,
    ) -> Result<BTreeMap<String, ExternalAddress>, LabError> {
        let mut all = BTreeMap::new();
        for def in &topology.external {
            let mut def = def.clone();
            let address = self.resolve(&def.at, find);
            let address = address.map_err(|reason| wrong(&def, reason))?;
            let mut counters = def.counters.iter_mut();
            counters
                .try_for_each(|counter| self.resolve_url(&mut counter.from, find))
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
    pub fn facts(&self) -> impl Iterator<Item = (String, String)> {
        let facts = |(at, address): (&String, &SocketAddr)| {
            let found = format!("{address}, not started by Tare");
            (format!("external {at}"), found)
        };
        self.0.iter().map(facts)
    }

    /// The first address of a name that may be called and accepts a connection.
    fn resolve(&mut self, at: &str, find: &FindAddress<'_>) -> Result<SocketAddr, String> {
        if let Some(known) = self.0.get(at) {
            return Ok(*known);
        }
        let found = find(at)?;
        self.0.insert(at.to_owned(), found);
        Ok(found)
    }

    /// Replaces the host of a counter's URL by its resolved address.
    fn resolve_url(
        &mut self,
        from: &mut CounterSource,
        find: &FindAddress<'_>,
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
        let address = self.resolve(authority, find)?;
        *url = format!("http://{address}{path}");
        Ok(())
    }
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

    /// Checks that it still accepts connections of who calls it.
    pub(super) fn check_connection(&self, caller: &Connector) -> Result<(), LabError> {
        let gone = |error: io::Error| {
            let at = self.address;
            wrong(
                &self.def,
                format!("it takes no connection any more ({at}: {error}); see why it ended"),
            )
        };
        let connected = caller.connect(self.address, EXTERNAL_WITHIN);
        connected.map(drop).map_err(gone)
    }

    /// Reader of its counters and metrics; `None`: it has neither.
    pub(super) fn reader(&self, topology: &Topology, caller: &Connector) -> Option<ExternalReader> {
        let pages = self.pages((topology, caller), &|_| true);
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
        (topology, caller): (&Topology, &Connector),
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
        (!counters.is_empty())
            .then(|| CounterReader::of_pages(&self.def.name, (edges, caller.clone()), counters))
    }
}

/// Each external part with a pod that calls it, as the last one on the way there.
pub(super) fn callers(topology: &Topology) -> impl Iterator<Item = (&str, &str)> {
    let routes = topology.routes.iter();
    let routes = routes.filter(|route| topology.external(&route.to).is_some());
    routes.filter_map(|route| {
        let last = route.proxies.last().unwrap_or(&route.from);
        let mut instances = topology.instances.iter();
        let caller = instances.find(|one| one.name == *last)?;
        Some((route.to.as_str(), caller.pod.as_str()))
    })
}

/// What external parts cannot have where the pods are elsewhere: Tare has no way there but through the pods.
pub(super) fn check_elsewhere(topology: &Topology, environment: &str) -> Result<(), LabError> {
    let refused = |what: &str, next: &str| LabError::Unsupported {
        what: what.to_owned(),
        environment: format!("the environment {environment}"),
        next: next.to_owned(),
    };
    let is_installed = topology.mesh.as_ref().is_some_and(|mesh| mesh.installed);
    if is_installed && !topology.external.is_empty() {
        let next = "leave `--mesh installed` out";
        return Err(refused("external parts with the mesh of the cluster", next));
    }
    for external in &topology.external {
        if protocol::is_of_brokers(&external.protocol) {
            let what = format!("{}, brokers that Tare did not start", external.name);
            let next = "run Tare where it reaches them itself (--environment local)";
            return Err(refused(&what, next));
        }
        if external.metrics.is_some() {
            let what = format!("`metrics` of {}, which is external", external.name);
            let next = "name its counters with the URL of a page (`counters`), or leave them out";
            return Err(refused(&what, next));
        }
    }
    Ok(())
}

/// Folder of the certificates and keys of a test bed by which an external part is called.
pub(super) fn tls_folder(folder: &Path, external: &str) -> PathBuf {
    folder.join(format!("{external}.tls"))
}

/// Copies certificates and keys into the folder of a test bed, of which pods elsewhere have what they need.
pub(super) fn copy_tls_files(
    external: &mut BTreeMap<String, ExternalAddress>,
    folder: &Path,
) -> Result<(), LabError> {
    for (name, found) in external {
        let Some(tls) = &mut found.def.tls else {
            continue;
        };
        let into = tls_folder(folder, name);
        make_folder(&into)?;
        let copy = |path: &mut String, file: &str| {
            let copied = into.join(file);
            let what = || format!("copy {path} for the pods");
            std::fs::copy(&*path, &copied).map_err(LabError::io(what()))?;
            *path = copied.display().to_string();
            Ok::<(), LabError>(())
        };
        if let Trust::File { path } = &mut tls.trust {
            copy(path, "ca.pem")?;
        }
        if let Some(identity) = &mut tls.identity {
            copy(&mut identity.certificate, "certificate.pem")?;
            copy(&mut identity.key, "key.pem")?;
        }
    }
    Ok(())
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
    use crate::connector::reachable;

    const HERE: (&FindAddress<'_>, AddressPolicy) = (
        &|at| reachable(at, AddressPolicy::Private),
        AddressPolicy::Private,
    );

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
        let found = names.find(&topology, HERE, &Targets::default()).unwrap();
        let server = &found["server"];
        assert_eq!(server.address, address);
        let CounterSource::Prometheus(page) = &server.def.counters[0].from else {
            panic!("{:?}", server.def.counters);
        };
        assert_eq!(page.url, format!("http://{address}/metrics?a=b"));
        assert!(server.check_connection(&Connector::Host).is_ok());
        drop(listener);
        // What was found stays found; whether it answers is another question.
        assert_eq!(
            names.find(&topology, HERE, &Targets::default()).unwrap()["server"].address,
            address
        );
        let said = server
            .check_connection(&Connector::Host)
            .unwrap_err()
            .to_string();
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
            let said = ResolvedNames::default().find(&topology, HERE, &Targets::default());
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
            let said =
                ResolvedNames::default().find(&topology(&at, url), HERE, &Targets::default());
            assert!(said.is_err(), "{url}");
        }
    }

    #[test]
    fn elsewhere_nobody_but_the_pods_has_a_way_there() {
        let mut plain = topology("cart.shop.svc:80", "http://cart.shop.svc:81/metrics");
        assert!(check_elsewhere(&plain, "kubernetes").is_ok());
        plain.external[0].protocol = String::from("kafka");
        let said = check_elsewhere(&plain, "kubernetes")
            .unwrap_err()
            .to_string();
        assert!(
            said.contains("brokers that Tare did not start") && said.contains("local"),
            "{said}"
        );
        let mut measured = topology("cart.shop.svc:80", "http://cart.shop.svc:81/metrics");
        let metrics =
            json!({"target": "kafka", "source": {"jolokia": ["http://cart.shop.svc:82"]}});
        measured.external[0].metrics = serde_json::from_value(metrics).unwrap();
        let said = check_elsewhere(&measured, "kubernetes")
            .unwrap_err()
            .to_string();
        assert!(said.contains("`metrics` of server"), "{said}");
    }

    #[test]
    fn who_calls_an_external_part_is_the_last_one_on_the_way() {
        let route = |to: &str, proxies: &[&str]| {
            json!({"edge": format!("client->{to}"), "from": "client", "to": to, "protocol": "http1", "edge_security": "plaintext",
                "proxies": proxies, "segments": []})
        };
        let instance = |name: &str, pod: &str| json!({"name": name, "pod": pod, "target": "envoy", "role": "app", "settings": {}});
        let external = |name: &str| json!({"name": name, "part": name, "protocol": "http1", "at": "10.0.0.1:80", "host": "a"});
        let topology = json!({"pods": [], "instances": [instance("client", "client"), instance("gateway", "edge"), instance("own", "own")],
            "routes": [route("near", &[]), route("far", &["gateway"]), route("own", &[])], "external": [external("near"), external("far")]});
        let topology: Topology = serde_json::from_value(topology).unwrap();
        let found: Vec<(&str, &str)> = callers(&topology).collect();
        assert_eq!(found, [("near", "client"), ("far", "edge")]);
    }

    #[test]
    fn certificates_of_external_parts_go_to_the_pods() {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("mine.pem");
        std::fs::write(&own, "of the service").unwrap();
        let own = own.display().to_string();
        let mut def = topology("cart:443", "http://cart:81/metrics")
            .external
            .remove(0);
        let tls = json!({"trust": {"trust": "file", "path": own}, "identity": {"certificate": own, "key": own},
            "oldest": "1.2", "newest": "1.3", "resumption": "off"});
        def.tls = Some(serde_json::from_value(tls).unwrap());
        let found = ExternalAddress {
            def,
            address: SocketAddr::from(([10, 0, 0, 1], 443)),
            metrics: None,
        };
        let mut all = BTreeMap::from([(String::from("server"), found)]);
        copy_tls_files(&mut all, folder.path()).unwrap();
        let tls = all["server"].def.tls.clone().unwrap();
        let into = tls_folder(folder.path(), "server");
        let Trust::File { path } = tls.trust else {
            panic!("{:?}", tls.trust)
        };
        assert_eq!(Path::new(&path).parent().unwrap(), into);
        assert_eq!(std::fs::read_to_string(path).unwrap(), "of the service");
        assert_eq!(
            Path::new(&tls.identity.unwrap().key).parent().unwrap(),
            into
        );
    }
}
