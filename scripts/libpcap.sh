#!/bin/sh
# Builds the small static libpcap that wheels carry: it compiles filters, and cannot capture. So it
# needs no dbus, systemd, USB, Bluetooth, RDMA or netlink library.
#     scripts/libpcap.sh TARGET FOLDER     leaves it in FOLDER, for a target triple of Rust
# $LIBPCAP_SOURCE is a folder or tarball of libpcap (https://www.tcpdump.org/release/). Without it
# Debian's source package is fetched with apt. $CC is the compiler for the target.
# Status 3: the sources, or what builds them, are not to be had here.
set -eu

fail() {
    echo "nagle-scan: $1" >&2
    exit "${2:-1}"
}

target=$1 into=$2
[ -e "$into/libpcap.so" ] && exit 0
for tool in flex bison make; do
    command -v $tool >/dev/null || fail "libpcap is built with flex, bison and make: apt install flex bison make" 3
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# apt's own sources, asked for source packages, in a folder of our own.
fetch() {
    command -v apt-get >/dev/null || fail "set LIBPCAP_SOURCE to a folder or tarball of libpcap's sources" 3
    mkdir -p "$work/parts" "$work/lists/partial"
    cat /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list.d/ubuntu.sources 2>/dev/null |
        sed 's/^Types: *deb$/Types: deb-src/' >"$work/parts/source.sources"
    [ ! -e /etc/apt/sources.list ] || sed -n 's/^deb /deb-src /p' /etc/apt/sources.list >"$work/parts/source.list"
    apt="apt-get -qq -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts=$work/parts
        -o Dir::State::Lists=$work/lists -o APT::Sandbox::User="
    (cd "$work" && $apt update && $apt source --download-only libpcap >/dev/null) ||
        fail "cannot get libpcap's sources with apt: set LIBPCAP_SOURCE" 3
    LIBPCAP_SOURCE=$(find "$work" -name 'libpcap_*.orig.tar.*z')
}

[ -n "${LIBPCAP_SOURCE:-}" ] || fetch
mkdir "$work/source"
if [ -d "$LIBPCAP_SOURCE" ]; then
    cp -R "$LIBPCAP_SOURCE/." "$work/source"
else
    tar -xf "$LIBPCAP_SOURCE" -C "$work/source" --strip-components=1
fi

cd "$work/source"
./configure --quiet --host="$target" --disable-shared --with-pcap=null --disable-dbus --disable-usb \
    --disable-bluetooth --disable-netmap --disable-rdma --without-dpdk --without-libnl \
    CFLAGS="-O2 -fPIC -ffile-prefix-map=$work=." >"$work/log" 2>&1 ||
    fail "libpcap cannot be configured: $(tail -n 3 "$work/log")"
make libpcap.a >"$work/log" 2>&1 || fail "libpcap cannot be built: $(tail -n 3 "$work/log")"
cd - >/dev/null
mkdir -p "$into"
python3 scripts/bill.py libpcap "$work/source" "$into/libpcap.cyclonedx.json"
cp "$work/source/libpcap.a" "$into"
# Linkers are asked for a shared library: this script of theirs names the archive.
echo 'INPUT(libpcap.a)' >"$into/libpcap.so"
