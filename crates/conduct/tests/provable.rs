//! Every arm of every experiment of the library has something that counts what passes, or says that its server is not Tare's.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on says where by panicking"
)]

use std::fs;
use std::path::{Path, PathBuf};

use tare_experiment::find::Library;
use tare_experiment::resolve::{ExperimentSource, ResolveOptions, resolve};
use tare_lab::targets::Targets;
use tare_record::plan::{Arm, Form, Plan, RoleLoad};
use tare_record::protocol::{Counted, counted};
use tare_record::topology::Security;

fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().unwrap()
}

/// The plans of all experiments, in both forms.
fn plans() -> Vec<(String, Plan)> {
    let catalog = Library::in_directory(&root(), tare_load::protocols::infos()).catalog;
    let mut plans = Vec::new();
    for study in fs::read_dir(root().join("experiments")).unwrap() {
        for file in fs::read_dir(study.unwrap().path()).unwrap() {
            let file = file.unwrap().path();
            let source = ExperimentSource {
                experiment: file.file_stem().unwrap().to_string_lossy().into_owned(),
                file: file.display().to_string(),
                text: fs::read_to_string(&file).unwrap(),
            };
            let quick = source.text.contains("\nquick:").then_some(Form::Quick);
            for form in [Form::Full].into_iter().chain(quick) {
                let choices = ResolveOptions::new(form, vec![0, 1]);
                let plan = resolve(&source, &catalog, &choices).unwrap();
                plans.push((source.experiment.clone(), plan));
            }
        }
    }
    plans
}

/// Whether something says what passed over the edge of a role: a counter on its way, or the agent's own handshakes; or the plan
/// says that nothing can, since the server is external.
fn is_provable(arm: &Arm, role: &RoleLoad, targets: &Targets) -> bool {
    let counts = |instance: &str, name: &str| {
        let mut instances = arm.topology.instances.iter();
        let target = instances.find(|one| one.name == instance);
        let target = target.and_then(|one| targets.get(&one.target).ok());
        target.is_some_and(|target| target.def.counters.iter().any(|one| one.name == name))
    };
    let routes = arm.topology.routes.iter();
    let mut routes = routes.filter(|route| route.edge == role.edge).peekable();
    assert!(routes.peek().is_some(), "{} leads nowhere", role.edge);
    routes.all(|route| {
        let what: &[&str] = match counted(&route.protocol) {
            Counted::Requests if route.proxies.is_empty() => &["requests", "connections"],
            Counted::Requests => &["requests"],
            Counted::Connections => &["connections"],
        };
        let mut on_the_way = route.proxies.iter().chain([&route.to]);
        let is_counted = |instance| what.iter().any(|name| counts(instance, name));
        let not_proved = arm.topology.not_proved();
        let is_told = not_proved.iter().any(|one| one.edge == route.edge);
        route.edge_security != Security::Plaintext
            || on_the_way.any(|instance| is_counted(instance))
            || (arm.topology.external(&route.to).is_some() && is_told)
    })
}

#[test]
fn every_arm_of_every_experiment_has_something_that_counts_what_passes() {
    let targets = Targets::load(&root().join("targets"), &[]).unwrap();
    let plans = plans();
    assert!(plans.len() > 30, "{} plans", plans.len());
    for (experiment, plan) in &plans {
        for arm in plan.arms.iter().filter(|arm| arm.requires.is_none()) {
            let cells = plan.cells.iter().filter(|cell| cell.arm == arm.name);
            for role in cells.flat_map(|cell| &cell.load) {
                assert!(
                    is_provable(arm, role, &targets),
                    "{experiment}: nothing counts what passes over {} in the arm {}",
                    role.edge,
                    arm.name
                );
            }
        }
    }
}

#[test]
fn a_plan_has_brokers_where_a_part_is_kafka() {
    let mut with = 0;
    for (experiment, plan) in plans() {
        let topologies = || plan.arms.iter().map(|arm| &arm.topology);
        let mut instances = topologies().flat_map(|one| &one.instances);
        let mut external = topologies().flat_map(|one| &one.external);
        let is_there = instances.any(|one| one.target == "kafka")
            || external.any(|one| one.protocol == "kafka");
        assert_eq!(plan.has_brokers(), is_there, "{experiment}");
        with += u32::from(is_there);
    }
    assert!(with > 5, "{with} plans");
}
