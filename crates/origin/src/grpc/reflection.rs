//! Server reflection (grpc/reflection/v1/reflection.proto): descriptors of the services and messages.

use super::protobuf::{Fields, Value, write_bytes, write_number};
use super::{Code, Step, framed};

/// The descriptors of all files in proto/, none of which imports another. A test compares them with their sources.
pub(super) static DESCRIPTORS: &[u8] = include_bytes!("../../proto/descriptors.binpb");

/// Field numbers of a `FileDescriptorProto`, and of what is in it.
const FILE_NAME: u64 = 1;
const FILE_PACKAGE: u64 = 2;
const FILE_MESSAGE: u64 = 4;
const FILE_ENUM: u64 = 5;
const FILE_SERVICE: u64 = 6;
const MESSAGE_NESTED: u64 = 3;
const MESSAGE_ENUM: u64 = 4;
const SERVICE_METHOD: u64 = 2;
const NAME: u64 = 1;

/// Answers one request.
pub(super) fn answer(message: &[u8], outbox: &mut Vec<u8>) -> Step {
    let mut host: &[u8] = b"";
    let mut question = None;
    for field in Fields(message) {
        match field {
            Ok((1, Value::Bytes(name))) => host = name,
            Ok((number @ 3..=7, Value::Bytes(text))) => question = Some((number, text)),
            Ok(_) => {}
            Err(_) => return Step::End(Code::MALFORMED),
        }
    }
    framed(outbox, |out| {
        write_bytes(out, 1, host);
        write_bytes(out, 2, message);
        let mut answer = Vec::new();
        let found = match question {
            Some((3, name)) => files().find(|file| texts(file, FILE_NAME).any(|n| n == name)),
            Some((4, symbol)) => files().find(|file| declares(file, symbol)),
            Some((7, _)) => {
                for name in services() {
                    let mut service = Vec::new();
                    write_bytes(&mut service, 1, &name);
                    write_bytes(&mut answer, 1, &service);
                }
                write_bytes(out, 6, &answer);
                return;
            }
            _ => None,
        };
        match found {
            Some(file) => {
                write_bytes(&mut answer, 1, file);
                write_bytes(out, 4, &answer);
            }
            None => {
                write_number(&mut answer, 1, u64::from(Code::NOT_FOUND.number()));
                write_bytes(
                    &mut answer,
                    2,
                    b"the origin has no such file, symbol or extension",
                );
                write_bytes(out, 7, &answer);
            }
        }
    });
    Step::Next
}

fn files() -> impl Iterator<Item = &'static [u8]> {
    texts(DESCRIPTORS, 1)
}

/// The bytes fields with this number.
fn texts(message: &[u8], number: u64) -> impl Iterator<Item = &[u8]> {
    Fields(message).filter_map(move |field| match field {
        Ok((n, Value::Bytes(bytes))) if n == number => Some(bytes),
        _ => None,
    })
}

fn services() -> Vec<Vec<u8>> {
    let mut names = Vec::new();
    for file in files() {
        let package = texts(file, FILE_PACKAGE).next().unwrap_or_default();
        for service in texts(file, FILE_SERVICE) {
            names.extend(texts(service, NAME).map(|name| [package, b".", name].concat()));
        }
    }
    names
}

/// Whether a file declares a symbol, given with its package.
fn declares(file: &[u8], symbol: &[u8]) -> bool {
    let package = texts(file, FILE_PACKAGE).next().unwrap_or_default();
    let Some(local) = symbol
        .strip_prefix(package)
        .and_then(|rest| rest.strip_prefix(b"."))
    else {
        return false;
    };
    let top = [FILE_MESSAGE, FILE_ENUM, FILE_SERVICE];
    top.iter()
        .any(|&kind| texts(file, kind).any(|declared| names(declared, kind, local)))
}

/// Whether a declaration, or one nested in it, has this name.
fn names(declared: &[u8], kind: u64, name: &[u8]) -> bool {
    let Some(rest) = texts(declared, NAME)
        .next()
        .and_then(|own| name.strip_prefix(own))
    else {
        return false;
    };
    if rest.is_empty() {
        return true;
    }
    let Some(inner) = rest.strip_prefix(b".") else {
        return false;
    };
    let within: &[(u64, u64)] = match kind {
        FILE_MESSAGE => &[(MESSAGE_NESTED, FILE_MESSAGE), (MESSAGE_ENUM, FILE_ENUM)],
        FILE_SERVICE => &[(SERVICE_METHOD, FILE_ENUM)],
        _ => &[],
    };
    within
        .iter()
        .any(|&(field, kind)| texts(declared, field).any(|inside| names(inside, kind, inner)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_are_found_at_every_depth_and_only_whole() {
        let found = |symbol: &str| {
            let file = files().find(|file| declares(file, symbol.as_bytes()))?;
            Some(String::from_utf8(texts(file, FILE_NAME).next()?.to_vec()).unwrap())
        };
        for symbol in [
            "tare.origin.Echo",
            "tare.origin.Echo.Converse",
            "tare.origin.EchoRequest",
        ] {
            assert_eq!(found(symbol).as_deref(), Some("origin.proto"), "{symbol}");
        }
        let nested = "grpc.health.v1.HealthCheckResponse.ServingStatus";
        assert_eq!(
            found(nested).as_deref(),
            Some("grpc/health/v1/health.proto")
        );
        for symbol in [
            "tare.origin.Ech",
            "tare.origin",
            "Echo",
            "tare.origin.Echo.x",
        ] {
            assert_eq!(found(symbol), None, "{symbol}");
        }
    }
}
