//! MongoDB's wire protocol: a pool of connections, one operation at a time on each, on documents that the load has put there itself.
//!
//! Before it is open, every worker's client inserts its share of the documents (those that are there stay). Finds and updates then
//! take one of them by chance; inserts add new ones, and deletes take away what was inserted, the eldest first. An answer is right if it says
//! `ok: 1` and counts as many documents as it should; a find must bring the very document that was asked for.

mod answer;
mod client;
mod documents;
#[cfg(test)]
mod tests;

pub use client::{Mongodb, MongodbPlan};
pub use documents::{Documents, Operation};
