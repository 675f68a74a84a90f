//! Waits for pods that start: until all of them are there, one cannot start, or their time is over.

use std::time::{Duration, Instant};

use serde_json::Value;
use tare_lab::LabError;

use crate::kubectl::Kubectl;
use crate::problems;
use crate::watch::Watch;

/// Time for a pod to be there, its image pulled.
const START_LIMIT: Duration = Duration::from_secs(180);
/// Interval of looking at pods that do not change.
const LOOK: Duration = Duration::from_secs(1);
/// Why a pod is gone that nobody of the run has removed.
pub(crate) const DELETED: &str = "it was deleted";

/// Waits until each of the pods has what `found` looks for.
pub(crate) fn wait<T>(
    watch: &Watch,
    (kubectl, namespace): (&Kubectl, &str),
    (pods, schedule_limit): (&[&str], Duration),
    mut found: impl FnMut(&Value) -> Option<T>,
) -> Result<Vec<T>, LabError> {
    let began = Instant::now();
    loop {
        let is_late = began.elapsed() > schedule_limit;
        let known = watch.wait(LOOK, |all| {
            let lost = |name: &str, why: String| LabError::PodLost {
                pod: name.to_owned(),
                why,
            };
            if let Some(name) = pods.iter().find(|name| all.get(**name) == Some(&None)) {
                return Some(Err(lost(name, String::from(DELETED))));
            }
            let states: Vec<&Value> = pods
                .iter()
                .filter_map(|name| all.get(*name)?.as_ref())
                .collect();
            let there: Vec<T> = states.iter().filter_map(|pod| found(pod)).collect();
            if there.len() == pods.len() {
                return Some(Ok(there));
            }
            // One that has ended, unlike one that cannot start, may do so the next time.
            let mut wrong = states.iter().filter_map(|pod| match problems::of_end(pod) {
                Some(why) => Some(lost(pod["metadata"]["name"].as_str().unwrap_or(""), why)),
                None => problems::of_start(pod, is_late).map(LabError::Cluster),
            });
            wrong.next().map(Err)
        });
        match known {
            Some(Ok(there)) => return Ok(there),
            Some(Err(error)) => return Err(error),
            None if began.elapsed() > START_LIMIT => {
                let text = format!(
                    "{}: not all of {} have started within {} s: see `kubectl --namespace {} describe pods`",
                    kubectl.name(),
                    pods.join(", "),
                    START_LIMIT.as_secs(),
                    namespace
                );
                return Err(LabError::Cluster(text));
            }
            None => {}
        }
    }
}
