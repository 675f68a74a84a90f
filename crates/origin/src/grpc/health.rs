//! The standard health service (grpc/health/v1/health.proto).

use super::protobuf::{Fields, Value, write_number};
use super::{Code, Step, framed};

const SERVING: u64 = 1;
const SERVICE_UNKNOWN: u64 = 3;

/// The names of services; the empty name is the server.
const SERVICES: [&[u8]; 3] = [b"", b"tare.origin.Echo", b"grpc.health.v1.Health"];

pub(super) fn check(message: &[u8], outbox: &mut Vec<u8>) -> Step {
    match is_known(message) {
        None => Step::End(Code::MALFORMED),
        Some(false) => Step::End(Code::NOT_FOUND),
        Some(true) => {
            framed(outbox, |out| write_number(out, 1, SERVING));
            Step::End(Code::OK)
        }
    }
}

/// The health never changes, so there is only one answer.
pub(super) fn watch(message: &[u8], outbox: &mut Vec<u8>) -> Step {
    let status = match is_known(message) {
        None => return Step::End(Code::MALFORMED),
        Some(false) => SERVICE_UNKNOWN,
        Some(true) => SERVING,
    };
    framed(outbox, |out| write_number(out, 1, status));
    Step::Watch
}

/// `None` when the message cannot be read.
fn is_known(message: &[u8]) -> Option<bool> {
    let mut service: &[u8] = b"";
    for field in Fields(message) {
        if let (1, Value::Bytes(name)) = field.ok()? {
            service = name;
        }
    }
    Some(SERVICES.contains(&service))
}
