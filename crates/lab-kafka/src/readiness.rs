//! A broker is ready when it has a controller and sees all brokers of its cluster.

use std::time::Instant;

use tare_kafka::kafka_protocol::messages::{MetadataRequest, MetadataResponse};
use tare_kafka_admin::client::{Address, ClientError, ClientSettings, Connection};

/// Requests the metadata of a broker and checks that they are complete.
/// Errors: why there is no response, or what is missing.
pub fn ask(broker: &Address, all: usize, settings: &ClientSettings) -> Result<(), String> {
    let answer = metadata(broker, settings).map_err(|error| error.to_string())?;
    judge(&answer, all).map_err(|missing| format!("the metadata of {broker}: {missing}"))
}

/// The answer of this broker, whatever others would say.
fn metadata(broker: &Address, settings: &ClientSettings) -> Result<MetadataResponse, ClientError> {
    let until = Instant::now() + settings.request_timeout;
    let mut connection = Connection::connect(broker, settings)?;
    // No topics: only the brokers are of interest.
    let question = MetadataRequest::default().with_topics(Some(Vec::new()));
    connection.request(&question, i16::MAX, until)
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
    use tare_kafka::kafka_protocol::messages::api_versions_response::ApiVersion;
    use tare_kafka::kafka_protocol::messages::metadata_response::MetadataResponseBroker;
    use tare_kafka::kafka_protocol::messages::{
        ApiKey, ApiVersionsResponse, BrokerId, ResponseHeader,
    };
    use tare_kafka::kafka_protocol::protocol::{Encodable, HeaderVersion};

    fn seen(controller: i32, brokers: i32) -> MetadataResponse {
        let broker = |id: i32| MetadataResponseBroker::default().with_node_id(BrokerId(id));
        MetadataResponse::default()
            .with_controller_id(BrokerId(controller))
            .with_brokers((1..=brokers).map(broker).collect())
    }

    /// Probes a server that answers each request, of this key and version, with these bytes.
    fn asked(
        brokers: usize,
        answer: impl Fn(i16, i16, i32) -> Vec<u8> + Send + 'static,
    ) -> Result<(), String> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap().to_string();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut length = [0_u8; 4];
            while stream.read_exact(&mut length).is_ok() {
                let mut request = vec![0; u32::from_be_bytes(length) as usize];
                stream.read_exact(&mut request).unwrap();
                let half = |at: usize| i16::from_be_bytes([request[at], request[at + 1]]);
                let correlation = i32::from_be_bytes(request[4..8].try_into().unwrap());
                let bytes = answer(half(0), half(2), correlation);
                stream.write_all(&bytes).unwrap();
                if bytes.len() < 16 {
                    // What is cut short is followed by the end.
                    return;
                }
            }
        });
        let said = ask(&at.parse().unwrap(), brokers, &ClientSettings::default());
        server.join().unwrap();
        said
    }

    fn frame_of<T: Encodable + HeaderVersion>(answer: &T, version: i16, number: i32) -> Vec<u8> {
        let mut body = BytesMut::new();
        ResponseHeader::default()
            .with_correlation_id(number)
            .encode(&mut body, T::header_version(version))
            .unwrap();
        answer.encode(&mut body, version).unwrap();
        let mut whole = u32::try_from(body.len()).unwrap().to_be_bytes().to_vec();
        whole.extend_from_slice(&body);
        whole
    }

    /// A broker that has these metadata.
    fn sees(metadata: MetadataResponse, brokers: usize) -> Result<(), String> {
        let api = |key: ApiKey, newest: i16| {
            ApiVersion::default()
                .with_api_key(key as i16)
                .with_max_version(newest)
        };
        let known = vec![api(ApiKey::ApiVersions, 3), api(ApiKey::Metadata, 11)];
        let versions = ApiVersionsResponse::default().with_api_keys(known);
        asked(brokers, move |key, version, number| {
            match key == ApiKey::Metadata as i16 {
                true => frame_of(&metadata, version, number),
                false => frame_of(&versions, version, number),
            }
        })
    }

    #[test]
    fn a_broker_serves_when_it_sees_all_brokers_and_a_controller() {
        assert_eq!(sees(seen(1, 3), 3), Ok(()));
        let said = sees(seen(1, 2), 3).unwrap_err();
        assert!(said.contains("2 of 3 brokers"), "{said}");
        let said = sees(seen(-1, 3), 3).unwrap_err();
        assert!(said.contains("no controller"), "{said}");
    }

    #[test]
    fn what_is_no_broker_is_told_as_such() {
        let page = b"HTTP/1.1 400 Bad Request\r\n\r\n";
        let said = asked(1, move |_, _, _| page.to_vec()).unwrap_err();
        assert!(said.contains("not the Kafka protocol"), "{said}");
        let said = asked(1, |_, _, _| vec![0, 0, 0, 9, 1]).unwrap_err();
        assert!(said.contains("closed the connection"), "{said}");
    }
}
