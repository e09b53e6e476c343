# `make demo` and `make test` do everything from a clean checkout; the rest is for those who stay.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

# Tests start the program many times, and it would be compiled anew each time.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: setup lock demo tour docs test statics lint types contracts units audit audit-page bench clean

setup: $(VENV)/.ready

$(VENV)/.ready: pyproject.toml requirements.lock
	@command -v $(PYTHON) >/dev/null || { echo "Python 3.11 or newer is needed; install it and run make again."; exit 1; }
	@$(PYTHON) -m venv $(VENV) 2>/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq && apt-get install -y -qq python3-venv && $(PYTHON) -m venv $(VENV); }
	@$(BIN)/python -m pip install --quiet --upgrade pip
	@$(BIN)/python -m pip install --quiet --constraint requirements.lock --editable ".[dev]"
	@command -v java >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq && apt-get install -y -qq openjdk-17-jre-headless; } || echo "Java 17 is not installed: the Spark tests need it; install it and run make again."
	@touch $@

lock: setup
	@{ echo "# What a fresh machine installs: every package at the version that the gate last passed with. Written by make lock."; $(BIN)/python -m pip freeze --exclude-editable | sort -f; } > requirements.lock

demo: setup
	@$(BIN)/python examples/adult.py

tour: setup
	@$(BIN)/python examples/tour.py

docs: setup
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs out/site
	@echo "The site is in out/site; open out/site/index.html."

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup
	$(BIN)/mypy

contracts: setup
	PYTHONPATH=src $(BIN)/lint-imports --no-cache

# What is written durably waits for the disk, thousands of times: the tests' files lie in memory where that is possible.
IN_MEMORY := $(if $(wildcard /dev/shm/.),TMPDIR=/dev/shm)

units: setup
	$(IN_MEMORY) $(BIN)/python -m pytest -n 2 -m "not audit" -p tests.seeded

statics: lint types contracts

# Side by side: the type checker has one core for a minute, and the tests have the other.
test: setup
	@$(MAKE) --no-print-directory --jobs 2 statics units

audit: setup
	@command -v chromium >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq && apt-get install -y -qq chromium; } || echo "Chromium is not installed: the browser tests are skipped; install it and run make again."
	$(IN_MEMORY) $(BIN)/python -m tests.run_audit

# What an audit that was cut short has seen, for docs/audit.md; the next one goes on from there.
audit-page: setup
	$(BIN)/python -m tests.run_audit --page

bench: setup
	$(BIN)/python -m bench.noise --write docs/benchmarks.md
	$(BIN)/python -m bench.table
	$(BIN)/python -m bench.sql
	$(BIN)/python -m bench.sql_golden
	$(BIN)/python -m bench.questions
	$(BIN)/python -m bench.ledger
	$(BIN)/python -m bench.publish
	$(BIN)/python -m bench.accounting --write docs/benchmarks.md
	$(BIN)/python -m bench.accounting_ledger
	$(BIN)/python -m bench.fair
	$(BIN)/python -m bench.models_audit --peers
	$(BIN)/python -m bench.mwem_figures
	$(BIN)/python -m bench.attribute_marginals
	$(BIN)/python -m bench.conversation
	$(BIN)/python -m bench.knorm
	$(BIN)/python -m bench.quantiles
	$(BIN)/python -m bench.crossover
	$(BIN)/python -m bench.distribution
	$(BIN)/python -m bench.learners
	$(BIN)/python -m bench.synopsis
	$(BIN)/python -m bench.synopsis_learned
	$(BIN)/python -m bench.popular
	$(BIN)/python -m bench.local
	$(BIN)/python -m bench.service

clean:
	rm -rf $(VENV) out .mypy_cache .ruff_cache .hypothesis
