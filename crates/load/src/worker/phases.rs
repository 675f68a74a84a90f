//! The phases of a worker: connections are opened, the load runs, what is under way is waited for.

use super::{FINAL_FAULTS_MAX, FromWorker, Opened, Phase, Worker};
use crate::arrivals::NEVER;
use crate::client::{Client, Closed};

impl<C: Client> Worker<C> {
    pub(super) fn follow_phase(&mut self, now_ns: u64) {
        if self.plan.control.is_aborted() {
            self.engine.book_mut().cut(self.plan.control.end_ns());
            self.phase = Phase::Over;
            return;
        }
        match self.phase {
            // Ended before it began: there is nothing to open connections for.
            Phase::Opening { .. } if self.plan.control.end_ns() != NEVER => {
                self.phase = Phase::Over;
            }
            Phase::Opening {
                until_ns,
                alone_until_ns,
            } => {
                let counts = self.engine.book().counts();
                let alone = counts.open == 0 && counts.connections.failed > 0;
                let refusal = self.engine.client().problem();
                let given_up = now_ns >= until_ns
                    || refusal.is_some()
                    || (alone && now_ns >= alone_until_ns)
                    || (counts.open == 0 && self.is_refused_by_tls());
                if !given_up && now_ns >= alone_until_ns {
                    self.phase = Phase::Opening {
                        until_ns,
                        alone_until_ns: NEVER,
                    };
                }
                if given_up || self.engine.is_open() {
                    let opened = Opened {
                        open: counts.open,
                        problem: self.problem.map(|why| why.to_string()),
                        refusal,
                    };
                    self.send(FromWorker::Opened(opened));
                    self.phase = Phase::Armed;
                }
            }
            Phase::Armed => {
                if let Some(start_ns) = self.plan.control.start_ns() {
                    self.begin(start_ns);
                }
            }
            Phase::Running => {
                if let Some(problem) = self.engine.client().problem() {
                    self.broke_off = Some(problem);
                    // Nor for the other workers: what they went on with would be another load than the one asked for.
                    self.plan.control.end();
                }
                self.engine.book_mut().cut(self.plan.control.end_ns());
                if self.engine.client().is_finished() {
                    self.engine.book_mut().cut(now_ns);
                }
                self.mark(now_ns);
                if self.engine.book().arrivals().is_over(now_ns) {
                    let end_ns = self.engine.book().arrivals().window_end_ns();
                    let from_ns = if end_ns == NEVER {
                        now_ns
                    } else {
                        now_ns.max(end_ns)
                    };
                    self.phase = Phase::Draining {
                        until_ns: from_ns.saturating_add(self.plan.timeout_ns),
                    };
                    self.follow_phase(now_ns);
                }
            }
            Phase::Draining { until_ns } => {
                self.engine.book_mut().cut(self.plan.control.end_ns());
                self.mark(now_ns);
                let is_marked = self.meter.next_mark_ns() == NEVER;
                if (self.engine.is_drained(now_ns) && is_marked) || now_ns >= until_ns {
                    self.phase = Phase::Over;
                }
            }
            Phase::Over => {}
        }
    }

    fn begin(&mut self, start_ns: u64) {
        self.start_ns = start_ns;
        self.engine.begin(start_ns);
        let window_start_ns = self.engine.book().arrivals().window_start_ns();
        self.meter.begin(window_start_ns);
        // Without a warm-up the window begins now, before the first byte goes.
        self.meter
            .mark(start_ns, NEVER, self.bytes(), self.sleeper.spun_ns());
        self.next_tick_ns = start_ns.saturating_add(self.plan.sample_every_ns);
        self.phase = Phase::Running;
    }

    pub(super) fn mark(&mut self, now_ns: u64) {
        let arrivals = self.engine.book().arrivals();
        let mut end_ns = arrivals.window_end_ns();
        if end_ns == NEVER && self.engine.is_drained(now_ns) {
            // A closed loop by count ends with its last exchange.
            end_ns = now_ns;
        }
        self.meter
            .mark(now_ns, end_ns, self.bytes(), self.sleeper.spun_ns());
    }

    /// Bytes sent and received so far.
    pub(super) fn bytes(&self) -> (u64, u64) {
        (self.io.sockets.bytes_sent, self.io.bytes_received)
    }

    /// Gives up where every exchange must fail alike, as with a certificate the server refuses only after the handshake.
    pub(super) fn despair(&mut self, why: Closed) {
        let is_final = match why {
            Closed::Tls(fault) => fault.is_final(),
            Closed::Refused | Closed::Unreachable => {
                self.engine.book().counts().connections.opened == 0
            }
            _ => false,
        };
        self.final_faults += u32::from(is_final);
        if self.final_faults >= FINAL_FAULTS_MAX
            && self.phase == Phase::Running
            && self.engine.book().counts().all.right == 0
        {
            self.hopeless = Some(why);
            self.phase = Phase::Over;
        }
    }

    /// Whether TLS was refused so often that a server which still starts is no explanation.
    fn is_refused_by_tls(&self) -> bool {
        let is_final = matches!(self.problem, Some(Closed::Tls(fault)) if fault.is_final());
        is_final && self.final_faults >= FINAL_FAULTS_MAX
    }
}
