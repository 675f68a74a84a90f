//! Messages of the health checking protocol (`grpc.health.v1`), declared by hand.

use prost::Message;

/// Path of the health check method.
pub const HEALTH_METHOD: &str = "/grpc.health.v1.Health/Check";

/// `HealthCheckResponse.ServingStatus.SERVING`.
const SERVING: i32 = 1;

/// `HealthCheckRequest`.
#[derive(Clone, PartialEq, Message)]
struct HealthCheckRequest {
    #[prost(string, tag = "1")]
    service: String,
}

/// `HealthCheckResponse`.
#[derive(Clone, PartialEq, Message)]
struct HealthCheckResponse {
    #[prost(int32, tag = "1")]
    status: i32,
}

/// An encoded `HealthCheckRequest` for a service; for the whole server with an empty name.
#[must_use]
pub fn health_question(service: &str) -> Vec<u8> {
    let service = service.to_owned();
    HealthCheckRequest { service }.encode_to_vec()
}

/// An encoded `HealthCheckResponse` with status SERVING.
#[must_use]
pub fn serving_answer() -> Vec<u8> {
    HealthCheckResponse { status: SERVING }.encode_to_vec()
}

/// Whether an encoded `HealthCheckResponse` has status SERVING.
#[must_use]
pub fn is_serving(answer: &[u8]) -> bool {
    HealthCheckResponse::decode(answer).is_ok_and(|answer| answer.status == SERVING)
}
