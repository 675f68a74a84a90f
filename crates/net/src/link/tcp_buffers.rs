//! Limits of TCP buffers (`tcp_rmem`, `tcp_wmem`) in a namespace: the defaults are too small for long-delay links.

use std::fs;
use std::io;
use std::os::fd::BorrowedFd;

use super::LinkError;
use super::measure::run_in_namespace;

const TCP_BUFFERS: [&str; 2] = ["/proc/sys/net/ipv4/tcp_rmem", "/proc/sys/net/ipv4/tcp_wmem"];

/// Raises the maximum of TCP buffers in a namespace; larger ones stay.
///
/// # Errors
/// When the namespace cannot be entered or its settings cannot be written.
pub fn raise_tcp_buffers(namespace: BorrowedFd<'_>, window_bytes: u64) -> Result<(), LinkError> {
    run_in_namespace(Some(namespace), || {
        TCP_BUFFERS.iter().try_for_each(|path| {
            let now = fs::read_to_string(path)?;
            match raised(&now, window_bytes) {
                Some(wider) => fs::write(path, wider),
                None => Ok(()),
            }
        })
    })?
    .map_err(|error: io::Error| LinkError::NoWindow(error))
}

/// Raises the last of minimum, default and maximum; `None` if it is large enough.
fn raised(now: &str, window_bytes: u64) -> Option<String> {
    let mut words = now.split_ascii_whitespace();
    let (least, first, most) = (words.next()?, words.next()?, words.next()?);
    if most.parse::<u64>().ok()? >= window_bytes {
        return None;
    }
    Some(format!("{least} {first} {window_bytes}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_limit_is_raised_and_never_lowered() {
        let now = "4096\t131072\t4194304\n";
        assert_eq!(
            raised(now, 64 << 20).as_deref(),
            Some("4096 131072 67108864")
        );
        assert_eq!(raised(now, 1 << 20), None);
        assert_eq!(raised("nonsense", 1), None);
    }
}
