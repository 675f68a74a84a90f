//! Evidence after a trial: that the traffic took the way the arm says, and that all adds up.

use std::time::{Duration, Instant};

use tare_lab::LabError;
use tare_lab::environment::{Bed, InstanceCounters};
use tare_schema::plan::{Audit, Cell, Plan};
use tare_schema::record::{Audited, Proof, TrialRecord};

use crate::error::is_ours;
use crate::proof::COPIES;
use crate::traffic::{self, Sent};
use crate::{clock, proof};

/// How long calls that nobody waits for may take to be made after the last answer.
const SETTLES_WITHIN: Duration = Duration::from_secs(3);
/// Between two readings of counters.
const PAUSE: Duration = Duration::from_millis(100);
/// So much of an audit's answer is kept.
const WORDS_MAX: usize = 2000;

/// Reads the counters again and holds them against what was sent, then asks what the workload wants asked. The counters are
/// given back.
pub(crate) fn gather(
    plan: &Plan,
    cell: &Cell,
    before: &[InstanceCounters],
    bed: &mut dyn Bed,
    record: &mut TrialRecord,
) -> Result<Vec<InstanceCounters>, LabError> {
    let sent = traffic::sent(cell, &record.load);
    let (after, proofs) = settled(plan, cell, &sent, before, bed)?;
    record.proofs = proofs;
    for audit in &cell.audit {
        record.audits.push(audited(audit, bed)?);
    }
    Ok(after)
}

/// Counters and proofs. Calls that follow from requests, and copies, may follow the answers: what does not hold at once is looked
/// at again for a while. Counters only grow, so a call too many is not waited away.
fn settled(
    plan: &Plan,
    cell: &Cell,
    sent: &[Sent],
    before: &[InstanceCounters],
    bed: &mut dyn Bed,
) -> Result<(Vec<InstanceCounters>, Vec<Proof>), LabError> {
    let follows = cell.load.iter().any(|role| !role.calls.is_empty());
    let deadline = Instant::now() + SETTLES_WITHIN;
    loop {
        let after = bed.counters()?;
        let proofs = proof::prove(plan, cell, sent, before, &after);
        let mut broken = proofs.iter().filter(|proof| !proof.holds).peekable();
        let holds = broken.peek().is_none();
        let may_settle = follows || broken.any(|proof| proof.what == COPIES);
        if holds || !may_settle || Instant::now() >= deadline {
            return Ok((after, proofs));
        }
        clock::pause(PAUSE);
    }
}

/// Asks one question. No answer is an answer, too; only a broken laboratory is an error.
fn audited(audit: &Audit, bed: &mut dyn Bed) -> Result<Audited, LabError> {
    let request = &audit.ask.request;
    let (found, holds) = match bed.ask(&audit.ask) {
        Ok(answer) => match request.expect.judge(answer.status, &answer.text) {
            Ok(()) => (answer.status.to_string(), true),
            Err(wrong) => {
                let words: String = answer.text.trim().chars().take(WORDS_MAX).collect();
                (format!("{wrong}: {words}"), false)
            }
        },
        Err(error) if is_ours(&error) => return Err(error),
        Err(error) => (error.to_string(), false),
    };
    Ok(Audited {
        about: audit.about.clone(),
        asked: format!("{} {}", request.method, request.path),
        found,
        holds,
    })
}
