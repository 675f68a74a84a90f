//! Counts what happens and logs what matters: one line per event, a limited number of lines.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serving::metrics::{Counter, MetricsPage};
use tare_record::escape::escape_line;
use tonic::{Code, Status};

/// Lines in the log; further events are only counted.
const LINES_MAX: usize = 10_000;
/// Characters of a text of a peer in a message.
const CHARACTERS_MAX: usize = 200;

/// Counters of all events.
#[derive(Debug, Default)]
pub struct Events {
    pub certificates: Counter,
    unknown_destinations: Counter,
    /// By reason.
    refused: Mutex<BTreeMap<&'static str, Counter>>,
    /// By what is watched.
    watches: Mutex<BTreeMap<&'static str, i64>>,
    /// Lines logged so far.
    pub lines: AtomicUsize,
}

impl Events {
    /// Counts and logs a refusal; the status tells the peer the same.
    pub fn refuse(
        &self,
        (reason, code): (&'static str, Code),
        from: Option<SocketAddr>,
        message: &str,
    ) -> Status {
        locked(&self.refused).entry(reason).or_default().count();
        self.log(&format!("refused {}: {message}", peer(from)));
        Status::new(code, message)
    }

    /// Counts and logs that nothing is known of a destination.
    pub fn unknown_destination(&self, from: Option<SocketAddr>, destination: &str) {
        self.unknown_destinations.count();
        self.log(&format!(
            "unknown destination {} of {}: the proxy forwards to it without mTLS; add it to `services` if it is of the mesh",
            quoted(destination),
            peer(from)
        ));
    }

    /// Logs a line.
    pub fn log(&self, line: &str) {
        match self.lines.fetch_add(1, Ordering::Relaxed) {
            before if before < LINES_MAX => serving::say(&escape_line(line)),
            LINES_MAX => {
                serving::say("further events are only counted: see /metrics at the admin address");
            }
            _ => {}
        }
    }

    /// Changes the number of open watches; returns the number of all kinds.
    pub fn watches(&self, kind: &'static str, change: i64) -> i64 {
        let mut watches = locked(&self.watches);
        *watches.entry(kind).or_default() += change;
        watches.values().sum()
    }

    /// The page of metrics.
    pub fn page(&self) -> String {
        let mut page = MetricsPage::default();
        page.counter(
            "linkerd_control_plane_certificates_issued_total",
            "Certificates issued to proxies.",
            "",
            &self.certificates,
        );
        page.counter(
            "linkerd_control_plane_unknown_destinations_total",
            "Questions about destinations that are not in the configuration.",
            "",
            &self.unknown_destinations,
        );
        for (reason, count) in &*locked(&self.refused) {
            let metric = "linkerd_control_plane_refused_total";
            let reason = format!("reason=\"{reason}\"");
            page.counter(metric, "Refused requests.", &reason, count);
        }
        for (kind, open) in &*locked(&self.watches) {
            let metric = "linkerd_control_plane_watches_open";
            let kind = format!("kind=\"{kind}\"");
            page.gauge(metric, "Watches that are open.", &kind, *open);
        }
        page.text()
    }
}

/// Counters are whole at all times.
fn locked<T>(counters: &Mutex<T>) -> MutexGuard<'_, T> {
    counters.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Who asked.
pub fn peer(from: Option<SocketAddr>) -> String {
    from.map_or_else(|| "a peer".to_owned(), |from| from.to_string())
}

/// A text of a peer, shortened.
pub fn quoted(text: &str) -> String {
    match text.char_indices().nth(CHARACTERS_MAX) {
        None => format!("{text:?}"),
        Some((end, _)) => format!("{:?}…", text.get(..end).unwrap_or_default()),
    }
}
