//! The MongoDB wire protocol, pure: BSON, the messages of client and server, and a database in memory that answers them.
//!
//! Nothing here does I/O, reads a clock or draws a random number: whoever owns the connection gives bytes, the time and a seed.

pub mod bson;
pub mod database;
pub mod message;
