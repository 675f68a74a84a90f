//! Steps before a trial: a fresh topic on the brokers of a bed, a request that loads data.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tare_schema::plan::Preparation;

use super::ask;
use super::bed::Placed;
use super::layout::stem;
use crate::LabError;
use crate::broker::{self, Topic};
use crate::process;

/// Limit of a step.
const WITHIN: Duration = Duration::from_secs(60);
/// So much of a wrong answer is told.
const WORDS_MAX: usize = 400;
/// Between looks.
const PAUSE: Duration = Duration::from_millis(10);

/// Takes a step.
pub(super) fn prepare(placed: &Placed, step: &Preparation) -> Result<(), LabError> {
    match step {
        Preparation::Topic {
            step,
            part,
            port,
            topic,
            partitions,
            replicas,
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
    let contexts = &placed.layout.contexts;
    let of_part = |name: &str| name == part || stem(name) == part;
    let mut brokers = Vec::new();
    for context in contexts.iter().filter(|context| of_part(&context.name)) {
        let port = context.ports.get(port).ok_or_else(|| {
            LabError::Plan(format!(
                "the step `{name}` asks the port `{port}` of {}, which has none of that name",
                context.name
            ))
        })?;
        let at = SocketAddr::from((context.address, *port)).to_string();
        brokers.push((context.name.clone(), placed.pods.door(&context.pod), at));
    }
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
