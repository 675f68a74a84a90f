//! The calls of the link that need `unsafe`: requests to TUN devices, and real-time scheduling.

#![expect(
    unsafe_code,
    reason = "device requests and scheduling classes have no safe interface"
)]

pub(super) mod memory;

use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;

use super::offload::Offload;

/// `SIOCSIFTXQLEN` (linux/sockios.h).
const SET_QUEUE_LENGTH: libc::c_ulong = 0x8943;

/// Creates a device of this name on the opened TUN control file; it exists as long as the file.
pub(super) fn make_device(file: &File, name: &str, offload: Offload) -> io::Result<()> {
    let mut request = ifreq_named(name);
    request.ifr_ifru.ifru_flags =
        (libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_VNET_HDR | libc::IFF_TUN_EXCL)
            as libc::c_short;
    // SAFETY: the request is a whole `ifreq` that outlives the call.
    check(unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &raw mut request) })?;
    let features = match offload {
        Offload::On => libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6 | libc::TUN_F_TSO_ECN,
        Offload::Off => libc::TUN_F_CSUM,
    };
    // SAFETY: this request takes its argument by value.
    check(unsafe {
        libc::ioctl(
            file.as_raw_fd(),
            libc::TUNSETOFFLOAD,
            libc::c_ulong::from(features),
        )
    })
}

/// Checks that the opened file is the TUN control file.
pub(super) fn query_features(file: &File) -> io::Result<()> {
    let mut features: libc::c_uint = 0;
    // SAFETY: the request writes one unsigned int, which outlives the call.
    check(unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNGETFEATURES, &raw mut features) })
}

/// Sets the transmit queue length of a device in the socket's namespace.
pub(super) fn set_queue_length(
    socket: &impl AsRawFd,
    name: &str,
    packets: libc::c_int,
) -> io::Result<()> {
    let mut request = ifreq_named(name);
    request.ifr_ifru.ifru_metric = packets;
    // SAFETY: the request is a whole `ifreq` that outlives the call; `ifru_metric` shares its place with the queue length, an int too.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), SET_QUEUE_LENGTH as _, &raw mut request) })
}

fn ifreq_named(name: &str) -> libc::ifreq {
    // SAFETY: all-zero bytes are a valid `ifreq`: a name of no length and numbers.
    let mut request: libc::ifreq = unsafe { MaybeUninit::zeroed().assume_init() };
    // The last byte stays zero.
    let last = request.ifr_name.len() - 1;
    for (place, byte) in request.ifr_name[..last].iter_mut().zip(name.bytes()) {
        *place = byte as libc::c_char;
    }
    request
}

/// Sets the calling thread's scheduling to `SCHED_FIFO` with this priority. Its children start with default scheduling.
///
/// # Errors
/// As `sched_setscheduler`: without `CAP_SYS_NICE`, or in a control group without real-time budget.
pub fn set_sched_fifo(priority: i32) -> io::Result<()> {
    // SAFETY: all-zero bytes are valid parameters.
    let mut parameters: libc::sched_param = unsafe { MaybeUninit::zeroed().assume_init() };
    parameters.sched_priority = priority;
    // SAFETY: the parameters outlive the call; 0 is the calling thread alone.
    check(unsafe {
        libc::sched_setscheduler(
            0,
            libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK,
            &raw const parameters,
        )
    })
}

fn check(status: libc::c_int) -> io::Result<()> {
    if status < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
