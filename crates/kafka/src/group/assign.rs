//! Partition assignors: how the leader of a group assigns partitions to its members.

use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TopicPartitions {
    pub topic: String,
    /// Their numbers.
    pub partitions: Vec<i32>,
}

/// A member, as the leader sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subscriber {
    /// Its member id.
    pub member: String,
    /// Topics it subscribes to.
    pub topics: Vec<String>,
    /// Partitions it owned before.
    pub owned: Vec<TopicPartitions>,
}

/// A partition assignor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Assignor {
    /// Contiguous partitions of each topic: Kafka's default.
    Range,
    /// As even as possible; members keep what they owned where that is balanced.
    Sticky,
}

impl Assignor {
    pub const ALL: [Assignor; 2] = [Assignor::Range, Assignor::Sticky];

    /// Its name in the protocol.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Assignor::Range => "range",
            Assignor::Sticky => "sticky",
        }
    }

    /// Assigns partitions; a topic with an unknown number of partitions has none. The result is in the order of the members.
    #[must_use]
    pub fn assign(
        self,
        members: &[Subscriber],
        partitions: &BTreeMap<String, u32>,
    ) -> Vec<Vec<TopicPartitions>> {
        let mut shares = match self {
            Assignor::Range => range(members, partitions),
            Assignor::Sticky => sticky(members, partitions),
        };
        shares.iter_mut().map(grouped).collect()
    }
}

type Share = BTreeSet<(String, i32)>;

fn grouped(share: &mut Share) -> Vec<TopicPartitions> {
    let mut topics: BTreeMap<String, Vec<i32>> = BTreeMap::new();
    for (topic, partition) in std::mem::take(share) {
        topics.entry(topic).or_default().push(partition);
    }
    let each = topics.into_iter();
    each.map(|(topic, partitions)| TopicPartitions { topic, partitions })
        .collect()
}

fn range(members: &[Subscriber], partitions: &BTreeMap<String, u32>) -> Vec<Share> {
    let mut shares = vec![Share::new(); members.len()];
    for (topic, &count) in partitions {
        let mut takers: Vec<usize> = (0..members.len())
            .filter(|&at| members[at].topics.contains(topic))
            .collect();
        takers.sort_by(|&a, &b| members[a].member.cmp(&members[b].member));
        let mut next = 0;
        for (at, &taker) in takers.iter().enumerate() {
            let takers = takers.len() as u32;
            let share = count / takers + u32::from((at as u32) < count % takers);
            let range = next..next + share;
            next += share;
            shares[taker].extend(range.map(|partition| (topic.clone(), partition as i32)));
        }
    }
    shares
}

fn sticky(members: &[Subscriber], partitions: &BTreeMap<String, u32>) -> Vec<Share> {
    let mut free: Share = partitions
        .iter()
        .flat_map(|(topic, &count)| (0..count as i32).map(move |one| (topic.clone(), one)))
        .collect();
    let all = free.len();
    let mut shares = vec![Share::new(); members.len()];
    // Members that owned most come first: they get the partitions that do not divide evenly.
    let mut order: Vec<usize> = (0..members.len()).collect();
    let owned = |at: usize| {
        members[at]
            .owned
            .iter()
            .map(|one| one.partitions.len())
            .sum::<usize>()
    };
    order.sort_by_key(|&at| (std::cmp::Reverse(owned(at)), members[at].member.clone()));
    let fewest = all / members.len().max(1);
    let mut odd = all % members.len().max(1);
    for &at in &order {
        let mut room = fewest + usize::from(odd > 0);
        for topic in &members[at].owned {
            for &partition in &topic.partitions {
                let one = (topic.topic.clone(), partition);
                if room > 0 && members[at].topics.contains(&topic.topic) && free.remove(&one) {
                    shares[at].insert(one);
                    room -= 1;
                }
            }
        }
        odd -= usize::from(shares[at].len() > fewest);
    }
    for one in free {
        let takers = order
            .iter()
            .filter(|&&at| members[at].topics.contains(&one.0));
        if let Some(&taker) = takers.min_by_key(|&&at| shares[at].len()) {
            shares[taker].insert(one);
        }
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn member(name: usize, topics: &[String], owned: &[TopicPartitions]) -> Subscriber {
        Subscriber {
            member: format!("member-{name:03}"),
            topics: topics.to_vec(),
            owned: owned.to_vec(),
        }
    }

    fn flat(share: &[TopicPartitions]) -> BTreeSet<(String, i32)> {
        let each = share.iter();
        each.flat_map(|one| one.partitions.iter().map(|&p| (one.topic.clone(), p)))
            .collect()
    }

    fn world(counts: &[u32]) -> (Vec<String>, BTreeMap<String, u32>) {
        let topics: Vec<String> = (0..counts.len()).map(|at| format!("t{at}")).collect();
        let partitions = topics.iter().cloned().zip(counts.iter().copied()).collect();
        (topics, partitions)
    }

    proptest! {
        #[test]
        fn each_partition_goes_to_exactly_one_who_wants_it(
            counts in prop::collection::vec(0..20_u32, 1..4),
            wants in prop::collection::vec(prop::collection::vec(any::<bool>(), 4), 1..8),
            which in 0..2_usize,
        ) {
            let (topics, partitions) = world(&counts);
            let members: Vec<Subscriber> = wants
                .iter()
                .enumerate()
                .map(|(at, wants)| {
                    let wanted: Vec<String> = topics
                        .iter()
                        .zip(wants)
                        .filter(|(_, wants)| **wants)
                        .map(|(topic, _)| topic.clone())
                        .collect();
                    member(at, &wanted, &[])
                })
                .collect();
            let shares = Assignor::ALL[which].assign(&members, &partitions);
            let mut seen = BTreeSet::new();
            for (member, share) in members.iter().zip(&shares) {
                for one in flat(share) {
                    prop_assert!(member.topics.contains(&one.0));
                    prop_assert!(seen.insert(one));
                }
            }
            let wanted: u32 = topics
                .iter()
                .zip(&counts)
                .filter(|(topic, _)| members.iter().any(|member| member.topics.contains(topic)))
                .map(|(_, count)| count)
                .sum();
            prop_assert_eq!(seen.len(), wanted as usize);
        }

        #[test]
        fn the_sticky_way_is_even_and_moves_no_more_than_it_must(
            counts in prop::collection::vec(0..30_u32, 1..4),
            before in 1..8_usize,
            after in 1..8_usize,
        ) {
            let (topics, partitions) = world(&counts);
            let all: usize = counts.iter().sum::<u32>() as usize;
            let first: Vec<_> = (0..before).map(|at| member(at, &topics, &[])).collect();
            let had = Assignor::Sticky.assign(&first, &partitions);
            let second: Vec<_> = (0..after)
                .map(|at| member(at, &topics, had.get(at).map_or(&[], Vec::as_slice)))
                .collect();
            let has = Assignor::Sticky.assign(&second, &partitions);
            let sizes: Vec<usize> = has.iter().map(|share| flat(share).len()).collect();
            let (most, least) = (sizes.iter().max().unwrap(), sizes.iter().min().unwrap());
            prop_assert!(most - least <= 1, "{sizes:?}");
            let kept: usize = had
                .iter()
                .zip(&has)
                .map(|(had, has)| flat(had).intersection(&flat(has)).count())
                .sum();
            let (few, odd) = (all / after, all % after);
            // As many as fit into even shares: with more members all that is even, with fewer all of those who stay.
            let most_kept: usize = (0..before.min(after))
                .map(|at| flat(&had[at]).len().min(few + usize::from(at < odd)))
                .sum();
            prop_assert!(kept >= most_kept, "{kept} kept of {most_kept} that could be");
        }
    }

    #[test]
    fn ranges_are_those_of_kafka() {
        let (topics, partitions) = world(&[7, 2]);
        // The order of the names decides, not that of joining.
        let members = [
            member(2, &topics, &[]),
            member(0, &topics, &[]),
            member(1, &topics, &[]),
        ];
        let shares = Assignor::Range.assign(&members, &partitions);
        assert_eq!(shares[1][0].partitions, [0, 1, 2]);
        assert_eq!(shares[2][0].partitions, [3, 4]);
        assert_eq!(shares[0][0].partitions, [5, 6]);
        assert_eq!(
            (shares[1][1].partitions[0], shares[2][1].partitions[0]),
            (0, 1)
        );
        assert_eq!(
            shares[0].len(),
            1,
            "two partitions are not enough for three"
        );
    }
}
