//! What every plan must keep to, whatever the cluster looks like.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::{
    CandidateBroker, ReassignmentError, ReassignmentPlan, ReplicaAssignment, by_hand, plan,
};

fn candidates(brokers: std::ops::RangeInclusive<i32>, racks: i32) -> Vec<CandidateBroker> {
    brokers
        .map(|broker| CandidateBroker {
            broker,
            rack: (racks > 0).then(|| format!("rack-{}", broker % racks)),
        })
        .collect()
}

fn placed(topic: &str, all: &[&[i32]]) -> Vec<ReplicaAssignment> {
    (0..)
        .zip(all)
        .map(|(partition, replicas)| ReplicaAssignment {
            topic: topic.to_owned(),
            partition,
            replicas: replicas.to_vec(),
        })
        .collect()
}

/// The partitions as the plan leaves them.
fn after(partitions: &[ReplicaAssignment], plan: &ReassignmentPlan) -> Vec<ReplicaAssignment> {
    let mut all = partitions.to_vec();
    for one in &plan.reassignments {
        let mut named = all
            .iter_mut()
            .filter(|was| was.topic == one.topic && was.partition == one.partition);
        let was = named.next().expect("a plan moves only what there is");
        assert_eq!(was.replicas, one.from, "a plan says what was");
        was.replicas = one.to.clone();
    }
    all
}

/// A cluster: its brokers, those it had, racks, and topics by partitions and replicas, placed anyhow.
#[derive(Debug, Clone)]
struct Case {
    candidates: Vec<CandidateBroker>,
    partitions: Vec<ReplicaAssignment>,
}

/// `racks`: how many; 0 is none. Brokers are a multiple of it, so that racks are equally large.
fn cases() -> impl Strategy<Value = Case> {
    (0..=3_i32, 1..=3_i32, 0..=2_i32)
        .prop_flat_map(|(racks, per_rack, gone)| {
            let brokers = per_rack * racks.max(2);
            let topics = prop::collection::vec((1..=13_usize, 1..=3_usize), 1..5);
            (Just((racks, brokers, gone)), topics, any::<u64>())
        })
        .prop_map(|((racks, brokers, gone), topics, seed)| {
            // Broker 1 and on may be gone: what lay there must go elsewhere.
            let candidates = candidates(1 + gone..=brokers + gone, racks);
            let had: Vec<i32> = (1..=brokers + gone).collect();
            let mut random = seed | 1;
            let mut draw = |below: usize| {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                usize::try_from(random % below as u64).unwrap()
            };
            let mut partitions = Vec::new();
            for (number, (count, replicas)) in topics.into_iter().enumerate() {
                let replicas = replicas.min(candidates.len());
                for partition in 0..count {
                    let mut left = had.clone();
                    let drawn = (0..replicas).map(|_| left.swap_remove(draw(left.len())));
                    partitions.push(ReplicaAssignment {
                        topic: format!("topic-{number}"),
                        partition: i32::try_from(partition).unwrap(),
                        replicas: drawn.collect(),
                    });
                }
            }
            Case {
                candidates,
                partitions,
            }
        })
}

/// By topic: what each broker of the plan has, counted by `of`.
fn counts(
    candidates: &[CandidateBroker],
    all: &[ReplicaAssignment],
    of: impl Fn(&ReplicaAssignment) -> Vec<i32>,
) -> BTreeMap<String, BTreeMap<i32, usize>> {
    let mut counts: BTreeMap<String, BTreeMap<i32, usize>> = BTreeMap::new();
    for one in all {
        let topic = counts.entry(one.topic.clone()).or_insert_with(|| {
            candidates
                .iter()
                .map(|candidate| (candidate.broker, 0))
                .collect()
        });
        for broker in of(one) {
            *topic.get_mut(&broker).expect("only brokers of the plan") += 1;
        }
    }
    counts
}

fn spread(counts: &BTreeMap<i32, usize>) -> usize {
    let most = counts.values().max().copied().unwrap_or_default();
    most - counts.values().min().copied().unwrap_or_default()
}

fn leader(one: &ReplicaAssignment) -> Vec<i32> {
    one.replicas.first().copied().into_iter().collect()
}

/// The smallest spread of leaders over the brokers that any order of these replicas has, topics aside.
fn evenest_leaders(candidates: &[CandidateBroker], all: &[ReplicaAssignment]) -> usize {
    // Between two bounds: each broker can be given the lower number of partitions, and all partitions find a place below the upper one;
    // then one choice does both (Mendelsohn and Dulmage, Canadian J. Math. 10 (1958) 517-534).
    let seats = |each: usize| -> Vec<i32> {
        let of_each = candidates
            .iter()
            .map(|candidate| std::iter::repeat_n(candidate.broker, each));
        of_each.flatten().collect()
    };
    let can_have = |each: usize| {
        let wanted = seats(each);
        let mut taken_by: Vec<Option<usize>> = vec![None; all.len()];
        (0..wanted.len()).all(|seat| {
            let may = |seat: usize, part: usize| all[part].replicas.contains(&wanted[seat]);
            augment(seat, &may, &mut vec![false; all.len()], &mut taken_by)
        })
    };
    let all_fit = |each: usize| {
        let seats = seats(each);
        let mut taken_by: Vec<Option<usize>> = vec![None; seats.len()];
        (0..all.len()).all(|part| {
            let may = |part: usize, seat: usize| all[part].replicas.contains(&seats[seat]);
            augment(part, &may, &mut vec![false; seats.len()], &mut taken_by)
        })
    };
    let most = (0..).find(|&each| all_fit(each)).unwrap_or_default();
    let least = (0..=most).rev().find(|&each| can_have(each));
    most - least.unwrap_or_default()
}

/// Finds a place for one, moving others where they have another one (Kuhn's algorithm).
fn augment(
    one: usize,
    may: &impl Fn(usize, usize) -> bool,
    seen: &mut Vec<bool>,
    taken_by: &mut Vec<Option<usize>>,
) -> bool {
    for place in 0..taken_by.len() {
        if seen[place] || !may(one, place) {
            continue;
        }
        seen[place] = true;
        let is_free = match taken_by[place] {
            None => true,
            Some(other) => augment(other, may, seen, taken_by),
        };
        if is_free {
            taken_by[place] = Some(one);
            return true;
        }
    }
    false
}

/// By trying every placement: the fewest copies that lead to one that is even within one.
fn fewest(candidates: &[CandidateBroker], partitions: &[ReplicaAssignment]) -> usize {
    let brokers: Vec<i32> = candidates
        .iter()
        .map(|candidate| candidate.broker)
        .collect();
    let replicas = partitions[0].replicas.len();
    let mut choices: Vec<Vec<i32>> = Vec::new();
    for (at, &first) in brokers.iter().enumerate() {
        match replicas {
            1 => choices.push(vec![first]),
            _ => choices.extend(brokers[at + 1..].iter().map(|&second| vec![first, second])),
        }
    }
    let mut best = usize::MAX;
    let total = choices.len().pow(u32::try_from(partitions.len()).unwrap());
    for mut number in 0..total {
        let mut copies = 0;
        let mut loads: BTreeMap<i32, usize> = brokers.iter().map(|&broker| (broker, 0)).collect();
        for one in partitions {
            let choice = &choices[number % choices.len()];
            number /= choices.len();
            for broker in choice {
                *loads.get_mut(broker).unwrap() += 1;
                copies += usize::from(!one.replicas.contains(broker));
            }
        }
        if spread(&loads) <= 1 {
            best = best.min(copies);
        }
    }
    best
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn nothing_is_lost_and_every_replica_is_on_a_broker_of_its_own(case in cases()) {
        let plan = plan(&case.candidates, &case.partitions, None).unwrap();
        let all = after(&case.partitions, &plan);
        let allowed: BTreeSet<i32> = case.candidates.iter().map(|candidate| candidate.broker).collect();
        for (was, is) in case.partitions.iter().zip(&all) {
            prop_assert_eq!(was.replicas.len(), is.replicas.len());
            let different: BTreeSet<i32> = is.replicas.iter().copied().collect();
            prop_assert_eq!(different.len(), is.replicas.len(), "twice on a broker");
            prop_assert!(different.is_subset(&allowed), "on a broker that is not there");
        }
    }

    #[test]
    fn every_partition_is_in_as_many_racks_as_can_be(case in cases()) {
        let plan = plan(&case.candidates, &case.partitions, None).unwrap();
        let rack_of: BTreeMap<i32, &str> = case
            .candidates
            .iter()
            .filter_map(|candidate| Some((candidate.broker, candidate.rack.as_deref()?)))
            .collect();
        let racks: BTreeSet<&str> = rack_of.values().copied().collect();
        for one in after(&case.partitions, &plan) {
            let used: BTreeSet<&str> = one
                .replicas
                .iter()
                .filter_map(|broker| rack_of.get(broker).copied())
                .collect();
            prop_assert_eq!(used.len(), racks.len().min(one.replicas.len()));
        }
    }

    #[test]
    fn replicas_and_leaders_of_every_topic_are_even_within_one(case in cases()) {
        let plan = plan(&case.candidates, &case.partitions, None).unwrap();
        let all = after(&case.partitions, &plan);
        for (topic, counts) in counts(&case.candidates, &all, |one| one.replicas.clone()) {
            prop_assert!(spread(&counts) <= 1, "replicas of {}: {:?}", topic, counts);
        }
        for (topic, counts) in counts(&case.candidates, &all, leader) {
            prop_assert!(spread(&counts) <= 1, "leaders of {}: {:?}", topic, counts);
        }
    }

    #[test]
    fn all_topics_together_are_even_too(case in cases()) {
        let plan = plan(&case.candidates, &case.partitions, None).unwrap();
        let mut all = after(&case.partitions, &plan);
        all.iter_mut().for_each(|one| one.topic = "all".to_owned());
        for (_, counts) in counts(&case.candidates, &all, |one| one.replicas.clone()) {
            prop_assert!(spread(&counts) <= 1, "{:?}", counts);
        }
        // Within two, or as even as leaders can be that are only where replicas are.
        let allowed = evenest_leaders(&case.candidates, &all);
        for (_, counts) in counts(&case.candidates, &all, leader) {
            prop_assert!(spread(&counts) <= allowed.max(2), "{:?}, {} allowed", counts, allowed);
        }
    }

    #[test]
    fn a_plan_of_what_a_plan_left_moves_nothing(case in cases()) {
        let first = plan(&case.candidates, &case.partitions, None).unwrap();
        let all = after(&case.partitions, &first);
        let second = plan(&case.candidates, &all, None).unwrap();
        prop_assert!(second.reassignments.is_empty(), "{:?}", second.reassignments);
    }

    #[test]
    fn a_new_broker_gets_its_share_and_nothing_else_moves(
        brokers in 2..7_i32,
        count in 1..40_i32,
        replicas in 1..=2_usize,
    ) {
        let old = candidates(1..=brokers, 0);
        let new: Vec<ReplicaAssignment> = (0..count)
            .map(|partition| ReplicaAssignment { topic: "t".to_owned(), partition, replicas: Vec::new() })
            .collect();
        let made = plan(&old, &new, Some(replicas)).unwrap();
        let all = after(&new, &made);
        let grown = candidates(1..=brokers + 1, 0);
        let plan = plan(&grown, &all, None).unwrap();
        for one in &plan.reassignments {
            prop_assert!(one.adding().all(|broker| broker == brokers + 1), "{:?}", one);
        }
        let share = all.len() * replicas / grown.len();
        prop_assert_eq!(plan.replicas_to_copy, share);
    }

    #[test]
    fn no_plan_that_is_as_even_copies_less(
        brokers in 2..=4_i32,
        gone in 0..=1_i32,
        replicas in 1..=2_usize,
        drawn in prop::collection::vec((0..5_usize, 1..4_usize), 1..=5),
    ) {
        let had = usize::try_from(brokers + gone).unwrap();
        let partitions: Vec<ReplicaAssignment> = (0..)
            .zip(drawn)
            .map(|(partition, (first, next))| {
                // A second replica at a distance that is not a whole turn.
                let second = first + 1 + next % (had - 1);
                let replicas = [first, second].into_iter().take(replicas);
                let replicas = replicas.map(|at| i32::try_from(at % had).unwrap() + 1);
                ReplicaAssignment { topic: "t".to_owned(), partition, replicas: replicas.collect() }
            })
            .collect();
        let candidates = candidates(1..=brokers, 0);
        let plan = plan(&candidates, &partitions, None).unwrap();
        prop_assert_eq!(plan.replicas_to_copy, fewest(&candidates, &partitions));
    }

    #[test]
    fn replicas_are_added_and_taken_as_asked(case in cases(), wanted in 1..=2_usize) {
        let plan = plan(&case.candidates, &case.partitions, Some(wanted)).unwrap();
        for one in after(&case.partitions, &plan) {
            prop_assert_eq!(one.replicas.len(), wanted);
        }
    }
}

#[test]
fn racks_of_unequal_size_are_still_spread() {
    // Broker 1 is alone in its rack: it must have one replica of each.
    let mut candidates = candidates(1..=4, 0);
    candidates[0].rack = Some("a".to_owned());
    candidates[1..]
        .iter_mut()
        .for_each(|candidate| candidate.rack = Some("b".to_owned()));
    let partitions = placed("t", &[&[2, 3], &[3, 4], &[4, 2], &[2, 3], &[3, 4], &[4, 2]]);
    let plan = plan(&candidates, &partitions, None).unwrap();
    let all = after(&partitions, &plan);
    assert!(all.iter().all(|one| one.replicas.contains(&1)));
    let counts = &counts(&candidates, &all, |one| one.replicas.clone())["t"];
    assert_eq!(
        counts.values().copied().collect::<Vec<_>>(),
        [6, 2, 2, 2],
        "the others share the rest"
    );
    assert_eq!(plan.replicas_to_copy, 6);
}

#[test]
fn a_brokers_rack_that_is_missing_makes_racks_not_count() {
    let mut some = candidates(1..=3, 3);
    some[1].rack = None;
    let partitions = placed("t", &[&[1, 2], &[2, 3], &[3, 1]]);
    let plan = plan(&some, &partitions, None).unwrap();
    assert!(plan.reassignments.is_empty());
}

#[test]
fn leaders_are_evened_without_moving_data() {
    let partitions = placed("t", &[&[1, 2, 3], &[1, 3, 2], &[1, 2, 3]]);
    let plan = plan(&candidates(1..=3, 3), &partitions, None).unwrap();
    assert_eq!((plan.replicas_to_copy, plan.reassignments.len()), (0, 2));
    assert!(plan.after.values().all(|share| share.leaders == 1));
    assert_eq!(plan.before[&1].leaders, 3);
}

#[test]
fn what_cannot_be_is_refused() {
    let partitions = placed("t", &[&[1, 2, 3]]);
    assert_eq!(
        plan(&candidates(1..=2, 0), &partitions, None),
        Err(ReassignmentError::TooFewBrokers("t".to_owned(), 0, 3, 2))
    );
    let empty = placed("t", &[&[]]);
    assert!(plan(&candidates(1..=2, 0), &empty, None).is_err());
    let twice = [placed("t", &[&[1]]), placed("t", &[&[2]])].concat();
    assert!(plan(&candidates(1..=2, 0), &twice, None).is_err());
    let mut same = candidates(1..=2, 0);
    same[1].broker = 1;
    assert!(plan(&same, &partitions, None).is_err());
}

#[test]
fn a_cluster_of_a_thousand_partitions_is_planned() {
    let partitions: Vec<ReplicaAssignment> = (0..1000)
        .map(|number| ReplicaAssignment {
            topic: format!("topic-{}", number % 25),
            partition: number / 25,
            replicas: (0..3).map(|next| (number + next) % 9 + 1).collect(),
        })
        .collect();
    let plan = plan(&candidates(1..=12, 3), &partitions, None).unwrap();
    let all: BTreeMap<i32, usize> = plan
        .after
        .iter()
        .map(|(broker, share)| (*broker, share.replicas))
        .collect();
    assert!(spread(&all) <= 1, "{all:?}");
}

#[test]
fn a_plan_by_hand_moves_what_it_names_and_refuses_what_is_not_there() {
    let at = |topic: &str, partition, replicas: &[i32]| ReplicaAssignment {
        topic: topic.to_owned(),
        partition,
        replicas: replicas.to_vec(),
    };
    let candidates = [1, 2, 3].map(|broker| CandidateBroker { broker, rack: None });
    let placed = [at("a", 0, &[1, 2]), at("a", 1, &[2, 3])];
    let plan = |targets: &[ReplicaAssignment]| by_hand(&candidates, &placed, targets);
    let found = plan(&[at("a", 1, &[3, 1]), at("a", 0, &[1, 2])]).unwrap();
    assert_eq!(found.reassignments.len(), 1);
    assert_eq!(found.reassignments[0].to, [3, 1]);
    assert_eq!(found.replicas_to_copy, 1);
    assert_eq!(
        (found.before[&1].replicas, found.after[&1].replicas),
        (1, 2)
    );
    for (wrong, words) in [
        (at("a", 0, &[]), "no replicas"),
        (at("a", 0, &[1, 1]), "duplicated"),
        (at("a", 0, &[4]), "broker 4"),
        (at("b", 0, &[1]), "no partition b-0"),
    ] {
        let error = plan(&[wrong]).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}
