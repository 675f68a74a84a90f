//! `tare kafka groups`: consumer groups, their members and lag; deletion, and reset of offsets.

use std::collections::BTreeMap;

use anyhow::anyhow;
use tare_kafka_admin::admin::{
    Admin, CommitPosition, GroupDescription, GroupLag, GroupListing, GroupsFound, Mode, NewGroup,
    PartitionLag, Reset, ResetLimit, ResetTo,
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
    #[arg(long, value_name = "TIME", value_parser = time)]
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

/// A time with its zone; one without is not guessed.
fn time(words: &str) -> Result<jiff::Timestamp, String> {
    let without_zone = || words.parse::<jiff::civil::DateTime>().ok();
    words.parse().map_err(|_| match without_zone() {
        Some(time) => format!(
            "it has no time zone: write {time}Z for UTC, or the difference from UTC as in {time}+01:00"
        ),
        None => "it is not a time: write one such as 2026-11-21T09:00:00Z".to_owned(),
    })
}

/// Runs the subcommand.
pub fn run(admin: &mut Admin, args: &Args, common: &CommonArgs) -> anyhow::Result<()> {
    match &args.action {
        Action::List => {
            let found = admin.groups()?;
            common.show(&found.groups, |groups| show(groups))?;
            told(missing_groups(&found))
        }
        Action::Describe { names } => {
            let groups: Result<Vec<_>, _> = names.iter().map(|name| admin.group(name)).collect();
            common.show(&groups?, |groups| groups.iter().try_for_each(describe))
        }
        Action::Lag { names } => lag(admin, names, common),
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

/// Protocols of groups that read topics; others, such as that of Kafka Connect, have no lag.
const READERS: [&str; 4] = ["consumer", "", "share", "streams"];

/// Shows lags as far as they can be read, and names what cannot.
fn lag(admin: &mut Admin, names: &[String], common: &CommonArgs) -> anyhow::Result<()> {
    let mut names = names.to_vec();
    let mut missing = Vec::new();
    if names.is_empty() {
        let mut found = admin.groups()?;
        let is_reader = |group: &GroupListing| READERS.contains(&group.protocol_type.as_str());
        missing = missing_groups(&found);
        found.groups.retain(is_reader);
        names.extend(found.groups.into_iter().map(|group| group.name));
    }
    let found = admin.group_lags(&names)?;
    let unread = found.unread.iter();
    missing.extend(unread.map(|(_, error)| Missing {
        text: error.to_string(),
        is_input: error.is_input(),
    }));
    missing.extend(unknown_ends(&found.groups));
    common.show(&found.groups, |lags| lags.iter().try_for_each(show_lag))?;
    told(missing)
}

/// Something that was asked for and cannot be shown.
#[derive(Debug)]
struct Missing {
    text: String,
    is_input: bool,
}

/// The groups that are missing.
fn missing_groups(found: &GroupsFound) -> Vec<Missing> {
    let unread = found.unread.iter();
    let unread =
        unread.map(|(broker, error)| format!("the groups of broker {broker} are missing: {error}"));
    let texts = unread.chain(found.unkept.clone());
    let missing = texts.map(|text| Missing {
        text,
        is_input: false,
    });
    missing.collect()
}

/// The partitions whose ends are not known, those with the same reason in one line.
fn unknown_ends(groups: &[GroupLag]) -> Vec<Missing> {
    let mut reasons: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for one in groups.iter().flat_map(|group| &group.partitions) {
        if let Some(problem) = &one.problem {
            let names = reasons.entry(problem).or_default();
            let name = format!("{}-{}", one.topic, one.partition);
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    let reasons = reasons.into_iter().map(|(problem, names)| Missing {
        text: format!("the end of {} is not known: {problem}", some_of(&names)),
        is_input: false,
    });
    reasons.collect()
}

/// Most names in a line.
const NAMED_MAX: usize = 10;

/// `a, b, c and 7 more`.
fn some_of(names: &[String]) -> String {
    match names.split_at_checked(NAMED_MAX) {
        Some((first, rest @ [_, ..])) => format!("{} and {} more", first.join(", "), rest.len()),
        _ => names.join(", "),
    }
}

/// Fails with what is missing. It is bad input only if nothing else is missing.
fn told(missing: Vec<Missing>) -> anyhow::Result<()> {
    let is_input = missing.iter().all(|one| one.is_input);
    let texts: Vec<String> = missing.into_iter().map(|one| one.text).collect();
    match (texts.is_empty(), is_input) {
        (true, _) => Ok(()),
        (false, true) => Err(bad_input(texts.join("\n  "))),
        (false, false) => Err(anyhow!(texts.join("\n  "))),
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
    if let Some(not_shown) = &group.not_shown {
        print(&format!("{not_shown}\n"))?;
    }
    if group.members.is_empty() {
        return match group.state.as_str() {
            "Empty" | "Dead" => print("no members\n"),
            _ => Ok(()),
        };
    }
    // Few groups have static members.
    let is_static = group
        .members
        .iter()
        .any(|one| one.group_instance_id.is_some());
    let rows = group.members.iter().map(|member| {
        let assigned: Vec<String> = member
            .assignment
            .iter()
            .map(|(topic, partitions)| format!("{topic} {}", list(partitions)))
            .collect();
        let mut row = vec![
            member.client_id.clone(),
            member.host.clone(),
            member.id.clone(),
            assigned.join("; "),
        ];
        if is_static {
            row.insert(2, maybe(member.group_instance_id.as_ref()));
        }
        row
    });
    match is_static {
        true => table(
            &["client", "host", "instance", "member", "assignment"],
            rows,
        ),
        false => table(&["client", "host", "member", "assignment"], rows),
    }
}

fn show_lag(one: &GroupLag) -> anyhow::Result<()> {
    print(&format!(
        "{} · {} · {} · lag {}\n",
        one.group.name,
        one.group.state,
        match one.group.members.is_empty() && one.group.not_shown.is_some() {
            true => one.group.group_type.clone(),
            false => counted(one.group.members.len(), "member"),
        },
        maybe(one.lag)
    ))?;
    if let Some(not_shown) = &one.group.not_shown {
        print(&format!("{not_shown}\n"))?;
    }
    if one.partitions.is_empty() {
        return Ok(());
    }
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
    table(&header, rows)?;
    let outside: Vec<String> = one.partitions.iter().filter_map(outside_log).collect();
    outside
        .iter()
        .take(NAMED_MAX)
        .try_for_each(|line| print(&format!("{line}\n")))?;
    match outside.len().saturating_sub(NAMED_MAX) {
        0 => Ok(()),
        more => print(&format!("… and {more} more commits outside the log\n")),
    }
}

/// What a commit outside the log means.
fn outside_log(one: &PartitionLag) -> Option<String> {
    let name = format!("{}-{}", one.topic, one.partition);
    match one.commit? {
        CommitPosition::InLog => None,
        CommitPosition::BeyondEnd => Some(format!(
            "{name}: the commit is {} beyond the end: the topic was made again or has lost records, and a consumer is reset there (auto.offset.reset)",
            one.lag?.unsigned_abs()
        )),
        CommitPosition::BeforeStart => Some(format!(
            "{name}: {} of these offsets are deleted and were never read, {} can still be read",
            one.lag? - one.readable?,
            one.readable?
        )),
    }
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
    let found = admin.reset_group(&args.name, &args.topics, to, new, mode)?;
    common.show(&found.resets, |resets| {
        let rows = resets.iter().map(|one| {
            vec![
                format!("{}-{}", one.topic, one.partition),
                maybe(one.from),
                one.to.to_string(),
            ]
        });
        table(&["partition", "from #", "to #"], rows)?;
        limits(resets).try_for_each(|line| print(&format!("{line}\n")))
    })?;
    let unknown = found.problems().map(|text| Missing {
        text: format!("nothing can be reset: {text}"),
        is_input: false,
    });
    told(unknown.collect())
}

/// What was asked for lies outside of some partitions.
fn limits(resets: &[Reset]) -> impl Iterator<Item = String> + '_ {
    let reasons = [
        (
            ResetLimit::NoLaterRecord,
            "no record at or after that time: to the end",
        ),
        (
            ResetLimit::Start,
            "the offset is before the first record: to the first",
        ),
        (ResetLimit::End, "the offset is beyond the end: to the end"),
    ];
    reasons.into_iter().filter_map(|(limit, text)| {
        let limited = resets.iter().filter(|one| one.limit == Some(limit));
        let names: Vec<String> = limited
            .map(|one| format!("{}-{}", one.topic, one.partition))
            .collect();
        (!names.is_empty()).then(|| format!("{}: {text}", some_of(&names)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_without_its_zone_is_refused_with_what_to_write() {
        assert!(time("2026-11-21T09:00:00Z").is_ok());
        assert!(time("2026-11-21T09:00+01:00").is_ok());
        for (words, instead) in [
            ("2026-11-21T09:00:00", "2026-11-21T09:00:00Z"),
            ("2026-11-21 09:00", "2026-11-21T09:00:00+01:00"),
            ("2026-11-21", "2026-11-21T00:00:00Z"),
            ("yesterday", "such as 2026-11-21T09:00:00Z"),
        ] {
            let text = time(words).unwrap_err();
            assert!(text.contains(instead), "{text}");
            assert!(
                !text.contains("offset"),
                "an offset is something else here: {text}"
            );
        }
    }

    #[test]
    fn a_commit_outside_the_log_is_told_with_what_it_means() {
        let mut one = PartitionLag {
            topic: "orders".to_owned(),
            lag: Some(-70),
            readable: Some(0),
            commit: Some(CommitPosition::BeyondEnd),
            ..PartitionLag::default()
        };
        let text = outside_log(&one).unwrap();
        assert!(
            text.contains("orders-0: the commit is 70 beyond the end"),
            "{text}"
        );
        (one.lag, one.readable) = (Some(400), Some(150));
        one.commit = Some(CommitPosition::BeforeStart);
        let text = outside_log(&one).unwrap();
        assert!(text.contains("250 of these offsets are deleted"), "{text}");
        assert!(text.contains("150 can still be read"), "{text}");
        one.commit = Some(CommitPosition::InLog);
        assert_eq!(outside_log(&one), None);
    }

    #[test]
    fn partitions_that_go_elsewhere_than_asked_are_named_with_the_reason() {
        let reset = |partition, limit| Reset {
            topic: "orders".to_owned(),
            partition,
            from: None,
            to: 0,
            limit,
        };
        let all: Vec<Reset> = (0..12)
            .map(|partition| reset(partition, Some(ResetLimit::NoLaterRecord)))
            .chain([reset(12, None), reset(13, Some(ResetLimit::End))])
            .collect();
        let lines: Vec<String> = limits(&all).collect();
        let [late, end] = &lines[..] else {
            panic!("{lines:?}");
        };
        assert!(
            late.contains("orders-9 and 2 more: no record at or after that time"),
            "{late}"
        );
        assert!(
            end.starts_with("orders-13: the offset is beyond the end"),
            "{end}"
        );
    }
}
