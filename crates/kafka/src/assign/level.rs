//! Levelling: chains of single moves from a broker with more to one with at least two less, the cheapest first.

use std::cmp::Reverse;
use std::collections::VecDeque;

/// One single move between two brokers: what it costs and which partition it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Edge {
    /// 0 when what is moved was not at home any more, or comes home; 1 when it leaves home.
    pub(super) cost: u32,
    pub(super) part: usize,
}

/// From each broker to each other one the cheapest move there is.
pub(super) type Edges = Vec<Vec<Option<Edge>>>;

/// What is levelled.
pub(super) trait Weights {
    /// What each broker has.
    fn loads(&self) -> Vec<usize>;
    /// Every move that may be made now.
    fn edges(&self) -> Edges;
    /// Makes one; `false` when it may not be made any more.
    fn step(&mut self, part: usize, from: usize, to: usize) -> bool;
    /// Takes one back.
    fn undo(&mut self, part: usize, from: usize, to: usize);
}

/// No edges yet.
pub(super) fn no_edges(brokers: usize) -> Edges {
    vec![vec![None; brokers]; brokers]
}

/// Notes a move if it is cheaper than what is known.
pub(super) fn note(edges: &mut Edges, from: usize, to: usize, edge: Edge) {
    let known = &mut edges[from][to];
    if known.is_none_or(|known| edge.cost < known.cost) {
        *known = Some(edge);
    }
}

/// Levels until no chain is left. Ends because each chain makes the sum of squares of the loads smaller.
pub(super) fn level(weights: &mut impl Weights) {
    while chain(weights) {}
}

/// Makes one chain of moves; `false` when there is none.
///
/// The cheapest of all, whichever broker it starts at: a dearer one from the fullest broker would copy what a cheap one need not.
fn chain(weights: &mut impl Weights) -> bool {
    let loads = weights.loads();
    let edges = weights.edges();
    let mut chains = Vec::new();
    let mut ways = Vec::with_capacity(loads.len());
    for source in 0..loads.len() {
        let (costs, before) = cheapest(&edges, source);
        ways.push(before);
        let sinks = costs.into_iter().enumerate();
        chains.extend(sinks.filter_map(|(sink, cost)| {
            (loads[sink] + 2 <= loads[source]).then_some((cost?, source, sink))
        }));
    }
    // Of those that cost the same, from the one with most to the one with least.
    chains.sort_by_key(|&(cost, source, sink)| (cost, Reverse(loads[source]), loads[sink]));
    chains
        .into_iter()
        .any(|(_, source, sink)| walk(weights, &edges, &ways[source], source, sink))
}

/// Costs of the cheapest ways from a broker, and the broker before each on its way (0–1 breadth-first search).
fn cheapest(edges: &Edges, source: usize) -> (Vec<Option<u32>>, Vec<usize>) {
    let mut costs: Vec<Option<u32>> = vec![None; edges.len()];
    let mut before = vec![source; edges.len()];
    let mut open = VecDeque::from([source]);
    costs[source] = Some(0);
    while let Some(at) = open.pop_front() {
        let Some(cost) = costs[at] else { continue };
        for (to, edge) in edges[at].iter().enumerate() {
            let Some(edge) = edge else { continue };
            let sum = cost + edge.cost;
            if costs[to].is_none_or(|known| sum < known) {
                costs[to] = Some(sum);
                before[to] = at;
                match edge.cost {
                    0 => open.push_front(to),
                    _ => open.push_back(to),
                }
            }
        }
    }
    (costs, before)
}

/// Makes the moves of a way; all or none: a partition that is on it twice may be in its own way.
fn walk(
    weights: &mut impl Weights,
    edges: &Edges,
    before: &[usize],
    source: usize,
    sink: usize,
) -> bool {
    let mut way = Vec::new();
    let mut at = sink;
    while at != source {
        let from = before[at];
        let Some(edge) = edges[from][at] else {
            return false;
        };
        way.push((edge.part, from, at));
        at = from;
    }
    // From the far end: what comes makes room first.
    let mut made: Vec<(usize, usize, usize)> = Vec::new();
    for (part, from, to) in way {
        if !weights.step(part, from, to) {
            for (part, from, to) in made.into_iter().rev() {
                weights.undo(part, from, to);
            }
            return false;
        }
        made.push((part, from, to));
    }
    true
}
