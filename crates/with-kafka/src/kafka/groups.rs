//! `tare kafka groups`: consumer groups, their members and lag; deletion, and reset of offsets.

use anyhow::anyhow;
use tare_kafka_admin::admin::{
    Admin, AdminError, GroupDescription, GroupLag, GroupListing, Mode, NewGroup, ResetTo,
};

use tare_cli::exit::bad_input;
use tare_cli::screen::{print, say};
use tare_cli::values::{counted, maybe};

use super::CommonArgs;
use super::output::{list, table};

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
    /// Make the group if there is none of this name.
    #[arg(long)]
    new_group: bool,
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
        let to_time = self.to_time.map(|time| ResetTo::Time {
            time_ms: time.as_millisecond(),
        });
        match (self.to_earliest, self.to_latest) {
            (true, _) => Some(ResetTo::Earliest),
            (_, true) => Some(ResetTo::Latest),
            _ => to_time
                .or(self.to_offset.map(ResetTo::Offset))
                .or(self.shift_by.map(ResetTo::ShiftBy)),
        }
        // clap requires one of them.
        .ok_or_else(|| {
            bad_input(
                "say where to: --to-earliest, --to-latest, --to-time, --to-offset or --shift-by",
            )
        })
    }
}

/// Runs the subcommand.
pub fn run(admin: &mut Admin, args: &Args, common: &CommonArgs) -> anyhow::Result<()> {
    match &args.action {
        Action::List => {
            let found = admin.groups()?;
            common.show(&found.groups, |groups| show(groups))?;
            check_all_read(&found.unread)
        }
        Action::Describe { names } => {
            let groups: Result<Vec<_>, _> = names.iter().map(|name| admin.group(name)).collect();
            common.show(&groups?, |groups| groups.iter().try_for_each(describe))
        }
        Action::Lag { names } => {
            let mut names = names.clone();
            let mut unread = Vec::new();
            if names.is_empty() {
                let mut found = admin.groups()?;
                found
                    .groups
                    .retain(|group| ["consumer", ""].contains(&group.protocol_type.as_str()));
                names.extend(found.groups.into_iter().map(|group| group.name));
                unread = found.unread;
            }
            let lags: Result<Vec<_>, _> = names.iter().map(|name| admin.group_lag(name)).collect();
            common.show(&lags?, |lags| lags.iter().try_for_each(show_lag))?;
            check_all_read(&unread)
        }
        Action::Delete { names } => {
            common.confirm(&format!(
                "delete {} with all their offsets",
                names.join(", ")
            ))?;
            common.show_outcomes(&admin.delete_groups(names)?, "deleted")
        }
        Action::Reset(args) => reset(admin, args, common),
    }
}

/// Names the brokers whose groups are missing.
fn check_all_read(unread: &[(i32, AdminError)]) -> anyhow::Result<()> {
    let texts: Vec<String> = unread
        .iter()
        .map(|(broker, error)| format!("the groups of broker {broker} are missing: {error}"))
        .collect();
    match texts.is_empty() {
        true => Ok(()),
        false => Err(anyhow!(texts.join("\n  "))),
    }
}

fn show(groups: &[GroupListing]) -> anyhow::Result<()> {
    if groups.is_empty() {
        say("there are no groups");
        return Ok(());
    }
    let rows = groups.iter().map(|group| {
        vec![
            group.name.clone(),
            group.state.clone(),
            group.group_type.clone(),
            group.protocol_type.clone(),
            group.coordinator.to_string(),
        ]
    });
    let header = ["group", "state", "type", "protocol", "coordinator #"];
    table(&header, rows)
}

fn describe(group: &GroupDescription) -> anyhow::Result<()> {
    print(&format!(
        "{} · {} · {} · coordinator broker {} · assignor {}\n",
        group.name,
        group.state,
        group.group_type,
        group.coordinator,
        maybe(group.assignor.as_ref())
    ))?;
    if group.members.is_empty() {
        return print("no members\n");
    }
    let rows = group.members.iter().map(|member| {
        let assigned: Vec<String> = member
            .assignment
            .iter()
            .map(|(topic, partitions)| format!("{topic} {}", list(partitions)))
            .collect();
        vec![
            member.client_id.clone(),
            member.host.clone(),
            member.id.clone(),
            assigned.join("; "),
        ]
    });
    table(&["client", "host", "member", "assignment"], rows)
}

fn show_lag(one: &GroupLag) -> anyhow::Result<()> {
    print(&format!(
        "{} · {} · {} · lag {}\n",
        one.group.name,
        one.group.state,
        counted(one.group.members.len(), "member"),
        maybe(one.lag)
    ))?;
    let rows = one.partitions.iter().map(|row| {
        let mut members = one.group.members.iter();
        let member = members.find(|member| row.member.as_ref() == Some(&member.id));
        vec![
            format!("{}-{}", row.topic, row.partition),
            maybe(row.committed),
            maybe(row.end),
            maybe(row.lag),
            maybe(member.map(|member| &member.client_id)),
        ]
    });
    let header = ["partition", "committed #", "end #", "lag #", "client"];
    table(&header, rows)
}

fn reset(admin: &mut Admin, args: &ResetArgs, common: &CommonArgs) -> anyhow::Result<()> {
    let to = args.to.to()?;
    let mode = match args.dry_run {
        true => Mode::ValidateOnly,
        false => {
            common.confirm(&format!("set the offsets of {}", args.name))?;
            Mode::Apply
        }
    };
    let new = NewGroup::made_if(args.new_group);
    let resets = admin.reset_group(&args.name, &args.topics, to, new, mode)?;
    common.show(&resets, |resets| {
        let rows = resets.iter().map(|one| {
            vec![
                format!("{}-{}", one.topic, one.partition),
                maybe(one.from),
                one.to.to_string(),
            ]
        });
        table(&["partition", "from #", "to #"], rows)
    })
}
