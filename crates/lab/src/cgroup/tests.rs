//! What mounts, processes and counters of groups look like in both versions.

use super::*;

const HYBRID: &str = "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu,cpuacct\n\
    35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n\
    41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n\
    23 1 254:0 / / rw,relatime - ext4 /dev/root rw\n";
const OF_PROCESS: &str = "4:memory:/api/one\n1:cpuacct,cpu:/\n0::/own.scope\n";

fn dir(mounts: &str, controller: Controller, of_process: &str) -> Option<String> {
    let group = Mounts::parse(mounts).group(controller, of_process)?;
    Some(group.dir.display().to_string())
}

#[test]
fn a_controller_is_where_its_tree_is() {
    let at = |controller| dir(HYBRID, controller, OF_PROCESS);
    assert_eq!(at(Controller::Cpu).unwrap(), "/sys/fs/cgroup/cpu/");
    let memory = at(Controller::Memory).unwrap();
    assert_eq!(memory, "/sys/fs/cgroup/memory/api/one");
    let unified = "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n";
    let at = |controller| dir(unified, controller, OF_PROCESS).unwrap();
    assert_eq!(at(Controller::Cpu), "/sys/fs/cgroup/own.scope");
    assert_eq!(at(Controller::Cpu), at(Controller::Memory));
    assert_eq!(dir("", Controller::Cpu, OF_PROCESS), None);
}

#[test]
fn a_container_sees_its_own_group_at_the_mount_point() {
    let mounts = "30 23 0:26 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
    let at = |path: &str| dir(mounts, Controller::Cpu, &format!("0::{path}\n"));
    assert_eq!(at("/docker/abc/sub").unwrap(), "/sys/fs/cgroup/sub");
    // A group that is not below the mount cannot be seen.
    assert_eq!(at("/docker/other"), None);
}

#[test]
fn throttling_is_read_in_the_unit_of_its_version() {
    let one = "nr_periods 40\nnr_throttled 39\nthrottled_time 7000001\nnr_bursts 0\n";
    let two = "usage_usec 9\nnr_periods 40\nnr_throttled 39\nthrottled_usec 7000\n";
    let expected = |throttled_ns| Throttling {
        periods: 40,
        throttled: 39,
        throttled_ns,
    };
    assert_eq!(parse_throttling(one), Some(expected(7_000_001)));
    assert_eq!(parse_throttling(two), Some(expected(7_000_000)));
    // The root of version 2 has a file without limits.
    assert_eq!(parse_throttling("usage_usec 9\n"), None);
}
