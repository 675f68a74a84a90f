//! The newest records of all partitions of a topic, and what of them could not be read.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use tare_kafka_admin::admin::{AdminError, NewestRecords, PartitionInfo};
use tare_kafka_admin::api::RecordPage;
use tare_report::quantity::counted;

/// The newest `count` records of these partitions, read one after the other as long as there is time. A leader that does not answer
/// is asked once.
pub fn of_all<'a>(
    topic: &str,
    partitions: impl Iterator<Item = &'a PartitionInfo>,
    count: usize,
    has_time: impl Fn() -> bool,
    mut read: impl FnMut(&PartitionInfo) -> Result<NewestRecords, AdminError>,
) -> RecordPage {
    let mut page = RecordPage {
        records: Vec::new(),
        problems: Vec::new(),
        notes: Vec::new(),
    };
    let mut missing = Missing::default();
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
            Ok(found) => {
                missing.add(&found, count);
                page.records.extend(found.records);
            }
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
            counted(late.len() as u64, "partition", "partitions")
        ));
    }
    page.notes.extend(missing.note(count, page.records.len()));
    page
}

/// What the newest offsets of partitions hold instead of records.
#[derive(Default)]
struct Missing {
    markers: u64,
    holes: u64,
    unread: u64,
}

impl Missing {
    /// Only where older records were not read instead.
    fn add(&mut self, found: &NewestRecords, count: usize) {
        if found.has_older && found.records.len() < count {
            self.markers += found.markers;
            self.holes += found.holes;
            self.unread += found.unread;
        }
    }

    fn note(&self, count: usize, shown: usize) -> Option<String> {
        let mut parts = Vec::new();
        if self.markers > 0 {
            parts.push(match self.markers {
                1 => "1 is a transaction marker".to_owned(),
                many => format!("{many} are transaction markers"),
            });
        }
        if self.holes > 0 {
            parts.push(match self.holes {
                1 => "1 holds no record any more (compaction)".to_owned(),
                many => format!("{many} hold no record any more (compaction)"),
            });
        }
        if self.unread > 0 {
            let unread = match self.unread {
                1 => "1 was not read".to_owned(),
                many => format!("{many} were not read"),
            };
            parts.push(format!("{unread}: the records are too large"));
        }
        (!parts.is_empty()).then(|| {
            format!(
                "{} shown: the newest {} of each partition are read, of which {}",
                counted(shown as u64, "record is", "records are"),
                counted(count as u64, "offset", "offsets"),
                parts.join(", ")
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use tare_kafka_admin::api::RecordRow;

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

    fn newest(records: Vec<RecordRow>) -> NewestRecords {
        NewestRecords {
            records,
            ..NewestRecords::default()
        }
    }

    fn row(partition: i32, offset: i64) -> RecordRow {
        RecordRow {
            partition,
            offset,
            timestamp_ms: offset,
            key: None,
            value: None,
            headers: Vec::new(),
            transaction: None,
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
                Ok(newest(match one.partition {
                    100 => (0..5).map(|offset| row(100, offset)).collect(),
                    _ => Vec::new(),
                }))
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
                Ok(newest(vec![row(one.partition, 0)]))
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
                number => Ok(newest(vec![row(number, 0)])),
            },
        );
        assert_eq!((page.records.len(), page.problems.len()), (2, 1));
    }

    #[test]
    fn offsets_that_hold_no_records_are_told_where_older_records_were_not_read() {
        let all = partitions(2);
        let page = |has_older| {
            of_all(
                "t",
                all.iter(),
                20,
                || true,
                |one| {
                    Ok(NewestRecords {
                        records: (0..5).map(|offset| row(one.partition, offset)).collect(),
                        markers: 10,
                        holes: 5,
                        unread: 0,
                        has_older,
                    })
                },
            )
        };
        let told = page(true);
        assert_eq!(told.records.len(), 10);
        let expected = "10 records are shown: the newest 20 offsets of each partition are read, of which 20 are transaction \
             markers, 10 hold no record any more (compaction)";
        assert_eq!(told.notes, [expected]);
        // All that there is was read.
        assert!(page(false).notes.is_empty());
    }
}
