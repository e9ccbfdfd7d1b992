#!/bin/bash
# make.sh FOLDER: records lotos before and after its author's fix into FOLDER, for lab/recorded.py
# Needs git, gcc, make, tcpdump, strace and wrk.
set -euo pipefail
out=$(realpath "${1:?folder}")
cd "$(mktemp -d)"
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT
git clone -q https://github.com/chendotjs/lotos
cd lotos
mkdir www
echo hello >www/index.html

for commit in 149bcb6 8717b1a; do # TCP_NODELAY on descriptor 0; 'connection_set_nodelay in the wrong place'
    git checkout -qf $commit
    make -s -C src clean all
    name=lotos-$commit
    tcpdump -i lo -s 96 -Z root --immediate-mode -w "$out/$name.pcap" tcp port 8911 &
    strace -f -ttt -s 0 -e trace=write,writev,sendto,sendmsg,sendfile,setsockopt \
        -o "$out/$name.server.strace" src/lotos -r "$PWD/www" -p 8911 -d >/dev/null &
    sleep 2
    wrk -t2 -c4 -d2s http://127.0.0.1:8911/
    sleep 0.5
    kill $(jobs -p)
    wait || true
done
