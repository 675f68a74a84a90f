//! Encodes messages of gRPC calls from service descriptors and JSON, once, before a load.
//!
//! Descriptors come from `.proto` files, from a descriptor set, or from the server by reflection. The only I/O of this crate
//! is reading those files: for reflection the caller passes a function that makes one call.

mod descriptors;
mod method;
mod reflection;
#[cfg(test)]
mod tests;

pub use descriptors::ServiceDescriptors;
pub use method::{Method, MethodName};
pub use reflection::REFLECTION_METHODS;

use thiserror::Error;

/// Why descriptors cannot be read or a message cannot be encoded.
#[derive(Debug, Error)]
pub enum ProtoError {
    /// A `.proto` file that is not found or does not compile.
    #[error(
        "{file}: {why}; its folder, or that of what it imports, may have to be named with --import-path"
    )]
    Compile {
        /// The file.
        file: String,
        /// The compiler's error.
        why: String,
    },
    /// A descriptor set that cannot be decoded.
    #[error(
        "not a whole descriptor set: {0}; make it with `protoc --include_imports --descriptor_set_out=FILE`"
    )]
    Set(String),
    /// Not the name of a method.
    #[error("{0:?} is not the name of a method: write package.Service/Method")]
    MethodName(String),
    /// A service without a descriptor.
    #[error("service {name} is not described; there are: {known}")]
    NoService {
        /// The service.
        name: String,
        /// Services with descriptors.
        known: String,
    },
    /// A method that its service does not have.
    #[error("service {service} has no method {name}; it has: {known}")]
    NoMethod {
        /// The service.
        service: String,
        /// The method.
        name: String,
        /// Methods of the service.
        known: String,
    },
    /// Text that is not JSON, or does not match the message type.
    #[error("the data is no {message}: {why}; its fields are: {fields}")]
    Json {
        /// Full name of the message.
        message: String,
        /// The error.
        why: String,
        /// Fields of the message.
        fields: String,
    },
    /// The reflection call failed.
    #[error(
        "cannot ask the server for its description: {0}; name a --proto or --protoset file instead"
    )]
    Query(String),
    /// The server's reflection did not return descriptors.
    #[error(
        "the server's reflection does not describe {asked}: {why}; name a --proto or --protoset file instead"
    )]
    Reflection {
        /// The requested service or file.
        asked: String,
        /// The server's error.
        why: String,
    },
}
