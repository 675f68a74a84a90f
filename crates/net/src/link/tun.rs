//! A TUN device in a namespace: created there, usable from any namespace, removed with its descriptor.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::net::UdpSocket;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Mutex;

use super::LinkError;
use super::measure::run_in_namespace;
use super::offload::Offload;
use super::sys;

/// Queue length of the device, until the link reads: a window of 64 MB in packets of 1500 bytes.
const QUEUE_PACKETS: i32 = 40_000;
/// Limit of `/proc/net/dev`, for a namespace with a handful of devices.
const STATISTICS_BYTES_MAX: u64 = 1 << 16;

/// Checks that `/dev/net/tun` is available to this process.
///
/// # Errors
/// When it is not.
pub fn possible() -> Result<(), LinkError> {
    let file = open_control().map_err(LinkError::NoTun)?;
    sys::query_features(&file).map_err(LinkError::NoTun)
}

/// Opens the TUN control file.
fn open_control() -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NONBLOCK)
        .open("/dev/net/tun")
}

/// One end of a link.
#[derive(Debug)]
pub(super) struct Tun {
    name: String,
    file: File,
    /// The namespace's `/proc/net/dev`, wherever it is read from.
    statistics: Option<Mutex<File>>,
}

impl Tun {
    /// Creates the device in a namespace.
    pub(super) fn open(
        namespace: BorrowedFd<'_>,
        name: &str,
        offload: Offload,
    ) -> Result<Self, LinkError> {
        run_in_namespace(Some(namespace), || Self::open_here(name, offload))?
    }

    fn open_here(name: &str, offload: Offload) -> Result<Self, LinkError> {
        let file = open_control().map_err(LinkError::NoTun)?;
        let no_device = |error| LinkError::NoDevice {
            device: name.to_owned(),
            error,
        };
        sys::make_device(&file, name, offload).map_err(|error| match error.raw_os_error() {
            // The path is not TUN's, as where a container masks the device.
            Some(libc::ENOTTY) => LinkError::NoTun(error),
            _ => no_device(error),
        })?;
        let socket = UdpSocket::bind(("0.0.0.0", 0)).map_err(no_device)?;
        sys::set_queue_length(&socket, name, QUEUE_PACKETS).map_err(no_device)?;
        let statistics = File::open("/proc/thread-self/net/dev").ok();
        Ok(Self {
            name: name.to_owned(),
            file,
            statistics: statistics.map(Mutex::new),
        })
    }

    /// Packets that the device dropped because its queue was full; `None` if unknown.
    pub(super) fn overflowed(&self) -> Option<u64> {
        let mut file = self.statistics.as_ref()?.lock().ok()?;
        let mut text = String::new();
        file.seek(SeekFrom::Start(0)).ok()?;
        (&mut *file)
            .take(STATISTICS_BYTES_MAX)
            .read_to_string(&mut text)
            .ok()?;
        sent_dropped(&text, &self.name)
    }

    /// Reads one piece; `WouldBlock` when there is none.
    pub(super) fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        (&self.file).read(buffer)
    }

    pub(super) fn write(&self, piece: &[u8]) -> io::Result<usize> {
        io::Write::write(&mut &self.file, piece)
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// The twelfth number of a device's line: packets dropped on transmission.
fn sent_dropped(text: &str, device: &str) -> Option<u64> {
    text.lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.trim() == device)?
        .1
        .split_ascii_whitespace()
        .nth(11)?
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_drops_of_a_device_are_read_from_its_own_line() {
        let text = "Inter-|   Receive                                                |  Transmit\n \
            face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n\
            \x20   lo: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n\
            wan10: 1 1 1 1 1 1 1 1 1 1 1 99 1 1 1 1\n\
            \x20wan1:21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36\n";
        assert_eq!(sent_dropped(text, "wan1"), Some(32));
        assert_eq!(sent_dropped(text, "wan2"), None);
    }
}
