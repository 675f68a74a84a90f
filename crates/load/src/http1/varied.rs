//! Plain requests with random parts, or with a regular expression over their answers.

use std::sync::Arc;

use super::made::{Looked, Made};
use super::requests::{Outgoing, Requests};
use super::wrong::Wrong;
use crate::client::Due;
use crate::template::{Filler, Scene};

/// Requests of one worker, put together one after the other in the same buffer.
#[derive(Debug)]
pub struct Varied {
    requests: Arc<[Made]>,
    filler: Filler,
    rows: Vec<u32>,
    body: Vec<u8>,
    bytes: Vec<u8>,
}

impl Varied {
    /// Of one worker.
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
    type Progress = Looked;

    const READS_HEADS: bool = false;

    #[inline]
    fn outgoing(&mut self, due: Due) -> Outgoing<'_> {
        for table in 0..self.rows.len() {
            self.rows[table] = self.filler.take_row(table);
        }
        let request = &self.requests[usize::from(due.request) % self.requests.len()];
        let mut scene = Scene {
            filler: &mut self.filler,
            rows: &self.rows,
            variables: &[],
        };
        let written = request.write(&mut scene, |_, _| {}, &mut self.body, &mut self.bytes);
        // Everything it is filled with was checked when it was compiled, and there are no variables.
        assert!(written.is_ok(), "a plain request can always be filled");
        Outgoing {
            bytes: &self.bytes,
            kind: request.kind,
        }
    }

    #[inline]
    fn restart(looked: &mut Looked) {
        looked.restart();
    }

    #[inline]
    fn body(&mut self, due: Due, looked: &mut Looked, slice: &[u8]) {
        let check = &self.at(due).check;
        looked.push(check, check.keep_bytes(), slice);
    }

    #[inline]
    fn judge(
        &mut self,
        due: Due,
        looked: &mut Looked,
        status: u16,
        _seen_ns: u64,
    ) -> Result<(), Wrong> {
        self.at(due).check.judge(looked, status)
    }
}
