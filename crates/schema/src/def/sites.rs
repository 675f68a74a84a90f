//! Sites of an experiment as they are written: which pods stand where, and how far apart that is.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::name::Name;
use crate::units::{BitRate, Period, Share, Size};

/// Places at a distance from one another: data centres, zones, an edge.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "sites"))]
pub struct SitesDef {
    /// Pods (parts, and hops that stand alone) of each site: `{east: [client], west: [server]}`.
    pub pods: BTreeMap<Name, Vec<Name>>,
    /// What is between every two sites.
    pub links: Vec<SiteLinkDef>,
}

/// What is between two sites, both ways alike.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "link"))]
pub struct SiteLinkDef {
    /// The two sites.
    pub between: Vec<Name>,
    /// There and back again: half of it is the delay of each way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_trip: Option<Period>,
    /// Delay of each way, instead of `round_trip`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub one_way: Option<Period>,
    /// The delay of each way differs by up to this to either side; packets keep their order. Default: 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter: Option<Period>,
    /// Bits per second of each way: `1Gbit/s`. Default: as fast as the machine copies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<BitRate>,
    /// What may wait for its turn at that rate; the rest is dropped. Default: what the link carries in one round trip, at least 150kB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<Size>,
    /// Share of packets lost on each way. Default: 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<Share>,
}
