# scaleproof: `make demo` shows it, `make test` proves it. Every target works from a fresh clone.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := $(shell find adapter sim policies -type f -not -path '*/__pycache__/*') pyproject.toml README.md
ARGS ?=

.PHONY: setup demo check test lint types fast slow clean

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

# The unmodified HPA controller in virtual time. Built once for each content of its sources: a copy is kept by its hash.
ORACLE_SOURCES := $(shell find tests/oracle -type f)

build/oracle: $(ORACLE_SOURCES)
	@mkdir -p build/cache
	key=$$(LC_ALL=C; for file in $(sort $(ORACLE_SOURCES)); do echo $$file; cat $$file; done | sha256sum | cut -c1-16) && \
	if [ ! -x build/cache/oracle-$$key ]; then \
	  go build -C tests/oracle -o $(CURDIR)/build/cache/oracle-$$key.part . && \
	  mv build/cache/oracle-$$key.part build/cache/oracle-$$key; \
	fi && ln -f build/cache/oracle-$$key $@ && touch $@

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
