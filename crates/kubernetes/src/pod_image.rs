//! What the image of the pods is: the same on all nodes, or they would measure different programs under one name.

use serde_json::Value;
use tare_lab::LabError;
use tare_record::record::{Check, Grade};

use crate::manifests::CONTAINER;

/// The image of a run's pods.
pub(crate) struct PodImage {
    name: String,
    /// Its ID, by the first pod that ran.
    id: Option<String>,
}

impl PodImage {
    pub(crate) fn new(name: &str) -> PodImage {
        PodImage {
            name: name.to_owned(),
            id: None,
        }
    }

    /// Takes note of what a pod has run, by its status.
    ///
    /// # Errors
    /// It is another image, or unknown.
    pub(crate) fn note(&mut self, pod: &Value) -> Result<(), LabError> {
        let all = pod["status"]["containerStatuses"].as_array();
        let own = all
            .into_iter()
            .flatten()
            .find(|one| one["name"] == CONTAINER);
        let id = own
            .and_then(|one| one["imageID"].as_str())
            .unwrap_or_default();
        let known = self.id.get_or_insert_with(|| id.to_owned());
        if known == id && !id.is_empty() {
            return Ok(());
        }
        let node = pod["spec"]["nodeName"].as_str().unwrap_or("unknown");
        Err(LabError::Cluster(format!(
            "node {node} has another image as {} (`{id}`, elsewhere `{known}`): name it by its digest, or remove it from that node",
            self.name
        )))
    }

    /// For the record.
    pub(crate) fn check(&self) -> Option<Check> {
        let found = self.id.clone()?;
        Some(Check {
            name: String::from("image of the pods"),
            found,
            value: None,
            unit: None,
            grade: Grade::Ok,
            advice: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nodes_with_another_image_under_the_same_name_are_refused() {
        let mut image = PodImage::new("tare:1");
        let of = |node: &str, id: &str| {
            let proxy = json!({"name": "istio-proxy", "imageID": "sha256:proxy"});
            let own = json!({"name": CONTAINER, "imageID": id});
            json!({"spec": {"nodeName": node}, "status": {"containerStatuses": [proxy, own]}})
        };
        for node in ["a", "b"] {
            image.note(&of(node, "sha256:1")).unwrap();
        }
        let said = image.note(&of("c", "sha256:2")).unwrap_err().to_string();
        assert!(said.contains("node c") && said.contains("digest"), "{said}");
        assert!(image.note(&of("d", "")).is_err());
        assert_eq!(image.check().unwrap().found, "sha256:1");
        assert!(PodImage::new("tare:1").note(&of("a", "")).is_err());
    }
}
