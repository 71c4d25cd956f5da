# All targets work from nothing: they create .venv and install what they need.
PYTHON ?= python3
BIN := .venv/bin
# Long runs whose times are looked at: nothing else runs meanwhile.
PACED := tests/test_governor_soak.py tests/test_ledger_processes.py tests/test_longest_idle.py tests/test_redis_crawls.py
.PHONY: demo test soak bench lint clean

demo: .venv/installed
	$(BIN)/scrapy demo

test: .venv/fleet
	$(BIN)/python -m pytest -n 3 --dist loadfile

soak: .venv/fleet
	$(BIN)/python -m pytest -m soak $(PACED)
	$(BIN)/python -m pytest -m soak -n 3 --dist loadfile $(PACED:%=--ignore %)

# BENCH: options of benchmarks.peers, such as BENCH='--workloads W1 --rounds 5'
bench: .venv/bench
	$(BIN)/python -m benchmarks.peers $(BENCH)

lint: .venv/linters
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

.venv/installed: requirements.txt
	$(PYTHON) -c 'import sys; sys.exit("Seaspider needs Python 3.11 or newer, this is " + sys.version.split()[0]) if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	@touch $@

.venv/bench: .venv/installed benchmarks/requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r benchmarks/requirements.txt
	@touch $@

.venv/fleet: .venv/installed requirements-fleet.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-fleet.txt
	@touch $@

.venv/linters: .venv/fleet requirements-dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@touch $@

clean:
	rm -rf .venv
