# make demo    set up, then write, prove and time a kernel
# make test    set up, then the tests: those that tolerate neighbours three at a time, then those that compare times
# make test-all  the same, then the rest of each matrix (cheats, seeds, kills, faults, cards), as far as its part changed since
#                it passed; a file that passed is recorded at once; before a release
# make docs    the pages of docs/ as a web site in build/docs
# make durations  the same as make test, and records in tests/durations.json what each file took
# make check   format, lint, types, layers, sizes, the README's table, and the API page
# make clean   remove the environment, caches and runs
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check install --constraint constraints.txt
COMPILER := gcc:gcc g++:g++
BROWSER := chromium:chromium
# Three at a time on two cores: a test waits about as long as it works.
# What a file has started serves all its tests; the long files come first (tests/durations.json), and the short ones fill the end.
SIDE_BY_SIDE := --numprocesses 3 --dist loadfile --no-loadscope-reorder
# Every process that a test starts imports the package: it finds it compiled, whatever the caller's environment says.
test durations test-all: export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test durations test-all docs check clean packages-run packages-test
.DELETE_ON_ERROR:

demo: | packages-run $(VENV)/.run
	$(BIN)/kernelwright optimize examples/mse_loss.py --target cpu
	$(BIN)/kernelwright optimize examples/mse_loss.py --target sm_90
	@for page in $$(ls -t runs/*/report.html | head -n 2); do echo "Report: $$page"; done

test: | packages-test $(VENV)/.dev
	@echo "Lane 1 of 2: side by side"
	OMP_NUM_THREADS=1 $(BIN)/pytest tests $(SIDE_BY_SIDE) -m "not quiet and not matrix" $(RECORD:%=%="side by side")
	@echo "Lane 2 of 2: alone, for these compare times"
	$(BIN)/pytest tests -m "quiet and not matrix" $(RECORD:%=%=alone)

durations:
	$(MAKE) test RECORD=--write-durations

test-all: test
	$(BIN)/python .ci/matrix.py run

check: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python .ci/sizes.py
	$(BIN)/python benchmarks/readme_table.py --check
	$(BIN)/python .ci/api_page.py --check

docs: $(VENV)/.docs
	$(BIN)/sphinx-build --fail-on-warning --keep-going -q -c .ci/docs docs build/docs
	@echo "Open build/docs/README.html"

clean:
	rm -rf $(VENV) runs build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

packages-run:
	@.ci/packages $(COMPILER)

packages-test:
	@.ci/packages $(COMPILER) $(BROWSER)

# A stamp a stage: nothing is installed twice until what it was installed from changes.
$(VENV)/.made:
	@command -v $(PYTHON) >/dev/null || { echo "Python 3.11 or newer is missing: name one with make PYTHON=python3" >&2; exit 4; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || .ci/packages ensurepip:$(notdir $(PYTHON))-venv
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.run: $(VENV)/.made constraints.txt pyproject.toml
	@echo "Installing Kernelwright and PyTorch into $(VENV); the first time takes minutes."
	$(PIP) --editable '.[mcp,small]'
	@touch $@

$(VENV)/.docs: $(VENV)/.run
	$(PIP) --editable '.[docs]'
	@touch $@

$(VENV)/.dev: $(VENV)/.made constraints.txt pyproject.toml
	@echo "Installing Kernelwright, PyTorch and the tools for development into $(VENV)."
	$(PIP) --editable '.[dev]'
	@touch $(VENV)/.run $@
