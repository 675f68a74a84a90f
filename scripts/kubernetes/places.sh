# Where the programs of a Kubernetes node and a running node are. Sourced, not run.

root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.." && pwd)
. "$root/scripts/prerequisites.sh"
# Debian keeps the programs of administrators here; not every shell looks there.
PATH=$PATH:/usr/sbin:/sbin
sources=$root/scripts/kubernetes/node
kubernetes_version=$(sed -n 's/^require k8s.io\/kubernetes v//p; s/^\tk8s.io\/kubernetes v//p' "$sources/go.mod" | head -n 1)
kubernetes_cache=${TARE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/tare}/kubernetes
# The folder's name has a checksum of everything that determines the build.
programs=$kubernetes_cache/node-$kubernetes_version-$(cd "$sources" && find . -type f | LC_ALL=C sort | xargs cat | sha256sum | cut -c 1-12)
# Everything of a running cluster. Its logs stay after the stop.
work=$(realpath --canonicalize-missing "${TARE_KUBERNETES_NODE:-$kubernetes_cache/node}")
pause_image=tare-pause:1

fail() { # CODE MESSAGE…
    local code=$1
    shift
    printf '%s\n' "$@" >&2
    exit "$code"
}

# Whether tests go without Kubernetes, because it is not built, and nobody asked for it; says so.
not_built() {
    if [ -d "$programs" ] || [ "${TARE_KUBERNETES:-}" = 1 ]; then return 1; fi
    say "Kubernetes is not built, its test is left out; next step: scripts/kubernetes/build (12 minutes of CPU time), or TARE_KUBERNETES=1"
}

# Nodes are in the range for benchmarks (RFC 2544), which no network of a machine uses: the third byte is the cluster's, the last one the node's.
network=198.18
# Devices between two clusters: the third byte is that of the later one.
peering=198.19
# Pods: the third byte is the node's.
pods_of() { echo "10.$((100 + $1))"; } # SLOT

# The first child of a process, as soon as there is one.
first_child() { # PID
    local children
    children=$(cat "/proc/$1/task/$1/children" 2>/dev/null) || return 1
    [ -n "$children" ] && echo "${children%% *}"
}

# The control groups of the cluster: empty when its processes have ended, which may take a moment.
remove_cgroups() {
    local slot group tries
    slot=$(cat "$work/slot" 2>/dev/null) || return 0
    for group in /sys/fs/cgroup/tare-k"$slot" /sys/fs/cgroup/*/tare-k"$slot"; do
        for ((tries = 0; tries < 50; tries++)); do
            [ -d "$group" ] || break
            find "$group" -depth -type d -exec rmdir {} + 2>/dev/null || sleep 0.1
        done
        if [ -d "$group" ]; then say "a control group is still in use: $group"; fi
    done
}

# What a cluster leaves in its folder and in control groups. Not the lock, and not the logs of the last one.
clean() {
    remove_cgroups
    rm -rf "$work"/{ready,go,guardian,pid,slot,pki,etcd,kubeconfig} "$work"/node[1-9]
}
