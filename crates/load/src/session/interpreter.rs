//! Interpreter of a session's program: runs it from request to request.

use tare_record::agent::ErrorSource;

use super::jar::CookieJar;
use super::program::{Op, Program, Test};
use crate::client::ErrorClass;
use crate::template::{Filler, RenderContext, RenderError, Value};

/// Operations between two requests at most: more is taken as an endless loop.
const OPS_MAX: u32 = 100_000;

#[derive(Debug, Default)]
pub struct SessionState {
    at: usize,
    counters: Vec<u32>,
    pub(super) variables: Vec<Value>,
    pub(super) rows: Vec<u32>,
    pub(super) jar: CookieJar,
    /// The request that is sent next or was sent last.
    pub(super) bytes: Vec<u8>,
    /// The part of the response head that was kept.
    pub(super) head: Vec<u8>,
}

/// The next action of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// Send this request, which is rendered.
    Send(u16),
    /// This request could not be rendered.
    RenderFailed(u16, RenderError),
    /// Pause for this time, in nanoseconds.
    Pause(u64),
    /// The session is complete.
    End,
    /// An endless loop without a request.
    EndlessLoop,
    /// A variable could not be set.
    SetFailed(RenderError),
}

/// Error class: endless loop without a request.
pub const ENDLESS_LOOP: ErrorClass =
    ErrorClass::of("session-endless-loop", ErrorSource::Configuration);
/// Error class: a template could not be rendered with the session's variables.
pub const TEMPLATE_ERROR: ErrorClass = ErrorClass::of("template-error", ErrorSource::Configuration);
/// Error class: more concurrent sessions than unique rows.
pub const UNIQUE_ROWS_EXHAUSTED: ErrorClass =
    ErrorClass::of("data-exhausted", ErrorSource::Configuration);

impl SessionState {
    /// Resets the slot for a new session.
    pub(super) fn begin(&mut self, program: &Program) {
        self.at = 0;
        self.counters.clear();
        self.counters.resize(program.counters, 0);
        self.variables.iter_mut().for_each(Value::clear);
        self.variables
            .resize_with(program.variables.len(), Value::default);
        self.jar.clear();
        self.head.clear();
    }

    /// Runs the program up to the next action.
    pub(super) fn next(
        &mut self,
        program: &Program,
        filler: &mut Filler,
        scratch: &mut Vec<u8>,
        now_ns: u64,
    ) -> Next {
        for _ in 0..OPS_MAX {
            let op = &program.ops[self.at];
            self.at += 1;
            match op {
                Op::Request(step) => {
                    return self.render_request(*step, program, filler, scratch, now_ns);
                }
                Op::End => {
                    self.at -= 1;
                    return Next::End;
                }
                &Op::Think { from_ns, to_ns } => {
                    let pause_ns = filler.between(from_ns as i64, to_ns as i64);
                    return Next::Pause(pause_ns.unsigned_abs());
                }
                Op::Set { variable, template } => {
                    scratch.clear();
                    let mut scene = RenderContext {
                        filler,
                        rows: &self.rows,
                        variables: &self.variables,
                    };
                    if let Err(unfilled) = template.render(&mut scene, scratch) {
                        return Next::SetFailed(unfilled);
                    }
                    self.variables[*variable]
                        .begin_text()
                        .extend_from_slice(scratch);
                }
                other => self.control_flow(other, filler),
            }
        }
        Next::EndlessLoop
    }

    /// Runs an operation that only changes the control flow.
    fn control_flow(&mut self, op: &Op, filler: &mut Filler) {
        match op {
            Op::Unless {
                probability,
                test,
                to,
            } => {
                // The random number is always drawn, so that conditions do not shift later random numbers.
                let lucky = *probability >= 1.0 || filler.unit() < *probability;
                if !lucky || !self.holds(test.as_ref()) {
                    self.at = *to;
                }
            }
            &Op::LoopBegin {
                counter,
                least,
                most,
            } => {
                self.counters[counter] = filler.between(i64::from(least), i64::from(most)) as u32;
            }
            Op::LoopTest { counter, test, to } => {
                if self.counters[*counter] == 0 || !self.holds(test.as_ref()) {
                    self.at = *to;
                } else {
                    self.counters[*counter] -= 1;
                }
            }
            &Op::EachBegin { counter } => self.counters[counter] = 0,
            &Op::EachTest {
                counter,
                item,
                list,
                to,
            } => {
                let at = self.counters[counter];
                self.counters[counter] += 1;
                let mut value = std::mem::take(&mut self.variables[item]);
                match self.variables[list].at(at) {
                    Some(bytes) => value.begin_text().extend_from_slice(bytes),
                    None => self.at = to,
                }
                self.variables[item] = value;
            }
            Op::Choose { sums, targets } => {
                let all = sums.last().copied().unwrap_or(0.0);
                let at = filler.unit() * all;
                let chosen = sums
                    .partition_point(|&sum| sum <= at)
                    .min(targets.len() - 1);
                self.at = targets[chosen];
            }
            Op::Jump(to) => self.at = *to,
            Op::Request(_) | Op::Set { .. } | Op::Think { .. } | Op::End => {}
        }
    }

    fn holds(&self, test: Option<&Test>) -> bool {
        match test {
            None => true,
            Some(Test::Has(variable)) => self.variables[*variable].has_any(),
            Some(Test::HasNot(variable)) => !self.variables[*variable].has_any(),
            Some(Test::Is { variable, value }) => self.variables[*variable].text() == Some(value),
        }
    }

    fn render_request(
        &mut self,
        number: u16,
        program: &Program,
        filler: &mut Filler,
        scratch: &mut Vec<u8>,
        now_ns: u64,
    ) -> Next {
        let step = &program.steps[usize::from(number)];
        let mut scene = RenderContext {
            filler,
            rows: &self.rows,
            variables: &self.variables,
        };
        let jar = &self.jar;
        let cookies = |head: &[u8], out: &mut Vec<u8>| {
            if !step.own_cookies {
                jar.write(target_of(head), now_ns, out);
            }
        };
        match step
            .made
            .write(&mut scene, cookies, scratch, &mut self.bytes)
        {
            Ok(()) => Next::Send(number),
            Err(unfilled) => Next::RenderFailed(number, unfilled),
        }
    }
}

/// The request target, from the request line.
pub(super) fn target_of(bytes: &[u8]) -> &[u8] {
    bytes.split(|&byte| byte == b' ').nth(1).unwrap_or_default()
}
