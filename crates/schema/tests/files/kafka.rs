//! Brokers, what is sent to them, and the topic of each trial.

use tare_schema::find::Library;
use tare_schema::load::{Acks, Body, ClientSpec};
use tare_schema::plan::{Form, Plan, Preparation};
use tare_schema::resolve::{Choices, resolve};

use crate::bench::{repository, source};

fn replicas(form: Form) -> Plan {
    let library = Library::in_directory(&repository());
    let source = library.find("kafka-benchmark/replicas").unwrap();
    resolve(&source, &library.catalog, &Choices::new(form, vec![0, 1])).unwrap()
}

#[test]
fn a_factor_over_copies_is_of_the_load_and_of_the_topic_alone() {
    for form in [Form::Full, Form::Quick] {
        let plan = replicas(form);
        assert_eq!(plan.cells.len(), 3);
        assert!(plan.workload.of_load.contains(&"replicas".to_owned()));
        assert!(!plan.workload.of_load.contains(&"brokers".to_owned()));
        for (cell, copies) in plan.cells.iter().zip(1..) {
            let [step] = cell.prepare.as_slice() else {
                panic!("{:?}", cell.prepare);
            };
            let Preparation::Topic {
                topic,
                partitions,
                replicas,
                ..
            } = step.of_trial(7)
            else {
                panic!("{step:?}");
            };
            assert_eq!((&*topic, partitions, replicas), ("tare-7", 6, copies));
            let load = cell.load_of_trial(&cell.load[0].load, 7);
            assert_eq!(load.requests[0].path, "tare-7");
            assert_eq!(load.requests[0].body, Body::Filler { bytes: 100 });
            let ClientSpec::KafkaProduce { produce, .. } = load.client else {
                panic!("{:?}", load.client);
            };
            assert_eq!((produce.acks, produce.idempotence), (Acks::Leader, false));
            assert_eq!(produce.linger_ns, 5_000_000);
            assert_eq!(produce.batch_bytes, 128 * 1024);
        }
    }
}

#[test]
fn every_client_calls_every_broker_and_brokers_call_each_other() {
    let plan = replicas(Form::Full);
    let routes = &plan.arms[0].topology.routes;
    let of = |edge: &str| routes.iter().filter(|route| route.edge == edge).count();
    assert_eq!(of("producer->broker"), 3);
    assert_eq!(of("broker->broker"), 6);
}

#[test]
fn a_setting_that_a_producer_cannot_have_is_refused_where_the_load_stands() {
    let library = Library::in_directory(&repository());
    let text = "question: q\nworkload: {use: kafka, batch: 9000GB}\narms: [{name: a}]\ncompare: levels\nfactors: {workload.replicas: [1, 2]}\nload: {use: produce, model: max, duration: 1s}\n";
    let said = resolve(
        &source("case.yaml", text),
        &library.catalog,
        &Choices::new(Form::Full, vec![0, 1]),
    )
    .unwrap_err()
    .to_string();
    assert!(said.contains("`client` of the workload's load"), "{said}");
    assert!(said.contains("case.yaml:6"), "{said}");
}
