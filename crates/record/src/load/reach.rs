//! Which addresses may be connected to: loopback and private ones, or all where the user allowed that.

use std::net::IpAddr;

use crate::schemas::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Addresses that may be connected to. Checked before every connection attempt, wherever the address comes from: a URL, name
/// resolution, or a broker's advertised address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AddressPolicy {
    /// Loopback and private addresses only.
    #[default]
    Private,
    /// All addresses.
    Public,
}

impl From<bool> for AddressPolicy {
    fn from(allow_public: bool) -> Self {
        match allow_public {
            true => AddressPolicy::Public,
            false => AddressPolicy::Private,
        }
    }
}

impl AddressPolicy {
    /// Whether an address may be connected to.
    ///
    /// # Errors
    /// If it may not.
    pub fn check(self, address: IpAddr) -> Result<(), AddressNotAllowed> {
        match self {
            AddressPolicy::Private if !is_private(address) => Err(AddressNotAllowed { address }),
            AddressPolicy::Private | AddressPolicy::Public => Ok(()),
        }
    }
}

/// An address that may not be connected to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error(
    "{address} is {}; with their consent add --allow-public-target",
    what_is(.address)
)]
pub struct AddressNotAllowed {
    /// The refused address.
    pub address: IpAddr,
}

fn what_is(address: &IpAddr) -> &'static str {
    match address.to_canonical() {
        IpAddr::V4(v4) if v4.is_link_local() => LINK_LOCAL,
        IpAddr::V6(v6) if v6.is_unicast_link_local() => LINK_LOCAL,
        _ => "neither a loopback nor a private address: load on a public one may harm who runs it",
    }
}

const LINK_LOCAL: &str = "a link-local address, where clouds keep their metadata services, and no private one: load on it may harm who runs it";

/// Loopback, private (RFC 1918, RFC 4193), shared (RFC 6598), or unspecified (this host). Link-local addresses are not included:
/// the lab uses none, and metadata services of clouds answer there with credentials.
fn is_private(address: IpAddr) -> bool {
    // An IPv4-mapped IPv6 address counts as its IPv4 address.
    match address.to_canonical() {
        IpAddr::V4(v4) => {
            let [a, b, ..] = v4.octets();
            let is_shared = a == 100 && (64..128).contains(&b);
            // Of 0.0.0.0/8 only 0.0.0.0 is this host.
            v4.is_loopback() || v4.is_private() || v4.is_unspecified() || is_shared
        }
        IpAddr::V6(v6) => v6.is_loopback() || v6.is_unspecified() || v6.is_unique_local(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(address: &str) -> Result<(), AddressNotAllowed> {
        AddressPolicy::Private.check(address.parse().unwrap())
    }

    #[test]
    fn only_loopback_and_private_addresses_may_be_called_without_consent() {
        for private in [
            "127.0.0.1",
            "127.255.255.254",
            "10.0.0.0",
            "10.255.255.255",
            "172.16.0.1",
            "172.31.255.254",
            "192.168.0.1",
            "100.64.0.0",
            "100.127.255.255",
            "0.0.0.0",
            "::",
            "::1",
            "fc00::1",
            "fdff:ffff::1",
            "::ffff:10.0.0.1",
            "::ffff:127.0.0.1",
            "::ffff:0.0.0.0",
        ] {
            assert_eq!(check(private), Ok(()), "{private}");
        }
        for other in [
            // Public.
            "8.8.8.8",
            "203.0.113.7",
            "2001:db8::1",
            "::ffff:8.8.8.8",
            // Next to the private ones.
            "9.255.255.255",
            "11.0.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.167.255.255",
            "192.169.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "fbff::1",
            "fe00::1",
            // This network, not this host.
            "0.0.0.1",
            "0.255.255.255",
            "::ffff:0.0.0.1",
            // Link-local in every notation, and the former site-local.
            "169.254.0.1",
            "169.254.169.254",
            "169.254.255.255",
            "::ffff:169.254.169.254",
            "fe80::1",
            "febf::1",
            "fec0::1",
            // Multicast, broadcast and reserved.
            "224.0.0.1",
            "239.255.255.255",
            "ff02::1",
            "ff0e::1",
            "255.255.255.255",
            "240.0.0.1",
            // IPv4 addresses embedded in IPv6 ones, which lead out through a gateway.
            "::127.0.0.1",
            "::10.0.0.1",
            "64:ff9b::10.0.0.1",
            "2002:a00:1::",
        ] {
            let refused = check(other).expect_err(other).to_string();
            assert!(refused.contains("--allow-public-target"), "{refused}");
            assert!(AddressPolicy::Public.check(other.parse().unwrap()).is_ok());
        }
    }

    #[test]
    fn a_metadata_service_is_refused_by_what_it_is() {
        for address in [
            "169.254.169.254",
            "::ffff:169.254.169.254",
            "fe80::a9fe:a9fe",
        ] {
            let refused = check(address).unwrap_err().to_string();
            assert!(
                refused.starts_with(address) && refused.contains("link-local"),
                "{refused}"
            );
        }
        let public = check("203.0.113.7").unwrap_err().to_string();
        assert!(!public.contains("link-local"), "{public}");
    }
}
