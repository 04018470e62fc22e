# Each target sets up what it needs: a machine with Python 3.11 (or newer) and git is enough.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
OUT    ?= demo
DIST   ?= dist
PORT   ?= 8000
DIR    ?= live
MINUTES ?= 10

.PHONY: help setup demo grid test test-slow test-long check format bench serve serve-demo wheel clean

help:            ## list the targets
	@grep -E '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 14

setup: $(READY)  ## create .venv with every pinned dependency

# torch goes first, under the constraints, so that no other package pulls a newer build.
$(READY): pyproject.toml constraints.txt scripts/setup
	PYTHON="$(PYTHON)" VENV="$(VENV)" bash scripts/setup
	@touch $@

demo: grid       ## the grid, then the paper's experiment on six of its entities: demo/index.html
	$(BIN)/clearwatt experiment run --preset demo --data $(OUT)/grid --out $(OUT)/run
	$(BIN)/clearwatt experiment report $(OUT)/run --html $(OUT)/index.html

grid: $(READY)   ## simulate the regional grid, describe it, write demo/grid.html
	$(BIN)/clearwatt simulate --out $(OUT)/grid --overwrite
	$(BIN)/clearwatt data describe $(OUT)/grid --html $(OUT)/grid.html

test: $(READY)   ## the tests, under ten minutes on two cores
	$(BIN)/python -m pytest -m "not slow" -n 2 --dist loadfile

test-slow: $(READY)  ## the proofs that take minutes
	$(BIN)/python -m pytest -m slow -n 2 --dist loadfile

test-long: $(READY)  ## the proofs that gain from time, MINUTES=10 for each (60: the hour of chaos)
	CLEARWATT_TEST_MINUTES=$(MINUTES) $(BIN)/python -m pytest -m long -rP

# What mypy joins unlike types to depends on the order of its sets: one seed, one verdict.
check: $(READY)  ## formatter, linter, types, import contract
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	PYTHONHASHSEED=0 $(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY) ## rewrite the sources as the formatter and linter want them
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# The files in the table of docs/benchmarks.md; the others have pages of their own.
BENCHMARKS := fleet stream naive memory simulate protocol service refresh store cluster cluster_learners cluster_takeover

bench: $(READY)  ## the benchmarks of speed and memory, one after the other; four hours
	@set -e; for name in $(BENCHMARKS); do echo "== $$name"; $(BIN)/python benchmarks/$$name.py; done

serve: $(READY)  ## your service, empty at first: 127.0.0.1:8000 says what to do; its data are in live/
	$(BIN)/clearwatt serve --data-dir "$(DIR)" --port $(PORT)

serve-demo: $(READY)  ## a service with a simulated grid played into it, to look at: 127.0.0.1:8000
	BIN="$(BIN)" OUT="$(OUT)" PORT="$(PORT)" bash scripts/serve_demo

# Without an earlier build folder, whose files setuptools would put into the wheel, too.
wheel: $(READY)  ## a wheel and the pinned versions of its dependencies, to install anywhere: dist/
	rm -rf $(DIST) build
	$(BIN)/python -m pip --disable-pip-version-check wheel --quiet --no-deps --wheel-dir $(DIST) .
	cp constraints.txt $(DIST)/
	rm -rf build
	@ls $(DIST)

clean:           ## remove what the targets above made, but not live/, your data
	rm -rf $(VENV) $(OUT) $(DIST) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
