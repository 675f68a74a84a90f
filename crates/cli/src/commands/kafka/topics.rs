//! `tare kafka topics`: shows, creates, extends, deletes and configures topics.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Duration;

use tare_kafka_admin::admin::{
    Admin, ConfigSource, Mode, NewTopic, Outcome, Resource, Shape, TopicView,
};
use tare_kafka_admin::link::Patience;

use crate::exit::{Exit, bad_input};
use crate::screen::{print, say};

use super::configs::{self, pair};
use super::confirm::confirm;
use super::json_schema::DescribedTopic;
use super::output::{self, count, list, maybe};
use super::{CommonArgs, classify_admin_error};

/// Longest wait for new topics to be in sync.
const READY_SECONDS: u64 = 30;

/// Arguments of `tare kafka topics`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    action: Action,
}

/// What to do with topics.
#[derive(Debug, clap::Subcommand)]
enum Action {
    /// List topics.
    List {
        /// Include internal topics.
        #[arg(long)]
        internal: bool,
        /// List only topics with leaderless or under-replicated partitions.
        #[arg(long)]
        unhealthy: bool,
    },
    /// Describe topics with their partitions and configuration.
    Describe {
        /// Topic names.
        #[arg(required = true, value_name = "TOPIC")]
        names: Vec<String>,
    },
    /// Create topics, and wait until their replicas are in sync.
    Create(CreateArgs),
    /// Add partitions to a topic. Stored records stay; new records of a key may go to another partition.
    AddPartitions {
        /// Topic name.
        topic: String,
        /// New total number of partitions.
        #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(i32).range(1..))]
        partitions: i32,
        /// Replica assignment of the new partitions: brokers of each, `1:2,2:3`, the preferred leader first.
        #[arg(long, value_name = "LISTS")]
        assignment: Option<String>,
    },
    /// Delete topics with all their records.
    Delete {
        /// Topic names.
        #[arg(required = true, value_name = "TOPIC")]
        names: Vec<String>,
    },
    /// Show or change the configuration of a topic (as `tare kafka configs topic NAME`).
    Config {
        /// Topic name.
        topic: String,
        #[command(flatten)]
        change: configs::ChangeArgs,
    },
}

/// A topic to be.
#[derive(Debug, clap::Args)]
struct CreateArgs {
    /// Topic names.
    #[arg(required = true, value_name = "TOPIC")]
    names: Vec<String>,
    /// Number of partitions [default: the brokers' default].
    #[arg(long, short, value_name = "COUNT", value_parser = clap::value_parser!(i32).range(1..))]
    partitions: Option<i32>,
    /// Replication factor [default: the brokers' default].
    #[arg(long, short, value_name = "COUNT", value_parser = clap::value_parser!(i16).range(1..))]
    replicas: Option<i16>,
    /// Replica assignment: brokers of each partition, `1:2:3,2:3:1`, the preferred leader first.
    #[arg(long, value_name = "LISTS", conflicts_with_all = ["partitions", "replicas"])]
    assignment: Option<String>,
    /// Topic configuration; may be given several times.
    #[arg(long = "config", short = 'c', value_name = "KEY=VALUE")]
    configs: Vec<String>,
    /// Validate only; change nothing.
    #[arg(long)]
    dry_run: bool,
}

/// Runs the subcommand.
pub fn run(admin: &mut Admin, args: &Args, common: &CommonArgs) -> anyhow::Result<ExitCode> {
    match &args.action {
        Action::List {
            internal,
            unhealthy,
        } => {
            let mut topics = admin.topics().map_err(classify_admin_error)?;
            topics.retain(|topic| {
                let shown = *internal || *unhealthy || !topic.is_internal;
                shown && (!unhealthy || unhealthy_partitions(topic) > 0)
            });
            show(&topics, common)?;
        }
        Action::Describe { names } => describe(admin, names, common)?,
        Action::Create(args) => create(admin, args, common)?,
        Action::AddPartitions {
            topic,
            partitions,
            assignment,
        } => {
            let placed = assignment.as_deref().map(lists).transpose()?;
            admin
                .grow_topic(topic, *partitions, placed.as_deref(), Mode::Do)
                .map_err(classify_admin_error)?;
            let done = [done(topic)];
            output::outcomes(&done, &format!("has {partitions} partitions now"), common)?;
        }
        Action::Delete { names } => {
            let topics = admin.topics_named(names).map_err(classify_admin_error)?;
            let partitions = topics.iter().map(|topic| topic.partitions.len()).sum();
            let what = format!(
                "delete {} with {} and all records",
                names.join(", "),
                count(partitions, "partition")
            );
            confirm(&what, common)?;
            let outcomes = admin.delete_topics(names).map_err(classify_admin_error)?;
            output::outcomes(&outcomes, "deleted", common)?;
        }
        Action::Config { topic, change } => {
            configs::show_or_change(admin, &Resource::Topic(topic.clone()), change, common)?;
        }
    }
    Ok(Exit::Done.into())
}

fn done(name: &str) -> Outcome {
    Outcome {
        name: name.to_owned(),
        refusal: None,
    }
}

/// Number of partitions of a topic that are without a leader or under-replicated.
fn unhealthy_partitions(topic: &TopicView) -> usize {
    let all = topic.partitions.iter();
    all.filter(|one| one.leader.is_none() || one.is_under_replicated())
        .count()
}

fn show(topics: &[TopicView], common: &CommonArgs) -> anyhow::Result<()> {
    if common.json {
        return output::json(&topics);
    }
    if topics.is_empty() {
        say("no such topics");
        return Ok(());
    }
    let rows = topics.iter().map(|topic| {
        let all = topic.partitions.iter();
        vec![
            topic.name.clone(),
            topic.partitions.len().to_string(),
            topic.replication().to_string(),
            all.clone()
                .filter(|one| one.leader.is_none())
                .count()
                .to_string(),
            all.filter(|one| one.is_under_replicated())
                .count()
                .to_string(),
        ]
    });
    let header = [
        "topic",
        "partitions #",
        "replicas #",
        "leaderless #",
        "not in sync #",
    ];
    output::table(&header, rows)
}

fn describe(admin: &mut Admin, names: &[String], common: &CommonArgs) -> anyhow::Result<()> {
    let topics = admin.topics_named(names).map_err(classify_admin_error)?;
    let resources: Vec<Resource> = names.iter().cloned().map(Resource::Topic).collect();
    let found = admin
        .configs(&resources, None)
        .map_err(classify_admin_error)?;
    let mut configs: BTreeMap<Resource, _> = found.into_iter().collect();
    let described: Vec<DescribedTopic> = topics
        .into_iter()
        .map(|topic| {
            let resource = Resource::Topic(topic.name.clone());
            let mut configs = configs.remove(&resource).unwrap_or_default();
            configs.retain(|config| config.source == ConfigSource::Topic);
            DescribedTopic { topic, configs }
        })
        .collect();
    if common.json {
        return output::json(&described);
    }
    for DescribedTopic { topic, configs } in &described {
        print(&format!("{} · {}\n", topic.name, maybe(topic.id.as_ref())))?;
        for config in configs {
            print(&format!(
                "  {} = {}\n",
                config.name,
                maybe(config.value.as_ref())
            ))?;
        }
        let rows = topic.partitions.iter().map(|one| {
            vec![
                one.partition.to_string(),
                maybe(one.leader),
                list(&one.replicas),
                list(&one.in_sync),
                list(&one.offline),
            ]
        });
        let header = ["partition #", "leader #", "replicas", "in sync", "offline"];
        output::table(&header, rows)?;
    }
    Ok(())
}

fn create(admin: &mut Admin, args: &CreateArgs, common: &CommonArgs) -> anyhow::Result<()> {
    let shape = match &args.assignment {
        Some(words) => Shape::Placed(lists(words)?),
        None => Shape::Even {
            partitions: args.partitions,
            replicas: args.replicas,
        },
    };
    let configs: Result<BTreeMap<String, String>, _> =
        args.configs.iter().map(|words| pair(words)).collect();
    let configs = configs?;
    let topics: Vec<NewTopic> = args
        .names
        .iter()
        .map(|name| NewTopic {
            name: name.clone(),
            shape: shape.clone(),
            configs: configs.clone(),
        })
        .collect();
    let (mode, word) = match args.dry_run {
        true => (Mode::Validate, "could be created"),
        false => (Mode::Do, "created"),
    };
    let outcomes = admin
        .create_topics(&topics, mode)
        .map_err(classify_admin_error)?;
    output::outcomes(&outcomes, word, common)?;
    if mode == Mode::Do {
        let patience = Patience::of(Duration::from_secs(READY_SECONDS));
        admin
            .wait_until_in_sync(&args.names, patience, READY_SECONDS)
            .map_err(classify_admin_error)?;
    }
    Ok(())
}

/// Parses `1:2,2:3` into the brokers of each partition.
fn lists(words: &str) -> anyhow::Result<Vec<Vec<i32>>> {
    let one = |list: &str| -> Result<Vec<i32>, std::num::ParseIntError> {
        list.split(':').map(|word| word.trim().parse()).collect()
    };
    let lists: Result<Vec<Vec<i32>>, _> = words.split(',').map(one).collect();
    lists.map_err(|_| {
        bad_input(format!(
            "{words:?} is no list of brokers: write 1:2:3,2:3:1, one list for each partition"
        ))
    })
}
