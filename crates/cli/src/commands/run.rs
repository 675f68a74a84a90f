//! `tare run`: measures an experiment, prints the result and writes the report.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use tare_conduct::{ConductError, Event, KeptRun, RunOptions, RunOutcome, Watcher};
use tare_experiment::catalog::Catalog;
use tare_experiment::def::{MarksDef, MeshDef};
use tare_experiment::estimate::StartupTimes;
use tare_experiment::problem::{hint, list};
use tare_experiment::target::constants;
use tare_kubernetes::{Cluster, ClusterOptions, InstalledMesh, Marks, OptOut};
use tare_lab::doctor::OtherPrograms;
use tare_lab::fetch::Fetcher;
use tare_lab::local::{Local, LocalOptions, pod_limits};
use tare_lab::remote::{Namespaces, PodProvider, SitePods};
use tare_lab::seal::RunKey;
use tare_lab::targets::Targets;
use tare_record::api::SUMMARY;
use tare_record::event::RunEvent;
use tare_record::plan::{Addressing, BeyondKnee, Form, Limits, Plan};
use tare_record::profile::PROFILES;
use tare_record::record::RunProgress;
use tare_record::secrets::{is_redacted, restored};
use tare_record::text::value_of;
use tare_record::topology::InstanceRole;
use tare_record::view::View;
use tare_report::figures::{FIGURES, StoredFigures};

use crate::commands::ensure_kafka;
use crate::commands::plan::{
    EnvironmentArgs, EnvironmentKind, ExperimentArgs, capacity, not_run, own_path, times,
};
use crate::commands::verdict::{self, VerdictArgs};
use crate::exit::{Exit, bad_input};
use crate::progress::{ProgressOutput, ProgressWatcher};
use crate::runs;
use crate::screen::{print, print_event, print_raw, say, screen};
use crate::signals::Interruption;

/// Arguments of `tare run`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub experiment: ExperimentArgs,
    /// Run to resume: complete blocks are kept, the interrupted one is repeated.
    #[arg(long, value_name = "RUN", conflicts_with_all = ["name", "quick", "no_aa", "blocks", "seed", "addressing", "external"])]
    pub resume: Option<String>,
    /// Part or instance whose stacks are sampled after the blocks, in one more trial per arm that is not judged; flame graphs are in
    /// the report and in `profiles` of the run; may be given several times.
    #[arg(long, value_name = "PART", conflicts_with = "resume")]
    profile: Vec<String>,
    /// Print the report as JSON instead of text.
    #[arg(long)]
    json: bool,
    /// Print one JSON object a line while the run goes on (`tare schema run-event`), the judged run last.
    #[arg(long, conflicts_with = "json")]
    json_lines: bool,
    /// Exit with code 1 when an offered rate was not reached; no level is left out because it is too high.
    #[arg(long)]
    require_rate: bool,
    /// Time without a word after which the other side of a connection to pods elsewhere counts as gone, in seconds.
    #[arg(long, hide = true, default_value_t = SILENCE_S)]
    silence: f64,
    #[command(flatten)]
    verdict: VerdictArgs,
}

/// Longer than most outages of a network between here and a cluster.
pub(super) const SILENCE_S: f64 = 120.0;

/// What is printed at the end when JSON is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// The report.
    Report,
    /// The report as text, but no JSON: the caller prints its own.
    WithoutJson,
}

/// What came out of a run.
pub struct Measured {
    /// Exit code.
    pub exit: Exit,
    /// The judged run and its folder; `None`: it was interrupted, or nothing could be measured.
    pub result: Option<(View, PathBuf)>,
    /// Whether JSON was asked for.
    pub json: bool,
}

/// Runs the experiment.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    Ok(measure(args, Output::Report)?.exit.into())
}

/// Runs the experiment and prints its report.
pub fn measure(args: Args, prints: Output) -> anyhow::Result<Measured> {
    args.experiment.place.check()?;
    let interruption = Interruption::listen()?;
    let output = match std::io::stderr().is_terminal() {
        _ if args.json => ProgressOutput::Off,
        _ if args.json_lines => ProgressOutput::JsonLines,
        true => ProgressOutput::Terminal,
        false => ProgressOutput::Log,
    };
    let key = RunKey::of_user();
    let kept = match &args.resume {
        Some(run) => Some(kept_run(run, &args.experiment.out, &key)?),
        None => None,
    };
    let (plan, addressing) = match &kept {
        Some(kept) => {
            let addressing = value_of(&kept.environment().addressing);
            let plan = with_credentials(kept.plan().clone(), &args.experiment)?;
            (plan, addressing.unwrap_or(kept.plan().addressing))
        }
        None => {
            let mut plan = args
                .experiment
                .plan_to_run(&mut |words| say(format_args!("{words}")))?;
            plan.profile.clone_from(&args.profile);
            check_profile(&plan, args.experiment.place.environment)?;
            if args.require_rate {
                // --require-rate needs every level to be measured.
                plan.beyond_knee = BeyondKnee::Measure;
            }
            let addressing = plan.addressing;
            (plan, addressing)
        }
    };
    // Before any process of the run is started.
    let other_programs = OtherPrograms::watch();
    let silence = Duration::try_from_secs_f64(args.silence)?;
    let mut environment = environment(&args.experiment, &plan, addressing, silence)?;
    let mut progress = ProgressWatcher::new(&plan, output, interruption.clone());
    progress.other_programs(&other_programs);
    for (what, why) in not_run(&plan) {
        progress.on_event(&Event::Note(&format!("{what} is skipped: {why}")));
    }
    for (one, arms) in plan.not_proved() {
        let said = format!("not proved, {} in {}", one.in_words(), list(&arms));
        progress.on_event(&Event::Note(&said));
    }
    let known = times::known(&args.experiment.library()?.catalog, &plan);
    let outcome = match kept {
        Some(kept) => tare_conduct::resume(kept, plan, known, &mut environment, &mut progress),
        None => {
            let options = options(&args, &plan, known, key);
            tare_conduct::run(&plan, &mut environment, &options, &mut progress)
        }
    };
    progress.clear();
    // Stops the keeper and everything it has started.
    drop(environment);
    match outcome {
        Ok(outcome) => {
            times::remember(outcome.times.clone());
            print_report(&args, &outcome, (&interruption, prints))
        }
        Err(error) => {
            if let Some(folder) = progress.folder() {
                print_resume_hint(&args, folder, "failed");
            }
            Err(error.into())
        }
    }
}

/// The run to resume, if this user began it.
fn kept_run(name: &str, out: &Path, key: &Result<RunKey, String>) -> anyhow::Result<KeptRun> {
    let folder = runs::find(name, out)?;
    let kept = KeptRun::open(&folder, key).map_err(|error| match error {
        ConductError::Plan(_) => bad_input(error),
        other => other.into(),
    })?;
    // Refuses, before anything is measured, what no report could be made of.
    tare_report::read(&folder).map_err(bad_input)?;
    Ok(kept)
}

/// Checks that what is profiled is there, and installs perf.
fn check_profile(plan: &Plan, environment: EnvironmentKind) -> anyhow::Result<()> {
    if !plan.profile.is_empty() && environment != EnvironmentKind::Local {
        return Err(bad_input(
            "--profile samples stacks on this machine alone: leave it out, or use --environment local",
        ));
    }
    for wanted in &plan.profile {
        let names = || {
            let instances = plan.arms.iter().flat_map(|arm| arm.topology.parts());
            instances.map(|instance| instance.name.as_str())
        };
        if !names().any(|name| tare_conduct::is_instance_of(name, wanted)) {
            let hint = hint(wanted, names());
            return Err(bad_input(format!(
                "--profile {wanted}: no arm has such a part{hint}"
            )));
        }
    }
    match plan.profile.is_empty() {
        true => Ok(()),
        false => tare_lab::profile::install(&mut |words| say(format_args!("{words}")))
            .map_err(anyhow::Error::msg),
    }
}

/// A plan of a run's folder with the credentials that are not written there: they are read again from the experiment.
fn with_credentials(kept: Plan, args: &ExperimentArgs) -> anyhow::Result<Plan> {
    if !is_redacted(&serde_json::to_value(&kept)?) {
        return Ok(kept);
    }
    let again = ExperimentArgs {
        name: Some(kept.file.clone()),
        quick: kept.form == Form::Quick,
        ..args.clone()
    };
    let advice = || {
        format!(
            "this run's plan lacks its credentials (headers such as authorization are not kept), and {} does not give them: resume where it \
             and its workload are as they were, with the same --workloads and --targets, or start a new run",
            kept.file
        )
    };
    let again = again.plan().with_context(advice)?;
    restored(&kept, &again)?.ok_or_else(|| bad_input(advice()))
}

/// The environment of a plan. A side of a connection to pods elsewhere that has said nothing for `silence` counts as gone.
pub(super) fn environment(
    args: &ExperimentArgs,
    plan: &Plan,
    addressing: Addressing,
    silence: Duration,
) -> anyhow::Result<Local> {
    if plan.has_brokers() {
        ensure_kafka()?;
    }
    let place = &args.place;
    check_sites(plan, place)?;
    if place.environment != EnvironmentKind::Local {
        let mut arms = plan.arms.iter().filter(|arm| arm.requires.is_none());
        arms.try_for_each(|arm| pod_limits(&arm.topology, &plan.limits_of(arm)).map(drop))?;
    }
    let options = local_options(args, plan, addressing)?;
    let tare = options.tare.clone();
    let contexts = place.contexts();
    let mut providers: Vec<Box<dyn PodProvider>> = Vec::new();
    match place.environment {
        EnvironmentKind::Local => return Ok(Local::new(options)?),
        EnvironmentKind::Kubernetes => {
            let mesh = installed_mesh(plan, args)?;
            let opt_outs = opt_outs(&args.library()?.catalog)?;
            for (context, _) in &contexts {
                providers.push(Box::new(Cluster::start(ClusterOptions {
                    context: context.clone(),
                    namespace: place.namespace.clone(),
                    is_one_of_several: contexts.len() > 1,
                    image: place.image.clone(),
                    tare: tare.clone(),
                    redirects: plan.redirects(),
                    opt_outs: opt_outs.clone(),
                    mesh: mesh.clone(),
                    load_nodes: place.load_nodes.clone().map(|labels| labels.0),
                    part_nodes: place.part_nodes.clone().map(|labels| labels.0),
                    load_cores: place.load_cores,
                })?));
            }
        }
        EnvironmentKind::Remote => {
            for pods in Namespaces::start_several(&tare, contexts.len())? {
                providers.push(Box::new(pods));
            }
        }
    }
    let places = contexts.into_iter().zip(providers);
    let places = places.map(|((_, sites), provider)| SitePods { sites, provider });
    Ok(Local::remote(options, places.collect(), silence)?)
}

/// Refuses sites that are not those of the plan: a run may be resumed with other arguments.
fn check_sites(plan: &Plan, place: &EnvironmentArgs) -> anyhow::Result<()> {
    if !plan.site_links.iter().any(|link| link.between_clusters) {
        return Ok(());
    }
    let is_named = |site: &String| place.site_contexts.iter().any(|one| one.site == *site);
    let arms = plan.arms.iter().filter(|arm| arm.requires.is_none());
    let mut sites = arms.flat_map(|arm| arm.topology.pods.iter().map(|pod| &pod.site));
    match sites.find(|site| !is_named(site)) {
        None => Ok(()),
        Some(site) => Err(bad_input(format!(
            "the site {site} of this run is at a cluster: add --environment kubernetes and --site {site}=CONTEXT, as when it was begun"
        ))),
    }
}

/// How pods stay without the proxies of meshes that a cluster may have.
fn opt_outs(catalog: &Catalog) -> anyhow::Result<Vec<OptOut>> {
    let marks = |def: MarksDef| Marks {
        labels: def.labels,
        annotations: def.annotations,
    };
    let names = catalog.mesh_names().into_iter();
    let meshes = names.filter_map(|name| catalog.mesh(&name).map_err(bad_input).transpose());
    let opt_outs = meshes.map(|def| {
        let def = def?;
        Ok(OptOut {
            title: def.title,
            namespaces: marks(def.opt_out.namespaces),
            pods: marks(def.opt_out.pods),
        })
    });
    opt_outs.collect()
}

/// The mesh of the cluster that arms of a plan use.
fn installed_mesh(plan: &Plan, args: &ExperimentArgs) -> anyhow::Result<Option<InstalledMesh>> {
    let catalog = args.library()?.catalog;
    let arms = plan.arms.iter().filter(|arm| arm.requires.is_none());
    let mut used = arms.filter_map(|arm| arm.topology.mesh.as_ref());
    let Some(mesh) = used.find(|mesh| mesh.installed) else {
        return Ok(None);
    };
    if let Some(other) = used.find(|other| other.installed && other.name != mesh.name) {
        return Err(bad_input(format!(
            "{} and {} of a cluster cannot be compared in one run: they would have the same pods",
            mesh.name, other.name
        )));
    }
    let Some(def) = catalog.mesh(&mesh.name).map_err(bad_input)? else {
        return Ok(None);
    };
    let title = def.title.clone();
    let mut all = plan.arms.iter().filter(|arm| arm.requires.is_none());
    let has_gateways = all.any(|arm| {
        let mut parts = arm.topology.parts();
        parts.any(|one| one.role == InstanceRole::Gateway && arm.topology.is_injected(&one.name))
    });
    let found = as_installed(&catalog, def, has_gateways)?;
    found.map(Some).ok_or_else(|| {
        bad_input(format!(
            "{title} cannot be used as a cluster has it: leave --mesh installed out"
        ))
    })
}

/// How arms use a mesh as a cluster has it, with or without gateways; `None`: they cannot.
pub(super) fn as_installed(
    catalog: &Catalog,
    def: MeshDef,
    has_gateways: bool,
) -> anyhow::Result<Option<InstalledMesh>> {
    let target = catalog.target(&def.proxy).map_err(bad_input)?;
    let injected = target.and_then(|target| target.def.injected);
    let (Some(mut installed), Some(injected)) = (def.installed, injected) else {
        return Ok(None);
    };
    if has_gateways {
        installed.resources.extend(installed.gateway_resources);
    }
    Ok(Some(InstalledMesh {
        title: def.title,
        selector: installed.control_plane,
        revision: installed.revision,
        metrics: installed.metrics,
        control_plane: def.control_plane.0,
        proxy: def.proxy.0,
        resources: installed.resources,
        labels: constants(&injected.labels),
        annotations: constants(&injected.annotations),
        container: injected.container,
    }))
}

fn local_options(
    args: &ExperimentArgs,
    plan: &Plan,
    addressing: Addressing,
) -> anyhow::Result<LocalOptions> {
    let directories = args.library()?.catalog.targets;
    let (builtin, extra) = directories
        .split_first()
        .context("no directory of target folders: start tare in its checkout")?;
    Ok(LocalOptions {
        tare: own_path()?,
        addressing,
        targets: Targets::load(builtin, extra)
            .map_err(bad_input)?
            .with_programs(&args.own_programs().cloned().collect::<Vec<_>>()),
        fetcher: Fetcher::from_env()?,
        out: args.out.clone(),
        site_links: plan.site_links.clone(),
        limits: all_limits(plan),
        seed: plan.seed,
        reach: args.allow_public_target.into(),
        base: None,
    })
}

/// Limits of instances in all arms.
fn all_limits(plan: &Plan) -> Vec<(String, Limits)> {
    let arms = plan.arms.iter().filter(|arm| arm.requires.is_none());
    let of_arms = arms.flat_map(|arm| plan.limits_of(arm));
    let mut all: Vec<(String, Limits)> = Vec::new();
    for one in of_arms {
        if !all.contains(&one) {
            all.push(one);
        }
    }
    all
}

/// Options of a new run; its folder is `<out>/<time>-<experiment>`.
fn options(
    args: &Args,
    plan: &Plan,
    times: StartupTimes,
    key: Result<RunKey, String>,
) -> RunOptions {
    let stem = plan.experiment.rsplit('/').next().unwrap_or("run");
    let now = jiff::ZonedDateTime::now()
        .strftime("%Y-%m-%dT%H-%M-%S")
        .to_string();
    RunOptions {
        out: args.experiment.out.clone(),
        name: format!("{now}-{stem}"),
        command: std::iter::once(own_name().to_owned())
            .chain(
                std::env::args_os()
                    .skip(1)
                    .map(|one| one.to_string_lossy().into_owned()),
            )
            .collect(),
        capacity: capacity::known(&args.experiment.out, plan),
        times,
        key,
    }
}

/// Writes the HTML report, prints the result, and chooses the exit code.
fn print_report(
    args: &Args,
    outcome: &RunOutcome,
    (interruption, prints): (&Interruption, Output),
) -> anyhow::Result<Measured> {
    let ended = |exit| Measured {
        exit,
        result: None,
        json: args.json,
    };
    let run = tare_report::read(&outcome.folder)?;
    let view = tare_report::view(&run);
    let report = outcome.folder.join("report.html");
    let page = tare_report::html::html(&view)?;
    tare_conduct::write_synced(&report, page.as_bytes()).with_context(|| {
        format!(
            "no report (the records are safe: `tare report {}` writes it elsewhere)",
            outcome.folder.display()
        )
    })?;
    for graph in &view.flame_graphs {
        let against = graph.against.iter().map(|arm| format!("-against-{arm}"));
        let name =
            [&graph.instance, &graph.arm, &graph.level].map(|part| part.replace(['/', ' '], "_"));
        let name = format!("{}{}.svg", name.join("-"), against.collect::<String>());
        let file = outcome.folder.join(PROFILES).join(name);
        tare_conduct::write_synced(&file, graph.svg.as_bytes())?;
    }
    let summary = serde_json::to_vec_pretty(&tare_report::summary::summary(&run, &view))?;
    tare_conduct::write_synced(&outcome.folder.join(SUMMARY), &summary)?;
    StoredFigures::of(&view.levels, run.state.as_ref())
        .write(&outcome.folder)
        .with_context(|| format!("cannot write {}", outcome.folder.join(FIGURES).display()))?;
    if args.json && prints == Output::WithoutJson {
        // The caller prints its own.
    } else if args.json {
        print_raw(&(tare_report::json(&view)? + "\n"))?;
    } else if args.json_lines {
        // That nobody reads it changes nothing any more.
        let _ = print_event(&RunEvent::Result(Box::new(view.clone())));
    } else {
        print_raw(&tare_report::terminal::terminal(
            &view,
            screen(&console::Term::stdout()),
        ))?;
        print(&format!("report: {}\n", report.display()))?;
    }
    if outcome.progress == RunProgress::Interrupted {
        print_resume_hint(args, &outcome.folder, "interrupted");
        return Ok(ended(Exit::of_cut(interruption.signal())));
    }
    if verdict::is_empty(&view) {
        say("nothing could be measured: no trial was fit");
        return Ok(ended(Exit::NothingMeasured));
    }
    let rate_missed = view
        .levels
        .iter()
        .flat_map(|level| &level.cells)
        .filter(|cell| {
            let arm = view.arms.iter().find(|arm| arm.name == cell.arm);
            arm.is_none_or(|arm| arm.not_run.is_none())
        })
        .any(|cell| !cell.rate_reached);
    let exit = if args.require_rate && rate_missed {
        say("an offered rate was not reached (--require-rate)");
        Exit::Failed
    } else {
        args.verdict.exit(&view)
    };
    Ok(Measured {
        result: Some((view, outcome.folder.clone())),
        ..ended(exit)
    })
}

/// What a user types to start this program: the script of a checkout, or the program of a package.
fn own_name() -> &'static str {
    let is_checkout = tare_lab::home::home().is_ok_and(|home| home.join("tare").is_file());
    if is_checkout { "./tare" } else { "tare" }
}

fn print_resume_hint(args: &Args, folder: &Path, what: &str) {
    let mut command = format!("{} run --resume {}", own_name(), folder.display());
    for (flag, directories) in [
        ("--targets", &args.experiment.targets),
        ("--workloads", &args.experiment.workloads),
    ] {
        for directory in directories {
            command += &format!(" {flag} {}", directory.display());
        }
    }
    for word in args.experiment.place.to_words() {
        command += &format!(" {word}");
    }
    for one in args.experiment.own_programs() {
        let (name, path) = (
            format!("{}@{}", one.target, one.version),
            one.path.display(),
        );
        command += &format!(" --program {name}={path}");
    }
    say(format_args!(
        "{what}: what was measured is kept; go on with `{command}`"
    ));
}
