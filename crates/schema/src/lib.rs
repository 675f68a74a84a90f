//! Data formats of Tare, versioned: definitions, plans, agent messages, records and views.
//!
//! Everything that crosses a process or a file boundary is defined here, so that newer code can read old records and crates
//! agree on every field. The crate only validates and resolves definitions; it measures nothing.

pub mod agent;
pub mod calibration;
pub mod catalog;
pub mod clusters;
pub mod counter;
pub mod def;
pub mod document;
pub mod estimate;
pub mod event;
pub mod external;
pub mod find;
pub mod formats;
pub mod load;
pub mod load_report;
pub mod metric;
pub mod metrics_source;
pub mod name;
pub mod named;
pub mod plan;
pub mod problem;
pub mod protocol;
pub mod record;
pub mod regular;
pub mod resolve;
pub mod schemas;
pub mod script;
pub mod search_report;
pub mod shown;
pub mod structure;
pub mod target;
pub mod text;
pub mod topology;
pub mod units;
pub mod view;
pub mod yaml;

/// Version of all files and messages of this crate; raised when readers must change.
pub const FORMAT_VERSION: u32 = 3;
