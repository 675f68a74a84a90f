//! Evidence after a trial: path proofs, repeated until counters have settled, and audits.

use std::time::{Duration, Instant};

use tare_lab::LabError;
use tare_lab::environment::{InstanceCounters, TestBed};
use tare_record::plan::{Audit, Cell, Plan};
use tare_record::record::{AuditResult, Proof, TrialRecord};

use crate::proof::{self, COPIES};
use crate::traffic::{self, SentTraffic};

/// Longest wait after the load for asynchronous calls and replication to show in the counters.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(3);
/// Pause between two readings of the counters.
const PAUSE: Duration = Duration::from_millis(100);
/// Characters of an audit's answer that are kept.
const ANSWER_CHARS_MAX: usize = 2000;

/// Reads the counters again, compares them with what was sent, and runs the audits of the workload. Returns the counters.
pub(crate) fn gather(
    plan: &Plan,
    cell: &Cell,
    before: &[InstanceCounters],
    bed: &mut dyn TestBed,
    record: &mut TrialRecord,
) -> Result<Vec<InstanceCounters>, LabError> {
    let sent = traffic::sent(cell, &record.load);
    let (after, proofs) = settled_proofs(plan, cell, &sent, before, bed)?;
    record.proofs = proofs;
    for audit in &cell.audit {
        record.audits.push(run_audit(audit, bed)?);
    }
    Ok(after)
}

/// Counters and proofs. Calls made by the application, and replication, may end after the last answer: failed proofs are
/// repeated until [`SETTLE_TIMEOUT`]. Counters only grow, so waiting cannot hide a call too many.
fn settled_proofs(
    plan: &Plan,
    cell: &Cell,
    sent: &[SentTraffic],
    before: &[InstanceCounters],
    bed: &mut dyn TestBed,
) -> Result<(Vec<InstanceCounters>, Vec<Proof>), LabError> {
    let follows = cell.load.iter().any(|role| !role.calls.is_empty());
    let deadline = Instant::now() + SETTLE_TIMEOUT;
    loop {
        let after = bed.counters()?;
        let proofs = proof::prove(plan, cell, sent, before, &after);
        let mut broken = proofs.iter().filter(|proof| !proof.passed).peekable();
        let holds = broken.peek().is_none();
        let may_settle = follows || broken.any(|proof| proof.check == COPIES);
        if holds || !may_settle || Instant::now() >= deadline {
            return Ok((after, proofs));
        }
        std::thread::sleep(PAUSE);
    }
}

/// Sends the request of one audit. A request that fails is a failed audit; only an infrastructure error is returned as such.
fn run_audit(audit: &Audit, bed: &mut dyn TestBed) -> Result<AuditResult, LabError> {
    let request = &audit.ask.request;
    let (found, holds) = match bed.ask(&audit.ask) {
        Ok(answer) => match request.expect.judge(answer.status, &answer.text) {
            Ok(()) => (answer.status.to_string(), true),
            Err(wrong) => {
                let words: String = answer.text.trim().chars().take(ANSWER_CHARS_MAX).collect();
                (format!("{wrong}: {words}"), false)
            }
        },
        Err(error) if error.is_ours() => return Err(error),
        Err(error) => (error.to_string(), false),
    };
    Ok(AuditResult {
        about: audit.about.clone(),
        request: format!("{} {}", request.method, request.path),
        actual: found,
        passed: holds,
    })
}
