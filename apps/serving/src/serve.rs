//! Serves a service and its administration routes until a signal.

use std::io::Write;
use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::{LimitedListener, ListenArgs, ServingError};

/// Connections to the administration address.
const ADMIN_CONNECTIONS: usize = 64;

/// Serves until SIGTERM or SIGINT; then stops accepting, lets requests end, and returns. Ends at once if a listener or `beside`
/// ends.
///
/// # Errors
/// If an address is taken, or a listener or `beside` ends.
pub async fn serve_until_signal<E: From<ServingError>>(
    name: &str,
    how: &ListenArgs,
    app: Router,
    admin: Router,
    beside: impl Future<Output = E>,
) -> Result<(), E> {
    let mut terminate = signal(SignalKind::terminate()).map_err(ServingError::Signals)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(ServingError::Signals)?;
    let (stop, stopped) = watch::channel(());
    let mut serving = JoinSet::new();
    for at in &how.listen {
        let listener = listen(*at, how.connections, name).await?;
        serving.spawn(run(listener, app.clone(), stopped.clone()));
    }
    let admin_task = tokio::spawn(run(
        listen(how.admin, ADMIN_CONNECTIONS, &format!("{name} admin")).await?,
        admin,
        stopped,
    ));
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
        Some(ended) = serving.join_next() => return Ok(ended.unwrap_or(Ok(())).map_err(ServingError::Served)?),
        gave_up = beside => return Err(gave_up),
    }
    say(&format!(
        "{name} ends: requests under way have {} s",
        how.grace
    ));
    // An error means that all listeners have ended by themselves.
    let _ = stop.send(());
    let grace = Duration::from_secs(how.grace);
    let all_ended = async { while serving.join_next().await.is_some() {} };
    if tokio::time::timeout(grace, all_ended).await.is_err() {
        say(&format!("{name} cut off what was still under way"));
    }
    admin_task.abort();
    Ok(())
}

async fn listen(
    at: SocketAddr,
    connections: usize,
    name: &str,
) -> Result<LimitedListener, ServingError> {
    let failed = |error| ServingError::Listen { at, error };
    let listener = TcpListener::bind(at).await.map_err(failed)?;
    let there = listener.local_addr().map_err(failed)?;
    say(&format!("{name} listens on {there}"));
    Ok(LimitedListener::new(listener, connections))
}

async fn run(
    listener: LimitedListener,
    app: Router,
    mut stopped: watch::Receiver<()>,
) -> std::io::Result<()> {
    axum::serve(listener, app)
        .with_graceful_shutdown(async move {
            // An error means that the sender is gone, which also ends the service.
            let _ = stopped.changed().await;
        })
        .await
}

/// Logs a line to stderr; a closed pipe is no reason to stop serving.
pub fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
