//! System calls without a safe library: kernel receive timestamps, real-time scheduling, and waiting for signals.

#![expect(
    unsafe_code,
    reason = "recvmsg with SCM_TIMESTAMPNS, socket options, sched_setscheduler and signal masks have no safe wrapper"
)]

use std::io;
use std::mem::{MaybeUninit, size_of};
use std::os::fd::{AsRawFd, BorrowedFd};

use crate::control::StopHandle;

/// Number of bytes received, and the kernel's timestamp of the last one in realtime nanoseconds.
#[derive(Debug, Clone, Copy)]
pub struct Received {
    /// How many; 0 is the end of the stream.
    pub bytes: usize,
    /// When the kernel received the segment of the last byte.
    pub stamp_realtime_ns: Option<u64>,
}

/// Buffer for one `SCM_TIMESTAMPNS` control message (16 bytes of header, 16 of time), twice as large as needed.
#[repr(C, align(8))]
struct Control([u8; 64]);

/// Enables kernel receive timestamps on this socket.
///
/// # Errors
/// As `setsockopt`.
pub fn stamp_arrivals(socket: BorrowedFd<'_>) -> io::Result<()> {
    let on: libc::c_int = 1;
    // SAFETY: the pointer and length describe one c_int that outlives the call.
    let status = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_TIMESTAMPNS,
            std::ptr::from_ref(&on).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    check(status)
}

/// Datagrams that the kernel dropped because the receive buffer of this socket was full.
///
/// # Errors
/// As `getsockopt`.
pub fn dropped_datagrams(socket: BorrowedFd<'_>) -> io::Result<u32> {
    /// Values of `SO_MEMINFO`, the last of which is the number of drops (`SK_MEMINFO_DROPS`).
    const VALUES: usize = 9;
    let mut values = [0_u32; VALUES];
    let mut length = size_of::<[u32; VALUES]>() as libc::socklen_t;
    // SAFETY: the pointer and length describe the array, which outlives the call.
    let status = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_MEMINFO,
            values.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    check(status)?;
    Ok(values[VALUES - 1])
}

/// Receives without blocking.
///
/// # Errors
/// As `recvmsg`; `WouldBlock` when there is nothing to read.
#[inline]
pub fn receive(socket: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<Received> {
    let mut control = Control([0; 64]);
    let mut part = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    // SAFETY: msghdr is plain data; all zeros is a valid empty message.
    let mut message: libc::msghdr = unsafe { MaybeUninit::zeroed().assume_init() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = size_of::<Control>() as _;
    // A raw system call: glibc's wrapper is a cancellation point, which costs two more function calls per response.
    // SAFETY: the message points at buffers that outlive the call, with their true lengths.
    let taken = unsafe {
        libc::syscall(
            libc::SYS_recvmsg,
            socket.as_raw_fd(),
            &raw mut message,
            libc::MSG_DONTWAIT,
        )
    };
    if taken < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(Received {
        bytes: taken.unsigned_abs() as usize,
        stamp_realtime_ns: stamp_of(&message),
    })
}

#[inline]
fn stamp_of(message: &libc::msghdr) -> Option<u64> {
    // SAFETY: the kernel filled msg_control and msg_controllen; CMSG_FIRSTHDR returns null or a header within them.
    let header = unsafe { libc::CMSG_FIRSTHDR(std::ptr::from_ref(message)) };
    if header.is_null() {
        return None;
    }
    // SAFETY: not null, so a whole header lies within the control buffer.
    let head = unsafe { header.read_unaligned() };
    if head.cmsg_level != libc::SOL_SOCKET || head.cmsg_type != libc::SCM_TIMESTAMPNS {
        return None;
    }
    // SAFETY: a control message of this type carries one timespec.
    let time: libc::timespec = unsafe {
        libc::CMSG_DATA(header)
            .cast::<libc::timespec>()
            .read_unaligned()
    };
    let seconds = u64::try_from(time.tv_sec).ok()?;
    let nanos = u64::try_from(time.tv_nsec).ok()?;
    Some(seconds * 1_000_000_000 + nanos)
}

/// The descriptor of mio's epoll, to wait on it with a timeout in nanoseconds.
#[must_use]
pub fn epoll_of(poll: &mio::Poll) -> BorrowedFd<'_> {
    // SAFETY: the descriptor is open as long as the poll, which the result borrows.
    unsafe { BorrowedFd::borrow_raw(poll.as_raw_fd()) }
}

/// An event of epoll.
pub type Event = libc::epoll_event;

/// Waits for events with a timeout in nanoseconds, up to the spare capacity of `events`; `None` waits without limit.
///
/// A raw system call because rustix rounds the timeout up to milliseconds unless it is built for Linux 5.11 and later only.
///
/// # Errors
/// As `epoll_pwait2`; `Unsupported` on a kernel without it.
#[inline]
pub fn wait_for_events(
    epoll: BorrowedFd<'_>,
    timeout_ns: Option<u64>,
    events: &mut Vec<Event>,
) -> io::Result<()> {
    events.clear();
    let timeout = timeout_ns.map(|ns| libc::timespec {
        tv_sec: libc::time_t::try_from(ns / 1_000_000_000).unwrap_or(libc::time_t::MAX),
        tv_nsec: (ns % 1_000_000_000) as libc::c_long,
    });
    let room = events.spare_capacity_mut();
    // SAFETY: the pointers are to spare capacity of this length and to a live timespec or null; no signal mask is passed.
    let taken = unsafe {
        libc::syscall(
            libc::SYS_epoll_pwait2,
            epoll.as_raw_fd(),
            room.as_mut_ptr(),
            room.len() as libc::c_int,
            timeout
                .as_ref()
                .map_or(std::ptr::null(), std::ptr::from_ref),
            std::ptr::null::<libc::sigset_t>(),
            0_usize,
        )
    };
    let Ok(taken) = usize::try_from(taken) else {
        return Err(io::Error::last_os_error());
    };
    // SAFETY: the kernel wrote this many events into the spare capacity.
    unsafe { events.set_len(taken) };
    Ok(())
}

/// Runs the calling thread with `SCHED_FIFO` at the lowest priority. Threads it starts are scheduled normally.
///
/// # Errors
/// As `sched_setscheduler`: without `CAP_SYS_NICE`, or in a control group without real-time budget.
pub fn run_in_real_time() -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority: 1 };
    let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
    // SAFETY: 0 is the calling thread; the pointer is to a live value.
    check(unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) })
}

/// Whether this process was started with a signal ignored, as `nohup` does with SIGHUP: then it is to go on.
#[must_use]
pub fn is_ignored(signal: libc::c_int) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: without a new action the present one is written to a live value, and read only if that succeeded.
    unsafe {
        libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) == 0
            && action.assume_init().sa_sigaction == libc::SIG_IGN
    }
}

/// The signals that end a load: SIGINT, SIGTERM, and SIGHUP unless it is ignored.
#[derive(Clone, Copy)]
pub struct EndSignals(libc::sigset_t);

impl EndSignals {
    /// Blocks them in this thread and in every thread it starts later, so that `wait` receives them.
    ///
    /// # Errors
    /// As `pthread_sigmask`.
    pub fn block() -> io::Result<Self> {
        let mut set = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: sigemptyset initialises the set before anything reads it; the signals are valid.
        let set = unsafe {
            check(libc::sigemptyset(set.as_mut_ptr()))?;
            check(libc::sigaddset(set.as_mut_ptr(), libc::SIGINT))?;
            check(libc::sigaddset(set.as_mut_ptr(), libc::SIGTERM))?;
            // Blocked signals are received even if they are ignored.
            if !is_ignored(libc::SIGHUP) {
                check(libc::sigaddset(set.as_mut_ptr(), libc::SIGHUP))?;
            }
            set.assume_init()
        };
        // SAFETY: the set is initialised; no old mask is asked for.
        let status =
            unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) };
        match status {
            0 => Ok(Self(set)),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }

    /// Ends the window of a load at the first signal, and aborts the load at the second, from a thread that lives as long as the
    /// process.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn end_load(self, stop: StopHandle) -> io::Result<()> {
        std::thread::Builder::new()
            .name("signals".into())
            .spawn(move || {
                while let Ok(signal) = self.wait() {
                    if stop.is_ended() {
                        stop.abort();
                    } else {
                        stop.end_by(signal);
                    }
                }
            })
            .map(|_| ())
    }

    /// Waits for one of them; its number.
    ///
    /// # Errors
    /// As `sigwait`.
    fn wait(&self) -> io::Result<libc::c_int> {
        let mut signal: libc::c_int = 0;
        // SAFETY: both pointers are to live values of the right type.
        match unsafe { libc::sigwait(&raw const self.0, &raw mut signal) } {
            0 => Ok(signal),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }
}

fn check(status: libc::c_int) -> io::Result<()> {
    if status == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
