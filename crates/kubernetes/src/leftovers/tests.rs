//! A cluster that is replaced by what `kubectl` answers: what is deleted in it, by whom, and when.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::json;
use tare_lab::remote::PodProvider;

use super::*;
use crate::cluster::Cluster;
use crate::cluster_options::ClusterOptions;

/// The API server's clock.
const NOW: &str = "2026-06-10T00:00:00Z";
const LONG_AGO: &str = "2026-06-01T00:00:00Z";
const LONG_AGO_S: i64 = 1_780_272_000;

/// A cluster: what `kubectl` of `tests/programs` answers, in the folder that the context names.
struct Fake {
    folder: tempfile::TempDir,
}

impl Fake {
    fn with(namespaces: &[Value]) -> Fake {
        let fake = Fake {
            folder: tempfile::tempdir().unwrap(),
        };
        fs::write(fake.at("now"), NOW).unwrap();
        let list = json!({"items": namespaces}).to_string();
        fs::write(fake.at("namespaces"), list).unwrap();
        fake
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn kubectl(&self) -> Kubectl {
        let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/kubectl");
        Kubectl::replaced(PathBuf::from(program), self.folder.path())
    }

    fn keeper_of(&self, namespace: &str, phase: &str, deleted: Value) {
        let pod = json!({"metadata": {"deletionTimestamp": deleted}, "status": {"phase": phase}});
        fs::write(self.at(&format!("keeper-of-{namespace}")), pod.to_string()).unwrap();
    }

    /// What it was asked to delete.
    fn deleted(&self) -> Vec<String> {
        let asked = fs::read_to_string(self.at("asked")).unwrap();
        let deleted = asked.lines().filter(|line| line.starts_with("delete "));
        deleted.map(str::to_owned).collect()
    }

    fn start(&self) -> Result<Cluster, LabError> {
        self.start_in(None)
    }

    fn start_in(&self, namespace: Option<&str>) -> Result<Cluster, LabError> {
        Cluster::start_with(self.kubectl(), options(namespace))
    }
}

fn options(namespace: Option<&str>) -> ClusterOptions {
    ClusterOptions {
        context: None,
        namespace: namespace.map(str::to_owned),
        is_one_of_several: false,
        image: String::from("tare:1"),
        tare: PathBuf::from("/usr/bin/tare"),
        redirects: false,
        opt_outs: Vec::new(),
        mesh: None,
        load_nodes: None,
        part_nodes: None,
        load_cores: None,
    }
}

fn namespace(name: &str, created: &str, expires_s: i64) -> Value {
    let mut made = manifests::namespace(name, expires_s.cast_unsigned(), false, &Marks::default());
    made["metadata"]["creationTimestamp"] = json!(created);
    made["metadata"]["uid"] = json!(format!("u-of-{name}"));
    made
}

fn dead(name: &str) -> Value {
    namespace(name, LONG_AGO, LONG_AGO_S + KEEP.as_secs().cast_signed())
}

/// Namespaces that have the label, each with one thing that no run has made so.
fn those_of_others() -> Vec<Value> {
    let changed = |name: &str, path: &str, value: Value| {
        let mut made = dead(name);
        *made["metadata"].pointer_mut(path).unwrap() = value;
        made
    };
    let mut without_annotation = dead("tare-05");
    without_annotation["metadata"]["annotations"] = Value::Null;
    vec![
        changed("tare-01", "/name", json!("team-payments")),
        changed("tare-02", "/name", json!("tare-of-the-goods")),
        changed(
            "tare-03",
            "/labels/tare.dev~1run",
            json!("copied-by-a-template"),
        ),
        changed(
            "tare-04",
            "/labels/app.kubernetes.io~1managed-by",
            json!("helm"),
        ),
        without_annotation,
        changed("tare-06", "/annotations/tare.dev~1expires", json!("never")),
    ]
}

#[test]
fn a_namespace_that_no_run_has_made_is_never_deleted() {
    let fake = Fake::with(&those_of_others());
    let found = Leftovers::find_with(fake.kubectl()).unwrap();
    assert_eq!(found.names().count(), 0);
    assert_eq!(found.of_others.len(), 6);
    found.delete().unwrap();
    sweep(&fake.kubectl(), i64::MAX).unwrap();
    assert_eq!(fake.deleted(), [""; 0]);
}

#[test]
fn a_dead_run_is_found_by_the_clock_of_the_api_server_and_deleted_by_its_uid() {
    let fake = Fake::with(&[
        dead("tare-0a"),
        // Made now, by somebody whose clock is two days behind.
        namespace("tare-0b", NOW, LONG_AGO_S),
    ]);
    let found = Leftovers::find_with(fake.kubectl()).unwrap();
    assert_eq!(found.names().collect::<Vec<_>>(), ["tare-0a"]);
    assert_eq!(found.in_use, ["tare-0b"]);
    assert_eq!(fake.deleted(), [""; 0]);
    found.delete().unwrap();
    let deleted = fake.deleted();
    assert!(
        deleted[0].contains("--raw=/api/v1/namespaces/tare-0a ")
            && deleted[0].contains(r#"{"uid":"u-of-tare-0a"}"#),
        "{deleted:?}"
    );
    assert!(
        deleted[1..]
            .iter()
            .all(|line| line.contains("pod --force") && line.contains("tare-0a")),
        "{deleted:?}"
    );
}

#[test]
fn a_run_keeper_that_runs_protects_its_namespace_from_every_clean_up() {
    let fake = Fake::with(&["tare-0a", "tare-0b", "tare-0c"].map(dead));
    fake.keeper_of("tare-0a", "Running", Value::Null);
    fake.keeper_of("tare-0b", "Failed", Value::Null);
    fake.keeper_of("tare-0c", "Running", json!(NOW));
    let found = Leftovers::find_with(fake.kubectl()).unwrap();
    assert_eq!(found.in_use, ["tare-0a"]);
    assert_eq!(found.names().collect::<Vec<_>>(), ["tare-0b", "tare-0c"]);
    sweep(&fake.kubectl(), i64::MAX).unwrap();
    let deleted = fake.deleted().join("\n");
    assert!(!deleted.contains("tare-0a"), "{deleted}");
    assert!(
        deleted.contains("tare-0b") && deleted.contains("tare-0c"),
        "{deleted}"
    );
}

#[test]
fn a_run_removes_what_is_older_than_a_day_by_both_clocks_and_at_its_end_its_own() {
    let day_s = KEEP.as_secs().cast_signed();
    let fake = Fake::with(&[
        dead("tare-0a"),
        namespace("tare-0b", NOW, LONG_AGO_S),
        namespace("tare-0c", LONG_AGO, LONG_AGO_S + 365 * day_s),
    ]);
    let cluster = fake.start().unwrap();
    let deleted = fake.deleted();
    assert!(
        deleted.iter().all(|line| line.contains("tare-0a")),
        "{deleted:?}"
    );
    drop(cluster);
    let last = fake.deleted().pop().unwrap();
    assert!(
        last.contains("--raw=/api/v1/namespaces/tare-") && last.contains(r#"{"uid":"u-own"}"#),
        "{last}"
    );
}

#[test]
fn a_namespace_that_was_there_before_the_run_is_not_deleted_by_it() {
    let fake = Fake::with(&[]);
    fs::write(fake.at("is-there"), "").unwrap();
    let error = fake.start().err().unwrap().to_string();
    assert!(error.contains("AlreadyExists"), "{error}");
    assert_eq!(fake.deleted(), [""; 0]);
}

#[test]
fn in_a_namespace_of_others_only_what_runs_have_left_there_is_removed() {
    let fake = Fake::with(&[dead("tare-0a")]);
    let pod = |name: &str, run: &str, phase: &str| json!({"metadata": {"name": name, "labels": {RUN: run, ROLE: ACCOUNT}}, "status": {"phase": phase}});
    let pods = [
        pod("tare-0a-run-keeper", "tare-0a", "Succeeded"),
        pod("tare-0b-run-keeper", "tare-0b", "Running"),
        pod("payments", "tare-0c", "Succeeded"),
        pod("-run-keeper", "", "Failed"),
    ];
    fs::write(fake.at("pods"), json!({"items": pods}).to_string()).unwrap();
    drop(fake.start_in(Some("bench")).unwrap());
    assert_eq!(
        fake.deleted(),
        ["delete pod tare-0a-run-keeper --namespace=bench --ignore-not-found --timeout=30s "]
    );
    let asked = fs::read_to_string(fake.at("asked")).unwrap();
    assert!(!asked.contains(r#""kind":"Namespace""#), "{asked}");
    // Rights are asked for there, and none over namespaces.
    assert!(
        asked.contains(r#""verb":"watch","namespace":"bench"}"#),
        "{asked}"
    );
    assert!(!asked.contains(r#""resource":"namespaces""#), "{asked}");
}

#[test]
fn the_end_of_a_run_does_not_wait_for_a_kubectl_that_hangs() {
    for namespace in [None, Some("bench")] {
        let fake = Fake::with(&[]);
        fs::write(fake.at("pods"), r#"{"items": []}"#).unwrap();
        let limit = Duration::from_millis(500);
        let mut cluster = fake.start_in(namespace).unwrap();
        cluster.kubectl = fake.kubectl().within(limit);
        if namespace.is_some() {
            cluster.owner = Some((String::from("tare-0a-run-keeper"), String::from("u-1")));
        }
        fs::write(fake.at("hangs"), "").unwrap();
        let (said, hears) = std::sync::mpsc::channel();
        let began = Instant::now();
        std::thread::spawn(move || {
            drop(cluster);
            said.send(()).unwrap();
        });
        // What hangs would hang for an hour.
        hears.recv_timeout(Duration::from_secs(60)).unwrap();
        assert!(began.elapsed() >= limit);
        assert_eq!(fake.deleted().len(), 1);
        let started = fs::read_to_string(fake.at("hanging")).unwrap();
        for pid in started.split_whitespace() {
            let line = format!("/proc/{pid}/cmdline");
            while fs::read_to_string(&line).is_ok_and(|line| line.contains("3600.5")) {
                assert!(
                    began.elapsed() < Duration::from_secs(60),
                    "{pid} still runs"
                );
                std::thread::sleep(Duration::from_millis(5));
            }
        }
    }
}

#[test]
fn the_pods_behind_a_service_are_admitted_if_it_may_be_read_and_else_its_namespace() {
    let fake = Fake::with(&[]);
    fs::write(fake.at("pods"), r#"{"items": []}"#).unwrap();
    let service = json!({"metadata": {"namespace": "shop"}, "spec": {"selector": {"app": "cart"}, "ports": [{"port": 80, "targetPort": 8080}]}});
    fs::write(fake.at("service"), service.to_string()).unwrap();
    let mut cluster = fake.start_in(Some("bench")).unwrap();
    cluster.owner = Some((String::from("tare-0a-run-keeper"), String::from("u-1")));
    let address = "10.96.4.5:80".parse().unwrap();
    for at in ["cart.shop.svc:80", "closed.shop.svc:80", "10.96.4.5:80"] {
        cluster.admit(at, address).unwrap();
    }
    let asked = fs::read_to_string(fake.at("asked")).unwrap();
    let made = asked.lines().filter(|line| line.contains("NetworkPolicy"));
    let made: Vec<Value> = made
        .map(|line| serde_json::from_str(&line[line.find('{').unwrap()..]).unwrap())
        .collect();
    let behind = |number: usize| made[number]["items"][0]["spec"]["egress"][1].clone();
    assert_eq!(
        behind(0)["to"][0]["podSelector"]["matchLabels"]["app"],
        "cart"
    );
    assert_eq!(behind(0)["ports"][0]["port"], 8080);
    let of_namespace =
        json!({"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "shop"}}});
    assert_eq!(behind(1), json!({"to": [of_namespace]}));
    assert_eq!((made.len(), behind(2)), (3, Value::Null));
    assert_eq!(
        made[2]["items"][0]["metadata"]["ownerReferences"][0]["uid"],
        "u-1"
    );
    let mut options = options(None);
    options.is_one_of_several = true;
    let mut one = Cluster::start_with(fake.kubectl(), options).unwrap();
    assert!(one.admit("cart.shop.svc:80", address).is_err());
}
