//! What keeps a pod from running, in words with the next step.

use serde_json::Value;

/// Why a pod will not run although it was created; `None`: nothing is known to be wrong. `is_late`: it has had its time.
pub(crate) fn of_start(pod: &Value, is_late: bool) -> Option<String> {
    let status = &pod["status"];
    let name = pod["metadata"]["name"].as_str().unwrap_or_default();
    let node = pod["spec"]["nodeName"].as_str().unwrap_or("no node");
    let injected = list(&status["initContainerStatuses"]).iter();
    for container in list(&status["containerStatuses"]).iter().chain(injected) {
        let waiting = &container["state"]["waiting"];
        let reason = waiting["reason"].as_str().unwrap_or_default();
        let message = waiting["message"].as_str().unwrap_or_default();
        let image = container["image"].as_str().unwrap_or_default();
        match reason {
            "ErrImagePull" | "ImagePullBackOff" | "ErrImageNeverPull" | "InvalidImageName" => {
                return Some(format!(
                    "node {node} has no image {image} ({reason}: {message}): make it with scripts/release, then push it to a registry of the \
                     cluster or import it into its nodes, and name it with --image"
                ));
            }
            "CreateContainerConfigError" | "CreateContainerError" | "RunContainerError" => {
                return Some(format!(
                    "{name} cannot start on {node}: {reason}: {message}"
                ));
            }
            _ => {}
        }
    }
    let scheduled = list(&status["conditions"])
        .iter()
        .find(|one| one["type"] == "PodScheduled" && one["status"] == "False");
    match scheduled {
        Some(condition) if is_late => Some(format!(
            "{name} finds no node: {}",
            condition["message"]
                .as_str()
                .unwrap_or("the scheduler does not say why")
        )),
        _ => None,
    }
}

/// How a pod has ended; `None`: it has not.
pub(crate) fn of_end(pod: &Value) -> Option<String> {
    let status = &pod["status"];
    let reason = status["reason"].as_str();
    let message = status["message"].as_str();
    for container in list(&status["containerStatuses"]) {
        let ended = &container["state"]["terminated"];
        if ended.is_object() {
            let why = ended["reason"].as_str().unwrap_or("ended");
            let code = ended["exitCode"].as_i64().unwrap_or_default();
            let last = ended["message"]
                .as_str()
                .map(|text| format!(": {}", text.trim()));
            let evicted = reason.map(|word| format!("{word}, {}; ", message.unwrap_or_default()));
            return Some(format!(
                "{}{why}, exit code {code}{}",
                evicted.unwrap_or_default(),
                last.unwrap_or_default()
            ));
        }
    }
    if pod["metadata"]["deletionTimestamp"].is_string() {
        let node = pod["spec"]["nodeName"].as_str().unwrap_or("unknown");
        return Some(format!(
            "it was deleted: by somebody, or because its node {node} is lost"
        ));
    }
    match (status["phase"].as_str(), reason) {
        (Some("Failed"), reason) => Some(format!(
            "{}: {}",
            reason.unwrap_or("it failed"),
            message.unwrap_or("no reason given")
        )),
        (Some("Succeeded"), _) => Some(String::from("it has ended")),
        _ => None,
    }
}

/// Whether the kubelet has started a container again, an injected proxy for instance: what it had counted is gone.
pub(crate) fn of_restart(pod: &Value) -> Option<String> {
    let status = &pod["status"];
    let injected = list(&status["initContainerStatuses"]).iter();
    let mut all = list(&status["containerStatuses"]).iter().chain(injected);
    let again = all.find(|one| one["restartCount"].as_u64().unwrap_or_default() > 0)?;
    let name = again["name"].as_str().unwrap_or("unknown");
    let last = &again["lastState"]["terminated"];
    let why = last["reason"].as_str().unwrap_or("ended");
    let code = last["exitCode"].as_i64().unwrap_or_default();
    Some(format!(
        "its container {name} was started again ({why}, exit code {code})"
    ))
}

/// Whether the node of a pod is lost: its containers run and are ready as far as is known, but the control plane calls the pod not
/// ready. (An injected proxy that is not ready says so itself.)
pub(crate) fn of_node(pod: &Value) -> Option<String> {
    let status = &pod["status"];
    let containers = list(&status["containerStatuses"]);
    let is_running = |one: &Value| one["state"]["running"].is_object();
    // Those that have ended are no sidecars.
    let sidecars = list(&status["initContainerStatuses"]).iter();
    let mut all = containers
        .iter()
        .chain(sidecars.filter(|one| is_running(one)));
    let are_ready = all.all(|one| is_running(one) && one["ready"] != false);
    let ready = list(&status["conditions"]).iter();
    let is_lost = ready
        .filter(|one| one["type"] == "Ready")
        .any(|one| one["status"] != "True");
    let node = pod["spec"]["nodeName"].as_str().unwrap_or("unknown");
    (!containers.is_empty() && are_ready && is_lost)
        .then(|| format!("its node {node} is lost: see `kubectl describe node {node}`"))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(status: &Value) -> Value {
        json!({"metadata": {"name": "b1-server"}, "spec": {"nodeName": "n2"}, "status": status})
    }

    #[test]
    fn a_container_that_was_started_again_is_named() {
        let proxy = |restarts: u32| {
            pod(
                &json!({"containerStatuses": [{"name": "tare", "restartCount": 0}],
                "initContainerStatuses": [{"name": "istio-proxy", "restartCount": restarts,
                    "lastState": {"terminated": {"reason": "OOMKilled", "exitCode": 137}}}]}),
            )
        };
        assert_eq!(of_restart(&proxy(0)), None);
        assert_eq!(
            of_restart(&proxy(1)).as_deref(),
            Some("its container istio-proxy was started again (OOMKilled, exit code 137)")
        );
    }

    #[test]
    fn a_pod_that_cannot_start_is_explained() {
        let image = pod(
            &json!({"containerStatuses": [{"image": "x/tare:1", "state": {"waiting":
            {"reason": "ErrImagePull", "message": "not found"}}}]}),
        );
        let said = of_start(&image, false).unwrap();
        assert!(
            said.contains("node n2 has no image x/tare:1") && said.contains("--image"),
            "{said}"
        );
        let nowhere = pod(
            &json!({"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False",
            "message": "0/3 nodes are available: 3 Insufficient cpu."}]}),
        );
        assert_eq!(of_start(&nowhere, false), None, "nodes may come");
        assert!(
            of_start(&nowhere, true)
                .unwrap()
                .contains("3 Insufficient cpu")
        );
        let creating = pod(
            &json!({"phase": "Pending", "containerStatuses": [{"image": "x", "state":
            {"waiting": {"reason": "ContainerCreating"}}}]}),
        );
        assert_eq!(of_start(&creating, true), None);
    }

    #[test]
    fn a_pod_that_runs_and_is_not_ready_has_lost_its_node() {
        let running = |ready: &str| {
            pod(
                &json!({"phase": "Running", "conditions": [{"type": "Ready", "status": ready}],
                "containerStatuses": [{"state": {"running": {"startedAt": "now"}}}]}),
            )
        };
        assert_eq!(of_node(&running("True")), None);
        assert!(
            of_node(&running("False"))
                .unwrap()
                .contains("its node n2 is lost")
        );
        let starting = json!({"conditions": [{"type": "Ready", "status": "False"}],
            "containerStatuses": [{"state": {"waiting": {}}}]});
        assert_eq!(of_node(&pod(&starting)), None);
        for place in ["containerStatuses", "initContainerStatuses"] {
            let mut injected = running("False");
            let own = json!({"state": {"running": {}}, "ready": true});
            injected["status"]["containerStatuses"] = json!([own]);
            let proxy = json!({"state": {"running": {}}, "ready": false});
            let all = injected["status"][place]
                .as_array()
                .cloned()
                .unwrap_or_default();
            injected["status"][place] = json!([&all[..], &[proxy]].concat());
            assert_eq!(of_node(&injected), None, "{place}");
        }
    }

    #[test]
    fn the_end_of_a_pod_is_explained() {
        let killed = pod(
            &json!({"phase": "Failed", "containerStatuses": [{"state": {"terminated":
            {"reason": "OOMKilled", "exitCode": 137}}}]}),
        );
        assert_eq!(of_end(&killed).unwrap(), "OOMKilled, exit code 137");
        let evicted = pod(
            &json!({"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory"}),
        );
        assert_eq!(
            of_end(&evicted).unwrap(),
            "Evicted: The node was low on resource: memory"
        );
        let mut running = pod(&json!({"phase": "Running"}));
        assert_eq!(of_end(&running), None);
        running["metadata"]["deletionTimestamp"] = json!("2026-11-26T18:00:00Z");
        assert!(of_end(&running).unwrap().contains("its node n2 is lost"));
    }
}
