//! Preparation steps of a trial: a new topic on the brokers of a test bed, or a request that loads data.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tare_schema::plan::Preparation;

use super::ask;
use super::layout::stem;
use super::test_bed::PlacedTestBed;
use crate::LabError;
use crate::broker::{self, Topic};
use crate::connector::Connector;
use crate::process;

/// Timeout of a step.
const WITHIN: Duration = Duration::from_secs(60);
/// Length of a wrong response in an error.
const WORDS_MAX: usize = 400;
/// Polling interval.
const PAUSE: Duration = Duration::from_millis(10);

/// A broker: its name, a connector to its pod, and its address.
type Broker = (String, Connector, String);

/// Runs a step. Records of a topic are written by an agent.
pub(super) fn prepare(placed: &PlacedTestBed, step: &Preparation) -> Result<(), LabError> {
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
            let failed = |reason: String| LabError::Plan(format!("the step `{step}`: {reason}"));
            let answer = ask::ask(placed, ask).map_err(|error| failed(error.to_string()))?;
            let expect = &ask.request.expect;
            expect.judge(answer.status, &answer.text).map_err(|wrong| {
                let words: String = answer.text.chars().take(WORDS_MAX).collect();
                failed(format!("it was answered {wrong}: {words}"))
            })
        }
    }
}

/// Creates a topic by a request to the first broker of a part.
fn make_topic(
    placed: &PlacedTestBed,
    (name, part, port): (&str, &str, &str),
    topic: &Topic,
) -> Result<(), LabError> {
    let brokers = brokers(placed, (name, part, port))?;
    let Some((first, connector, at)) = brokers.first() else {
        return Err(LabError::Plan(format!(
            "the step `{name}` is for the part `{part}`, which has no instance"
        )));
    };
    let until = Instant::now() + WITHIN;
    broker::create(connector, at, topic, until).map_err(|reason| {
        LabError::Plan(format!("the step `{name}`, asked of {first}: {reason}"))
    })?;
    // Brokers learn of it one by one; a client may ask any of them.
    for (instance, connector, at) in &brokers {
        while let Err(answer) = broker::check_in_sync(connector, at, topic, until) {
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

/// Undoes a step: its topic is deleted. The effect of a request stays.
pub(super) fn undo(placed: &PlacedTestBed, step: &Preparation) -> Result<(), LabError> {
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
    let Some((first, connector, at)) = brokers.first() else {
        return Ok(());
    };
    broker::delete(connector, at, topic, Instant::now() + WITHIN).map_err(|reason| {
        LabError::Plan(format!(
            "to undo the step `{name}`, {first} was asked: {reason}"
        ))
    })
}

/// The brokers of a step's part.
fn brokers(
    placed: &PlacedTestBed,
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
            Ok((
                context.name.clone(),
                placed.pods.connector(&context.pod),
                at,
            ))
        })
        .collect()
}
