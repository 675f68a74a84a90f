//! `tare kafka topics`: shows, creates, extends, deletes and configures topics.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::anyhow;
use tare_kafka_admin::admin::{
    Admin, AdminError, ConfigSource, InternalTopics, ItemResult, Mode, NewTopic, PartitionLayout,
    Resource, TopicDescription, TopicIdentity,
};

use tare_cli::exit::bad_input;
use tare_cli::screen::{print, say};
use tare_cli::values::{counted, maybe};

use super::CommonArgs;
use super::configs;
use super::output::{list, pair, table};
use super::printed::DescribedTopic;

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
        /// Also if it is a topic of Kafka itself.
        #[arg(long)]
        internal: bool,
    },
    /// Delete topics with all their records.
    Delete {
        /// Topic names.
        #[arg(required = true, value_name = "TOPIC")]
        names: Vec<String>,
        /// Also topics of Kafka itself, such as `__consumer_offsets`.
        #[arg(long)]
        internal: bool,
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
pub fn run(admin: &mut Admin, args: &Args, common: &CommonArgs) -> anyhow::Result<()> {
    match &args.action {
        Action::List {
            internal,
            unhealthy,
        } => {
            let mut topics = admin.topics()?;
            topics.retain(|topic| match unhealthy {
                true => leaderless(topic) + under_replicated(topic) > 0,
                false => *internal || !topic.is_internal,
            });
            common.show(&topics, |topics| show(topics))
        }
        Action::Describe { names } => {
            let (described, refused) = described(admin, names)?;
            common.show(&described, |described| {
                described.iter().try_for_each(describe)
            })?;
            match refused {
                Some(error) => Err(anyhow!("configurations are not shown: {error}")),
                None => Ok(()),
            }
        }
        Action::Create(args) => create(admin, args, common),
        Action::AddPartitions {
            topic,
            partitions,
            assignment,
            internal,
        } => {
            check_internal(&admin.topics_named(&[topic])?, *internal)?;
            let placed = assignment.as_deref().map(lists).transpose()?;
            admin.create_partitions(topic, *partitions, placed.as_deref(), Mode::Apply)?;
            let done = ItemResult {
                name: topic.clone(),
                error: None,
            };
            common.show_outcomes(&[done], &format!("has {partitions} partitions now"))
        }
        Action::Delete { names, internal } => {
            let topics = admin.topics_named(names)?;
            check_internal(&topics, *internal)?;
            let partitions: usize = topics.iter().map(|topic| topic.partitions.len()).sum();
            common.confirm(&format!(
                "delete {} with {} and all records",
                names.join(", "),
                counted(partitions, "partition")
            ))?;
            let topics: Vec<TopicIdentity> =
                topics.iter().map(TopicDescription::identity).collect();
            common.show_outcomes(&admin.delete_topics(&topics)?, "deleted")
        }
        Action::Config { topic, change } => {
            configs::show_or_change(admin, &Resource::Topic(topic.clone()), change, common)
        }
    }
}

/// Refuses topics of Kafka itself, unless `--internal` says that they are meant.
fn check_internal(topics: &[TopicDescription], internal: bool) -> anyhow::Result<()> {
    let internal = InternalTopics::allowed_if(internal);
    let mut checked = topics
        .iter()
        .map(|one| one.check_internal(internal, "add --internal"));
    Ok(checked.try_for_each(|one| one)?)
}

fn leaderless(topic: &TopicDescription) -> usize {
    let all = topic.partitions.iter();
    all.filter(|one| one.leader.is_none()).count()
}

fn under_replicated(topic: &TopicDescription) -> usize {
    let all = topic.partitions.iter();
    all.filter(|one| one.is_under_replicated()).count()
}

fn show(topics: &[TopicDescription]) -> anyhow::Result<()> {
    if topics.is_empty() {
        say("no such topics");
        return Ok(());
    }
    let rows = topics.iter().map(|topic| {
        vec![
            topic.name.clone(),
            topic.partitions.len().to_string(),
            topic.replication().to_string(),
            leaderless(topic).to_string(),
            under_replicated(topic).to_string(),
        ]
    });
    let header = [
        "topic",
        "partitions #",
        "replicas #",
        "leaderless #",
        "not in sync #",
    ];
    table(&header, rows)
}

/// Topics with what is set on them, as far as this user may read that, and why not.
fn described(
    admin: &mut Admin,
    names: &[String],
) -> anyhow::Result<(Vec<DescribedTopic>, Option<AdminError>)> {
    let mut refused = None;
    let mut described = Vec::new();
    for topic in admin.topics_named(names)? {
        let resource = Resource::Topic(topic.name.clone());
        let configs = match admin.configs(&[resource], None) {
            Ok(found) => {
                let all = found.into_iter().flat_map(|(_, configs)| configs);
                let set = all.filter(|config| config.source == ConfigSource::DynamicTopic);
                Some(set.collect())
            }
            Err(error) if error.is_forbidden() => {
                refused.get_or_insert(error);
                None
            }
            Err(error) => return Err(error.into()),
        };
        described.push(DescribedTopic { topic, configs });
    }
    Ok((described, refused))
}

fn describe(DescribedTopic { topic, configs }: &DescribedTopic) -> anyhow::Result<()> {
    print(&format!("{} · {}\n", topic.name, maybe(topic.id.as_ref())))?;
    for config in configs.iter().flatten() {
        let value = maybe(config.value.as_ref());
        print(&format!("  {} = {value}\n", config.name))?;
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
    table(&header, rows)
}

fn create(admin: &mut Admin, args: &CreateArgs, common: &CommonArgs) -> anyhow::Result<()> {
    let shape = match &args.assignment {
        Some(words) => PartitionLayout::Explicit(lists(words)?),
        None => PartitionLayout::ByCluster {
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
        true => (Mode::ValidateOnly, "could be created"),
        false => (Mode::Apply, "created"),
    };
    let outcomes = admin.create_topics(&topics, mode)?;
    common.show_outcomes(&outcomes, word)?;
    if mode == Mode::Apply {
        admin.wait_until_in_sync(&args.names, Duration::from_secs(READY_SECONDS))?;
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
            "{words:?} is not a list of brokers: write 1:2:3,2:3:1, one list for each partition"
        ))
    })
}
