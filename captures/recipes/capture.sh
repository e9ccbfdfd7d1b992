# Sourced by every recipe. Order of a recipe: start_capture, start_server, the client, stop_capture.

captures=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
recipe=$(cd "$(dirname "$0")" && pwd)
build=$recipe/build
mkdir -p "$build"
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT

# start_capture NAME PORT [TCPDUMP OPTION...]
start_capture() {
    name=$1 port=$2
    shift 2
    if port_listens; then
        echo "port $port is in use" >&2
        exit 1
    fi
    tcpdump -i lo -B 32768 -Z root --immediate-mode -U -w "$build/$name.pcap" "$@" \
        tcp port "$port" 2>"$build/tcpdump.log" &
    tcpdump_pid=$!
    until grep -q 'listening on' "$build/tcpdump.log"; do
        kill -0 "$tcpdump_pid" || { cat "$build/tcpdump.log" >&2; exit 1; }
        sleep 0.1
    done
}

# start_server COMMAND...: a connection to see whether it listens would be in the capture, so ask ss.
start_server() {
    "$@" >"$build/server.log" 2>&1 </dev/null &
    server_pid=$!
    until port_listens; do
        kill -0 "$server_pid" || { cat "$build/server.log" >&2; exit 1; }
        sleep 0.1
    done
}

port_listens() {
    ss -Hltn "sport = :$port" | grep -q .
}

# stop_capture VERSIONS: keeps the capture only if nothing is missing from it.
stop_capture() {
    sleep 0.5
    kill -INT "$tcpdump_pid" 2>/dev/null || true # with -c it has ended by itself
    wait "$tcpdump_pid"
    cat "$build/tcpdump.log"
    grep -q '^0 packets dropped by kernel' "$build/tcpdump.log"
    mv "$build/$name.pcap" "$captures/$name.pcap"
    "$captures/expect.py" write "$name" "$1"
}

java_version() {
    java -version 2>&1 | sed -n 's/.*version "\(.*\)".*/Java \1/p'
}
