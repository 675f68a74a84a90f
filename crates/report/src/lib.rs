//! Reports: records of a run → metrics → comparisons → one view model → terminal, Markdown, JSON, CSV and HTML.
//!
//! Everything here is a pure function of a run's folder: [`read()`] loads it (also of a killed or damaged run),
//! [`view()`] computes every figure and sentence once, and the renderers only lay the view out.

mod assertion;
mod baseline;
mod cells;
pub mod compare;
pub mod csv;
mod factor;
mod facts;
mod failures;
mod faults;
pub mod figures;
mod flame_graph;
pub mod html;
mod judge;
pub mod junit;
pub mod latency;
mod links;
pub mod loads;
pub mod markdown;
mod measure;
mod missing_quantiles;
mod network;
pub mod overlay;
pub mod pace;
mod profiles;
pub mod quantity;
pub mod read;
mod requests;
pub mod routes;
mod saturation;
mod steps;
mod study_summary;
pub mod summary;
mod tables;
pub mod target_counters;
pub mod terminal;
mod trials;
mod verdict;
pub mod view;
mod waterfall;

pub use measure::throughput;
pub use profiles::flame_graphs;
pub use read::{ReadError, Run, read};
pub use view::view;

/// The view as JSON for people and programs.
///
/// # Errors
/// When it cannot be serialised, which does not happen for a view of [`view()`].
pub fn json(view: &tare_record::view::View) -> Result<String, serde_json::Error> {
    let text = serde_json::to_string_pretty(view)?;
    Ok(tare_record::escape::escape_json(&text).into_owned())
}
