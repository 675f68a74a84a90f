//! Addresses of the brokers that metadata names: literal addresses are parsed, host names are resolved in the background.

use std::collections::HashMap;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

/// The state of a lookup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lookup {
    Address(IpAddr),
    /// The lookup is under way: ask again.
    Pending,
    /// The lookup failed, with this reason.
    NotFound(String),
}

/// Resolves host names without blocking.
pub trait Resolve: fmt::Debug + Send + Sync {
    /// Looks up a host name. The first call starts the lookup.
    fn lookup(&self, host: &str) -> Lookup;
}

/// The system's resolver, in one thread per lookup.
#[derive(Debug, Default)]
pub struct SystemResolver {
    known: Arc<Mutex<HashMap<String, Lookup>>>,
}

/// Host names that are kept: bounds memory against a cluster that keeps advertising new ones.
const NAMES_MAX: usize = 1024;

impl Resolve for SystemResolver {
    fn lookup(&self, host: &str) -> Lookup {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known.get(host) {
            let found = found.clone();
            if let Lookup::NotFound(_) = found {
                // Reported once: the next call starts a new lookup.
                known.remove(host);
            }
            return found;
        }
        if known.len() >= NAMES_MAX {
            return Lookup::NotFound(format!("more than {NAMES_MAX} names of brokers"));
        }
        known.insert(host.to_owned(), Lookup::Pending);
        let (name, answers) = (host.to_owned(), Arc::clone(&self.known));
        let looking = std::thread::Builder::new()
            .name("names".into())
            .spawn(move || {
                let found = look_up(&name);
                let mut known = answers.lock().unwrap_or_else(PoisonError::into_inner);
                known.insert(name, found);
            });
        match looking {
            Ok(_) => Lookup::Pending,
            Err(error) => {
                known.remove(host);
                Lookup::NotFound(error.to_string())
            }
        }
    }
}

/// The first IPv4 address, else the first one: listeners are often bound to IPv4 only.
fn look_up(host: &str) -> Lookup {
    use std::net::ToSocketAddrs;
    match (host, 0).to_socket_addrs() {
        Ok(addresses) => {
            let all: Vec<SocketAddr> = addresses.collect();
            let best = all.iter().find(|address| address.is_ipv4()).or(all.first());
            best.map_or_else(
                || Lookup::NotFound("the name has no address".to_owned()),
                |address| Lookup::Address(address.ip()),
            )
        }
        Err(error) => Lookup::NotFound(error.to_string()),
    }
}

/// The address of a host: parsed if it is a literal, else looked up.
pub(super) fn resolve(names: &dyn Resolve, host: &str) -> Lookup {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    match bare.parse() {
        Ok(address) => Lookup::Address(address),
        Err(_) => names.lookup(host),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_known_at_once_and_a_name_after_a_while() {
        let names = SystemResolver::default();
        let four = Lookup::Address(IpAddr::from([127, 0, 0, 7]));
        assert_eq!(resolve(&names, "127.0.0.7"), four);
        assert!(matches!(resolve(&names, "[::1]"), Lookup::Address(_)));
        let mut found = resolve(&names, "localhost");
        while found == Lookup::Pending {
            std::thread::yield_now();
            found = resolve(&names, "localhost");
        }
        assert_eq!(found, Lookup::Address(IpAddr::from([127, 0, 0, 1])));
    }
}
