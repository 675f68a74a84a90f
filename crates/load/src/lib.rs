//! Load generator: pacing × stop × client × transport, measured to the kernel's receive timestamp.
//!
//! Use from another program:
//!
//! ```
//! use std::time::Duration;
//! use tare_load::Load;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let origin = tare_origin::bind(tare_origin::OriginOptions::default())?;
//! # let url = format!("http://{}/?p=0.5&status=503", origin.local_addr());
//! # let stop = tare_origin::StopHandle::new()?;
//! # let server = std::thread::spawn({ let stop = stop.clone(); move || origin.run(stop) });
//! let found = Load::get(&url)?
//!     .rate(500.0)
//!     .connections(4)
//!     .duration(Duration::from_millis(400))
//!     .run()?;
//! println!("{} ok of {}", found.result.ok, found.result.intended);
//! if let Some(latency) = found.latency() {
//!     println!("p50 {:?}, max {:?}", latency.quantile(0.5), latency.max());
//! }
//! for outcome in &found.result.outcomes {
//!     println!("{} × {}, fault of {:?}", outcome.count, outcome.class, outcome.error_source);
//! }
//! # stop.stop();
//! # server.join().map_err(|_| "the origin panicked")??;
//! # assert_eq!(found.result.intended, 200);
//! # assert_eq!(found.result.ok + found.result.errors, 200);
//! # assert!(found.result.errors > 50, "half of them are 503");
//! # Ok(())
//! # }
//! ```
//!
//! Below that, [`run`] runs a whole plan in this process and reports its progress, and [`run_agent`] runs it as an agent with a
//! stream of messages. Inside, an engine without I/O connects the schedule of [`arrivals`] with a
//! [`client::Client`]; a worker provides sockets and a clock.

pub mod agent;
mod aggregator;
pub mod arrivals;
mod classes;
pub mod client;
pub mod clock;
pub mod connection_pool;
mod control;
pub mod engine;
pub mod fortio;
pub mod generator;
mod load;
pub mod paths;
pub mod protocols;
pub mod proxy_protocol;
pub mod session;
mod sys;
mod tally;
pub mod template;
pub mod tls;
mod worker;

pub use agent::{AgentError, abort_on_hangup, run_agent};
pub use classes::{ClassNumbers, Classes};
pub use control::StopHandle;
pub use generator::{
    LoadError, LoadOutcome, LoadProgress, Observer, PlanError, Tag, dry_run_plan, merged, run,
    run_over, spread,
};
pub use load::{Load, UrlError};
pub use sys::{EndSignals, is_ignored};
pub use tally::Quantity;
pub use worker::SchedulingPolicy;
