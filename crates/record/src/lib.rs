//! Shapes of what Tare writes to files and sends between processes, versioned: plans, load plans, agent messages, records and views.
//!
//! Everything that crosses a process or a file boundary is declared here, so that newer code can read old records and crates agree
//! on every field. Definitions of experiments, and how they become plans, are in the crate `experiment`.

pub mod agent;
pub mod api;
pub mod broker_address;
pub mod calibration;
pub mod checksums;
pub mod clock;
pub mod counter;
pub mod durable;
pub mod escape;
pub mod event;
pub mod export;
pub mod external;
pub mod files;
pub mod grpc_schema;
pub mod load;
pub mod load_report;
pub mod locate;
pub mod metric;
pub mod metrics_source;
pub mod name;
pub mod plan;
pub mod profile;
pub mod protocol;
pub mod record;
pub mod regular;
pub mod schemas;
pub mod seal;
pub mod search_report;
pub mod secrets;
pub mod text;
pub mod topology;
pub mod units;
pub mod version;
pub mod view;

/// Version of all files and messages of this crate; raised when readers must change.
pub const FORMAT_VERSION: u32 = 5;
