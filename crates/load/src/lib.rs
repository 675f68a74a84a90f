//! The generator of load: pacing × stop × client × transport, measured to the kernel's stamp.
//!
//! [`run`] runs a plan in this process, [`run_agent`] as an agent with a stream of messages. Inside, an engine (the
//! driver without I/O) connects the schedule of [`arrivals`] with a [`client::Client`]; a worker gives it sockets and a clock.

pub mod agent;
pub mod arrivals;
mod classes;
pub mod client;
mod clock;
mod control;
pub mod engine;
pub mod generator;
pub mod grpc;
pub mod http1;
pub mod http2;
mod ledger;
pub mod opening;
mod sys;
mod tally;
pub mod tcp;
pub mod template;
pub mod tls;
mod worker;

pub use agent::{AgentError, abort_when_unread, run_agent};
pub use classes::{ClassNumbers, Classes};
pub use control::StopHandle;
pub use generator::{LoadError, Observer, Outcome, PlanError, Progress, run, run_over};
pub use sys::EndSignals;
