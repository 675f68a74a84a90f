//! The namespace of a run: how it is told from others, and its deletion, which names its UID.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::net::SocketAddr;

use jiff::Timestamp;
use serde_json::{Value, json};
use tare_lab::LabError;

use crate::kubectl::Kubectl;
use crate::manifests::{EXPIRES, MANAGED_BY, RUN};

/// Beginning of the names of all namespaces of runs.
const PREFIX: &str = "tare-";
/// What is gone already is no error.
pub(crate) const IGNORE_ABSENT: &str = "--ignore-not-found";
/// Removes pods without a word from their node.
pub(crate) const FORCE: [&str; 5] = [
    "delete",
    "pod",
    "--force",
    "--grace-period=0",
    IGNORE_ABSENT,
];
/// Time for pods, or the namespace, to be gone.
pub(crate) const GONE_LIMIT: &str = "--timeout=30s";

/// A namespace that a run has made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RunNamespace {
    pub name: String,
    /// The API server's number for it: one that is made again with this name has another.
    uid: String,
    /// When it was made, by the API server's clock.
    pub created_s: i64,
    /// When others may remove it, by the clock of who made it.
    pub expires_s: i64,
}

/// A name that no other run has.
pub(crate) fn new_name() -> String {
    format!(
        "{PREFIX}{:016x}",
        RandomState::new().build_hasher().finish()
    )
}

/// The API server, as pods reach it.
pub(crate) fn api_server(kubectl: &Kubectl) -> Result<SocketAddr, LabError> {
    let words = [
        "--namespace=default",
        "get",
        "service",
        "kubernetes",
        "--output=json",
    ];
    let spec = &kubectl.json(&words, None)?["spec"];
    let address = spec["clusterIP"]
        .as_str()
        .and_then(|text| text.parse().ok());
    let port = spec["ports"][0]["port"]
        .as_u64()
        .and_then(|port| u16::try_from(port).ok());
    let (Some(address), Some(port)) = (address, port) else {
        let text = String::from("the service `kubernetes` of the cluster has no address");
        return Err(LabError::Cluster(text));
    };
    Ok(SocketAddr::new(address, port))
}

impl RunNamespace {
    /// The namespace, if a run has made it: name, labels and annotation say so. Templates and people copy one of these, not all.
    pub(crate) fn of(namespace: &Value) -> Option<RunNamespace> {
        let metadata = &namespace["metadata"];
        let name = metadata["name"].as_str()?;
        let number = name.strip_prefix(PREFIX)?;
        let labels = &metadata["labels"];
        let is_of_run = !number.is_empty()
            && number.bytes().all(|byte| byte.is_ascii_hexdigit())
            && labels[RUN] == *name
            && labels[MANAGED_BY] == "tare";
        let created: Timestamp = metadata["creationTimestamp"].as_str()?.parse().ok()?;
        is_of_run.then_some(RunNamespace {
            name: name.to_owned(),
            uid: metadata["uid"].as_str()?.to_owned(),
            created_s: created.as_second(),
            expires_s: metadata["annotations"][EXPIRES].as_str()?.parse().ok()?,
        })
    }

    /// Makes it. One that is there already is another's: then nothing was made.
    pub(crate) fn make(kubectl: &Kubectl, manifest: &Value) -> Result<RunNamespace, LabError> {
        let words = ["create", "--filename=-", "--output=json"];
        let made = match kubectl.run(&words, Some(manifest))? {
            // The answer was lost. Nobody else makes one of this random name.
            said if said.is_empty() => {
                let name = manifest["metadata"]["name"].as_str().unwrap_or_default();
                kubectl.json(&["get", "namespace", name, "--output=json"], None)?
            }
            said => serde_json::from_str(&said).unwrap_or_default(),
        };
        RunNamespace::of(&made).ok_or_else(|| {
            LabError::Cluster(format!(
                "{}: the API server did not return the namespace as it was made: see `kubectl get namespaces --selector={RUN}`",
                kubectl.name()
            ))
        })
    }

    /// Deletes it for good, without a word from its nodes.
    pub(crate) fn delete(&self, kubectl: &Kubectl) -> Result<(), LabError> {
        if self.begin_deletion(kubectl).map_err(LabError::Cluster)? {
            self.force(kubectl);
        }
        Ok(())
    }

    /// Deletes it at the end of its run, and waits until it is gone. If that fails, the run keeper does it, and after a day another run.
    pub(crate) fn delete_and_wait(&self, kubectl: &Kubectl) {
        let of_it = format!("namespace/{}", self.name);
        let gone = ["wait", "--for=delete", &of_it, GONE_LIMIT];
        if self.begin_deletion(kubectl) == Ok(true) && kubectl.try_once(&gone).is_none() {
            self.force(kubectl);
            let _ = kubectl.try_once(&gone);
        }
    }

    /// Asks for its deletion; whether it is there, and no other one of its name.
    fn begin_deletion(&self, kubectl: &Kubectl) -> Result<bool, String> {
        let path = format!("--raw=/api/v1/namespaces/{}", self.name);
        let options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": self.uid}});
        match kubectl.ask(&["delete", &path, "--filename=-"], Some(&options)) {
            Ok(_) => Ok(true),
            Err(why) if why.contains("(NotFound)") => Ok(false),
            // It is being deleted already, or the UID is another.
            Err(why) if why.contains("(Conflict)") => Ok(self.is_there(kubectl)),
            Err(why) => Err(kubectl.explained(&why)),
        }
    }

    fn is_there(&self, kubectl: &Kubectl) -> bool {
        let said = kubectl.try_once(&["get", "namespace", &self.name, "--output=json"]);
        let found = said.and_then(|text| serde_json::from_str::<Value>(&text).ok());
        found.is_some_and(|found| found["metadata"]["uid"] == *self.uid)
    }

    /// Removes pods of lost nodes, which hold its deletion up.
    fn force(&self, kubectl: &Kubectl) {
        let within = ["--namespace", &self.name, "--all"];
        let _ = kubectl.try_once(&[&FORCE[..], &within].concat());
    }
}
