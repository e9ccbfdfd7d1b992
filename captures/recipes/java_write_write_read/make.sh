#!/bin/bash
# make.sh java-split | java-split-nodelay | java-single-write
set -euo pipefail
. "$(dirname "$0")/../capture.sh"

case $1 in
java-split) split=true nodelay=false ;;
java-split-nodelay) split=true nodelay=true ;;
java-single-write) split=false nodelay=false ;;
*) exit 2 ;;
esac

javac -d "$build" "$recipe"/*.java
start_capture "$1" 8000
start_server java -cp "$build" Server
java -cp "$build" Client localhost $split $nodelay
stop_capture "$(java_version)"
