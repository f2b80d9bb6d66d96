# Every target sets up what it needs in .venv; nothing outside the folder is touched.
PYTHON ?= python3
BIN := .venv/bin
PAGES := src/hale/serve/static/explore.js
TRIED := src/hale/serve/static/.tried

.PHONY: install setup demo explore wheel browser-test cluster-test test test-without-compiler check torture fuzz soak mutants sanitize format clean

install: .venv/.demo

setup: .venv/.ready $(TRIED)

SOURCES := pyproject.toml constraints.txt CMakeLists.txt $(wildcard native/*)

# $(call install,WHAT): hale from this folder, and what WHAT asks for.
define install
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "hale needs Python 3.11 or newer; set PYTHON=python3.11")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --disable-pip-version-check --constraint constraints.txt --editable $(1)
endef

.venv/.ready: $(SOURCES)
	$(call install,'.[dev]' --quiet)
	touch .venv/.demo $@

# What using hale takes, without the tools for tests and checks.
.venv/.demo: $(SOURCES)
	@echo 'Setting up .venv, once:'
	$(call install,.)
	touch $@

# The pages of hale explore; without Node.js they are left out, and it says so, once.
$(TRIED): .venv/.ready $(wildcard web/*.json web/*.mjs web/src/*) scripts/build_web.py
	$(BIN)/python scripts/build_web.py
	mkdir -p $(@D) && touch $@

demo: .venv/.demo
	$(BIN)/hale train wordnet --model rotl --dim 32 --budget 30s --out runs/demo --overwrite
	$(BIN)/hale predict runs/demo --head dog.n.01 --relation hypernym -k 5
	$(BIN)/hale predict runs/demo --relation part_meronym --tail everest.n.01 -k 5
	$(BIN)/hale predict runs/demo --head namibia.n.01 --relation instance_hypernym -k 5

explore: runs/demo/metrics.json
	$(BIN)/hale explore runs/demo

runs/demo/metrics.json: | setup
	$(MAKE) demo

# With the pages inside, and their licences.
wheel: setup
	$(BIN)/python scripts/build_web.py --must
	rm -f dist/hale_kge-*.whl
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .
	$(BIN)/python scripts/check_wheel.py dist/hale_kge-*.whl

test: setup
	$(BIN)/python -m pytest

# The pages in a real browser: Debian's chromium and its driver, installed where that may be done.
# Where there is none the tests are left out, and it says so.
browser-test: setup
	command -v chromedriver > /dev/null || (apt-get update && apt-get install -y chromium chromium-driver) > /dev/null 2>&1 || true
	@if ! command -v chromedriver > /dev/null; then echo 'browser tests left out: no chromedriver'; \
	elif ! test -f $(PAGES); then echo 'browser tests left out: the pages are not built'; \
	else $(BIN)/python -m pytest -m browser tests/browser; fi

# Ranks under torchrun: the same weights of wordnet on one to four, after fifty kills, and on hosts
# in network namespaces, which need root and iproute2.
cluster-test: setup
	$(BIN)/python -m pytest -m cluster tests/training/test_cluster.py tests/lab/bench

# The package as a machine without a compiler has it: hale must say that it runs on torch tiles and
# why, and be right all the same. It shares every other package with .venv.
BARE := build/without-compiler
AS_BARE := env -u HALE_ENGINE -u HALE_NATIVE -u HALE_BUILD OMP_NUM_THREADS=1 PYTHONPATH=$(abspath $(BARE))

test-without-compiler: setup
	rm -rf $(BARE)
	CC=/bin/false CXX=/bin/false $(BIN)/python -m pip install --quiet --no-deps --target $(BARE) .
	$(AS_BARE) $(BIN)/hale show --engine | tee $(BARE)/engine.txt
	grep -q 'tiles (the native kernel is not there: .* was not built; a C++ compiler' $(BARE)/engine.txt
	$(AS_BARE) $(BIN)/python -m pytest -p no:cacheprovider -W 'ignore:training runs on torch tiles' \
	  --deselect tests/engine/test_choice.py::test_the_native_kernel_runs_here \
	  tests/engine tests/objectives 'tests/training/test_trainer.py::test_a_ring_is_learnt[rotl]'

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python scripts/build_web.py --check
	$(BIN)/python -m pytest tests/test_architecture.py

# The code broken in one place at a time: which changes no test notices (an hour on a quiet core).
mutants: setup
	nice -n 15 $(BIN)/python scripts/mutate.py --sample 300 --json docs/results/mutants.json --label now
	$(BIN)/python scripts/mutate.py --json docs/results/mutants.json --page docs/results/mutants.md

# The kernel's tests over a kernel built with address and undefined-behaviour sanitizers; then random
# calls of its functions under these and under the thread sanitizer.
CALLS ?= 2000
sanitize: setup
	$(BIN)/python -m pip install --quiet 'cmake>=3.18' ninja
	$(BIN)/cmake -S . -B build/sanitize -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN))/ninja -DHALE_SANITIZE=ON
	$(BIN)/cmake --build build/sanitize
	HALE_NATIVE=$(abspath build/sanitize) ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 \
	  LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libubsan.so)" \
	  $(BIN)/python -m pytest tests/engine -p no:cacheprovider --ignore tests/engine/test_want_of_memory.py
	$(BIN)/cmake --build build/sanitize --target hale_calls_address hale_calls_thread
	build/sanitize/hale_calls_address 0 $(CALLS)
	TSAN_OPTIONS=halt_on_error=1 build/sanitize/hale_calls_thread 0 $(CALLS)

# Every command that writes, killed and failed at every turn, the power cut, every byte of a run
# changed; TORTURE=1000 for the long one. What happened is added to docs/results/torture.jsonl.
TORTURE ?= 60
SOME := $(if $(filter-out 60,$(TORTURE)),,1)
torture: setup
	$(BIN)/python scripts/torture/torture.py kills --count $(TORTURE)
	$(BIN)/python scripts/torture/torture.py faults $(if $(SOME),--most 5)
	$(BIN)/python scripts/torture/torture.py power $(if $(SOME),--most 5)
	$(BIN)/python scripts/torture/torture.py flips $(if $(SOME),--most 100)
	$(BIN)/python scripts/torture/torture.py page

# Drawn commands and broken files; what was counted before is gone on with. Files are led by what they
# reach where atheris has a wheel for this Python and machine, and are drawn blindly elsewhere.
CALLS ?= 10000
INPUTS ?= 100000
fuzz: setup
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --only-binary :all: atheris || true
	$(BIN)/python scripts/fuzz/commands.py --calls $(CALLS)
	$(BIN)/python scripts/fuzz/inputs.py --inputs $(INPUTS)

# Hours of load: memory flat, no handles left open, the same answers at the end.
SOAK ?= 7200
soak: setup
	$(BIN)/python scripts/soak/soak.py --seconds $(SOAK)

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf .venv build .mypy_cache .pytest_cache .ruff_cache .hypothesis
