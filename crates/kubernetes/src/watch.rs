//! The state of a namespace's pods, as the API server reports its changes.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::{self, BufReader, Read};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Deserializer, Value};
use tare_lab::LabError;

use crate::companion::Companion;
use crate::kubectl::Kubectl;
use crate::manifests::RUN;

/// Pause before a watch that has ended is started again.
const RETRY: Duration = Duration::from_millis(500);

/// Largest event: more than an API server keeps of an object.
const EVENT_BYTES_MAX: usize = 16 << 20;

/// Output that fails beyond what is left.
struct Limited<'a, R> {
    output: R,
    left: &'a Cell<usize>,
}

impl<R: Read> Read for Limited<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let most = into.len().min(self.left.get());
        if most == 0 && !into.is_empty() {
            return Err(io::Error::other("an event that is too large"));
        }
        let read = self.output.read(&mut into[..most])?;
        self.left.set(self.left.get() - read);
        Ok(read)
    }
}

/// Pods by name; `None`: deleted.
type Pods = BTreeMap<String, Option<Value>>;

/// A watch; dropping it ends it.
pub(crate) struct Watch {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    pods: Pods,
    process: Option<Companion>,
    is_over: bool,
}

impl Watch {
    pub(crate) fn start(kubectl: Kubectl, namespace: &str, run: &str) -> Result<Watch, LabError> {
        let shared = Arc::new(Shared::default());
        let (watched, namespace) = (Arc::clone(&shared), namespace.to_owned());
        let selector = format!("--selector={RUN}={run}");
        std::thread::Builder::new()
            .name(String::from("watch"))
            .spawn(move || follow(&kubectl, (&namespace, &selector), &watched))
            .map_err(LabError::io("watch pods"))?;
        Ok(Watch { shared })
    }

    /// The last known state of a pod; `None`: unknown.
    pub(crate) fn pod(&self, name: &str) -> Option<Option<Value>> {
        self.shared.lock().pods.get(name).cloned()
    }

    /// Waits until `found` gives something, looking again at every change; `None`: not within the limit.
    pub(crate) fn wait<T>(
        &self,
        limit: Duration,
        mut found: impl FnMut(&Pods) -> Option<T>,
    ) -> Option<T> {
        let deadline = Instant::now() + limit;
        let mut state = self.shared.lock();
        loop {
            if let Some(found) = found(&state.pods) {
                return Some(found);
            }
            let left = deadline.checked_duration_since(Instant::now())?;
            let waited = self.shared.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.is_over = true;
        state.process = None;
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, event: &Value) {
        let pod = &event["object"];
        let Some(name) = pod["metadata"]["name"].as_str() else {
            return;
        };
        let pod = (event["type"] != "DELETED").then(|| pod.clone());
        self.lock().pods.insert(name.to_owned(), pod);
        self.changed.notify_all();
    }
}

fn follow(kubectl: &Kubectl, (namespace, selector): (&str, &str), shared: &Shared) {
    let words = [
        "--namespace",
        namespace,
        "get",
        "pods",
        selector,
        "--watch",
        "--output-watch-events",
        "--output=json",
    ];
    loop {
        let started = Companion::start(kubectl.command(&words));
        let output = started.map(|mut process| {
            let output = process.0.stdout.take();
            let mut state = shared.lock();
            if state.is_over {
                return None;
            }
            state.process = Some(process);
            output
        });
        if let Ok(Some(output)) = output {
            let left = Cell::new(EVENT_BYTES_MAX);
            let output = Limited {
                output: BufReader::new(output),
                left: &left,
            };
            let events = Deserializer::from_reader(output).into_iter::<Value>();
            // It ends with the connection; the next one begins with the state of every pod.
            events.map_while(Result::ok).for_each(|event| {
                shared.take(&event);
                left.set(EVENT_BYTES_MAX);
            });
        }
        if shared.lock().is_over {
            return;
        }
        std::thread::sleep(RETRY);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_event_without_end_is_given_up_and_many_small_ones_are_not() {
        let read = |text: &str| {
            let left = Cell::new(10);
            let output = Limited {
                output: text.as_bytes(),
                left: &left,
            };
            let events = Deserializer::from_reader(output).into_iter::<Value>();
            let found = events.map_while(Result::ok).inspect(|_| left.set(10));
            found.count()
        };
        assert_eq!(read("[1] [2] [3] [4] [5] [6]"), 6);
        assert_eq!(read("[1] [2, 2, 2, 2, 2, 2, 2] [3]"), 1);
    }

    #[test]
    fn the_last_event_of_a_pod_counts() {
        let watch = Watch {
            shared: Arc::default(),
        };
        let event = |kind: &str, phase: &str| json!({"type": kind, "object": {"metadata": {"name": "a"}, "status": {"phase": phase}}});
        assert_eq!(watch.pod("a"), None);
        for phase in ["Pending", "Running"] {
            watch.shared.take(&event("MODIFIED", phase));
        }
        assert_eq!(
            watch.pod("a").unwrap().unwrap()["status"]["phase"],
            "Running"
        );
        let found = watch.wait(Duration::ZERO, |pods| pods.get("b").map(drop));
        assert_eq!(found, None);
        watch.shared.take(&event("DELETED", "Running"));
        assert_eq!(watch.pod("a"), Some(None));
    }
}
