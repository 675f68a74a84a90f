//! Negotiation of API versions.

use std::collections::BTreeMap;

use kafka_protocol::messages::{ApiKey, ApiVersionsResponse};
use kafka_protocol::protocol::{Message, Request, VersionRange};

/// The API versions and features of a broker.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Versions {
    ranges: BTreeMap<i16, (i16, i16)>,
    /// Finalised features of the cluster by name, such as `metadata.version`, with their level.
    pub features: BTreeMap<String, i16>,
}

/// No version of a request in common.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{api} that Tare speaks (broker {theirs}, Tare {ours})")]
pub struct NoCommonVersion {
    pub(super) api: String,
    pub(super) theirs: String,
    pub(super) ours: String,
}

impl Versions {
    /// From an ApiVersions response.
    #[must_use]
    pub fn of(answer: &ApiVersionsResponse) -> Versions {
        let ranges = answer.api_keys.iter();
        let features = answer.finalized_features.iter();
        Versions {
            ranges: ranges
                .map(|api| (api.api_key, (api.min_version, api.max_version)))
                .collect(),
            features: features
                .map(|feature| (feature.name.to_string(), feature.max_version_level))
                .collect(),
        }
    }

    /// Whether the broker supports a request at all.
    #[must_use]
    pub fn knows<R: Request>(&self) -> bool {
        self.ranges.contains_key(&R::KEY)
    }

    /// The newest version of request and response that both sides support and that is no newer than `newest`.
    pub(super) fn choose<R: Request>(&self, newest: i16) -> Result<i16, NoCommonVersion> {
        let supported = R::VERSIONS.intersect(&<R::Response as Message>::VERSIONS);
        let ours = VersionRange {
            min: supported.min,
            max: supported.max.min(newest),
        };
        let theirs = self.ranges.get(&R::KEY);
        let common = theirs.map(|&(min, max)| ours.intersect(&VersionRange { min, max }));
        match common {
            Some(common) if !common.is_empty() => Ok(common.max),
            _ => Err(NoCommonVersion {
                api: name(R::KEY),
                theirs: theirs.map_or("none".to_owned(), |(min, max)| format!("{min} to {max}")),
                ours: format!("{} to {}", ours.min, ours.max),
            }),
        }
    }
}

/// Name of a request.
pub(super) fn name(key: i16) -> String {
    ApiKey::try_from(key).map_or_else(|()| format!("request {key}"), |key| format!("{key:?}"))
}

#[cfg(test)]
mod tests {
    use kafka_protocol::messages::api_versions_response::ApiVersion;
    use kafka_protocol::messages::{MetadataRequest, OffsetFetchRequest};

    use super::*;

    fn broker(key: ApiKey, min: i16, max: i16) -> Versions {
        let api = ApiVersion::default()
            .with_api_key(key as i16)
            .with_min_version(min)
            .with_max_version(max);
        Versions::of(&ApiVersionsResponse::default().with_api_keys(vec![api]))
    }

    #[test]
    fn the_newest_version_of_both_is_taken() {
        let old = broker(ApiKey::Metadata, 0, 9);
        assert_eq!(old.choose::<MetadataRequest>(i16::MAX), Ok(9));
        let new = broker(ApiKey::Metadata, 4, 99);
        let ours = MetadataRequest::VERSIONS.max;
        assert_eq!(new.choose::<MetadataRequest>(i16::MAX), Ok(ours));
        assert_eq!(new.choose::<MetadataRequest>(7), Ok(7));
    }

    #[test]
    fn a_version_whose_answer_cannot_be_read_is_not_taken() {
        // The codec reads answers of version 10 but writes no requests of it.
        let new = broker(ApiKey::OffsetFetch, 1, 10);
        assert_eq!(
            new.choose::<OffsetFetchRequest>(i16::MAX),
            Ok(OffsetFetchRequest::VERSIONS.max)
        );
    }

    #[test]
    fn nothing_in_common_names_the_request_and_both_ranges() {
        let foreign = broker(ApiKey::Metadata, 90, 99);
        let gap = foreign.choose::<MetadataRequest>(i16::MAX).unwrap_err();
        assert_eq!(
            (gap.api.as_str(), gap.theirs.as_str()),
            ("Metadata", "90 to 99")
        );
        let gap = foreign.choose::<OffsetFetchRequest>(i16::MAX).unwrap_err();
        assert_eq!(gap.theirs, "none");
    }
}
