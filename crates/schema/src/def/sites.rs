//! Definition of sites: which pods are where, and the network links between sites.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::name::Name;
use crate::units::{BitRate, Period, Share, Size};

/// Sites with emulated links between them: data centres, zones, an edge location.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "sites"))]
pub struct SitesDef {
    /// Pods (parts, and hops with a pod of their own) of each site: `{east: [client], west: [server]}`.
    pub pods: BTreeMap<Name, Vec<Name>>,
    /// A link for every two sites.
    pub links: Vec<SiteLinkDef>,
}

/// An emulated link between two sites, the same in both directions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "link"))]
pub struct SiteLinkDef {
    /// Names of the two sites.
    pub between: Vec<Name>,
    /// Round-trip time; half of it is the delay of each direction. Exactly one of `round_trip` and `one_way`.
    pub round_trip: Option<Period>,
    /// Delay of each direction, instead of `round_trip`. At most 10s.
    pub one_way: Option<Period>,
    /// Jitter: the delay of each direction varies by up to this, up and down; packets keep their order. Default: 0.
    pub jitter: Option<Period>,
    /// Rate of each direction in bits per second: `1Gbit/s`. Default: no limit.
    pub rate: Option<BitRate>,
    /// Queue at that rate; packets beyond it are dropped. Default: what the link carries in one round trip, at least 150kB.
    pub queue: Option<Size>,
    /// Share of packets lost in each direction: `0.1%`. Default: 0.
    pub loss: Option<Share>,
}
