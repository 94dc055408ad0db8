# Thin calls of the command `fpgaflow`. Targets with MODEL=x take a zoo name or a path.
MODEL ?= digits_mlp
# a path may hold any character: neither make nor the shell gets to read it
override MODEL := $(value MODEL)
export MODEL
OPTIONS ?=
PYTHON ?= python3.11
JOBS ?= 2
VENV := .venv
RUN := $(VENV)/bin
STAMP := $(VENV)/installed
FPGAFLOW := $(RUN)/fpgaflow

.PHONY: setup demo test test-all check bench clean budget build sim synth report run
.DEFAULT_GOAL := demo

setup: $(STAMP)

$(STAMP): requirements.lock pyproject.toml
	@for tool in $(PYTHON) g++ make perl; do command -v $$tool >/dev/null || \
		{ echo "missing: $$tool — please install Python 3.11 (with venv), g++, make and perl"; exit 2; }; done
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' || \
		{ echo "missing: Python 3.11 — $(PYTHON) is another version; set PYTHON=/path/to/python3.11"; exit 2; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
		{ echo "missing: Python's venv module — please install it (Debian: python3.11-venv)"; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(RUN)/pip install --quiet --disable-pip-version-check --no-deps -r requirements.lock
	$(RUN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

demo: override MODEL := digits_mlp
demo: run

budget build synth report run: $(STAMP)
	$(FPGAFLOW) $@ $(OPTIONS) -- "$$MODEL"

sim: $(STAMP)
	$(FPGAFLOW) simulate $(OPTIONS) -- "$$MODEL"

check: $(STAMP)
	$(RUN)/ruff check .
	$(RUN)/ruff format --check .
	$(RUN)/mypy
	$(RUN)/lint-imports

test: check
	$(RUN)/pytest -n $(JOBS) -m "not campaign"

test-all: check
	$(RUN)/pytest -n $(JOBS) --timeout 7200

bench: $(STAMP)
	@for script in benchmarks/*.py; do echo "== $$script"; $(RUN)/python "$$script" || exit 1; done

clean:
	git clean -fdXq hls_projects build dist
	find . -name __pycache__ -not -path "./$(VENV)/*" -prune -exec rm -r {} +
