# Needs Python 3.11 or newer, with venv and pip, and nothing else. `make` alone lists the commands.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
WORKERS ?= 2

.DEFAULT_GOAL := help
.PHONY: peers peers-environments curves fresh help test lint demo demo-federation golden evidence bench versions scale docs lock clean

help:  ## list the commands
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 24

# The environment, exactly as locked; made again when the lock or the metadata changes.
$(READY): requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "make: discreet needs Python 3.11 or newer; say which with PYTHON=python3.12" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) \
		|| { echo "make: cannot make a virtual environment; is the venv module installed?" >&2; exit 1; }
	@echo "The first time everything is installed into $(VENV): a few minutes."
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

test: lint  ## everything that must hold: lint, types, layers, tests
	$(BIN)/python -m pytest -n $(WORKERS) -m "not evidence"

lint: $(READY)  ## ruff, mypy, import-linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

demo: $(READY)  ## a private release from beginning to end: a registry, its budget, its page
	$(BIN)/discreet demo

demo-federation: $(READY)  ## three hospitals, one private release, no pooled records
	$(BIN)/python examples/demo_federation.py

golden: $(READY)  ## BASE=commit [METHODS="output plain"]: its numbers against this tree's, under the same seeded noise
	@test -n "$(BASE)" || { echo "make golden: name the commit to compare with, BASE=commit" >&2; exit 1; }
	$(BIN)/python studies/golden.py $(BASE) $(if $(METHODS),--methods $(METHODS))

evidence: $(READY)  ## the statistical evidence at full size, hours; it resumes, FRESH=1 starts over
	$(BIN)/python evidence/noise.py $(if $(FRESH),--fresh)
	$(BIN)/python evidence/perturbation.py $(if $(FRESH),--fresh)
	$(BIN)/python evidence/ledger.py $(if $(FRESH),--fresh)
	$(BIN)/python evidence/fuzz.py $(if $(FRESH),--fresh)
	$(BIN)/python evidence/audit.py $(if $(FRESH),--fresh)
	$(BIN)/python evidence/replay.py $(if $(FRESH),--fresh)
	DISCREET_HYPOTHESIS=evidence $(BIN)/python -m pytest -n $(WORKERS) --timeout 3600

bench: $(READY)  ## the core against its peers, the sampler's speed; it resumes, FRESH=1 measures everything again
	$(BIN)/python benchmarks/sampler.py $(if $(FRESH),--fresh)
	$(BIN)/python benchmarks/core.py $(if $(FRESH),--fresh)
	$(BIN)/python benchmarks/grids.py
	$(BIN)/python benchmarks/start.py $(if $(FRESH),--fresh)

versions: $(READY)  ## BASE=commit: its speed and memory against this tree's, taking turns; it resumes
	@test -n "$(BASE)" || { echo "make versions: name the commit to compare with, BASE=commit" >&2; exit 1; }
	$(BIN)/python benchmarks/versions.py $(BASE) $(if $(FRESH),--fresh)

scale: $(READY)  ## one fit in memory, streamed and on Dask; it resumes, FRESH=1 measures everything again
	$(BIN)/python benchmarks/scale.py $(if $(FRESH),--fresh)

PEERS := benchmarks/scratch/peers/environments
peers-environments: $(READY)  ## environments of the peers whose requirements conflict with discreet's
	@for name in diffprivlib dpmm; do test -f $(PEERS)/$$name/.ready || { \
		$(PYTHON) -m venv $(PEERS)/$$name \
		&& $(PEERS)/$$name/bin/python -m pip install --quiet --disable-pip-version-check \
			-r benchmarks/peers/requirements/$$name.txt && touch $(PEERS)/$$name/.ready; }; done

peers: peers-environments  ## private Newton against its peers, hours; FDPCOX=checkout; it resumes; docs/peers.md
	$(BIN)/python benchmarks/peers/run.py $(if $(FDPCOX),--fdpcox $(FDPCOX))
	$(BIN)/python benchmarks/peers/memory.py $(if $(FDPCOX),--fdpcox $(FDPCOX))
	$(BIN)/python benchmarks/peers/curves.py
	$(BIN)/python benchmarks/peers/run.py --page

curves: $(READY)  ## coverage and errors of private curves by group; it resumes
	$(BIN)/python studies/curves.py --draws 200
	$(BIN)/python studies/curves.py --page
	$(BIN)/python paper/evidence.py

# SEED=entropy draws a seed after a freeze, REAL=1 takes the real sets; BASE=checkout measures that source too;
# FAILED=1 what has no release.
fresh: $(READY)  ## SEED=n: private Newton on random registries that no constant was chosen on; it resumes; docs/accuracy.md
	@test -n "$(SEED)$(REAL)" || { echo "make fresh: give a number or entropy, SEED=n, or REAL=1" >&2; exit 1; }
	PYTHONPATH=studies $(BIN)/python -m fresh $(if $(REAL),--real,--seed $(SEED)) $(if $(FAILED),--failed) $(if $(BASE),--base $(BASE)) \
		$(if $(REGISTRIES),--registries $(REGISTRIES)) $(if $(filter command,$(origin DRAWS)),--draws $(DRAWS))
	PYTHONPATH=studies $(BIN)/python -m fresh.report
	$(BIN)/python paper/evidence.py

# not --quiet: mkdocs does not count the warnings that it does not show
docs: $(READY)  ## the documentation site, into site/; warnings are fatal
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

lock:  ## pin every dependency again, with hashes (the one command that needs uv)
	@command -v uv >/dev/null || test -x $(BIN)/uv || { echo "make lock: needs uv" >&2; exit 1; }
	PATH="$(PATH):$(CURDIR)/$(BIN)" uv pip compile pyproject.toml --all-extras --universal --generate-hashes \
		--python-version 3.11 --no-emit-index-url --no-emit-find-links \
		--custom-compile-command "make lock" --quiet --upgrade --output-file requirements.txt

clean:  ## remove what was built, keep the environment
	rm -rf build dist demo demo-federation site .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src tests examples benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
