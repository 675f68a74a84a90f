//! Encodes messages of gRPC calls from service descriptors and JSON, once, before a load.
//!
//! Descriptors come from `.proto` files, from a descriptor set, or from the server by reflection. The only I/O of this crate
//! is reading those files: for reflection the caller passes a function that makes one call.

mod descriptions;
mod error;
mod method;
mod reflection;
#[cfg(test)]
mod tests;

pub use descriptions::Descriptions;
pub use error::ProtoError;
pub use method::{Method, MethodName};
pub use reflection::REFLECTION_METHODS;
