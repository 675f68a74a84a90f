//! A Fetch request, built once for a set of partitions and patched before each use.

use super::{API_KEY, VERSION};

/// Limits of a fetch: sizes, wait, isolation level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FetchLimits {
    /// The broker answers once it has this many bytes …
    pub min_bytes: i32,
    /// … or after this time.
    pub max_wait_ms: i32,
    /// Largest response; a single batch may exceed it.
    pub max_bytes: i32,
    /// Largest size per partition; a single batch may exceed it.
    pub partition_max_bytes: i32,
    /// Isolation level.
    pub isolation: Isolation,
}

/// Isolation level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    /// All replicated records.
    Uncommitted,
    /// Up to the last stable offset: nothing of open transactions.
    Committed,
}

/// A topic and its partitions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicToFetch<'a> {
    pub name: &'a str,
    pub partitions: &'a [PartitionToFetch],
}

/// A partition and its fetch offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartitionToFetch {
    pub partition: i32,
    /// The known leader epoch, −1 for none.
    pub leader_epoch: i32,
    /// The fetch offset.
    pub offset: i64,
}

/// After length, API key and version.
const CORRELATION_AT: usize = 8;

/// An encoded request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchRequest {
    bytes: Vec<u8>,
    /// Position of each partition's fetch offset, in the order they were given.
    offsets_at: Vec<usize>,
}

impl FetchRequest {
    /// Encodes a request. Topic names longer than Kafka allows (249 bytes) are left for the broker to refuse.
    #[must_use]
    pub fn new(client: &str, limits: &FetchLimits, topics: &[TopicToFetch<'_>]) -> Self {
        let mut out = Vec::with_capacity(128);
        let mut offsets_at = Vec::new();
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&API_KEY.to_be_bytes());
        out.extend_from_slice(&VERSION.to_be_bytes());
        out.extend_from_slice(&[0; 4]);
        let client = &client[..client.floor_char_boundary(i16::MAX as usize)];
        out.extend_from_slice(&(client.len() as i16).to_be_bytes());
        out.extend_from_slice(client.as_bytes());
        no_tags(&mut out);
        // Replica id −1: a consumer.
        out.extend_from_slice(&(-1_i32).to_be_bytes());
        for number in [limits.max_wait_ms, limits.min_bytes, limits.max_bytes] {
            out.extend_from_slice(&number.to_be_bytes());
        }
        out.push(match limits.isolation {
            Isolation::Uncommitted => 0,
            Isolation::Committed => 1,
        });
        // No fetch session.
        out.extend_from_slice(&0_i32.to_be_bytes());
        out.extend_from_slice(&(-1_i32).to_be_bytes());
        count(&mut out, topics.len());
        for topic in topics {
            count(&mut out, topic.name.len());
            out.extend_from_slice(topic.name.as_bytes());
            count(&mut out, topic.partitions.len());
            for wanted in topic.partitions {
                out.extend_from_slice(&wanted.partition.to_be_bytes());
                out.extend_from_slice(&wanted.leader_epoch.to_be_bytes());
                offsets_at.push(out.len());
                out.extend_from_slice(&wanted.offset.to_be_bytes());
                // No last fetched epoch; the log start offset is for replicas only.
                out.extend_from_slice(&(-1_i32).to_be_bytes());
                out.extend_from_slice(&(-1_i64).to_be_bytes());
                out.extend_from_slice(&limits.partition_max_bytes.to_be_bytes());
                no_tags(&mut out);
            }
            no_tags(&mut out);
        }
        // No forgotten topics, no rack id.
        count(&mut out, 0);
        count(&mut out, 0);
        no_tags(&mut out);
        let length = (out.len() - 4) as u32;
        out[..4].copy_from_slice(&length.to_be_bytes());
        Self {
            bytes: out,
            offsets_at,
        }
    }

    #[must_use]
    pub fn partitions(&self) -> usize {
        self.offsets_at.len()
    }

    /// Sets the fetch offset of the partition at this index.
    ///
    /// # Panics
    /// If there is no such partition.
    #[inline]
    pub fn set_offset(&mut self, place: usize, offset: i64) {
        let at = self.offsets_at[place];
        self.bytes[at..at + 8].copy_from_slice(&offset.to_be_bytes());
    }

    /// The request with this correlation id.
    #[inline]
    pub fn bytes(&mut self, correlation: i32) -> &[u8] {
        self.bytes[CORRELATION_AT..CORRELATION_AT + 4].copy_from_slice(&correlation.to_be_bytes());
        &self.bytes
    }
}

/// Length of a compact array or string: plus one, as a varint.
fn count(out: &mut Vec<u8>, length: usize) {
    let mut rest = length + 1;
    while rest >= 0x80 {
        out.push((rest as u8) | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

fn no_tags(out: &mut Vec<u8>) {
    out.push(0);
}
