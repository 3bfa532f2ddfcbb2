# scaleproof: `make demo` shows it, `make test` proves it. Every target works from a fresh clone.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := $(shell find adapter sim policies -type f -not -path '*/__pycache__/*') pyproject.toml README.md
ARGS ?=

.PHONY: setup demo check test lint types fast slow clean build/oracle

setup: $(VENV)/.wheel

$(VENV)/.python: constraints.txt requirements-dev.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -q --disable-pip-version-check -c constraints.txt -r requirements-dev.txt
	touch $@

# The tests run against the built wheel, so that what is tested is what ships.
$(VENV)/.wheel: $(VENV)/.python $(SOURCES)
	rm -rf build/wheel && mkdir -p build/wheel
	$(BIN)/pip wheel -q --disable-pip-version-check --no-deps --no-build-isolation -w build/wheel .
	$(BIN)/pip install -q --disable-pip-version-check -c constraints.txt build/wheel/scaleproof-*.whl
	$(BIN)/pip install -q --disable-pip-version-check --no-deps --force-reinstall build/wheel/scaleproof-*.whl
	touch $@

# The unmodified HPA controller in virtual time, which the model is held against.
build/oracle:
	@tests/build_go.sh oracle

demo: setup
	$(BIN)/scaleproof demo $(ARGS)

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: setup
	$(BIN)/mypy

fast: setup
	$(BIN)/pytest -q -m "not slow"

check: lint types fast

test: check slow

slow: setup build/oracle
	$(BIN)/pytest -q -m slow

clean:
	rm -rf build $(VENV)
