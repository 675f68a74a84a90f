//! Identity of the caller as the proxy in front names it: the header `x-forwarded-client-cert` of Envoy.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Name of the header.
pub(crate) const HEADER: &str = "x-forwarded-client-cert";

/// Identities that are told apart; further ones are counted together.
const IDENTITIES_MAX: usize = 64;

/// Longest identity.
const IDENTITY_BYTES_MAX: usize = 256;

/// Label of an identity that has no series of its own.
const OTHER: &str = "other";

/// Requests by the identity of their caller.
#[derive(Debug, Default)]
pub(crate) struct IdentityCounters(Mutex<BTreeMap<String, u64>>);

impl IdentityCounters {
    /// Counts a request with this value of the header.
    pub(crate) fn add(&self, header: &[u8]) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let identity = uri_of_last_proxy(header).unwrap_or(OTHER);
        if let Some(count) = counts.get_mut(identity) {
            *count += 1;
            return;
        }
        let label = match counts.len() < IDENTITIES_MAX {
            true => identity,
            false => OTHER,
        };
        *counts.entry(label.to_owned()).or_default() += 1;
    }

    /// Adds these counts to `sums`.
    pub(crate) fn add_to(&self, sums: &mut BTreeMap<String, u64>) {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (identity, count) in counts.iter() {
            *sums.entry(identity.clone()).or_default() += count;
        }
    }
}

/// The `URI` of the last element: elements are separated by commas, their pairs by semicolons, and values may be quoted.
fn uri_of_last_proxy(header: &[u8]) -> Option<&str> {
    let header = std::str::from_utf8(header).ok()?;
    let uri = unquoted(header, ',').last().and_then(|element| {
        unquoted(element, ';').find_map(|pair| pair.trim().strip_prefix("URI="))
    })?;
    let uri = uri.trim_matches('"');
    let is_plain = |byte: u8| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\';
    let is_label = (1..=IDENTITY_BYTES_MAX).contains(&uri.len()) && uri.bytes().all(is_plain);
    is_label.then_some(uri)
}

/// Splits a text at separators outside of quotes.
fn unquoted(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let mut is_quoted = false;
    text.split(move |one: char| {
        is_quoted ^= one == '"';
        one == separator && !is_quoted
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_proxy_names_the_caller() {
        for (header, uri) in [
            (
                "By=spiffe://a/server;Hash=1f;Subject=\"\";URI=spiffe://a/client",
                Some("spiffe://a/client"),
            ),
            (
                "By=x;URI=spiffe://a/first,By=y;Subject=\"CN=a,O=b;URI=c\";URI=spiffe://a/last",
                Some("spiffe://a/last"),
            ),
            ("URI=\"spiffe://a/quoted\"", Some("spiffe://a/quoted")),
            ("URI=spiffe://a/first,By=y", None),
            ("URI=", None),
            ("URI=a\\b", None),
            ("", None),
        ] {
            assert_eq!(uri_of_last_proxy(header.as_bytes()), uri, "{header}");
        }
        assert_eq!(uri_of_last_proxy(b"URI=\xff"), None);
    }

    #[test]
    fn identities_are_bounded() {
        let counters = IdentityCounters::default();
        for number in 0..1000 {
            counters.add(format!("URI=spiffe://a/{number}").as_bytes());
        }
        let mut sums = BTreeMap::new();
        counters.add_to(&mut sums);
        assert_eq!(sums.len(), IDENTITIES_MAX + 1);
        assert_eq!(sums.values().sum::<u64>(), 1000);
    }
}
