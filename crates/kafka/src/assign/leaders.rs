//! Preferred leaders levelled over the brokers by the order of replicas: no data moves.

use super::level::{self, Edge, Edges, Step, Weights, no_edges, note};
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
        let mut all = Leaders {
            table,
            counts: &mut counts,
            of: Of::All,
        };
        level::level(&mut all);
        level::level(&mut Through {
            all,
            ways: Vec::new(),
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
    /// Whether a topic is as even as before when one broker gives a leader of it to another: the two then change roles.
    fn keeps(&self, topic: usize, from: usize, to: usize) -> bool {
        self.counts[topic][from] > self.counts[topic][to]
    }

    fn may(&self, part: usize, from: usize, to: usize) -> bool {
        let one = &self.table.parts[part];
        let keeps_topic = match self.of {
            Of::Topic(_) => true,
            Of::All => self.keeps(one.topic, from, to),
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

    fn edges(&mut self) -> Edges {
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

/// All topics' leaders by ways through one topic: a broker has one less of its leaders, another one more, and those between as many
/// as before. Finds what single moves do not, and takes longer.
struct Through<'a> {
    all: Leaders<'a>,
    /// The topic and the moves of each way.
    ways: Vec<(usize, Vec<Step>)>,
}

impl Through<'_> {
    fn topic(&mut self, topic: usize) -> Leaders<'_> {
        Leaders {
            table: &mut *self.all.table,
            counts: &mut *self.all.counts,
            of: Of::Topic(topic),
        }
    }
}

impl Weights for Through<'_> {
    fn loads(&self) -> Vec<usize> {
        self.all.loads()
    }

    fn edges(&mut self) -> Edges {
        let brokers = self.all.table.racks.len();
        let mut edges = no_edges(brokers);
        self.ways.clear();
        for topic in 0..self.all.counts.len() {
            let within = self.topic(topic).edges();
            for from in 0..brokers {
                let (costs, before) = level::cheapest(&within, from);
                for (to, cost) in costs.into_iter().enumerate() {
                    let Some(cost) = cost.filter(|_| self.all.keeps(topic, from, to)) else {
                        continue;
                    };
                    let part = self.ways.len();
                    if note(&mut edges, from, to, Edge { cost, part })
                        && let Some(steps) = level::way(&within, &before, from, to)
                    {
                        self.ways.push((topic, steps));
                    }
                }
            }
        }
        edges
    }

    fn step(&mut self, part: usize, from: usize, to: usize) -> bool {
        let (topic, steps) = self.ways[part].clone();
        self.all.keeps(topic, from, to) && level::make(&mut self.topic(topic), &steps)
    }

    fn undo(&mut self, part: usize, _from: usize, _to: usize) {
        let (topic, steps) = self.ways[part].clone();
        level::unmake(&mut self.topic(topic), &steps);
    }
}
