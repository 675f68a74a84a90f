//! A whole run whose brokers are killed, held and moved: what is in its records, and what it says of what was read back.

use std::collections::BTreeMap;
use std::fs;

use tare_record::record::TrialRecord;

use crate::bed::LIMIT;
use crate::rig::{finish, only_run, records, stderr, stdout, tare};

const EXPERIMENT: &str = "\
question: What does a producer notice of all this?
workload: {use: kafka, brokers: 3, partitions: 3, replicas: 3, acks: all, idempotence: true}
targets: {kafka: {min_insync_replicas: 2, session_timeout_ms: 2000, log_dir: memory, jit: C1}}
arms: [{name: disturbed}]
aa_check: false
prepare: [topic]
load: {use: produce, rate: 500, duration: 10s, warmup: 500ms, timeout: 30s, sample_interval: 100ms}
faults:
  - {at: 500ms, reassign: topic}
  - {at: 2s, kill: broker}
  - {at: 5s, start: broker}
  - {at: 9s, pause: broker-2}
  - {at: 9400ms, resume: broker}
blocks: 1
seed: 3
";

fn fault(record: &TrialRecord, action: &str) -> (Vec<String>, Option<u64>) {
    let found = record
        .faults
        .iter()
        .find(|fault| fault.action == action)
        .unwrap();
    assert!(!found.failed, "{action}: {}", found.result);
    assert!(found.began_ns.unwrap() >= found.at_ns, "{found:?}");
    (found.subjects.clone(), found.done_ns)
}

#[test]
fn a_run_kills_moves_and_holds_brokers_and_reads_back_everything_that_was_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("disturbed.yaml");
    fs::write(&file, EXPERIMENT).unwrap();
    let out = folder.path().join("runs");
    let args = [
        "run",
        file.to_str().unwrap(),
        "--out",
        out.to_str().unwrap(),
    ];
    let output = finish(&mut tare(&args), LIMIT * 4);
    let said = stderr(&output);
    assert!(matches!(output.status.code(), Some(0 | 1 | 4)), "{said}");

    let run = only_run(&out).unwrap();
    // Others use this machine meanwhile: a trial may be unfit and repeated, but what was read back counts in each.
    let records = records(&run);
    assert!(!records.is_empty(), "{said}");
    for record in &records {
        let (killed, ended_ns) = fault(record, "kill");
        let (started, ready_ns) = fault(record, "start");
        assert_eq!(killed, started, "{:?}", record.faults);
        assert!(ready_ns > ended_ns && ended_ns.is_some());
        fault(record, "reassign");
        assert_eq!(fault(record, "pause").0, ["broker-2"]);
        let found = record.read_back.as_ref().unwrap();
        let ok = record.load[0].ok + 250;
        assert_eq!(found.acknowledged, ok, "the warm-up is read back too");
        assert!(found.read >= found.acknowledged, "{found:?}");
        assert_eq!((found.lost, found.duplicated, found.unexpected), (0, 0, 0));
        assert!(found.violations.is_empty());
        assert!(record.load[0].protocol_counts["retries"] > 0);
        // Nothing is known of what a part consumed that was ended meanwhile.
        let part = record
            .instances
            .iter()
            .find(|part| part.instance == killed[0]);
        assert_eq!(part.and_then(|part| part.cpu_ns), None);
    }
    // Lines end where the terminal does.
    let told = stdout(&output)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    assert!(
        told.contains(" acknowledged records lost, 0 duplicated"),
        "{told}"
    );
    // Trials that were repeated may have ended another one: then each is told with its times.
    let mut victims: BTreeMap<String, usize> = BTreeMap::new();
    for victim in records.iter().flat_map(|record| fault(record, "kill").0) {
        *victims.entry(victim).or_default() += 1;
    }
    let kill = match victims.iter().collect::<Vec<_>>().as_slice() {
        [(one, _)] => format!("kill {one} at 2"),
        several => {
            let several: Vec<String> = several
                .iter()
                .map(|(one, n)| format!("{one} (× {n})"))
                .collect();
            format!("kill {} at 2", several.join(", "))
        }
    };
    assert!(told.contains(&kill), "{kill}: {told}");
}
