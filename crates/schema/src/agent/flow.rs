//! Records that one agent wrote or read within the window, whichever way its protocol counts them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::LoadResult;
use crate::load::ClientSpec;

/// What a producer counts of the payloads that were taken from it, over its whole life.
const PAYLOAD_BYTES: &str = "payload-bytes";

/// Records of one agent within the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecordFlow {
    /// Which way they went.
    pub way: RecordWay,
    /// How many: written ones that were taken, read ones that arrived.
    pub count: u64,
    /// Their bytes: of keys and values, or of whole batches where a consumer looks at nothing less; `None`: not known.
    pub bytes: Option<u64>,
    /// Ages below zero of what was read, see [`super::RecordCounts`]; `None` for what was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub negative_ages: Option<u64>,
}

/// Which way records went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RecordWay {
    /// From the agent.
    Written,
    /// To the agent.
    Read,
}

impl LoadResult {
    /// The records of the window; `None` for a client whose exchanges are not about records.
    #[must_use]
    pub fn flow(&self, client: &ClientSpec) -> Option<RecordFlow> {
        if let Some(records) = self.records {
            return Some(RecordFlow {
                way: RecordWay::Read,
                count: records.in_window,
                bytes: Some(records.bytes_in_window),
                negative_ages: Some(records.negative_ages),
            });
        }
        matches!(client, ClientSpec::KafkaProduce { .. }).then(|| RecordFlow {
            way: RecordWay::Written,
            count: self.answered_in_window.right,
            bytes: self.written_bytes(),
            negative_ages: None,
        })
    }

    /// Bytes of what was written in the window: its share of all, which is exact where payloads are alike.
    fn written_bytes(&self) -> Option<u64> {
        let all: u64 = self.by_request.values().map(|one| one.right).sum();
        let bytes = *self.protocol_counts.get(PAYLOAD_BYTES)?;
        let share = self.answered_in_window.right as f64 / all as f64;
        (all > 0).then(|| (bytes as f64 * share).round() as u64)
    }
}
