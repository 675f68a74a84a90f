//! A process that ends with the thread that has started it.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use tare_lab::subprocess::{end_group, end_with_this_thread};

/// Dropping it ends it.
pub(crate) struct Companion(pub(crate) Child);

impl Companion {
    /// Starts it; its standard output can be read.
    pub(crate) fn start(mut command: Command) -> io::Result<Companion> {
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            // Ctrl-C in the terminal is for the conductor alone.
            .process_group(0);
        end_with_this_thread(&mut command);
        Ok(Companion(command.spawn()?))
    }

    pub(crate) fn is_running(&mut self) -> bool {
        matches!(self.0.try_wait(), Ok(None))
    }
}

impl Drop for Companion {
    fn drop(&mut self) {
        // It may have ended. What it has started ends with it.
        end_group(&self.0);
        let _ = self.0.wait();
    }
}
