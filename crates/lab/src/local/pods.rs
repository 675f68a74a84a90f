//! The pods of one bed: an address each and, with namespaces, a network each.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use tare_net::Switch;
use tare_net::capture::{self, Capture, Exemption};
use tare_schema::plan::Addressing;
use tare_schema::record::Distance;
use tare_schema::topology::Topology;

use super::addresses::{self, Addresses};
use super::layout::Redirect;
use super::{SharedKeeper, distances, lock};
use crate::LabError;
use crate::door::{Door, PodDoor};
use crate::keeper::Keeper;
use crate::local::LocalOptions;
use crate::observe::WatchedLinks;

/// How the pods of a run get their addresses, and why so.
pub(crate) struct Network {
    pub(crate) kind: Kind,
    /// In words, for the record.
    pub(crate) reason: String,
    /// By what a sidecar's own traffic is known, where traffic is redirected.
    pub(crate) exemption: Exemption,
    /// Names of the sites in the order of their numbers; none: everything is at one place.
    sites: Vec<String>,
    /// How far apart they were found to be, for the record.
    pub(crate) distances: Vec<Distance>,
}

/// Where pods live.
pub(crate) enum Kind {
    /// On the host's loopback device.
    Loopback(Addresses),
    /// Each in a network namespace.
    Namespaces(Numbers),
}

/// The numbers of pods that are there: several beds may be up on one switch.
#[derive(Clone, Default)]
pub(crate) struct Numbers(Arc<Mutex<BTreeSet<u16>>>);

impl Numbers {
    /// The lowest that no pod has.
    fn take(&self) -> Option<Taken> {
        let mut taken = lock(&self.0);
        let number = (0..u16::MAX).find(|number| !taken.contains(number))?;
        taken.insert(number);
        Some(Taken {
            numbers: self.clone(),
            number,
        })
    }
}

/// A pod's number, given back when it is dropped.
struct Taken {
    numbers: Numbers,
    number: u16,
}

impl Drop for Taken {
    fn drop(&mut self) {
        lock(&self.numbers.0).remove(&self.number);
    }
}

impl Network {
    /// Starts the keeper for the addressing that was asked for, or the best that can be had.
    pub(crate) fn start(options: &LocalOptions) -> Result<(Keeper, Network), LabError> {
        let base = options.base.as_deref();
        let asked = |addressing| match addressing {
            Addressing::Auto => String::from("the default, possible here"),
            _ => String::from("asked for"),
        };
        let refused = match options.addressing {
            Addressing::Loopback => asked(options.addressing),
            Addressing::Namespaces | Addressing::Auto => {
                match Keeper::start_in_namespaces(&options.tare, base) {
                    Ok(mut keeper) => {
                        let (sites, distances) = distances::join(&mut keeper, options)?;
                        let network = Network {
                            kind: Kind::Namespaces(Numbers::default()),
                            exemption: capture::exemption_in(keeper.inside_pid()),
                            reason: asked(options.addressing),
                            sites,
                            distances,
                        };
                        return Ok((keeper, network));
                    }
                    // What was asked for as a distance must not be measured without one.
                    Err(error) if !options.site_links.is_empty() => {
                        return Err(LabError::Unsupported {
                            what: String::from("sites"),
                            environment: String::from("pods without a network of their own"),
                            next: format!("{error} and leave the sites out"),
                        });
                    }
                    Err(error) if options.addressing == Addressing::Auto => {
                        format!("namespaces are not possible here: {error}")
                    }
                    Err(error) => return Err(error),
                }
            }
        };
        let keeper = Keeper::start(&options.tare, base)?;
        let network = Network {
            kind: Kind::Loopback(Addresses::reserve()?),
            reason: refused,
            exemption: Exemption::Group,
            sites: Vec::new(),
            distances: Vec::new(),
        };
        Ok((keeper, network))
    }

    /// What is not as with root, for the record.
    pub(crate) fn exemption_in_words(&self) -> Option<String> {
        let words = "without root: a sidecar's own traffic is known by packet mark (1337) or by the ports it calls from, not by \
                     its group as in Istio";
        (self.exemption == Exemption::Itself).then(|| words.to_owned())
    }

    /// Word of the record.
    pub(crate) fn word(&self) -> &'static str {
        match self.kind {
            Kind::Loopback(_) => "loopback",
            Kind::Namespaces(_) => "namespaces",
        }
    }

    /// Gives every pod of a bed its address and, with namespaces, its network.
    pub(crate) fn pods(
        &mut self,
        topology: &Topology,
        bed: &str,
        folder: &Path,
        keeper: &SharedKeeper,
    ) -> Result<Pods, LabError> {
        let mut pods = Pods {
            keeper: Arc::clone(keeper),
            sites: self.sites.clone(),
            bed: bed.to_owned(),
            folder: folder.to_owned(),
            addresses: BTreeMap::new(),
            plugged: BTreeSet::new(),
            numbers: Vec::new(),
        };
        let sites = &self.sites;
        for pod in &topology.pods {
            let address = match &mut self.kind {
                Kind::Loopback(addresses) => addresses.next(),
                Kind::Namespaces(numbers) => {
                    let many =
                        || LabError::Plan(format!("{} pods are too many", topology.pods.len()));
                    let taken = numbers.take().ok_or_else(many)?;
                    let address = site_address(sites, &pod.site, taken.number).ok_or_else(many)?;
                    lock(keeper).plug(&pods.kept(&pod.name), address)?;
                    pods.numbers.push(taken);
                    pods.plugged.insert(pod.name.clone());
                    address
                }
            };
            pods.addresses
                .insert(pod.name.clone(), IpAddr::from(address));
        }
        Ok(pods)
    }

    /// Whether a pod's traffic can be redirected.
    pub(crate) fn redirect(&self) -> Redirect {
        match self.kind {
            Kind::Loopback(_) => Redirect::Impossible,
            Kind::Namespaces(_) => Redirect::Possible,
        }
    }

    /// A port of a pod that is not among the given ones, which it joins.
    pub(crate) fn port(
        &self,
        address: IpAddr,
        given: &mut BTreeSet<SocketAddr>,
    ) -> Result<u16, LabError> {
        match self.kind {
            Kind::Loopback(_) => addresses::free_port(address, given),
            // Nobody else is in there.
            Kind::Namespaces(_) => addresses::next_port(address, given),
        }
    }
}

/// Numbers go on from site to site: it does not matter that some are left out.
fn site_address(sites: &[String], site: &str, number: u16) -> Option<Ipv4Addr> {
    if sites.is_empty() {
        return Switch::pod_address(number);
    }
    let place = sites.iter().position(|name| name == site)?;
    tare_net::site::pod_address(u8::try_from(place).ok()?, number)
}

/// The pods of one bed. Dropping it lets go of their networks, which end with the last process in them.
pub(crate) struct Pods {
    keeper: SharedKeeper,
    sites: Vec<String>,
    bed: String,
    folder: PathBuf,
    pub(crate) addresses: BTreeMap<String, IpAddr>,
    plugged: BTreeSet<String>,
    /// Let go of after their networks.
    numbers: Vec<Taken>,
}

impl Pods {
    fn kept(&self, pod: &str) -> String {
        format!("{}/{pod}", self.bed)
    }

    /// The pod as the keeper knows it, if it has a network of its own.
    pub(crate) fn network(&self, pod: &str) -> Option<String> {
        self.plugged.contains(pod).then(|| self.kept(pod))
    }

    /// What lies between the sites, if there are any.
    pub(crate) fn links(&self) -> Option<WatchedLinks> {
        (!self.sites.is_empty()).then(|| WatchedLinks {
            keeper: Arc::clone(&self.keeper),
            sites: self.sites.clone(),
        })
    }

    /// Sends a pod's traffic to its sidecar.
    pub(crate) fn capture(&self, pod: &str, capture: &Capture) -> Result<(), LabError> {
        lock(&self.keeper).capture(&self.kept(pod), capture)
    }

    /// Whether a stranger may have taken a pod's port.
    pub(crate) fn are_open_to_strangers(&self) -> bool {
        self.plugged.is_empty()
    }

    /// How the conductor gets at what runs in a pod.
    pub(crate) fn door(&self, pod: &str) -> Door {
        match self.network(pod) {
            None => Door::Host,
            Some(pod) => Door::Pod(PodDoor {
                keeper: Arc::clone(&self.keeper),
                pod,
                folder: self.folder.clone(),
            }),
        }
    }
}

impl Drop for Pods {
    fn drop(&mut self) {
        for pod in &self.plugged {
            // If the keeper is gone, so are the pods.
            let _ = lock(&self.keeper).unplug(&self.kept(pod));
        }
    }
}
