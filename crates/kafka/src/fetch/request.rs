//! A fetch request, built once for a set of partitions and patched before each sending.

use super::{API_KEY, VERSION};

/// What a broker may take for an answer, and how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FetchLimits {
    /// It answers when it has so many bytes …
    pub min_bytes: i32,
    /// … or after this time.
    pub max_wait_ms: i32,
    /// Most bytes of an answer; one batch may be longer.
    pub max_bytes: i32,
    /// Most bytes of one partition; one batch may be longer.
    pub partition_max_bytes: i32,
    /// What is read of transactions.
    pub isolation: Isolation,
}

/// What is read of transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    /// Everything that is replicated.
    Uncommitted,
    /// Only what is in no open transaction.
    Committed,
}

/// A topic and its partitions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicToFetch<'a> {
    /// Its name.
    pub name: &'a str,
    /// What is wanted of it.
    pub partitions: &'a [PartitionToFetch],
}

/// A partition, and from where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartitionToFetch {
    /// Its number.
    pub partition: i32,
    /// The epoch of the leader that is known, −1 for none.
    pub leader_epoch: i32,
    /// The first offset wanted.
    pub offset: i64,
}

/// Length in front, key, version.
const CORRELATION_AT: usize = 8;

/// A request as it goes over the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchRequest {
    bytes: Vec<u8>,
    /// Where the offset of each partition is, in the order they were given.
    offsets_at: Vec<usize>,
}

impl FetchRequest {
    /// Builds it. Names longer than Kafka allows (249 bytes) are the broker's to refuse.
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
        // No replica asks, but a consumer.
        out.extend_from_slice(&(-1_i32).to_be_bytes());
        for number in [limits.max_wait_ms, limits.min_bytes, limits.max_bytes] {
            out.extend_from_slice(&number.to_be_bytes());
        }
        out.push(match limits.isolation {
            Isolation::Uncommitted => 0,
            Isolation::Committed => 1,
        });
        // No session.
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
                // No epoch was fetched before, and only replicas know where their log starts.
                out.extend_from_slice(&(-1_i32).to_be_bytes());
                out.extend_from_slice(&(-1_i64).to_be_bytes());
                out.extend_from_slice(&limits.partition_max_bytes.to_be_bytes());
                no_tags(&mut out);
            }
            no_tags(&mut out);
        }
        // Nothing is forgotten, and no rack is told.
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

    /// How many partitions it asks for.
    #[must_use]
    pub fn partitions(&self) -> usize {
        self.offsets_at.len()
    }

    /// Asks the partition of this place for what follows `offset`.
    ///
    /// # Panics
    /// When there is no such place.
    #[inline]
    pub fn set_offset(&mut self, place: usize, offset: i64) {
        let at = self.offsets_at[place];
        self.bytes[at..at + 8].copy_from_slice(&offset.to_be_bytes());
    }

    /// What to send, under this number.
    #[inline]
    pub fn bytes(&mut self, correlation: i32) -> &[u8] {
        self.bytes[CORRELATION_AT..CORRELATION_AT + 4].copy_from_slice(&correlation.to_be_bytes());
        &self.bytes
    }
}

/// Of compact arrays and strings: one more than there are, in seven bits a byte.
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
