# Everything a machine needs is in .venv; a second run of any target reuses it.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	command -v $$p >/dev/null 2>&1 && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
BIN := .venv/bin
unexport PYTHONDONTWRITEBYTECODE PYTHONPATH PYTHONHOME VIRTUAL_ENV

.PHONY: setup demo test shells test-real lint types format bench lock clean
.DEFAULT_GOAL := setup

setup: .venv/.ready

.venv/.ready: requirements.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "Synapse needs Python 3.11 or newer: install it, or say make PYTHON=/path/to/python3" >&2; exit 1; }
	@$(BIN)/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { rm -rf .venv && $(PYTHON) -m venv .venv; }
	@echo "setting up .venv ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@$(BIN)/python -m compileall -q synapse
	@$(BIN)/python -c 'import synapse.terminal.ghostty_ffi' 2>/dev/null || true
	@touch $@

demo: setup
	@$(BIN)/synapse demo

test: setup
	$(BIN)/python -m pytest

# zsh and fish for the tests of the shell hook and of completion, which skip a shell that is not there.
shells:
	@for shell in zsh fish; do command -v $$shell >/dev/null 2>&1 || missing="$$missing $$shell"; done; \
	if [ -n "$$missing" ] && ! { apt-get install -y -q $$missing || { apt-get update -q && apt-get install -y -q $$missing; }; } \
		>/dev/null 2>&1 </dev/null; then \
		echo "*** THE TESTS WITH$$missing DO NOT RUN: it is not installed, and apt-get cannot install it here ***" >&2; \
	fi

# The real Claude Code, Codex and Gemini CLI from npm, offline, against a scripted model on loopback.
test-real: setup
	@if command -v npm >/dev/null 2>&1 && command -v node >/dev/null 2>&1; then \
		SYNAPSE_REAL=1 $(BIN)/python -m pytest -n 0 tests/real; \
	else \
		echo "*** THE TESTS WITH THE REAL CLIS DID NOT RUN: there is no node and npm on this machine ***" >&2; \
	fi

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: setup
	$(BIN)/python -m benchmarks

# Needs uv; the lock holds hashes and no download address.
lock:
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
		--group dev pyproject.toml -o requirements.lock

clean:
	rm -rf .venv dist .mypy_cache .ruff_cache .hypothesis
