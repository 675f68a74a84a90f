//! `tare kafka groups`: consumer groups, their members and lag; deletion, and reset of offsets.

use std::process::ExitCode;

use tare_kafka_admin::admin::{Admin, GroupLag, GroupView, Mode, ResetTo};

use crate::exit::{Exit, bad_input};
use crate::screen::{print, say};

use super::confirm::confirm;
use super::output::{self, list, maybe};
use super::{CommonArgs, classify_admin_error};

/// Arguments of `tare kafka groups`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    action: Action,
}

/// What to do with groups.
#[derive(Debug, clap::Subcommand)]
enum Action {
    /// List consumer groups.
    List,
    /// Describe consumer groups with their members.
    Describe {
        /// Group names.
        #[arg(required = true, value_name = "GROUP")]
        names: Vec<String>,
    },
    /// Show the lag of consumer groups, by partition.
    Lag {
        /// Group names [default: all].
        #[arg(value_name = "GROUP")]
        names: Vec<String>,
    },
    /// Delete consumer groups with their offsets.
    Delete {
        /// Group names.
        #[arg(required = true, value_name = "GROUP")]
        names: Vec<String>,
    },
    /// Reset the offsets of a consumer group without members.
    Reset(ResetArgs),
}

/// Where to.
#[derive(Debug, clap::Args)]
struct ResetArgs {
    /// Group name.
    #[arg(value_name = "GROUP")]
    name: String,
    /// Topic to reset; may be given several times [default: all with committed offsets].
    #[arg(long = "topic", value_name = "TOPIC")]
    topics: Vec<String>,
    #[command(flatten)]
    to: ToArgs,
    /// Show the new offsets; change nothing.
    #[arg(long)]
    dry_run: bool,
}

/// One of these.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct ToArgs {
    /// Reset to the earliest stored records.
    #[arg(long)]
    to_earliest: bool,
    /// Reset to the end: stored records are skipped.
    #[arg(long)]
    to_latest: bool,
    /// Reset to the first records at or after a time, such as 2026-11-21T09:00:00Z.
    #[arg(long, value_name = "TIME")]
    to_time: Option<jiff::Timestamp>,
    /// Reset to this offset in every partition.
    #[arg(long, value_name = "OFFSET")]
    to_offset: Option<i64>,
    /// Shift by a number of records: forward, or back if negative.
    #[arg(long, value_name = "COUNT", allow_negative_numbers = true)]
    shift_by: Option<i64>,
}

impl ToArgs {
    fn to(&self) -> anyhow::Result<ResetTo> {
        match self {
            ToArgs {
                to_earliest: true, ..
            } => Ok(ResetTo::Earliest),
            ToArgs {
                to_latest: true, ..
            } => Ok(ResetTo::Latest),
            ToArgs {
                to_time: Some(time),
                ..
            } => Ok(ResetTo::Time {
                time_ms: time.as_millisecond(),
            }),
            ToArgs {
                to_offset: Some(offset),
                ..
            } => Ok(ResetTo::Offset(*offset)),
            ToArgs {
                shift_by: Some(count),
                ..
            } => Ok(ResetTo::By(*count)),
            // clap requires one of them.
            _ => Err(bad_input(
                "say where to: --to-earliest, --to-latest, --to-time, --to-offset or --shift-by",
            )),
        }
    }
}

/// Runs the subcommand.
pub fn run(admin: &mut Admin, args: &Args, common: &CommonArgs) -> anyhow::Result<ExitCode> {
    match &args.action {
        Action::List => {
            let groups = admin.groups().map_err(classify_admin_error)?;
            if common.json {
                output::json(&groups)?;
            } else if groups.is_empty() {
                say("there are no groups");
            } else {
                let rows = groups.iter().map(|group| {
                    vec![
                        group.name.clone(),
                        group.state.clone(),
                        group.kind.clone(),
                        group.protocol.clone(),
                        group.coordinator.to_string(),
                    ]
                });
                let header = ["group", "state", "kind", "protocol", "coordinator #"];
                output::table(&header, rows)?;
            }
        }
        Action::Describe { names } => {
            let groups: Result<Vec<GroupView>, _> =
                names.iter().map(|name| admin.group(name)).collect();
            describe(&groups.map_err(classify_admin_error)?, common)?;
        }
        Action::Lag { names } => {
            let names = match &names[..] {
                [] => {
                    let groups = admin.groups().map_err(classify_admin_error)?;
                    let consumers = groups.into_iter();
                    consumers
                        .filter(|group| ["consumer", ""].contains(&group.protocol.as_str()))
                        .map(|group| group.name)
                        .collect()
                }
                some => some.to_vec(),
            };
            let lags: Result<Vec<GroupLag>, _> =
                names.iter().map(|name| admin.group_lag(name)).collect();
            lag(&lags.map_err(classify_admin_error)?, common)?;
        }
        Action::Delete { names } => {
            confirm(
                &format!("delete {} with all their offsets", names.join(", ")),
                common,
            )?;
            let outcomes = admin.delete_groups(names).map_err(classify_admin_error)?;
            output::outcomes(&outcomes, "deleted", common)?;
        }
        Action::Reset(args) => reset(admin, args, common)?,
    }
    Ok(Exit::Done.into())
}

fn describe(groups: &[GroupView], common: &CommonArgs) -> anyhow::Result<()> {
    if common.json {
        return output::json(&groups);
    }
    for group in groups {
        print(&format!(
            "{} · {} · {} · kept by broker {} · partitions given by {}\n",
            group.name,
            group.state,
            group.kind,
            group.coordinator,
            maybe(group.assignor.as_ref())
        ))?;
        if group.members.is_empty() {
            print("nobody is in it\n")?;
            continue;
        }
        let rows = group.members.iter().map(|member| {
            let assigned: Vec<String> = member
                .assigned
                .iter()
                .map(|(topic, partitions)| format!("{topic} {}", list(partitions)))
                .collect();
            vec![
                member.client.clone(),
                member.host.clone(),
                member.id.clone(),
                assigned.join("; "),
            ]
        });
        output::table(&["client", "host", "member", "reads"], rows)?;
    }
    Ok(())
}

fn lag(lags: &[GroupLag], common: &CommonArgs) -> anyhow::Result<()> {
    if common.json {
        return output::json(&lags);
    }
    for one in lags {
        let members = one.group.members.len();
        print(&format!(
            "{} · {} · {} · lag {}\n",
            one.group.name,
            one.group.state,
            output::count(members, "member"),
            maybe(one.lag)
        ))?;
        let rows = one.partitions.iter().map(|row| {
            let member = row.member.as_ref();
            let found = one.group.members.iter();
            let client = member.and_then(|id| {
                let mut found = found.filter(|member| &member.id == id);
                found.next().map(|member| member.client.clone())
            });
            vec![
                format!("{}-{}", row.topic, row.partition),
                maybe(row.committed),
                maybe(row.end),
                maybe(row.lag),
                maybe(client),
            ]
        });
        let header = ["partition", "committed #", "end #", "lag #", "client"];
        output::table(&header, rows)?;
    }
    Ok(())
}

fn reset(admin: &mut Admin, args: &ResetArgs, common: &CommonArgs) -> anyhow::Result<()> {
    let to = args.to.to()?;
    let mode = match args.dry_run {
        true => Mode::Validate,
        false => {
            confirm(&format!("set the offsets of {}", args.name), common)?;
            Mode::Do
        }
    };
    let resets = admin
        .reset_group(&args.name, &args.topics, to, mode)
        .map_err(classify_admin_error)?;
    if common.json {
        return output::json(&resets);
    }
    let rows = resets.iter().map(|one| {
        vec![
            format!("{}-{}", one.topic, one.partition),
            maybe(one.from),
            one.to.to_string(),
        ]
    });
    output::table(&["partition", "from #", "to #"], rows)
}
