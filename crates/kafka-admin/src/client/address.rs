//! Broker addresses: host and port.

use std::fmt;
use std::str::FromStr;

/// The default port of brokers.
pub const DEFAULT_PORT: u16 = 9092;

/// A host and a port, not resolved.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    /// Name or IP address; IPv6 without brackets.
    pub host: String,
    pub port: u16,
}

/// An address that cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{words:?} is not the address of a broker: write HOST:PORT, such as 127.0.0.1:9092 or [::1]:9092"
)]
pub struct AddressError {
    /// The input.
    pub words: String,
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(words: &str) -> Result<Address, AddressError> {
        let refuse = || AddressError {
            words: words.to_owned(),
        };
        let (host, rest) = match words.strip_prefix('[') {
            Some(inside) => inside.split_once(']').ok_or_else(refuse)?,
            None => match words.split_once(':') {
                // Several colons and no brackets: a bare IPv6 address.
                Some((_, port)) if port.contains(':') => (words, ""),
                Some((host, _)) => (host, &words[host.len()..]),
                None => (words, ""),
            },
        };
        let port = match rest.strip_prefix(':') {
            Some(port) => port.parse().map_err(|_| refuse())?,
            None if rest.is_empty() => DEFAULT_PORT,
            None => return Err(refuse()),
        };
        let is_name = !host.is_empty() && !host.contains(['/', ' ', ',', '@']);
        if port == 0 || !is_name {
            return Err(refuse());
        }
        Ok(Address {
            host: host.to_owned(),
            port,
        })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

/// Parses `HOST:PORT,HOST:PORT`.
///
/// # Errors
/// If a part is not an address, or there is none.
pub fn list(words: &str) -> Result<Vec<Address>, AddressError> {
    words.split(',').map(|word| word.trim().parse()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_ports_and_brackets_are_read_and_written_back() {
        for (words, host, port) in [
            ("kafka-1:9093", "kafka-1", 9093),
            ("127.0.0.1", "127.0.0.1", 9092),
            ("[::1]:19092", "::1", 19092),
            ("::1", "::1", 9092),
        ] {
            let address: Address = words.parse().unwrap();
            assert_eq!((address.host.as_str(), address.port), (host, port));
            assert_eq!(address.to_string().parse(), Ok(address));
        }
    }

    #[test]
    fn what_is_no_address_is_refused_with_an_example() {
        for words in [
            "",
            "host:",
            "host:0",
            "host:70000",
            "kafka://host",
            ":9092",
            "[::1",
            "[::1]9",
        ] {
            let error = words.parse::<Address>().unwrap_err();
            assert!(error.to_string().contains("127.0.0.1:9092"), "{words}");
        }
        assert!(list("a:1,,b:2").is_err());
        assert_eq!(list("a:1, b:2").unwrap().len(), 2);
    }
}
