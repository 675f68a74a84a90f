//! The arguments that say where pods are.

use std::collections::{BTreeMap, BTreeSet};

use tare_experiment::resolve::{ControlPlane, SitesAt};

use crate::arguments::words;
use crate::exit::bad_input;

/// Where pods are: on this machine, or on which nodes of which cluster.
#[derive(Debug, Clone, clap::Args)]
pub struct EnvironmentArgs {
    /// Where pods are.
    #[arg(long, default_value = "local", value_parser = words::<EnvironmentKind>(&ENVIRONMENTS))]
    pub environment: EnvironmentKind,
    /// Context of kubectl's configuration, for pods of a cluster [default: the current one].
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
    /// Cluster of a site of the experiment, by its context; for each site. Pods of all clusters must reach each other by their addresses.
    #[arg(long = "site", value_name = "SITE=CONTEXT", value_parser = site_context, conflicts_with = "context")]
    pub site_contexts: Vec<SiteContext>,
    /// Namespace of a cluster that is there, for the pods [default: one of the run's own, which needs rights over all].
    #[arg(long, value_name = "NAME", value_parser = namespace)]
    pub namespace: Option<String>,
    /// Image of pods of a cluster, made by scripts/release.
    #[arg(long, value_name = "NAME:TAG", default_value = concat!("tare:", env!("CARGO_PKG_VERSION")))]
    pub image: String,
    /// Control plane of meshes: one of the run's own, or that of the cluster, which injects the sidecars.
    #[arg(long, default_value = "own", value_parser = words::<ControlPlane>(&CONTROL_PLANES))]
    pub mesh: ControlPlane,
    /// Nodes of a cluster for load, by their labels; their taints are tolerated [default: a third of the nodes].
    #[arg(long, value_name = "LABEL=VALUE,…", value_parser = labels)]
    pub load_nodes: Option<NodeLabels>,
    /// Nodes of a cluster for everything else, by their labels; their taints are tolerated [default: those without load].
    #[arg(long, value_name = "LABEL=VALUE,…", value_parser = labels)]
    pub part_nodes: Option<NodeLabels>,
    /// Exclusive cores for each pod of agents; its node needs the kubelet's CPU manager policy `static` [default: shared cores].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub load_cores: Option<u32>,
}

/// Environments with their descriptions.
const ENVIRONMENTS: [(&str, &str); 3] = [
    ("local", "on this machine"),
    ("kubernetes", "on a Kubernetes cluster (docs/KUBERNETES.md)"),
    (
        "remote",
        "on this machine, reached as those of a cluster are; to test that",
    ),
];

/// Control planes with their descriptions.
const CONTROL_PLANES: [(&str, &str); 2] = [
    ("own", "of the run, in pods of its own"),
    ("installed", "of the cluster (docs/KUBERNETES.md)"),
];

/// Where pods are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EnvironmentKind {
    #[default]
    Local,
    /// On a cluster.
    Kubernetes,
    /// In network namespaces of this machine, reached like pods of a cluster.
    Remote,
}

/// A site of the experiment, and the context of its cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SiteContext {
    pub site: String,
    pub context: String,
}

/// Parses `SITE=CONTEXT`.
fn site_context(word: &str) -> Result<SiteContext, String> {
    match word.split_once('=') {
        Some((site, context)) if !site.is_empty() && !context.is_empty() => Ok(SiteContext {
            site: site.to_owned(),
            context: context.to_owned(),
        }),
        _ => Err(String::from("write SITE=CONTEXT, such as far=lab-us")),
    }
}

/// Parses the name of a namespace.
pub fn namespace(word: &str) -> Result<String, String> {
    let is_known = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let is_name = !word.is_empty() && word.len() <= 63 && word.chars().all(is_known);
    match is_name && !word.starts_with('-') && !word.ends_with('-') {
        true => Ok(word.to_owned()),
        false => Err(String::from(
            "a namespace has at most 63 small letters, digits and `-`, such as tare",
        )),
    }
}

/// NodeLabels that a node must have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeLabels(pub BTreeMap<String, String>);

impl std::fmt::Display for NodeLabels {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let all = self.0.iter().map(|(name, value)| format!("{name}={value}"));
        f.write_str(&all.collect::<Vec<_>>().join(","))
    }
}

/// Parses `LABEL=VALUE,…`.
fn labels(word: &str) -> Result<NodeLabels, String> {
    let pairs = word.split(',').map(|pair| {
        let pair = pair.trim().split_once('=');
        pair.filter(|(name, _)| !name.is_empty())
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
    });
    let pairs: Option<Vec<(String, String)>> = pairs.collect();
    let pairs = pairs.ok_or_else(|| String::from("write LABEL=VALUE, such as pool=load"))?;
    let count = pairs.len();
    let all = BTreeMap::from_iter(pairs);
    match all.len() == count {
        true => Ok(NodeLabels(all)),
        false => Err(String::from(
            "a label is there twice: a node has one value of it",
        )),
    }
}

impl EnvironmentArgs {
    /// Where sites are.
    pub fn sites(&self) -> SitesAt {
        let sites = self.site_contexts.iter();
        let sites = sites.map(|one| (one.site.clone(), one.context.clone()));
        match self.environment {
            EnvironmentKind::Local => SitesAt::Here,
            _ => SitesAt::Clusters(sites.collect()),
        }
    }

    /// Contexts in the order of their sites, each with these; without sites, the one context.
    pub fn contexts(&self) -> Vec<(Option<String>, Vec<String>)> {
        let mut all: Vec<(Option<String>, Vec<String>)> = Vec::new();
        let mut sites: Vec<&SiteContext> = self.site_contexts.iter().collect();
        sites.sort_by_key(|one| &one.site);
        for SiteContext { site, context } in sites {
            let known = all
                .iter_mut()
                .find(|(one, _)| one.as_ref() == Some(context));
            match known {
                Some((_, sites)) => sites.push(site.clone()),
                None => all.push((Some(context.clone()), vec![site.clone()])),
            }
        }
        if all.is_empty() {
            all.push((self.context.clone(), Vec::new()));
        }
        all
    }

    /// Refuses what only a cluster has, and what several cannot have.
    pub fn check(&self) -> anyhow::Result<()> {
        let mut named = BTreeSet::new();
        let mut sites = self.site_contexts.iter().map(|one| &one.site);
        if let Some(twice) = sites.find(|site| !named.insert(*site)) {
            return Err(bad_input(format!(
                "duplicate --site {twice}: a site has one cluster"
            )));
        }
        if self.mesh == ControlPlane::Installed && self.contexts().len() > 1 {
            return Err(bad_input(
                "--mesh installed is for one cluster, and the sites have several contexts: leave one of both out",
            ));
        }
        if self.mesh == ControlPlane::Installed && self.namespace.is_some() {
            return Err(bad_input(
                "--mesh installed makes Services and objects of the mesh, which need a namespace of the run's own: leave --namespace out",
            ));
        }
        if self.environment == EnvironmentKind::Kubernetes {
            return Ok(());
        }
        let of_clusters = [
            ("--mesh installed", self.mesh == ControlPlane::Installed),
            ("--context", self.context.is_some()),
            ("--namespace", self.namespace.is_some()),
            (
                "--site",
                !self.site_contexts.is_empty() && self.environment == EnvironmentKind::Local,
            ),
            ("--load-nodes", self.load_nodes.is_some()),
            ("--part-nodes", self.part_nodes.is_some()),
            ("--load-cores", self.load_cores.is_some()),
        ];
        match of_clusters.into_iter().find(|(_, is_given)| *is_given) {
            None => Ok(()),
            Some((option, _)) => Err(bad_input(format!(
                "{option} is for pods of a cluster: add --environment kubernetes, or leave it out"
            ))),
        }
    }

    /// Arguments with which a run is resumed: the plan knows its mesh.
    pub fn to_words(&self) -> Vec<String> {
        if self.environment != EnvironmentKind::Kubernetes {
            return Vec::new();
        }
        let mut all = vec![String::from("--environment kubernetes")];
        all.extend(self.context.iter().map(|name| format!("--context {name}")));
        let namespace = self.namespace.iter();
        all.extend(namespace.map(|name| format!("--namespace {name}")));
        let sites = self.site_contexts.iter();
        all.extend(sites.map(|one| format!("--site {}={}", one.site, one.context)));
        all.push(format!("--image {}", self.image));
        let nodes = [
            ("--load-nodes", &self.load_nodes),
            ("--part-nodes", &self.part_nodes),
        ];
        for (option, labels) in nodes {
            all.extend(labels.iter().map(|labels| format!("{option} {labels}")));
        }
        all.extend(self.load_cores.map(|cores| format!("--load-cores {cores}")));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_is_a_name_and_no_option() {
        assert_eq!(namespace("tare-1"), Ok(String::from("tare-1")));
        for wrong in ["", "-n", "a-", "A", "a b", "a/b", &"x".repeat(64)] {
            assert!(namespace(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn labels_of_nodes_are_read_and_named_again() {
        let found = labels("pool=load, kubernetes.io/arch=amd64,empty=").unwrap();
        assert_eq!(found.0["pool"], "load");
        assert_eq!(
            found.to_string(),
            "empty=,kubernetes.io/arch=amd64,pool=load"
        );
        for wrong in ["pool=a,pool=b", "pool", "=load", "a=b,,c=d", ""] {
            assert!(labels(wrong).is_err(), "{wrong}");
        }
    }
}
