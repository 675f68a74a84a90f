//! Produce requests written around batches that are not copied; responses read in place.

/// Versions of the request: only those without tagged fields, so that nothing follows a batch.
pub(super) const VERSION_MIN: i16 = 3;
pub(super) const VERSION_MAX: i16 = 8;

/// Most bytes before a batch: length, header, a topic of at most 249 bytes, and the batch's partition and size.
pub(super) const PREFIX_BYTES_MAX: usize =
    4 + 8 + 2 + CLIENT_MAX_BYTES + 2 + 2 + 4 + 4 + TOPIC_BYTES;
const TOPIC_BYTES: usize = 2 + 249 + 4 + PARTITION_BYTES;
const PARTITION_BYTES: usize = 8;
const CLIENT_MAX_BYTES: usize = 64;

/// The fields that all produce requests of a producer share.
#[derive(Debug, Clone)]
pub(super) struct Framing {
    pub client_id: String,
    pub acks: i16,
    pub timeout_ms: i32,
}

/// A batch of a request.
#[derive(Debug, Clone, Copy)]
pub(super) struct PartitionBatch<'a> {
    pub topic: &'a str,
    pub partition: i32,
    pub bytes: usize,
}

/// The bytes before each batch of one request.
#[derive(Debug, Default)]
pub(super) struct Prefixes {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Framing {
    /// Writes the bytes before each batch. Batches of one topic must be adjacent.
    pub fn write<'a>(
        &self,
        prefixes: &mut Prefixes,
        (version, correlation): (i16, i32),
        parts: impl Iterator<Item = PartitionBatch<'a>> + Clone,
    ) {
        let Prefixes { bytes: out, ends } = prefixes;
        out.clear();
        ends.clear();
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&0_i16.to_be_bytes());
        out.extend_from_slice(&version.to_be_bytes());
        out.extend_from_slice(&correlation.to_be_bytes());
        let client = &self.client_id.as_bytes()[..self.client_id.len().min(CLIENT_MAX_BYTES)];
        text(out, client);
        // No transactional id.
        out.extend_from_slice(&(-1_i16).to_be_bytes());
        out.extend_from_slice(&self.acks.to_be_bytes());
        out.extend_from_slice(&self.timeout_ms.to_be_bytes());
        let topics_at = out.len();
        out.extend_from_slice(&[0; 4]);
        let mut batches = 0;
        let mut topics = 0_u32;
        // Offset of the topic's partition count, and the count.
        let mut of_topic = (0, 0_u32);
        let mut last = None;
        for batch in parts {
            if last != Some(batch.topic) {
                last = Some(batch.topic);
                topics += 1;
                text(out, batch.topic.as_bytes());
                of_topic = (out.len(), 0);
                out.extend_from_slice(&[0; 4]);
            }
            of_topic.1 += 1;
            out[of_topic.0..of_topic.0 + 4].copy_from_slice(&of_topic.1.to_be_bytes());
            out.extend_from_slice(&batch.partition.to_be_bytes());
            out.extend_from_slice(&(batch.bytes as u32).to_be_bytes());
            ends.push(out.len());
            batches += batch.bytes;
        }
        out[topics_at..topics_at + 4].copy_from_slice(&topics.to_be_bytes());
        let length = (out.len() - 4 + batches) as u32;
        out[..4].copy_from_slice(&length.to_be_bytes());
    }
}

impl Prefixes {
    /// The bytes before a batch, by its index in the request.
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

/// The response for one batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PartitionResponse<'a> {
    pub topic: &'a [u8],
    pub partition: i32,
    pub code: i16,
    pub message: Option<&'a [u8]>,
}

/// A response that ends too early or has impossible values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an answer to a produce request that cannot be read as version {0}")]
pub(super) struct MalformedResponse(i16);

/// Reads a response after its correlation id: passes each batch to `report`, and returns the throttle time in ms.
pub(super) fn read<'a>(
    frame: &'a [u8],
    version: i16,
    mut report: impl FnMut(PartitionResponse<'a>),
) -> Result<i32, MalformedResponse> {
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
                    // What is said of the whole names no reason where a record has one.
                    message = message.or(words(&mut rest)?);
                }
                report(PartitionResponse {
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
    walk().ok_or(MalformedResponse(version))
}

fn take<'a, const N: usize>(rest: &mut &'a [u8]) -> Option<&'a [u8; N]> {
    let (front, behind) = rest.split_first_chunk::<N>()?;
    *rest = behind;
    Some(front)
}

fn number(rest: &mut &[u8]) -> Option<i32> {
    take::<4>(rest).map(|bytes| i32::from_be_bytes(*bytes))
}

/// A nullable string; the outer `None` is for malformed bytes.
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
        let parts: Vec<PartitionBatch<'_>> = [("a", 4), ("a", 0), ("b.c", 2)]
            .into_iter()
            .zip(batches)
            .map(|((topic, partition), batch)| PartitionBatch {
                topic,
                partition,
                bytes: batch.len(),
            })
            .collect();
        for version in VERSION_MIN..=VERSION_MAX {
            let mut prefixes = Prefixes::default();
            framing.write(&mut prefixes, (version, 77), parts.iter().copied());
            let mut wire = Vec::new();
            for (at, batch) in batches.iter().enumerate() {
                assert!(prefixes.of(at).len() <= PREFIX_BYTES_MAX);
                wire.extend_from_slice(prefixes.of(at));
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
                let whole =
                    "One or more records have been rejected due to 1 record errors in total";
                let whole = StrBytes::from_static_str(whole);
                bad = bad
                    .with_record_errors(vec![record])
                    .with_error_message(Some(whole));
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
            assert_eq!(read(&out, version, |response| found.push(response)), Ok(9));
            let short: Vec<_> = found
                .iter()
                .map(|response| (response.partition, response.code))
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
