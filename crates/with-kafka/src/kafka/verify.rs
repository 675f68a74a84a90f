//! `tare kafka verify`: checks whether all replicas hold the same records.

use std::ops::ControlFlow;

use tare_kafka_admin::admin::{
    Admin, ComparisonProgress, ComparisonResult, PartitionInfo, ReplicaComparison,
};
use tare_record::escape::escape_line;
use tare_report::quantity;

use tare_cli::exit::{Exit, bad_input};
use tare_cli::screen::print;
use tare_cli::values::bytes;

use super::CommonArgs;
use super::output::{partition, table};

/// Arguments of `tare kafka verify`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Topics, with all their partitions.
    #[arg(value_name = "TOPIC", required_unless_present = "partition")]
    topics: Vec<String>,
    /// Single partition, `TOPIC:NUMBER`; may be given several times.
    #[arg(long, value_name = "TOPIC:NUMBER")]
    partition: Vec<String>,
}

/// Compares the replicas; exit code 1 when they differ or could not all be read.
pub fn run(admin: &mut Admin, args: &Args, common: &CommonArgs) -> anyhow::Result<Exit> {
    let mut wanted = Vec::new();
    for topic in admin.topics_named(&args.topics)? {
        let all = topic.partitions.iter().cloned();
        wanted.extend(all.map(|one| (topic.name.clone(), one)));
    }
    for words in &args.partition {
        let (name, number) = partition(words)?;
        let topics = admin.topics_named(&[&name])?;
        let mut all = topics.into_iter().flat_map(|topic| topic.partitions);
        let Some(one) = all.find(|one| one.partition == number) else {
            return Err(bad_input(format!("topic {name} has no partition {number}")));
        };
        wanted.push((name, one));
    }
    let progress = Line::new();
    let mut views = Vec::new();
    for (topic, one) in &wanted {
        let mut watch = |at: ComparisonProgress| {
            progress.show(topic, one.partition, at);
            ControlFlow::Continue(())
        };
        let view = admin.verify(topic, one, &mut watch);
        views.push(view?);
    }
    progress.clear();
    common.show(&views, |views| show(views))?;
    let mut compared = views.iter().zip(&wanted);
    Ok(
        match compared.all(|(view, (_, one))| is_in_order(view, one)) {
            true => Exit::Done,
            false => Exit::Failed,
        },
    )
}

/// Whether every replica that the partition has was read, and none differs where it may not. A single replica has nothing to be
/// compared with.
fn is_in_order(view: &ReplicaComparison, partition: &PartitionInfo) -> bool {
    let is_read = view.replicas.len() == partition.replicas.len();
    is_read
        && match view.result {
            ComparisonResult::Identical | ComparisonResult::Compacted => true,
            ComparisonResult::Incomplete => partition.replicas.len() < 2,
            ComparisonResult::Different => false,
        }
}

fn show(views: &[ReplicaComparison]) -> anyhow::Result<()> {
    let rows = views.iter().map(|view| {
        vec![
            format!("{}-{}", view.topic, view.partition),
            word(view.result).to_owned(),
            view.replicas.len().to_string(),
            format!("{}–{}", view.from, view.to),
            view.records.to_string(),
            bytes(view.size_bytes as f64),
        ]
    });
    let header = [
        "partition",
        "replicas are",
        "read #",
        "offsets",
        "records #",
        "size #",
    ];
    table(&header, rows)?;
    for view in views {
        let name = format!("{}-{}", view.topic, view.partition);
        for replica in view.replicas.iter().filter(|one| one.corrupt > 0) {
            let batches = quantity::counted(replica.corrupt, "batch", "batches");
            print(&format!(
                "{name}: broker {} has {batches} with a wrong checksum; remove that replica's files while the broker is down, and it copies them again\n",
                replica.broker,
            ))?;
        }
        for one in &view.differences {
            let each: Vec<String> = one
                .batches
                .iter()
                .map(|(broker, mark)| match mark {
                    None => format!("broker {broker} has no batch"),
                    Some(mark) => format!(
                        "broker {broker} has {} records, epoch {}, checksum {:08x}",
                        mark.records, mark.leader_epoch, mark.crc
                    ),
                })
                .collect();
            print(&format!(
                "{name}: at offset {}: {}\n",
                one.offset,
                each.join("; ")
            ))?;
        }
        for note in &view.notes {
            print(&format!("{name}: {note}\n"))?;
        }
    }
    Ok(())
}

fn word(result: ComparisonResult) -> &'static str {
    match result {
        ComparisonResult::Identical => "identical",
        ComparisonResult::Incomplete => "incomplete",
        ComparisonResult::Compacted => "compacted differently",
        ComparisonResult::Different => "DIFFERENT",
    }
}

/// A progress line that is overwritten, on a terminal only.
struct Line(console::Term);

impl Line {
    fn new() -> Line {
        Line(console::Term::stderr())
    }

    fn show(&self, topic: &str, partition: i32, at: ComparisonProgress) {
        if self.0.is_term() {
            let whole = (at.to - at.from).max(1);
            let done = (at.at - at.from).clamp(0, whole) * 100 / whole;
            // Errors of the progress line are ignored.
            let _ = self.0.clear_line();
            let _ = self
                .0
                .write_str(&format!("{}-{partition}: {done} %", escape_line(topic)));
        }
    }

    fn clear(&self) {
        if self.0.is_term() {
            let _ = self.0.clear_line();
        }
    }
}

#[cfg(test)]
mod tests {
    use tare_kafka_admin::admin::Replica;

    use super::*;

    fn is_in_order_if(result: ComparisonResult, there: i32, read: i32) -> bool {
        let replica = |broker| Replica {
            broker,
            is_leader: broker == 1,
            first: 0,
            end: 9,
            corrupt: 0,
        };
        let view = ReplicaComparison {
            topic: "orders".to_owned(),
            partition: 0,
            result,
            replicas: (1..=read).map(replica).collect(),
            from: 0,
            to: 9,
            batches: 1,
            records: 9,
            markers: 0,
            size_bytes: 99,
            differences: Vec::new(),
            // One for each replica that was not read, and one for a replica that is alone.
            notes: vec![String::new(); (there - read + i32::from(there < 2)) as usize],
        };
        let partition = PartitionInfo {
            partition: 0,
            leader: Some(1),
            leader_epoch: 0,
            replicas: (1..=there).collect(),
            in_sync: vec![1],
            offline: Vec::new(),
        };
        super::is_in_order(&view, &partition)
    }

    #[test]
    fn a_replica_that_could_not_be_read_is_a_failure_however_many_there_are() {
        use ComparisonResult::{Compacted, Different, Identical, Incomplete};
        for (result, there, read, expected) in [
            (Identical, 2, 2, true),
            (Incomplete, 1, 1, true),
            (Incomplete, 1, 0, false),
            (Incomplete, 2, 1, false),
            (Incomplete, 3, 2, false),
            (Incomplete, 3, 1, false),
            (Compacted, 3, 3, true),
            (Compacted, 3, 2, false),
            (Different, 2, 2, false),
        ] {
            let found = is_in_order_if(result, there, read);
            assert_eq!(found, expected, "{result:?}: {read} of {there} read");
        }
    }
}
