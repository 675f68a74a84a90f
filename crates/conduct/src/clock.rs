//! Wall-clock times, in µs since the epoch, as in files and messages to agents.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Now, in µs since the epoch.
#[must_use]
pub fn now_unix_us() -> u64 {
    // A clock before 1970 is wrong; 0 shows that in the record.
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_micros() as u64)
}

/// How long until a wall-clock moment; zero when it has passed.
#[must_use]
pub fn until(unix_us: u64) -> Duration {
    Duration::from_micros(unix_us.saturating_sub(now_unix_us()))
}

/// A short sleep within a bounded loop of polling.
pub fn pause(length: Duration) {
    std::thread::sleep(length);
}
