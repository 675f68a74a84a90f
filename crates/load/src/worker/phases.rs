//! Phases of a worker: opening connections, running, draining.

use super::permanent::Reach;
use super::{ConnectionsOpened, Phase, Worker, WorkerMessage};
use crate::arrivals::NEVER;
use crate::client::{Client, Closed};

impl<C: Client> Worker<C> {
    pub(super) fn advance_phase(&mut self, now_ns: u64) {
        if self.plan.control.is_aborted() {
            self.engine
                .recorder_mut()
                .end_window_at(self.plan.control.end_ns());
            self.phase = Phase::Over;
            return;
        }
        match self.phase {
            // Ended before it began: no connections are needed.
            Phase::Opening { .. } if self.plan.control.end_ns() != NEVER => {
                self.phase = Phase::Over;
            }
            Phase::Opening {
                until_ns,
                no_connection_until_ns,
            } => {
                let counts = self.engine.recorder().counts();
                let is_none_open = counts.open == 0 && counts.connections.failed > 0;
                let refusal = self.engine.client().problem();
                let given_up = now_ns >= until_ns
                    || refusal.is_some()
                    || (is_none_open && now_ns >= no_connection_until_ns)
                    || (counts.open == 0 && self.is_refused_by_tls());
                if !given_up && now_ns >= no_connection_until_ns {
                    self.phase = Phase::Opening {
                        until_ns,
                        no_connection_until_ns: NEVER,
                    };
                }
                if given_up || self.engine.is_open() {
                    let opened = ConnectionsOpened {
                        open: counts.open,
                        problem: self.problem.map(|why| why.to_string()),
                        refusal,
                    };
                    self.send(WorkerMessage::ConnectionsOpened(opened));
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
                    self.abort_reason = Some(problem);
                    // The other workers stop, too: without this one the load is another one than planned.
                    self.plan.control.end();
                }
                self.engine
                    .recorder_mut()
                    .end_window_at(self.plan.control.end_ns());
                if self.engine.client().is_finished() {
                    self.engine.recorder_mut().end_window_at(now_ns);
                }
                self.read_if_due(now_ns);
                if self.engine.recorder().arrivals().is_over(now_ns) {
                    self.is_complete = true;
                    let end_ns = self.engine.recorder().arrivals().window_end_ns();
                    let from_ns = if end_ns == NEVER {
                        now_ns
                    } else {
                        now_ns.max(end_ns)
                    };
                    self.phase = Phase::Draining {
                        until_ns: from_ns.saturating_add(self.plan.timeout_ns),
                    };
                    self.advance_phase(now_ns);
                }
            }
            Phase::Draining { until_ns } => {
                self.engine
                    .recorder_mut()
                    .end_window_at(self.plan.control.end_ns());
                self.read_if_due(now_ns);
                let is_read = self.meter.next_reading_ns() == NEVER;
                let is_over = now_ns >= until_ns
                    || is_read && self.engine.is_settled(now_ns, &mut self.io.sockets);
                if is_over {
                    self.phase = Phase::Over;
                }
            }
            Phase::Over => {}
        }
    }

    fn begin(&mut self, start_ns: u64) {
        self.start_ns = start_ns;
        self.engine.begin(start_ns);
        let window_start_ns = self.engine.recorder().arrivals().window_start_ns();
        self.meter.begin(window_start_ns);
        // Without a warm-up the window starts now, before the first byte is sent.
        self.meter
            .read_if_due(start_ns, NEVER, self.bytes(), self.sleeper.spun_ns());
        self.next_tick_ns = start_ns.saturating_add(self.plan.sample_every_ns);
        self.phase = Phase::Running;
    }

    pub(super) fn read_if_due(&mut self, now_ns: u64) {
        let arrivals = self.engine.recorder().arrivals();
        let mut end_ns = arrivals.window_end_ns();
        if end_ns == NEVER && self.engine.is_drained(now_ns) {
            // A closed loop by count ends with its last exchange.
            end_ns = now_ns;
        }
        self.meter
            .read_if_due(now_ns, end_ns, self.bytes(), self.sleeper.spun_ns());
    }

    /// Bytes sent and received so far.
    pub(super) fn bytes(&self) -> (u64, u64) {
        (self.io.sockets.bytes_sent, self.io.bytes_received)
    }

    /// Ends the load on a permanent error, such as a client certificate rejected after the handshake. The other workers stop, too:
    /// without this one the load is another one than planned.
    pub(super) fn abort_if_permanent(&mut self, why: Closed) {
        let is_running = self.phase == Phase::Running;
        let reach = match (is_running, self.plan.control.is_reached()) {
            (false, _) => Reach::NotBegun,
            (true, false) => Reach::NotReached,
            (true, true) => Reach::Reached,
        };
        let is_permanent = self.permanent_errors.add(why, reach);
        if is_permanent && is_running && self.engine.recorder().counts().exchanges().ok == 0 {
            self.permanent_failure = Some(why);
            self.plan.control.end();
            self.phase = Phase::Over;
        }
    }

    /// Whether TLS failed permanently so often that it is not a server that is still starting.
    fn is_refused_by_tls(&self) -> bool {
        let is_final = matches!(self.problem, Some(Closed::Tls(fault)) if fault.is_final());
        is_final && self.permanent_errors.is_refused_by_tls()
    }
}
