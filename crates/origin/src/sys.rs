//! System calls that no safe crate offers: receive timestamps.
#![expect(
    unsafe_code,
    reason = "recvmsg with control messages has no safe wrapper"
)]

use std::io;
use std::mem::{MaybeUninit, size_of};
use std::os::fd::{AsFd, AsRawFd};
use std::ptr;

/// The result of one receive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Received {
    /// Bytes received; 0 is the end of the stream.
    pub bytes: usize,
    /// The kernel's realtime timestamp of the last packet in them, in nanoseconds.
    pub stamp_ns: Option<u64>,
}

/// Buffer for one `timespec` control message, aligned as the kernel's headers need it.
#[repr(C, align(8))]
struct Control([u8; 64]);

/// Enables receive timestamps. Connections accepted from a listener inherit it.
pub(crate) fn stamp_arrivals(socket: impl AsFd) -> io::Result<()> {
    let on: libc::c_int = 1;
    // SAFETY: the descriptor is open for the call, and the value is a c_int that lives through it.
    let result = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_TIMESTAMPNS,
            ptr::from_ref(&on).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Makes close send RST instead of FIN: SO_LINGER with a time of 0.
pub(crate) fn reset_on_close(socket: impl AsFd) -> io::Result<()> {
    Ok(rustix::net::sockopt::set_socket_linger(
        socket,
        Some(std::time::Duration::ZERO),
    )?)
}

/// Receives bytes and their receive timestamp.
pub(crate) fn receive(socket: impl AsFd, buffer: &mut [u8]) -> io::Result<Received> {
    let mut control = MaybeUninit::<Control>::uninit();
    let mut vector = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    // SAFETY: msghdr is plain data for which all zeros (null pointers, zero lengths) is valid.
    let mut message: libc::msghdr = unsafe { MaybeUninit::zeroed().assume_init() };
    message.msg_iov = &raw mut vector;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = size_of::<Control>();
    // SAFETY: message points to the buffer and the control buffer, both writable for their stated lengths through the call.
    let received = unsafe { libc::recvmsg(socket.as_fd().as_raw_fd(), &raw mut message, 0) };
    let bytes = usize::try_from(received).map_err(|_| io::Error::last_os_error())?;
    Ok(Received {
        bytes,
        stamp_ns: stamp_of(&message),
    })
}

fn stamp_of(message: &libc::msghdr) -> Option<u64> {
    // SAFETY: the kernel filled msg_control and set msg_controllen to what it wrote; CMSG_FIRSTHDR gives null if that is
    // less than a header.
    let header = unsafe { libc::CMSG_FIRSTHDR(message).as_ref() }?;
    // It is the only control message enabled, hence the first.
    if header.cmsg_level != libc::SOL_SOCKET || header.cmsg_type != libc::SCM_TIMESTAMPNS {
        return None;
    }
    // SAFETY: a SCM_TIMESTAMPNS message carries one timespec, which may be unaligned.
    let stamp: libc::timespec =
        unsafe { ptr::read_unaligned(libc::CMSG_DATA(header).cast::<libc::timespec>()) };
    let seconds_ns = u64::try_from(stamp.tv_sec)
        .ok()?
        .checked_mul(1_000_000_000)?;
    seconds_ns.checked_add(u64::try_from(stamp.tv_nsec).ok()?)
}
