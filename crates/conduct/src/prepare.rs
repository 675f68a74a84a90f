//! Steps before a trial: taken by the test bed, and filled by an agent where records are to be there.

use std::time::{Duration, Instant};

use tare_lab::environment::Bed;
use tare_schema::agent::{AgentMessage, LoadResult};
use tare_schema::def::PrepareWhen;
use tare_schema::load::{Cores, LoadPlan, LoadSpec, Reach, Stop};
use tare_schema::plan::{Cell, Preparation};

use crate::error::Stopped;
use crate::event::Listener;

/// Longest that a topic may take to be filled.
const FILL_WITHIN: Duration = Duration::from_secs(600);
/// Longest wait for one message; short, so that an interruption is noticed.
const PATIENCE: Duration = Duration::from_millis(50);

/// Takes the steps of a trial. Those that a test bed needs only once are noted in `taken`.
pub(crate) fn steps(
    cell: &Cell,
    (trial, seed): (u32, u64),
    (bed, taken): (&mut dyn Bed, &mut Vec<Preparation>),
    listener: &mut dyn Listener,
) -> Result<(), Stopped> {
    for step in &cell.prepare {
        let once = step.when() == PrepareWhen::Start;
        if once && taken.contains(step) {
            continue;
        }
        let own = step.of_trial(trial);
        listener.step(own.step());
        bed.prepare(&own)?;
        if let Some(load) = own.fill() {
            fill(cell, (own.step(), load), seed, bed, listener)?;
        }
        if once {
            taken.push(step.clone());
        }
    }
    Ok(())
}

/// Takes back what was made for one trial alone.
pub(crate) fn undo(cell: &Cell, trial: u32, bed: &mut dyn Bed) {
    for step in &cell.prepare {
        if step.when() == PrepareWhen::Trial {
            // What stays takes room and nothing else.
            let _ = bed.undo(&step.of_trial(trial));
        }
    }
}

/// Has an agent of the first role write a number of records.
fn fill(
    cell: &Cell,
    (step, load): (&str, &LoadSpec),
    seed: u64,
    bed: &mut dyn Bed,
    listener: &mut dyn Listener,
) -> Result<(), Stopped> {
    let Some(role) = cell.load.first() else {
        return Err(Stopped::Failed(format!(
            "no role can take the step `{step}`"
        )));
    };
    let orders = LoadPlan {
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
    let mut agent = bed.start_agent(&role.instance, &orders)?;
    let give_up = Instant::now() + FILL_WITHIN;
    let result = loop {
        if listener.interrupted() {
            return Err(Stopped::Interrupted);
        }
        if Instant::now() > give_up {
            let within = FILL_WITHIN.as_secs();
            return Err(Stopped::Failed(format!(
                "the step `{step}` was not done within {within} s: ask for fewer records"
            )));
        }
        match agent.next(PATIENCE)? {
            Some(AgentMessage::Result(result)) => break result,
            Some(AgentMessage::Failed { error }) => {
                return Err(Stopped::Failed(format!("the step `{step}`: {error}")));
            }
            Some(AgentMessage::Sample(sample)) => listener.sample(step, &sample),
            _ => {}
        }
    };
    judged(step, load, &result)
}

fn judged(step: &str, load: &LoadSpec, result: &LoadResult) -> Result<(), Stopped> {
    let wanted = match load.stop {
        Stop::Count { exchanges } => exchanges,
        Stop::Duration { .. } | Stop::Interrupted => result.intended,
    };
    if result.right == wanted {
        return Ok(());
    }
    let wrong = result.outcomes.iter().filter(|one| one.class != "right");
    let worst = wrong.max_by_key(|one| one.count).map_or_else(
        || "the load was cut short".to_owned(),
        |one| match &one.example {
            Some(example) => format!("{} ({example})", one.class),
            None => one.class.clone(),
        },
    );
    let right = result.right;
    Err(Stopped::Failed(format!(
        "the step `{step}` wrote {right} of {wanted} records: {worst}"
    )))
}
