//! A site: a switch in a namespace of its own, which passes on what is for pods of other sites.

use std::fs;
use std::net::Ipv4Addr;
use std::os::fd::AsFd;
use std::sync::Arc;

use crate::NetError;
use crate::link::{Link, LinkError, LinkPlan, Path, Pool, widen};
use crate::namespace::Namespace;
use crate::switch::{SITES_MAX, Switch};

/// What a connection may have under way: 2 Gbit/s over 250 ms.
const WINDOW_BYTES: u64 = 64 << 20;

/// One of several places at a distance from one another.
pub struct Site {
    number: u8,
    router: Namespace,
    switch: Switch,
}

/// What could not be done about sites.
#[derive(Debug, thiserror::Error)]
pub enum SiteError {
    /// Of switch and pods.
    #[error(transparent)]
    Net(#[from] NetError),
    /// Of the link between two.
    #[error(transparent)]
    Link(#[from] LinkError),
}

/// The address of a pod of a site, if there are so many of both.
#[must_use]
pub fn pod_address(site: u8, number: u16) -> Option<Ipv4Addr> {
    if site >= SITES_MAX {
        return None;
    }
    Switch::pod_address_at(site, number)
}

/// The site to which an address belongs.
#[must_use]
pub fn number_of(address: Ipv4Addr) -> Option<u8> {
    Switch::site_of(address).filter(|site| *site < SITES_MAX)
}

impl Site {
    /// The site of this number, from 0.
    ///
    /// # Errors
    /// What the kernel refused; a number beyond 49.
    pub fn new(number: u8) -> Result<Site, NetError> {
        if number >= SITES_MAX {
            let limit = std::io::Error::other(format!("there may be {SITES_MAX}"));
            return Err(NetError::refused("make so many sites")(limit));
        }
        let router = Namespace::new()?;
        let switch = router.run(|| {
            let switch = Switch::of_site(number)?;
            fs::write("/proc/sys/net/ipv4/ip_forward", "1")
                .map_err(NetError::refused("let a site pass packets on"))?;
            Ok::<_, NetError>(switch)
        })??;
        Ok(Site {
            number,
            router,
            switch,
        })
    }

    /// The address of its pod of this number (0 is the first), if there are so many.
    #[must_use]
    pub fn pod_address(&self, number: u16) -> Option<Ipv4Addr> {
        Switch::pod_address_at(self.number, number)
    }

    /// Plugs a fresh namespace in; its connections may have as much under way as a distance needs.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn plug(&mut self, pod: &Namespace, address: Ipv4Addr) -> Result<(), SiteError> {
        self.switch.plug(pod, address)?;
        Ok(widen(pod.as_fd(), WINDOW_BYTES)?)
    }

    /// The namespace of its switch, where the devices of its links are.
    #[must_use]
    pub fn router(&self) -> &Namespace {
        &self.router
    }

    /// Sends what is for pods of another site through a device of a link to it.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn lead_to(&self, other: &Site, device: &str) -> Result<(), NetError> {
        self.router.run(|| self.switch.lead(other.number, device))?
    }

    /// The names of the devices of the link between two sites, at the one and at the other.
    #[must_use]
    pub fn devices(one: &Site, other: &Site) -> [String; 2] {
        [other, one].map(|far| format!("to-site{}", far.number))
    }
}

/// Joins two sites by the built-in link, in this process; the plan's devices are named here.
///
/// # Errors
/// What the kernel refused.
pub fn join(
    one: &Site,
    other: &Site,
    plan: &LinkPlan,
    pool: &Arc<Pool>,
) -> Result<Link, SiteError> {
    let devices = Site::devices(one, other);
    let plan = LinkPlan {
        devices: devices.clone(),
        ..plan.clone()
    };
    let link = Link::start(one.router.as_fd(), other.router.as_fd(), &plan, pool)?;
    one.lead_to(other, &devices[0])?;
    other.lead_to(one, &devices[1])?;
    Ok(link)
}

/// The way from one router to another site's switch: what every pod of the one has to the pods of the other.
#[must_use]
pub fn way<'a>(one: &'a Site, other: &'a Site) -> Path<'a> {
    Path {
        from: Some(one.router.as_fd()),
        to: Some(other.router.as_fd()),
        address: other.switch.own_address().into(),
    }
}
