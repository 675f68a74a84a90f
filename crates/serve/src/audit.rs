//! Who changed what and when: a line for each request that changes something, and for attempts to get in, in a file and in the API.

use std::fs::{self, File};
use std::io::{self, Write};
use std::net::IpAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::extract::Request;
use axum::http::{Method, StatusCode};
use axum::response::Response;
use tare_record::api::{AuditEntry, AuditList, Caller};
use tare_record::regular::{OPEN_UNTRUSTED, read_regular};

use crate::server::say;
use crate::sessions;

/// The file in the server's folder; the one before has `.1` at its end.
const FILE: &str = "audit.jsonl";
/// Size from which on a new file is begun: there are two.
const AUDIT_BYTES_MAX: u64 = 4 << 20;
/// Longest path and text in a line.
const TEXT_CHARS_MAX: usize = 300;
/// Lines about attempts to get in, in an hour: strangers must not push out what was changed.
const FAILED_LINES_MAX: u32 = 60;
const FAILED_WINDOW: Duration = Duration::from_secs(60 * 60);

/// The log.
pub struct AuditLog {
    path: PathBuf,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// When the present hour of failed attempts began, and their lines.
    failed: (Duration, u32),
}

/// What a request is about, where its path does not say it; each request that is logged has one.
#[derive(Debug, Clone, Default)]
pub struct AuditSubject(Arc<OnceLock<String>>);

impl AuditSubject {
    /// That of a request.
    pub fn of(request: &Request) -> AuditSubject {
        request.extensions().get().cloned().unwrap_or_default()
    }

    /// Says it; the first word counts.
    pub fn set(&self, text: impl Into<String>) {
        let _ = self.0.set(text.into());
    }
}

/// Why a request was refused.
#[derive(Debug, Clone)]
pub struct RefusalReason(pub String);

impl AuditLog {
    pub fn new(own: &Path) -> AuditLog {
        AuditLog {
            path: own.join(FILE),
            state: Mutex::default(),
        }
    }

    /// The line of a request that was let in. It is written when the request is answered, or dropped without an answer.
    pub fn line(
        &self,
        address: IpAddr,
        caller: Caller,
        method: &Method,
        path: &str,
    ) -> AuditLine<'_> {
        AuditLine {
            log: self,
            entry: AuditEntry {
                at_unix_us: now_us(),
                address: address.to_string(),
                caller,
                method: method.to_string(),
                path: short(path),
                status: None,
                subject: None,
                problem: None,
            },
            subject: AuditSubject::default(),
        }
    }

    /// The line of an attempt to get in that failed.
    pub fn failed(
        &self,
        address: IpAddr,
        method: &Method,
        path: &str,
        what: &str,
        status: StatusCode,
    ) {
        let count = {
            let mut state = self.state();
            let now = sessions::now();
            if now.saturating_sub(state.failed.0) >= FAILED_WINDOW {
                state.failed = (now, 0);
            }
            state.failed.1 = state.failed.1.saturating_add(1);
            state.failed.1
        };
        if count > FAILED_LINES_MAX {
            return;
        }
        let mut line = self.line(address, Caller::Unknown, method, path);
        line.entry.status = Some(status.as_u16());
        let more = match count {
            FAILED_LINES_MAX => "; further attempts of this hour are not logged",
            _ => "",
        };
        line.entry.problem = Some(format!("{what}{more}"));
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a line; where that fails, as on a full disk, it is said to the log of the system.
    fn write(&self, entry: &AuditEntry) {
        let _order = self.state();
        let Ok(mut line) = serde_json::to_string(entry) else {
            return;
        };
        let written = self.open().and_then(|mut file| {
            line.push('\n');
            file.write_all(line.as_bytes())
        });
        if let Err(error) = written {
            say(&format!(
                "{}: {error}: {}",
                self.path.display(),
                line.trim()
            ));
        }
    }

    fn open(&self) -> io::Result<File> {
        let is_full = self
            .path
            .symlink_metadata()
            .is_ok_and(|found| found.len() >= AUDIT_BYTES_MAX);
        if is_full {
            fs::rename(&self.path, self.older())?;
        }
        File::options()
            .append(true)
            .create(true)
            .mode(0o600)
            .custom_flags(OPEN_UNTRUSTED)
            .open(&self.path)
    }

    fn older(&self) -> PathBuf {
        self.path.with_extension("jsonl.1")
    }

    /// The last lines, the newest first.
    pub fn last(&self, count: usize) -> AuditList {
        let mut entries = Vec::new();
        for path in [&self.path, &self.older()] {
            // A line more than the limit may have been written.
            let text = read_regular(path, 2 * AUDIT_BYTES_MAX).unwrap_or_default();
            // A line that was cut by a full disk is none.
            let lines = text.split(|byte| *byte == b'\n').rev();
            let of_file = lines.filter_map(|line| serde_json::from_slice(line).ok());
            entries.extend(of_file.take(count - entries.len()));
        }
        AuditList {
            file: self.path.display().to_string(),
            entries,
        }
    }
}

/// A line that is not written yet.
pub struct AuditLine<'a> {
    log: &'a AuditLog,
    entry: AuditEntry,
    pub subject: AuditSubject,
}

impl AuditLine<'_> {
    /// Takes what an answer says.
    pub fn answered(mut self, response: &Response) {
        self.entry.status = Some(response.status().as_u16());
        let problem = response.extensions().get();
        self.entry.problem = problem.map(|RefusalReason(text)| short(text));
    }
}

impl Drop for AuditLine<'_> {
    fn drop(&mut self) {
        let subject = self.subject.0.get();
        self.entry.subject = subject.map(|text| short(text));
        self.log.write(&self.entry);
    }
}

fn short(text: &str) -> String {
    let text = tare_record::escape::escape_line(text);
    text.chars().take(TEXT_CHARS_MAX).collect()
}

fn now_us() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    u64::try_from(since.unwrap_or_default().as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const ADDRESS: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    #[test]
    fn lines_are_kept_within_bounds_for_this_user_alone_the_newest_first() {
        let place = tempfile::tempdir().unwrap();
        let log = AuditLog::new(place.path());
        let long = format!("/{}", "x".repeat(10_000));
        for number in 0..30_000 {
            let line = log.line(ADDRESS, Caller::Token, &Method::POST, &long);
            line.subject.set(number.to_string());
        }
        let mode = log.path.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let bytes = |path: &Path| path.metadata().unwrap().len();
        assert!(bytes(&log.path) + bytes(&log.older()) < 2 * AUDIT_BYTES_MAX + 1000);
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 2);
        let found = log.last(9_000).entries;
        assert_eq!(found.len(), 9_000);
        let numbers = found.iter().map(|entry| entry.subject.clone().unwrap());
        assert!(numbers.eq((21_000..30_000).rev().map(|number| number.to_string())));
    }

    #[test]
    fn a_request_without_an_answer_and_a_cut_line_lose_nothing_else() {
        let place = tempfile::tempdir().unwrap();
        let log = AuditLog::new(place.path());
        let caller = Caller::Session {
            id: "ab".to_owned(),
        };
        drop(log.line(ADDRESS, caller.clone(), &Method::DELETE, "/api/v1/runs/one"));
        let mut file = File::options().append(true).open(&log.path).unwrap();
        file.write_all(b"{\"at_unix_us\":1\n").unwrap();
        drop(log.line(ADDRESS, Caller::Token, &Method::POST, "/\u{1b}[2J"));
        let found = log.last(10).entries;
        assert_eq!(found.len(), 2);
        assert_eq!((&found[1].caller, found[1].status), (&caller, None));
        assert!(!found[0].path.contains('\u{1b}'));
    }

    #[test]
    fn strangers_cannot_push_out_what_was_changed() {
        let place = tempfile::tempdir().unwrap();
        let log = AuditLog::new(place.path());
        for _ in 0..1000 {
            log.failed(
                ADDRESS,
                &Method::GET,
                "/",
                "a wrong password",
                StatusCode::UNAUTHORIZED,
            );
        }
        let found = log.last(1000).entries;
        assert_eq!(found.len(), FAILED_LINES_MAX as usize);
        assert!(found[0].problem.as_ref().unwrap().contains("not logged"));
    }
}
