//! A site: a switch in a namespace of its own, which routes to the pods of other sites.

use std::fs;
use std::net::Ipv4Addr;
use std::os::fd::AsFd;
use std::sync::Arc;

use crate::NetError;
use crate::link::{Link, LinkError, LinkPlan, Path, Pool, raise_tcp_buffers};
use crate::namespace::Namespace;
use crate::switch::{SITES_MAX, Switch};

/// Limit of a connection's TCP buffers: 2 Gbit/s over 250 ms.
const WINDOW_BYTES: u64 = 64 << 20;

/// One of several places that are joined by links.
pub struct Site {
    number: u8,
    router: Namespace,
    switch: Switch,
}

/// A failure of a site.
#[derive(Debug, thiserror::Error)]
pub enum SiteError {
    /// A failure of its switch or a pod.
    #[error(transparent)]
    Net(#[from] NetError),
    /// A failure of a link between two sites.
    #[error(transparent)]
    Link(#[from] LinkError),
}

/// The address of a pod of a site, by their indices; `None` beyond the limits.
#[must_use]
pub fn pod_address(site: u8, number: u16) -> Option<Ipv4Addr> {
    if site >= SITES_MAX {
        return None;
    }
    Switch::pod_address_at(site, number)
}

/// The index of the site that an address belongs to.
#[must_use]
pub fn number_of(address: Ipv4Addr) -> Option<u8> {
    Switch::site_of(address).filter(|site| *site < SITES_MAX)
}

impl Site {
    /// The site with this index.
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

    /// The address of one of its pods by its index; `None` beyond the limit.
    #[must_use]
    pub fn pod_address(&self, number: u16) -> Option<Ipv4Addr> {
        Switch::pod_address_at(self.number, number)
    }

    /// Attaches a new namespace, with TCP buffers large enough for long-delay links.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn attach(&mut self, pod: &Namespace, address: Ipv4Addr) -> Result<(), SiteError> {
        self.switch.attach(pod, address)?;
        Ok(raise_tcp_buffers(pod.as_fd(), WINDOW_BYTES)?)
    }

    /// The namespace of its switch, where the devices of its links are.
    #[must_use]
    pub fn router(&self) -> &Namespace {
        &self.router
    }

    /// Adds a route to another site's pods through a device of a link to it.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn route_to(&self, other: &Site, device: &str) -> Result<(), NetError> {
        self.router
            .run(|| self.switch.add_route_to_site(other.number, device))?
    }

    /// The names of the devices of the link between two sites, at the one and at the other.
    #[must_use]
    pub fn devices(one: &Site, other: &Site) -> [String; 2] {
        [other, one].map(|far| format!("to-site{}", far.number))
    }
}

/// Joins two sites by the built-in link, in this process; the names of the plan's devices are replaced.
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
    one.route_to(other, &devices[0])?;
    other.route_to(one, &devices[1])?;
    Ok(link)
}

/// The path from one site's router to another site's switch: the same link that the pods' traffic takes.
#[must_use]
pub fn path_between<'a>(one: &'a Site, other: &'a Site) -> Path<'a> {
    Path {
        from: Some(one.router.as_fd()),
        to: Some(other.router.as_fd()),
        address: other.switch.own_address().into(),
    }
}
