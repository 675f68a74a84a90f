//! Requests outside of sessions that have random parts, or a regular expression that the response must match.

use std::sync::Arc;

use super::made::{BodyScan, Made};
use super::mismatch::ResponseMismatch;
use super::requests::{Outgoing, Requests};
use crate::client::Due;
use crate::template::{Filler, RenderContext};

/// Templated requests of one worker, rendered one after the other into the same buffer.
#[derive(Debug)]
pub struct Varied {
    requests: Arc<[Made]>,
    filler: Filler,
    rows: Vec<u32>,
    body: Vec<u8>,
    bytes: Vec<u8>,
}

impl Varied {
    /// The requests of one worker.
    #[must_use]
    pub fn new(requests: Arc<[Made]>, filler: Filler) -> Self {
        Self {
            rows: vec![0; filler.tables().len()],
            requests,
            filler,
            body: Vec::new(),
            bytes: Vec::new(),
        }
    }

    #[inline]
    fn at(&self, due: Due) -> &Made {
        &self.requests[usize::from(due.request) % self.requests.len()]
    }
}

impl Requests for Varied {
    type Progress = BodyScan;

    const READS_HEADS: bool = false;

    #[inline]
    fn outgoing(&mut self, due: Due) -> Outgoing<'_> {
        for table in 0..self.rows.len() {
            self.rows[table] = self.filler.take_row(table);
        }
        let request = &self.requests[usize::from(due.request) % self.requests.len()];
        let mut scene = RenderContext {
            filler: &mut self.filler,
            rows: &self.rows,
            variables: &[],
        };
        let written = request.write(&mut scene, |_, _| {}, &mut self.body, &mut self.bytes);
        // All values were checked when the template was compiled, and there are no variables.
        assert!(written.is_ok(), "a plain request can always be filled");
        Outgoing {
            bytes: &self.bytes,
            kind: request.kind,
        }
    }

    #[inline]
    fn restart(scan: &mut BodyScan) {
        scan.restart();
    }

    #[inline]
    fn body(&mut self, due: Due, scan: &mut BodyScan, slice: &[u8]) {
        let check = &self.at(due).check;
        scan.push(check, check.keep_bytes(), slice);
    }

    #[inline]
    fn judge(
        &mut self,
        due: Due,
        scan: &mut BodyScan,
        status: u16,
        _seen_ns: u64,
    ) -> Result<(), ResponseMismatch> {
        self.at(due).check.judge(scan, status)
    }
}
