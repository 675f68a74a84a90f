//! CPU time of instances of other arms: where arms are started once per run, they are paused while another one is measured.
//!
//! Known limit: the CPU time of a process that ends within the window is lost, unless another process of its arm reaps it.

use std::collections::{BTreeMap, BTreeSet};

use super::reading::ticks_ns;
use crate::process::{self, ProcessStat};
use crate::sys;

/// The processes of the run that do not belong to the trial: everything below the keeper but the trial's own instances.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherArms {
    /// Process id of the keeper, the parent of all instances.
    pub keeper: u32,
    /// Beginning of the `NAME=value` that only the trial's own processes have in their environment.
    pub own_mark: String,
}

/// Other arms, with their CPU time before the window.
pub(super) struct OtherArmsObservation {
    observed: OtherArms,
    /// Roots of the trial's own process trees.
    own: BTreeSet<u32>,
    first: Option<CpuByTree>,
}

/// CPU time so far of process trees, by their roots.
type CpuByTree = BTreeMap<u32, u64>;

impl OtherArmsObservation {
    pub(super) fn start(
        observed: OtherArms,
        own: BTreeSet<u32>,
        all: &[ProcessStat],
    ) -> OtherArmsObservation {
        OtherArmsObservation {
            first: observed.read(&own, all),
            observed,
            own,
        }
    }

    /// CPU time since the start; `None`: unknown.
    pub(super) fn finish(&self, all: &[ProcessStat]) -> Option<u64> {
        let last = self.observed.read(&self.own, all)?;
        Some(grown_ns(self.first.as_ref()?, &last))
    }
}

impl OtherArms {
    /// `None`: the kernel does not show the CPU time of a process.
    fn read(&self, own: &BTreeSet<u32>, all: &[ProcessStat]) -> Option<CpuByTree> {
        let roots = all.iter().filter(|one| one.parent == self.keeper);
        let others = roots.filter(|root| !self.is_own(root.pid, own));
        let cpu = |root: &ProcessStat| Some((root.pid, tree_cpu_ns(root.pid, all)?));
        others.map(cpu).collect()
    }

    /// By the mark: an instance that a fault restarted, and what an instance left to the keeper.
    fn is_own(&self, pid: u32, own: &BTreeSet<u32>) -> bool {
        own.contains(&pid) || process::has_environment_prefix(pid, &self.own_mark)
    }
}

/// CPU time of a process with its descendants, reaped ones included.
fn tree_cpu_ns(root: u32, all: &[ProcessStat]) -> Option<u64> {
    let members = process::with_descendants(all, &BTreeSet::from([root]));
    let members = all.iter().filter(|one| members.contains(&one.pid));
    members.map(cpu_ns).sum()
}

fn cpu_ns(one: &ProcessStat) -> Option<u64> {
    let children = ticks_ns(one.children_user_ticks + one.children_system_ticks);
    match sys::process_cpu(one.pid) {
        Some(own) => Some(u64::try_from(own.as_nanos()).ok()? + children),
        // It has ended meanwhile.
        None if process::stat(one.pid).is_none_or(|now| !now.is_alive()) => Some(children),
        None => None,
    }
}

/// Growth of the trees that are still there; new ones count from nothing.
fn grown_ns(first: &CpuByTree, last: &CpuByTree) -> u64 {
    let grown = last.iter().map(|(root, now)| {
        let before = first.get(root).copied().unwrap_or(0);
        now.saturating_sub(before)
    });
    grown.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_that_has_ended_takes_nothing_off_the_others() {
        let first = CpuByTree::from([(1, 100), (2, 5_000)]);
        let last = CpuByTree::from([(1, 130), (3, 7)]);
        assert_eq!(grown_ns(&first, &last), 37);
    }

    #[test]
    fn only_children_of_the_keeper_that_are_not_the_trials_own_count() {
        let me = std::process::id();
        let all = process::snapshot();
        let parent = process::stat(me).unwrap().parent;
        let others = |keeper: u32, own: &[u32]| {
            let observed = OtherArms {
                keeper,
                own_mark: String::from("TARE_INSTANCE=nobody/"),
            };
            let own = own.iter().copied().collect();
            observed.read(&own, &all).unwrap()
        };
        assert!(others(parent, &[])[&me] > 0);
        assert!(!others(parent, &[me]).contains_key(&me));
        assert!(!others(u32::MAX, &[]).contains_key(&me));
    }
}
