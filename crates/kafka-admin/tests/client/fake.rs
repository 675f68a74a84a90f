//! Brokers that do as a script says, and end with the test.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tare_kafka::bytes::BytesMut;
use tare_kafka::kafka_protocol::messages::api_versions_response::ApiVersion;
use tare_kafka::kafka_protocol::messages::metadata_response::MetadataResponseBroker;
use tare_kafka::kafka_protocol::messages::{
    ApiKey, ApiVersionsResponse, BrokerId, MetadataResponse, ResponseHeader,
};
use tare_kafka::kafka_protocol::protocol::{Encodable, HeaderVersion, StrBytes};
use tare_kafka_admin::client::Address;

/// No script waits longer for a client that has gone.
const LIMIT: Duration = Duration::from_secs(20);

/// A request as a broker sees it.
#[derive(Debug)]
pub struct Asked {
    pub key: i16,
    pub version: i16,
    pub correlation: i32,
}

/// A listener whose every connection follows one script; `nth` counts connections from 0.
pub struct Broker {
    pub address: Address,
    pub connections: Arc<AtomicUsize>,
}

impl Broker {
    pub fn start(script: impl Fn(&mut TcpStream, usize, u16) + Send + 'static) -> Broker {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let connections = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&connections);
        // The thread ends with the process: nothing waits for it.
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                stream.set_read_timeout(Some(LIMIT)).unwrap();
                let nth = counted.fetch_add(1, Ordering::SeqCst);
                script(&mut stream, nth, port);
            }
        });
        Broker {
            address: Address {
                host: "127.0.0.1".to_owned(),
                port,
            },
            connections,
        }
    }

    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

/// The next request, or the end.
pub fn next(stream: &mut impl Read) -> Option<Asked> {
    let mut head = [0; 4];
    stream.read_exact(&mut head).ok()?;
    let mut body = vec![0; usize::try_from(i32::from_be_bytes(head)).unwrap()];
    stream.read_exact(&mut body).ok()?;
    let word = |at: usize| i16::from_be_bytes([body[at], body[at + 1]]);
    Some(Asked {
        key: word(0),
        version: word(2),
        correlation: i32::from_be_bytes(body[4..8].try_into().unwrap()),
    })
}

/// An answer as bytes.
pub fn frame<T: Encodable + HeaderVersion>(answer: &T, version: i16, correlation: i32) -> Vec<u8> {
    let mut out = BytesMut::from(&[0; 4][..]);
    ResponseHeader::default()
        .with_correlation_id(correlation)
        .encode(&mut out, T::header_version(version))
        .unwrap();
    answer.encode(&mut out, version).unwrap();
    let length = i32::try_from(out.len() - 4).unwrap();
    out[..4].copy_from_slice(&length.to_be_bytes());
    out.to_vec()
}

/// Every request we know in every version we know.
pub fn all_versions() -> ApiVersionsResponse {
    let apis = (0..=100_i16).filter_map(|key| {
        let range = ApiKey::try_from(key).ok()?.valid_versions();
        Some(
            ApiVersion::default()
                .with_api_key(key)
                .with_min_version(range.min)
                .with_max_version(range.max),
        )
    });
    ApiVersionsResponse::default().with_api_keys(apis.collect())
}

/// A cluster of this one broker.
pub fn alone(port: u16) -> MetadataResponse {
    advertised("127.0.0.1", port)
}

/// A cluster of one broker that is there.
pub fn advertised(host: &'static str, port: u16) -> MetadataResponse {
    cluster(&[(host, port)])
}

/// A cluster of brokers at these addresses, numbered from 1.
pub fn cluster(brokers: &[(&'static str, u16)]) -> MetadataResponse {
    let brokers = (1..).zip(brokers).map(|(id, (host, port))| {
        MetadataResponseBroker::default()
            .with_node_id(BrokerId(id))
            .with_host(StrBytes::from_static_str(host))
            .with_port(i32::from(*port))
    });
    MetadataResponse::default()
        .with_cluster_id(Some(StrBytes::from_static_str("fake")))
        .with_brokers(brokers.collect())
}

/// Answers what a healthy broker would, until `until` requests about metadata were answered.
pub fn healthy(stream: &mut (impl Read + Write), port: u16, until: usize) {
    let mut answered = 0;
    while answered < until {
        let Some(asked) = next(stream) else { return };
        let answer = match ApiKey::try_from(asked.key) {
            Ok(ApiKey::ApiVersions) => frame(&all_versions(), asked.version, asked.correlation),
            _ => {
                answered += 1;
                frame(&alone(port), asked.version, asked.correlation)
            }
        };
        if stream.write_all(&answer).is_err() {
            return;
        }
    }
}
