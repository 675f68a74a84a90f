//! Records of a run → measures → judgement → one view model → terminal, Markdown, JSON, CSV and HTML.
//!
//! Everything here is a pure function of a run's folder: [`read::read`] takes what is there (a killed or damaged run
//! too), [`view::view`] computes every figure and sentence once, and the renderers only lay the view out.

mod cells;
mod facts;
mod judge;
pub mod latency;
mod measure;
pub mod quantity;
pub mod read;
mod steps;
mod trials;
mod verdict;
pub mod view;

pub use read::{ReadError, Run, read};
pub use view::view;
