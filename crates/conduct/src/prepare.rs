//! Preparation before a trial: steps on the test bed, and agents that fill topics with records.

use std::time::{Duration, Instant};

use tare_lab::LabError;
use tare_lab::environment::TestBed;
use tare_record::agent::{AgentMessage, LoadResult};
use tare_record::load::{AddressPolicy, Cores, LoadPlan, LoadSpec, Stop};
use tare_record::plan::{Ask, Cell, Preparation, PrepareWhen, PreparedTopic};

use crate::error::TrialError;
use crate::event::TrialObserver;

/// Longest time to fill a topic.
const FILL_TIMEOUT: Duration = Duration::from_secs(600);
/// Longest wait for one message; short, so that an interruption is noticed.
const POLL_TIMEOUT: Duration = Duration::from_millis(50);
/// Length of a wrong response in an error.
const ANSWER_CHARS_MAX: usize = 400;

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
        prepare(&own, bed)?;
        if let Some(load) = own.fill() {
            fill(cell, (own.step(), load), seed, bed, observer)?;
        }
        if once {
            prepared.push(step.clone());
        }
    }
    Ok(())
}

/// Removes the topics that were created for this trial alone; the effect of a request stays.
pub(crate) fn undo(cell: &Cell, trial: u32, bed: &mut dyn TestBed) {
    let own = cell.prepare.iter();
    let own = own.filter(|step| step.when() == PrepareWhen::Trial);
    for topic in own.filter_map(PreparedTopic::of) {
        // A leftover only takes disk space.
        let _ = bed
            .topics()
            .and_then(|topics| topics.delete(&topic.of_trial(trial)));
    }
}

/// Runs a step; the records of a topic are written afterwards.
fn prepare(step: &Preparation, bed: &mut dyn TestBed) -> Result<(), LabError> {
    match step {
        Preparation::Topic {
            partitions,
            replicas,
            ..
        } => PreparedTopic::of(step).map_or(Ok(()), |topic| {
            bed.topics()?.create(&topic, *partitions, *replicas)
        }),
        Preparation::Request { step, ask } => request(step, ask, bed),
    }
}

/// Sends the request of a step, which must be answered as expected.
fn request(step: &str, ask: &Ask, bed: &mut dyn TestBed) -> Result<(), LabError> {
    let failed = |reason: String| LabError::Plan(format!("the step `{step}`: {reason}"));
    let answer = bed.ask(ask).map_err(|error| failed(error.to_string()))?;
    let expect = &ask.request.expect;
    expect.judge(answer.status, &answer.text).map_err(|wrong| {
        let words: String = answer.text.chars().take(ANSWER_CHARS_MAX).collect();
        failed(format!("it was answered {wrong}: {words}"))
    })
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
        version: tare_record::FORMAT_VERSION,
        role: step.to_owned(),
        start_at_unix_us: None,
        start_lead_ns: None,
        seed,
        endpoint: bed.endpoint(&role.edge, &role.instance)?,
        allowed_addresses: AddressPolicy::Private,
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
