//! `tare kafka reassign`: moves partitions to other brokers.

mod plan;
mod watch;

use std::process::ExitCode;

use tare_kafka_admin::admin::Admin;
use tare_kafka_admin::admin::reassign::{Limit, Moving, Throttles};

use crate::exit::{Exit, bad_input};
use crate::screen::print;

use super::confirm::confirm;
use super::elect::partition;
use super::json_schema::Motion;
use super::output::{self, bytes, count, list};
use super::{CommonArgs, classify_admin_error};

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
    Plan(plan::PlanArgs),
    /// Start the reassignments of a plan.
    Run(RunArgs),
    /// Show ongoing reassignments, and throttles.
    Show,
    /// Follow ongoing reassignments to their end, then remove throttles.
    Watch,
    /// Cancel ongoing reassignments: replicas return to their former brokers.
    Cancel {
        /// Single partition, `TOPIC:NUMBER`; may be given several times [default: all].
        #[arg(long, value_name = "TOPIC:NUMBER")]
        partition: Vec<String>,
    },
    /// Remove throttles left by earlier reassignments.
    Unthrottle,
}

/// How to begin.
#[derive(Debug, clap::Args)]
struct RunArgs {
    /// Plan file of `reassign plan --out`; `-` is standard input.
    #[arg(long, value_name = "FILE")]
    plan: String,
    /// Replication throttle per broker, in bytes per second, such as 10MB [default: none].
    #[arg(long, value_name = "RATE")]
    throttle: Option<String>,
    /// Follow the reassignments to their end.
    #[arg(long)]
    watch: bool,
}

/// Runs the subcommand.
pub fn run(admin: &mut Admin, args: &Args, common: &CommonArgs) -> anyhow::Result<ExitCode> {
    match &args.action {
        Action::Plan(args) => plan::run(admin, args, common)?,
        Action::Run(args) => return begin(admin, args, common),
        Action::Show => show(admin, common)?,
        Action::Watch => return watch::run(admin, common),
        Action::Cancel { partition } => cancel(admin, partition, common)?,
        Action::Unthrottle => unthrottle(admin, common)?,
    }
    Ok(Exit::Done.into())
}

fn begin(admin: &mut Admin, args: &RunArgs, common: &CommonArgs) -> anyhow::Result<ExitCode> {
    let plan = plan::read(&args.plan)?;
    let limit = match &args.throttle {
        None => Limit::None,
        Some(words) => Limit::BytesPerSecond(rate(words)?),
    };
    if plan.moves.is_empty() {
        print("the plan moves nothing\n")?;
        return Ok(Exit::Done.into());
    }
    let what = format!(
        "move {}, {} copied",
        count(plan.moves.len(), "partition"),
        count(plan.copies, "replica")
    );
    confirm(&what, common)?;
    admin
        .reassign(&plan.moves, limit)
        .map_err(classify_admin_error)?;
    if args.watch {
        return watch::run(admin, common);
    }
    match common.json {
        true => output::json(&plan)?,
        false => print(&format!(
            "{} on their way; `tare kafka reassign watch` follows them{}\n",
            count(plan.moves.len(), "partition"),
            match limit {
                Limit::None => "",
                Limit::BytesPerSecond(_) => " and takes the limit on copying away at the end",
            }
        ))?,
    }
    Ok(Exit::Done.into())
}

/// The ongoing reassignments and throttles.
fn motion(admin: &mut Admin) -> anyhow::Result<Motion> {
    Ok(Motion {
        moving: admin.reassignments().map_err(classify_admin_error)?,
        throttles: admin.throttles().map_err(classify_admin_error)?,
    })
}

fn show(admin: &mut Admin, common: &CommonArgs) -> anyhow::Result<()> {
    let motion = motion(admin)?;
    if common.json {
        return output::json(&motion);
    }
    if motion.moving.is_empty() {
        print("nothing is moving\n")?;
    } else {
        let rows = motion.moving.iter().map(|one| {
            vec![
                format!("{}-{}", one.topic, one.partition),
                list(&one.replicas),
                list(&one.adding),
                list(&one.removing),
                copied(one),
            ]
        });
        let header = ["partition", "replicas", "adding", "removing", "copied #"];
        output::table(&header, rows)?;
    }
    for (broker, rate) in &motion.throttles.brokers {
        print(&format!(
            "broker {broker} copies at most {}/s\n",
            bytes(i64::try_from(*rate).unwrap_or(i64::MAX))
        ))?;
    }
    if motion.moving.is_empty() && !motion.throttles.is_empty() {
        print("limits on copying are left; `tare kafka reassign unthrottle` takes them away\n")?;
    }
    Ok(())
}

fn copied(one: &Moving) -> String {
    match (one.copied_bytes, one.wanted_bytes) {
        (Some(copied), Some(wanted)) => format!("{} of {}", bytes(copied), bytes(wanted)),
        _ => output::MISSING.to_owned(),
    }
}

fn cancel(admin: &mut Admin, partitions: &[String], common: &CommonArgs) -> anyhow::Result<()> {
    let keys: Vec<(String, i32)> = match partitions {
        [] => {
            let all = admin.reassignments().map_err(classify_admin_error)?;
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
        return remove_own_throttles(admin).map(drop);
    }
    let what = format!(
        "send {} back to where they were",
        count(keys.len(), "partition")
    );
    confirm(&what, common)?;
    let outcomes = admin
        .cancel_reassignments(&keys)
        .map_err(classify_admin_error)?;
    if admin
        .reassignments()
        .map_err(classify_admin_error)?
        .is_empty()
    {
        remove_own_throttles(admin)?;
    }
    output::outcomes(&outcomes, "goes back", common)
}

/// Removes the throttles that reassignments have left. A topic throttled for all replicas (`*`) was configured so by its owner
/// and is left alone.
fn remove_own_throttles(admin: &mut Admin) -> anyhow::Result<Throttles> {
    let mut throttles = admin.throttles().map_err(classify_admin_error)?;
    let all = throttles.topics.len();
    throttles.topics.retain(|_, topic| {
        let mut names = topic.leading.iter().chain(&topic.following);
        !names.any(|name| name == "*")
    });
    if throttles.topics.len() < all {
        throttles.brokers.clear();
    }
    admin.unthrottle(&throttles).map_err(classify_admin_error)?;
    Ok(throttles)
}

fn unthrottle(admin: &mut Admin, common: &CommonArgs) -> anyhow::Result<()> {
    let throttles = admin.throttles().map_err(classify_admin_error)?;
    let moving = admin.reassignments().map_err(classify_admin_error)?;
    if !moving.is_empty() && !throttles.is_empty() {
        let what = format!(
            "take limits away while {} still moving",
            match moving.len() {
                1 => "1 partition is".to_owned(),
                more => format!("{more} partitions are"),
            }
        );
        confirm(&what, common)?;
    }
    admin.unthrottle(&throttles).map_err(classify_admin_error)?;
    match (common.json, throttles.is_empty()) {
        (true, _) => output::json(&throttles),
        (false, true) => print("there are no limits on copying\n"),
        (false, false) => print("replication throttles removed\n"),
    }
}

/// Parses `10MB` into bytes per second.
fn rate(words: &str) -> anyhow::Result<u64> {
    let size: Result<tare_schema::units::Size, _> = words.trim_end_matches("/s").parse();
    match size {
        Ok(size) if size.0 > 0 => Ok(size.0),
        _ => Err(bad_input(format!(
            "{words:?} is no rate of bytes: write such as 10MB"
        ))),
    }
}
