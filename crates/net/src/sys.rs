//! The few calls that need `unsafe`: changing the namespaces of a thread.

#![expect(
    unsafe_code,
    reason = "unshare can break assumptions of other code about the thread"
)]

use std::io;

use rustix::thread::UnshareFlags;

/// Leaves namespaces for new ones; of the calling thread only.
pub(crate) fn unshare(flags: UnshareFlags) -> io::Result<()> {
    // SAFETY: only namespaces are left, no descriptor table is: no other code's descriptors or memory change.
    unsafe { rustix::thread::unshare_unsafe(flags) }.map_err(Into::into)
}
