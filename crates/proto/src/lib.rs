//! Encodes messages of gRPC calls from service descriptors and JSON, once, before a load.
//!
//! Descriptors come from `.proto` files, from a descriptor set, or from the server by reflection. The only I/O of this library
//! is reading those files: for reflection the caller passes a function that makes one call. The program `tare-proto` answers the
//! questions of `tare load`.

mod descriptors;
mod editions;
mod method;
mod reflection;
mod sources;
#[cfg(test)]
mod tests;

pub use descriptors::ServiceDescriptors;
pub use method::Method;

use thiserror::Error;

/// Why descriptors cannot be read or a message cannot be encoded.
#[derive(Debug, Error)]
pub enum ProtoError {
    #[error("{file}: {why}")]
    Compile { file: String, why: String },
    #[error("{file}: {why}; name its folder, or that of what it imports, with --import-path")]
    NotFound { file: String, why: String },
    #[error(
        "not a whole descriptor set: {0}; make it with `protoc --include_imports --descriptor_set_out=FILE`"
    )]
    Set(String),
    #[error("{file} is written in {syntax}; proto2, proto3 and edition 2023 are understood")]
    Syntax { file: String, syntax: String },
    #[error("service {name} is not described; there are: {known}")]
    NoService { name: String, known: String },
    #[error("service {service} has no method {name}; it has: {known}")]
    NoMethod {
        service: String,
        name: String,
        known: String,
    },
    #[error("the data is not a valid {message}: {why}; its fields are: {fields}")]
    Json {
        message: String,
        why: String,
        fields: String,
    },
    #[error(
        "cannot ask the server for its description: {0}; name a --proto or --protoset file instead"
    )]
    Query(String),
    #[error(
        "the server's reflection does not describe {asked}: {why}; name a --proto or --protoset file instead"
    )]
    Reflection { asked: String, why: String },
}
