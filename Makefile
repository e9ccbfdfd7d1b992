# nagle-scan: everything a user or a developer runs. `make help` lists it.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PCAP ?= captures/epoll-fd0.pcap
PACKETS ?= 1000000
MINUTES ?= 10

.DEFAULT_GOAL := help
.PHONY: help setup scan test quick check check-engine test-engine check-python format accuracy rules lowest fuzz snapshots readme budget page pictures notebooks docs bench wheel test-wheel sdist release audit lock shared clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(VENV)/.installed ## Install everything into .venv, with an optimised build of the engine

scan: setup ## Run the main job: make scan [PCAP=my.pcap]
	@$(BIN)/nagle-scan --exit-zero "$(PCAP)"

# The engine's own checks need no Python: they run while it is installed and the engine is linked.
# The tests start a thousand processes: what they import is compiled once.
test: ## Check format, lint and types, then run all tests
	@sh scripts/prerequisites.sh developer
	@$(MAKE) --no-print-directory --jobs=2 test-engine check-python test-wheel
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest --numprocesses auto --dist worksteal

# Not what needs a browser, a wheel, notebooks or tshark, draws pictures, or takes large captures.
SLOW := accuracy api bad_input baseline docstrings failed_output interrupt limits many_* no_socket pasted_text port_scan \
	progress properties read_once threads tshark_answers wireshark
quick: $(VENV)/.developer ## Run the engine's tests and the quick ones of Python: a minute
	cargo test --manifest-path analyzer/Cargo.toml --quiet
	$(BIN)/python -m pytest --numprocesses auto $(addprefix tests/,api command engine lab) \
		$(SLOW:%=--ignore-glob='*/test_%.py')

check: check-engine check-python

check-engine:
	cargo fmt --manifest-path analyzer/Cargo.toml --all --check
	cargo fmt --manifest-path analyzer/fuzz/Cargo.toml --check
	cargo clippy --manifest-path analyzer/Cargo.toml --all-targets --quiet -- -D warnings
	cargo clippy --manifest-path analyzer/Cargo.toml --no-default-features --features python --quiet -- -D warnings
	cargo check --manifest-path analyzer/Cargo.toml --no-default-features --tests --quiet

test-engine: check-engine
	cargo test --manifest-path analyzer/Cargo.toml --quiet

check-python: $(VENV)/.developer
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(VENV)/.developer ## Format all code
	cargo fmt --manifest-path analyzer/Cargo.toml --all
	cargo fmt --manifest-path analyzer/fuzz/Cargo.toml
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

shared: $(VENV)/.developer ## Check the captures in ../shared, which are not shipped
	$(BIN)/python -m pytest tests/shared/public.py tests/shared/pairs.py

accuracy: setup ## Compare what is found with what is true, on every labelled capture
	@$(BIN)/python captures/lab/accuracy.py
	@$(BIN)/python captures/lab/accuracy.py captures/chains
	@$(BIN)/python captures/lab/metamorphic.py

rules: setup ## Measure what each rule decides, with an engine that can switch them off: docs/rules.md
	@MATURIN_PEP517_ARGS="--features ablation" $(BIN)/python -m pip install --quiet --no-deps --upgrade \
		--target analyzer/target/rules .
	@PYTHONPATH=analyzer/target/rules nice $(BIN)/python captures/lab/rules.py --write

LOWEST := analyzer/target/lowest
lowest: $(VENV)/.release ## Try it with the lowest packages that are allowed, and Python 3.11
	@$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(LOWEST)
	@$(BIN)/uv pip install --quiet --python $(LOWEST)/bin/python --resolution lowest-direct \
		--requirements pyproject.toml --extra parquet
	@PYTHONPATH=analyzer $(LOWEST)/bin/python scripts/lowest.py $(LOWEST)

fuzz: ## Look for inputs that break the engine: make fuzz [MINUTES=60], shared by all targets
	@MINUTES=$(MINUTES) sh scripts/fuzz.sh

snapshots: $(VENV)/.developer ## Keep what the reports say now, to see in the diff what changed: tests/snapshots
	$(BIN)/python tests/snapshots.py

readme: $(VENV)/.developer ## Put the real output into README and docs
	$(BIN)/python scripts/readme.py

budget: $(VENV)/.developer ## Write what may not grow as it is now: pyproject.toml
	$(BIN)/python scripts/budget.py

page: snapshots ## Photograph the page for the README: docs/report.png
	$(BIN)/python scripts/page.py

pictures: setup ## Draw the README's pictures into docs
	$(BIN)/python scripts/pictures.py

notebooks: $(VENV)/.developer ## Take the output out of the notebooks, as they are committed
	$(BIN)/python scripts/notebooks.py

docs: $(VENV)/.developer ## Build the documentation, with its notebooks executed: docs/_build/html
	$(BIN)/python -m sphinx -q -W --keep-going -j auto -E -c docs -d docs/_build/doctrees . docs/_build/html

bench: $(VENV)/.built ## Measure against the goals and the peers, into docs/benchmark.md: make bench [PACKETS=10000000]
	$(BIN)/python -m bench.run --packets $(PACKETS)

wheel: $(VENV)/.developer ## Build a wheel for Linux into dist: make wheel [ARCH=aarch64]
	@sh scripts/prerequisites.sh wheel
	@sh scripts/wheel.sh $(ARCH)

# And what it needs, as wheels: a test installs it without a network. A machine where no wheel can be
# built (3) is told why, and the tests of the wheel are skipped.
test-wheel: $(VENV)/.developer
	@sh scripts/prerequisites.sh wheel && sh scripts/wheel.sh && $(BIN)/python -m pip download --quiet \
		--only-binary :all: --dest analyzer/target/wheel/needs dist/*_$(shell uname -m).whl || [ $$? = 3 ]

sdist: $(VENV)/.developer ## Build the source distribution into dist, with the sources of all crates
	@sh scripts/sdist.sh

release: $(VENV)/.developer ## Check version, changelog, tag and tree; build all twice, compare; into dist
	@$(BIN)/python scripts/release.py

audit: $(VENV)/.release ## Look for known vulnerabilities and unwanted licences (needs cargo-deny and a network)
	cargo deny --manifest-path analyzer/Cargo.toml check
	$(BIN)/pip-audit --requirement requirements-dev.lock --disable-pip --require-hashes

lock: $(VENV)/.release ## Pin the tools of developers anew: requirements-dev.lock
	$(BIN)/uv pip compile --quiet pyproject.toml --group dev --universal --python-version 3.11 --upgrade \
		--generate-hashes --no-emit-index-url --no-header --output-file requirements-dev.lock

clean: ## Remove everything that was built
	rm -rf $(VENV) analyzer/target analyzer/fuzz/target analyzer/fuzz/found analyzer/installed analyzer/nagle_scan/*.so analyzer/nagle_scan/_core.pyi bench/build docs/_build dist

# With the folders: a file that is moved keeps its time, its folder does not.
ENGINE := $(wildcard analyzer/Cargo.* analyzer/texts/Cargo.toml analyzer/build.rs) $(shell find analyzer/src analyzer/texts/src -type d -o -name '*.rs')

$(VENV)/.built: pyproject.toml scripts/stub.py $(ENGINE)
	@sh scripts/prerequisites.sh
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --upgrade pip
	@echo "Building nagle-scan (a minute or two, the first time) ..."
	@$(BIN)/python -m pip install --quiet --editable .
	@$(BIN)/python -m compileall -q analyzer/nagle_scan # pip does not where it installs editable
	@touch $@

# `man` finds its page beside the folder in PATH.
$(VENV)/.installed: $(VENV)/.built scripts/installed.py $(wildcard analyzer/nagle_scan/command/*.py)
	@$(BIN)/python -m pip install --quiet argparse-manpage shtab
	@$(BIN)/python scripts/installed.py $(VENV)/share
	@touch $@

$(VENV)/.developer: $(VENV)/.built requirements-dev.lock
	@sh scripts/prerequisites.sh developer
	@$(BIN)/python -m pip install --quiet --require-hashes --requirement requirements-dev.lock
	@touch $@

$(VENV)/.release: $(VENV)/.developer
	@$(BIN)/python -m pip install --quiet --group release
	@touch $@
