//! API versions: the version used for each request with a broker.

use tare_kafka::kafka_protocol::messages::{ApiKey, ApiVersionsResponse};

/// A request and the range of versions that is supported here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Api {
    /// The request's API key.
    pub key: ApiKey,
    /// Oldest version.
    pub min: i16,
    /// Newest version.
    pub max: i16,
}

impl Api {
    /// A request in these versions.
    #[must_use]
    pub const fn new(key: ApiKey, min: i16, max: i16) -> Self {
        Self { key, min, max }
    }
}

/// Sent by the cluster layer itself.
pub(super) const METADATA: Api = Api::new(ApiKey::Metadata, 4, 12);

/// A request has no common version with a broker.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "it has {name:?} in {theirs}, and tare speaks {ours_min} to {ours_max}: use a broker of 2.1 or newer"
)]
pub(super) struct Unsupported {
    name: ApiKey,
    theirs: String,
    ours_min: i16,
    ours_max: i16,
}

/// The newest version of each request that both sides support: pairs of API key and version.
#[derive(Debug, Clone, Default)]
pub(super) struct Versions {
    chosen: Vec<(i16, i16)>,
}

impl Versions {
    /// Chooses from the broker's ApiVersions response.
    ///
    /// # Errors
    /// When a needed request has no common version.
    pub fn choose(theirs: &ApiVersionsResponse, needed: &[Api]) -> Result<Self, Unsupported> {
        let one = |api: &Api| {
            let key = api.key as i16;
            let range = theirs.api_keys.iter().find(|range| range.api_key == key);
            let common = range.map(|range| range.max_version.min(api.max));
            let lowest = range.map_or(0, |range| range.min_version).max(api.min);
            match common.filter(|&version| version >= lowest) {
                Some(version) => Ok((key, version)),
                None => Err(Unsupported {
                    name: api.key,
                    theirs: range.map_or("no version".to_owned(), |range| {
                        format!("versions {} to {}", range.min_version, range.max_version)
                    }),
                    ours_min: api.min,
                    ours_max: api.max,
                }),
            }
        };
        let chosen = needed.iter().map(one).collect::<Result<_, _>>()?;
        Ok(Self { chosen })
    }

    /// The version of a request; 0 for one that was not in `needed`.
    pub fn of(&self, key: ApiKey) -> i16 {
        self.of_number(key as i16)
    }

    /// The same by the numeric API key.
    pub fn of_number(&self, key: i16) -> i16 {
        let known = self.chosen.iter().find(|(of, _)| *of == key);
        known.map_or(0, |&(_, version)| version)
    }
}

/// Whether the port is that of a KRaft controller: it answers brokers and other controllers, not clients.
pub(super) fn is_controller(theirs: &ApiVersionsResponse) -> bool {
    let has = |key: ApiKey| {
        theirs
            .api_keys
            .iter()
            .any(|range| range.api_key == key as i16)
    };
    has(ApiKey::BrokerHeartbeat) && !has(ApiKey::Metadata)
}

#[cfg(test)]
mod tests {
    use tare_kafka::kafka_protocol::messages::api_versions_response::ApiVersion;

    use super::*;

    fn theirs(min: i16, max: i16) -> ApiVersionsResponse {
        ApiVersionsResponse::default().with_api_keys(vec![
            ApiVersion::default()
                .with_api_key(ApiKey::Produce as i16)
                .with_min_version(min)
                .with_max_version(max),
        ])
    }

    #[test]
    fn the_newest_common_version_is_spoken() {
        let needed = [Api::new(ApiKey::Produce, 3, 8)];
        for (theirs_max, version) in [(13, 8), (5, 5), (3, 3)] {
            let chosen = Versions::choose(&theirs(0, theirs_max), &needed).unwrap();
            assert_eq!(chosen.of(ApiKey::Produce), version);
        }
    }

    #[test]
    fn without_a_common_version_the_message_names_both_ranges() {
        let needed = [Api::new(ApiKey::Produce, 3, 8)];
        let old = Versions::choose(&theirs(0, 2), &needed).unwrap_err();
        assert_eq!(
            old.to_string(),
            "it has Produce in versions 0 to 2, and tare speaks 3 to 8: use a broker of 2.1 or newer"
        );
        assert!(Versions::choose(&theirs(9, 20), &needed).is_err());
        let needed = [Api::new(ApiKey::Fetch, 4, 12)];
        let none = Versions::choose(&theirs(0, 20), &needed).unwrap_err();
        assert!(none.to_string().contains("Fetch in no version"), "{none}");
    }
}
