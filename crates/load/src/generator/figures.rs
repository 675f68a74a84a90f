//! Histograms of a result by what they contain: all requests, one request, one error class.

use std::collections::BTreeMap;

use tare_record::agent::{QuantileSummary, is_status_class, is_unanswered_class};
use tare_record::load::session::SESSION_NAME;
use tare_stats::{Latencies, Quantile, SparseHistogram};

use super::LoadOutcome;
use crate::client::WaitCause;

/// A histogram's tag, parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tag<'a> {
    /// Role of the agent.
    pub role: &'a str,
    /// Name of the request; `None` for quantities of the whole load, such as lateness.
    pub request: Option<&'a str>,
    /// `latency`, `response`, `service`, `lateness`, `receive-lag`, `queue-wait` …
    pub quantity: &'a str,
    /// Error class, cause of a queue wait, or `setup` of connections begun before the window; `None`: correct responses.
    pub class: Option<&'a str>,
    /// Status class of correct responses, `3xx`; `None`: 2xx, a protocol without a status, or errors.
    pub status: Option<&'a str>,
}

impl<'a> Tag<'a> {
    /// Whether its exchanges are in the latency of a load: correct responses, and, as lower bounds, exchanges without one.
    #[must_use]
    pub fn is_in_latency(&self) -> bool {
        self.class.is_none_or(is_unanswered_class)
    }

    /// Parses `<role>.<request>.<quantity>[.<class or status>]` or `<role>.<quantity>`; `None` for anything else.
    #[must_use]
    pub fn parse(text: &'a str) -> Option<Self> {
        let words: Vec<&str> = text.split('.').collect();
        let tag = |request, quantity, class| {
            Some(Self {
                role: words[0],
                request,
                quantity,
                class,
                status: None,
            })
        };
        let is_cause = |word: &str| WaitCause::ALL.iter().any(|cause| cause.name() == word);
        match words[..] {
            [_, quantity] => tag(None, quantity, None),
            [_, "queue-wait", cause] if is_cause(cause) => tag(None, "queue-wait", Some(cause)),
            [_, quantity @ ("connect" | "handshake"), "setup"] => {
                tag(None, quantity, Some("setup"))
            }
            [_, request, quantity] => tag(Some(request), quantity, None),
            [_, request, quantity, status] if is_status_class(status) => Some(Self {
                status: Some(status),
                ..tag(Some(request), quantity, None)?
            }),
            [_, request, quantity, class] => tag(Some(request), quantity, Some(class)),
            _ => None,
        }
    }
}

impl LoadOutcome {
    /// `latency` of all requests: of the correct responses, and of the exchanges without an answer as lower bounds. `None` without
    /// any.
    #[must_use]
    pub fn latency(&self) -> Option<Latencies> {
        self.sum(|tag| tag.quantity == "latency" && tag.is_in_latency() && self.is_exchange(tag))
    }

    /// Whether a tag is one of exchanges, not of whole sessions.
    fn is_exchange(&self, tag: &Tag<'_>) -> bool {
        self.result.sessions.is_none() || tag.request != Some(SESSION_NAME)
    }

    /// `latency` of every exchange, however it ended.
    #[must_use]
    pub fn latency_by_all(&self) -> Option<Latencies> {
        self.sum(|tag| tag.quantity == "latency" && self.is_exchange(tag))
    }

    /// `response` of the same exchanges, from the intended start; `None` without any.
    #[must_use]
    pub fn response(&self) -> Option<Latencies> {
        self.sum(|tag| tag.quantity == "response" && tag.is_in_latency() && self.is_exchange(tag))
    }

    /// `response` of every exchange, however it ended.
    #[must_use]
    pub fn response_by_all(&self) -> Option<Latencies> {
        self.sum(|tag| tag.quantity == "response" && self.is_exchange(tag))
    }

    /// `service` of those that were sent; `None` without any.
    #[must_use]
    pub fn service(&self) -> Option<Latencies> {
        self.sum(|tag| tag.quantity == "service" && tag.is_in_latency())
    }

    /// `service` of every exchange, however it ended.
    #[must_use]
    pub fn service_of_all(&self) -> Option<Latencies> {
        self.sum(|tag| tag.quantity == "service")
    }

    /// `latency` or `service` of the correct responses by status class, `2xx`; empty for a protocol without a status.
    #[must_use]
    pub fn by_status(&self, quantity: &str) -> BTreeMap<&str, Latencies> {
        if self.result.ok_by_status.is_empty() {
            return BTreeMap::new();
        }
        self.sums(|tag| {
            let is_wanted = tag.quantity == quantity && tag.class.is_none();
            (is_wanted && self.is_exchange(tag)).then_some(tag.status.unwrap_or("2xx"))
        })
    }

    /// Lateness: how much later than intended the generator released each exchange.
    #[must_use]
    pub fn lateness(&self) -> Option<Latencies> {
        self.sum(|tag| tag.quantity == "lateness")
    }

    /// The histogram with this tag.
    #[must_use]
    pub fn total(&self, tag: &str) -> Option<Latencies> {
        self.totals.get(tag)?.latencies().ok()
    }

    /// The sum of the histograms with wanted tags; `None` without any.
    #[must_use]
    pub fn sum(&self, wanted: impl Fn(&Tag<'_>) -> bool) -> Option<Latencies> {
        self.sums(|tag| wanted(tag).then_some(())).remove(&())
    }

    /// The sums of the histograms by key; those without a key are left out.
    #[must_use]
    pub fn sums<'a, K: Ord>(
        &'a self,
        key: impl Fn(&Tag<'a>) -> Option<K>,
    ) -> BTreeMap<K, Latencies> {
        let groups = self.groups(key).into_iter();
        groups
            .filter_map(|(key, group)| Some((key, merged(&group)?)))
            .collect()
    }

    /// The histograms by key; those without a key are left out. A sum takes 280 kB: of many requests they are made one by one.
    #[must_use]
    pub fn groups<'a, K: Ord>(
        &'a self,
        key: impl Fn(&Tag<'a>) -> Option<K>,
    ) -> BTreeMap<K, Vec<&'a SparseHistogram>> {
        let mut groups: BTreeMap<K, Vec<&SparseHistogram>> = BTreeMap::new();
        for (text, histogram) in &self.totals {
            if let Some(key) = Tag::parse(text).as_ref().and_then(&key) {
                groups.entry(key).or_default().push(histogram);
            }
        }
        groups
    }
}

/// The sum of some histograms of one load; `None` without any.
#[must_use]
pub fn merged(group: &[&SparseHistogram]) -> Option<Latencies> {
    let (first, others) = group.split_first()?;
    // All histograms of a load have the same range and precision, and fewer than 2^53 exchanges.
    let mut sum = first.latencies().ok()?;
    for other in others {
        let merged = sum.merge_sparse(other);
        debug_assert!(merged.is_ok(), "histograms of one load have one shape");
    }
    Some(sum)
}

/// Count, quantiles and maximum of a histogram; a bound stands for the value it bounds.
#[must_use]
pub fn spread(latencies: Option<&Latencies>) -> QuantileSummary {
    let Some(latencies) = latencies else {
        return QuantileSummary::default();
    };
    let value = |quantile| match quantile {
        Quantile::Exact(ns) | Quantile::Above(ns) => Some(ns),
        Quantile::TooFew => None,
    };
    QuantileSummary {
        count: latencies.count(),
        p50_ns: value(latencies.quantile(0.5)),
        p99_ns: value(latencies.quantile(0.99)),
        max_ns: latencies.max().and_then(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_says_of_which_request_what_and_how_it_ended() {
        let tag = |text| Tag::parse(text).unwrap();
        let latency = tag("client.request.latency");
        assert_eq!(
            (latency.request, latency.quantity),
            (Some("request"), "latency")
        );
        assert_eq!(
            tag("client.cart.service.status-503").class,
            Some("status-503")
        );
        assert_eq!(
            (
                tag("client.receive-lag").request,
                tag("client.receive-lag").quantity
            ),
            (None, "receive-lag")
        );
        assert_eq!(tag("client.queue-wait.connection").request, None);
        assert_eq!(tag("client.queue-wait.latency").request, Some("queue-wait"));
        assert_eq!(Tag::parse("client"), None);
        let redirected = tag("client.request.latency.3xx");
        assert_eq!((redirected.class, redirected.status), (None, Some("3xx")));
    }
}
