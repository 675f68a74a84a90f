//! Messages of gRPC calls from descriptions and JSON: everything is encoded once, before a load.
//!
//! A description comes from `.proto` files, from a descriptor set, or from the server itself by reflection. This crate does no
//! I/O but reading those files: whoever asks a server lends it a function that makes one call.

mod descriptions;
mod error;
mod health;
mod method;
mod reflection;
#[cfg(test)]
mod tests;

pub use descriptions::Descriptions;
pub use error::ProtoError;
pub use health::{HEALTH_METHOD, health_question, is_serving, serving_answer};
pub use method::{Method, MethodName};
pub use reflection::REFLECTION_METHODS;
