//! The laboratory: targets, environments, the keeper, certificates and observation.

mod broker;
pub mod cached;
pub mod calibrate;
pub mod catalogue;
pub mod certificates;
mod cgroup;
pub mod cluster;
pub mod counters;
pub mod deed;
pub mod doctor;
pub mod door;
pub mod environment;
pub mod error;
pub mod fetch;
pub mod home;
pub mod keeper;
pub mod local;
pub mod metrics;
pub mod observe;
mod page;
pub mod probe;
pub mod process;
pub mod render;
pub mod standing;
mod sys;
mod tool;

pub use error::LabError;
