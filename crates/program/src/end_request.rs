//! SIGINT, SIGTERM and SIGHUP: the first asks for the end, a second one ends the process at once.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

/// Whether the end was asked for, and by which signal.
#[derive(Debug, Default)]
pub struct EndRequest {
    is_requested: Arc<AtomicBool>,
    /// Number of the signal; 0: none.
    signal: Arc<AtomicUsize>,
}

impl EndRequest {
    /// Listens from now on.
    ///
    /// # Errors
    /// When signals cannot be received.
    pub fn listen() -> io::Result<EndRequest> {
        let heard = EndRequest::default();
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            let number = usize::try_from(signal).unwrap_or_default();
            // In this order: at the first signal the flag is not set yet, and when it is set the number is there.
            flag::register_conditional_shutdown(
                signal,
                128 + signal,
                Arc::clone(&heard.is_requested),
            )?;
            flag::register_usize(signal, Arc::clone(&heard.signal), number)?;
            flag::register(signal, Arc::clone(&heard.is_requested))?;
        }
        Ok(heard)
    }

    /// The signal that asked for the end.
    #[must_use]
    pub fn signal(&self) -> Option<i32> {
        if !self.is_requested.load(Ordering::SeqCst) {
            return None;
        }
        i32::try_from(self.signal.load(Ordering::SeqCst)).ok()
    }
}
