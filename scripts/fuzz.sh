#!/bin/sh
# Runs the fuzz targets of analyzer/fuzz side by side, for MINUTES in all: `make fuzz`.
#     TARGETS='calls printed' MINUTES=60 sh scripts/fuzz.sh
# Without a C++ compiler, which libFuzzer needs, nothing is fuzzed; CI (CI=true) fails then.
set -eu
cd "$(dirname "$0")/../analyzer/fuzz"
if ! command -v c++ >/dev/null; then
    echo "not fuzzed: this needs a C++ compiler (apt install g++)" >&2
    [ "${CI:-}" != true ]
    exit
fi
targets=${TARGETS:-file conversation clocks options evidence calls printed}
jobs=$(nproc)
count=$(echo "$targets" | wc -w)
[ "$jobs" -le "$count" ] || jobs=$count
# cargo-fuzz sets these flags and the sanitizers, which need nightly Rust and find what unsafe code does.
# The target is named so that build scripts do without the flags.
host=$(rustc -vV | sed -n 's/^host: //p')
RUSTFLAGS="--cfg=fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table" \
    cargo build --release --quiet --locked --target="$host" --bins

# Seeds: the smallest captures that ship, packed and unpacked; pieces of texts; for programs of
# conversations, which any bytes are, pieces of a capture.
seeds=target/seeds
rm -rf "$seeds"
mkdir -p "$seeds/file" "$seeds/calls" "$seeds/printed" "$seeds/noise"
find ../../captures ../../tests -name '*.pcap*' -size -12k -exec ls -S -r {} + 2>/dev/null | head -n 150 |
    while read -r capture; do
        name=$(echo "$capture" | tr -c 'a-zA-Z0-9\n' -)
        cp "$capture" "$seeds/file/$name"
        case $capture in *.gz) gzip -dc "$capture" | head -c 12000 >"$seeds/file/$name-plain" ;; esac
    done
cat ../../captures/calls/*.strace | split -b 12000 - "$seeds/calls/"
find ../../tests/printed -type f -size -1000k -exec cat {} + | split -a 3 -b 12000 - "$seeds/printed/"
gzip -dc ../../captures/labelled/both-split-rtt26/*.pcap.gz | split -b 700 - "$seeds/noise/"

one='
target=$1 found=found/$1/ own=target/seeds/$1 known=
[ -d "$own" ] || own=target/seeds/noise
for folder in "crashes/$1" "corpus/$1"; do [ ! -d "$folder" ] || known="$known $folder"; done
mkdir -p "$found" "target/corpus/$1"
# An input that takes longer or more memory is a failure.
if TARGET=$target "$program" -max_total_time="$seconds" -max_len=16384 -timeout=20 -rss_limit_mb=2048 \
    -artifact_prefix="$found" -len_control=0 "target/corpus/$1" $known "$own" >"$found/log" 2>&1; then
    echo "$target: $(grep "^Done" "$found/log"), $(grep -o "cov: [0-9]*" "$found/log" | tail -n 1)"
else
    echo "$target: FAILED"
    grep -A 6 "panicked at" "$found/log" || tail -n 40 "$found/log"
    sed -n "s|.*Test unit written to |replay: TARGET=$target $program |p" "$found/log"
    exit 1
fi'
program=$PWD/target/$host/release/fuzz seconds=$((${MINUTES:-10} * 60 * jobs / count))
[ "$seconds" -ge 1 ] || seconds=1 # libFuzzer takes 0 for no end
export program seconds
echo "$targets" | xargs -n 1 -P "$jobs" sh -c "$one" fuzz
