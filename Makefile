# `make demo` and `make test` do everything from a clean checkout; the rest is for those who stay.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

.PHONY: setup lock demo tour docs test lint types contracts units audit bench clean

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

units: setup
	$(BIN)/pytest -n 2 --dist loadgroup -m "not audit"

test: lint types contracts units

audit: setup
	$(BIN)/python -m tests.run_audit

bench: setup
	$(BIN)/python -m bench.noise --write docs/benchmarks.md
	$(BIN)/python -m bench.table
	$(BIN)/python -m bench.questions
	$(BIN)/python -m bench.ledger
	$(BIN)/python -m bench.accounting --write docs/benchmarks.md
	$(BIN)/python -m bench.accounting_ledger
	$(BIN)/python -m bench.fair
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

clean:
	rm -rf $(VENV) out .mypy_cache .ruff_cache .hypothesis
