//! Produce requests around batches that are not copied, and their answers read in place.

/// Versions of the request that are written: the last ones without tagged fields, so that nothing stands behind a batch.
pub(super) const VERSION_MIN: i16 = 3;
pub(super) const VERSION_MAX: i16 = 8;

/// Most bytes in front of a batch: length, head, topic of at most 249 bytes, and what is said of the batch.
pub(super) const ROOM_BYTES: usize = 4 + 8 + 2 + CLIENT_MAX_BYTES + 2 + 2 + 4 + 4 + TOPIC_BYTES;
const TOPIC_BYTES: usize = 2 + 249 + 4 + PARTITION_BYTES;
const PARTITION_BYTES: usize = 8;
const CLIENT_MAX_BYTES: usize = 64;

/// What every produce request of a producer says.
#[derive(Debug, Clone)]
pub(super) struct Framing {
    pub client_id: String,
    pub acks: i16,
    pub timeout_ms: i32,
}

/// A batch as a request says it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part<'a> {
    pub topic: &'a str,
    pub partition: i32,
    pub bytes: usize,
}

/// What stands in front of each batch of one request.
#[derive(Debug, Default)]
pub(super) struct Heads {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Framing {
    /// Writes what stands in front of each batch. Those of one topic follow each other.
    pub fn write<'a>(
        &self,
        heads: &mut Heads,
        (version, correlation): (i16, i32),
        parts: impl Iterator<Item = Part<'a>> + Clone,
    ) {
        let Heads { bytes: out, ends } = heads;
        out.clear();
        ends.clear();
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&0_i16.to_be_bytes());
        out.extend_from_slice(&version.to_be_bytes());
        out.extend_from_slice(&correlation.to_be_bytes());
        let client = &self.client_id.as_bytes()[..self.client_id.len().min(CLIENT_MAX_BYTES)];
        text(out, client);
        // No transaction.
        out.extend_from_slice(&(-1_i16).to_be_bytes());
        out.extend_from_slice(&self.acks.to_be_bytes());
        out.extend_from_slice(&self.timeout_ms.to_be_bytes());
        let topics_at = out.len();
        out.extend_from_slice(&[0; 4]);
        let mut batches = 0;
        let mut topics = 0_u32;
        // Where the number of the topic's partitions stands, and what it is.
        let mut of_topic = (0, 0_u32);
        let mut last = None;
        for part in parts {
            if last != Some(part.topic) {
                last = Some(part.topic);
                topics += 1;
                text(out, part.topic.as_bytes());
                of_topic = (out.len(), 0);
                out.extend_from_slice(&[0; 4]);
            }
            of_topic.1 += 1;
            out[of_topic.0..of_topic.0 + 4].copy_from_slice(&of_topic.1.to_be_bytes());
            out.extend_from_slice(&part.partition.to_be_bytes());
            out.extend_from_slice(&(part.bytes as u32).to_be_bytes());
            ends.push(out.len());
            batches += part.bytes;
        }
        out[topics_at..topics_at + 4].copy_from_slice(&topics.to_be_bytes());
        let length = (out.len() - 4 + batches) as u32;
        out[..4].copy_from_slice(&length.to_be_bytes());
    }
}

impl Heads {
    /// What stands in front of a batch by its number in the request.
    pub fn of(&self, at: usize) -> &[u8] {
        let start = match at {
            0 => 0,
            _ => self.ends[at - 1],
        };
        &self.bytes[start..self.ends[at]]
    }
}

fn text(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(&(bytes.len() as u16).to_be_bytes());
    out.extend_from_slice(bytes);
}

/// What became of one batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Told<'a> {
    pub topic: &'a [u8],
    pub partition: i32,
    pub code: i16,
    pub message: Option<&'a [u8]>,
}

/// An answer that ends too early or says impossible things.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an answer to a produce request that cannot be read as version {0}")]
pub(super) struct Unreadable(i16);

/// Reads an answer behind its correlation: each batch to `tell`, and how long the broker wants us to wait, in ms.
pub(super) fn read<'a>(
    frame: &'a [u8],
    version: i16,
    mut tell: impl FnMut(Told<'a>),
) -> Result<i32, Unreadable> {
    let mut rest = frame;
    let mut walk = || -> Option<i32> {
        let topics = number(&mut rest)?;
        for _ in 0..topics {
            let topic = words(&mut rest)??;
            for _ in 0..number(&mut rest)? {
                let partition = number(&mut rest)?;
                let code = i16::from_be_bytes(*take::<2>(&mut rest)?);
                let _offset = take::<8>(&mut rest)?;
                let _append_time = take::<8>(&mut rest)?;
                if version >= 5 {
                    let _log_start = take::<8>(&mut rest)?;
                }
                let mut message = None;
                if version >= 8 {
                    for _ in 0..number(&mut rest)?.max(0) {
                        let _record = number(&mut rest)?;
                        message = message.or(words(&mut rest)?);
                    }
                    message = words(&mut rest)?.or(message);
                }
                tell(Told {
                    topic,
                    partition,
                    code,
                    message,
                });
            }
        }
        let throttle_ms = number(&mut rest)?;
        rest.is_empty().then_some(throttle_ms)
    };
    walk().ok_or(Unreadable(version))
}

fn take<'a, const N: usize>(rest: &mut &'a [u8]) -> Option<&'a [u8; N]> {
    let (front, behind) = rest.split_first_chunk::<N>()?;
    *rest = behind;
    Some(front)
}

fn number(rest: &mut &[u8]) -> Option<i32> {
    take::<4>(rest).map(|bytes| i32::from_be_bytes(*bytes))
}

/// A text or none; the outer `None` is for bytes that are neither.
fn words<'a>(rest: &mut &'a [u8]) -> Option<Option<&'a [u8]>> {
    let length = i16::from_be_bytes(*take::<2>(rest)?);
    if length < 0 {
        return Some(None);
    }
    let (text, behind) = rest.split_at_checked(length as usize)?;
    *rest = behind;
    Some(Some(text))
}

#[cfg(test)]
mod tests {
    use tare_kafka::bytes::{Bytes, BytesMut};
    use tare_kafka::kafka_protocol::messages::produce_response::{
        BatchIndexAndErrorMessage, PartitionProduceResponse, TopicProduceResponse,
    };
    use tare_kafka::kafka_protocol::messages::{
        ProduceRequest, ProduceResponse, RequestHeader, TopicName,
    };
    use tare_kafka::kafka_protocol::protocol::{Decodable, Encodable, StrBytes};

    use super::*;

    #[test]
    fn a_request_is_read_by_others_with_its_batches_in_place() {
        let framing = Framing {
            client_id: "tare".into(),
            acks: -1,
            timeout_ms: 1500,
        };
        let batches = [&b"first"[..], b"second batch", b"3"];
        let parts: Vec<Part<'_>> = [("a", 4), ("a", 0), ("b.c", 2)]
            .into_iter()
            .zip(batches)
            .map(|((topic, partition), batch)| Part {
                topic,
                partition,
                bytes: batch.len(),
            })
            .collect();
        for version in VERSION_MIN..=VERSION_MAX {
            let mut heads = Heads::default();
            framing.write(&mut heads, (version, 77), parts.iter().copied());
            let mut wire = Vec::new();
            for (at, batch) in batches.iter().enumerate() {
                assert!(heads.of(at).len() <= ROOM_BYTES);
                wire.extend_from_slice(heads.of(at));
                wire.extend_from_slice(batch);
            }
            let length = u32::from_be_bytes(*wire.first_chunk().unwrap());
            assert_eq!(length as usize, wire.len() - 4);
            let mut bytes = Bytes::copy_from_slice(&wire[4..]);
            let header = RequestHeader::decode(&mut bytes, 1).unwrap();
            assert_eq!(
                (header.correlation_id, header.request_api_version),
                (77, version)
            );
            let body = ProduceRequest::decode(&mut bytes, version).unwrap();
            assert!(bytes.is_empty());
            assert_eq!((body.acks, body.timeout_ms), (-1, 1500));
            let read: Vec<_> = body
                .topic_data
                .iter()
                .flat_map(|topic| {
                    topic
                        .partition_data
                        .iter()
                        .map(|data| (topic.name.0.to_string(), data))
                })
                .map(|(topic, data)| (topic, data.index, data.records.clone().unwrap()))
                .collect();
            let expected = [("a", 4), ("a", 0), ("b.c", 2)];
            for ((read, (topic, index)), batch) in read.iter().zip(expected).zip(batches) {
                assert_eq!(
                    (read.0.as_str(), read.1, &read.2[..]),
                    (topic, index, batch)
                );
            }
        }
    }

    #[test]
    fn an_answer_of_others_is_read_and_a_cut_one_refused() {
        let partition = |index: i32, code: i16| {
            PartitionProduceResponse::default()
                .with_index(index)
                .with_error_code(code)
        };
        let topic = |name: &'static str, partitions| {
            TopicProduceResponse::default()
                .with_name(TopicName(StrBytes::from_static_str(name)))
                .with_partition_responses(partitions)
        };
        for version in VERSION_MIN..=VERSION_MAX {
            let mut bad = partition(1, 87);
            if version >= 8 {
                let word = StrBytes::from_static_str("no key");
                let record = BatchIndexAndErrorMessage::default()
                    .with_batch_index(3)
                    .with_batch_index_error_message(Some(word));
                bad = bad.with_record_errors(vec![record]);
            }
            let body = ProduceResponse::default()
                .with_responses(vec![
                    topic("a", vec![partition(0, 0), bad]),
                    topic("b", vec![partition(7, 6)]),
                ])
                .with_throttle_time_ms(9);
            let mut out = BytesMut::new();
            body.encode(&mut out, version).unwrap();
            let mut found = Vec::new();
            assert_eq!(read(&out, version, |told| found.push(told)), Ok(9));
            let short: Vec<_> = found
                .iter()
                .map(|told| (told.partition, told.code))
                .collect();
            assert_eq!(short, [(0, 0), (1, 87), (7, 6)]);
            assert_eq!(found[2].topic, b"b");
            let message = (version >= 8).then_some(&b"no key"[..]);
            assert_eq!(found[1].message, message);
            for cut in 0..out.len() {
                assert!(read(&out[..cut], version, |_| {}).is_err(), "{cut}");
            }
        }
    }
}
