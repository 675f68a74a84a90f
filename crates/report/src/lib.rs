//! Records of a run → measures → judgement → one view model → terminal, Markdown, JSON, CSV and HTML.
//!
//! Everything here is a pure function of a run's folder: [`read()`] takes what is there (a killed or damaged run
//! too), [`view()`] computes every figure and sentence once, and the renderers only lay the view out.

mod as_published;
mod assertion;
mod baseline;
mod cells;
mod closed;
pub mod compare;
pub mod csv;
mod disturbance;
mod factor;
mod facts;
mod failures;
mod full;
mod grid;
pub mod html;
mod judge;
pub mod latency;
mod links;
pub mod markdown;
mod measure;
mod missing;
mod network;
pub mod pace;
pub mod quantity;
pub mod read;
mod requests;
mod steps;
pub mod terminal;
mod told;
mod trials;
mod verdict;
pub mod view;
mod waterfall;

pub use read::{ReadError, Run, read};
pub use view::view;

/// The view as JSON for people and programs.
///
/// # Errors
/// When it cannot be written as JSON, which no view computed here is.
pub fn json(view: &tare_schema::view::View) -> Result<String, serde_json::Error> {
    let text = serde_json::to_string_pretty(view)?;
    Ok(tare_schema::shown::shown_json(&text).into_owned())
}
