//! The MongoDB wire protocol without I/O: BSON, messages of client and server, and an in-memory database.
//!
//! Nothing here does I/O, reads a clock or draws random numbers: the caller provides bytes and the time.

pub mod bson;
pub mod database;
pub mod message;
