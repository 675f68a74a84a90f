//! Preferred leaders levelled over the brokers by the order of replicas: no data moves.

use super::level::{self, Edge, Edges, Weights, no_edges, note};
use super::table::Table;

/// Levels each topic, then all of them without making a topic less even.
pub(super) fn level(table: &mut Table) {
    let mut counts = vec![vec![0; table.racks.len()]; table.topics.len()];
    for part in &table.parts {
        if let Some(&first) = part.replicas.first() {
            counts[part.topic][first] += 1;
        }
    }
    let topics = counts.len();
    for topic in 0..topics {
        level::level(&mut Leaders {
            table: &mut *table,
            counts: &mut counts,
            of: Of::Topic(topic),
        });
    }
    if topics > 1 {
        level::level(&mut Leaders {
            table,
            counts: &mut counts,
            of: Of::All,
        });
    }
}

/// Whose leaders.
#[derive(Clone, Copy)]
enum Of {
    Topic(usize),
    All,
}

struct Leaders<'a> {
    table: &'a mut Table,
    /// Leaders by topic and broker.
    counts: &'a mut Vec<Vec<usize>>,
    of: Of,
}

impl Leaders<'_> {
    fn may(&self, part: usize, from: usize, to: usize) -> bool {
        let one = &self.table.parts[part];
        let counts = &self.counts[one.topic];
        let keeps_topic = match self.of {
            Of::Topic(_) => true,
            Of::All => counts[from] > counts[to],
        };
        keeps_topic && one.replicas.first() == Some(&from) && one.replicas.contains(&to)
    }

    fn lead(&mut self, part: usize, from: usize, to: usize) {
        let one = &mut self.table.parts[part];
        if let Some(place) = one.replicas.iter().position(|&at| at == to) {
            one.replicas.swap(0, place);
            self.counts[one.topic][from] -= 1;
            self.counts[one.topic][to] += 1;
        }
    }

    fn note(&self, part: usize, edges: &mut Edges) {
        let one = &self.table.parts[part];
        let Some(&from) = one.replicas.first() else {
            return;
        };
        for &to in &one.replicas[1..] {
            if self.may(part, from, to) {
                let was = one.was.first();
                let cost = u32::from(was == Some(&from) && was != Some(&to));
                note(edges, from, to, Edge { cost, part });
            }
        }
    }
}

impl Weights for Leaders<'_> {
    fn loads(&self) -> Vec<usize> {
        match self.of {
            Of::Topic(topic) => self.counts[topic].clone(),
            Of::All => {
                let brokers = 0..self.table.racks.len();
                brokers
                    .map(|at| self.counts.iter().map(|counts| counts[at]).sum())
                    .collect()
            }
        }
    }

    fn edges(&self) -> Edges {
        let mut edges = no_edges(self.table.racks.len());
        match self.of {
            Of::Topic(topic) => {
                for &part in &self.table.topics[topic] {
                    self.note(part, &mut edges);
                }
            }
            Of::All => {
                (0..self.table.parts.len()).for_each(|part| self.note(part, &mut edges));
            }
        }
        edges
    }

    fn step(&mut self, part: usize, from: usize, to: usize) -> bool {
        let may = self.may(part, from, to);
        if may {
            self.lead(part, from, to);
        }
        may
    }

    fn undo(&mut self, part: usize, from: usize, to: usize) {
        self.lead(part, to, from);
    }
}
