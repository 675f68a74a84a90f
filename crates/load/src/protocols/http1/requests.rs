//! Source of requests and check of responses, as a type parameter of the client: prepared requests are sent without any work
//! per exchange.

use std::fmt::Debug;
use std::sync::Arc;

use super::codec::{BodyProgress, Head, Keep, RequestKind};
use super::mismatch::ResponseMismatch;
use super::request::Prepared;
use crate::client::DueExchange;

/// An encoded request.
#[derive(Debug, Clone, Copy)]
pub struct Outgoing<'a> {
    /// The whole request.
    pub bytes: &'a [u8],
    /// Determines the framing of the response.
    pub kind: RequestKind,
}

/// Produces requests and checks responses.
pub trait RequestSource: Debug {
    /// Check state of one response; one per connection.
    type Progress: Debug + Default;

    /// Whether it reads response heads.
    const READS_HEADS: bool;

    /// The request of an exchange.
    fn outgoing(&mut self, due: DueExchange) -> Outgoing<'_>;
    /// Resets the check state for the next response.
    fn restart(progress: &mut Self::Progress);
    /// Which part of the response head to keep.
    fn keep(&self, _due: DueExchange) -> Keep {
        Keep::Nothing
    }
    /// Receives the head of a response, and the part of it that was kept.
    fn head(
        &mut self,
        _due: DueExchange,
        _progress: &mut Self::Progress,
        _head: &Head,
        _kept: &[u8],
    ) {
    }
    /// Receives the next slice of the body.
    fn body(&mut self, due: DueExchange, progress: &mut Self::Progress, slice: &[u8]);
    /// Checks a complete response, which was read at `seen_ns`.
    ///
    /// # Errors
    /// The first difference from what is expected.
    fn judge(
        &mut self,
        due: DueExchange,
        progress: &mut Self::Progress,
        status: u16,
        seen_ns: u64,
    ) -> Result<(), ResponseMismatch>;
}

impl RequestSource for Arc<[Prepared]> {
    type Progress = BodyProgress;

    const READS_HEADS: bool = false;

    #[inline]
    fn outgoing(&mut self, due: DueExchange) -> Outgoing<'_> {
        let request = at(self, due);
        Outgoing {
            bytes: &request.bytes,
            kind: request.kind,
        }
    }

    #[inline]
    fn restart(progress: &mut BodyProgress) {
        *progress = BodyProgress::default();
    }

    #[inline]
    fn body(&mut self, due: DueExchange, progress: &mut BodyProgress, slice: &[u8]) {
        progress.push(&at(self, due).expected.body, slice);
    }

    #[inline]
    fn judge(
        &mut self,
        due: DueExchange,
        progress: &mut BodyProgress,
        status: u16,
        _seen_ns: u64,
    ) -> Result<(), ResponseMismatch> {
        at(self, due).expected.judge(progress, status)
    }
}

#[inline]
fn at(requests: &[Prepared], due: DueExchange) -> &Prepared {
    &requests[due.request as usize % requests.len()]
}
