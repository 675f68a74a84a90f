//! `tare kafka reassign plan`: plans the placement of replicas.

use std::io::Read;
use std::path::Path;

use tare_kafka_admin::admin::Admin;
use tare_kafka_admin::assign::{self, Plan, Replication};
use tare_schema::named::read_given;

use crate::commands::kafka::output::{self, count, list};
use crate::commands::kafka::{CommonArgs, classify_admin_error};
use crate::exit::bad_input;
use crate::screen::print;

/// Most moves that are printed; the file has all.
const SHOWN_MAX: usize = 40;

/// Largest plan file.
const PLAN_MAX_BYTES: u64 = 64 << 20;

/// What to plan.
#[derive(Debug, clap::Args)]
pub struct PlanArgs {
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
    out: Option<std::path::PathBuf>,
}

/// Computes a plan, prints it and writes it to a file.
pub fn run(admin: &mut Admin, args: &PlanArgs, common: &CommonArgs) -> anyhow::Result<()> {
    let mut sites = admin.sites().map_err(classify_admin_error)?;
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
            let all = admin.topics().map_err(classify_admin_error)?;
            all.into_iter().map(|topic| topic.name).collect()
        }
    };
    let placed = admin.placed(&topics).map_err(classify_admin_error)?;
    let replication = match args.replicas {
        None => Replication::Keep,
        Some(count) => Replication::Exactly(usize::from(count)),
    };
    let plan = assign::plan(&sites, &placed, replication).map_err(bad_input)?;
    if let Some(path) = &args.out {
        let text = serde_json::to_string_pretty(&plan)? + "\n";
        std::fs::write(path, text)
            .map_err(|error| bad_input(format!("cannot write {}: {error}", path.display())))?;
    }
    match common.json {
        true => output::json(&plan),
        false => show(&plan, args),
    }
}

fn show(plan: &Plan, args: &PlanArgs) -> anyhow::Result<()> {
    if plan.moves.is_empty() {
        return print("all is as it should be: nothing to move\n");
    }
    let rows = plan.moves.iter().take(SHOWN_MAX).map(|one| {
        let adding: Vec<i32> = one.adding().collect();
        vec![
            format!("{}-{}", one.topic, one.partition),
            list(&one.from),
            list(&one.to),
            list(&adding),
        ]
    });
    output::table(
        &["partition", "brokers now", "brokers then", "new copies"],
        rows,
    )?;
    if plan.moves.len() > SHOWN_MAX {
        let more = plan.moves.len() - SHOWN_MAX;
        print(&format!("… and {more} more; --out FILE writes all\n"))?;
    }
    let brokers: std::collections::BTreeSet<i32> = plan
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
    output::table(&["broker #", "replicas #", "leaders #"], rows)?;
    let next = match &args.out {
        Some(path) => format!("tare kafka reassign run --plan {}", path.display()),
        None => {
            "tare kafka reassign run --plan FILE, after another plan with --out FILE".to_owned()
        }
    };
    print(&format!(
        "{} change, {} copied; to do it:\n{next}\n",
        count(plan.moves.len(), "partition"),
        count(plan.copies, "replica"),
    ))
}

/// Reads a plan from a file or standard input.
pub fn read(path: &str) -> anyhow::Result<Plan> {
    let text = match path {
        "-" => {
            let mut text = Vec::new();
            let mut input = std::io::stdin().lock().take(PLAN_MAX_BYTES);
            let read = input.read_to_end(&mut text);
            read.map_err(|error| bad_input(format!("{path}: {error}")))?;
            text
        }
        _ => read_given(Path::new(path), PLAN_MAX_BYTES).map_err(bad_input)?,
    };
    serde_json::from_slice(&text).map_err(|error| {
        bad_input(format!(
            "{path}: {error}; it is to be what `tare kafka reassign plan --out` wrote"
        ))
    })
}
