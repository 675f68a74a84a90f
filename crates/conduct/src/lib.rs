//! Conducting a run: order, blocks, warm-up, proofs, records, resume. Measures; judges nothing.
//!
//! The name of a target or a protocol never decides anything here; all that is known of the
//! laboratory is the blocking [`tare_lab::environment::Environment`].

mod agents;
mod beds;
mod ceiling;
mod clock;
mod conductor;
mod disk;
mod disturb;
mod durations;
mod error;
mod event;
mod evidence;
pub mod fitness;
mod folder;
mod order;
mod orders;
mod prepare;
pub mod proof;
mod read_back;
mod refusal;
pub mod samples;
mod status;
mod told;
pub mod traffic;
mod trial;
mod window;

pub use beds::bed_plan;
pub use conductor::{Options, Outcome, resume, run};
pub use disk::write_synced;
pub use error::ConductError;
pub use event::{Enough, Event, Progress, Watcher};
pub use folder::RunFolder;
pub use order::{Slot, block_order};
