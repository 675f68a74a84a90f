//! Ctrl-C and SIGTERM: the first signal requests the end, a second one forces it.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Context;

use crate::exit::Exit;

/// A flag that SIGINT, SIGTERM and SIGHUP set; a second one ends the process at once (the keeper cleans up).
pub fn interrupted_flag() -> anyhow::Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [
        signal_hook::consts::SIGINT,
        signal_hook::consts::SIGTERM,
        signal_hook::consts::SIGHUP,
    ] {
        // In this order: at the first signal the flag is not set yet, so the shutdown is skipped and the flag is set.
        signal_hook::flag::register_conditional_shutdown(
            signal,
            Exit::Interrupted as i32,
            Arc::clone(&flag),
        )
        .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&flag)))
        .context("cannot listen for Ctrl-C")?;
    }
    Ok(flag)
}
