//! Members and a coordinator of one broker, on a virtual clock.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use kafka_protocol::messages::join_group_response::JoinGroupResponseMember;
use kafka_protocol::messages::offset_commit_response::{
    OffsetCommitResponsePartition, OffsetCommitResponseTopic,
};
use kafka_protocol::messages::offset_fetch_response::{
    OffsetFetchResponsePartition, OffsetFetchResponseTopic,
};
use kafka_protocol::messages::{
    BrokerId, FindCoordinatorResponse, HeartbeatResponse, JoinGroupRequest, JoinGroupResponse,
    LeaveGroupResponse, OffsetCommitResponse, OffsetFetchResponse, SyncGroupResponse,
};
use kafka_protocol::protocol::StrBytes;
use proptest::prelude::*;

use super::*;

const MS: u64 = 1_000_000;

/// A coordinator as far as members see it: it answers a round of joins when all who are known asked.
#[derive(Debug, Default)]
struct Coordinator {
    generation: i32,
    next_member: u32,
    members: BTreeSet<String>,
    joining: BTreeMap<usize, JoinGroupRequest>,
    shares: BTreeMap<String, Bytes>,
    offsets: BTreeMap<(String, i32), i64>,
    rebalancing: bool,
    /// Codes to answer with in place of the truth, one after the other.
    scripted: Vec<i16>,
}

#[derive(Debug)]
struct World {
    now_ns: u64,
    coordinator: Coordinator,
    members: Vec<Member>,
    has: Vec<Option<Vec<Assigned>>>,
    ended: Vec<Option<GroupEvent>>,
    asked: u64,
    /// Offset that members commit of each partition that is taken from them in a rebalance.
    last_words: Option<i64>,
}

fn plan() -> GroupPlan {
    GroupPlan::new("g", &["t".to_owned()])
}

impl World {
    fn new(members: usize, partitions: u32) -> Self {
        let mut world = Self {
            now_ns: 1,
            coordinator: Coordinator::default(),
            members: Vec::new(),
            has: Vec::new(),
            ended: Vec::new(),
            asked: 0,
            last_words: None,
        };
        for _ in 0..members {
            world.add(plan(), partitions);
        }
        world
    }

    fn add(&mut self, plan: GroupPlan, partitions: u32) {
        let mut member = Member::new(plan);
        member.set_partition_count("t", partitions);
        self.members.push(member);
        self.has.push(None);
        self.ended.push(None);
    }

    /// Lets everybody ask and be answered until nobody does any more, or the time is over.
    fn run(&mut self, for_ms: u64) {
        let until_ns = self.now_ns + for_ms * MS;
        while self.now_ns < until_ns {
            let mut quiet = true;
            for at in 0..self.members.len() {
                while let Some((_, request)) = self.members[at].poll(self.now_ns) {
                    quiet = false;
                    self.asked += 1;
                    self.serve(at, request);
                    self.note(at);
                }
                self.note(at);
            }
            quiet &= !self.finish_joins();
            for at in 0..self.members.len() {
                self.note(at);
            }
            if quiet {
                let next_ns = self.members.iter().map(Member::next_ns).min().unwrap();
                self.now_ns = next_ns.max(self.now_ns + 1).min(until_ns);
            }
        }
    }

    fn note(&mut self, at: usize) {
        while let Some(event) = self.members[at].event() {
            match event {
                GroupEvent::Assigned(share) => self.has[at] = Some(share),
                GroupEvent::Revoked(why) => {
                    let had = self.has[at].take().unwrap_or_default();
                    if let (Some(offset), Revocation::Rebalance) = (self.last_words, why) {
                        let offsets = had.into_iter().map(|one| CommitOffset {
                            topic: one.topic,
                            partition: one.partition,
                            offset,
                        });
                        self.members[at].commit_before_joining(offsets.collect());
                    }
                }
                GroupEvent::Committed => {}
                event => {
                    self.has[at] = None;
                    self.ended[at] = Some(event);
                }
            }
        }
    }

    fn serve(&mut self, at: usize, request: GroupRequest) {
        let code = match request.kind() {
            GroupKind::Leave => 0,
            _ => self.coordinator.scripted.pop().unwrap_or(0),
        };
        let coordinator = &mut self.coordinator;
        if code == 25 {
            // Who is told to be unknown is.
            let known = std::mem::take(&mut coordinator.members);
            coordinator.members = known
                .into_iter()
                .filter(|member| Some(member) != member_of(&request).as_ref())
                .collect();
        }
        let known = |member: &StrBytes| coordinator.members.contains(&**member);
        let rebalancing = |code: i16| {
            if code == 0 && coordinator.rebalancing {
                27
            } else {
                code
            }
        };
        let answer = match request {
            GroupRequest::Find(_) => GroupResponse::Find(
                FindCoordinatorResponse::default()
                    .with_error_code(code)
                    .with_node_id(BrokerId(1)),
            ),
            GroupRequest::Join(join) if code != 0 => GroupResponse::Join(
                JoinGroupResponse::default()
                    .with_error_code(code)
                    .with_member_id(join.member_id),
            ),
            GroupRequest::Join(join) if join.member_id.is_empty() => {
                coordinator.next_member += 1;
                let member = StrBytes::from_string(format!("m{}", coordinator.next_member));
                GroupResponse::Join(
                    JoinGroupResponse::default()
                        .with_error_code(79)
                        .with_member_id(member),
                )
            }
            GroupRequest::Join(join) => {
                coordinator.members.insert(join.member_id.to_string());
                coordinator.joining.insert(at, join);
                coordinator.rebalancing = true;
                return;
            }
            GroupRequest::Sync(_) if code != 0 => {
                GroupResponse::Sync(SyncGroupResponse::default().with_error_code(code))
            }
            GroupRequest::Sync(sync) => {
                for share in sync.assignments {
                    coordinator
                        .shares
                        .insert(share.member_id.to_string(), share.assignment);
                }
                let share = coordinator.shares.get(&*sync.member_id).cloned();
                let code = match (&share, coordinator.rebalancing) {
                    (Some(_), false) => 0,
                    _ => 27,
                };
                GroupResponse::Sync(
                    SyncGroupResponse::default()
                        .with_error_code(code)
                        .with_assignment(share.unwrap_or_default()),
                )
            }
            GroupRequest::Heartbeat(beat) => {
                let code = if known(&beat.member_id) {
                    rebalancing(code)
                } else {
                    25
                };
                GroupResponse::Heartbeat(HeartbeatResponse::default().with_error_code(code))
            }
            GroupRequest::Offsets(asked) => {
                let topics = asked.topics.unwrap().into_iter().map(|topic| {
                    let each = topic.partition_indexes.iter().map(|&partition| {
                        let key = (topic.name.0.to_string(), partition);
                        OffsetFetchResponsePartition::default()
                            .with_partition_index(partition)
                            .with_committed_offset(*coordinator.offsets.get(&key).unwrap_or(&-1))
                    });
                    OffsetFetchResponseTopic::default()
                        .with_partitions(each.collect())
                        .with_name(topic.name.clone())
                });
                GroupResponse::Offsets(
                    OffsetFetchResponse::default()
                        .with_error_code(code)
                        .with_topics(topics.collect()),
                )
            }
            GroupRequest::Commit(commit) => {
                let mut topics = Vec::new();
                for topic in commit.topics {
                    let mut partitions = Vec::new();
                    for one in topic.partitions {
                        let key = (topic.name.0.to_string(), one.partition_index);
                        if code == 0 {
                            coordinator.offsets.insert(key, one.committed_offset);
                        }
                        partitions.push(
                            OffsetCommitResponsePartition::default()
                                .with_partition_index(one.partition_index)
                                .with_error_code(code),
                        );
                    }
                    topics.push(OffsetCommitResponseTopic::default().with_partitions(partitions));
                }
                GroupResponse::Commit(OffsetCommitResponse::default().with_topics(topics))
            }
            GroupRequest::Leave(leave) => {
                for member in leave.members {
                    coordinator.members.remove(&*member.member_id);
                }
                coordinator.rebalancing = !coordinator.members.is_empty();
                GroupResponse::Leave(LeaveGroupResponse::default())
            }
        };
        self.members[at].answer(answer, self.now_ns);
    }

    /// All who are known have asked: a new generation.
    fn finish_joins(&mut self) -> bool {
        let Self {
            coordinator,
            members,
            now_ns,
            ..
        } = self;
        if coordinator.joining.is_empty() || coordinator.joining.len() < coordinator.members.len() {
            return false;
        }
        coordinator.generation += 1;
        coordinator.rebalancing = false;
        coordinator.shares.clear();
        let joining = std::mem::take(&mut coordinator.joining);
        let all: Vec<JoinGroupResponseMember> = joining
            .values()
            .map(|join| {
                JoinGroupResponseMember::default()
                    .with_member_id(join.member_id.clone())
                    .with_metadata(join.protocols[0].metadata.clone())
            })
            .collect();
        let leader = all[0].member_id.clone();
        for (at, join) in joining {
            let is_leader = join.member_id == leader;
            let joined = JoinGroupResponse::default()
                .with_generation_id(coordinator.generation)
                .with_protocol_name(Some(join.protocols[0].name.clone()))
                .with_leader(leader.clone())
                .with_member_id(join.member_id)
                .with_members(if is_leader { all.clone() } else { Vec::new() });
            members[at].answer(GroupResponse::Join(joined), *now_ns);
        }
        true
    }

    /// Every partition once, none twice.
    fn is_shared_out(&self, partitions: i32) -> bool {
        let mut all: Vec<i32> = self
            .has
            .iter()
            .flatten()
            .flatten()
            .map(|one| one.partition)
            .collect();
        all.sort_unstable();
        all == (0..partitions).collect::<Vec<_>>()
    }
}

fn member_of(request: &GroupRequest) -> Option<String> {
    Some(match request {
        GroupRequest::Join(join) => join.member_id.to_string(),
        GroupRequest::Sync(sync) => sync.member_id.to_string(),
        GroupRequest::Heartbeat(beat) => beat.member_id.to_string(),
        GroupRequest::Commit(commit) => commit.member_id.to_string(),
        _ => return None,
    })
}

#[test]
fn members_share_the_partitions_of_a_topic_out() {
    let mut world = World::new(3, 7);
    world.run(20_000);
    assert!(world.is_shared_out(7), "{:?}", world.has);
    assert!(
        world
            .members
            .iter()
            .all(|member| member.counts().heartbeats > 3)
    );
    assert!(
        world
            .members
            .iter()
            .all(|member| member.counts().assignments > 0)
    );
}

#[test]
fn who_comes_and_who_goes_makes_the_others_share_again() {
    let mut world = World::new(2, 6);
    world.run(10_000);
    world.add(plan(), 6);
    world.run(20_000);
    assert!(world.is_shared_out(6));
    assert!(
        world
            .has
            .iter()
            .all(|share| share.as_ref().unwrap().len() == 2)
    );
    assert!(world.members[0].counts().rebalances > 0);
    world.members[0].leave();
    world.run(20_000);
    assert_eq!(world.ended[0], Some(GroupEvent::Left));
    assert!(world.is_shared_out(6));
    assert!(world.members[2].counts().rebalancing_ns > 0);
}

#[test]
fn what_was_committed_is_where_the_next_one_begins() {
    let mut world = World::new(1, 2);
    world.run(5000);
    let offset = |partition, offset| CommitOffset {
        topic: "t".into(),
        partition,
        offset,
    };
    world.members[0].commit(vec![offset(0, 5), offset(1, 6)]);
    assert!(world.members[0].is_committing());
    world.members[0].leave();
    world.run(5000);
    assert_eq!(world.ended[0], Some(GroupEvent::Left));
    assert_eq!(world.members[0].counts().commits, 1);
    world.add(plan(), 2);
    world.run(5000);
    let committed: Vec<_> = world.has[1]
        .as_ref()
        .unwrap()
        .iter()
        .map(|one| one.committed)
        .collect();
    assert_eq!(committed, [Some(5), Some(6)]);
}

#[test]
fn what_is_taken_away_in_a_rebalance_is_committed_before_and_the_others_go_on_from_there() {
    let mut world = World::new(1, 6);
    world.run(10_000);
    world.last_words = Some(42);
    world.add(plan(), 6);
    world.run(20_000);
    assert!(world.is_shared_out(6));
    let mut all = world.has.iter().flatten().flatten();
    assert!(all.all(|one| one.committed == Some(42)), "{:?}", world.has);
    assert_eq!(world.members[0].counts().commits, 1);
    assert_eq!(world.members[0].counts().commits_failed, 0);
}

#[test]
fn who_was_forgotten_commits_nothing_of_what_it_had() {
    let mut world = World::new(1, 2);
    world.run(2000);
    world.last_words = Some(42);
    world.coordinator.members.clear();
    world.run(10_000);
    assert!(world.is_shared_out(2));
    world.members[0].commit_before_joining(vec![CommitOffset {
        topic: "t".into(),
        partition: 0,
        offset: 42,
    }]);
    assert!(!world.members[0].is_committing(), "it has joined");
    assert!(world.coordinator.offsets.is_empty());
}

#[test]
fn who_is_in_a_hurry_commits_and_leaves_in_one_breath() {
    let mut world = World::new(1, 2);
    assert!(
        world.members[0].leave_now(Vec::new()).is_none(),
        "no member yet"
    );
    world.run(5000);
    let offset = CommitOffset {
        topic: "t".into(),
        partition: 1,
        offset: 9,
    };
    let (to, words) = world.members[0].leave_now(vec![offset]).unwrap();
    assert_eq!(to, To::Node(1));
    let kinds: Vec<_> = words.iter().map(GroupRequest::kind).collect();
    assert_eq!(kinds, [GroupKind::Commit, GroupKind::Leave]);
    assert!(world.members[0].is_over());
    assert!(world.members[0].poll(u64::MAX).is_none());
}

#[test]
fn a_coordinator_that_is_not_ready_is_asked_again_and_not_at_once() {
    let mut world = World::new(1, 2);
    // Popped from the back: no coordinator yet, one that still loads, one that is none any more.
    world.coordinator.scripted = vec![16, 14, 0, 15, 15];
    world.run(2000);
    assert!(world.is_shared_out(2));
    assert_eq!(world.members[0].counts().searches, 4);
    assert!(world.asked < 15, "{} requests", world.asked);
}

#[test]
fn a_connection_that_ends_costs_a_search_and_no_partitions() {
    let mut world = World::new(1, 2);
    world.run(2000);
    let member = &mut world.members[0];
    member.commit(vec![CommitOffset {
        topic: "t".into(),
        partition: 0,
        offset: 1,
    }]);
    let (_, request) = member.poll(world.now_ns).unwrap();
    assert_eq!(request.kind(), GroupKind::Commit);
    member.lost(GroupKind::Commit, world.now_ns);
    world.run(10_000);
    assert!(world.is_shared_out(2));
    let counts = world.members[0].counts();
    assert_eq!(
        (counts.rebalances, counts.searches, counts.commits_failed),
        (0, 2, 1)
    );
    assert!(counts.heartbeats > 1);
}

#[test]
fn who_was_forgotten_asks_to_be_a_member_again_under_a_new_number() {
    let mut world = World::new(1, 2);
    world.run(2000);
    world.coordinator.members.clear();
    world.run(10_000);
    assert!(world.is_shared_out(2));
    assert_eq!(world.members[0].counts().rebalances, 1);
    assert_eq!(world.coordinator.members.iter().next().unwrap(), "m2");
}

#[test]
fn without_an_answer_for_a_session_the_partitions_are_given_up() {
    let mut world = World::new(1, 2);
    world.run(2000);
    let member = &mut world.members[0];
    let late_ns = world.now_ns + 46_000 * MS;
    while let Some((_, request)) = member.poll(late_ns) {
        assert_ne!(request.kind(), GroupKind::Heartbeat);
    }
    assert_eq!(
        member.event(),
        Some(GroupEvent::Revoked(Revocation::SessionTimeout))
    );
}

#[test]
fn a_storm_of_rebalances_is_slowed_down_and_ends_with_its_name() {
    let mut world = World::new(1, 2);
    world.coordinator.scripted = vec![27; 10_000];
    world.coordinator.scripted.push(0);
    world.run(3_600_000);
    let Some(GroupEvent::Failed(error)) = &world.ended[0] else {
        panic!("{:?}", world.ended);
    };
    assert!(matches!(error, GroupError::RebalanceLoop(_, 50)));
    assert!(error.to_string().contains("50 times in a row"), "{error}");
    assert!(world.asked < 120, "{} requests", world.asked);
}

#[test]
fn a_coordinator_that_is_gone_for_good_ends_the_membership_and_one_that_comes_back_does_not() {
    let away = |codes: Vec<i16>| {
        let mut world = World::new(1, 2);
        world.run(5000);
        assert!(world.is_shared_out(2));
        world.coordinator.scripted = codes;
        world.run(180_000);
        world
    };
    // COORDINATOR_NOT_AVAILABLE, and NOT_COORDINATOR from one that every search leads to.
    for codes in [vec![15; 10_000], [0, 16].repeat(5000)] {
        let world = away(codes);
        let Some(GroupEvent::Failed(error)) = &world.ended[0] else {
            panic!("{:?}", world.ended);
        };
        assert!(matches!(error, GroupError::NoCoordinator(_, 60)), "{error}");
        assert!(error.to_string().contains("__consumer_offsets"), "{error}");
        assert_eq!(world.members[0].next_ns(), u64::MAX);
    }
    let world = away(vec![15; 400]);
    assert_eq!(world.ended, [None]);
    assert!(world.is_shared_out(2), "{:?}", world.has);
}

#[test]
fn what_cannot_be_had_ends_with_the_next_step() {
    for (code, step) in [
        (30, "ACLs"),
        (23, "--assignor"),
        (81, "group.max.size"),
        (82, "instance"),
    ] {
        let mut world = World::new(1, 2);
        world.coordinator.scripted = vec![code, 0];
        world.run(1000);
        let Some(GroupEvent::Failed(error)) = &world.ended[0] else {
            panic!("{code}: {:?}", world.ended);
        };
        assert!(error.to_string().contains(step), "{error}");
        assert_eq!(world.members[0].next_ns(), u64::MAX);
    }
}

#[test]
fn the_first_way_that_is_asked_for_is_the_one_used() {
    let mut world = World::new(0, 0);
    for _ in 0..2 {
        let mut plan = plan();
        plan.assignors = vec![Assignor::Sticky];
        world.add(plan, 5);
    }
    world.run(20_000);
    assert!(world.is_shared_out(5));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn whatever_errors_come_all_is_shared_out_in_the_end_or_the_member_says_why(
        codes in prop::collection::vec(
            prop::sample::select(vec![0_i16, 0, 0, 14, 15, 16, 22, 25, 27, 30, 79, -1, 82]), 0..40),
        members in 1..4_usize,
        partitions in 1..9_u32,
    ) {
        let mut world = World::new(members, partitions);
        world.coordinator.scripted = codes;
        world.run(600_000);
        let alive = world.ended.iter().filter(|ended| ended.is_none()).count();
        for (at, ended) in world.ended.iter().enumerate() {
            prop_assert!(!matches!(ended, Some(GroupEvent::Left)));
            prop_assert_eq!(world.members[at].is_over(), ended.is_some());
        }
        // A member that ended without leaving is still known to this coordinator, which waits for it for ever.
        if alive == members {
            prop_assert!(world.is_shared_out(partitions as i32), "{:?}", world.has);
        }
        prop_assert!(world.asked < 3000, "{} requests", world.asked);
    }
}
