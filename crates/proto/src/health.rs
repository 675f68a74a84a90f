//! The messages of health checking (`grpc.health.v1`), which are small enough to be written by hand.

use prost::Message;

/// Path of the call that asks for a service's health.
pub const HEALTH_METHOD: &str = "/grpc.health.v1.Health/Check";

/// `HealthCheckResponse.ServingStatus.SERVING`.
const SERVING: i32 = 1;

/// `HealthCheckRequest`.
#[derive(Clone, PartialEq, Message)]
struct Question {
    #[prost(string, tag = "1")]
    service: String,
}

/// `HealthCheckResponse`.
#[derive(Clone, PartialEq, Message)]
struct Answer {
    #[prost(int32, tag = "1")]
    status: i32,
}

/// Asks for the health of a service; of the whole server with an empty name.
#[must_use]
pub fn health_question(service: &str) -> Vec<u8> {
    let service = service.to_owned();
    Question { service }.encode_to_vec()
}

/// The answer of one that serves.
#[must_use]
pub fn serving_answer() -> Vec<u8> {
    Answer { status: SERVING }.encode_to_vec()
}

/// Whether an answer says that the service serves.
#[must_use]
pub fn is_serving(answer: &[u8]) -> bool {
    Answer::decode(answer).is_ok_and(|answer| answer.status == SERVING)
}
