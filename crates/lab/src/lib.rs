//! The laboratory: targets, environments, the keeper, certificates and observation.

pub mod brokers;
pub mod cached;
pub mod calibrate;
pub mod certificates;
mod cgroup;
pub mod config;
pub mod connector;
pub mod counters;
pub mod doctor;
pub mod environment;
pub mod error;
pub mod fault;
pub mod fetch;
pub mod home;
mod host;
pub mod http;
pub mod keeper;
pub mod lab_state;
pub mod local;
pub mod metrics;
pub mod observe;
pub mod probe;
pub mod process;
pub mod profile;
pub mod program;
pub mod remote;
pub mod render;
pub mod seal;
pub mod subprocess;
mod sys;
pub mod targets;
mod variables;

pub use error::LabError;
