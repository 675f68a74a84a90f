//! Command-line options of serving: addresses, limits, threads.

use std::net::SocketAddr;

use tokio::runtime::{Builder, Runtime};

use crate::ServingError;

/// Such options.
#[derive(Debug, Clone, clap::Args)]
pub struct ListenArgs {
    /// Where to serve, one or several with commas between; port 0 chooses one, which is printed.
    #[arg(
        long,
        value_name = "ADDRESS:PORT",
        value_delimiter = ',',
        required = true
    )]
    pub listen: Vec<SocketAddr>,
    /// Where to serve /metrics, /ready and what else is for operators.
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub admin: SocketAddr,
    /// Connections at once on each address; further ones wait.
    #[arg(long, value_name = "N", default_value_t = 4096)]
    pub connections: usize,
    /// Threads that serve.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub workers: usize,
    /// Seconds that requests under way have to end after SIGTERM or SIGINT.
    #[arg(long, value_name = "SECONDS", default_value_t = 5)]
    pub grace: u64,
}

impl ListenArgs {
    /// An event loop with this many threads.
    ///
    /// # Errors
    /// If the system has no more threads or descriptors.
    pub fn runtime(&self) -> Result<Runtime, ServingError> {
        // A single thread needs no work-stealing scheduler.
        let mut builder = match self.workers {
            0 | 1 => Builder::new_current_thread(),
            _ => Builder::new_multi_thread(),
        };
        builder
            .worker_threads(self.workers.max(1))
            .enable_all()
            .build()
            .map_err(ServingError::Runtime)
    }
}
