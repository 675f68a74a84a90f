//! What can be wrong with descriptions and with messages.

use thiserror::Error;

/// Why a message cannot be made.
#[derive(Debug, Error)]
pub enum ProtoError {
    /// A `.proto` file that does not compile, or that is not found.
    #[error(
        "{file}: {why}; its folder, or that of what it imports, may have to be named with --import-path"
    )]
    Compile {
        /// The file.
        file: String,
        /// What the compiler says.
        why: String,
    },
    /// A descriptor set that cannot be read.
    #[error(
        "not a whole descriptor set: {0}; make it with `protoc --include_imports --descriptor_set_out=FILE`"
    )]
    Set(String),
    /// Not the name of a method.
    #[error("{0:?} is not the name of a method: write package.Service/Method")]
    MethodName(String),
    /// A service that is not described.
    #[error("service {name} is not described; there are: {known}")]
    NoService {
        /// As asked for.
        name: String,
        /// Those that are.
        known: String,
    },
    /// A method that its service does not have.
    #[error("service {service} has no method {name}; it has: {known}")]
    NoMethod {
        /// The service.
        service: String,
        /// As asked for.
        name: String,
        /// Those that it has.
        known: String,
    },
    /// Text that is not JSON, or not of the message.
    #[error("the data is no {message}: {why}; its fields are: {fields}")]
    Json {
        /// Full name of the message.
        message: String,
        /// What is wrong.
        why: String,
        /// Those of the message.
        fields: String,
    },
    /// The server could not be asked.
    #[error(
        "cannot ask the server for its description: {0}; name a --proto or --protoset file instead"
    )]
    Ask(String),
    /// The server answered the question otherwise than by a description.
    #[error(
        "the server's reflection does not describe {asked}: {why}; name a --proto or --protoset file instead"
    )]
    Reflection {
        /// What was asked for.
        asked: String,
        /// What came instead.
        why: String,
    },
}
