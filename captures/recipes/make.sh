#!/bin/bash
# make.sh NAME: records one of the captures in .. and writes its expectation.
set -euo pipefail
name=$1 port=8080 limits=()
captures=$(cd "$(dirname "$0")/.." && pwd)
trap 'kill $(jobs -p) 2>/dev/null && wait || true' EXIT

# Of each: how its programs are built, the server, the client, and what it says of their versions.
case $name in
java-*)
    recipe=java_write_write_read port=8000 split=true nodelay=false
    [ "$name" != java-single-write ] || split=false
    [ "$name" != java-split-nodelay ] || nodelay=true
    build() { javac -d "$build" "$recipe"/*.java; }
    server() { exec java -cp "$build" Server; }
    client() { java -cp "$build" Client localhost $split $nodelay; }
    versions() { java_version; }
    ;;
jdk-*)
    recipe=jdk_httpserver nodelay=false
    [ "$name" != jdk-httpserver-nodelay ] || nodelay=true
    build() { mvn -q -B -f "$recipe/pom.xml" compile dependency:copy-dependencies; }
    server() { exec java -Dsun.net.httpserver.nodelay=$nodelay -cp "$build/classes" UpperCaseServer; }
    client() { java -cp "$build/classes:$build/dependency/*" Caller; }
    versions() { echo "$(java_version), Apache HttpClient 4.5.14"; }
    ;;
epoll-*)
    # The fixed server answers tens of thousands of requests a second: its capture is cut after
    # 1000 frames of at most 128 bytes.
    recipe=epoll_nodelay_on_fd0 port=8888 flags=()
    [ "$name" != epoll-fixed ] || flags=(-DFIXED) limits=(-c 1000 -s 128)
    build() { gcc -O2 -Wall -Wextra "${flags[@]}" -o "$build/server" "$recipe/server.c"; }
    server() { exec "$build/server"; }
    client() { wrk -t1 -c4 -d1s http://127.0.0.1:8888/; }
    versions() { { wrk -v || true; } | sed -n 's/ \[.*//p'; }
    ;;
esac
recipe=$captures/recipes/$recipe
build=$recipe/build

java_version() {
    java -version 2>&1 | sed -n 's/.*version "\(.*\)".*/Java \1/p'
}

# A connection to see whether it listens would be in the capture, so ask ss.
port_listens() {
    ss -Hltn "sport = :$port" | grep -q .
}

# until_so PROCESS LOG COMMAND...: waits until the command succeeds, or the process has ended.
until_so() {
    until "${@:3}"; do
        kill -0 "$1" || { cat "$2" >&2; exit 1; }
        sleep 0.1
    done
}

! port_listens || { echo "port $port is in use" >&2; exit 1; }
mkdir -p "$build"
build
tcpdump -i lo -B 32768 -Z root --immediate-mode -U -w "$build/$name.pcap" "${limits[@]}" \
    tcp port "$port" 2>"$build/tcpdump.log" &
tcpdump_pid=$!
until_so $tcpdump_pid "$build/tcpdump.log" grep -q 'listening on' "$build/tcpdump.log"
server >"$build/server.log" 2>&1 </dev/null &
until_so $! "$build/server.log" port_listens
client

# The capture is kept only if nothing is missing from it.
sleep 0.5
kill -INT "$tcpdump_pid" 2>/dev/null || true # with -c it has ended by itself
wait "$tcpdump_pid"
cat "$build/tcpdump.log"
grep -q '^0 packets dropped by kernel' "$build/tcpdump.log"
mv "$build/$name.pcap" "$captures/$name.pcap"
"$captures/expect.py" write "$name" "$(versions)"
