# Everything starts from Python 3.11+, git and make; nothing else is needed before.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test bench screenshots fuzz lint format clean
.DEFAULT_GOAL := test

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

demo: $(STAMP)  ## Create a repo in a folder of its own and show the main job.
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python docs/demo.py

test: $(STAMP)  ## The whole suite.
	$(BIN)/python -m pytest -n auto

bench: $(STAMP)  ## Every budget, against the bare operation in the same run.
	$(BIN)/python benchmarks/run.py

screenshots: $(STAMP)  ## The pictures of the Hub in docs/images. Needs chromium.
	$(BIN)/python tests/browser/screenshots.py

fuzz: $(STAMP)  ## The properties, and sync between machines, for much longer.
	MEMREPO_HYPOTHESIS_PROFILE=fuzz $(BIN)/python -m pytest -n auto tests/property tests/machine/test_sync_machine.py

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
