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
    let topics = table.topics.len();
    let all = (topics > 1).then_some(None);
    for topic in (0..topics).map(Some).chain(all) {
        balance::balance(&mut Replicas {
            table: &mut *table,
            topic,
        });
    }
}

/// The replicas of one topic, or of all.
struct Replicas<'a> {
    table: &'a mut Table,
    topic: Option<usize>,
}

impl Replicas<'_> {
    /// Over all topics, the partition's topic must have more replicas on `from` than on `to`: at worst the two brokers swap their
    /// counts.
    fn is_allowed(&self, part: usize, from: usize, to: usize) -> bool {
        let loads = &self.table.loads[self.table.parts[part].topic];
        (self.topic.is_some() || loads[from] > loads[to]) && self.table.can_move(part, from, to)
    }
}

impl FlowGraph for Replicas<'_> {
    fn loads(&self) -> Vec<usize> {
        match self.topic {
            Some(topic) => self.table.loads[topic].clone(),
            None => self.table.totals.clone(),
        }
    }

    /// A move costs 1 if data is copied, 0 if the replica had been moved already or returns to its original broker.
    fn edges(&mut self) -> Edges {
        let brokers = self.table.racks.len();
        let mut edges = no_edges(brokers);
        for part in self.table.parts_of(self.topic) {
            let one = &self.table.parts[part];
            for &from in &one.replicas {
                for to in (0..brokers).filter(|&to| self.is_allowed(part, from, to)) {
                    let cost =
                        u32::from(one.original.contains(&from) && !one.original.contains(&to));
                    add_edge(&mut edges, from, to, Edge { cost, part });
                }
            }
        }
        edges
    }

    fn step(&mut self, part: usize, from: usize, to: usize) -> bool {
        let is_allowed = self.is_allowed(part, from, to);
        if is_allowed {
            self.table.move_replica(part, from, to);
        }
        is_allowed
    }

    fn undo(&mut self, part: usize, from: usize, to: usize) {
        self.table.move_replica(part, to, from);
    }
}
