//! Balances preferred leaders over the brokers by reordering replicas; no data moves.

use super::balance::{self, Edge, Edges, FlowGraph, Step, add_edge, no_edges};
use super::table::Table;

/// Balances each topic, then all topics together, without making a topic less balanced.
pub(super) fn balance(table: &mut Table) {
    let mut counts = vec![vec![0; table.racks.len()]; table.topics.len()];
    for part in &table.parts {
        if let Some(&first) = part.replicas.first() {
            counts[part.topic][first] += 1;
        }
    }
    let topics = counts.len();
    for topic in 0..topics {
        balance::balance(&mut Leaders {
            table: &mut *table,
            counts: &mut counts,
            topic: Some(topic),
        });
    }
    if topics > 1 {
        let mut all = Leaders {
            table,
            counts: &mut counts,
            topic: None,
        };
        balance::balance(&mut all);
        balance::balance(&mut ThroughTopic {
            all,
            paths: Vec::new(),
        });
    }
}

/// The leaders of one topic, or of all.
struct Leaders<'a> {
    table: &'a mut Table,
    /// Leaders by topic and broker.
    counts: &'a mut Vec<Vec<usize>>,
    topic: Option<usize>,
}

impl Leaders<'_> {
    /// Whether a topic stays as balanced when `from` gives one of its leaders to `to`: at worst the two swap their counts.
    fn keeps_balance(&self, topic: usize, from: usize, to: usize) -> bool {
        self.counts[topic][from] > self.counts[topic][to]
    }

    fn is_allowed(&self, part: usize, from: usize, to: usize) -> bool {
        let one = &self.table.parts[part];
        let keeps_topic = self.topic.is_some() || self.keeps_balance(one.topic, from, to);
        keeps_topic && one.replicas.first() == Some(&from) && one.replicas.contains(&to)
    }

    fn swap_leader(&mut self, part: usize, from: usize, to: usize) {
        let one = &mut self.table.parts[part];
        if let Some(place) = one.replicas.iter().position(|&at| at == to) {
            one.replicas.swap(0, place);
            self.counts[one.topic][from] -= 1;
            self.counts[one.topic][to] += 1;
        }
    }

    fn add_edge(&self, part: usize, edges: &mut Edges) {
        let one = &self.table.parts[part];
        let Some(&from) = one.replicas.first() else {
            return;
        };
        for &to in &one.replicas[1..] {
            if self.is_allowed(part, from, to) {
                let original = one.original.first();
                let cost = u32::from(original == Some(&from) && original != Some(&to));
                add_edge(edges, from, to, Edge { cost, part });
            }
        }
    }
}

impl FlowGraph for Leaders<'_> {
    fn loads(&self) -> Vec<usize> {
        match self.topic {
            Some(topic) => self.counts[topic].clone(),
            None => {
                let brokers = 0..self.table.racks.len();
                brokers
                    .map(|at| self.counts.iter().map(|counts| counts[at]).sum())
                    .collect()
            }
        }
    }

    fn edges(&mut self) -> Edges {
        let mut edges = no_edges(self.table.racks.len());
        for part in self.table.parts_of(self.topic) {
            self.add_edge(part, &mut edges);
        }
        edges
    }

    fn step(&mut self, part: usize, from: usize, to: usize) -> bool {
        let is_allowed = self.is_allowed(part, from, to);
        if is_allowed {
            self.swap_leader(part, from, to);
        }
        is_allowed
    }

    fn undo(&mut self, part: usize, from: usize, to: usize) {
        self.swap_leader(part, to, from);
    }
}

/// Balances the leaders of all topics with paths through one topic: the first broker loses one of its leaders, the last gains
/// one, those between keep their number. Finds moves that single edges do not, and takes longer.
struct ThroughTopic<'a> {
    all: Leaders<'a>,
    /// Topic and moves of each path.
    paths: Vec<(usize, Vec<Step>)>,
}

impl ThroughTopic<'_> {
    fn topic(&mut self, topic: usize) -> Leaders<'_> {
        Leaders {
            table: &mut *self.all.table,
            counts: &mut *self.all.counts,
            topic: Some(topic),
        }
    }
}

impl FlowGraph for ThroughTopic<'_> {
    fn loads(&self) -> Vec<usize> {
        self.all.loads()
    }

    fn edges(&mut self) -> Edges {
        let brokers = self.all.table.racks.len();
        let mut edges = no_edges(brokers);
        self.paths.clear();
        for topic in 0..self.all.counts.len() {
            let within = self.topic(topic).edges();
            for from in 0..brokers {
                let (costs, predecessors) = balance::cheapest_paths(&within, from);
                for (to, cost) in costs.into_iter().enumerate() {
                    let Some(cost) = cost.filter(|_| self.all.keeps_balance(topic, from, to))
                    else {
                        continue;
                    };
                    let part = self.paths.len();
                    if add_edge(&mut edges, from, to, Edge { cost, part })
                        && let Some(steps) = balance::path(&within, &predecessors, from, to)
                    {
                        self.paths.push((topic, steps));
                    }
                }
            }
        }
        edges
    }

    fn step(&mut self, part: usize, from: usize, to: usize) -> bool {
        let (topic, steps) = self.paths[part].clone();
        self.all.keeps_balance(topic, from, to) && balance::apply(&mut self.topic(topic), &steps)
    }

    fn undo(&mut self, part: usize, _from: usize, _to: usize) {
        let (topic, steps) = self.paths[part].clone();
        balance::revert(&mut self.topic(topic), &steps);
    }
}
