//! `tare lab up`: starts one arm and keeps it running.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use tare_experiment::def::ExperimentDef;
use tare_experiment::document;
use tare_experiment::target::{OwnProgram, software_name};
use tare_lab::LabError;
use tare_lab::environment::{Environment, TestBed};
use tare_lab::lab_state::LabState;
use tare_record::plan::{Addressing, Arm, Cell, Plan};

use super::objects::{Objects, Rejections};
use super::ps;
use crate::commands::plan::{
    EnvironmentArgs, EnvironmentKind, ExperimentArgs, addressings, own_program,
};
use crate::commands::run::{SILENCE_S, environment};
use crate::exit::{Exit, bad_input};
use crate::screen::{print, say};
use crate::signals::Interruption;

/// Interval at which instances are checked to be running.
const PAUSE: Duration = Duration::from_millis(200);

/// Interval at which logs of pods elsewhere are brought here, for `tare lab logs`.
const LOGS_EVERY: Duration = Duration::from_secs(2);

/// Interval of messages about an instance that is being waited for.
const WAIT_MESSAGE_EVERY_S: u64 = 5;

/// Arguments of `tare lab up`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name of the arm.
    #[arg(value_name = "ARM")]
    arm: String,
    /// Experiment of the arm [default: sidecar, else the first of the library that has such an arm].
    #[arg(long, value_name = "NAME|FILE")]
    experiment: Option<String>,
    /// Folder of YAML files with objects for the control plane of the arm's mesh, applied now and whenever they change.
    #[arg(long, value_name = "DIR")]
    objects: Option<PathBuf>,
    /// Level with the settings of the arm [default: the first one].
    #[arg(long, value_name = "LEVEL")]
    level: Option<String>,
    /// Addressing of pods [default: that of the experiment].
    #[arg(long, value_parser = addressings())]
    addressing: Option<Addressing>,
    #[command(flatten)]
    place: EnvironmentArgs,
    /// Additional directory of target folders; may be given several times.
    #[arg(long, value_name = "DIR")]
    targets: Vec<PathBuf>,
    /// Program of yours as a version of a target, which the setting `version` can then choose; may be given several times.
    #[arg(long = "program", value_name = "TARGET@VERSION=PATH", value_parser = own_program)]
    programs: Vec<OwnProgram>,
    /// Additional directory of workload folders; may be given several times.
    #[arg(long, value_name = "DIR")]
    workloads: Vec<PathBuf>,
}

/// Starts the test bed, prints it, and keeps it running until interrupted.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let interruption = Interruption::listen()?;
    let mut experiment = ExperimentArgs {
        name: args.experiment.clone(),
        quick: false,
        no_aa: true,
        blocks: None,
        seed: None,
        addressing: args.addressing,
        place: args.place.clone(),
        external: Vec::new(),
        allow_public_target: false,
        targets: args.targets.clone(),
        programs: args.programs.clone(),
        versions: None,
        workloads: args.workloads.clone(),
        out: std::env::temp_dir(),
    };
    if experiment.name.is_none() {
        experiment.name = Some(experiment_of(&experiment, &args.arm)?);
    }
    let plan = experiment.plan_to_run(&mut |words| say(format_args!("{words}")))?;
    let (arm, cell) = select_cell(&plan, args)?;
    // Before anything is built.
    let mut objects = match &args.objects {
        Some(from) => Some(Objects::new(from, objects_folder(&experiment, arm)?)?),
        None => None,
    };
    let is_elsewhere = args.place.environment != EnvironmentKind::Local;
    if is_elsewhere && args.objects.is_some() {
        return Err(bad_input(
            "--objects: a control plane in a pod of a cluster reads no folder of this machine; leave it out, or use --environment local",
        ));
    }
    let silence = Duration::from_secs_f64(SILENCE_S);
    let mut local = environment(&experiment, &plan, plan.addressing, silence)?;
    let instances = arm.topology.instances.iter();
    let instances = instances.filter(|one| !arm.topology.is_injected(&one.name));
    let targets: Vec<String> = instances
        .map(|instance| software_name(instance, &cell.targets))
        .collect();
    local.provide(&targets, &mut |words| say(format_args!("{words}")))?;
    if is_elsewhere {
        // Compares the software there with that here.
        local.describe()?;
    }
    let mut bed = local.test_bed(&tare_conduct::test_bed_plan(&plan, arm, cell, "lab"))?;
    bed.start(&mut |instance, waited| {
        if waited.as_secs().is_multiple_of(WAIT_MESSAGE_EVERY_S) {
            say(format_args!("starting {instance}, {} s", waited.as_secs()));
        }
    })?;
    let standing = LabState {
        experiment: plan.experiment.clone(),
        arm: arm.name.clone(),
        level: cell.level.clone(),
        addressing: local.addressing().to_owned(),
        location: local.location(),
        processes: bed.pod_processes()?,
        endpoints: endpoints(arm, &bed)?,
        ..LabState::of_this_process()?
    };
    if let (Some(objects), Some(mesh)) = (&mut objects, &arm.topology.mesh) {
        let all = standing.processes.iter();
        let of_control_plane = all.filter(|one| mesh.control_plane.contains(&one.instance));
        let folders = of_control_plane.filter_map(|one| one.log.as_deref()?.parent());
        folders.for_each(|folder| objects.add_instance(folder));
    }
    bed.follow_logs()?;
    standing.publish(local.folder())?;
    print(&ps::text(&standing))?;
    say(
        "up until Ctrl-C or `tare lab down`; `tare lab exec POD COMMAND` from another terminal enters a pod",
    );
    let mut rejections = Rejections::default();
    let mut logs_due = Instant::now();
    let mut lost: Vec<String> = Vec::new();
    while !interruption.is_requested() {
        if Instant::now() >= logs_due {
            match bed.follow_logs() {
                Ok(()) => {}
                // Then the pods are gone, too.
                Err(error @ LabError::RunKeeperGone { .. }) => return Err(error.into()),
                Err(error) => {
                    let words = error.to_string();
                    if !lost.contains(&words) {
                        say(&words);
                        lost.push(words);
                    }
                }
            }
            logs_due = Instant::now() + LOGS_EVERY;
        }
        if let Some(objects) = &mut objects {
            let lines = objects.apply()?;
            if !lines.is_empty() {
                rejections.expect();
            }
            let rejected = rejections.new_lines(&mut bed);
            let lines = lines.iter().chain(&rejected);
            lines.for_each(|line| say(format_args!("{line}")));
        }
        for death in bed.unexpected_exits() {
            say(format_args!("{} ended: {}", death.instance, death.how));
            death
                .log_tail
                .iter()
                .for_each(|line| say(format_args!("  {line}")));
        }
        std::thread::sleep(PAUSE);
    }
    bed.stop()?;
    Ok(Exit::Done.into())
}

/// Folder of objects below that of an instance of the control plane, for a mesh that takes objects.
fn objects_folder(experiment: &ExperimentArgs, arm: &Arm) -> anyhow::Result<Option<String>> {
    let Some(mesh) = &arm.topology.mesh else {
        return Ok(None);
    };
    let def = experiment.library()?.catalog.mesh(&mesh.name);
    Ok(def.map_err(bad_input)?.and_then(|def| def.objects))
}

/// The experiment `sidecar` if it has the arm, else the first of the library that has it.
fn experiment_of(experiment: &ExperimentArgs, arm: &str) -> anyhow::Result<String> {
    const USUAL: &str = "sidecar";
    let library = experiment.library()?;
    let names = library.list().into_iter().map(|(name, _)| name);
    let names = std::iter::once(USUAL.to_owned()).chain(names);
    let has_arm = |name: &String| {
        let source = library.find(name).ok();
        let def = source.and_then(|one| document::read::<ExperimentDef>(&one.file, &one.text).ok());
        def.is_some_and(|(def, _)| def.arms.iter().any(|known| *known.name == *arm))
    };
    let mut with_arm = names.filter(has_arm);
    // Without one, the usual experiment says which arms it has.
    Ok(with_arm.next().unwrap_or_else(|| USUAL.to_owned()))
}

fn select_cell<'p>(plan: &'p Plan, args: &Args) -> anyhow::Result<(&'p Arm, &'p Cell)> {
    let Some(arm) = plan.arms.iter().find(|arm| arm.name == args.arm) else {
        let known: Vec<&str> = plan.arms.iter().map(|arm| arm.name.as_str()).collect();
        return Err(bad_input(format!(
            "{} has no arm `{}`; it has {} (another experiment: --experiment NAME)",
            plan.experiment,
            args.arm,
            known.join(", ")
        )));
    };
    if let Some(needs) = &arm.requires {
        return Err(bad_input(format!(
            "the arm {} is not run here: {needs}",
            arm.name
        )));
    }
    let mut cells = plan.cells.iter().filter(|cell| cell.arm == arm.name);
    let cell = match &args.level {
        None => cells.next(),
        Some(level) => cells.find(|cell| cell.level == *level),
    };
    let Some(cell) = cell else {
        let known: Vec<&str> = plan
            .levels
            .iter()
            .map(|level| level.name.as_str())
            .collect();
        return Err(bad_input(format!(
            "there is no such level; there are {}",
            known.join(", ")
        )));
    };
    Ok((arm, cell))
}

fn endpoints(arm: &Arm, bed: &dyn TestBed) -> anyhow::Result<BTreeMap<String, Vec<String>>> {
    let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for route in &arm.topology.routes {
        let known = all.entry(route.edge.clone()).or_default();
        for address in bed.endpoint(&route.edge, &route.from)?.addresses {
            let address = address.to_string();
            if !known.contains(&address) {
                known.push(address);
            }
        }
    }
    Ok(all)
}
