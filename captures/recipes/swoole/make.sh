#!/bin/bash
# make.sh FOLDER: records the loads of Swoole's fin.phpt and greeter.phpt into FOLDER, for lab/recorded.py
# Needs PHP with Swoole 6.2.1 (phpize, or pecl install swoole), tcpdump and strace.
set -euo pipefail
out=$(realpath "${1:?folder}")
cd "$(dirname "$0")"
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT
trace='strace -f -ttt -s 0 -e trace=write,writev,sendto,sendmsg,sendfile,setsockopt -o'
php='php -d extension=swoole.so'
port=9521

for load in 'fin 6 100' 'greeter 3 12'; do
    read -r test connections frames <<<"$load"
    mode=${test/greeter/greet}
    for nodelay in 0 1; do
        name=swoole-$test-$([ $nodelay = 1 ] && echo nodelay || echo nagle)
        tcpdump -i lo -s 96 -Z root --immediate-mode -w "$out/$name.pcap" tcp port $port &
        $trace "$out/$name.server.strace" $php swoole_server.php $port $nodelay &
        sleep 2
        $trace "$out/$name.client.strace" $php swoole_client.php $port $nodelay \
            "$connections" "$frames" "$mode"
        sleep 0.5
        kill $(jobs -p)
        wait || true
        port=$((port + 1))
    done
done
