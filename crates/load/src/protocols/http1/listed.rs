//! Requests from a list of paths: each is written around its path when it is sent.

use std::sync::Arc;

use tare_record::load::{LoadPlan, RequestSpec};

use super::codec::{BodyProgress, RequestKind};
use super::mismatch::ResponseMismatch;
use super::request::{Expected, Prepared};
use super::requests::{Outgoing, RequestSource};
use crate::client::DueExchange;
use crate::generator::{PlanError, prepare};
use crate::paths::{PathIndex, PathReader};

/// What is the same in all requests of a route.
#[derive(Debug)]
struct ListedRoute {
    /// The method and a space.
    before: Box<[u8]>,
    /// From the space after the path to the end of the head.
    after: Box<[u8]>,
    kind: RequestKind,
}

/// The requests of one worker.
#[derive(Debug)]
pub struct ListedRequests {
    routes: Arc<[ListedRoute]>,
    /// Every route expects the same.
    expected: Expected,
    reader: PathReader,
    bytes: Vec<u8>,
}

/// Prepares the routes of a plan; the function makes the requests of a worker.
///
/// # Errors
/// When a request cannot be sent, or two routes expect different responses.
pub(super) fn compile(
    plan: &LoadPlan,
    index: PathIndex,
) -> Result<impl Fn() -> ListedRequests, PlanError> {
    let prepared = prepare(plan, Prepared::new)?;
    let specs = &plan.load.requests;
    let Some((first, expected)) = specs.first().zip(prepared.first()) else {
        return Err(PlanError::Invalid("the list has no routes".into()));
    };
    if specs.iter().any(|spec| spec.expect != first.expect) {
        let why = "the routes of a list of paths expect different responses: give all the same";
        return Err(PlanError::Invalid(why.into()));
    }
    let expected = expected.expected.clone();
    let routes = specs.iter().zip(&*prepared).map(|(spec, prepared)| {
        let (before, after) = around_path(spec, &prepared.bytes);
        ListedRoute {
            before: before.into(),
            after: after.into(),
            kind: prepared.kind,
        }
    });
    let routes: Arc<[ListedRoute]> = routes.collect();
    Ok(move || ListedRequests {
        routes: Arc::clone(&routes),
        expected: expected.clone(),
        reader: index.reader(),
        bytes: Vec::new(),
    })
}

/// An encoded request before and after its path.
fn around_path<'a>(spec: &RequestSpec, bytes: &'a [u8]) -> (&'a [u8], &'a [u8]) {
    let (before, rest) = bytes.split_at(spec.method.len() + 1);
    (before, &rest[spec.path.len()..])
}

impl RequestSource for ListedRequests {
    type Progress = BodyProgress;

    const READS_HEADS: bool = false;

    #[inline]
    fn outgoing(&mut self, due: DueExchange) -> Outgoing<'_> {
        let (route, path) = self.reader.line(due.request);
        let route = &self.routes[usize::from(route)];
        self.bytes.clear();
        self.bytes.extend_from_slice(&route.before);
        self.bytes.extend_from_slice(path);
        self.bytes.extend_from_slice(&route.after);
        Outgoing {
            bytes: &self.bytes,
            kind: route.kind,
        }
    }

    #[inline]
    fn restart(progress: &mut BodyProgress) {
        *progress = BodyProgress::default();
    }

    #[inline]
    fn body(&mut self, _due: DueExchange, progress: &mut BodyProgress, slice: &[u8]) {
        progress.push(&self.expected.body, slice);
    }

    #[inline]
    fn judge(
        &mut self,
        _due: DueExchange,
        progress: &mut BodyProgress,
        status: u16,
        _seen_ns: u64,
    ) -> Result<(), ResponseMismatch> {
        self.expected.judge(progress, status)
    }
}
