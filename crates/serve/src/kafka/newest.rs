//! The newest records of all partitions of a topic, and what of them could not be read.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use tare_kafka_admin::admin::{AdminError, PartitionInfo};
use tare_kafka_admin::api::{RecordPage, RecordRow};

/// The newest `count` records of these partitions, read one after the other as long as there is time. A leader that does not answer
/// is asked once.
pub fn of_all<'a>(
    topic: &str,
    partitions: impl Iterator<Item = &'a PartitionInfo>,
    count: usize,
    has_time: impl Fn() -> bool,
    mut read: impl FnMut(&PartitionInfo) -> Result<Vec<RecordRow>, AdminError>,
) -> RecordPage {
    let mut page = RecordPage {
        records: Vec::new(),
        problems: Vec::new(),
    };
    let mut silent = BTreeSet::new();
    let mut late = Vec::new();
    for one in partitions {
        let number = one.partition;
        if one.leader.is_some_and(|leader| silent.contains(&leader)) {
            page.problems.push(format!(
                "{topic}-{number} was not read: its leader does not answer"
            ));
            continue;
        }
        if !has_time() {
            late.push(number);
            continue;
        }
        match read(one) {
            Ok(found) => page.records.extend(found),
            Err(error) => {
                if matches!(error, AdminError::Client(_) | AdminError::Late { .. }) {
                    silent.extend(one.leader);
                }
                page.problems.push(error.to_string());
            }
        }
        page.records
            .sort_by_key(|record| Reverse((record.timestamp_ms, record.offset)));
        page.records.truncate(count);
    }
    if let (Some(first), Some(last)) = (late.first(), late.last()) {
        page.problems.push(format!(
            "{} of {topic}, from {first} to {last}, were not read: it took too long; choose a partition",
            tare_report::quantity::counted(late.len() as u64, "partition", "partitions")
        ));
    }
    page
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn partitions(count: i32) -> Vec<PartitionInfo> {
        let partition = |partition| PartitionInfo {
            partition,
            leader: Some(1),
            leader_epoch: 0,
            replicas: vec![1],
            in_sync: vec![1],
            offline: Vec::new(),
        };
        (0..count).map(partition).collect()
    }

    fn row(partition: i32, offset: i64) -> RecordRow {
        RecordRow {
            partition,
            offset,
            timestamp_ms: offset,
            key: None,
            value: None,
            headers: Vec::new(),
        }
    }

    #[test]
    fn records_are_found_in_whichever_of_many_partitions_they_are() {
        let all = partitions(150);
        let page = of_all(
            "many",
            all.iter(),
            3,
            || true,
            |one| {
                Ok(match one.partition {
                    100 => (0..5).map(|offset| row(100, offset)).collect(),
                    _ => Vec::new(),
                })
            },
        );
        let found: Vec<i64> = page.records.iter().map(|one| one.offset).collect();
        assert_eq!(found, [4, 3, 2]);
        assert!(page.problems.is_empty(), "{:?}", page.problems);
    }

    #[test]
    fn partitions_for_which_there_is_no_time_are_named_in_one_line() {
        let all = partitions(150);
        let read = Cell::new(0);
        let page = of_all(
            "many",
            all.iter(),
            3,
            || read.get() < 40,
            |one| {
                read.set(read.get() + 1);
                Ok(vec![row(one.partition, 0)])
            },
        );
        assert_eq!((read.get(), page.records.len()), (40, 3));
        let [problem] = &page.problems[..] else {
            panic!("{:?}", page.problems);
        };
        assert!(problem.contains("110 partitions"), "{problem}");
        assert!(problem.contains("from 40 to 149"), "{problem}");
    }

    #[test]
    fn a_leader_that_does_not_answer_is_asked_once() {
        let all = partitions(3);
        let read = Cell::new(0);
        let page = of_all(
            "t",
            all.iter(),
            3,
            || true,
            |_| {
                read.set(read.get() + 1);
                let what = "no offset of t-0".to_owned();
                Err(AdminError::Late { what, seconds: 1 })
            },
        );
        assert_eq!((read.get(), page.problems.len()), (1, 3));
        // A batch that cannot be read says nothing of the leader.
        let page = of_all(
            "t",
            all.iter(),
            3,
            || true,
            |one| match one.partition {
                0 => Err(AdminError::Input("t-0: a corrupt batch".to_owned())),
                number => Ok(vec![row(number, 0)]),
            },
        );
        assert_eq!((page.records.len(), page.problems.len()), (2, 1));
    }
}
