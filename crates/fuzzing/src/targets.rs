//! Fuzz targets by name, the same for the guided fuzzer and for tests.

mod clients;
mod files;
mod history;
mod peers;
mod run_folder;

/// A fuzz target.
#[derive(Debug, Clone, Copy)]
pub struct FuzzTarget {
    pub name: &'static str,
    /// What it covers.
    pub covers: &'static str,
    /// Runs one input. Panics when the input breaks an invariant.
    pub run: fn(&[u8]),
}

const fn target(name: &'static str, covers: &'static str, run: fn(&[u8])) -> FuzzTarget {
    FuzzTarget { name, covers, run }
}

/// All fuzz targets. Codecs and servers must return without panic; in clients every exchange must also end once.
#[rustfmt::skip]
pub const ALL: &[FuzzTarget] = &[
    target("acknowledged", "YAML of acknowledged changes, matched with the series of some runs", history::acknowledged),
    target("catalog", "YAML of a workload or a target, resolved into a plan", files::catalog),
    target("connect_client", "client for connections alone", clients::connect_client),
    target("counters", "HTTP responses of targets, and the counters of all targets in them: Prometheus text, JSON, JMX, patterns; among them istiod's rejections", peers::counters),
    target("definitions", "YAML of experiments, workloads, targets and meshes", files::definitions),
    target("experiment", "YAML of an experiment, resolved into a plan", files::experiment),
    target("fortio", "JSON for Fortio, of any result", files::fortio),
    target("fortio_result", "results of Fortio, as they are imported", files::fortio_result),
    target("grpc_call", "single gRPC calls over HTTP/2: probes and reflection", peers::grpc_call),
    target("grpc_client", "gRPC client", clients::grpc_client),
    target("history_index", "figures of runs, and damaged indexes: the series, change points, tables and charts of both", history::index),
    target("hlog", "histogram logs of run folders", files::hlog),
    target("http1_client", "HTTP/1.1 client", clients::http1_client),
    target("http1_codec", "HTTP/1.1 responses", |data| { let _ = tare_load::protocols::http1::codec::fuzz_entry(data); }),
    target("http2_client", "HTTP/2 client", clients::http2_client),
    target("http2_codec", "HTTP/2 frames and HPACK", |data| { let _ = tare_load::protocols::http2::codec::fuzz_entry(data); }),
    target("istio_change", "istiod's page of acknowledged configurations", istio_support::change::fuzz_entry),
    target("kafka_admin", "administration of Kafka: frames, versions, SASL, all requests", peers::kafka_admin),
    target("kafka_consume", "Kafka consumer, alone and in a group", clients::kafka_consume),
    target("kafka_fetch", "Kafka fetch responses", |data| { let _ = tare_kafka::fetch::fuzz_entry(data); }),
    target("kafka_produce", "Kafka producer", clients::kafka_produce),
    target("kafka_records", "Kafka record batches, compression", |data| { let _ = tare_kafka::records::fuzz_entry(data); }),
    target("kubernetes_api", "stub Kubernetes API server: paths, queries, objects, token reviews (HTTP itself: hyper)", istio_support::api::fuzz_entry),
    target("linkerd_control_plane", "requests of Linkerd's proxies: destinations, policies, signing requests (HTTP/2 itself: hyper)", linkerd_control_plane::fuzz_entry),
    target("mongo", "BSON and MongoDB messages, the in-memory database", peers::mongo),
    target("mongodb_client", "MongoDB client", clients::mongodb_client),
    target("origin", "test server: HTTP/1.1, HTTP/2, gRPC, TCP, MongoDB", |data| { let _ = tare_origin::fuzz_entry(data); }),
    target("proto_text", "`.proto` files, JSON to and from messages", files::proto_text),
    target("protobuf", "descriptor sets, reflection", files::protobuf),
    target("records", "JSON files of a run, messages of agents", files::records),
    target("requests", "files of requests and sessions, their data", files::requests),
    target("run_folder", "whole run folders with damaged values, read and reported", run_folder::run),
    target("session_client", "sessions: captures, cookies, templates", clients::session_client),
    target("suite", "YAML of suites that include others and name acknowledged changes", history::suite),
    target("tcp_client", "TCP client", clients::tcp_client),
    target("tls_record", "TLS records", |data| { let _ = tare_load::tls::fuzz_entry(data); }),
    target("udp_client", "UDP client", clients::udp_client),
];

/// The target with this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static FuzzTarget> {
    ALL.iter().find(|known| known.name == name)
}
