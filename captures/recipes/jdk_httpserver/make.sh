#!/bin/bash
# make.sh jdk-httpserver | jdk-httpserver-nodelay
set -euo pipefail
. "$(dirname "$0")/../capture.sh"

case $1 in
jdk-httpserver) nodelay=false ;;
jdk-httpserver-nodelay) nodelay=true ;;
*) exit 2 ;;
esac

mvn -q -B -f "$recipe/pom.xml" compile dependency:copy-dependencies
start_capture "$1" 8080
start_server java -Dsun.net.httpserver.nodelay=$nodelay -cp "$build/classes" UpperCaseServer
java -cp "$build/classes:$build/dependency/*" Caller
stop_capture "$(java_version), Apache HttpClient 4.5.14"
