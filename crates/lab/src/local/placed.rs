//! A test bed whose files are rendered: endpoints, single requests, load plans of its agents, commands.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tare_experiment::target::software_name;
use tare_record::load::{
    self, AddressOverride, AddressPolicy, Body, Endpoint, LoadPlan, RequestSpec, Resumption,
    TlsSpec, TlsVersion, Transport, Trust,
};
use tare_record::plan::{Ask, PreparedTopic};
use tare_record::topology::{Instance, Security};

use super::external::{self, ExternalAddress};
use super::layout::{Layout, ROOT_CERTIFICATE};
use super::pods::TestBedPods;
use crate::LabError;
use crate::connector::Connector;
use crate::environment::{HttpResponse, TestBedPlan};
use crate::host::SharedHost;
use crate::http::{self, Request};
use crate::keeper::{Confinement, lock};
use crate::render::{Identity, Rendered};

/// A test bed whose files are rendered; nothing is started.
pub(crate) struct PlacedTestBed {
    pub host: SharedHost,
    /// Unique within the run; also the name of its folder.
    pub name: String,
    pub folder: PathBuf,
    pub plan: TestBedPlan,
    pub layout: Layout,
    pub pods: TestBedPods,
    /// One per context, in the same order.
    pub rendered: Vec<Rendered>,
    /// What each of them may do and see, in the same order.
    pub confinements: Vec<Option<Confinement>>,
    /// The same of agents.
    pub of_agents: Option<Confinement>,
    /// Certificates of agents by instance.
    pub agents: BTreeMap<String, Identity>,
    /// Its folder in memory.
    pub memory: Option<PathBuf>,
    /// Name of the software → `envoy 1.40.0`.
    pub software: BTreeMap<String, String>,
    pub tare: PathBuf,
    /// External parts by their names in routes, and the addresses they may have.
    pub external: BTreeMap<String, ExternalAddress>,
    pub reach: AddressPolicy,
}

impl PlacedTestBed {
    /// Software of an instance, with its version; agents have none.
    pub(super) fn software_of(&self, instance: &Instance) -> Option<&String> {
        self.software
            .get(&software_name(instance, &self.plan.targets))
    }

    /// Address for the first connection of a calling instance on an edge.
    pub(super) fn endpoint(&self, edge: &str, from: &str) -> Result<&Endpoint, LabError> {
        let endpoints = &self.layout.endpoints;
        let wanted = (edge.to_owned(), from.to_owned());
        endpoints.get(&wanted).ok_or_else(|| {
            let known: Vec<String> = endpoints
                .keys()
                .map(|(edge, from)| format!("{edge} from {from}"))
                .collect();
            LabError::Plan(format!(
                "there is no edge `{edge}` from `{from}` in the topology (there are {})",
                known.join(", ")
            ))
        })
    }

    /// Sends a single request on the route of an agent's requests, from its pod to the first hop of its edge; any
    /// response is a success.
    pub(super) fn ask(&self, ask: &Ask) -> Result<HttpResponse, LabError> {
        let failed = |reason: String| {
            LabError::Plan(format!(
                "{} {} over {}: {reason}",
                ask.request.method, ask.request.path, ask.edge
            ))
        };
        let endpoint = self.endpoint(&ask.edge, &ask.from)?;
        let address = endpoint.addresses.first().copied();
        let address = address.ok_or_else(|| failed(String::from("it leads nowhere")))?;
        let instances = &self.plan.topology.instances;
        let pod = instances.iter().find(|instance| instance.name == ask.from);
        let pod = pod.map_or(ask.from.as_str(), |instance| instance.pod.as_str());
        let request = Request {
            address,
            host: &endpoint.host,
            method: &ask.request.method,
            path: &ask.request.path,
            headers: &ask.request.headers,
            body: body(&ask.request).map_err(failed)?,
        };
        let within = Duration::from_nanos(ask.timeout_ns);
        http::send(&self.pods.connector(pod), &request, within).map_err(failed)
    }

    /// The load plan with the TLS settings of the agent's own edges: the certificate files are known only here.
    pub(super) fn with_own_security(&self, instance: &str, plan: &LoadPlan) -> LoadPlan {
        let mut plan = plan.clone();
        if self.configure_external_calls(instance, &mut plan) {
            return plan;
        }
        let mut routes = self.plan.topology.routes.iter();
        let own = routes
            .find(|route| route.from == instance)
            .map(|r| r.edge_security);
        let identity = self.agents.get(instance);
        if let (Some(own @ (Security::Tls | Security::Mtls)), Some(identity)) = (own, identity) {
            plan.load.transport = Transport::Tls(TlsSpec {
                trust: Trust::File {
                    path: identity.ca.display().to_string(),
                },
                identity: (own == Security::Mtls).then(|| load::Identity {
                    certificate: identity.certificate.display().to_string(),
                    key: identity.key.display().to_string(),
                }),
                server_name: None,
                alpn: None,
                oldest: TlsVersion::V1_3,
                newest: TlsVersion::V1_3,
                resumption: Resumption::Off,
            });
        }
        plan
    }

    /// Configures an agent that calls an external part: TLS, login, address overrides. `false`: it calls none.
    fn configure_external_calls(&self, instance: &str, plan: &mut LoadPlan) -> bool {
        let routes = self.plan.topology.routes.iter();
        let called: Vec<_> = routes
            .filter(|route| route.from == instance)
            .filter_map(|route| Some((route, self.external.get(&route.to)?)))
            .collect();
        let Some((first, found)) = called.first() else {
            return false;
        };
        plan.allowed_addresses = self.reach;
        if let Some(tls) = &found.def.tls {
            plan.load.transport = Transport::Tls(tls.clone());
        }
        if let Some(login) = &found.def.sasl {
            plan.load.client.log_in(login);
        }
        // An endpoint has one address per route of its edge, in the same order.
        if let Ok(endpoint) = self.endpoint(&first.edge, instance) {
            let all = called.iter().zip(&endpoint.addresses);
            let all = all.map(|((_, found), through)| AddressOverride {
                advertised: found.address,
                connect_to: *through,
            });
            plan.address_overrides = all.filter(|one| one.advertised != one.connect_to).collect();
        }
        true
    }

    /// The network from which an external part is called; `None`: no pod of the arm calls it.
    pub(super) fn caller_of(&self, external: &str) -> Option<Connector> {
        let mut callers = external::callers(&self.plan.topology);
        let caller = callers.find(|(name, _)| *name == external);
        match caller {
            Some((_, pod)) => Some(self.pods.connector(pod)),
            None => (!lock(&self.host).is_elsewhere()).then_some(Connector::Host),
        }
    }

    /// Whether the brokers of a topic are not started by Tare.
    pub(super) fn is_external(&self, topic: &PreparedTopic) -> bool {
        let mut external = self.external.values();
        external.any(|found| found.def.part == topic.part)
    }
}

/// The `/etc/hosts` of a pod, in the test bed's folder.
pub(super) fn hosts_of(folder: &Path, pod: &str) -> PathBuf {
    folder.join(format!("{pod}.hosts"))
}

/// What each pod needs of a test bed's files: those of its instances and no other's.
pub(super) fn files_of_pods(
    plan: &TestBedPlan,
    layout: &Layout,
    agents: &BTreeMap<String, Identity>,
    folder: &Path,
) -> BTreeMap<String, Vec<PathBuf>> {
    let mut all: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for pod in &plan.topology.pods {
        let of_all = [hosts_of(folder, &pod.name), folder.join(ROOT_CERTIFICATE)];
        let there = of_all.into_iter().filter(|path| path.exists());
        all.insert(pod.name.clone(), there.collect());
    }
    for context in &layout.contexts {
        let paths = all.entry(context.pod.clone()).or_default();
        paths.push(context.dir.clone());
        paths.extend(context.admin_socket.parent().map(Path::to_owned));
        let keys = context.identity.iter().filter_map(|one| one.key.parent());
        paths.extend(keys.map(Path::to_owned));
        paths.extend(context.ca.iter().map(|ca| ca.folder.clone()));
    }
    for instance in &plan.topology.instances {
        if let Some(keys) = agents.get(&instance.name).and_then(|one| one.key.parent()) {
            let paths = all.entry(instance.pod.clone()).or_default();
            paths.push(keys.to_owned());
        }
        let mut called = plan.topology.routes.iter();
        let called = called.find(|route| route.from == instance.name);
        let keys = called.map(|route| external::tls_folder(folder, &route.to));
        if let Some(keys) = keys.filter(|keys| keys.exists()) {
            let paths = all.entry(instance.pod.clone()).or_default();
            paths.push(keys);
        }
    }
    all
}

fn body(request: &RequestSpec) -> Result<&[u8], String> {
    match &request.body {
        Body::None => Ok(&[]),
        Body::Text { text } | Body::Json { text } => Ok(text.as_bytes()),
        Body::Filler { .. } | Body::Base64 { .. } | Body::Messages { .. } | Body::Form { .. } => {
            Err(String::from(
                "a single request has a text as its body, or none",
            ))
        }
    }
}

/// A command with its environment and folder, as arguments of `env`.
pub(super) fn by_hand(rendered: &Rendered) -> Vec<String> {
    let mut words = vec![
        String::from("env"),
        format!("--chdir={}", rendered.dir.display()),
    ];
    words.extend(
        rendered
            .env
            .iter()
            .map(|(name, value)| format!("{name}={value}")),
    );
    words.extend(rendered.start.clone());
    words
}
