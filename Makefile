# One command each. Every target that needs the environment makes it first; a warm set-up costs nothing.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.ready

# How many cases the heavy property suites run: see tests/conftest.py.
UNIT_PROFILE := quick
TEST_PROFILE := full
# Integration tests wait more than they compute, and the order of their files is that of
# tests/integration/conftest.py.
SPREAD := --numprocesses=3 --dist=loadgroup --no-loadscope-reorder
SLOWEST := --durations=20

# Tests start some hundred Python processes. Where this is set, as in many images, each of them would
# compile all of our sources anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup run test unit integration check format reference clean

help:  ## show the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

$(STAMP): pyproject.toml requirements.txt requirements-dev.txt scripts/setup
	@PYTHON="$(PYTHON)" VENV="$(VENV)" scripts/setup
	@touch $@

setup: $(STAMP)  ## make .venv with pinned dependencies and the evenflow command; Java when missing

run: $(STAMP)  ## balancer, three nodes, 200 vehicles, 50 devices and Spark, with a live table, until Ctrl-C
	@$(BIN)/evenflow up

test: check  ## checks, unit tests (all property cases), integration tests
	$(BIN)/pytest tests/unit --numprocesses=auto --dist=worksteal --hypothesis-profile=$(TEST_PROFILE) $(SLOWEST)
	$(BIN)/pytest tests/integration $(SPREAD) --hypothesis-profile=$(TEST_PROFILE) $(SLOWEST)

unit: $(STAMP)  ## the tests of the pure cores alone
	$(BIN)/pytest tests/unit -m "not thorough" --numprocesses=auto --dist=worksteal --hypothesis-profile=$(UNIT_PROFILE)

integration: $(STAMP)  ## the tests on a real domain with real processes
	$(BIN)/pytest tests/integration $(SPREAD) --hypothesis-profile=$(TEST_PROFILE) $(SLOWEST)

check: $(STAMP)  ## ruff, formatting, mypy --strict
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(STAMP)  ## format the code and mend what ruff can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

reference: $(STAMP)  ## write docs/reference.md and docs/evenflow.idl from the code
	$(BIN)/python -m evenflow.reference docs

clean:  ## remove what the other targets made
	rm -rf $(VENV) build dist results .mypy_cache .ruff_cache .pytest_cache .hypothesis src/*.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
