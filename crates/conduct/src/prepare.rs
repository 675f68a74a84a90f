//! Preparation before a trial: steps on the test bed, and agents that fill topics with records.

use std::time::{Duration, Instant};

use tare_lab::environment::TestBed;
use tare_schema::agent::{AgentMessage, LoadResult};
use tare_schema::def::PrepareWhen;
use tare_schema::load::{Cores, LoadPlan, LoadSpec, Reach, Stop};
use tare_schema::plan::{Cell, Preparation};

use crate::error::TrialError;
use crate::event::TrialObserver;

/// Longest time to fill a topic.
const FILL_TIMEOUT: Duration = Duration::from_secs(600);
/// Longest wait for one message; short, so that an interruption is noticed.
const POLL_TIMEOUT: Duration = Duration::from_millis(50);

/// Runs the preparation steps of a trial. Those needed once per test bed are added to `prepared`.
pub(crate) fn steps(
    cell: &Cell,
    (trial, seed): (u32, u64),
    (bed, prepared): (&mut dyn TestBed, &mut Vec<Preparation>),
    observer: &mut dyn TrialObserver,
) -> Result<(), TrialError> {
    for step in &cell.prepare {
        let once = step.when() == PrepareWhen::Start;
        if once && prepared.contains(step) {
            continue;
        }
        let own = step.of_trial(trial);
        observer.step(own.step());
        bed.prepare(&own)?;
        if let Some(load) = own.fill() {
            fill(cell, (own.step(), load), seed, bed, observer)?;
        }
        if once {
            prepared.push(step.clone());
        }
    }
    Ok(())
}

/// Removes what was created for this trial alone.
pub(crate) fn undo(cell: &Cell, trial: u32, bed: &mut dyn TestBed) {
    for step in &cell.prepare {
        if step.when() == PrepareWhen::Trial {
            // A leftover only takes disk space.
            let _ = bed.undo(&step.of_trial(trial));
        }
    }
}

/// Lets an agent of the first role write the records of a step.
fn fill(
    cell: &Cell,
    (step, load): (&str, &LoadSpec),
    seed: u64,
    bed: &mut dyn TestBed,
    observer: &mut dyn TrialObserver,
) -> Result<(), TrialError> {
    let Some(role) = cell.load.first() else {
        return Err(TrialError::Failed(format!(
            "no role can take the step `{step}`"
        )));
    };
    let load_plan = LoadPlan {
        version: tare_schema::FORMAT_VERSION,
        role: step.to_owned(),
        start_at_unix_us: None,
        seed,
        endpoint: bed.endpoint(&role.edge, &role.instance)?,
        reach: Reach::Private,
        address_overrides: Vec::new(),
        cores: Cores::Shared,
        cpu_per_exchange_ns: None,
        load: load.clone(),
    };
    let mut agent = bed.start_agent(&role.instance, &load_plan)?;
    let give_up = Instant::now() + FILL_TIMEOUT;
    let result = loop {
        if observer.interrupted() {
            return Err(TrialError::Interrupted);
        }
        if Instant::now() > give_up {
            let within = FILL_TIMEOUT.as_secs();
            return Err(TrialError::Failed(format!(
                "the step `{step}` was not done within {within} s: ask for fewer records"
            )));
        }
        match agent.next(POLL_TIMEOUT)? {
            Some(AgentMessage::Result(result)) => break result,
            Some(AgentMessage::Failed { error }) => {
                return Err(TrialError::Failed(format!("the step `{step}`: {error}")));
            }
            Some(AgentMessage::Sample(sample)) => observer.sample(step, &sample),
            _ => {}
        }
    };
    check_filled(step, load, &result)
}

fn check_filled(step: &str, load: &LoadSpec, result: &LoadResult) -> Result<(), TrialError> {
    let wanted = match load.stop {
        Stop::Count { exchanges } => exchanges,
        Stop::Duration { .. } | Stop::Interrupted => result.intended,
    };
    if result.ok == wanted {
        return Ok(());
    }
    let wrong = result.outcomes.iter().filter(|one| one.class != "ok");
    let worst = wrong.max_by_key(|one| one.count).map_or_else(
        || "the load was cut short".to_owned(),
        |one| match &one.example {
            Some(example) => format!("{} ({example})", one.class),
            None => one.class.clone(),
        },
    );
    let ok = result.ok;
    Err(TrialError::Failed(format!(
        "the step `{step}` wrote {ok} of {wanted} records: {worst}"
    )))
}
