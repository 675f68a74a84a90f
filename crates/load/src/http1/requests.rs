//! What a pool sends and what it makes of answers, compiled into it: requests that stand ready cost nothing but their send.

use std::fmt::Debug;
use std::sync::Arc;

use super::codec::{BodyProgress, Keep, RequestKind};
use super::request::Prepared;
use super::wrong::Wrong;
use crate::client::Due;

/// What goes on the wire.
#[derive(Debug, Clone, Copy)]
pub struct Outgoing<'a> {
    /// The whole request.
    pub bytes: &'a [u8],
    /// What the framing of its answer depends on.
    pub kind: RequestKind,
}

/// A way of making requests and judging answers.
pub trait Requests: Debug {
    /// How far an answer has been looked at; one for each connection.
    type Progress: Debug + Default;

    /// Whether it looks at the heads of answers.
    const READS_HEADS: bool;

    /// What goes on the wire for an exchange.
    fn outgoing(&mut self, due: Due) -> Outgoing<'_>;
    /// Of an answer that nothing has come of.
    fn restart(progress: &mut Self::Progress);
    /// What to keep of the answer's head.
    fn keep(&self, _due: Due) -> Keep {
        Keep::Nothing
    }
    /// What was kept of the head.
    fn head(&mut self, _due: Due, _kept: &[u8]) {}
    /// The next slice of the body.
    fn body(&mut self, due: Due, progress: &mut Self::Progress, slice: &[u8]);
    /// A whole answer, seen at that time: is it right?
    ///
    /// # Errors
    /// Why it is not.
    fn judge(
        &mut self,
        due: Due,
        progress: &mut Self::Progress,
        status: u16,
        seen_ns: u64,
    ) -> Result<(), Wrong>;
}

impl Requests for Arc<[Prepared]> {
    type Progress = BodyProgress;

    const READS_HEADS: bool = false;

    #[inline]
    fn outgoing(&mut self, due: Due) -> Outgoing<'_> {
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
    fn body(&mut self, due: Due, progress: &mut BodyProgress, slice: &[u8]) {
        progress.push(&at(self, due).body, slice);
    }

    #[inline]
    fn judge(
        &mut self,
        due: Due,
        progress: &mut BodyProgress,
        status: u16,
        _seen_ns: u64,
    ) -> Result<(), Wrong> {
        let request = at(self, due);
        if !request.accepts(status) {
            return Err(Wrong::Status(status));
        }
        Ok(progress.finish(&request.body)?)
    }
}

#[inline]
fn at(requests: &[Prepared], due: Due) -> &Prepared {
    &requests[usize::from(due.request) % requests.len()]
}
