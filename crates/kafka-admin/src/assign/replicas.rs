//! Repairs replica assignments and balances them over the brokers: topic by topic, then all topics together.

use super::balance::{self, Edge, Edges, FlowGraph, add_edge, no_edges};
use super::table::Table;

/// Gives every partition its target number of replicas in as many racks as possible.
pub(super) fn repair(table: &mut Table) {
    for part in 0..table.parts.len() {
        while table.parts[part].replicas.len() > table.parts[part].target_replicas {
            let Some(broker) = replica_to_remove(table, part) else {
                break;
            };
            table.remove(part, broker);
        }
    }
    for part in 0..table.parts.len() {
        while table.parts[part].replicas.len() < table.parts[part].target_replicas {
            let Some(broker) = broker_to_add(table, part) else {
                break;
            };
            table.add(part, broker);
        }
        // The number of replicas is right, but two share a rack while another rack has none.
        while table.racks_of(part) < table.target_racks(part) {
            let (Some(from), Some(to)) =
                (replica_to_remove(table, part), broker_to_add(table, part))
            else {
                break;
            };
            table.move_replica(part, from, to);
        }
    }
}

/// The replica to remove: preferably one that shares its rack, then of the most loaded broker; the leader last.
fn replica_to_remove(table: &Table, part: usize) -> Option<usize> {
    let replicas = &table.parts[part].replicas;
    let loads = &table.loads[table.parts[part].topic];
    replicas.iter().copied().max_by_key(|&at| {
        let is_doubled = table.in_rack(part, table.racks[at]) > 1;
        let is_leader = replicas.first() == Some(&at);
        (is_doubled, !is_leader, loads[at], table.totals[at])
    })
}

/// The broker for a new replica: in a rack without one, the least loaded.
fn broker_to_add(table: &Table, part: usize) -> Option<usize> {
    let loads = &table.loads[table.parts[part].topic];
    (0..table.racks.len())
        .filter(|at| !table.parts[part].replicas.contains(at))
        .min_by_key(|&at| {
            let is_doubling = table.in_rack(part, table.racks[at]) > 0;
            (is_doubling, loads[at], table.totals[at])
        })
}

/// Balances each topic, then all topics together, without making a topic less balanced.
pub(super) fn balance(table: &mut Table) {
    for topic in 0..table.topics.len() {
        balance::balance(&mut TopicReplicas {
            table: &mut *table,
            topic,
        });
    }
    if table.topics.len() > 1 {
        balance::balance(&mut AllReplicas { table });
    }
}

/// Cost of moving a replica: 1 if data is copied, 0 if it had been moved already or returns to its original broker.
fn cost(table: &Table, part: usize, from: usize, to: usize) -> u32 {
    let original = &table.parts[part].original;
    u32::from(original.contains(&from) && !original.contains(&to))
}

/// Adds an edge for every allowed move of a partition's replicas.
fn add_edges(
    table: &Table,
    part: usize,
    edges: &mut Edges,
    is_allowed: impl Fn(usize, usize) -> bool,
) {
    for &from in &table.parts[part].replicas {
        for to in 0..table.racks.len() {
            if is_allowed(from, to) && table.can_move(part, from, to) {
                let cost = cost(table, part, from, to);
                add_edge(edges, from, to, Edge { cost, part });
            }
        }
    }
}

/// The replicas of one topic.
struct TopicReplicas<'a> {
    table: &'a mut Table,
    topic: usize,
}

impl FlowGraph for TopicReplicas<'_> {
    fn loads(&self) -> Vec<usize> {
        self.table.loads[self.topic].clone()
    }

    fn edges(&mut self) -> Edges {
        let mut edges = no_edges(self.table.racks.len());
        for &part in &self.table.topics[self.topic] {
            add_edges(self.table, part, &mut edges, |_, _| true);
        }
        edges
    }

    fn step(&mut self, part: usize, from: usize, to: usize) -> bool {
        let is_allowed = self.table.can_move(part, from, to);
        if is_allowed {
            self.table.move_replica(part, from, to);
        }
        is_allowed
    }

    fn undo(&mut self, part: usize, from: usize, to: usize) {
        self.table.move_replica(part, to, from);
    }
}

/// The replicas of all topics.
struct AllReplicas<'a> {
    table: &'a mut Table,
}

impl AllReplicas<'_> {
    /// Allowed if the topic has more replicas on `from` than on `to`: at worst the two brokers swap their counts.
    fn is_allowed(&self, topic: usize, from: usize, to: usize) -> bool {
        let loads = &self.table.loads[topic];
        loads[from] > loads[to]
    }
}

impl FlowGraph for AllReplicas<'_> {
    fn loads(&self) -> Vec<usize> {
        self.table.totals.clone()
    }

    fn edges(&mut self) -> Edges {
        let mut edges = no_edges(self.table.racks.len());
        for (part, one) in self.table.parts.iter().enumerate() {
            add_edges(self.table, part, &mut edges, |from, to| {
                self.is_allowed(one.topic, from, to)
            });
        }
        edges
    }

    fn step(&mut self, part: usize, from: usize, to: usize) -> bool {
        let topic = self.table.parts[part].topic;
        let is_allowed = self.is_allowed(topic, from, to) && self.table.can_move(part, from, to);
        if is_allowed {
            self.table.move_replica(part, from, to);
        }
        is_allowed
    }

    fn undo(&mut self, part: usize, from: usize, to: usize) {
        self.table.move_replica(part, to, from);
    }
}
