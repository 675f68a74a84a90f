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

/// A move that was chosen: which partition's, from which broker to which.
pub(super) type Step = (usize, usize, usize);

/// From each broker to each other one the cheapest move there is.
pub(super) type Edges = Vec<Vec<Option<Edge>>>;

/// What is levelled.
pub(super) trait Weights {
    /// What each broker has.
    fn loads(&self) -> Vec<usize>;
    /// Every move that may be made now.
    fn edges(&mut self) -> Edges;
    /// Makes one; `false` when it may not be made any more.
    fn step(&mut self, part: usize, from: usize, to: usize) -> bool;
    /// Takes one back.
    fn undo(&mut self, part: usize, from: usize, to: usize);
}

/// No edges yet.
pub(super) fn no_edges(brokers: usize) -> Edges {
    vec![vec![None; brokers]; brokers]
}

/// Notes a move if it is cheaper than what is known; says whether it is.
pub(super) fn note(edges: &mut Edges, from: usize, to: usize, edge: Edge) -> bool {
    let known = &mut edges[from][to];
    let is_cheaper = known.is_none_or(|known| edge.cost < known.cost);
    if is_cheaper {
        *known = Some(edge);
    }
    is_cheaper
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
    chains.into_iter().any(|(_, source, sink)| {
        let steps = way(&edges, &ways[source], source, sink);
        steps.is_some_and(|steps| make(weights, &steps))
    })
}

/// Costs of the cheapest ways from a broker, and the broker before each on its way (0–1 breadth-first search).
pub(super) fn cheapest(edges: &Edges, source: usize) -> (Vec<Option<u32>>, Vec<usize>) {
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

/// The moves of a way, from its far end: what comes makes room first.
pub(super) fn way(
    edges: &Edges,
    before: &[usize],
    source: usize,
    sink: usize,
) -> Option<Vec<Step>> {
    let mut steps = Vec::new();
    let mut at = sink;
    while at != source {
        let from = before[at];
        steps.push((edges[from][at]?.part, from, at));
        at = from;
    }
    Some(steps)
}

/// Makes moves; all or none: a partition that is moved twice may be in its own way.
pub(super) fn make(weights: &mut impl Weights, steps: &[Step]) -> bool {
    for (made, &(part, from, to)) in steps.iter().enumerate() {
        if !weights.step(part, from, to) {
            unmake(weights, &steps[..made]);
            return false;
        }
    }
    true
}

/// Takes moves back.
pub(super) fn unmake(weights: &mut impl Weights, steps: &[Step]) {
    for &(part, from, to) in steps.iter().rev() {
        weights.undo(part, from, to);
    }
}
