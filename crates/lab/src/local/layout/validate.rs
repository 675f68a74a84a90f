//! Validates names in a plan: they become folders and appear in configurations, and a plan may come from elsewhere.

use tare_schema::text::shown;

use crate::LabError;
use crate::environment::TestBedPlan;

/// Longest name; a file's name has at most 255 bytes.
const BYTES_MAX: usize = 200;

/// Refuses a plan with a name that could be read as a path, a line or several words of a configuration.
pub(super) fn check(plan: &TestBedPlan) -> Result<(), LabError> {
    let topology = &plan.topology;
    let mut names = vec![plan.name.as_str()];
    names.extend(topology.pods.iter().map(|pod| pod.name.as_str()));
    for one in &topology.instances {
        names.extend([&one.name, &one.pod, &one.target].map(String::as_str));
    }
    names.extend(topology.external.iter().map(|one| one.name.as_str()));
    let hosts = topology
        .instances
        .iter()
        .filter_map(|one| one.host.as_deref());
    let protocols = topology.routes.iter().map(|route| route.protocol.as_str());
    let word = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let of_host = |c: char| word(c) || c == '.';
    let wrong = names
        .into_iter()
        .chain(protocols)
        .find(|name| !fits(name, &word))
        .or_else(|| hosts.into_iter().find(|host| !fits(host, &of_host)));
    match wrong {
        None => Ok(()),
        Some(wrong) => Err(LabError::Plan(format!(
            "`{}` in the plan is no name: use letters, digits and hyphens",
            shown(wrong)
        ))),
    }
}

fn fits(name: &str, allowed: &dyn Fn(char) -> bool) -> bool {
    let begins = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    begins && name.len() <= BYTES_MAX && name.chars().all(allowed)
}
