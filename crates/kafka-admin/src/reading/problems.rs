//! What is wrong with a cluster, with the next step.

use std::collections::BTreeSet;

use crate::admin::{CommitPosition, PartitionInfo};
use crate::api::{ClusterProblem, ProblemKind};

use super::ClusterView;

/// Examples of a problem.
const EXAMPLES_MAX: usize = 10;
/// Part of a file system that should be free.
const FREE_MIN: f64 = 0.15;

impl ClusterProblem {
    /// No broker answers.
    #[must_use]
    pub fn unreachable(reason: String) -> ClusterProblem {
        ClusterProblem::of(ProblemKind::Unreachable, reason)
    }

    /// Something could not be read.
    #[must_use]
    pub fn unreadable(reason: String) -> ClusterProblem {
        ClusterProblem::of(ProblemKind::Unreadable, reason)
    }

    fn of(kind: ProblemKind, text: String) -> ClusterProblem {
        ClusterProblem {
            kind,
            text,
            count: 1,
            examples: Vec::new(),
        }
    }
}

impl ClusterView<'_> {
    /// What is wrong, the gravest first.
    #[must_use]
    pub fn problems(&self) -> Vec<ClusterProblem> {
        let now = self.now;
        let mut found = Vec::new();
        let partitions = |is: &dyn Fn(&str, &PartitionInfo) -> bool| -> Vec<String> {
            let wrong = now.partitions().filter(|(topic, one)| is(&topic.name, one));
            wrong
                .map(|(topic, one)| format!("{}-{}", topic.name, one.partition))
                .collect()
        };
        let mut add = |kind, wrong: Vec<String>, text: &str| {
            if !wrong.is_empty() {
                found.push(problem(kind, wrong, text));
            }
        };
        add(
            ProblemKind::Offline,
            partitions(&|_, one| one.leader.is_none()),
            "partitions have no leader: nothing can be written or read; start the brokers that have their replicas",
        );
        let down: BTreeSet<i32> = now
            .partitions()
            .flat_map(|(_, one)| one.replicas.iter().copied())
            .filter(|id| !now.live.contains_key(id))
            .chain(now.silent.iter().copied())
            .collect();
        add(
            ProblemKind::BrokerDown,
            down.into_iter().map(|id| format!("broker {id}")).collect(),
            "brokers that have replicas do not answer: start them, or reassign their partitions",
        );
        add(
            ProblemKind::BelowMinIsr,
            partitions(&|topic, one| now.is_below_min_isr(topic, one)),
            "partitions have fewer replicas in sync than min.insync.replicas: producers with acks=all are refused",
        );
        add(
            ProblemKind::UnderReplicated,
            partitions(&|_, one| one.is_under_replicated()),
            "partitions have replicas that are down or behind: look at the brokers that are not in sync",
        );
        let disks = now.slow.log_dirs.iter().filter_map(|dir| {
            let space = dir.usable_bytes.zip(dir.total_bytes);
            let is_full = space
                .is_some_and(|(free, total)| total > 0 && (free as f64) < FREE_MIN * total as f64);
            (is_full || dir.error.is_some()).then(|| format!("broker {} {}", dir.broker, dir.path))
        });
        add(
            ProblemKind::Disk,
            disks.collect(),
            "log directories are offline or have less than 15 % free: add disk, shorten the retention, or move partitions",
        );
        if let Some(limit) = self.lag_limit {
            let late = now.groups.listed.iter().map(|group| &group.name);
            let late = late.filter(|name| now.lag_of(name).is_some_and(|lag| lag > limit));
            add(
                ProblemKind::Lag,
                late.cloned().collect(),
                "consumer groups are further behind than the limit of this cluster",
            );
        }
        let lost = now.groups.listed.iter().map(|group| &group.name);
        let lost = lost.filter(|name| now.commits_at(name, CommitPosition::BeyondEnd) > 0);
        add(
            ProblemKind::CommitBeyondEnd,
            lost.cloned().collect(),
            "consumer groups have committed offsets beyond the end of a partition: the topic was made again or has lost records, and consumers are reset there (auto.offset.reset); reset the groups",
        );
        add(
            ProblemKind::LeaderImbalance,
            partitions(&|_, one| one.leader.is_some() && !one.is_preferred_led()),
            "partitions are not led by their preferred leader: elect preferred leaders",
        );
        let throttled = now.throttles.brokers.keys();
        add(
            ProblemKind::Throttle,
            match now.ongoing.is_empty() {
                true => throttled.map(|id| format!("broker {id}")).collect(),
                false => Vec::new(),
            },
            "replication is throttled and nothing moves: remove the throttles",
        );
        found.extend(now.unread.iter().chain(&now.slow.problems).cloned());
        found
    }
}

fn problem(kind: ProblemKind, wrong: Vec<String>, text: &str) -> ClusterProblem {
    ClusterProblem {
        kind,
        text: text.to_owned(),
        count: wrong.len() as u64,
        examples: wrong.into_iter().take(EXAMPLES_MAX).collect(),
    }
}
