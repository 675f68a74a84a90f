//! A Linkerd control plane for a fixed topology: answers the proxies of a mesh by Linkerd's public API.
//!
//! Nothing here is of a cluster: identities, services and endpoints are in a file that is read once.

mod authority;
mod certify;
mod config;
mod destination;
mod error;
mod events;
mod fuzz;
mod inbound;
mod listener;
mod outbound;
mod plane;
#[cfg(test)]
mod tests;
mod watch;
mod workload_files;

use std::path::Path;
use std::sync::Arc;

use axum::Router;
use serving::ListenArgs;

use crate::authority::Authority;
use crate::config::Config;
pub use crate::error::StartError;
pub use crate::fuzz::fuzz_entry;
use crate::plane::Plane;
pub use crate::workload_files::write as write_identity;

/// Version of this program and of the API.
pub const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), ", API linkerd2-proxy-api 0.20.0");

/// Answers proxies until a signal.
///
/// # Errors
/// When the configuration cannot be used, or an address is taken.
pub fn run(file: &Path) -> Result<(), StartError> {
    let config = Config::read(file)?;
    let authority = Authority::read(&config.ca)?;
    let tls = authority.own_tls(&config.name, &config.ca)?;
    let how = ListenArgs {
        listen: vec![],
        admin: config.admin,
        connections: 0,
        workers: 1,
        // Watches never end by themselves.
        grace: 0,
    };
    how.runtime()?.block_on(async {
        let listener = listener::bind(config.listen).await?;
        let plane = Arc::new(Plane::new(config, authority));
        let admin = serving::admin::page(Arc::clone(&plane));
        let proxies = listener::serve(listener, tls, plane);
        serving::serve_until_signal("linkerd-control-plane", &how, Router::new(), admin, proxies)
            .await
    })
}
