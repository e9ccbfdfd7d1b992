#!/bin/bash
# make.sh epoll-fd0 | epoll-fixed
set -euo pipefail
. "$(dirname "$0")/../capture.sh"

# The fixed server answers tens of thousands of requests a second: its capture is cut after 1000
# frames of at most 128 bytes.
case $1 in
epoll-fd0) flags=() limits=() ;;
epoll-fixed) flags=(-DFIXED) limits=(-c 1000 -s 128) ;;
*) exit 2 ;;
esac

gcc -O2 -Wall -Wextra "${flags[@]}" -o "$build/server" "$recipe/server.c"
start_capture "$1" 8888 "${limits[@]}"
start_server "$build/server"
wrk -t1 -c4 -d1s http://127.0.0.1:8888/
stop_capture "$({ wrk -v || true; } | sed -n 's/ \[.*//p')"
