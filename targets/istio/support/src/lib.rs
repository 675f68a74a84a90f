//! Programs of Tare beside Istio's control plane: an empty Kubernetes API, and changes with the time until all proxies have them.

pub mod api;
pub mod change;
mod objects;
mod tokens;

use std::net::SocketAddr;
use std::path::Path;

use anyhow::Context;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use api::Api;
use tokens::Tokens;

/// Serves the Kubernetes API with the tokens of a file until SIGTERM.
///
/// # Errors
/// When the file cannot be read, or the address is taken.
pub fn serve(listen: SocketAddr, tokens: &Path) -> anyhow::Result<()> {
    let tokens = Tokens::read(tokens)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    runtime.block_on(async {
        let listener = TcpListener::bind(listen)
            .await
            .with_context(|| format!("cannot listen on {listen}"))?;
        let mut stop = signal(SignalKind::terminate()).context("cannot listen for SIGTERM")?;
        let app = Api::new(tokens).router();
        // Watches never end by themselves, so open connections are dropped.
        tokio::select! {
            served = async { axum::serve(listener, app).await } => served.context("the server ended"),
            _ = stop.recv() => Ok(()),
        }
    })
}
