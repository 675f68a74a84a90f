//! Which rate to try next, and what a try says: the search for the highest rate that keeps an objective, and
//! the curve of latency over load.
//!
//! Everything here is pure: it is given results and says what to do or draw. Who calls it generates the load.

pub mod condition;
pub mod curve;
pub mod objective;
pub mod search;
