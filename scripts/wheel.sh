#!/bin/sh
# Builds a wheel for Linux into dist: any Python from 3.11 on (abi3), any glibc from 2.17 on
# (manylinux), libpcap inside. The same source gives the same bytes, wherever it lies.
#     scripts/wheel.sh [x86_64|aarch64]     for this processor, or another
# zig is the C compiler and linker: it knows old glibcs, and other processors.
set -eu
# cargo would take a jobserver that zig's compilers cannot see.
unset MAKEFLAGS MFLAGS
cd "$(dirname "$0")/.."
root=$(pwd)
arch=${1:-$(uname -m)}
target=$arch-unknown-linux-gnu
python=${PYTHON:-.venv/bin/python}
bin=$(cd "$(dirname "$python")" && pwd)
PATH=$bin:$PATH

CC="$bin/python -m ziglang cc -target $arch-linux-gnu.2.17" AR="$bin/python -m ziglang ar" \
    RANLIB="$bin/python -m ziglang ranlib" \
    sh scripts/libpcap.sh "$target" "analyzer/target/libpcap/$target"

export LIBPCAP_LIBDIR="$root/analyzer/target/libpcap/$target"
export SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 315532800)}"
cargo_home=${CARGO_HOME:-$HOME/.cargo}
export RUSTFLAGS="--remap-path-prefix=$root=. --remap-path-prefix=$cargo_home=cargo"
export CFLAGS="-ffile-prefix-map=$root=. -ffile-prefix-map=$cargo_home=cargo"
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$root/analyzer/target/wheel}"
into=${DIST:-dist}
trap 'rm -f LICENSE-THIRD-PARTY' EXIT
python scripts/installed.py
python scripts/bill.py licences "$target" "$LIBPCAP_LIBDIR/libpcap.cyclonedx.json" >LICENSE-THIRD-PARTY
maturin build --quiet --release --locked --zig --target "$target" --compatibility manylinux_2_17 \
    --sbom-include "$LIBPCAP_LIBDIR/libpcap.cyclonedx.json" --out "$into"
python scripts/bill.py clean "$root" "$into"/nagle_scan-*_"$arch".whl
