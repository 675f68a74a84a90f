//! External parts: addresses, TLS, login, counters, and what is not possible with them.

mod counters;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use tare_record::external::{CPU_SECONDS, External, ExternalMetrics, MEMORY_BYTES, split};
use tare_record::files;
use tare_record::load::{
    AddressPolicy, Identity, LoginSpec, Resumption, TlsSpec, TlsVersion, Trust,
};
use tare_record::plan::{Addressing, PartKind};
use tare_record::protocol;
use tare_record::text::preview;
use tare_record::topology::Security;

use self::counters::COUNTERS_MAX;
use super::{Input, ResolveOptions, Scope, SitesAt, workload};
use crate::catalog::WorkloadFolder;
use crate::clusters::{ClusterSaslDef, ClusterTlsDef};
use crate::def::ExternalMapDef;
use crate::problem::{hint, list, unknown};
use crate::yaml::{Mark, Node};

/// Greatest number of addresses of a part.
const ADDRESSES_MAX: usize = 64;
/// Reason: passwords are not taken from the environment.
const NO_ENVIRONMENT: &str =
    "an experiment names no variable of your environment: write password_file";
/// Reason: a login without a password.
const NO_PASSWORD: &str = "no password: write password_file, a file beside the experiment";

/// External parts with their addresses, by name.
#[derive(Debug, Clone, Default)]
pub(super) struct Externals(BTreeMap<String, Vec<External>>);

impl Externals {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Addresses of a part; `None`: the part is not external.
    pub fn of(&self, part: &str) -> Option<&[External]> {
        self.0.get(part).map(Vec::as_slice)
    }

    pub fn all(&self) -> impl Iterator<Item = &External> {
        self.0.values().flatten()
    }

    /// Whether a part, or an address of one, has this name.
    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name) || self.all().any(|one| one.name == name)
    }

    /// End-to-end security of the edges to a part.
    pub fn own(&self, part: &str) -> Option<Security> {
        self.of(part)?.first().map(External::own)
    }

    /// Notes for the report: resource usage that is not known.
    pub fn notes(&self) -> Vec<String> {
        let usage = [(CPU_SECONDS, "CPU"), (MEMORY_BYTES, "memory")];
        let mut unknown: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for (part, all) in &self.0 {
            let lacks = |(counter, _): &&(&str, &str)| !all.iter().all(|one| one.counts(counter));
            let words: Vec<&str> = usage.iter().filter(lacks).map(|(_, what)| *what).collect();
            if !words.is_empty() {
                unknown.entry(list(&words)).or_default().push(part);
            }
        }
        let texts = unknown.iter().map(|(what, parts)| {
            let (parts, is) = (list(parts), if parts.len() == 1 { "is" } else { "are" });
            format!(
                "{parts} {is} external: {what} there is not known, and in no figure over all parts."
            )
        });
        texts.collect()
    }

    /// Whether the CPU usage of all external parts is known.
    pub fn count_cpu(&self) -> bool {
        self.all().all(|one| one.counts(CPU_SECONDS))
    }
}

/// Definition of an external part, with its position.
struct Written<'a> {
    part: &'a str,
    def: ExternalMapDef,
    file: &'a str,
    node: &'a Node,
}

impl Written<'_> {
    fn wrong(&self, scope: &mut Scope<'_>, path: &[&str], message: impl Into<String>) {
        scope
            .problems
            .add(self.file, self.node.mark_at(path), message);
    }

    /// Reports a problem that leaves nothing.
    fn reject<T>(
        &self,
        scope: &mut Scope<'_>,
        path: &[&str],
        message: impl Into<String>,
    ) -> Option<T> {
        self.wrong(scope, path, message);
        None
    }

    /// Resolves a file name, relative to the folder of the defining file.
    fn file(&self, scope: &mut Scope<'_>, path: &[&str], name: &str) -> Option<PathBuf> {
        let folder = Path::new(self.file).parent().unwrap_or(Path::new(""));
        let found = files::resolve_inside(folder, name);
        found.map_or_else(|message| self.reject(scope, path, message), Some)
    }
}

/// External parts, defined by the command line, else by the experiment, else by the workload.
pub(super) fn externals(
    scope: &mut Scope<'_>,
    Input { root, def, folder }: Input<'_>,
    choices: &ResolveOptions,
) -> Externals {
    let mut all: BTreeMap<&str, Written<'_>> = BTreeMap::new();
    for (name, part) in &folder.def.parts {
        let parts = folder.root.get("parts");
        let node = parts.and_then(|parts| parts.get(name)?.get("external"));
        if let (Some(external), Some(node)) = (&part.external, node) {
            let written = Written {
                part: name,
                def: external.map(),
                file: &folder.file,
                node,
            };
            all.insert(name, written);
        }
    }
    let file = scope.file;
    for (name, external) in &def.external {
        let node = root.get("external").and_then(|all| all.get(name));
        let written = Written {
            part: name,
            def: external.map(),
            file,
            node: node.unwrap_or(root),
        };
        all.insert(name, written);
    }
    for (part, addresses) in &choices.external {
        let one = all.entry(part).or_insert_with(|| Written {
            part,
            def: ExternalMapDef::default(),
            file,
            node: root,
        });
        (one.def.address, one.def.bootstrap) = (None, Vec::new());
        one.def.addresses.clone_from(addresses);
    }
    let mut found = Externals::default();
    for written in all.values() {
        if let Some(addresses) = part(scope, written, folder, choices.reach) {
            found.0.insert(written.part.to_owned(), addresses);
        }
    }
    found
}

/// Resolves one external part.
fn part(
    scope: &mut Scope<'_>,
    written: &Written<'_>,
    folder: &WorkloadFolder,
    reach: AddressPolicy,
) -> Option<Vec<External>> {
    let Written { part, def, .. } = written;
    let Some(found) = folder.def.parts.get(*part) else {
        return written.reject(scope, &[], unknown("part", part, folder.def.parts.keys()));
    };
    if found.kind == PartKind::Client {
        let message = "agents play a client: only what is called can be external";
        return written.reject(scope, &[], message);
    }
    let edges = workload::edges(&folder.def);
    let to = edges.iter().filter(|edge| edge.to == *part);
    let protocols: BTreeSet<&str> = to.map(|edge| edge.protocol.as_str()).collect();
    let protocols: Vec<&str> = protocols.into_iter().collect();
    let [protocol] = protocols.as_slice() else {
        let message = format!(
            "edges to \"{part}\" speak {}, but an external part listens at one port for all: leave it to a target",
            list(&protocols)
        );
        return written.reject(scope, &[], message);
    };
    let tls = def.tls.as_ref().and_then(|def| tls(scope, written, def));
    let login = def.sasl.as_ref();
    let login = login.and_then(|def| login_of(scope, written, def, protocol));
    if def.host.as_deref().is_some_and(|host| !is_host(host)) {
        let message =
            "a host is a name or an address, with a port or without: such as db.example:8080";
        written.wrong(scope, &["host"], message);
    }
    if def.counters.len() > COUNTERS_MAX {
        let message = format!("{} counters: at most {COUNTERS_MAX}", def.counters.len());
        written.wrong(scope, &["counters"], message);
    }
    let all = addresses(scope, written, reach)?;
    let source = counters::metrics(scope, written, found, all.len(), reach);
    let mut made = Vec::new();
    for (number, at) in (1_usize..).zip(&all) {
        made.push(External {
            name: match all.len() {
                1 => (*part).to_owned(),
                _ => format!("{part}-{number}"),
            },
            part: (*part).to_owned(),
            protocol: (*protocol).to_owned(),
            host: def.host.clone().unwrap_or_else(|| at.clone()),
            tls: tls.clone(),
            sasl: login.clone(),
            counters: counters::counters(scope, written, at, all.len(), reach),
            metrics: source.as_ref().map(|metrics| ExternalMetrics {
                target: metrics.target.clone(),
                source: metrics.source.of_instance(number - 1),
            }),
            at: at.clone(),
        });
    }
    Some(made)
}

/// Addresses of a part, checked.
fn addresses(
    scope: &mut Scope<'_>,
    written: &Written<'_>,
    reach: AddressPolicy,
) -> Option<Vec<String>> {
    let def = &written.def;
    let one: Vec<String> = def.address.iter().cloned().collect();
    let lists = [
        ("address", &one),
        ("addresses", &def.addresses),
        ("bootstrap", &def.bootstrap),
    ];
    let given: Vec<_> = lists.iter().filter(|(_, all)| !all.is_empty()).collect();
    let [(key, all)] = given.as_slice() else {
        let message = "where is it? write one of address, addresses and bootstrap";
        return written.reject(scope, &[], message);
    };
    if all.len() > ADDRESSES_MAX {
        let message = format!("{} addresses: at most {ADDRESSES_MAX}", all.len());
        written.wrong(scope, &[*key], message);
    }
    for (index, at) in all.iter().enumerate() {
        let place = index.to_string();
        let place = [*key, &place];
        match split(at) {
            None => {
                let message = format!(
                    "invalid address \"{}\": write HOST:PORT, such as 127.0.0.1:8080 or [::1]:8080",
                    preview(at)
                );
                written.wrong(scope, &place, message);
            }
            Some((host, _)) => {
                if let Err(message) = within(host, reach) {
                    written.wrong(scope, &place, message);
                }
            }
        }
        if all[..index].contains(at) {
            written.wrong(scope, &place, format!("duplicate {at}"));
        }
    }
    Some((*all).clone())
}

/// Whether an IP address may be connected to; host names are resolved and checked at the start of a run.
fn within(host: &str, reach: AddressPolicy) -> Result<(), String> {
    match host.parse::<IpAddr>() {
        Ok(address) => reach.check(address).map_err(|refused| refused.to_string()),
        Err(_) => Ok(()),
    }
}

fn is_host(host: &str) -> bool {
    split(host).is_some() || split(&format!("{host}:1")).is_some()
}

fn tls(scope: &mut Scope<'_>, written: &Written<'_>, def: &ClusterTlsDef) -> Option<TlsSpec> {
    let ClusterTlsDef { ca, cert, key, .. } = def;
    let mut file = |key: &str, name: &Option<String>| {
        let path = written.file(scope, &["tls", key], name.as_ref()?)?;
        Some(path.display().to_string())
    };
    let (authority, certificate, own_key) = (file("ca", ca), file("cert", cert), file("key", key));
    if cert.is_some() != key.is_some() {
        let message =
            "a certificate needs its key, and a key its certificate: write both, cert and key";
        return written.reject(scope, &["tls"], message);
    }
    if def.insecure && ca.is_some() {
        let message =
            "with insecure nobody is checked, so ca decides nothing: leave one of the two out";
        written.wrong(scope, &["tls", "insecure"], message);
    }
    let identity = certificate.zip(own_key);
    Some(TlsSpec {
        trust: match (authority, def.insecure) {
            (_, true) => Trust::Any,
            (Some(path), false) => Trust::File { path },
            (None, false) => Trust::System,
        },
        identity: identity.map(|(certificate, key)| Identity { certificate, key }),
        server_name: def.server_name.clone(),
        alpn: None,
        // The TLS version is the server's choice; the negotiated one is in the record.
        oldest: TlsVersion::V1_2,
        newest: TlsVersion::V1_3,
        resumption: Resumption::Off,
    })
}

fn login_of(
    scope: &mut Scope<'_>,
    written: &Written<'_>,
    def: &ClusterSaslDef,
    protocol: &str,
) -> Option<LoginSpec> {
    const MECHANISMS: [&str; 3] = ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"];
    if !protocol::is_of_brokers(protocol) {
        let message = format!("nobody logs in over {protocol}: leave sasl out");
        return written.reject(scope, &["sasl"], message);
    }
    let wanted = def.mechanism.to_ascii_uppercase();
    let Some(mechanism) = MECHANISMS.into_iter().find(|known| *known == wanted) else {
        let (mechanism, hint) = (preview(&def.mechanism), hint(&wanted, MECHANISMS));
        let message = format!("no mechanism \"{mechanism}\"{hint}");
        return written.reject(scope, &["sasl", "mechanism"], message);
    };
    if def.password_env.is_some() {
        return written.reject(scope, &["sasl", "password_env"], NO_ENVIRONMENT);
    }
    let Some(name) = &def.password_file else {
        return written.reject(scope, &["sasl"], NO_PASSWORD);
    };
    let password_file = written.file(scope, &["sasl", "password_file"], name)?;
    Some(LoginSpec {
        mechanism: mechanism.to_owned(),
        user: def.user.clone(),
        password_file,
    })
}

/// Why traffic cannot be redirected.
pub(super) fn no_redirection(sites: &SitesAt) -> &'static str {
    match sites {
        SitesAt::Here => {
            "what is external is reached over the host's own network, where no pod has one of its own"
        }
        SitesAt::Clusters(_) => "calls of what is external are not redirected in pods elsewhere",
    }
}

/// With external parts everything on this machine uses the host's network: pods in namespaces cannot reach them.
pub(super) fn addressing(scope: &mut Scope<'_>, root: &Node, requested: Addressing) -> Addressing {
    if requested == Addressing::Namespaces {
        let mark = match root.get("addressing") {
            Some(_) => root.key_mark_at(&["addressing"]),
            None => root.key_mark_at(&["external"]),
        };
        let message = "pods in namespaces have no way to what is external, on the host's own network: write `addressing: loopback` (or --addressing loopback)";
        scope.problem(mark, message);
    }
    Addressing::Loopback
}

/// Reports a setting that external parts cannot have.
pub(super) fn refuse(scope: &mut Scope<'_>, mark: Mark, name: &str, advice: &str) {
    let message = format!("\"{name}\" is external: {advice}");
    scope.problem(mark, message);
}
