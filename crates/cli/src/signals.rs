//! SIGINT, SIGTERM, and SIGHUP unless it is ignored (`nohup`): the first signal requests the end, a second one forces it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use anyhow::Context;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use crate::exit::Exit;

/// Whether the end was requested by a signal, and by which.
#[derive(Debug, Clone, Default)]
pub struct Interruption {
    is_requested: Arc<AtomicBool>,
    /// Number of the signal; 0: none.
    signal: Arc<AtomicUsize>,
}

impl Interruption {
    /// Listens from now on; a second signal ends the process at once (the keeper cleans up).
    pub fn listen() -> anyhow::Result<Self> {
        let heard = Self::default();
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            if signal == SIGHUP && tare_load::is_ignored(signal) {
                continue;
            }
            let code = i32::from(Exit::of_signal(signal).code());
            let number = usize::try_from(signal).unwrap_or_default();
            // In this order: at the first signal the flag is not set yet, so the shutdown is skipped, and when the flag is set the
            // number is there.
            flag::register_conditional_shutdown(signal, code, Arc::clone(&heard.is_requested))
                .and_then(|_| flag::register_usize(signal, Arc::clone(&heard.signal), number))
                .and_then(|_| flag::register(signal, Arc::clone(&heard.is_requested)))
                .context("cannot listen for signals")?;
        }
        Ok(heard)
    }

    /// Whether the end was requested.
    pub fn is_requested(&self) -> bool {
        self.is_requested.load(Ordering::SeqCst)
    }

    /// The signal that requested it.
    pub fn signal(&self) -> Option<i32> {
        match self.signal.load(Ordering::SeqCst) {
            0 => None,
            number => i32::try_from(number).ok(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_signal_requests_the_end_and_is_known() {
        let heard = Interruption::listen().unwrap();
        assert!(!heard.is_requested());
        assert_eq!(heard.signal(), None);
        // Handled within the call, by the thread that makes it.
        signal_hook::low_level::raise(SIGTERM).unwrap();
        assert!(heard.is_requested());
        assert_eq!(heard.signal(), Some(SIGTERM));
        assert_eq!(Exit::of_cut(heard.signal()), Exit::Terminated);
    }
}
