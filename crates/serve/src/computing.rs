//! Work of requests beside the threads that answer: what waits for files, and what takes a core for a while.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::OwnedSemaphorePermit;

use crate::error::{Refusal, Reply};
use crate::server::{Server, Shared};
use crate::sys;

/// Longest wait for one of those who compute, before the request is refused.
const COMPUTING_PATIENCE: Duration = Duration::from_secs(20);

/// Does what reads files or waits in a thread of its own.
pub async fn blocking<T: Send + 'static>(
    server: Shared,
    work: impl FnOnce(&Server) -> Reply<T> + Send + 'static,
) -> Reply<T> {
    let done = tokio::task::spawn_blocking(move || work(&server)).await;
    done.unwrap_or_else(|_| Err(defect()))
}

/// The same for what takes a core for a while: few at a time, and while something is measured only on a core that is idle.
pub async fn computing<T: Send + 'static>(
    server: Shared,
    work: impl FnOnce(&Server) -> Reply<T> + Send + 'static,
) -> Reply<T> {
    let permit = compute_permit(&server).await?;
    compute(server, permit, work).await
}

/// One of those that compute.
pub async fn compute_permit(server: &Server) -> Reply<OwnedSemaphorePermit> {
    let permit = Arc::clone(&server.computations).acquire_owned();
    match tokio::time::timeout(COMPUTING_PATIENCE, permit).await {
        Ok(Ok(permit)) => Ok(permit),
        _ => Err(Refusal::busy(
            "too much is being computed, on idle cores only while something is measured: try again later",
        )),
    }
}

/// Does what takes a core for a while, with one of these.
pub async fn compute<T: Send + 'static>(
    server: Shared,
    permit: OwnedSemaphorePermit,
    work: impl FnOnce(&Server) -> Reply<T> + Send + 'static,
) -> Reply<T> {
    let (sender, done) = tokio::sync::oneshot::channel();
    // A thread of its own: one that runs only on idle cores cannot become another again.
    std::thread::Builder::new()
        .name("compute".into())
        .spawn(move || {
            let _permit = permit;
            // Asked before: this may wait for nobody and keep nobody waiting from here on.
            if server.runs.is_measuring() {
                sys::run_when_idle();
            }
            // An error means that nobody waits any more.
            let _ = sender.send(work(&server));
        })?;
    done.await.unwrap_or_else(|_| Err(defect()))
}

fn defect() -> Refusal {
    Refusal::failed("a defect of Tare: its answer could not be made")
}
