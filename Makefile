# scaleproof: `make demo` shows it, `make test` proves it. Every target works from a fresh clone.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := $(shell find adapter sim policies -type f -not -path '*/__pycache__/*') pyproject.toml README.md
ARGS ?=

.PHONY: setup demo check test lint types fast slow generated clean packages real-parts build/controlplane build/oracle \
	build/promqlparse

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

# Prometheus's own parser, which every query that is sent is held against.
build/promqlparse:
	@tests/build_go.sh promqlparse

demo: setup
	$(BIN)/scaleproof demo $(ARGS)

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: setup
	$(BIN)/mypy

fast: setup
	$(BIN)/pytest -q -n 3 -m "not slow"

check: lint types fast

# What the slow tests need and `make check` does not; cold it takes 5 minutes, so `make test` builds it beside the check.
real-parts: packages build/controlplane build/oracle build/promqlparse

packages:
	@tests/packages.sh

# kubectl and the API server tell the version that they are linked with, so the build says which Kubernetes this is.
VERSION_VARIABLE := -X k8s.io/component-base/version
KUBERNETES := $(VERSION_VARIABLE).gitVersion=v1.36.3 $(VERSION_VARIABLE).gitMajor=1 $(VERSION_VARIABLE).gitMinor=36
build/controlplane:
	@tests/build_go.sh controlplane "$(KUBERNETES)"

# In a process group of its own (set -m), so that a failed check or Ctrl-C ends the Go compiler too.
test:
	@mkdir -p build
	@set -m; $(MAKE) --no-print-directory -j2 real-parts >build/real-parts.log 2>&1 & real_parts=$$!; \
	set +m; trap 'kill -- -$$real_parts 2>/dev/null' EXIT; \
	$(MAKE) --no-print-directory check || exit; \
	echo "waiting for the real parts (build/real-parts.log)"; \
	wait $$real_parts || { cat build/real-parts.log; exit 1; }
	@$(MAKE) --no-print-directory slow

# What is written from the models and the presets; tests hold that it is current.
generated: setup
	$(BIN)/scaleproof schema >policies/schema.json
	$(BIN)/scaleproof schema --output markdown >docs/reference.md
	$(BIN)/scaleproof schema --output crd >manifests/base/crd.yaml
	$(BIN)/python -m adapter.metric_catalogue >docs/metrics.md

slow: setup real-parts
	$(BIN)/pytest -q -m slow

clean:
	rm -rf build $(VENV)
