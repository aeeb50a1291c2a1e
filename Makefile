# What a person and a developer do. Needs Python 3.11 or later with pip and venv; everything else goes into .venv.
# `make PYTHON=python3.12 run` takes another Python.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
INPUTS := pyproject.toml requirements.lock $(shell find nexus/console/web nexus/console/build_hook.py -name node_modules -prune -o -type f -print)
# How many processes share the tests, each taking from the end of the other's when it has none left. They wait as much
# as they compute, so two fill two cores; WORKERS=0 runs them in one process.
WORKERS ?= 2
PYTEST := $(BIN)/python -m pytest --ignore tests/benchmarks --numprocesses $(WORKERS) --dist worksteal

.PHONY: run bundle test lint check soak bench lock

run: $(VENV)/.installed  ## start NEXUS in the foreground; Ctrl-C stops everything
	@exec $(BIN)/nexus up

bundle: $(VENV)/.installed  ## build what browsers are given, if an installation without an npm registry had to leave it out
	@NEXUS_BUNDLE=required $(PIP) install --no-deps -e .

lint: $(VENV)/.installed-dev  ## format, lint, types, imports
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/lint-imports --no-logo > $(VENV)/lint-imports.txt || { cat $(VENV)/lint-imports.txt; exit 1; }

check: lint  ## what lint does, and the fast tests
	@$(PYTEST) -m "not processes and not simulation and not fuzz and not browser"

test: $(VENV)/.installed-dev  ## every test, real processes too
	@$(BIN)/python -m tests.interop.node_judges
	@$(BIN)/python -m tests.browser.editor_bundle
	@$(BIN)/python -m tests.browser.chromium_at_hand
	@$(PYTEST)

SEEDS ?= 2000
FIRST ?= 1000
REQUESTS ?= 100000
FUZZ_SEED ?= 1
soak: $(VENV)/.installed-dev  ## SEEDS seeds of the simulation and of its mesh from FIRST, 10,000 tasks over kills, REQUESTS mutated requests; stops at a break
	@$(BIN)/python -m tests.simulation $(FIRST) --count $(SEEDS)
	@$(BIN)/python -m tests.simulation $(FIRST) --count $(SEEDS) --workload mesh
	@NEXUS_SOAK=1 $(BIN)/python -m pytest tests/processes/test_mesh_kills.py
	@$(BIN)/python -m tests.fuzz $(FUZZ_SEED) --count $(REQUESTS)

bench: $(VENV)/.installed-bench  ## the benchmarks; prints their figures. ONLY=bus takes one
	@$(BIN)/python -m tests.benchmarks $(ONLY)

lock: $(VENV)/.installed-dev  ## pin every dependency anew
	@set -e; tool=$$(mktemp -d); trap 'rm -rf "$$tool"' EXIT; \
	$(PYTHON) -m venv "$$tool"; \
	"$$tool/bin/python" -m pip --disable-pip-version-check --quiet install uv; \
	"$$tool/bin/uv" pip compile --quiet --universal --upgrade --python-version 3.11 --all-extras --no-annotate \
		--no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" \
		--output-file requirements.lock pyproject.toml
	@$(BIN)/python -m tests.interop.node_judges lock
	@$(BIN)/python -m tests.browser.editor_bundle lock

# One stamp a set of extras, so that nothing is installed twice; a change of the inputs installs anew.
$(VENV)/.installed: $(INPUTS) | $(BIN)/python
	@echo "Installing NEXUS into $(VENV) ..." >&2
	@$(PIP) install -c requirements.lock -e .
	@touch $@

$(VENV)/.installed-dev: $(INPUTS) | $(BIN)/python
	@echo "Installing NEXUS and its tools into $(VENV) ..." >&2
	@$(PIP) install -c requirements.lock -e '.[dev]'
	@touch $@ $(VENV)/.installed

$(VENV)/.installed-bench: $(INPUTS) | $(BIN)/python
	@echo "Installing NEXUS, its tools and its peers into $(VENV) ..." >&2
	@$(PIP) install -c requirements.lock -e '.[dev,bench]'
	@touch $@ $(VENV)/.installed $(VENV)/.installed-dev

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "NEXUS needs Python 3.11 or later as $(PYTHON). Install it, or name one: make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "$(PYTHON) lacks venv or ensurepip. Install them (on Debian and Ubuntu: apt install python3-venv)." >&2; exit 1; }
	@rm -rf $(VENV)
	@$(PYTHON) -m venv $(VENV)
