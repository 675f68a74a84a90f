//! Brokers, what is sent to them, and the topic of each trial.

use tare_experiment::find::Library;
use tare_experiment::resolve::{ResolveOptions, resolve};
use tare_record::load::{
    Acks, Body, FetchDecode, FetchEnd, FetchSpec, Pacing, ProduceSpec, Shard, Stop,
};
use tare_record::plan::{Form, Need, Plan, Preparation, PrepareWhen, PublishedFigure};

use crate::bench::{repository, source};

fn replicas(form: Form) -> Plan {
    experiment("replicas", form)
}

fn experiment(stem: &str, form: Form) -> Plan {
    let library = Library::in_directory(&repository(), tare_load::protocols::infos());
    let source = library.find(&format!("kafka-benchmark/{stem}")).unwrap();
    resolve(
        &source,
        &library.catalog,
        &ResolveOptions::new(form, vec![0, 1]),
    )
    .unwrap()
}

#[test]
fn a_factor_over_copies_is_of_the_load_and_of_the_topic_alone() {
    for form in [Form::Full, Form::Quick] {
        let plan = replicas(form);
        assert_eq!(plan.cells.len(), 3);
        assert!(
            plan.workload
                .load_only_settings
                .contains(&"replicas".to_owned())
        );
        assert!(
            !plan
                .workload
                .load_only_settings
                .contains(&"brokers".to_owned())
        );
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
            assert_eq!(step.when(), PrepareWhen::Trial);
            let load = cell.load_of_trial(&cell.load[0].load, 7);
            assert_eq!(load.requests[0].path, "tare-7");
            assert_eq!(load.requests[0].body, Body::Filler { bytes: 100 });
            let produce: ProduceSpec = load.client.options().unwrap();
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
    let library = Library::in_directory(&repository(), tare_load::protocols::infos());
    let text = "question: q\nworkload: {use: kafka, batch: 9000GB}\narms: [{name: a}]\ncompare: levels\nfactors: {workload.replicas: [1, 2]}\nload: {use: produce, model: max, duration: 1s}\n";
    let said = resolve(
        &source("case.yaml", text),
        &library.catalog,
        &ResolveOptions::new(Form::Full, vec![0, 1]),
    )
    .unwrap_err()
    .to_string();
    assert!(said.contains("`client` of the workload's load"), "{said}");
    assert!(said.contains("case.yaml:6"), "{said}");
}

#[test]
fn a_backlog_is_written_once_for_a_cluster_by_a_load_of_so_many_records_and_read_over_and_over() {
    let plan = experiment("consumers", Form::Quick);
    for (cell, count) in plan.cells.iter().zip(1..) {
        let [step] = cell.prepare.as_slice() else {
            panic!("{:?}", cell.prepare);
        };
        assert_eq!(step.when(), PrepareWhen::Start);
        assert_eq!(
            step.of_trial(1),
            step.of_trial(2),
            "all trials find the same topic"
        );
        let Preparation::Topic { topic, fill, .. } = step else {
            panic!("{step:?}");
        };
        assert_eq!(topic, "tare-backlog-6x1-100");
        let fill = fill.as_ref().unwrap();
        assert_eq!(
            fill.stop,
            Stop::Count {
                exchanges: 3_000_000
            }
        );
        assert_eq!((&fill.pacing, fill.warmup_ns), (&Pacing::Max, 0));
        assert_eq!(&fill.requests[0].path, topic);
        let role = &cell.load[0];
        assert_eq!(role.agents, count);
        let fetch: FetchSpec = role.load.client.options().unwrap();
        assert_eq!(fetch.topics, std::slice::from_ref(topic));
        assert_eq!(
            (fetch.at_end, fetch.decode),
            (FetchEnd::Repeat, FetchDecode::Records)
        );
    }
    let needs: Vec<_> = plan.published.iter().map(|one| one.requires).collect();
    assert_eq!(needs, [None, Some(Need::Headroom), Some(Need::Headroom)]);
}

#[test]
fn a_role_of_no_agents_is_left_out_and_what_it_reads_is_named_after_the_trial() {
    let plan = experiment("pair", Form::Full);
    let roles = |cell: usize| -> Vec<&str> {
        let load = plan.cells[cell].load.iter();
        load.map(|role| role.role.as_str()).collect()
    };
    assert_eq!(plan.levels[0].name, "consumers=0");
    assert_eq!(
        (roles(0), roles(1)),
        (vec!["producers"], vec!["consumers", "producers"])
    );
    let cell = &plan.cells[1];
    let client = cell.load_of_trial(&cell.load[0].load, 5).client;
    let fetch: FetchSpec = client.get().expect("the consumer comes first");
    assert_eq!(fetch.topics, ["tare-5"]);
}

#[test]
fn every_published_experiment_on_kafka_can_be_planned_in_both_forms() {
    let stems = [
        ("producers", 3, 3),
        ("message-size", 14, 6),
        ("partitions", 9, 5),
        ("replicas", 3, 3),
        ("consumers", 3, 3),
        ("pair", 2, 2),
    ];
    for (stem, full, quick) in stems {
        assert_eq!(experiment(stem, Form::Full).levels.len(), full, "{stem}");
        let plan = experiment(stem, Form::Quick);
        assert_eq!(plan.levels.len(), quick, "{stem}");
        assert!(!plan.published.is_empty(), "{stem}");
    }
    let words = &experiment("replicas", Form::Full).published[0];
    assert!(
        matches!(&words.figure, PublishedFigure::Words(says) if says.contains("less than linearly"))
    );
}

#[test]
fn agents_of_a_role_share_a_count_without_losing_any() {
    let stop = Stop::Count { exchanges: 10 };
    let shares: Vec<Stop> = (0..3)
        .map(|part| {
            stop.share(Shard {
                count: 3,
                index: part,
            })
        })
        .collect();
    assert_eq!(shares, [4, 3, 3].map(|exchanges| Stop::Count { exchanges }));
    let time = Stop::Duration { window_ns: 5 };
    assert_eq!(time.share(Shard { count: 3, index: 2 }), time);
}

#[test]
fn a_topic_of_each_trial_that_no_step_makes_is_refused_with_the_step_that_would() {
    let library = Library::in_directory(&repository(), tare_load::protocols::infos());
    let of = |more: &str| {
        let text = format!(
            "question: q\nworkload: {{use: kafka}}\narms: [{{name: a}}]\ncompare: levels\nfactors: {{workload.replicas: [1, 2]}}\nload: {{use: produce, model: max, duration: 1s}}\n{more}"
        );
        let choices = ResolveOptions::new(Form::Full, vec![0, 1]);
        resolve(&source("case.yaml", &text), &library.catalog, &choices)
    };
    let said = of("").unwrap_err().to_string();
    assert!(
        said.contains(
            "no step makes the topic \"tare-{trial}\" before a trial: add \"topic\" to prepare"
        ),
        "{said}"
    );
    assert!(said.contains("case.yaml:6"), "{said}");
    of("prepare: [topic]\n").unwrap();
}

#[test]
fn a_factor_over_a_setting_that_the_load_does_not_use_is_refused_by_its_name() {
    let library = Library::in_directory(&repository(), tare_load::protocols::infos());
    let of = |factors: &str| {
        let text = format!(
            "question: q\nworkload: {{use: kafka}}\narms: [{{name: a}}]\ncompare: levels\nfactors: {{{factors}}}\nload: {{use: produce, model: max, duration: 1s}}\nprepare: [topic]\n"
        );
        let choices = ResolveOptions::new(Form::Full, vec![0, 1]);
        let plan = resolve(&source("case.yaml", &text), &library.catalog, &choices);
        plan.map(drop).map_err(|problems| problems.to_string())
    };
    // Of the stored backlog, which this load neither writes nor reads.
    for others in ["", ", load.connections: [1, 2]"] {
        let said = of(&format!("workload.backlog: [5, 6]{others}")).unwrap_err();
        assert!(
            said.starts_with("case.yaml:5:11: factor \"workload.backlog\" changes nothing: "),
            "{said}"
        );
    }
    // It may be used at some levels only, and a factor of one value varies nothing.
    assert_eq!(of("workload.linger: [1ms, 2ms]"), Ok(()));
    assert_eq!(
        of("workload.backlog: [5], workload.acks: [\"1\", all]"),
        Ok(())
    );
}
