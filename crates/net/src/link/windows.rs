//! How much one TCP connection may have under way: what the kernel gives by itself is too little over a distance.

use std::fs;
use std::io;
use std::os::fd::BorrowedFd;

use super::LinkError;
use super::measure::inside;

const SETTINGS: [&str; 2] = ["/proc/sys/net/ipv4/tcp_rmem", "/proc/sys/net/ipv4/tcp_wmem"];

/// Lets the windows of connections in a namespace grow to this; larger limits that are there already stay.
///
/// # Errors
/// When the namespace cannot be entered or its settings not be written.
pub fn widen(namespace: BorrowedFd<'_>, window_bytes: u64) -> Result<(), LinkError> {
    inside(Some(namespace), || {
        SETTINGS.iter().try_for_each(|path| {
            let now = fs::read_to_string(path)?;
            match widened(&now, window_bytes) {
                Some(wider) => fs::write(path, wider),
                None => Ok(()),
            }
        })
    })?
    .map_err(|error: io::Error| LinkError::NoWindow(error))
}

/// Least, first and most of a window: the most is raised, the others stay.
fn widened(now: &str, window_bytes: u64) -> Option<String> {
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
            widened(now, 64 << 20).as_deref(),
            Some("4096 131072 67108864")
        );
        assert_eq!(widened(now, 1 << 20), None);
        assert_eq!(widened("nonsense", 1), None);
    }
}
