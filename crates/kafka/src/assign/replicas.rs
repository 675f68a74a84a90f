//! Replicas put where they may be, and levelled over the brokers: topic by topic, then all together.

use super::level::{self, Edge, Edges, Weights, no_edges, note};
use super::table::Table;

/// Gives every partition its number of replicas in as many racks as can be.
pub(super) fn repair(table: &mut Table) {
    for part in 0..table.parts.len() {
        while table.parts[part].replicas.len() > table.parts[part].wanted {
            let Some(broker) = most_spare(table, part) else {
                break;
            };
            table.remove(part, broker);
        }
    }
    for part in 0..table.parts.len() {
        while table.parts[part].replicas.len() < table.parts[part].wanted {
            let Some(broker) = best_new(table, part) else {
                break;
            };
            table.add(part, broker);
        }
        // All replicas are there, but two share a rack while another one has none.
        while table.racks_of(part) < table.racks_wanted(part) {
            let (Some(from), Some(to)) = (most_spare(table, part), best_new(table, part)) else {
                break;
            };
            table.shift(part, from, to);
        }
    }
}

/// The replica to do without: one whose rack has another one, of the broker with most; the leader last.
fn most_spare(table: &Table, part: usize) -> Option<usize> {
    let replicas = &table.parts[part].replicas;
    let loads = &table.loads[table.parts[part].topic];
    replicas.iter().copied().max_by_key(|&at| {
        let is_doubled = table.in_rack(part, table.racks[at]) > 1;
        let is_leader = replicas.first() == Some(&at);
        (is_doubled, !is_leader, loads[at], table.totals[at])
    })
}

/// Where a new replica goes: into a rack without one, to the broker with least.
fn best_new(table: &Table, part: usize) -> Option<usize> {
    let loads = &table.loads[table.parts[part].topic];
    (0..table.racks.len())
        .filter(|at| !table.parts[part].replicas.contains(at))
        .min_by_key(|&at| {
            let is_doubling = table.in_rack(part, table.racks[at]) > 0;
            (is_doubling, loads[at], table.totals[at])
        })
}

/// Levels each topic, then all of them without making a topic less even.
pub(super) fn level(table: &mut Table) {
    for topic in 0..table.topics.len() {
        level::level(&mut OfTopic {
            table: &mut *table,
            topic,
        });
    }
    if table.topics.len() > 1 {
        level::level(&mut Overall { table });
    }
}

/// What a move of a replica costs: data, unless it was moved already, or goes back where it was.
fn cost(table: &Table, part: usize, from: usize, to: usize) -> u32 {
    let was = &table.parts[part].was;
    u32::from(was.contains(&from) && !was.contains(&to))
}

/// Notes every move of a partition's replicas that may be made.
fn note_moves(table: &Table, part: usize, edges: &mut Edges, may: impl Fn(usize, usize) -> bool) {
    for &from in &table.parts[part].replicas {
        for to in 0..table.racks.len() {
            if may(from, to) && table.may_shift(part, from, to) {
                let cost = cost(table, part, from, to);
                note(edges, from, to, Edge { cost, part });
            }
        }
    }
}

/// One topic's replicas.
struct OfTopic<'a> {
    table: &'a mut Table,
    topic: usize,
}

impl Weights for OfTopic<'_> {
    fn loads(&self) -> Vec<usize> {
        self.table.loads[self.topic].clone()
    }

    fn edges(&mut self) -> Edges {
        let mut edges = no_edges(self.table.racks.len());
        for &part in &self.table.topics[self.topic] {
            note_moves(self.table, part, &mut edges, |_, _| true);
        }
        edges
    }

    fn step(&mut self, part: usize, from: usize, to: usize) -> bool {
        let may = self.table.may_shift(part, from, to);
        if may {
            self.table.shift(part, from, to);
        }
        may
    }

    fn undo(&mut self, part: usize, from: usize, to: usize) {
        self.table.shift(part, to, from);
    }
}

/// All topics' replicas.
struct Overall<'a> {
    table: &'a mut Table,
}

impl Overall<'_> {
    /// A topic may give where it has more: the two brokers then change roles, and it is as even as before.
    fn may(&self, topic: usize, from: usize, to: usize) -> bool {
        let loads = &self.table.loads[topic];
        loads[from] > loads[to]
    }
}

impl Weights for Overall<'_> {
    fn loads(&self) -> Vec<usize> {
        self.table.totals.clone()
    }

    fn edges(&mut self) -> Edges {
        let mut edges = no_edges(self.table.racks.len());
        for (part, one) in self.table.parts.iter().enumerate() {
            note_moves(self.table, part, &mut edges, |from, to| {
                self.may(one.topic, from, to)
            });
        }
        edges
    }

    fn step(&mut self, part: usize, from: usize, to: usize) -> bool {
        let topic = self.table.parts[part].topic;
        let may = self.may(topic, from, to) && self.table.may_shift(part, from, to);
        if may {
            self.table.shift(part, from, to);
        }
        may
    }

    fn undo(&mut self, part: usize, from: usize, to: usize) {
        self.table.shift(part, to, from);
    }
}
