//! Conducts a run: order of trials, blocks, warm-up, proofs, records, resume. Computes no verdicts.
//!
//! Nothing here depends on the name of a target or a protocol. The test environment is reached only through the blocking
//! [`tare_lab::environment::Environment`].

mod agent_plans;
mod agents;
mod capacity;
mod conductor;
pub mod cpu_load;
mod disk;
mod durations;
mod error;
mod event;
mod evidence;
mod faults;
mod folder;
mod kept_run;
mod order;
mod prepare;
mod profiles;
mod progress_log;
pub mod proof;
mod read_back;
pub mod samples;
mod status;
mod target_counters;
mod test_beds;
pub mod traffic;
mod trial;
mod window;

pub use conductor::{RunOptions, RunOutcome, run};
pub use disk::write_synced;
pub use error::ConductError;
pub use event::{Event, StopDecision, TrialProgress, Watcher};
pub use folder::{DamagedRecord, RunFolder};
pub use kept_run::{KeptRun, resume};
pub use order::{Slot, block_order};
pub use profiles::is_instance_of;
pub use progress_log::{EventFile, EventWeight};
pub use test_beds::test_bed_plan;
