//! Arguments that say where the connections of a load lead.

use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;

use tare_record::load::ProxyProtocol;

use crate::arguments::words;

/// Where connections lead, and what they begin with.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Network")]
pub struct NetworkArgs {
    /// Addresses of a host and port, instead of those of its name; Host, SNI and the verified name stay those of the URL. May be given
    /// several times.
    #[arg(long, value_name = "HOST:PORT:ADDRESS[,ADDRESS…]")]
    pub resolve: Vec<ResolveArg>,
    /// Connect to a Unix socket instead of the URL's host and port; Host and SNI stay those of the URL.
    #[arg(long, value_name = "FILE", conflicts_with = "resolve")]
    pub unix_socket: Option<PathBuf>,
    /// Begin each connection with a header of the PROXY protocol that states its own addresses, as a proxy in front of the server does.
    #[arg(
        long,
        value_name = "VERSION",
        value_parser = words::<ProxyProtocol>(&[("v1", "Text"), ("v2", "Binary")])
    )]
    pub proxy_protocol: Option<ProxyProtocol>,
}

/// Addresses of a host and port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolveArg {
    pub host: String,
    pub port: u16,
    pub addresses: Vec<IpAddr>,
}

impl FromStr for ResolveArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = || {
            let (host, rest) = text.split_once(':')?;
            let (port, addresses) = rest.split_once(':')?;
            let bare = |address: &str| {
                let address = address.trim().trim_start_matches('[').trim_end_matches(']');
                address.parse().ok()
            };
            Some(Self {
                host: (!host.is_empty()).then(|| host.to_owned())?,
                port: port.parse().ok().filter(|&port| port > 0)?,
                addresses: addresses.split(',').map(bare).collect::<Option<_>>()?,
            })
        };
        parts().ok_or_else(|| "write HOST:PORT:ADDRESS, as in shop.test:80:10.0.0.7".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_and_a_port_have_addresses_of_both_families() {
        let read = |text: &str| text.parse::<ResolveArg>();
        let one = read("shop.test:80:10.0.0.7,[::1],fd00::2").unwrap();
        assert_eq!((one.host.as_str(), one.port), ("shop.test", 80));
        let addresses: Vec<String> = one.addresses.iter().map(ToString::to_string).collect();
        assert_eq!(addresses, ["10.0.0.7", "::1", "fd00::2"]);
        for wrong in [
            "",
            "h",
            "h:80",
            "h:80:",
            "h:0:::1",
            ":80:10.0.0.1",
            "h:80:name",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
