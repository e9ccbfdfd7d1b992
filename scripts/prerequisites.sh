#!/bin/sh
# Names what the build needs and is missing, in one line; installs libpcap's headers and Python's
# venv where that is possible without asking; without libpcap the build has no -f. With 'wheel' also what
# builds libpcap, with 'developer' also the programs that some tests run. Without these the tests are
# skipped, and say so; where CI=true they fail. Status 3: all is there but what a wheel needs.
set -eu

fail() {
    echo "nagle-scan: $1" >&2
    exit "${2:-1}"
}

install() {
    command -v apt-get >/dev/null || return 1
    if [ "$(id -u)" -eq 0 ]; then
        sudo=""
    elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
        sudo="sudo -n"
    else
        return 1
    fi
    echo "Installing $* ..."
    # Another apt may be at work: the first option waits for its packages, the loop for its lists.
    apt="$sudo env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=120"
    $apt install -y "$@" >/dev/null 2>&1 && return
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12; do
        $apt update 2>/dev/null && break
        sleep 10
    done
    $apt install -y "$@" >/dev/null
}

python=${PYTHON:-python3}
command -v "$python" >/dev/null || fail "needs Python 3.11 or newer: apt install python3 python3-venv"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    fail "needs Python 3.11 or newer, found $("$python" --version 2>&1)"
"$python" -c 'import ensurepip' 2>/dev/null || install python3-venv ||
    fail "needs Python's venv module: apt install python3-venv"
command -v cargo >/dev/null || fail "needs a Rust toolchain (1.88 or newer): https://rustup.rs"
command -v cc >/dev/null || fail "needs a C compiler: apt install gcc libc6-dev"
toolchain=$(dirname "$0")/toolchain.py
"$python" "$toolchain" libpcap 2>/dev/null || install libpcap-dev || true
"$python" "$toolchain"

if [ "${1:-}" = wheel ]; then
    command -v flex >/dev/null && command -v bison >/dev/null || install flex bison ||
        fail "a wheel's libpcap is built with flex and bison: apt install flex bison" 3
fi
[ "${1:-}" = developer ] || exit 0

# need PROGRAM PACKAGE WITHOUT: installs it, or says what is not done without it.
need() {
    command -v "$1" >/dev/null || install "$2" ||
        echo "nagle-scan: without $1 $3 (apt install $2)" >&2
}
need valgrind valgrind "the instructions per packet are not checked"
need c++ g++ "there is no fuzzing"
need tshark tshark "nothing is compared with Wireshark"
need tcpdump tcpdump "its texts and options are not checked"
browser() {
    for program in chromium chromium-browser google-chrome; do
        command -v "$program" >/dev/null && return 0
    done
    return 1
}
browser || install chromium ||
    echo "nagle-scan: no Chromium: tests of the page in a browser will be skipped (apt install chromium)" >&2
