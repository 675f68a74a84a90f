//! What is done to a test bed during a trial, and what is read back after it.

use tare_experiment::find::Library;
use tare_experiment::problem::Problems;
use tare_experiment::resolve::{ResolveOptions, resolve};
use tare_record::plan::{FaultKind, Form, Guarantee, Plan};

use crate::bench::{repository, source};

const SECOND_NS: u64 = 1_000_000_000;

fn resolved(text: &str) -> Result<Plan, Problems> {
    let library = Library::in_directory(&repository(), tare_load::protocols::infos());
    let choices = ResolveOptions::new(Form::Full, vec![0, 1]);
    resolve(&source("case.yaml", text), &library.catalog, &choices)
}

fn with(workload: &str, faults: &str) -> String {
    format!(
        "question: q\nworkload: {{use: kafka, {workload}}}\narms: [{{name: a}}]\nprepare: [topic]\n\
         load: {{use: produce, rate: 100, duration: 10s}}\nfaults:\n{faults}\n"
    )
}

fn said(faults: &str) -> String {
    let text = with("acks: all", faults);
    resolved(&text).unwrap_err().to_string()
}

#[test]
fn what_happens_at_a_time_does_not_go_with_a_longer_first_trial() {
    let said = said("  - {at: 2s, kill: broker-1}\nburn_in: 20s");
    assert!(said.contains("leave burn_in out"), "{said}");
}

#[test]
fn the_experiment_of_a_killed_broker_kills_one_of_three_and_reads_everything_back() {
    let library = Library::in_directory(&repository(), tare_load::protocols::infos());
    let source = library.find("kafka-benchmark/broker-killed").unwrap();
    for (form, at_s) in [(Form::Full, 5), (Form::Quick, 3)] {
        let choices = ResolveOptions::new(form, vec![0, 1]);
        let plan = resolve(&source, &library.catalog, &choices).unwrap();
        let [cell] = plan.cells.as_slice() else {
            panic!("{} cells", plan.cells.len());
        };
        let [kill, start] = cell.faults.as_slice() else {
            panic!("{:?}", cell.faults);
        };
        let brokers = ["broker-1", "broker-2", "broker-3"].map(str::to_owned);
        assert_eq!(kill.at_ns, at_s * SECOND_NS);
        assert_eq!(
            kill.action,
            FaultKind::Kill {
                of: brokers.to_vec()
            }
        );
        assert_eq!(
            start.action,
            FaultKind::Start {
                of: brokers.to_vec()
            }
        );
        let found = cell.read_back.as_ref().unwrap();
        assert_eq!(found.topic.of_trial(3).topic, "tare-3");
        assert_eq!(
            found.guarantees,
            [Guarantee::NoneLost, Guarantee::NoneDuplicated]
        );
    }
}

#[test]
fn faults_are_in_order_of_time_and_guarantees_are_those_that_the_writers_ask_for() {
    let faults =
        "  - {at: 8s, elect: topic}\n  - {at: 2s, pause: broker-2}\n  - {at: 4s, resume: broker}";
    let plan = resolved(&with("acks: \"1\"", faults)).unwrap();
    let cell = &plan.cells[0];
    let actions: Vec<String> = cell
        .faults
        .iter()
        .map(|one| one.action.in_words())
        .collect();
    assert_eq!(
        actions,
        [
            "pause broker-2",
            "resume what is held",
            "elect the preferred leaders of topic"
        ]
    );
    assert_eq!(cell.read_back.as_ref().unwrap().guarantees, []);
}

#[test]
fn a_fault_that_cannot_be_is_refused_in_its_line() {
    for (faults, expected) in [
        ("  - {at: 1s}", "a fault does one thing"),
        (
            "  - {at: 1s, kill: broker-1, start: broker-2}",
            "a fault does one thing",
        ),
        (
            "  - {at: 1s, kill: broker-4}",
            "no instance or part \"broker-4\": did you mean",
        ),
        (
            "  - {at: 1s, elect: leaders}",
            "no step \"leaders\" that makes a topic is taken",
        ),
        ("  - {at: 11s, kill: broker}", "when the window is over"),
    ] {
        let said = said(faults);
        assert!(said.contains(expected), "{faults}: {said}");
        assert!(said.contains("case.yaml:"), "{said}");
    }
    let short = with("acks: all, payload: 10B", "  - {at: 1s, kill: broker}");
    let said = resolved(&short).unwrap_err().to_string();
    assert!(said.contains("at least 16 bytes"), "{said}");
}
