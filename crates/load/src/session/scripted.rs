//! The requests of sessions as the HTTP/1.1 client sends them: rendered by the interpreter; captures from the responses.

use std::collections::VecDeque;
use std::sync::Arc;

use tare_record::load::Rows;
use tare_record::load::session::{Cookies, OnFailure};

use super::capture::{CapturedResponse, HeadLines, take};
use super::interpreter::{Next, SessionState, target_of};
use super::jar::CookieContext;
use super::program::Program;
use crate::client::{DueExchange, ExchangeId};
use crate::protocols::ConnectionSecurity;
use crate::protocols::http1::ResponseMismatch;
use crate::protocols::http1::body_scan::BodyScan;
use crate::protocols::http1::codec::{Head, Keep};
use crate::protocols::http1::requests::{Outgoing, RequestSource};
use crate::template::Filler;

/// Configuration of the sessions of one worker.
#[derive(Debug)]
pub struct SessionRequestsPlan {
    /// The compiled session.
    pub program: Arc<Program>,
    /// Source of the template values.
    pub filler: Filler,
    /// Index of the worker and number of workers: unique rows are distributed among them.
    pub part: (u32, u32),
    /// A time on the engine's clock in nanoseconds, and the same time in Unix seconds.
    pub clock: (u64, i64),
    /// How the connections are secured.
    pub security: ConnectionSecurity,
}

/// The sessions of one worker.
#[derive(Debug)]
pub struct SessionRequests {
    pub(super) program: Arc<Program>,
    filler: Filler,
    states: Vec<SessionState>,
    /// Free rows of each table with unique rows, last returned at the end; empty for other tables.
    unique: Vec<VecDeque<u32>>,
    scratch: Vec<u8>,
    clock: (u64, i64),
    security: ConnectionSecurity,
}

impl SessionRequests {
    /// No sessions yet.
    #[must_use]
    pub fn new(plan: SessionRequestsPlan) -> Self {
        let (worker, workers) = plan.part;
        let unique = plan.filler.tables().iter().map(|table| match table.order {
            Rows::Unique => (0..table.rows.len() as u32)
                .filter(|row| row % workers.max(1) == worker)
                .collect(),
            Rows::Sequential | Rows::Random => VecDeque::new(),
        });
        Self {
            unique: unique.collect(),
            program: plan.program,
            filler: plan.filler,
            states: Vec::new(),
            scratch: Vec::new(),
            clock: plan.clock,
            security: plan.security,
        }
    }

    /// Begins a session; `false` if a table has no unique row left.
    pub(super) fn begin(&mut self, session: ExchangeId) -> bool {
        let at = session.0 as usize;
        if at >= self.states.len() {
            self.states.resize_with(at + 1, SessionState::default);
        }
        let state = &mut self.states[at];
        state.begin(&self.program);
        state.rows.clear();
        for table in 0..self.unique.len() {
            let row = match self.filler.tables()[table].order {
                Rows::Unique => self.unique[table].pop_front(),
                Rows::Sequential | Rows::Random => Some(self.filler.take_row(table)),
            };
            match row {
                Some(row) => state.rows.push(row),
                None => {
                    self.end(session);
                    return false;
                }
            }
        }
        true
    }

    /// Returns the unique rows of a session.
    pub(super) fn end(&mut self, session: ExchangeId) {
        let state = &mut self.states[session.0 as usize];
        for (table, row) in state.rows.drain(..).enumerate() {
            if self.filler.tables()[table].order == Rows::Unique {
                self.unique[table].push_back(row);
            }
        }
    }

    /// The next action of a session.
    pub(super) fn next(&mut self, session: ExchangeId, now_ns: u64) -> Next {
        let state = &mut self.states[session.0 as usize];
        state.next(&self.program, &mut self.filler, &mut self.scratch, now_ns)
    }

    /// What a failed request means for its session.
    pub(super) fn on_failure(&self, request: u16) -> OnFailure {
        self.program.steps[usize::from(request)].on_failure
    }

    pub(super) fn state(&mut self, session: ExchangeId) -> &mut SessionState {
        &mut self.states[session.0 as usize]
    }

    fn now(&self, now_ns: u64) -> CookieContext {
        let since_s = now_ns.saturating_sub(self.clock.0) / 1_000_000_000;
        CookieContext {
            now_ns,
            unix_s: self.clock.1 + since_s as i64,
            security: self.security,
        }
    }
}

impl RequestSource for SessionRequests {
    type Progress = BodyScan;

    const READS_HEADS: bool = true;

    #[inline]
    fn outgoing(&mut self, due: DueExchange) -> Outgoing<'_> {
        Outgoing {
            bytes: &self.states[due.ticket.0 as usize].bytes,
            kind: self.program.steps[due.request as usize].made.kind,
        }
    }

    #[inline]
    fn restart(scan: &mut BodyScan) {
        scan.restart();
    }

    #[inline]
    fn keep(&self, due: DueExchange) -> Keep {
        self.program.steps[due.request as usize].keep
    }

    #[inline]
    fn head(&mut self, due: DueExchange, scan: &mut BodyScan, answer: &Head, kept: &[u8]) {
        scan.begin(answer.coding);
        let head = &mut self.states[due.ticket.0 as usize].head;
        head.clear();
        head.extend_from_slice(kept);
    }

    #[inline]
    fn body(&mut self, due: DueExchange, scan: &mut BodyScan, slice: &[u8]) {
        let step = &self.program.steps[due.request as usize];
        let check = &step.made.check;
        let keep_bytes = check
            .keep_bytes(scan.coding())
            .max(step.body_bytes_max as usize);
        scan.push(check.body(), keep_bytes, slice);
    }

    #[inline]
    fn judge(
        &mut self,
        due: DueExchange,
        scan: &mut BodyScan,
        status: u16,
        seen_ns: u64,
    ) -> Result<(), ResponseMismatch> {
        let now = self.now(seen_ns);
        let step = &self.program.steps[due.request as usize];
        let state = &mut self.states[due.ticket.0 as usize];
        let mut judged = step.made.check.judge(scan, status);
        if judged.is_ok() && step.body_bytes_max > 0 {
            judged = scan.decode(step.made.check.body());
        }
        let answer = CapturedResponse {
            head: &state.head,
            lines: match step.keep {
                Keep::Fields => HeadLines::Fields,
                Keep::Nothing | Keep::Value(_) | Keep::Cookies => HeadLines::Cookies,
            },
            body: &scan.kept,
            body_bytes: scan.seen_bytes(),
        };
        // Also cookies of a response that fails the check: a browser keeps them too.
        if self.program.cookies == Cookies::Kept && !answer.head.is_empty() {
            let path = target_of(&state.bytes);
            for line in answer.header("set-cookie") {
                state.jar.take(line, path, now);
            }
        }
        if judged.is_ok() && !step.captures.is_empty() {
            judged = take(step, answer, &mut state.variables);
        }
        // In any case: the next response may have no lines to keep, and must not use those of this one.
        state.head.clear();
        judged
    }
}
