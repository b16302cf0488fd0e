# `make test` is the one test command, `make demo` the one to look at it; `make help` lists the rest.

CARGO ?= cargo
# Temporary files in memory and a PostgreSQL, both gone afterwards.
WITH_ALL := scripts/with-scratch scripts/with-postgres
.DEFAULT_GOAL := help
.PHONY: help setup test soak storm matrix lint fmt demo bench bench-runs bench-dashboard

help: ## List the targets.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## Install what the tests need (Debian and Ubuntu; elsewhere: say what is missing).
	@scripts/setup

test: setup ## Run every test, with a PostgreSQL that is started for it and gone afterwards.
	@if $(CARGO) nextest --version >/dev/null 2>&1; then \
	  set -x; $(WITH_ALL) $(CARGO) nextest run --workspace --no-fail-fast && $(CARGO) test --workspace --doc; \
	else \
	  set -x; $(WITH_ALL) $(CARGO) test --workspace --no-fail-fast; \
	fi; status=$$?; set +x; scripts/tables; exit $$status

STORIES ?= 100000
soak: storm matrix ## Everything that `make test` has a sample of, in full: stories, storms, crashes, the model (most of a day).
	MERGE_TRAIN_STORIES=$(STORIES) MERGE_TRAIN_HONEST=10000 scripts/with-scratch $(CARGO) test --package git --test it stories:: -- --nocapture
	MERGE_TRAIN_TEST_MODEL=deep $(CARGO) test --package merge-train-core model:: -- --nocapture

SEEDS ?= 1000
storm: ## Try trains in more random storms than the tests do: make storm SEEDS=1000, or SEEDS=200..400.
	@scripts/setup build
	MERGE_TRAIN_STORMS=$(SEEDS) $(CARGO) test --package merge-train --lib storm:: -- --nocapture
	MERGE_TRAIN_STORMS=$(SEEDS) $(CARGO) test --package merge-train --test it storms:: -- --nocapture

MATRIX ?= every
matrix: ## Kill the daemon at every failpoint of every scenario, once and twice; MATRIX=whole gives each death a life of its own.
	@scripts/setup build
	MERGE_TRAIN_TEST_MATRIX=$(MATRIX) $(CARGO) test --package merge-train --test it crashes:: -- --nocapture

lint: ## Check format, lints and dependencies.
	@scripts/setup lint
	@$(CARGO) fmt --version >/dev/null 2>&1 && $(CARGO) clippy --version >/dev/null 2>&1 || rustup component add rustfmt clippy
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings
# Without advisories: cargo-deny fetches them from github.com with git, and what they say depends on the day.
	$(CARGO) deny --locked check licenses bans sources

fmt: ## Format the code.
	$(CARGO) fmt --all

demo: ## Start a GitHub with a stack of pull requests and a daemon to land it, and say what to do.
	@scripts/setup build
	$(CARGO) build --package merge-train --package github-sim
	$(CARGO) run --quiet --package merge-train -- demo

bench: ## Measure.
	@scripts/setup build
	$(CARGO) bench --workspace

bench-runs: ## Measure durable runs per second, beside DBOS.
	@scripts/setup bench
	$(CARGO) build --release --package merge-train
	scripts/with-postgres benches/runs.py

bench-dashboard: ## Measure each page of the dashboard with 1,000 trains and 10,000 runs, and restarts.
	@scripts/setup build
	$(CARGO) bench --package merge-train --bench dashboard --no-run
	scripts/with-postgres $(CARGO) bench --package merge-train --bench dashboard
