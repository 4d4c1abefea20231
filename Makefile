# Everything is installed into .venv, and a second run of any target reuses it. `make setup` installs what the program
# needs (requirements.lock); the targets for contributors add their tools (requirements-dev.lock).
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	command -v $$p >/dev/null 2>&1 && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --disable-pip-version-check
unexport PYTHONDONTWRITEBYTECODE PYTHONPATH PYTHONHOME VIRTUAL_ENV

.PHONY: setup dev demo test test-fast test-times test-stress test-order shells test-real test-real-core chromium test-web sshd test-mesh pictures lint format bench lock clean
.DEFAULT_GOAL := setup

setup: .venv/.ready

dev: .venv/.ready-dev

# $(call install,LOCK) uses uv where it is installed and works, else pip. Both check the hashes, and what they write to
# stderr is shown. Of pip's long output only the name of each package is kept.
install = \
	touch .venv/.busy; \
	if command -v uv >/dev/null 2>&1; then \
		uv pip install --python $(BIN)/python --compile-bytecode --require-hashes -r $(1) && rm .venv/.busy && exit 0; \
		echo "uv failed: trying pip ..."; \
	fi; \
	{ $(PIP) --require-hashes -r $(1); echo "Status $$?"; } | { \
		status=130; \
		if [ -t 1 ]; then line='\r\033[K  %s'; end='\n'; else line='  %s\n'; end=''; fi; \
		while read -r word name rest; do case $$word in \
			Collecting) printf "$$line" "$$name";; \
			Installing) printf "$$line$$end" "writing them to .venv ...";; \
			Status) status=$$name;; \
		esac; done; \
		test $$status -ge 128 || rm .venv/.busy; \
		exit $$status; }

# .ready is written last, so that a step that failed is done again. A package that was half written can look complete to
# pip: .busy is there while something is written to .venv, and where it is left, .venv is made again.
.venv/.ready: requirements.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "Synapse needs Python 3.11 or newer: install it, or say make PYTHON=/path/to/python3" >&2; exit 1; }
	@test ! -e .venv/.busy && $(BIN)/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "creating .venv with $(PYTHON) ..."; rm -rf .venv && mkdir .venv && touch .venv/.busy && \
		$(PYTHON) -m venv .venv && rm .venv/.busy; }
	@echo "installing the packages that Synapse needs ..."
	@$(call install,requirements.lock)
	@echo "installing Synapse ..."
	@$(PIP) --quiet --no-deps --no-build-isolation -e .
	@$(BIN)/python -m compileall -q synapse
	@$(BIN)/python -c 'import synapse.terminal.ghostty_ffi' 2>/dev/null || true
	@touch $@

.venv/.ready-dev: .venv/.ready requirements-dev.lock
	@test ! -e .venv/.busy || $(MAKE) --no-print-directory --always-make .venv/.ready
	@echo "installing the tools for tests and checks ..."
	@$(call install,requirements-dev.lock)
	@touch $@

demo: setup
	@$(BIN)/synapse demo

# All of them, or TESTS="tests/watch -k prompt".
test: dev
	@$(BIN)/python -m pytest $(TESTS)

# Those that start no process and open no terminal.
test-fast: dev
	@$(BIN)/python -m pytest --fast $(TESTS)

# What each package of tests costs.
test-times: dev
	@$(BIN)/python -m pytest --times $(TESTS)

# Chosen tests, N times, beside two processes that keep the processors busy.
N ?= 10
test-stress: dev
	@test -n "$(TESTS)" || { echo 'say which: make test-stress TESTS="tests/e2e/test_ends.py -k window" N=50' >&2; exit 2; }
	@$(BIN)/python scripts/stress.py $(N) $(TESTS)

# Three times in random order, then with 1, 2, 4 and 8 workers.
test-order: dev
	@for seed in 1 2 3; do $(BIN)/python -m pytest --random-order $$(date +%s)$$seed $(TESTS) || exit 1; done
	@for workers in 1 2 4 8; do $(BIN)/python -m pytest -n $$workers $(TESTS) || exit 1; done

# zsh and fish for the tests of the shell hook and of completion; those of a shell that is missing are skipped.
shells:
	@for shell in zsh fish; do command -v $$shell >/dev/null 2>&1 || missing="$$missing $$shell"; done; \
	test -n "$$missing" || { echo "zsh and fish are installed"; exit 0; }; \
	command -v apt-get >/dev/null 2>&1 || { echo "apt-get is missing: install$$missing yourself" >&2; exit 0; }; \
	echo "installing$$missing with apt-get ..."; \
	export DEBIAN_FRONTEND=noninteractive; \
	listed='apt-get install -s -qq'; names='s/^Inst \([^ ]*\) (\([^ ]*\).*/  \1 \2/p'; \
	$$listed $$missing >/dev/null 2>&1 || { echo "updating the list of packages ..."; apt-get update -qq; }; \
	$$listed $$missing 2>/dev/null | sed -n "$$names"; \
	apt-get install -y -qq $$missing >/dev/null </dev/null && echo "installed$$missing" || \
		echo "*** THE TESTS WITH$$missing DO NOT RUN: it is not installed, and apt-get cannot install it here ***" >&2

# The real Claude Code, Codex and Gemini CLI from npm, offline, against a scripted model on loopback: the pinned ones, or
# with CLI=latest the newest. test-real-core runs the tests that show of each CLI that it works, test-real all of them.
CLI ?= pinned
test-real: REAL := 1
test-real-core: REAL := core
test-real test-real-core: dev
	@if command -v npm >/dev/null 2>&1 && command -v node >/dev/null 2>&1; then \
		SYNAPSE_REAL=$(REAL) SYNAPSE_REAL_CLI=$(CLI) $(BIN)/python -m pytest -n 2 --dist loadgroup tests/real; \
	else \
		echo "*** THE TESTS WITH THE REAL CLIS DID NOT RUN: there is no node and npm on this machine ***" >&2; \
	fi

# The page of `synapse view` in a real browser, driven by playwright. Chromium comes from the system's packages.
chromium:
	@command -v chromium >/dev/null 2>&1 && exit 0; \
	echo "installing chromium with apt-get ..."; \
	export DEBIAN_FRONTEND=noninteractive; \
	apt-get install -y -qq chromium >/dev/null </dev/null || { echo "updating the list of packages ..."; \
		apt-get update -qq && apt-get install -y -qq chromium >/dev/null </dev/null; } || true

test-web: dev chromium
	@if command -v chromium >/dev/null 2>&1; then \
		SYNAPSE_WEB=1 $(BIN)/python -m pytest -n 2 tests/web; \
	else \
		echo "*** THE TESTS WITH A BROWSER DID NOT RUN: chromium is not installed, and apt-get cannot install it here ***" >&2; \
	fi

# The agents of other machines: over a real sshd on loopback, and over the mesh. Each home is a machine.
sshd:
	@PATH="$$PATH:/usr/sbin"; command -v sshd >/dev/null 2>&1 && command -v ssh >/dev/null 2>&1 && exit 0; \
	command -v apt-get >/dev/null 2>&1 || { echo "apt-get is missing: install OpenSSH yourself" >&2; exit 0; }; \
	echo "installing openssh-server and openssh-client with apt-get ..."; \
	export DEBIAN_FRONTEND=noninteractive; \
	install='apt-get install -y -qq openssh-server openssh-client'; \
	$$install >/dev/null </dev/null || { echo "updating the list of packages ..."; \
		apt-get update -qq && $$install >/dev/null </dev/null; } || true

test-mesh: dev sshd
	@PATH="$$PATH:/usr/sbin"; command -v sshd >/dev/null 2>&1 || \
		echo "*** THE TESTS WITH SSH DID NOT RUN: sshd is not installed, and apt-get cannot install it here ***" >&2; \
	SYNAPSE_MESH=1 $(BIN)/python -m pytest -n 2 $$(ls -d tests/machines tests/mesh 2>/dev/null)

# The pictures of the README, from real runs.
pictures: dev chromium
	$(BIN)/python scripts/pictures.py

lint: dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: dev
	$(BIN)/python -m benchmarks
	$(BIN)/python -m benchmarks.truth

# Needs uv. The lock files hold hashes and no download addresses; `make lock UPGRADE=--upgrade` takes newer versions.
COMPILE := uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url
lock:
	$(COMPILE) $(UPGRADE) --group build pyproject.toml -o requirements.lock
	$(COMPILE) $(UPGRADE) --group dev -c requirements.lock pyproject.toml -o requirements-dev.lock

clean:
	rm -rf .venv dist .mypy_cache .ruff_cache .hypothesis
