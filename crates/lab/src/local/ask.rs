//! A single request the way an agent's would go: out of its pod, to where its edge begins.

use std::time::Duration;

use tare_schema::load::{Body, RequestSpec};
use tare_schema::plan::Ask;

use super::bed::Placed;
use crate::LabError;
use crate::environment::Answer;
use crate::page::{self, Question};

/// Asks, and takes whatever is answered.
pub(super) fn ask(placed: &Placed, ask: &Ask) -> Result<Answer, LabError> {
    let failed = |reason: String| {
        LabError::Plan(format!(
            "{} {} over {}: {reason}",
            ask.request.method, ask.request.path, ask.edge
        ))
    };
    let endpoint = placed.endpoint(&ask.edge, &ask.from)?;
    let address = endpoint.addresses.first().copied();
    let address = address.ok_or_else(|| failed(String::from("it leads nowhere")))?;
    let instances = &placed.plan.topology.instances;
    let pod = instances.iter().find(|instance| instance.name == ask.from);
    let pod = pod.map_or(ask.from.as_str(), |instance| instance.pod.as_str());
    let question = Question {
        address,
        host: &endpoint.host,
        method: &ask.request.method,
        path: &ask.request.path,
        headers: &ask.request.headers,
        body: body(&ask.request).map_err(failed)?,
    };
    let within = Duration::from_nanos(ask.within_ns);
    let page = page::send(&placed.pods.door(pod), &question, within).map_err(failed)?;
    Ok(Answer {
        status: page.status,
        text: page.text,
    })
}

fn body(request: &RequestSpec) -> Result<&[u8], String> {
    match &request.body {
        Body::None => Ok(&[]),
        Body::Text { text } | Body::Json { text } => Ok(text.as_bytes()),
        Body::Filler { .. } | Body::Base64 { .. } | Body::Messages { .. } | Body::Form { .. } => {
            Err(String::from(
                "a single request has a text as its body, or none",
            ))
        }
    }
}
