//! The URL of `tare load`: scheme, host, path, addresses, and whether load on them is allowed.

use std::borrow::Cow;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6, ToSocketAddrs};

use anyhow::{anyhow, bail};
use tare_load::protocols::{self, Protocol, UrlScheme, UrlServers, UrlTls};
use tare_record::broker_address;
use tare_record::load::AddressPolicy;
use tare_record::protocol;

use super::args::NetworkArgs;

/// A parsed URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadUrl {
    /// The URL as given.
    pub url: String,
    /// Its scheme.
    pub scheme: UrlScheme,
    /// Name of the protocol that has the scheme.
    pub protocol: &'static str,
    /// Whether TLS is used.
    pub is_secure: bool,
    /// For the Host header.
    pub host: String,
    /// Path and query.
    pub path: String,
    /// Addresses to connect to.
    pub addresses: Vec<SocketAddr>,
    /// Brokers of a list that have no address, each with the reason: the others are asked.
    pub without_address: Vec<String>,
}

impl LoadUrl {
    /// Splits a URL after its port: the first part, and path with query. Names are not resolved.
    pub fn split(url: &str) -> anyhow::Result<(String, String)> {
        let start = url.find("://").map_or(0, |at| at + 3);
        let rest = url[start..].split('#').next().unwrap_or_default();
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (host, path) = rest.split_at(end);
        let port = host.rsplit_once(':').map_or("", |(_, port)| port);
        if !port.is_empty() && !port.bytes().all(|b| b.is_ascii_digit()) && path.contains('@') {
            // The first part of a password: it is not repeated.
            bail!(
                "a / stands in the user or password of a URL: write it as %2F, or the URL as http://host:port/path"
            );
        }
        if url.starts_with("unix:") {
            bail!("{url}: write the socket as --unix-socket PATH, and the URL as http://host/path");
        }
        if host.is_empty() {
            bail!("{url}: it names no host; write http://host:port/path");
        }
        let slash = if path.starts_with('/') { "" } else { "/" };
        Ok((format!("{}{host}", &url[..start]), format!("{slash}{path}")))
    }

    /// Parses a URL and resolves its host. A missing scheme is http.
    pub fn parse(url: &str, network: &NetworkArgs) -> anyhow::Result<Self> {
        let (name, rest) = url.split_once("://").unwrap_or(("http", url));
        if rest
            .split(['/', '?'])
            .next()
            .is_some_and(|host| host.contains('@'))
        {
            bail!(
                "user and password cannot stand in a URL (use -H @FILE with a line `Authorization: …`); write http://host:port/path"
            );
        }
        let Some((protocol, scheme)) = scheme(name) else {
            if broker_address::without_listener(url) != url {
                bail!("{url}: {name} is the name of a listener: write kafka://{rest}");
            }
            bail!("{url}: no load on {name}://; did you mean http://{rest}?");
        };
        let is_secure = match scheme.tls {
            UrlTls::Always => true,
            UrlTls::Never => false,
            UrlTls::ByQuery => asks_for_tls(rest),
        };
        let plain = match scheme.servers {
            UrlServers::Several => Cow::from(format!("{name}://{}", without_listeners(rest))),
            UrlServers::One => Cow::from(url),
        };
        let (base, path) = Self::split(&plain)?;
        let host = base.rsplit_once("://").map_or(&*base, |(_, host)| host);
        let mut without_address = Vec::new();
        let (host, addresses) = match scheme.servers {
            UrlServers::Several if network.unix_socket.is_some() => {
                bail!("--unix-socket is for one server: brokers have addresses of their own")
            }
            UrlServers::Several => {
                let found = brokers(url, host, network)?;
                without_address = found.without_address;
                (found.first, found.addresses)
            }
            UrlServers::One => (
                without_zone(host),
                resolved(url, host, scheme.port, network)?,
            ),
        };
        Ok(Self {
            url: url.to_owned(),
            scheme,
            protocol,
            is_secure,
            host,
            path,
            addresses,
            without_address,
        })
    }

    /// Whether the URL's scheme belongs to a protocol.
    pub fn is(&self, protocol: &str) -> bool {
        self.protocol == protocol
    }

    /// The variable of the environment by which other clients would use a proxy for this server; none for loopback addresses.
    pub fn ignored_proxy(&self) -> Option<&'static str> {
        let of_all = [
            ("all_proxy", std::env::var_os("all_proxy")),
            ("ALL_PROXY", std::env::var_os("ALL_PROXY")),
        ];
        let of_scheme = match (self.protocol, self.is_secure) {
            ("http1", false) => [
                ("http_proxy", std::env::var_os("http_proxy")),
                ("HTTP_PROXY", std::env::var_os("HTTP_PROXY")),
            ],
            ("http1", true) => [
                ("https_proxy", std::env::var_os("https_proxy")),
                ("HTTPS_PROXY", std::env::var_os("HTTPS_PROXY")),
            ],
            _ => return None,
        };
        let is_local = self
            .addresses
            .iter()
            .all(|address| address.ip().is_loopback());
        let mut all = of_scheme.into_iter().chain(of_all).filter(|_| !is_local);
        let found = all.find(|(_, value)| value.as_ref().is_some_and(|value| !value.is_empty()));
        found.map(|(name, _)| name)
    }

    /// Checks that load on every address is allowed.
    pub fn checked(self, reach: AddressPolicy) -> anyhow::Result<Self> {
        for address in &self.addresses {
            reach.check(address.ip())?;
        }
        Ok(self)
    }
}

/// The protocol of a URL scheme.
fn scheme(name: &str) -> Option<(&'static str, UrlScheme)> {
    let of_protocol = |protocol: &'static Protocol| {
        let mut schemes = protocol.schemes.iter();
        let found = schemes.find(|scheme| scheme.name.eq_ignore_ascii_case(name));
        Some((protocol.info.name, *found?))
    };
    protocols::ALL.into_iter().find_map(of_protocol)
}

/// Whether a URL is of Kafka brokers.
pub fn is_of_brokers(url: &str) -> bool {
    let found = url.split_once("://").and_then(|(name, _)| scheme(name));
    found.is_some_and(|(protocol, _)| protocol::is_of_brokers(protocol))
}

/// The addresses of `HOST[:PORT]`, with a default port.
fn resolved(
    url: &str,
    host: &str,
    port: Option<u16>,
    network: &NetworkArgs,
) -> anyhow::Result<Vec<SocketAddr>> {
    let behind = host.rfind(']').map_or(host, |end| &host[end..]);
    let (name, port) = match behind.rfind(':') {
        None => {
            let unnamed = || anyhow!("{url}: it names no port; write {url}:9000");
            (host, port.ok_or_else(unnamed)?)
        }
        Some(_) => {
            let (name, port) = host.rsplit_once(':').unwrap_or((host, ""));
            let port = port.parse().ok().filter(|&port: &u16| port > 0);
            let wrong = || anyhow!("{url}: the port of {host} is not 1 to 65535");
            (name, port.ok_or_else(wrong)?)
        }
    };
    let name = name.trim_start_matches('[').trim_end_matches(']');
    if network.unix_socket.is_some() {
        // The address is not used.
        return Ok(vec![SocketAddr::from((Ipv4Addr::LOCALHOST, port))]);
    }
    let mut given = network.resolve.iter();
    if let Some(given) = given.find(|one| one.host.eq_ignore_ascii_case(name) && one.port == port) {
        let addresses = given.addresses.iter();
        return Ok(addresses.map(|&ip| SocketAddr::new(ip, port)).collect());
    }
    if let Some(unused) = network.resolve.first() {
        bail!(
            "--resolve gives addresses of {}:{}, but the URL names {name}:{port}",
            unused.host,
            unused.port
        );
    }
    if let Some((ip, zone)) = name.split_once(ZONE) {
        return Ok(vec![in_zone(ip, port, zone)?]);
    }
    let unknown = |why: String| anyhow!("{host} has no address ({why}); check the name");
    let addresses = (name, port).to_socket_addrs();
    let addresses: Vec<_> = addresses
        .map_err(|error| unknown(error.to_string()))?
        .collect();
    match addresses.is_empty() {
        true => Err(unknown("nothing found".into())),
        false => Ok(addresses),
    }
}

/// Between an address and its zone in a URL: `%`, percent-encoded (RFC 6874).
const ZONE: &str = "%25";

/// A host without the zone of its address, which is of this machine alone and is not sent.
fn without_zone(host: &str) -> String {
    match (host.split_once(ZONE), host.find(']')) {
        (Some((ip, _)), Some(end)) => format!("{ip}{}", &host[end..]),
        _ => host.to_owned(),
    }
}

/// An address in a zone: the name or the number of an interface.
fn in_zone(ip: &str, port: u16, zone: &str) -> anyhow::Result<SocketAddr> {
    let wrong = || anyhow!("{ip}%{zone} is no IPv6 address with the name of an interface");
    let address: Ipv6Addr = ip.parse().map_err(|_| wrong())?;
    // The C library knows zones of link-local addresses only; their numbers are those of all.
    let found = (format!("fe80::1%{zone}"), port).to_socket_addrs();
    let found = found.ok().and_then(|mut all| all.next());
    match found {
        Some(SocketAddr::V6(local)) => {
            Ok(SocketAddrV6::new(address, port, 0, local.scope_id()).into())
        }
        _ => Err(wrong()),
    }
}

/// A list of brokers without the names of their listeners, as Kafka's own settings have them: `PLAINTEXT://host:9092`.
fn without_listeners(list: &str) -> String {
    let brokers = list.split(',').map(str::trim);
    let brokers: Vec<&str> = brokers.map(broker_address::without_listener).collect();
    brokers.join(",")
}

/// The brokers of a list.
struct Brokers {
    /// The first one, as given.
    first: String,
    /// One address per broker: further ones of the same name lead to the same broker.
    addresses: Vec<SocketAddr>,
    /// Those without an address, each with the reason.
    without_address: Vec<String>,
}

/// The brokers of `HOST[:PORT],HOST[:PORT],…`. One that has no address is left out if another has one, as in Kafka's own clients.
fn brokers(url: &str, hosts: &str, network: &NetworkArgs) -> anyhow::Result<Brokers> {
    let all = broker_address::list(hosts)
        .map_err(|error| anyhow!("{url}: {error}; write kafka://host:9092,host:9092/topic"))?;
    let mut addresses = Vec::new();
    let mut without_address = Vec::new();
    for broker in &all {
        match resolved(url, &broker.to_string(), None, network) {
            Ok(found) => {
                addresses.extend(found.iter().find(|one| one.is_ipv4()).or(found.first()));
            }
            Err(error) => without_address.push(error.to_string()),
        }
    }
    if addresses.is_empty() {
        bail!("{url}: {}", without_address.join("; "));
    }
    Ok(Brokers {
        first: hosts
            .split(',')
            .next()
            .unwrap_or_default()
            .trim()
            .to_owned(),
        addresses,
        without_address,
    })
}

/// As in MongoDB's connection strings, TLS is an option in the query.
fn asks_for_tls(rest: &str) -> bool {
    let options = rest.split_once('?').map_or("", |(_, options)| options);
    let mut options = options.split('&');
    options.any(|option| matches!(option, "tls=true" | "ssl=true"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> LoadUrl {
        LoadUrl::parse(url, &NetworkArgs::default()).unwrap()
    }

    #[test]
    fn a_url_names_host_port_and_path() {
        let target = parse("http://127.0.0.1:8080/a/b?c=d#e");
        assert_eq!(
            (target.host.as_str(), target.path.as_str()),
            ("127.0.0.1:8080", "/a/b?c=d")
        );
        assert_eq!(target.addresses, ["127.0.0.1:8080".parse().unwrap()]);
        assert_eq!(parse("127.0.0.1").addresses[0].port(), 80);
        let tls = parse("HTTPS://127.0.0.1/x");
        assert_eq!((tls.scheme.name, tls.addresses[0].port()), ("https", 443));
        assert_eq!(parse("http://127.0.0.1?x=1").path, "/?x=1");
        let v6 = parse("http://[::1]:81/");
        assert_eq!(
            (v6.addresses[0], v6.host.as_str()),
            ("[::1]:81".parse().unwrap(), "[::1]:81")
        );
    }

    #[test]
    fn addresses_come_from_the_command_line_and_a_zone_is_that_of_an_interface() {
        let network = |resolve: &[&str]| NetworkArgs {
            resolve: resolve.iter().map(|one| one.parse().unwrap()).collect(),
            ..NetworkArgs::default()
        };
        let given = network(&["other.test:80:10.0.0.1", "shop.test:80:10.0.0.7,::1"]);
        let target = LoadUrl::parse("http://SHOP.test/", &given).unwrap();
        assert_eq!(target.host, "SHOP.test");
        let addresses: Vec<String> = target.addresses.iter().map(ToString::to_string).collect();
        assert_eq!(addresses, ["10.0.0.7:80", "[::1]:80"]);
        let unused = LoadUrl::parse("http://shop.test:81/", &given).unwrap_err();
        assert!(unused.to_string().contains("shop.test:81"), "{unused}");
        let unix = NetworkArgs {
            unix_socket: Some("/run/x".into()),
            ..NetworkArgs::default()
        };
        let target = LoadUrl::parse("http://nowhere.invalid/a", &unix).unwrap();
        assert_eq!(
            (target.host.as_str(), target.path.as_str()),
            ("nowhere.invalid", "/a")
        );
        assert!(LoadUrl::parse("kafka://h/t", &unix).is_err());
        let zone = parse("http://[::1%25lo]:8080/a");
        assert_eq!(zone.host, "[::1]:8080");
        let SocketAddr::V6(address) = zone.addresses[0] else {
            panic!("{:?}", zone.addresses);
        };
        assert_eq!((address.ip(), address.port()), (&Ipv6Addr::LOCALHOST, 8080));
        assert_ne!(address.scope_id(), 0);
        let none = LoadUrl::parse("http://[::1%25nowhere9]/", &NetworkArgs::default());
        assert!(none.unwrap_err().to_string().contains("interface"));
    }

    #[test]
    fn a_tcp_url_names_its_port() {
        let target = parse("tcp://127.0.0.1:9000");
        assert_eq!((target.protocol, target.is_secure), ("tcp", false));
        assert_eq!(target.addresses[0].port(), 9000);
        let target = parse("tls://127.0.0.1:9000");
        assert_eq!((target.protocol, target.is_secure), ("tcp", true));
        for url in ["tcp://127.0.0.1", "tls://127.0.0.1"] {
            let error = LoadUrl::parse(url, &NetworkArgs::default()).unwrap_err();
            assert!(error.to_string().contains("no port"));
            assert!(error.to_string().contains(&format!("{url}:9000")));
        }
    }

    #[test]
    fn a_mongodb_url_says_behind_itself_whether_it_is_over_tls() {
        let target = parse("mongodb://127.0.0.1/d.c?tls=true");
        assert_eq!(
            (target.is_secure, target.path.as_str()),
            (true, "/d.c?tls=true")
        );
        assert_eq!(target.addresses[0].port(), 27017);
        let target = parse("mongodb://127.0.0.1:9?tls=false");
        assert_eq!((target.is_secure, target.addresses[0].port()), (false, 9));
    }

    #[test]
    fn what_is_no_http_url_is_refused_with_the_next_step() {
        let error = |url: &str| {
            LoadUrl::parse(url, &NetworkArgs::default())
                .unwrap_err()
                .to_string()
        };
        assert!(error("htp://127.0.0.1/x").contains("did you mean http://127.0.0.1/x?"));
        assert!(error("http:///x").contains("no host"));
        assert!(error("http://127.0.0.1:99999/").contains("port"));
        let socket = LoadUrl::split("unix:///run/app.sock").unwrap_err();
        assert!(socket.to_string().contains("--unix-socket"), "{socket}");
        for url in ["http://me:pw@127.0.0.1/", "htp://me:pw@127.0.0.1/"] {
            let said = error(url);
            assert!(
                said.contains("Authorization") && !said.contains("pw"),
                "{said}"
            );
        }
    }

    #[test]
    fn public_addresses_need_consent() {
        for private in [
            "127.1.2.3",
            "10.0.0.1",
            "172.16.0.1",
            "192.168.1.1",
            "100.64.0.1",
            "0.0.0.0",
        ] {
            assert!(
                parse(private).checked(AddressPolicy::Private).is_ok(),
                "{private}"
            );
        }
        for private in ["[::1]", "[fd00::1]", "[::ffff:10.0.0.1]"] {
            assert!(
                parse(private).checked(AddressPolicy::Private).is_ok(),
                "{private}"
            );
        }
        for public in [
            "8.8.8.8",
            "172.32.0.1",
            "169.254.169.254",
            "[2001:db8::1]",
            "[fe80::1]",
            "[::ffff:8.8.8.8]",
        ] {
            let error = parse(public).checked(AddressPolicy::Private).unwrap_err();
            assert!(
                error.to_string().contains("--allow-public-target"),
                "{public}"
            );
            assert!(parse(public).checked(AddressPolicy::Public).is_ok());
        }
    }

    #[test]
    fn several_brokers_are_read_each_with_its_port() {
        let found = brokers(
            "u",
            "127.0.0.1, 127.0.0.2:19092,[::1]:9,",
            &NetworkArgs::default(),
        )
        .unwrap();
        assert_eq!(found.first, "127.0.0.1");
        let addresses: Vec<String> = found.addresses.iter().map(ToString::to_string).collect();
        assert_eq!(addresses, ["127.0.0.1:9092", "127.0.0.2:19092", "[::1]:9"]);
        for wrong in ["", "a,,b", "127.0.0.1:0", "127.0.0.1:x"] {
            assert!(
                brokers("kafka://", wrong, &NetworkArgs::default()).is_err(),
                "{wrong}"
            );
        }
    }

    #[test]
    fn brokers_are_taken_as_kafkas_own_settings_have_them() {
        for list in [
            "127.0.0.1:9093,127.0.0.2",
            "127.0.0.1:9093, 127.0.0.2:9092,",
            "PLAINTEXT://127.0.0.1:9093,PLAINTEXT://127.0.0.2:9092",
            "127.0.0.1:9093,INTERNAL_2://127.0.0.2:9092",
        ] {
            let target = parse(&format!("kafka://{list}/events.v1"));
            let found: Vec<String> = target.addresses.iter().map(ToString::to_string).collect();
            assert_eq!(found, ["127.0.0.1:9093", "127.0.0.2:9092"], "{list}");
            assert_eq!(
                (&*target.path, &*target.host),
                ("/events.v1", "127.0.0.1:9093")
            );
        }
        let url = "SASL_SSL://127.0.0.1:9093/t";
        let error = LoadUrl::parse(url, &NetworkArgs::default()).unwrap_err();
        let words = error.to_string();
        assert!(words.ends_with("write kafka://127.0.0.1:9093/t"), "{words}");
    }

    #[test]
    fn a_broker_without_an_address_is_named_and_left_out_where_another_has_one() {
        let target = parse("kafka://nosuch.invalid:9092,127.0.0.1:9093/t");
        assert_eq!(target.addresses, ["127.0.0.1:9093".parse().unwrap()]);
        let [left_out] = target.without_address.as_slice() else {
            panic!("{:?}", target.without_address);
        };
        assert!(left_out.starts_with("nosuch.invalid:9092 has no address"));
        let url = "kafka://nosuch.invalid,neither.invalid:9093/t";
        let error = LoadUrl::parse(url, &NetworkArgs::default()).unwrap_err();
        for name in ["nosuch.invalid:9092", "neither.invalid:9093"] {
            assert!(error.to_string().contains(name), "{error}");
        }
    }
}
