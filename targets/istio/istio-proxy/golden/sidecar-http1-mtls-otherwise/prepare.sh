# Folders and files of the proxy's container, below its working directory, and Istio's redirect rules for its pod.
set -e
cd "/run/tare/middle"
mkdir -p var/run/secrets/istio var/run/secrets/workload-spiffe-uds var/run/secrets/credential-uds \
  var/lib/istio/envoy etc/istio/proxy etc/istio/pod
cp "/run/tare/root-cert.pem" var/run/secrets/istio/root-cert.pem
agent="/opt/pilot-agent"
bootstrap="${agent%/*}/envoy_bootstrap.json"
if [ ! -f "$bootstrap" ]; then
  echo "$bootstrap is missing: copy it from the same release (in its proxyv2 image: /var/lib/istio/envoy/envoy_bootstrap_tmpl.json)" >&2
  exit 1
fi
cp "$bootstrap" var/lib/istio/envoy/envoy_bootstrap_tmpl.json
