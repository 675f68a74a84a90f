//! MongoDB's wire protocol: a pool of connections, one operation at a time on each, on documents that the load inserted itself.
//!
//! Before the load, every worker inserts its share of the documents; existing ones stay. Finds and updates then use one of them
//! at random; inserts add new documents, deletes remove inserted ones, the oldest first. A response is correct if it has `ok: 1`
//! and the expected number of documents; a find must return the requested document.

mod answer;
mod client;
mod documents;
#[cfg(test)]
mod tests;

pub use client::{Mongodb, MongodbPlan};
pub use documents::{Documents, Operation};
