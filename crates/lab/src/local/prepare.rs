//! Steps before a trial: a fresh topic on the brokers of a bed, a request that loads data.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tare_schema::plan::Preparation;

use super::ask;
use super::bed::Placed;
use super::layout::stem;
use crate::LabError;
use crate::broker::{self, Topic};
use crate::door::Door;
use crate::process;

/// Limit of a step.
const WITHIN: Duration = Duration::from_secs(60);
/// So much of a wrong answer is told.
const WORDS_MAX: usize = 400;
/// Between looks.
const PAUSE: Duration = Duration::from_millis(10);

/// A broker: its name, the way to it, and where it is asked.
type Broker = (String, Door, String);

/// Takes a step. What is to be written into a topic is an agent's task.
pub(super) fn prepare(placed: &Placed, step: &Preparation) -> Result<(), LabError> {
    match step {
        Preparation::Topic {
            step,
            part,
            port,
            topic,
            partitions,
            replicas,
            ..
        } => {
            let topic = Topic {
                name: topic.clone(),
                partitions: *partitions,
                replicas: *replicas,
            };
            make_topic(placed, (step, part, port), &topic)
        }
        Preparation::Request { step, ask } => {
            let said = |reason: String| LabError::Plan(format!("the step `{step}`: {reason}"));
            let answer = ask::ask(placed, ask).map_err(|error| said(error.to_string()))?;
            let expect = &ask.request.expect;
            expect.judge(answer.status, &answer.text).map_err(|wrong| {
                let words: String = answer.text.chars().take(WORDS_MAX).collect();
                said(format!("it was answered {wrong}: {words}"))
            })
        }
    }
}

/// A topic on the brokers of a part, asked of one of its ports.
fn make_topic(
    placed: &Placed,
    (name, part, port): (&str, &str, &str),
    topic: &Topic,
) -> Result<(), LabError> {
    let brokers = brokers(placed, (name, part, port))?;
    let Some((first, door, at)) = brokers.first() else {
        return Err(LabError::Plan(format!(
            "the step `{name}` is for the part `{part}`, which has no instance"
        )));
    };
    let until = Instant::now() + WITHIN;
    broker::create(door, at, topic, until).map_err(|reason| {
        LabError::Plan(format!("the step `{name}`, asked of {first}: {reason}"))
    })?;
    // Each broker learns of it by itself; a client may ask any of them.
    for (instance, door, at) in &brokers {
        while let Err(answer) = broker::is_whole(door, at, topic, until) {
            if Instant::now() >= until {
                return Err(LabError::NotReady {
                    instance: instance.clone(),
                    probe: answer,
                    waited: WITHIN,
                    log_tail: Vec::new(),
                });
            }
            process::pause(PAUSE);
        }
    }
    Ok(())
}

/// Takes a step back: the topic is deleted. What a request has done stays.
pub(super) fn undo(placed: &Placed, step: &Preparation) -> Result<(), LabError> {
    let Preparation::Topic {
        step: name,
        part,
        port,
        topic,
        ..
    } = step
    else {
        return Ok(());
    };
    let brokers = brokers(placed, (name, part, port))?;
    let Some((first, door, at)) = brokers.first() else {
        return Ok(());
    };
    broker::delete(door, at, topic, Instant::now() + WITHIN).map_err(|reason| {
        LabError::Plan(format!(
            "to undo the step `{name}`, {first} was asked: {reason}"
        ))
    })
}

/// The brokers of a step.
fn brokers(
    placed: &Placed,
    (name, part, port): (&str, &str, &str),
) -> Result<Vec<Broker>, LabError> {
    let contexts = placed.layout.contexts.iter();
    let of_part = |name: &str| name == part || stem(name) == part;
    contexts
        .filter(|context| of_part(&context.name))
        .map(|context| {
            let port = context.ports.get(port).ok_or_else(|| {
                LabError::Plan(format!(
                    "the step `{name}` asks the port `{port}` of {}, which has none of that name",
                    context.name
                ))
            })?;
            let at = SocketAddr::from((context.address, *port)).to_string();
            Ok((context.name.clone(), placed.pods.door(&context.pod), at))
        })
        .collect()
}
