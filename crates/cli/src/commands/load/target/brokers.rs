//! The brokers of a `kafka://` URL: several hosts, each with a port or the default one.

use std::net::{SocketAddr, ToSocketAddrs};

use anyhow::{anyhow, bail};

/// Default port of brokers.
const PORT: u16 = 9092;

/// The addresses of `HOST[:PORT],HOST[:PORT],…`, and the first name.
pub(super) fn addresses(url: &str, hosts: &str) -> anyhow::Result<(String, Vec<SocketAddr>)> {
    let mut addresses = Vec::new();
    for host in hosts.split(',').map(str::trim) {
        if host.is_empty() {
            bail!("{url}: it names no broker; write kafka://host:9092,host:9092/topic");
        }
        let behind = host.rfind(']').map_or(host, |end| &host[end..]);
        let (name, port) = match behind.rfind(':') {
            None => (host, PORT),
            Some(_) => {
                let (name, port) = host.rsplit_once(':').unwrap_or((host, ""));
                let port = port.parse().ok().filter(|&port| port > 0);
                let wrong = || anyhow!("{url}: the port of {host} is not 1 to 65535");
                (name, port.ok_or_else(wrong)?)
            }
        };
        let name = name.trim_start_matches('[').trim_end_matches(']');
        let found = (name, port).to_socket_addrs();
        let found =
            found.map_err(|error| anyhow!("{host} has no address ({error}); check the name"))?;
        // One address per broker: further ones of the same name lead to the same broker.
        let all: Vec<SocketAddr> = found.collect();
        let best = all.iter().find(|one| one.is_ipv4()).or(all.first());
        addresses.extend(best);
    }
    let first = hosts.split(',').next().unwrap_or_default().trim();
    Ok((first.to_owned(), addresses))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_brokers_are_read_each_with_its_port() {
        let (first, found) = addresses("u", "127.0.0.1, 127.0.0.2:19092,[::1]:9").unwrap();
        assert_eq!(first, "127.0.0.1");
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(found, ["127.0.0.1:9092", "127.0.0.2:19092", "[::1]:9"]);
        for wrong in ["", "a,,b", "127.0.0.1:0", "127.0.0.1:x"] {
            assert!(addresses("kafka://", wrong).is_err(), "{wrong}");
        }
    }
}
