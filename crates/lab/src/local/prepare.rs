//! Steps before a trial: a fresh topic on the brokers of a bed.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tare_schema::plan::Preparation;

use super::bed::Placed;
use super::layout::stem;
use crate::LabError;
use crate::broker::{self, Topic};
use crate::process;

/// Limit of a step.
const WITHIN: Duration = Duration::from_secs(60);
/// Between looks.
const PAUSE: Duration = Duration::from_millis(10);

/// Takes a step.
pub(super) fn prepare(placed: &Placed, step: &Preparation) -> Result<(), LabError> {
    let Preparation::Topic {
        step: name,
        part,
        port,
        topic,
        partitions,
        replicas,
    } = step;
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
    let topic = Topic {
        name: topic.clone(),
        partitions: *partitions,
        replicas: *replicas,
    };
    let until = Instant::now() + WITHIN;
    broker::create(door, at, &topic, until).map_err(|reason| {
        LabError::Plan(format!("the step `{name}`, asked of {first}: {reason}"))
    })?;
    // Each broker learns of it by itself; a client may ask any of them.
    for (instance, door, at) in &brokers {
        while let Err(answer) = broker::is_whole(door, at, &topic, until) {
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
