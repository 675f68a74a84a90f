//! The plan as text.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use tare_experiment::estimate::{StartupTimes, estimate};
use tare_experiment::problem::list;
use tare_record::load::{LoadSpec, Pacing, Stop};
use tare_record::plan::{
    Addressing, Arm, Capacity, Compare, Form, Guarantee, Limits, Plan, PlannedFault, Published,
    PublishedFigure, Restart, RoleLoad,
};
use tare_record::units::{CoreCount, Size};
use tare_report::{pace, quantity};

use super::noise::Earlier;
use tare_report::routes;

use super::capacity;
use crate::values::{self, counted};

/// Width of the heading column.
const HEAD: usize = 11;

/// The output of `tare plan`.
pub fn text(
    plan: &Plan,
    (earlier, times): (&Earlier, &StartupTimes),
    out: &Path,
    known: Option<&Capacity>,
) -> String {
    let mut writer = PlanWriter::default();
    let form = match plan.form {
        Form::Full => "",
        Form::Quick => " · quick form",
    };
    writer.line(&format!("{}{form}", plan.experiment));
    writer.line(&plan.question);
    writer.line("");
    writer.entry("workload", &workload(plan));
    arms(&mut writer, plan);
    for one in plan.external() {
        let words = format!(
            "{}: {}; nothing is started or stopped there",
            one.name,
            one.in_words()
        );
        writer.entry("external", &words);
    }
    for (one, arms) in plan.not_proved() {
        let words = format!("{}, in {}", one.in_words(), list(&arms));
        writer.entry("not proved", &words);
    }
    writer.entry("levels", &levels(plan));
    if let Some(words) = capacity::words(plan, known) {
        writer.entry("levels", &words);
    }
    for line in loads(plan) {
        writer.entry("load", &line);
    }
    for line in faults(plan) {
        writer.entry("faults", &line);
    }
    writer.entry("cells", &cells(plan));
    writer.entry("order", &order(plan));
    writer.entry("restart", &restart(plan));
    writer.entry("placement", &placement(plan));
    for line in limits(plan) {
        writer.entry("limits", &line);
    }
    writer.entry("primary", &primary(plan));
    writer.entry("time", &time(&capacity::kept(plan, known), times));
    writer.entry("detectable", &detectable_differences(plan, earlier, out));
    for figure in &plan.published {
        writer.entry("published", &published(figure));
    }
    for (what, reason) in not_run(plan) {
        writer.entry("not run", &format!("{what}: {reason}"));
    }
    writer.text
}

/// Limits of all arms, then those of single arms.
fn limits(plan: &Plan) -> Vec<String> {
    let line = |within: &str, all: &BTreeMap<String, Limits>| {
        let of = |(instance, limits): (&String, &Limits)| {
            let cpu = limits.cpu.map(|cores| format!("cpu {}", CoreCount(cores)));
            let memory = limits
                .memory_bytes
                .map(|bytes| format!("memory {}", Size(bytes)));
            let both: Vec<String> = cpu.into_iter().chain(memory).collect();
            format!("{instance} {}", both.join(" "))
        };
        let words: Vec<String> = all.iter().map(of).collect();
        (!words.is_empty()).then(|| format!("{within}: {}", words.join(", ")))
    };
    let arms = plan.arms.iter();
    let of_arms = arms.filter_map(|arm| line(&arm.name, &arm.limits));
    line("all arms", &plan.limits)
        .into_iter()
        .chain(of_arms)
        .collect()
}

#[derive(Default)]
struct PlanWriter {
    text: String,
    last: &'static str,
}

impl PlanWriter {
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// A line under a heading; consecutive lines with the same heading print it once.
    fn entry(&mut self, head: &'static str, line: &str) {
        let shown = if self.last == head { "" } else { head };
        self.last = head;
        let _ = writeln!(self.text, "{shown:<HEAD$}{line}");
    }
}

fn workload(plan: &Plan) -> String {
    let settings = plan.cells.first().map(|cell| {
        let varied = |key: &String| {
            plan.levels
                .iter()
                .any(|level| level.values.contains_key(&format!("workload.{key}")))
        };
        let words: Vec<String> = cell
            .workload
            .iter()
            .filter(|(key, _)| !varied(key))
            .map(|(key, value)| match value {
                serde_json::Value::String(text) => format!("{key} {text}"),
                other => format!("{key} {other}"),
            })
            .collect();
        words.join(", ")
    });
    match settings.filter(|settings| !settings.is_empty()) {
        Some(settings) => format!("{} ({settings})", plan.workload.name),
        None => plan.workload.name.clone(),
    }
}

fn arms(writer: &mut PlanWriter, plan: &Plan) {
    for (index, arm) in plan.arms.iter().enumerate() {
        let baseline = if index == 0 && plan.compare == Compare::Arms {
            " (baseline)"
        } else {
            ""
        };
        writer.entry("arms", &format!("{}{baseline}: {}", arm.name, arm.about));
        for line in routes::lines(arm) {
            writer.entry("arms", &format!("  {line}"));
        }
    }
}

fn levels(plan: &Plan) -> String {
    let names: Vec<&str> = plan
        .levels
        .iter()
        .map(|level| level.name.as_str())
        .collect();
    match plan.compare {
        Compare::Arms => names.join(" · "),
        Compare::Levels => format!("{} (the first is the baseline)", names.join(" · ")),
    }
}

/// The loads of one arm, equal descriptions once: levels show in their names what they vary.
fn loads(plan: &Plan) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let first = plan.cells.first().map(|cell| &cell.arm);
    for cell in plan.cells.iter().filter(|cell| Some(&cell.arm) == first) {
        let several = cell.load.len() > 1;
        let of_cell = cell.load.iter().map(|role| load(role, several));
        for line in of_cell {
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    lines
}

fn load(role: &RoleLoad, several: bool) -> String {
    let LoadSpec {
        pacing,
        stop,
        warmup_ns,
        client,
        ..
    } = &role.load;
    let model = match pacing {
        // Levels vary and show the numbers.
        Pacing::Constant { .. } | Pacing::Closed { .. } => pace::kind(pacing).to_owned(),
        _ => pace::words(pacing),
    };
    let protocol = &client.protocol;
    let window = match stop {
        Stop::Duration { window_ns } => format!("window {}", seconds(*window_ns)),
        Stop::Count { exchanges } => format!("window of {exchanges} exchanges"),
        Stop::Interrupted => String::from("until interrupted"),
    };
    let who = match (several, role.agents) {
        (false, 1) => String::new(),
        (_, agents) => format!("{} ({}): ", role.role, counted(agents, "agent")),
    };
    let over = counted(client.connections, "connection");
    let warmup = seconds(*warmup_ns);
    format!("{who}{model}, {protocol} over {over}, warm-up {warmup}, {window}")
}

/// The fault events and the read-back of the first cell; other cells differ in names only.
fn faults(plan: &Plan) -> Vec<String> {
    let Some(cell) = plan.cells.first() else {
        return Vec::new();
    };
    let action =
        |fault: &PlannedFault| format!("{} at {}", fault.action.in_words(), seconds(fault.at_ns));
    let mut lines: Vec<String> = cell.faults.iter().map(action).collect();
    lines.extend(cell.read_back.as_ref().map(|read_back| {
        let guarantees = match read_back.guarantees.as_slice() {
            [] => "what was acknowledged and is not there is counted",
            [Guarantee::NoneLost] => "a trial is invalid when an acknowledged record is lost",
            [Guarantee::NoneDuplicated] => "a trial is invalid when a record is duplicated",
            _ => "a trial is invalid when an acknowledged record is lost, or one is duplicated",
        };
        let topic = &read_back.topic.topic;
        format!("everything in {topic} is read back after each trial; {guarantees}")
    }));
    lines
}

fn cells(plan: &Plan) -> String {
    let arms = counted(plan.arms.len(), "arm");
    let levels = counted(plan.levels.len(), "level");
    format!("{} ({arms} × {levels})", plan.cells.len())
}

fn order(plan: &Plan) -> String {
    let blocks = match plan.blocks.until {
        None => counted(plan.blocks.max, "block"),
        Some(until) => format!(
            "{} to {} blocks, until the interval of {} is at most ±{}",
            plan.blocks.min,
            plan.blocks.max,
            until.metric.label(),
            quantity::percent(until.half_width)
        ),
    };
    let twice = match plan.aa_check {
        true => "; the baseline runs twice in each (A/A check)",
        false => "; the baseline runs once in each",
    };
    format!(
        "{blocks}, each a pass over all cells: arms in random order, levels in random order within an arm (seed {}){twice}",
        plan.seed
    )
}

fn restart(plan: &Plan) -> String {
    let fresh = match plan.restart {
        Restart::Trial => "fresh targets for every trial",
        Restart::Block => "fresh targets for every arm in every block",
        Restart::Run => "targets are started once and are paused while others are measured",
    };
    match plan.burn_in_ns {
        None => fresh.into(),
        Some(ns) => format!("{fresh}; the first load on them warms up {}", seconds(ns)),
    }
}

fn placement(plan: &Plan) -> String {
    let cores = |cores: &[u32]| {
        let words: Vec<String> = cores.iter().map(u32::to_string).collect();
        let noun = if cores.len() == 1 { "core" } else { "cores" };
        format!("{noun} {}", words.join(", "))
    };
    let mut addressing = String::from(match plan.addressing {
        Addressing::Loopback => "each pod a loopback address of its own",
        Addressing::Namespaces => "each pod a network namespace",
        Addressing::Auto => {
            "each pod a network namespace, or a loopback address where that is not possible"
        }
    });
    for link in &plan.site_links {
        addressing += &format!("; {}", link.in_words());
    }
    if plan.placement.agent_cpus.is_empty() {
        return format!("one core for all; {addressing}");
    }
    format!(
        "load from {}, everything else on {}; {addressing}",
        cores(&plan.placement.agent_cpus),
        cores(&plan.placement.target_cpus)
    )
}

fn primary(plan: &Plan) -> String {
    let primary: Vec<&str> = plan.primary.iter().map(|metric| metric.label()).collect();
    let mut text = format!(
        "{} (simultaneous intervals); margin {}",
        primary.join(", "),
        quantity::margin(plan)
    );
    for assertion in &plan.assertions {
        text += &format!("; asserted: {}", assertion.text);
    }
    text
}

fn time(plan: &Plan, times: &StartupTimes) -> String {
    let estimate = estimate(plan, times);
    let (Some(block), Some(total), Some(measuring)) =
        (estimate.block, estimate.total, estimate.measuring)
    else {
        return String::from("– (a load here has no end that is known in advance)");
    };
    let whole = if total.0 == total.1 {
        clock(total.1)
    } else {
        format!("{} to {}", clock(total.0), clock(total.1))
    };
    let trials = if estimate.trials.0 == estimate.trials.1 {
        counted(estimate.trials.1, "trial")
    } else {
        format!("{} to {} trials", estimate.trials.0, estimate.trials.1)
    };
    // Targets that are started once are started in the first block.
    let first = total.0.saturating_sub(block * (plan.blocks.min - 1));
    let share = measuring.as_secs_f64() / block.as_secs_f64().max(f64::MIN_POSITIVE);
    let guessed = match times.unknown(plan).as_slice() {
        [] => String::new(),
        targets => format!(
            " (the time that {} {} to start here is a guess until the first run)",
            list(targets),
            if targets.len() == 1 { "takes" } else { "take" }
        ),
    };
    let about = match plan.may_skip_levels() {
        true => "at most",
        false => "about",
    };
    format!(
        "{about} {whole} for {trials}{guessed}; first block done after {}; {:.0} % of the time is measured",
        clock(first),
        share * 100.0
    )
}

fn detectable_differences(plan: &Plan, earlier: &Earlier, out: &Path) -> String {
    let Earlier::Run { folder, detectable } = earlier else {
        return format!(
            "no earlier run of this experiment in {}: the smallest difference it can detect is known after the first",
            out.display()
        );
    };
    let words: Vec<String> = detectable
        .iter()
        .map(|one| {
            let relative = values::maybe(one.relative.map(quantity::percent));
            format!("{} at {}: {relative}", one.metric.label(), one.level)
        })
        .collect();
    let run = folder
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    let blocks = counted(plan.blocks.max, "block");
    format!(
        "differences from {} with {blocks} (noise of {run})",
        words.join(", ")
    )
}

fn published(figure: &Published) -> String {
    let at = figure
        .level
        .as_ref()
        .map_or_else(String::new, |level| format!(" at {level}"));
    let value = match &figure.figure {
        PublishedFigure::Ratio(ratio) => format!("× {ratio}"),
        PublishedFigure::AddedNs(ns) => format!("+{}", seconds(*ns)),
        PublishedFigure::Value(value) => quantity::value(figure.metric.unit(), *value),
        PublishedFigure::Words(words) => words.clone(),
    };
    let caveat = figure
        .caveat
        .as_ref()
        .map_or_else(String::new, |caveat| format!("; {caveat}"));
    let against = match figure.figure {
        PublishedFigure::Value(_) => String::new(),
        PublishedFigure::Ratio(_) | PublishedFigure::AddedNs(_) | PublishedFigure::Words(_) => {
            format!(" against {}", figure.against)
        }
    };
    format!(
        "{}{against}, {}{at}: {value} [{}{caveat}]",
        figure.arm,
        figure.metric.label(),
        figure.source
    )
}

/// Arms and loads of the plan that a run leaves out, and why.
pub fn not_run(plan: &Plan) -> Vec<(String, String)> {
    let needs = |arm: &Arm| {
        let needs = arm.requires.as_ref()?;
        let reason = format!("needs {needs}, which is not there");
        Some((format!("arm {}", arm.name), reason))
    };
    let mut all: Vec<(String, String)> = plan.arms.iter().filter_map(needs).collect();
    for role in plan.cells.iter().flat_map(|cell| &cell.load) {
        let name = &role.load.client.protocol;
        if tare_load::protocols::find(name).is_none() {
            let one = (
                format!("load {}", role.role),
                format!("there is no load over {name}: choose another `protocol` for it"),
            );
            if !all.contains(&one) {
                all.push(one);
            }
        }
    }
    all
}

fn seconds(ns: u64) -> String {
    tare_record::units::Period(Duration::from_nanos(ns)).to_string()
}

/// Rounded to whole seconds.
fn clock(time: Duration) -> String {
    values::clock(Duration::from_secs(time.as_secs_f64().round() as u64))
}
