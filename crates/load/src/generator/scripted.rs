//! Compiles the session of a plan.

use std::sync::Arc;

use tare_record::load::session::SESSION_NAME;
use tare_record::load::{LoadPlan, SessionSpec};

use super::PlanError;
use crate::clock::{monotonic_ns, realtime_ns};
use crate::protocols::{ConnectionSecurity, http1};
use crate::session::{DryRunStep, Program, SessionRequests, SessionRequestsPlan, dry_run};
use crate::template::FillerStart;

/// Most sessions in flight in one worker, whatever the rate and their length.
pub(super) const SESSIONS_MAX: usize = 1 << 16;

/// A compiled session, and the initial state of each worker's filler.
pub(super) struct Session {
    program: Arc<Program>,
    start: FillerStart,
    security: ConnectionSecurity,
}

impl Session {
    /// Compiles the session.
    ///
    /// # Errors
    /// When one of its requests cannot be sent.
    pub(super) fn of(plan: &LoadPlan, spec: &SessionSpec) -> Result<Self, PlanError> {
        if plan.load.client.protocol != http1::NAME {
            return Err(PlanError::SessionProtocol);
        }
        let program = Program::new(spec, &plan.load.mix.tables, &plan.endpoint.host)
            .map_err(|(name, why)| PlanError::request(&name, &why))?;
        let mut start = FillerStart::of(plan);
        start.cycles = program.cycles;
        Ok(Self {
            program: program.into(),
            start,
            security: ConnectionSecurity::of(&plan.load.transport),
        })
    }

    pub(super) fn scripted(&self, worker: u32, workers: u32) -> SessionRequests {
        SessionRequests::new(SessionRequestsPlan {
            program: Arc::clone(&self.program),
            filler: self.start.filler(worker, workers),
            part: (worker, workers),
            security: self.security,
            clock: (monotonic_ns(), (realtime_ns() / 1_000_000_000) as i64),
        })
    }
}

/// Runs one session of a plan as its first worker would, without sending; see [`crate::session::dry_run`]. Empty without a
/// session.
///
/// # Errors
/// When the plan is invalid, or its session cannot be compiled.
pub fn dry_run_plan(plan: &LoadPlan) -> Result<Vec<DryRunStep>, PlanError> {
    super::check::check(plan)?;
    match &plan.load.mix.session {
        Some(spec) => Ok(dry_run(Session::of(plan, spec)?.scripted(0, 1))),
        None => Ok(Vec::new()),
    }
}

/// The names of the series, in the order of their numbers.
pub(super) fn names(plan: &LoadPlan) -> Vec<String> {
    match &plan.load.mix.session {
        Some(session) => session
            .request_steps()
            .iter()
            .map(|step| step.request.name.clone())
            .chain([SESSION_NAME.to_owned()])
            .collect(),
        None => plan
            .load
            .requests
            .iter()
            .map(|request| request.name.clone())
            .collect(),
    }
}
