//! Sends a single request on the route of an agent's requests: from its pod to the first hop of its edge.

use std::time::Duration;

use tare_schema::load::{Body, RequestSpec};
use tare_schema::plan::Ask;

use super::test_bed::PlacedTestBed;
use crate::LabError;
use crate::environment::HttpResponse;
use crate::http::{self, Request};

/// Sends the request; any response is a success.
pub(super) fn ask(placed: &PlacedTestBed, ask: &Ask) -> Result<HttpResponse, LabError> {
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
    let request = Request {
        address,
        host: &endpoint.host,
        method: &ask.request.method,
        path: &ask.request.path,
        headers: &ask.request.headers,
        body: body(&ask.request).map_err(failed)?,
    };
    let within = Duration::from_nanos(ask.timeout_ns);
    let response = http::send(&placed.pods.connector(pod), &request, within).map_err(failed)?;
    Ok(HttpResponse {
        status: response.status,
        text: response.text,
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
