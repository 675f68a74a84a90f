//! The requests of sessions as a pool sends them: each session's own, put together before, and its answers' captures.

use std::collections::VecDeque;
use std::sync::Arc;

use tare_schema::load::Rows;
use tare_schema::load::session::{Cookies, OnFailure};

use super::capture::{Answer, Lines, take};
use super::jar::{Channel, Now};
use super::machine::{Next, User, target_of};
use super::program::Program;
use crate::client::{Due, Ticket};
use crate::http1::Wrong;
use crate::http1::codec::Keep;
use crate::http1::made::Looked;
use crate::http1::requests::{Outgoing, Requests};
use crate::template::Filler;

/// What the sessions of one worker are made of.
#[derive(Debug)]
pub struct ScriptedPlan {
    /// What each does.
    pub program: Arc<Program>,
    /// What they are filled with.
    pub filler: Filler,
    /// Which worker of how many: unique rows are dealt out to them.
    pub part: (u32, u32),
    /// A time on the clock of the driver, and the same in the epoch's seconds.
    pub clock: (u64, i64),
    /// How answers come.
    pub channel: Channel,
}

/// The sessions of one worker.
#[derive(Debug)]
pub struct Scripted {
    pub(super) program: Arc<Program>,
    filler: Filler,
    users: Vec<User>,
    /// Rows of each table that no session has, the one that was given back last at the end; empty for tables whose rows are shared.
    unique: Vec<VecDeque<u32>>,
    scratch: Vec<u8>,
    clock: (u64, i64),
    channel: Channel,
}

impl Scripted {
    /// No sessions yet.
    #[must_use]
    pub fn new(plan: ScriptedPlan) -> Self {
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
            users: Vec::new(),
            scratch: Vec::new(),
            clock: plan.clock,
            channel: plan.channel,
        }
    }

    /// Begins a session in a place; `false` if a table has no row left that is its own.
    pub(super) fn begin(&mut self, session: Ticket) -> bool {
        let at = session.0 as usize;
        if at >= self.users.len() {
            self.users.resize_with(at + 1, User::default);
        }
        let user = &mut self.users[at];
        user.begin(&self.program);
        user.rows.clear();
        for table in 0..self.unique.len() {
            let row = match self.filler.tables()[table].order {
                Rows::Unique => self.unique[table].pop_front(),
                Rows::Sequential | Rows::Random => Some(self.filler.take_row(table)),
            };
            match row {
                Some(row) => user.rows.push(row),
                None => {
                    self.end(session);
                    return false;
                }
            }
        }
        true
    }

    /// Gives back what a session had to itself.
    pub(super) fn end(&mut self, session: Ticket) {
        let user = &mut self.users[session.0 as usize];
        for (table, row) in user.rows.drain(..).enumerate() {
            if self.filler.tables()[table].order == Rows::Unique {
                self.unique[table].push_back(row);
            }
        }
    }

    /// What a session does next.
    pub(super) fn next(&mut self, session: Ticket, now_ns: u64) -> Next {
        let user = &mut self.users[session.0 as usize];
        user.next(&self.program, &mut self.filler, &mut self.scratch, now_ns)
    }

    /// What a wrong answer to a request means for its session.
    pub(super) fn on_failure(&self, request: u16) -> OnFailure {
        self.program.steps[usize::from(request)].on_failure
    }

    pub(super) fn user(&mut self, session: Ticket) -> &mut User {
        &mut self.users[session.0 as usize]
    }

    fn now(&self, now_ns: u64) -> Now {
        let since_s = now_ns.saturating_sub(self.clock.0) / 1_000_000_000;
        Now {
            now_ns,
            unix_s: self.clock.1 + since_s as i64,
            channel: self.channel,
        }
    }
}

impl Requests for Scripted {
    type Progress = Looked;

    const READS_HEADS: bool = true;

    #[inline]
    fn outgoing(&mut self, due: Due) -> Outgoing<'_> {
        Outgoing {
            bytes: &self.users[due.ticket.0 as usize].bytes,
            kind: self.program.steps[usize::from(due.request)].made.kind,
        }
    }

    #[inline]
    fn restart(looked: &mut Looked) {
        looked.restart();
    }

    #[inline]
    fn keep(&self, due: Due) -> Keep {
        self.program.steps[usize::from(due.request)].keep
    }

    #[inline]
    fn head(&mut self, due: Due, kept: &[u8]) {
        let head = &mut self.users[due.ticket.0 as usize].head;
        head.clear();
        head.extend_from_slice(kept);
    }

    #[inline]
    fn body(&mut self, due: Due, looked: &mut Looked, slice: &[u8]) {
        let step = &self.program.steps[usize::from(due.request)];
        let keep_bytes = step
            .made
            .check
            .keep_bytes()
            .max(step.body_bytes_max as usize);
        looked.push(&step.made.check, keep_bytes, slice);
    }

    #[inline]
    fn judge(
        &mut self,
        due: Due,
        looked: &mut Looked,
        status: u16,
        seen_ns: u64,
    ) -> Result<(), Wrong> {
        let now = self.now(seen_ns);
        let step = &self.program.steps[usize::from(due.request)];
        let user = &mut self.users[due.ticket.0 as usize];
        let answer = Answer {
            head: &user.head,
            lines: match step.keep {
                Keep::Fields => Lines::Fields,
                Keep::Nothing | Keep::Value(_) | Keep::Cookies => Lines::Cookies,
            },
            body: &looked.kept,
            body_bytes: looked.seen_bytes(),
        };
        // Also those of a wrong answer: a browser keeps them too.
        if self.program.cookies == Cookies::Kept && !answer.head.is_empty() {
            let path = target_of(&user.bytes);
            for line in answer.header("set-cookie") {
                user.jar.take(line, path, now);
            }
        }
        let mut judged = step.made.check.judge(looked, status);
        if judged.is_ok() && !step.captures.is_empty() {
            judged = take(step, answer, &mut user.variables);
        }
        // Whatever became of it: an answer without lines worth keeping must not find those of the one before.
        user.head.clear();
        judged
    }
}
