//! Compiles the requests of a plan that are rendered anew for every exchange.

use std::sync::Arc;

use tare_schema::load::{ExpectBody, LoadPlan, Parts, RequestSpec};

use super::PlanError;
use crate::clock::realtime_ns;
use crate::protocols::http1::made::Made;
use crate::protocols::http1::varied::Varied;
use crate::template::{Filler, Moment, Names};

/// Compiled requests, and the initial state of each worker's filler.
pub(crate) struct CompiledTemplates {
    requests: Arc<[Made]>,
    start: FillerStart,
}

/// Initial state of each worker's filler.
pub(super) struct FillerStart {
    seed: u64,
    tables: Arc<[tare_schema::load::Table]>,
    pub(super) cycles: usize,
    pub(super) now: Moment,
}

impl FillerStart {
    pub(super) fn of(plan: &LoadPlan) -> Self {
        Self {
            seed: plan.seed,
            tables: plan.load.mix.tables.clone().into(),
            cycles: 0,
            now: Moment::of_unix((realtime_ns() / 1_000_000_000) as i64),
        }
    }

    pub(super) fn filler(&self, worker: u32, workers: u32) -> Filler {
        let tables = Arc::clone(&self.tables);
        Filler::new(self.seed, (worker, workers), tables, self.cycles, self.now)
    }
}

/// Whether any request cannot be prepared in advance.
pub(crate) fn is_needed(requests: &[RequestSpec]) -> bool {
    requests.iter().any(|request| {
        request.parts != Parts::Literal || matches!(request.expect.body, ExpectBody::Matches { .. })
    })
}

impl CompiledTemplates {
    /// Compiles all requests.
    ///
    /// # Errors
    /// When a request cannot be sent.
    pub(crate) fn of(plan: &LoadPlan) -> Result<Self, PlanError> {
        let mut start = FillerStart::of(plan);
        let mut requests = Vec::new();
        for spec in &plan.load.requests {
            let mut names = Names {
                tables: &plan.load.mix.tables,
                variables: None,
                cycles: &mut start.cycles,
            };
            let made = Made::new(spec, &plan.endpoint.host, &mut names);
            requests.push(made.map_err(|source| PlanError::Request {
                name: spec.name.clone(),
                source,
            })?);
        }
        Ok(Self {
            requests: requests.into(),
            start,
        })
    }

    /// The requests for one worker.
    pub(crate) fn varied(&self, worker: u32, workers: u32) -> Varied {
        Varied::new(
            Arc::clone(&self.requests),
            self.start.filler(worker, workers),
        )
    }
}
