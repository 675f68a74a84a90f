# Certificates, tokens and kubeconfig files of a new cluster: bash pki.sh FOLDER ADDRESS NODES NAME
set -euo pipefail
address=$2
nodes=$3
# Of context, cluster and users: files of several clusters can be one configuration.
name=$4
umask 077
mkdir -p "$1"
cd "$1"
key() { openssl ecparam -name prime256v1 -genkey -noout -out "$1.key"; }
signed() { # NAME SUBJECT EXTENSION
    key "$1"
    openssl req -new -key "$1.key" -subj "$2" |
        openssl x509 -req -CA ca.crt -CAkey ca.key -CAcreateserial -days 30 -out "$1.crt" -extfile <(echo "$3") 2>/dev/null
}
key ca
openssl req -x509 -new -key ca.key -subj /CN=tare-kubernetes -days 30 -out ca.crt
signed api /CN=kube-apiserver "subjectAltName=DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,DNS:localhost,IP:127.0.0.1,IP:10.96.0.1,IP:$address"
# What the API server shows to a kubelet.
signed api-client /O=system:masters/CN=kube-apiserver extendedKeyUsage=clientAuth
key accounts
for user in admin proxy $(seq -f node%g "$nodes"); do
    token=$(openssl rand -hex 32)
    case "$user" in
    admin) echo "$token,admin,admin,system:masters" ;;
    proxy) echo "$token,system:kube-proxy,proxy," ;;
    *) echo "$token,system:node:$user,$user,system:nodes" ;;
    esac
    cat >"$user.conf" <<EOF
{"apiVersion": "v1", "kind": "Config", "current-context": "$name",
 "clusters": [{"name": "$name", "cluster": {"server": "https://$address:6443", "certificate-authority-data": "$(base64 -w 0 ca.crt)"}}],
 "users": [{"name": "$name-$user", "user": {"token": "$token"}}],
 "contexts": [{"name": "$name", "context": {"cluster": "$name", "user": "$name-$user"}}]}
EOF
done >tokens.csv
