//! Probe by Kafka metadata: a broker is ready when it has a controller and sees all brokers of its cluster.

use std::time::{Duration, Instant};

use tare_kafka::kafka_protocol::messages::{MetadataRequest, MetadataResponse};

use crate::broker::{self, METADATA};
use crate::connector::Connector;

/// Requests the metadata of a broker and checks that they are complete.
///
/// # Errors
/// Why there is no response, or what is missing.
pub(super) fn ask(
    connector: &Connector,
    at: &str,
    brokers: usize,
    limit: Duration,
) -> Result<(), String> {
    let failed = |error: String| format!("the metadata of {at}: {error}");
    // No topics: only the brokers are of interest.
    let question = MetadataRequest::default().with_topics(Some(Vec::new()));
    let until = Instant::now() + limit;
    let answer = broker::ask(connector, at, &question, METADATA, until).map_err(failed)?;
    judge(&answer, brokers).map_err(failed)
}

/// Metadata do not contain fenced brokers (not caught up, or leaving).
fn judge(answer: &MetadataResponse, brokers: usize) -> Result<(), String> {
    if answer.controller_id.0 < 0 {
        return Err("there is no controller yet".to_owned());
    }
    match answer.brokers.len() {
        found if found == brokers => Ok(()),
        found => Err(format!("it sees {found} of {brokers} brokers")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use tare_kafka::bytes::BytesMut;
    use tare_kafka::kafka_protocol::messages::metadata_response::MetadataResponseBroker;
    use tare_kafka::kafka_protocol::messages::{BrokerId, ResponseHeader};
    use tare_kafka::kafka_protocol::protocol::{Encodable, HeaderVersion};

    fn seen(controller: i32, brokers: i32) -> MetadataResponse {
        let broker = |id: i32| MetadataResponseBroker::default().with_node_id(BrokerId(id));
        MetadataResponse::default()
            .with_controller_id(BrokerId(controller))
            .with_brokers((1..=brokers).map(broker).collect())
    }

    /// Answers one question with these bytes.
    fn serve(bytes: Vec<u8>) -> (String, std::thread::JoinHandle<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap().to_string();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut head = [0_u8; 4];
            stream.read_exact(&mut head).unwrap();
            let mut rest = vec![0; u32::from_be_bytes(head) as usize];
            stream.read_exact(&mut rest).unwrap();
            stream.write_all(&bytes).unwrap();
        });
        (at, server)
    }

    fn frame_of(answer: &MetadataResponse) -> Vec<u8> {
        let mut body = BytesMut::new();
        let version = MetadataResponse::header_version(METADATA);
        ResponseHeader::default()
            .with_correlation_id(1)
            .encode(&mut body, version)
            .unwrap();
        answer.encode(&mut body, METADATA).unwrap();
        let mut whole = u32::try_from(body.len()).unwrap().to_be_bytes().to_vec();
        whole.extend_from_slice(&body);
        whole
    }

    fn asked(bytes: Vec<u8>, brokers: usize) -> Result<(), String> {
        let (at, server) = serve(bytes);
        let answer = ask(&Connector::Host, &at, brokers, Duration::from_secs(20));
        server.join().unwrap();
        answer
    }

    #[test]
    fn a_broker_serves_when_it_sees_all_brokers_and_a_controller() {
        assert_eq!(asked(frame_of(&seen(1, 3)), 3), Ok(()));
        let said = asked(frame_of(&seen(1, 2)), 3).unwrap_err();
        assert!(said.contains("2 of 3 brokers"), "{said}");
        let said = asked(frame_of(&seen(-1, 3)), 3).unwrap_err();
        assert!(said.contains("no controller"), "{said}");
    }

    #[test]
    fn what_is_no_broker_is_told_as_such() {
        let said = asked(b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(), 1).unwrap_err();
        assert!(said.contains("not the Kafka protocol"), "{said}");
        let said = asked(vec![0, 0, 0, 9, 1], 1).unwrap_err();
        assert!(said.contains("closed the connection"), "{said}");
    }
}
