#!/bin/sh
# Builds the source distribution of HEAD into dist, with the sources of all crates: it compiles
# without a network. The same commit gives the same bytes.
set -eu
cd "$(dirname "$0")/.."
python=${PYTHON:-.venv/bin/python}
PATH=$(cd "$(dirname "$python")" && pwd):$PATH
mkdir -p "${DIST:-dist}"
into=$(cd "${DIST:-dist}" && pwd)
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

git archive HEAD | tar -x -C "$work"
cd "$work"
rm .gitignore # it would leave out what crates call 'target'
mkdir -p .cargo
cargo vendor --locked --manifest-path analyzer/Cargo.toml vendor >.cargo/config.toml 2>/dev/null
python scripts/without_mingw.py vendor
python scripts/installed.py
maturin sdist --out "$into" >&2
