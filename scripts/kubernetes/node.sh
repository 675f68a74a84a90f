# Process 1 of a node, in namespaces of its own: bash node.sh NODE NODES exclusive|shared (cores of pods). The first node has the control plane,
# and starts the others.
set -euo pipefail
. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/places.sh"
node=$1
nodes=$2
pod_cores=$3
dir=$work/node$node
mkdir -p "$dir"/{containerd,kubelet,cni,log,plugins,lib,lib.work}
exec >"$work/log/node$node" 2>&1
PATH=$programs/bin:$PATH
until [ -e "$work/go" ]; do sleep 0.02; done
slot=$(cat "$work/go")
address=$network.$slot.$node
pods=$(pods_of "$slot")
cgroup=tare-k$slot/node$node

hostname "node$node"
mount --make-rshared /
mount -t tmpfs -o mode=755 tmpfs /run
# Folders with fixed names that programs of a node write to (/var/lib/kubelet, /var/lib/cni): what they write must not stay on this machine.
mount --bind "$dir/log" /var/log
mount -t overlay -o "lowerdir=/var/lib,upperdir=$dir/lib,workdir=$dir/lib.work" overlay /var/lib

until ip link show up0 >/dev/null 2>&1; do sleep 0.02; done
ip link set lo up
device=up0
if [ "$node" -eq 1 ] && [ "$nodes" -gt 1 ]; then
    # The switch between the nodes and this machine.
    device=nodes
    # With an address of its own: else it is that of one of its ports, and changes when a node goes, unknown to its neighbours.
    ip link add "$device" address 02:00:00:00:00:01 type bridge
    ip link set up0 master "$device" up
fi
ip address add "$address/24" dev "$device"
ip link set "$device" up
# Nothing is there but another cluster behind the first node, but addresses of Services need a route before they are translated.
if [ "$node" -eq 1 ]; then ip route add default dev "$device"; else ip route add default via "$network.$slot.1"; fi
for ((other = 1; other <= nodes; other++)); do
    if [ "$other" -ne "$node" ]; then ip route add "$pods.$other.0/24" via "$network.$slot.$other"; fi
done
sysctl -qw net.ipv4.ip_forward=1
# A connection whose other node has ended would keep this network namespace for two minutes after the stop.
sysctl -qw net.ipv4.tcp_orphan_retries=1
# Pods of one node that call each other by a Service.
sysctl -qw net.bridge.bridge-nf-call-iptables=1
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
    mkdir -p "/sys/fs/cgroup/$cgroup"
else
    for controller in cpu cpuacct cpuset memory devices freezer blkio pids systemd; do
        if [ -d "/sys/fs/cgroup/$controller" ]; then mkdir -p "/sys/fs/cgroup/$controller/$cgroup"; fi
    done
fi

# Where pods have exclusive cores, programs of the node keep to the first one.
system_cores=()
if [ "$pod_cores" = exclusive ]; then system_cores=(taskset --cpu-list 0); fi
pids=()
declare -A names
part() { # NAME COMMAND…: starts a program of the node; its log has its name
    local name=$1
    shift
    # containerd passes its cores on to pods.
    if [ "$name" != containerd ]; then set -- "${system_cores[@]}" "$@"; fi
    "$@" >"$work/log/node$node-$name" 2>&1 &
    pids+=($!)
    names[$!]=$name
}
until_true() { # COMMAND…, as long as no program of the node has ended
    local pid
    until "$@" >/dev/null 2>&1; do
        for pid in "${pids[@]}"; do
            kill -0 "$pid" 2>/dev/null || fail 1 "${names[$pid]} has ended: $work/log/node$node-${names[$pid]}"
        done
        sleep 0.1
    done
}

export KUBECONFIG=$work/pki/admin.conf
if [ "$node" -eq 1 ]; then
    bash "$root/scripts/kubernetes/pki.sh" "$work/pki" "$address" "$nodes" "tare-k$slot"
    # A test's data need not survive a power cut.
    part etcd etcd --data-dir "$work/etcd" --unsafe-no-fsync --log-level warn \
        --listen-client-urls http://127.0.0.1:2379 --advertise-client-urls http://127.0.0.1:2379 --listen-peer-urls http://127.0.0.1:2380
    part kube-apiserver kube-apiserver --etcd-servers=http://127.0.0.1:2379 --advertise-address="$address" --secure-port=6443 \
        --tls-cert-file="$work/pki/api.crt" --tls-private-key-file="$work/pki/api.key" --client-ca-file="$work/pki/ca.crt" \
        --token-auth-file="$work/pki/tokens.csv" --authorization-mode=Node,RBAC --allow-privileged=true --service-cluster-ip-range=10.96.0.0/16 \
        --service-account-issuer=https://kubernetes.default.svc --service-account-key-file="$work/pki/accounts.key" \
        --service-account-signing-key-file="$work/pki/accounts.key" --kubelet-preferred-address-types=InternalIP \
        --kubelet-client-certificate="$work/pki/api-client.crt" --kubelet-client-key="$work/pki/api-client.key"
    for ((other = 2; other <= nodes; other++)); do
        # In this node's process and network namespaces: they end with it.
        unshare --mount --net --pid --uts --ipc --fork --kill-child --mount-proc bash "$root/scripts/kubernetes/node.sh" "$other" "$nodes" "$pod_cores" &
        parent=$!
        until child=$(first_child "$parent"); do kill -0 "$parent"; done
        ip link add "node$other" type veth peer name up0 netns "$child"
        ip link set "node$other" master nodes up
        mkdir -p "$work/node$other"
        echo "$child" >"$work/node$other/pid"
    done
fi

cat >"$dir/cni/10-pods.conflist" <<EOF
{"cniVersion": "0.4.0", "name": "pods", "plugins": [
 {"type": "bridge", "bridge": "cni0", "isGateway": true, "ipMasq": false, "hairpinMode": true,
  "ipam": {"type": "host-local", "dataDir": "/run/cni-addresses", "ranges": [[{"subnet": "$pods.$node.0/24"}]], "routes": [{"dst": "0.0.0.0/0"}]}},
 {"type": "portmap", "capabilities": {"portMappings": true}}]}
EOF
# Without CAP_SYS_RESOURCE, as in many containers, runc cannot make a pod's first process the last one to be killed for memory.
cat >"$dir/containerd.toml" <<EOF
version = 2
root = "$dir/containerd"
state = "/run/containerd"
[plugins."io.containerd.internal.v1.opt"]
  path = "$dir/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "docker.io/library/$pause_image"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "$dir/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
EOF
part containerd containerd -c "$dir/containerd.toml"
until_true ctr version
ctr --namespace k8s.io images import "$programs/pause.image.tar" >/dev/null

: >"$dir/resolv.conf"
# Thresholds that never hold: an image that was removed because the disk is full cannot be pulled again.
cat >"$dir/kubelet.yaml" <<EOF
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: $address
cgroupDriver: cgroupfs
cgroupRoot: /$cgroup
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: $work/pki/ca.crt}}
authorization: {mode: Webhook}
resolvConf: $dir/resolv.conf
# Where scripts/kubernetes/istio starts a name server. Else nobody answers there, and looking up a name fails at once.
clusterDNS: [$network.$slot.1]
clusterDomain: cluster.local
volumePluginDir: $dir/plugins
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
evictionHard: {memory.available: "0%", nodefs.available: "0%", imagefs.available: "0%", nodefs.inodesFree: "0%"}
EOF
if [ "$pod_cores" = exclusive ]; then
    # The policy rounds the reserved half up to one core. The other half can still be requested: of two cores, 1.5.
    printf '%s\n' 'cpuManagerPolicy: static' 'systemReserved: {cpu: 500m}' >>"$dir/kubelet.yaml"
fi
until_true kubectl get --raw /readyz
if [ "$node" -eq 1 ]; then
    cp "$KUBECONFIG" "$work/kubeconfig"
    part kube-controller-manager kube-controller-manager --kubeconfig="$KUBECONFIG" --root-ca-file="$work/pki/ca.crt" \
        --service-account-private-key-file="$work/pki/accounts.key" --flex-volume-plugin-dir="$dir/plugins" --leader-elect=false --bind-address=127.0.0.1
    part kube-scheduler kube-scheduler --kubeconfig="$KUBECONFIG" --leader-elect=false --bind-address=127.0.0.1
fi
part kubelet kubelet --config="$dir/kubelet.yaml" --kubeconfig="$work/pki/node$node.conf" --root-dir="$dir/kubelet" --cert-dir="$dir/kubelet/pki" \
    --hostname-override="node$node" --node-ip="$address"
# The zeros: it leaves this machine's connection tracking as it is.
part kube-proxy kube-proxy --kubeconfig="$work/pki/proxy.conf" --proxy-mode=iptables --hostname-override="node$node" --cluster-cidr="$pods.0.0/16" \
    --conntrack-max-per-core=0 --conntrack-tcp-timeout-established=0 --conntrack-tcp-timeout-close-wait=0
if [ "$node" -eq 1 ]; then
    all_ready() { [ "$(kubectl get nodes --no-headers | grep -c ' Ready ')" -eq "$nodes" ]; }
    until_true all_ready
    # What every pod needs is made a moment after the node is ready.
    until_true kubectl get serviceaccount default
    touch "$work/ready"
fi
# Half a node is none.
wait -n -p ended "${pids[@]}" || true
fail 1 "${names[$ended]} has ended: $work/log/node$node-${names[$ended]}"
