//! `tare kafka reassign`: moves partitions to other brokers.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use tare_kafka_admin::admin::Admin;
use tare_kafka_admin::admin::reassign::{
    NewThrottle, OngoingReassignment, ThrottleMemory, Throttles,
};
use tare_kafka_admin::reassignment::{self, ReassignmentPlan, ToolAssignment};
use tare_record::files::read_user_file;
use tare_record::units::Size;

use tare_cli::exit::{Exit, bad_input};
use tare_cli::screen::{is_closed, print, print_event, say};
use tare_cli::signals::Interruption;
use tare_cli::values::{MISSING, bytes, counted};

use super::output::{list, partition, table};
use super::printed::Reassignments;
use super::{CommonArgs, clusters};

/// Most moves that are printed; the file has all.
const SHOWN_MAX: usize = 40;

/// Largest plan file.
const PLAN_MAX_BYTES: u64 = 64 << 20;

/// Polling interval of `watch`.
const PAUSE: Duration = Duration::from_millis(500);

/// Arguments of `tare kafka reassign`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    action: Action,
}

/// What to do with moves.
#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Plan reassignments: replicas spread over racks, replicas and leaders even, minimal copying. Changes nothing.
    Plan(PlanArgs),
    /// Start the reassignments of a plan.
    Run(RunArgs),
    /// Show ongoing reassignments, and throttles.
    Show,
    /// Follow ongoing reassignments to their end; with --yes, then remove the throttles that Tare has set.
    Watch,
    /// Cancel ongoing reassignments: replicas return to their former brokers.
    Cancel {
        /// Single partition, `TOPIC:NUMBER`; may be given several times [default: all].
        #[arg(long, value_name = "TOPIC:NUMBER")]
        partition: Vec<String>,
    },
    /// Remove the throttles that Tare has set.
    Unthrottle {
        /// Those of others too.
        #[arg(long)]
        all: bool,
    },
}

/// What to plan.
#[derive(Debug, clap::Args)]
struct PlanArgs {
    /// Topics to reassign.
    #[arg(value_name = "TOPIC", required_unless_present = "all")]
    topics: Vec<String>,
    /// All topics, internal ones included.
    #[arg(long, conflicts_with = "topics")]
    all: bool,
    /// IDs of the brokers to use, separated by commas [default: all].
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    brokers: Vec<i32>,
    /// IDs of the brokers to drain, separated by commas.
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    drain: Vec<i32>,
    /// Replication factor [default: unchanged].
    #[arg(long, short, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..))]
    replicas: Option<u16>,
    /// Write the plan to this file, for `reassign run --plan`.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// How to begin.
#[derive(Debug, clap::Args)]
struct RunArgs {
    /// Plan file of `reassign plan --out`, or the JSON of kafka-reassign-partitions.sh; `-` is standard input.
    #[arg(long, value_name = "FILE")]
    plan: String,
    /// Replication throttle per broker, in bytes per second, such as 10MB [default: none].
    #[arg(long, value_name = "RATE")]
    throttle: Option<String>,
    /// Follow the reassignments to their end.
    #[arg(long)]
    watch: bool,
}

/// What `watch` does with the throttles that Tare has set when nothing moves any more.
#[derive(Debug, Clone, Copy)]
enum AtEnd {
    Unthrottle,
    SayThrottles,
}

/// Where the throttles that the commands set are noted: beside the file of named clusters.
fn memory() -> anyhow::Result<ThrottleMemory> {
    Ok(ThrottleMemory::new(
        clusters::path()?.with_file_name("kafka-throttles"),
    ))
}

/// Runs the subcommand.
pub fn run(admin: &mut Admin, args: &Args, common: &CommonArgs) -> anyhow::Result<Exit> {
    match &args.action {
        Action::Plan(args) => plan(admin, args, common)?,
        Action::Run(args) => return begin(admin, args, common),
        Action::Show => show(admin, common)?,
        Action::Watch => {
            let at_end = match common.yes {
                true => AtEnd::Unthrottle,
                false => AtEnd::SayThrottles,
            };
            return watch(admin, at_end, common);
        }
        Action::Cancel { partition } => cancel(admin, partition, common)?,
        Action::Unthrottle { all } => unthrottle(admin, *all, common)?,
    }
    Ok(Exit::Done)
}

/// Computes a plan, prints it and writes it to a file.
fn plan(admin: &mut Admin, args: &PlanArgs, common: &CommonArgs) -> anyhow::Result<()> {
    let mut sites = admin.sites()?;
    for id in args.brokers.iter().chain(&args.drain) {
        let is_there = sites.iter().any(|site| site.broker == *id);
        // A broker of --drain may be down.
        if !is_there && !args.drain.contains(id) {
            return Err(bad_input(format!(
                "there is no broker {id} now: see `tare kafka brokers`"
            )));
        }
    }
    sites.retain(|site| {
        let is_named = args.brokers.is_empty() || args.brokers.contains(&site.broker);
        is_named && !args.drain.contains(&site.broker)
    });
    let topics = match args.all {
        false => args.topics.clone(),
        true => {
            let all = admin.topics()?;
            all.into_iter().map(|topic| topic.name).collect()
        }
    };
    let placed = admin.placed(&topics)?;
    let replicas = args.replicas.map(usize::from);
    let plan = reassignment::plan(&sites, &placed, replicas).map_err(bad_input)?;
    if let Some(path) = &args.out {
        let text = serde_json::to_string_pretty(&plan)? + "\n";
        std::fs::write(path, text)
            .with_context(|| format!("cannot write {}", path.display()))
            .map_err(bad_input)?;
    }
    common.show(&plan, |plan| show_plan(plan, args))
}

fn show_plan(plan: &ReassignmentPlan, args: &PlanArgs) -> anyhow::Result<()> {
    if plan.reassignments.is_empty() {
        return print("all is as it should be: nothing to move\n");
    }
    let rows = plan.reassignments.iter().take(SHOWN_MAX).map(|one| {
        let adding: Vec<i32> = one.adding().collect();
        vec![
            format!("{}-{}", one.topic, one.partition),
            list(&one.from),
            list(&one.to),
            list(&adding),
        ]
    });
    table(
        &["partition", "brokers now", "brokers then", "copied to"],
        rows,
    )?;
    if plan.reassignments.len() > SHOWN_MAX {
        let more = plan.reassignments.len() - SHOWN_MAX;
        print(&format!("… and {more} more; --out FILE writes all\n"))?;
    }
    let brokers: BTreeSet<i32> = plan
        .before
        .keys()
        .chain(plan.after.keys())
        .copied()
        .collect();
    let rows = brokers.into_iter().map(|id| {
        let before = plan.before.get(&id).copied().unwrap_or_default();
        let after = plan.after.get(&id).copied().unwrap_or_default();
        vec![
            id.to_string(),
            format!("{} → {}", before.replicas, after.replicas),
            format!("{} → {}", before.leaders, after.leaders),
        ]
    });
    table(&["broker #", "replicas #", "leaders #"], rows)?;
    let next = match &args.out {
        Some(path) => format!("tare kafka reassign run --plan {}", path.display()),
        None => {
            "tare kafka reassign run --plan FILE, after another plan with --out FILE".to_owned()
        }
    };
    print(&format!(
        "{} change, {} copied; to do it:\n{next}\n",
        counted(plan.reassignments.len(), "partition"),
        counted(plan.replicas_to_copy, "replica"),
    ))
}

/// A plan of ours, or what Kafka's own tool would be given.
#[derive(Debug)]
enum PlanFile {
    Plan(ReassignmentPlan),
    Tool(ToolAssignment),
}

/// Reads a plan from a file or standard input.
fn read(path: &str) -> anyhow::Result<PlanFile> {
    let text = match path {
        "-" => {
            let mut text = Vec::new();
            let mut input = std::io::stdin().lock().take(PLAN_MAX_BYTES);
            let read = input.read_to_end(&mut text);
            let read = read.context("cannot read standard input");
            read.map_err(bad_input)?;
            text
        }
        _ => read_user_file(Path::new(path), PLAN_MAX_BYTES).map_err(bad_input)?,
    };
    parse(path, &text).map_err(bad_input)
}

fn parse(path: &str, text: &[u8]) -> anyhow::Result<PlanFile> {
    let plan = match serde_json::from_slice(text) {
        Ok(plan) => return Ok(PlanFile::Plan(plan)),
        Err(error) => error,
    };
    match str::from_utf8(text) {
        Ok(text) if ToolAssignment::is_meant(text) => ToolAssignment::parse(text)
            .map(PlanFile::Tool)
            .with_context(|| format!("{path} cannot be read")),
        _ => Err(plan).with_context(|| {
            format!(
                "{path} is neither what `tare kafka reassign plan --out` wrote nor the JSON of kafka-reassign-partitions.sh; make it anew"
            )
        }),
    }
}

/// The plan that gives partitions the brokers of a file of Kafka's tool; those that it does not name stay.
fn plan_of(admin: &mut Admin, wanted: &ToolAssignment) -> anyhow::Result<ReassignmentPlan> {
    if wanted.with_log_dirs > 0 {
        say(format_args!(
            "{} with log directories: these are not followed, brokers choose them",
            counted(wanted.with_log_dirs, "partition")
        ));
    }
    let names: BTreeSet<&String> = wanted.partitions.iter().map(|one| &one.topic).collect();
    let names: Vec<String> = names.into_iter().cloned().collect();
    let (sites, placed) = (admin.sites()?, admin.placed(&names)?);
    reassignment::by_hand(&sites, &placed, &wanted.partitions).map_err(bad_input)
}

fn begin(admin: &mut Admin, args: &RunArgs, common: &CommonArgs) -> anyhow::Result<Exit> {
    let plan = match read(&args.plan)? {
        PlanFile::Plan(plan) => plan,
        PlanFile::Tool(wanted) => plan_of(admin, &wanted)?,
    };
    let limit = args.throttle.as_deref().map(rate).transpose()?;
    if plan.reassignments.is_empty() {
        print("the plan moves nothing\n")?;
        return Ok(Exit::Done);
    }
    let partitions = counted(plan.reassignments.len(), "partition");
    let copied = counted(plan.replicas_to_copy, "replica");
    common.confirm(&format!("move {partitions}, {copied} copied"))?;
    let memory = limit.map(|_| memory()).transpose()?;
    let throttle = limit
        .zip(memory.as_ref())
        .map(|(bytes_per_s, memory)| NewThrottle {
            bytes_per_s,
            memory,
        });
    admin.reassign(&plan.reassignments, throttle)?;
    if args.watch {
        return watch(admin, AtEnd::Unthrottle, common);
    }
    common.show(&plan, |_| {
        let then = match limit {
            None => "`tare kafka reassign watch` follows them",
            Some(_) => {
                "`tare kafka reassign watch --yes` follows them and removes the throttle at the end"
            }
        };
        print(&format!("reassigning {partitions}; {then}\n"))
    })?;
    Ok(Exit::Done)
}

fn show(admin: &mut Admin, common: &CommonArgs) -> anyhow::Result<()> {
    let found = Reassignments {
        reassignments: admin.reassignments()?,
        throttles: admin.throttles()?,
    };
    common.show(&found, |found| {
        let (moving, throttles) = (&found.reassignments, &found.throttles);
        if moving.is_empty() {
            print("nothing is moving\n")?;
        } else {
            let rows = moving.iter().map(|one| {
                vec![
                    format!("{}-{}", one.topic, one.partition),
                    list(&one.replicas),
                    list(&one.adding),
                    list(&one.removing),
                    copied(one),
                ]
            });
            let header = ["partition", "replicas", "adding", "removing", "copied #"];
            table(&header, rows)?;
        }
        for (broker, rate) in &throttles.brokers {
            let rate = bytes(*rate as f64);
            print(&format!("broker {broker} copies at most {rate}/s\n"))?;
        }
        match moving.is_empty() && !throttles.is_empty() {
            true => print(
                "throttles are left: `tare kafka reassign unthrottle` removes those that Tare has set, with --all those of others too\n",
            ),
            false => Ok(()),
        }
    })
}

fn copied(one: &OngoingReassignment) -> String {
    match (one.copied_bytes, one.total_bytes) {
        (Some(copied), Some(wanted)) => {
            format!("{} of {}", bytes(copied as f64), bytes(wanted as f64))
        }
        _ => MISSING.to_owned(),
    }
}

fn cancel(admin: &mut Admin, partitions: &[String], common: &CommonArgs) -> anyhow::Result<()> {
    let keys: Vec<(String, i32)> = match partitions {
        [] => {
            let all = admin.reassignments()?;
            all.into_iter()
                .map(|one| (one.topic, one.partition))
                .collect()
        }
        some => some
            .iter()
            .map(|words| partition(words))
            .collect::<Result<_, _>>()?,
    };
    if keys.is_empty() {
        print("nothing is moving\n")?;
        say_throttles(&admin.own_throttles(&memory()?)?);
        return Ok(());
    }
    let partitions = counted(keys.len(), "partition");
    common.confirm(&format!(
        "cancel the reassignment of {partitions}, and remove the throttles that Tare has set if nothing else moves"
    ))?;
    let outcomes = admin.cancel_reassignments(&keys)?;
    if admin.reassignments()?.is_empty() {
        admin.unthrottle_own(&memory()?)?;
    }
    common.show_outcomes(&outcomes, "cancelled")
}

/// Says that throttles are left which Tare has set.
fn say_throttles(own: &Throttles) {
    if !own.is_empty() {
        say("throttles that Tare has set are left: `tare kafka reassign unthrottle` removes them");
    }
}

fn unthrottle(admin: &mut Admin, all: bool, common: &CommonArgs) -> anyhow::Result<()> {
    let memory = memory()?;
    let set = admin.throttles()?;
    let throttles = match all {
        true => set.clone(),
        false => admin.own_throttles(&memory)?,
    };
    let moving = admin.reassignments()?;
    let whose = match all {
        true => "all throttles, also those that others have set",
        false => "the throttles that Tare has set",
    };
    if !throttles.is_empty() && (all || !moving.is_empty()) {
        let meanwhile = match moving.len() {
            0 => String::new(),
            1 => String::from(" while 1 partition is still moving"),
            _ => format!(
                " while {} are still moving",
                counted(moving.len(), "partition")
            ),
        };
        common.confirm(&format!("remove {whose}{meanwhile}"))?;
    }
    let removed = match all {
        true => admin.unthrottle_all(&memory)?,
        false => admin.unthrottle_own(&memory)?,
    };
    let is_left = set
        .brokers
        .keys()
        .any(|id| !removed.brokers.contains_key(id))
        || set
            .topics
            .keys()
            .any(|name| !removed.topics.contains_key(name));
    common.show(&removed, |removed| match removed.is_empty() {
        true if all => print("there are no throttles\n"),
        true => print("there are no throttles that Tare has set\n"),
        false => print("replication throttles removed\n"),
    })?;
    if is_left && !all {
        say(
            "throttles of others are left: `tare kafka reassign unthrottle --all` removes them too",
        );
    }
    Ok(())
}

/// Follows the reassignments; Ctrl-C ends the watching only.
fn watch(admin: &mut Admin, at_end: AtEnd, common: &CommonArgs) -> anyhow::Result<Exit> {
    let interruption = Interruption::listen()?;
    let mut last = None;
    loop {
        let moving = admin.reassignments()?;
        let is_over = moving.is_empty();
        let progress = progress(&moving);
        if last.as_ref() != Some(&progress) {
            if common.json {
                let throttles = admin.throttles()?;
                // That nobody reads it is noticed below.
                let _ = print_event(&Reassignments {
                    reassignments: moving,
                    throttles,
                });
            } else {
                print(&format!("{progress}\n"))?;
            }
            last = Some(progress);
        }
        if is_over {
            break;
        }
        if interruption.is_requested() || is_closed() {
            say(
                "the reassignment goes on: `tare kafka reassign watch --yes` follows it again and removes its throttle at the end, `tare kafka reassign cancel` cancels it",
            );
            return Ok(Exit::of_cut(interruption.signal()));
        }
        std::thread::sleep(PAUSE);
    }
    let memory = memory()?;
    match at_end {
        AtEnd::SayThrottles => say_throttles(&admin.own_throttles(&memory)?),
        AtEnd::Unthrottle => {
            let throttles = admin.unthrottle_own(&memory)?;
            if !common.json && !throttles.is_empty() {
                print("replication throttles removed\n")?;
            }
        }
    }
    Ok(Exit::Done)
}

fn progress(moving: &[OngoingReassignment]) -> String {
    if moving.is_empty() {
        return "nothing is moving".to_owned();
    }
    let copied: i64 = moving.iter().filter_map(|one| one.copied_bytes).sum();
    let wanted: i64 = moving.iter().filter_map(|one| one.total_bytes).sum();
    let known = match wanted {
        0 => String::new(),
        _ => format!(
            ", {} of {} copied ({} %)",
            bytes(copied as f64),
            bytes(wanted as f64),
            copied * 100 / wanted
        ),
    };
    format!("{} moving{known}", counted(moving.len(), "partition"))
}

/// Parses `10MB` into bytes per second.
fn rate(words: &str) -> anyhow::Result<u64> {
    let size: Result<Size, _> = words.trim_end_matches("/s").parse();
    match size {
        Ok(size) if size.0 > 0 => Ok(size.0),
        _ => Err(bad_input(format!(
            "{words:?} is not a rate: write bytes per second, such as 10MB"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_read_in_our_form_and_in_that_of_kafkas_tool() {
        let plan = r#"{"reassignments":[],"replicas_to_copy":0,"before":{},"after":{}}"#;
        assert!(matches!(
            parse("plan", plan.as_bytes()),
            Ok(PlanFile::Plan(_))
        ));
        let tool = r#"{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1]}]}"#;
        assert!(matches!(
            parse("plan", tool.as_bytes()),
            Ok(PlanFile::Tool(_))
        ));
        for (text, expected) in [
            (
                "{}",
                "neither what `tare kafka reassign plan --out` wrote nor",
            ),
            (
                r#"{"partitions":[{"topic":"t"}]}"#,
                "missing field `partition`",
            ),
        ] {
            let error = format!("{:#}", parse("plan", text.as_bytes()).unwrap_err());
            assert!(error.contains(expected), "{error}");
        }
    }
}
