//! Fuzz targets by name, the same for the guided fuzzer and for tests.

pub mod grpc_client;
pub mod http1_client;
pub mod http1_codec;
pub mod http2_client;
pub mod http2_codec;
pub mod kafka_fetch;
pub mod kafka_produce;
pub mod kafka_records;
pub mod mongo;
pub mod origin;
pub mod tcp_client;
pub mod tls_record;
pub mod udp_client;

/// Runs one input.
pub type Run = fn(&[u8]);

/// All fuzz targets.
pub const ALL: &[(&str, Run)] = &[
    ("grpc_client", grpc_client::run),
    ("http1_client", http1_client::run),
    ("http1_codec", http1_codec::run),
    ("http2_client", http2_client::run),
    ("http2_codec", http2_codec::run),
    ("kafka_fetch", kafka_fetch::run),
    ("kafka_produce", kafka_produce::run),
    ("kafka_records", kafka_records::run),
    ("mongo", mongo::run),
    ("origin", origin::run),
    ("tcp_client", tcp_client::run),
    ("tls_record", tls_record::run),
    ("udp_client", udp_client::run),
];
