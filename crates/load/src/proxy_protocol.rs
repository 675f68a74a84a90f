//! The header of the PROXY protocol, which a connection begins with (haproxy.org/download/2.8/doc/proxy-protocol.txt).

use std::net::SocketAddr;

use tare_record::load::ProxyProtocol;

/// First bytes of version 2.
const SIGNATURE: [u8; 12] = *b"\r\n\r\n\0\r\nQUIT\n";

/// Version 2, commands PROXY and LOCAL.
const PROXY: u8 = 0x21;
const LOCAL: u8 = 0x20;

/// Families of version 2, both over TCP; and none.
const TCP4: u8 = 0x11;
const TCP6: u8 = 0x21;
const UNSPECIFIED: u8 = 0x00;

/// The header of a connection from one address to another; without them, over a Unix socket, it states none.
#[must_use]
pub fn header(version: ProxyProtocol, ends: Option<(SocketAddr, SocketAddr)>) -> Vec<u8> {
    match version {
        ProxyProtocol::V1 => text(ends).into_bytes(),
        ProxyProtocol::V2 => binary(ends),
    }
}

fn text(ends: Option<(SocketAddr, SocketAddr)>) -> String {
    let Some((from, to)) = ends else {
        return "PROXY UNKNOWN\r\n".to_owned();
    };
    let family = match (from, to) {
        (SocketAddr::V4(_), SocketAddr::V4(_)) => "TCP4",
        _ => "TCP6",
    };
    let (source, destination) = (from.port(), to.port());
    format!(
        "PROXY {family} {} {} {source} {destination}\r\n",
        from.ip(),
        to.ip()
    )
}

fn binary(ends: Option<(SocketAddr, SocketAddr)>) -> Vec<u8> {
    let mut addresses = Vec::new();
    let (command, family) = match ends {
        None => (LOCAL, UNSPECIFIED),
        Some((SocketAddr::V4(from), SocketAddr::V4(to))) => {
            addresses.extend(from.ip().octets());
            addresses.extend(to.ip().octets());
            (PROXY, TCP4)
        }
        Some((from, to)) => {
            for end in [from, to] {
                addresses.extend(match end {
                    SocketAddr::V4(v4) => v4.ip().to_ipv6_mapped().octets(),
                    SocketAddr::V6(v6) => v6.ip().octets(),
                });
            }
            (PROXY, TCP6)
        }
    };
    if let Some((from, to)) = ends {
        addresses.extend(from.port().to_be_bytes());
        addresses.extend(to.port().to_be_bytes());
    }
    let length = addresses.len() as u16;
    let mut header = SIGNATURE.to_vec();
    header.extend([command, family]);
    header.extend(length.to_be_bytes());
    header.extend(addresses);
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_states_both_ends_in_text_or_binary() {
        let v4 = ("10.0.0.1:56324", "10.0.0.2:443");
        let v6 = ("[2001:db8::1]:1", "[2001:db8::2]:258");
        let ends = |(from, to): (&str, &str)| Some((from.parse().unwrap(), to.parse().unwrap()));
        let v1 = |ends| String::from_utf8(header(ProxyProtocol::V1, ends)).unwrap();
        assert_eq!(v1(ends(v4)), "PROXY TCP4 10.0.0.1 10.0.0.2 56324 443\r\n");
        assert_eq!(v1(ends(v6)), "PROXY TCP6 2001:db8::1 2001:db8::2 1 258\r\n");
        assert_eq!(v1(None), "PROXY UNKNOWN\r\n");
        let v2 = |ends| header(ProxyProtocol::V2, ends);
        let signature = b"\x0d\x0a\x0d\x0a\x00\x0d\x0a\x51\x55\x49\x54\x0a";
        assert_eq!(&v2(None), &[&signature[..], b"\x20\x00\x00\x00"].concat());
        let told = [10, 0, 0, 1, 10, 0, 0, 2, 0xdc, 0x04, 0x01, 0xbb];
        let expected = [&signature[..], b"\x21\x11\x00\x0c", &told].concat();
        assert_eq!(v2(ends(v4)), expected);
        let long = v2(ends(v6));
        assert_eq!((long.len(), &long[12..16]), (52, &b"\x21\x21\x00\x24"[..]));
        assert_eq!(long[48..], [0, 1, 1, 2]);
    }
}
