//! `tare kafka cluster`, `brokers`, `elect` and `log-dirs`.

use std::collections::BTreeMap;

use tare_kafka_admin::admin::{Admin, BrokerDescription, ClusterDescription, LogDir};

use tare_cli::screen::print;
use tare_cli::values::{bytes, counted, maybe};

use super::CommonArgs;
use super::output::{list, of_named_broker, partition, table};

/// Prints the cluster.
pub fn cluster(admin: &mut Admin, common: &CommonArgs) -> anyhow::Result<()> {
    common.show(&admin.describe()?, show_cluster)
}

fn show_cluster(view: &ClusterDescription) -> anyhow::Result<()> {
    print(&format!(
        "cluster {} · {} · metadata version {}\n{}, {}, {}\n",
        maybe(view.id.as_ref()),
        controller(view),
        maybe(view.metadata_version),
        counted(view.topics, "topic"),
        counted(view.partitions, "partition"),
        counted(view.replicas, "replica"),
    ))?;
    let rows = view.brokers.iter().map(|broker| {
        vec![
            broker.id.to_string(),
            at(broker),
            maybe(broker.rack.as_ref()),
            broker.leaders.to_string(),
            broker.replicas.to_string(),
            broker.out_of_sync_replicas.to_string(),
        ]
    });
    let header = [
        "broker #",
        "address",
        "rack",
        "leaders #",
        "replicas #",
        "not in sync #",
    ];
    table(&header, rows)?;
    for broker in &view.brokers {
        if let Some(why) = &broker.unreachable {
            print(&format!("broker {}: {why}\n", broker.id))?;
        }
    }
    let which = "`tare kafka topics list --unhealthy` shows which";
    let elect = "`tare kafka elect --all` gives it back";
    for (number, what, next) in [
        (view.offline_partitions, "without a leader", which),
        (view.under_replicated_partitions, "under-replicated", which),
        (
            view.preferred_replica_imbalance,
            "not led by the preferred leader",
            elect,
        ),
    ] {
        if number > 0 {
            let partitions = counted(number, "partition");
            print(&format!("{partitions} {what}; {next}\n"))?;
        }
    }
    Ok(())
}

/// The controller with the quorum that elects it; without a quorum ZooKeeper does.
fn controller(view: &ClusterDescription) -> String {
    match (view.controller, &view.voters[..]) {
        (Some(id), []) => format!("controller {id}, elected by ZooKeeper"),
        (None, []) => "controller not known".to_owned(),
        (id, voters) => format!("controller {} of {}", maybe(id), list(voters)),
    }
}

/// Prints the brokers.
pub fn brokers(admin: &mut Admin, common: &CommonArgs) -> anyhow::Result<()> {
    common.show(&admin.describe()?.brokers, |brokers| {
        brokers.iter().try_for_each(show_broker)
    })
}

fn show_broker(broker: &BrokerDescription) -> anyhow::Result<()> {
    print(&format!(
        "broker {} · {} · rack {}\n  leader of {}, preferred of {} · {}, {} not in sync\n  listeners {}\n  advertised {}\n",
        broker.id,
        at(broker),
        maybe(broker.rack.as_ref()),
        broker.leaders,
        broker.preferred,
        counted(broker.replicas, "replica"),
        broker.out_of_sync_replicas,
        maybe(broker.listeners.as_ref()),
        maybe(broker.advertised.as_ref()),
    ))?;
    match &broker.unreachable {
        Some(why) => print(&format!("  {why}\n")),
        None => Ok(()),
    }
}

/// Address of a broker; one that is down has none.
fn at(broker: &BrokerDescription) -> String {
    match broker.host.is_empty() {
        true => "down".to_owned(),
        false => format!("{}:{}", broker.host, broker.port),
    }
}

/// Arguments of `tare kafka elect`.
#[derive(Debug, clap::Args)]
pub struct ElectArgs {
    /// Topics, with all their partitions.
    #[arg(value_name = "TOPIC", required_unless_present_any = ["all", "partition"])]
    topics: Vec<String>,
    /// Single partition, `TOPIC:NUMBER`; may be given several times.
    #[arg(long, value_name = "TOPIC:NUMBER")]
    partition: Vec<String>,
    /// All partitions of the cluster.
    #[arg(long, conflicts_with_all = ["topics", "partition"])]
    all: bool,
}

/// Runs preferred leader elections.
pub fn elect(admin: &mut Admin, args: &ElectArgs, common: &CommonArgs) -> anyhow::Result<()> {
    let mut named: BTreeMap<String, Vec<i32>> = BTreeMap::new();
    for words in &args.partition {
        let (topic, number) = partition(words)?;
        named.entry(topic).or_default().push(number);
    }
    for topic in admin.topics_named(&args.topics)? {
        let all = topic.partitions.iter().map(|one| one.partition);
        named.entry(topic.name.clone()).or_default().extend(all);
    }
    let outcomes = admin.elect_preferred((!args.all).then_some(&named))?;
    if outcomes.is_empty() && !common.json {
        print("every partition is led by its preferred leader already\n")?;
    }
    common.show_outcomes(&outcomes, "led by its preferred leader now")
}

/// Arguments of `tare kafka log-dirs`.
#[derive(Debug, clap::Args)]
pub struct LogDirsArgs {
    /// Broker IDs, separated by commas [default: all].
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    brokers: Vec<i32>,
    /// Topic; may be given several times [default: all].
    #[arg(long = "topic", value_name = "TOPIC")]
    topics: Vec<String>,
    /// Show each replica, the largest first.
    #[arg(long)]
    partitions: bool,
}

/// Prints the log directories of brokers, with sizes.
pub fn log_dirs(admin: &mut Admin, args: &LogDirsArgs, common: &CommonArgs) -> anyhow::Result<()> {
    let brokers = (!args.brokers.is_empty()).then_some(&args.brokers[..]);
    let mut dirs = match brokers {
        Some(_) => admin.log_dirs(brokers).map_err(of_named_broker)?,
        None => admin.log_dirs(None)?,
    };
    if !args.topics.is_empty() {
        for dir in &mut dirs {
            dir.partitions
                .retain(|one| args.topics.contains(&one.topic));
        }
    }
    common.show(&dirs, |dirs| {
        dirs.iter()
            .try_for_each(|dir| show_log_dir(dir, args.partitions))
    })
}

fn show_log_dir(dir: &LogDir, by_partition: bool) -> anyhow::Result<()> {
    let size: i64 = dir.partitions.iter().map(|one| one.size_bytes).sum();
    print(&format!(
        "broker {} · {}\n{} in {} · {} free of {}\n",
        dir.broker,
        dir.path,
        bytes(size as f64),
        counted(dir.partitions.len(), "replica"),
        maybe(dir.usable_bytes.map(|count| bytes(count as f64))),
        maybe(dir.total_bytes.map(|count| bytes(count as f64))),
    ))?;
    if let Some(error) = &dir.error {
        print(&format!("  cannot be used: {error}\n"))?;
    }
    let mut rows: Vec<(String, i64, i64)> = Vec::new();
    for one in &dir.partitions {
        let name = match by_partition {
            true => format!("{}-{}", one.topic, one.partition),
            false => one.topic.clone(),
        };
        match rows.last_mut() {
            Some(last) if last.0 == name => {
                last.1 += one.size_bytes;
                last.2 = last.2.max(one.lag);
            }
            _ => rows.push((name, one.size_bytes, one.lag)),
        }
    }
    rows.sort_by_key(|(name, size, _)| (-size, name.clone()));
    let rows = rows
        .into_iter()
        .map(|(name, size, lag)| vec![name, bytes(size as f64), lag.to_string()]);
    let first = match by_partition {
        true => "partition",
        false => "topic",
    };
    table(&[first, "size #", "lag #"], rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_controller_is_named_with_what_has_elected_it() {
        let view = |controller, voters: &[i32]| ClusterDescription {
            id: None,
            controller,
            voters: voters.to_vec(),
            metadata_version: None,
            brokers: Vec::new(),
            topics: 0,
            partitions: 0,
            replicas: 0,
            offline_partitions: 0,
            under_replicated_partitions: 0,
            preferred_replica_imbalance: 0,
        };
        assert_eq!(controller(&view(Some(1), &[1, 2])), "controller 1 of 1,2");
        assert_eq!(
            controller(&view(Some(1), &[])),
            "controller 1, elected by ZooKeeper"
        );
        assert_eq!(controller(&view(None, &[1])), "controller – of 1");
        // This user may not ask.
        assert_eq!(controller(&view(None, &[])), "controller not known");
    }
}
