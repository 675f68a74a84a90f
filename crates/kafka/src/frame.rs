//! Kafka frames: encodes requests, decodes responses.

use bytes::{Buf, Bytes, BytesMut};
use kafka_protocol::messages::{RequestHeader, ResponseHeader};
use kafka_protocol::protocol::{Decodable, Encodable, HeaderVersion, Request, StrBytes};

use crate::checked_buf::{CheckedBuf, LengthFormat};

/// Largest response accepted: fetches are bounded by their request, all other responses are small.
pub const ANSWER_MAX_BYTES: usize = 128 << 20;

/// Largest response that is decoded as a whole; a fetch of that size is parsed as it comes. Its structures take about ten times its
/// bytes.
const DECODED_MAX_BYTES: usize = 32 << 20;

/// Why a frame is invalid, or a request cannot be encoded.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum FrameError {
    /// The length is invalid.
    #[error("a frame of {0} bytes: this is not the Kafka protocol (a TLS or HTTP port?)")]
    Length(i64),
    /// The request does not fit the version, says the codec.
    #[error("cannot write the request in version {0}: {1}")]
    Encode(i16, String),
    /// The response cannot be decoded in the version, says the codec.
    #[error("the broker's answer cannot be read as version {0}: {1}")]
    Decode(i16, String),
    /// A response that is too long to be decoded.
    #[error(
        "the broker's answer has {0} bytes, more than the {DECODED_MAX_BYTES} that are decoded: ask about fewer topics at a time"
    )]
    TooLong(usize),
    /// Bytes after the response in the version.
    #[error("{1} trailing bytes after the broker's answer of version {0}")]
    Trailing(i16, usize),
}

/// Appends an encoded request: length, header, body.
///
/// # Errors
/// If the request has fields that this version does not have.
pub fn write<R: Request>(
    out: &mut BytesMut,
    request: &R,
    version: i16,
    correlation: i32,
    client: &StrBytes,
) -> Result<(), FrameError> {
    let fail = |error: &dyn std::fmt::Display| FrameError::Encode(version, format!("{error:#}"));
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    RequestHeader::default()
        .with_request_api_key(R::KEY)
        .with_request_api_version(version)
        .with_correlation_id(correlation)
        .with_client_id(Some(client.clone()))
        .encode(out, R::header_version(version))
        .map_err(|error| fail(&error))?;
    request.encode(out, version).map_err(|error| fail(&error))?;
    let length = out.len() - start - 4;
    let length = i32::try_from(length).map_err(|error| fail(&error))?;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
    Ok(())
}

/// The length of the frame, without its own four bytes; `None` until these are there.
///
/// # Errors
/// If the length is impossible for a response.
pub fn length(input: &[u8], max_bytes: usize) -> Result<Option<usize>, FrameError> {
    let Some(head) = input.first_chunk::<4>() else {
        return Ok(None);
    };
    let length = i32::from_be_bytes(*head);
    match usize::try_from(length) {
        Ok(length) if (4..=max_bytes).contains(&length) => Ok(Some(length)),
        _ => Err(FrameError::Length(length.into())),
    }
}

/// The correlation id: the first four bytes after the length.
#[must_use]
pub fn correlation(frame: &[u8]) -> Option<i32> {
    frame
        .first_chunk::<4>()
        .map(|head| i32::from_be_bytes(*head))
}

/// Decodes a response: the frame after its length.
///
/// # Errors
/// If it is not exactly a response of this version.
pub fn read<R: Request>(frame: Bytes, version: i16) -> Result<R::Response, FrameError> {
    if frame.len() > DECODED_MAX_BYTES {
        return Err(FrameError::TooLong(frame.len()));
    }
    let lengths = match R::header_version(version) {
        0 | 1 => LengthFormat::Plain,
        _ => LengthFormat::Compact,
    };
    let mut rest = CheckedBuf::new(frame, lengths);
    let fail = |error: &dyn std::fmt::Display| FrameError::Decode(version, format!("{error:#}"));
    ResponseHeader::decode(&mut rest, R::Response::header_version(version))
        .map_err(|error| fail(&error))?;
    let answer = R::Response::decode(&mut rest, version).map_err(|error| fail(&error))?;
    match rest.remaining() {
        0 => Ok(answer),
        count => Err(FrameError::Trailing(version, count)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kafka_protocol::messages::metadata_response::{
        MetadataResponsePartition, MetadataResponseTopic,
    };
    use kafka_protocol::messages::{
        ApiKey, ApiVersionsRequest, ApiVersionsResponse, MetadataRequest, MetadataResponse,
        TopicName,
    };

    fn answer<T: Encodable + HeaderVersion>(body: &T, version: i16) -> Bytes {
        let mut out = BytesMut::new();
        ResponseHeader::default()
            .with_correlation_id(7)
            .encode(&mut out, T::header_version(version))
            .unwrap();
        body.encode(&mut out, version).unwrap();
        out.freeze()
    }

    #[test]
    fn a_request_has_its_length_key_version_and_correlation_in_front() {
        let mut out = BytesMut::from(&b"before"[..]);
        let client = StrBytes::from_static_str("tare");
        write(&mut out, &MetadataRequest::default(), 12, 99, &client).unwrap();
        let frame = &out[6..];
        assert_eq!(length(frame, 1000), Ok(Some(frame.len() - 4)));
        assert_eq!(&frame[4..6], (ApiKey::Metadata as i16).to_be_bytes());
        assert_eq!(&frame[6..8], 12_i16.to_be_bytes());
        assert_eq!(correlation(&frame[8..]), Some(99));
    }

    #[test]
    fn an_answer_is_read_to_its_last_byte() {
        let body = MetadataResponse::default().with_throttle_time_ms(5);
        let frame = answer(&body, 12);
        assert_eq!(correlation(&frame), Some(7));
        assert_eq!(read::<MetadataRequest>(frame.clone(), 12), Ok(body));
        let mut longer = BytesMut::from(&frame[..]);
        longer.extend_from_slice(&[0, 0]);
        assert_eq!(
            read::<MetadataRequest>(longer.freeze(), 12),
            Err(FrameError::Trailing(12, 2))
        );
        let cut = frame.slice(..frame.len() - 1);
        assert!(read::<MetadataRequest>(cut, 12).is_err());
    }

    #[test]
    fn the_answer_about_versions_has_the_old_header() {
        let body = ApiVersionsResponse::default();
        assert_eq!(read::<ApiVersionsRequest>(answer(&body, 3), 3), Ok(body));
    }

    #[test]
    fn a_length_of_more_than_there_is_reserves_no_memory() {
        // The correlation, no error, then a length of 2^32 - 1 or 2^31 - 1 and nothing behind it.
        let compact = Bytes::from_static(&[0, 0, 0, 7, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x0f, 0]);
        assert!(read::<ApiVersionsRequest>(compact, 3).is_err());
        let plain = Bytes::from_static(&[0, 0, 0, 7, 0, 0, 0x7f, 0xff, 0xff, 0xff]);
        assert!(read::<ApiVersionsRequest>(plain, 0).is_err());
        // A broker may have a large number, in answers whose lengths are compact.
        let body = MetadataResponse::default().with_controller_id((i32::MAX).into());
        assert_eq!(read::<MetadataRequest>(answer(&body, 12), 12), Ok(body));
    }

    #[test]
    fn nested_lengths_are_bounded_together_by_the_bytes_of_the_answer() {
        // One topic of 1000 that are said to be there, with 1000 partitions, the first with 1000 replicas, in 1100 bytes.
        let mut body = vec![0, 0, 0, 7, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1];
        let thousand = [0xe9, 0x07];
        body.extend(thousand);
        body.extend([0, 0, 2, b't']);
        body.extend([0; 17]);
        body.extend(thousand);
        body.extend([0; 14]);
        body.extend(thousand);
        body.resize(1100, 0);
        let said = read::<MetadataRequest>(body.into(), 12).unwrap_err();
        let words = "Not enough bytes remaining in buffer to read value (requested 1001 but only 1060 available)";
        assert!(said.to_string().contains(words), "{said}");
    }

    #[test]
    fn many_small_elements_fit_in_what_their_bytes_allow() {
        let nodes: Vec<_> = (0..100_000).map(Into::into).collect();
        let partition = MetadataResponsePartition::default().with_replica_nodes(nodes);
        let topic = MetadataResponseTopic::default()
            .with_name(Some(TopicName(StrBytes::from_string("t".repeat(200)))))
            .with_partitions(vec![partition; 3]);
        let body = MetadataResponse::default().with_topics(vec![topic; 5]);
        for version in [4, 12] {
            assert!(read::<MetadataRequest>(answer(&body, version), version).is_ok());
        }
        let long = Bytes::from(vec![0; DECODED_MAX_BYTES + 1]);
        let said = read::<MetadataRequest>(long, 12).unwrap_err();
        assert_eq!(said, FrameError::TooLong(DECODED_MAX_BYTES + 1));
    }

    #[test]
    fn what_a_tls_or_http_port_says_is_no_length() {
        assert!(length(b"HTTP/1.1 400", ANSWER_MAX_BYTES).is_err());
        assert!(length(b"\x15\x03\x03\x00\x02\x02\x46", ANSWER_MAX_BYTES).is_err());
        assert!(length(&[0xff; 4], ANSWER_MAX_BYTES).is_err());
        assert_eq!(length(&[0, 0], ANSWER_MAX_BYTES), Ok(None));
    }
}
