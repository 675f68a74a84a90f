//! Addresses of Kafka brokers as operators write them: host and port, one or a list.

use std::fmt;
use std::net::Ipv6Addr;
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
pub enum AddressError {
    /// Not HOST:PORT.
    #[error(
        "{words:?} is not the address of a broker: write HOST:PORT, such as 127.0.0.1:9092 or [::1]:9092"
    )]
    Malformed {
        /// The input.
        words: String,
    },
    /// Several colons without brackets: the port cannot be told from the address.
    #[error(
        "{words:?} is not the address of a broker: an IPv6 address has brackets, such as {instead}"
    )]
    NoBrackets {
        /// The input.
        words: String,
        /// What was probably meant.
        instead: String,
    },
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(words: &str) -> Result<Address, AddressError> {
        let refuse = || AddressError::Malformed {
            words: words.to_owned(),
        };
        let words = without_listener(words);
        let (host, rest) = match words.strip_prefix('[') {
            Some(inside) => inside.split_once(']').ok_or_else(refuse)?,
            None => match words.split_once(':') {
                Some((_, port)) if port.contains(':') => {
                    let words = words.to_owned();
                    return Err(match with_brackets(&words) {
                        Some(instead) => AddressError::NoBrackets { words, instead },
                        None => AddressError::Malformed { words },
                    });
                }
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

/// Without the name of a listener, as Kafka's own settings have it: `PLAINTEXT://host:9092`.
#[must_use]
pub fn without_listener(words: &str) -> &str {
    let is_name = |name: &str| {
        let mut all = name.chars();
        !name.is_empty() && all.all(|one| one.is_ascii_uppercase() || "0123456789_-.".contains(one))
    };
    match words.split_once("://") {
        Some((name, rest)) if is_name(name) => rest,
        _ => words,
    }
}

/// An IPv6 address as it is to be written: the last part is the port where it looks like one.
fn with_brackets(words: &str) -> Option<String> {
    let parts = words.rsplit_once(':');
    let parts = parts.filter(|(ip, port)| {
        ip.parse::<Ipv6Addr>().is_ok() && port.len() > 3 && port.parse::<u16>().is_ok()
    });
    match parts {
        Some((ip, port)) => Some(format!("[{ip}]:{port}")),
        None => {
            let is_ip = words.parse::<Ipv6Addr>().is_ok();
            is_ip.then(|| format!("[{words}]:{DEFAULT_PORT}"))
        }
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

/// Parses `HOST:PORT,HOST:PORT`; a comma at the end is no further address.
///
/// # Errors
/// If a part is not an address, or there is none.
pub fn list(words: &str) -> Result<Vec<Address>, AddressError> {
    let words = words.trim_end();
    let words = words.strip_suffix(',').unwrap_or(words);
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
            ("[::1]", "::1", 9092),
            ("PLAINTEXT://kafka-1:9093", "kafka-1", 9093),
            ("SASL_SSL://[::1]:9093", "::1", 9093),
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
            "host:9092:9092",
        ] {
            let error = words.parse::<Address>().unwrap_err();
            assert!(error.to_string().contains("127.0.0.1:9092"), "{words}");
        }
        for words in ["a:1,,b:2", "", ",", "a:1,,", ",a:1"] {
            assert!(list(words).is_err(), "{words}");
        }
        for words in ["a:1, b:2", "a:1,b:2,", "a:1, b:2 , "] {
            assert_eq!(list(words).unwrap().len(), 2, "{words}");
        }
    }

    #[test]
    fn an_ipv6_address_without_brackets_is_refused_with_what_was_meant() {
        for (words, instead) in [
            ("::1:9092", "[::1]:9092"),
            ("::1", "[::1]:9092"),
            ("PLAINTEXT://fd00::1:19092", "[fd00::1]:19092"),
            ("fd00::a:b", "[fd00::a:b]:9092"),
        ] {
            let error = words.parse::<Address>().unwrap_err();
            assert!(error.to_string().ends_with(instead), "{error}");
        }
    }
}
