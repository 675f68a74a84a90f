//! Load balancing by minimum-cost augmenting paths: from a broker to one with at least two fewer, the cheapest path first.

use std::cmp::Reverse;
use std::collections::VecDeque;

/// A single move between two brokers: its cost and the partition that moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Edge {
    /// 1 if the replica leaves its original broker; 0 if it had been moved already or returns.
    pub(super) cost: u32,
    pub(super) part: usize,
}

/// A chosen move: partition, source broker, target broker.
pub(super) type Step = (usize, usize, usize);

/// The cheapest move from each broker to each other one.
pub(super) type Edges = Vec<Vec<Option<Edge>>>;

/// The load to balance, as a flow graph over brokers.
pub(super) trait FlowGraph {
    /// Load of each broker.
    fn loads(&self) -> Vec<usize>;
    /// All moves that are allowed now.
    fn edges(&mut self) -> Edges;
    /// Applies a move; `false` if it is not allowed any more.
    fn step(&mut self, part: usize, from: usize, to: usize) -> bool;
    /// Undoes a move.
    fn undo(&mut self, part: usize, from: usize, to: usize);
}

/// An empty edge matrix.
pub(super) fn no_edges(brokers: usize) -> Edges {
    vec![vec![None; brokers]; brokers]
}

/// Adds a move if it is cheaper than the known one; returns whether it is.
pub(super) fn add_edge(edges: &mut Edges, from: usize, to: usize, edge: Edge) -> bool {
    let known = &mut edges[from][to];
    let is_cheaper = known.is_none_or(|known| edge.cost < known.cost);
    if is_cheaper {
        *known = Some(edge);
    }
    is_cheaper
}

/// Augments until there is no path. Terminates because each path reduces the sum of squared loads.
pub(super) fn balance(graph: &mut impl FlowGraph) {
    while augment(graph) {}
}

/// Applies one augmenting path; `false` if there is none.
///
/// The cheapest path over all source brokers: a dearer one from the most loaded broker would copy more than necessary.
fn augment(graph: &mut impl FlowGraph) -> bool {
    let loads = graph.loads();
    let edges = graph.edges();
    let mut augmenting_paths = Vec::new();
    let mut paths = Vec::with_capacity(loads.len());
    for source in 0..loads.len() {
        let (costs, predecessors) = cheapest_paths(&edges, source);
        paths.push(predecessors);
        let sinks = costs.into_iter().enumerate();
        augmenting_paths.extend(sinks.filter_map(|(sink, cost)| {
            (loads[sink] + 2 <= loads[source]).then_some((cost?, source, sink))
        }));
    }
    // Among equal costs: from the most loaded to the least loaded broker.
    augmenting_paths
        .sort_by_key(|&(cost, source, sink)| (cost, Reverse(loads[source]), loads[sink]));
    augmenting_paths.into_iter().any(|(_, source, sink)| {
        let steps = path(&edges, &paths[source], source, sink);
        steps.is_some_and(|steps| apply(graph, &steps))
    })
}

/// Costs of the cheapest paths from a broker, and each broker's predecessor on its path (0–1 breadth-first search).
pub(super) fn cheapest_paths(edges: &Edges, source: usize) -> (Vec<Option<u32>>, Vec<usize>) {
    let mut costs: Vec<Option<u32>> = vec![None; edges.len()];
    let mut predecessors = vec![source; edges.len()];
    let mut open = VecDeque::from([source]);
    costs[source] = Some(0);
    while let Some(at) = open.pop_front() {
        let Some(cost) = costs[at] else { continue };
        for (to, edge) in edges[at].iter().enumerate() {
            let Some(edge) = edge else { continue };
            let sum = cost + edge.cost;
            if costs[to].is_none_or(|known| sum < known) {
                costs[to] = Some(sum);
                predecessors[to] = at;
                match edge.cost {
                    0 => open.push_front(to),
                    _ => open.push_back(to),
                }
            }
        }
    }
    (costs, predecessors)
}

/// The moves of a path, last one first: the target of each move makes room for the one before.
pub(super) fn path(
    edges: &Edges,
    predecessors: &[usize],
    source: usize,
    sink: usize,
) -> Option<Vec<Step>> {
    let mut steps = Vec::new();
    let mut at = sink;
    while at != source {
        let from = predecessors[at];
        steps.push((edges[from][at]?.part, from, at));
        at = from;
    }
    Some(steps)
}

/// Applies moves, all or none: a path that moves a partition twice may block itself.
pub(super) fn apply(graph: &mut impl FlowGraph, steps: &[Step]) -> bool {
    for (made, &(part, from, to)) in steps.iter().enumerate() {
        if !graph.step(part, from, to) {
            revert(graph, &steps[..made]);
            return false;
        }
    }
    true
}

pub(super) fn revert(graph: &mut impl FlowGraph, steps: &[Step]) {
    for &(part, from, to) in steps.iter().rev() {
        graph.undo(part, from, to);
    }
}
